"""Tests for filtering, grouping into stories and ranking within a run."""

import asyncio
import threading

import pytest

from copydesk.desk.pipeline import select_stories
from copydesk.errors import InvalidError
from copydesk.model.run import RunRequest, RunStatus
from copydesk.ranking.filters import compile_rules
from desk_fixtures import (
    URL_ONE,
    URL_THREE,
    URL_TWO,
    FakeWeb,
    Watch,
    create_source,
    draft_titles,
    entry,
    feed,
    filter_reasons,
    item_states,
    list_drafts,
    open_desk_at,
    query_db,
    settings_at,
    story_title,
)

ENGLISH_TITLE = "The council wants to open the old harbour to swimmers before the summer is over, it said on Monday."
GERMAN_TITLE = (
    "Der Stadtrat will den alten Hafen noch vor dem Ende des Sommers für Schwimmer öffnen, hieß es am Montag."
)


async def run_once(home, *sources, request=None, clock=None, **options):
    """Run once over sources given as (URL, body, config) and return the drafted titles."""
    web = FakeWeb()
    async with open_desk_at(home, web, clock, **options) as desk:
        for url, body, config in sources:
            web.put(url, body)
            await create_source(desk, url, **config)
        run = await desk.pipeline.run(request)
        assert run.status is RunStatus.SUCCEEDED, run.error
        return await draft_titles(desk)


async def test_source_include_and_exclude(tmp_path):
    body = feed(
        entry(1, title="Harbour to open for swimmers"),
        entry(2, title="Harbour is hiring divers"),
        entry(3, title="Mountain hut burnt down", text="Nobody was hurt."),
        entry(4, title="Lighthouse 42 is lit again after repairs", text="It went dark in May."),
    )
    config = {"include": ["harbour", "/lighthouse \\d+/"], "exclude": ["hiring"]}

    drafted = await run_once(tmp_path, (URL_ONE, body, config))

    assert sorted(drafted) == ["Harbour to open for swimmers", "Lighthouse 42 is lit again after repairs"]
    assert filter_reasons(tmp_path) == {
        "Harbour is hiring divers": "has the excluded hiring",
        "Mountain hut burnt down": "has none of harbour, /lighthouse \\d+/",
    }


async def test_filters_of_a_source_apply_to_it_only(tmp_path):
    body = [feed(entry(number, title=f"{story_title(number)} hiring")) for number in (1, 2)]

    drafted = await run_once(tmp_path, (URL_ONE, body[0], {"exclude": ["hiring"]}), (URL_TWO, body[1], {}))

    assert drafted == [f"{story_title(2)} hiring"]


async def test_filters_in_settings_apply_to_all_sources(tmp_path):
    body = [feed(entry(number, title=f"{story_title(number)} horoscope")) for number in (1, 2)]

    drafted = await run_once(
        tmp_path, *((url, body[0], {}) for url in (URL_ONE, URL_TWO)), pipeline__exclude="horoscope"
    )

    assert drafted == []


@pytest.mark.parametrize("where", ["source", "settings"])
async def test_other_languages_are_filtered_out(tmp_path, where):
    body = feed(entry(1, title=GERMAN_TITLE, text=GERMAN_TITLE), entry(2, title=ENGLISH_TITLE, text=ENGLISH_TITLE))
    config, options = ({"language": "en"}, {}) if where == "source" else ({}, {"pipeline__language": "en"})

    assert await run_once(tmp_path, (URL_ONE, body, config), **options) == [ENGLISH_TITLE]
    assert filter_reasons(tmp_path) == {GERMAN_TITLE: "in German, not in English"}


async def test_bare_titles_have_the_language_of_their_source(tmp_path):
    german = (
        "Hafen öffnet für Schwimmer",
        "Neue Brücke über die Elbe",
        "Streik am Flughafen beendet",
        "Museum zeigt Bilder aus dem Norden",
    )
    sources = [
        (URL_ONE, feed(*(entry(number, title=title, text="") for number, title in enumerate(german))), {}),
        (URL_TWO, feed(entry(9, title="Council reopens the lighthouse on Sunday", text="")), {}),
    ]

    assert await run_once(tmp_path, *sources, pipeline__language="en") == ["Council reopens the lighthouse on Sunday"]
    assert filter_reasons(tmp_path) == dict.fromkeys(german, "in German, not in English")


async def test_story_expires_while_waiting(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1), entry(2, hours=2)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await desk.pipeline.run(RunRequest(max_drafts=1))
        clock.advance(72 * 3600)
        run = await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(1)]

    assert (run.stats.items_considered, run.stats.items_filtered) == (1, 0)
    assert filter_reasons(tmp_path) == {story_title(2): "older than 72 hours"}


async def test_source_weight_orders_stories(tmp_path):
    sources = [
        (url, feed(entry(number)), {"weight": weight})
        for number, (url, weight) in enumerate(((URL_ONE, 0.5), (URL_TWO, 3.0), (URL_THREE, 1.0)))
    ]

    assert await run_once(tmp_path, *sources) == [story_title(1), story_title(2), story_title(0)]


async def test_low_score_waits_until_threshold_is_lowered(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))
    web.put(URL_TWO, feed(entry(2)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        strict = await create_source(desk, minScore=0.99)
        await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(2)]
        assert item_states(tmp_path)[story_title(1)] == "new"
        await desk.sources.update(strict.id, {"config": {"minScore": 0.01}})
        clock.advance(60)
        await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(2), story_title(1)]


async def test_one_draft_from_longest_of_several_sources(tmp_path):
    headline = "Harbour bridge collapses in Port Ellery after storm"
    long_text = "The bridge fell at noon. " * 200
    sources = [
        (url, feed(entry(number, title=headline, text=text)), {})
        for number, (url, text) in enumerate(((URL_ONE, "Short."), (URL_TWO, long_text), (URL_THREE, "Short too.")))
    ]

    assert await run_once(tmp_path, *sources) == [headline]
    assert sorted(state for (state,) in query_db(tmp_path, "SELECT state FROM item")) == [
        "drafted",
        "duplicate",
        "duplicate",
    ]
    assert query_db(tmp_path, "SELECT count(DISTINCT story_id) FROM item") == [(1,)]


async def test_drafted_story_is_not_drafted_from_another_source(tmp_path):
    headline = "Harbour bridge collapses in Port Ellery after storm"
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1, title=headline)))
    web.put(URL_TWO, feed(entry(2)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        web.put(URL_TWO, feed(entry(3, title=headline, hours=0), entry(2)))
        clock.advance(600)
        run = await desk.pipeline.run()
        assert run.stats.drafts_created == 0
        assert sorted(await draft_titles(desk)) == sorted([headline, story_title(2)])

    assert query_db(tmp_path, "SELECT reason FROM item WHERE state = 'duplicate'") == [
        ("its story already has a draft",)
    ]


@pytest.mark.parametrize(("hours", "stories"), [(14 * 24, 1), (14 * 24 + 1, 2)])
async def test_story_ends_after_14_days(tmp_path, hours, stories):
    headline = "Harbour bridge collapses in Port Ellery after storm"
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1, title=headline)))
    web.put(URL_TWO, feed(entry(2)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        # The first headline is an hour older than the first run.
        web.put(URL_TWO, feed(entry(3, title=headline, hours=1 - hours)))
        clock.advance((hours - 1) * 3600)
        await desk.pipeline.run()

    titled = query_db(tmp_path, "SELECT count(*), count(DISTINCT story_id) FROM item WHERE title = ?", headline)
    assert titled == [(2, stories)]


async def test_negative_interest_excludes_story(tmp_path):
    body = feed(entry(1, title="Casino opens at the harbour"), entry(2))

    assert await run_once(tmp_path, (URL_ONE, body, {}), ranking__interests="ferry, -casino") == [story_title(2)]
    assert filter_reasons(tmp_path) == {"Casino opens at the harbour": "contains casino, which you exclude"}


async def test_repeated_story_of_a_source_is_filtered(tmp_path):
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        web.put(URL_ONE, feed(entry(2, title=story_title(1), hours=0), entry(1)))
        clock.advance(600)
        run = await desk.pipeline.run()
        assert (run.stats.items_new, run.stats.items_filtered, run.stats.items_ranked) == (1, 1, 0)
        assert await draft_titles(desk) == [story_title(1)]

    assert query_db(tmp_path, "SELECT reason FROM item WHERE state = 'filtered'") == [
        (f"100% like “{story_title(1)}”, drafted before",)
    ]


async def test_same_title_in_one_source_is_two_stories(tmp_path):
    title = "Harbour opens for the weekly swim"
    body = feed(entry(1, title=title), entry(2, title=title))

    assert await run_once(tmp_path, (URL_ONE, body, {})) == [title] * 2


async def test_order_does_not_depend_on_response_order(tmp_path):
    """Items that tie in everything were once ordered by id, which depends on the order of the responses."""

    async def run_with_delay(home, delayed_url: str) -> list[tuple[str, str]]:
        web = FakeWeb()
        async with open_desk_at(home, web) as desk:
            for offset, url in enumerate((URL_ONE, URL_TWO)):
                web.put(url, feed(*(entry(2 * number + offset) for number in range(4)), title="Same"))
                await create_source(desk, url, name="Same")
            web.put(URL_THREE, feed(entry(100, title=story_title(1), link="https://elsewhere.example/1")))
            await create_source(desk, URL_THREE, name="Same")
            response, remaining_stored = web.hold(delayed_url), asyncio.Event()
            run_task = asyncio.create_task(
                desk.pipeline.run(None, lambda step: step.done == 2 and remaining_stored.set())
            )
            await remaining_stored.wait()
            response.released.set()
            await run_task
            return [(draft.item.title, draft.text) for draft in await list_drafts(desk)]

    assert await run_with_delay(tmp_path / "a", URL_ONE) == await run_with_delay(tmp_path / "b", URL_TWO)


@pytest.mark.parametrize("field", ["include", "exclude"])
async def test_invalid_regex_names_source_field(tmp_path, field):
    """It was once accepted, and then every run failed."""
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        with pytest.raises(InvalidError, match=rf"config\.{field}: /\(/ is not a valid regular expression"):
            await create_source(desk, **{field: ["/(/"]})
        source = await create_source(desk)
        with pytest.raises(InvalidError, match=rf"config\.{field}"):
            await desk.sources.update(source.id, {"config": {field: ["/(/"]}})
        assert (await desk.sources.get(source.id)).config is None


async def test_unusable_filter_pauses_only_its_source(tmp_path, monkeypatch):
    """A valid pattern may still be refused later, when it takes too long on a busy machine."""
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    web.put(URL_TWO, feed(entry(2)))

    def refuse(include, *args, **options):
        if "ferry" in include:
            raise InvalidError
        return compile_rules(include, *args, **options)

    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk, include=["ferry"])
        await create_source(desk, URL_TWO)
        with monkeypatch.context() as patch:
            patch.setattr("copydesk.desk.pipeline.item_rules.compile_rules", refuse)
            run = await desk.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED
        assert await draft_titles(desk) == [story_title(2)]
        await desk.pipeline.run()
        assert await draft_titles(desk) == [story_title(2), story_title(1)]


async def test_slow_regex_in_settings_fails_run(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web, pipeline__include="/(a+)+$/") as desk:
        await create_source(desk)
        run = await desk.pipeline.run()

    assert run.status is RunStatus.FAILED
    assert "pipeline.include: /(a+)+$/" in str(run.error)
    assert settings_at(tmp_path).pipeline.include == ()
    assert item_states(tmp_path) == {story_title(1): "new"}


async def test_ranking_runs_outside_event_loop_thread(tmp_path, monkeypatch):
    threads = {}

    def record_thread(name):
        original = getattr(select_stories, name)

        def recording(*args):
            threads[name] = threading.current_thread()
            return original(*args)

        monkeypatch.setattr(select_stories, name, recording)

    for name in ("_apply_rules", "_match_stories", "group_into_stories", "rank"):
        record_thread(name)

    assert await run_once(tmp_path, (URL_ONE, feed(entry(1)), {})) == [story_title(1)]

    assert len(threads) == 4
    assert threading.main_thread() not in threads.values()


async def test_items_are_judged_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(select_stories, "FILTER_BATCH_SIZE", 2)
    body = feed(*(entry(number) for number in range(1, 6)))

    assert len(await run_once(tmp_path, (URL_ONE, body, {}))) == 5
