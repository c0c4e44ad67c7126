"""Tests for filtering, grouping into stories and ranking within a run."""

import asyncio
import threading

import pytest

from copydesk.desk import choosing
from copydesk.errors import InvalidError
from copydesk.model.run import RunRequest, RunStatus
from copydesk.ranking.filters import compile_rules
from desk_fixtures import (
    ONE,
    THREE,
    TWO,
    Watch,
    Web,
    add,
    drafts_of,
    entry,
    feed,
    open_at,
    reasons,
    rows,
    settings_at,
    states,
    title,
    titles,
)

ENGLISH = "The council wants to open the old harbour to swimmers before the summer is over, it said on Monday."
GERMAN = "Der Stadtrat will den alten Hafen noch vor dem Ende des Sommers für Schwimmer öffnen, hieß es am Montag."


async def one_run(home, *sources, request=None, clock=None, **named):
    """Run once over sources given as (URL, body, config) and return the drafted titles."""
    web = Web()
    async with open_at(home, web, clock, **named) as desk:
        for url, body, config in sources:
            web.put(url, body)
            await add(desk, url, **config)
        run = await desk.pipeline.run(request)
        assert run.status is RunStatus.SUCCEEDED, run.error
        return await titles(desk)


async def test_source_include_and_exclude(tmp_path):
    body = feed(
        entry(1, named="Harbour to open for swimmers"),
        entry(2, named="Harbour is hiring divers"),
        entry(3, named="Mountain hut burnt down", text="Nobody was hurt."),
        entry(4, named="Lighthouse 42 lit again", text="It went dark in May."),
    )
    config = {"include": ["harbour", "/lighthouse \\d+/"], "exclude": ["hiring"]}

    drafted = await one_run(tmp_path, (ONE, body, config))

    assert sorted(drafted) == ["Harbour to open for swimmers", "Lighthouse 42 lit again"]
    assert reasons(tmp_path) == {
        "Harbour is hiring divers": "has the excluded hiring",
        "Mountain hut burnt down": "has none of harbour, /lighthouse \\d+/",
    }


async def test_filters_of_a_source_apply_to_it_only(tmp_path):
    body = [feed(entry(number, named=f"{title(number)} hiring")) for number in (1, 2)]

    drafted = await one_run(tmp_path, (ONE, body[0], {"exclude": ["hiring"]}), (TWO, body[1], {}))

    assert drafted == [f"{title(2)} hiring"]


async def test_filters_in_settings_apply_to_all_sources(tmp_path):
    body = [feed(entry(number, named=f"{title(number)} horoscope")) for number in (1, 2)]

    drafted = await one_run(tmp_path, *((url, body[0], {}) for url in (ONE, TWO)), pipeline__exclude="horoscope")

    assert drafted == []


@pytest.mark.parametrize("where", ["source", "settings"])
async def test_other_languages_are_filtered_out(tmp_path, where):
    body = feed(entry(1, named=GERMAN, text=GERMAN), entry(2, named=ENGLISH, text=ENGLISH))
    config, options = ({"language": "en"}, {}) if where == "source" else ({}, {"pipeline__language": "en"})

    assert await one_run(tmp_path, (ONE, body, config), **options) == [ENGLISH]
    assert reasons(tmp_path) == {GERMAN: "in German, not in English"}


async def test_story_expires_while_waiting(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1), entry(2, hours=2)))
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await desk.pipeline.run(RunRequest(max_drafts=1))
        clock.forward(72 * 3600)
        run = await desk.pipeline.run()
        assert await titles(desk) == [title(1)]

    assert (run.stats.items_ingested, run.stats.items_filtered) == (1, 0)
    assert reasons(tmp_path) == {title(2): "older than 72 hours"}


async def test_source_weight_orders_stories(tmp_path):
    sources = [
        (url, feed(entry(number)), {"weight": weight})
        for number, (url, weight) in enumerate(((ONE, 0.5), (TWO, 3.0), (THREE, 1.0)))
    ]

    assert await one_run(tmp_path, *sources) == [title(1), title(2), title(0)]


async def test_low_score_waits_until_threshold_is_lowered(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2)))
    async with open_at(tmp_path, web, clock) as desk:
        strict = await add(desk, minScore=0.99)
        await add(desk, TWO)
        await desk.pipeline.run()
        assert await titles(desk) == [title(2)]
        assert states(tmp_path)[title(1)] == "new"
        await desk.sources.update(strict.id, {"config": {"minScore": 0.01}})
        clock.forward(60)
        await desk.pipeline.run()
        assert await titles(desk) == [title(2), title(1)]


async def test_one_draft_from_longest_of_several_sources(tmp_path):
    headline = "Harbour bridge collapses in Port Ellery after storm"
    long_text = "The bridge fell at noon. " * 200
    sources = [
        (url, feed(entry(number, named=headline, text=text)), {})
        for number, (url, text) in enumerate(((ONE, "Short."), (TWO, long_text), (THREE, "Short too.")))
    ]

    assert await one_run(tmp_path, *sources) == [headline]
    assert sorted(state for (state,) in rows(tmp_path, "SELECT state FROM item")) == [
        "drafted",
        "duplicate",
        "duplicate",
    ]
    assert rows(tmp_path, "SELECT count(DISTINCT story_id) FROM item") == [(1,)]


async def test_drafted_story_is_not_drafted_from_another_source(tmp_path):
    headline = "Harbour bridge collapses in Port Ellery after storm"
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1, named=headline)))
    web.put(TWO, feed(entry(2)))
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await add(desk, TWO)
        await desk.pipeline.run()
        web.put(TWO, feed(entry(3, named=headline, hours=0), entry(2)))
        clock.forward(600)
        run = await desk.pipeline.run()
        assert run.stats.drafts_created == 0
        assert sorted(await titles(desk)) == sorted([headline, title(2)])

    assert rows(tmp_path, "SELECT reason FROM item WHERE state = 'duplicate'") == [("its story was drafted before",)]


async def test_negative_interest_excludes_story(tmp_path):
    body = feed(entry(1, named="Casino opens at the harbour"), entry(2))

    assert await one_run(tmp_path, (ONE, body, {}), ranking__interests="ferry, -casino") == [title(2)]
    assert reasons(tmp_path) == {"Casino opens at the harbour": "has casino, which you keep out"}


async def test_repeated_story_of_a_source_is_filtered(tmp_path):
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await desk.pipeline.run()
        web.put(ONE, feed(entry(2, named=title(1), hours=0), entry(1)))
        clock.forward(600)
        run = await desk.pipeline.run()
        assert (run.stats.items_new, run.stats.items_filtered, run.stats.items_ranked) == (1, 1, 0)
        assert await titles(desk) == [title(1)]

    assert rows(tmp_path, "SELECT reason FROM item WHERE state = 'filtered'") == [
        (f"100% like “{title(1)}”, drafted before",)
    ]


async def test_same_title_in_one_source_is_two_stories(tmp_path):
    body = feed(entry(1, named="Weekly notes from the harbour"), entry(2, named="Weekly notes from the harbour"))

    assert await one_run(tmp_path, (ONE, body, {})) == ["Weekly notes from the harbour"] * 2


async def test_order_does_not_depend_on_response_order(tmp_path):
    """Items that tie in everything were once ordered by id, which depends on the order of the responses."""

    async def run_with_delay(home, delayed_url: str) -> list[tuple[str, str]]:
        web = Web()
        async with open_at(home, web) as desk:
            for offset, url in enumerate((ONE, TWO)):
                web.put(url, feed(*(entry(2 * number + offset) for number in range(4)), title="Same"))
                await add(desk, url, name="Same")
            web.put(THREE, feed(entry(100, named=title(1), link="https://elsewhere.example/1")))
            await add(desk, THREE, name="Same")
            response, remaining_stored = web.hold(delayed_url), asyncio.Event()
            run_task = asyncio.create_task(
                desk.pipeline.run(None, lambda step: step.done == 2 and remaining_stored.set())
            )
            await remaining_stored.wait()
            response.go.set()
            await run_task
            return [(draft.item.title, draft.text) for draft in await drafts_of(desk)]

    assert await run_with_delay(tmp_path / "a", ONE) == await run_with_delay(tmp_path / "b", TWO)


@pytest.mark.parametrize("field", ["include", "exclude"])
async def test_invalid_regex_names_source_field(tmp_path, field):
    """It was once accepted, and then every run failed."""
    async with open_at(tmp_path, Web()) as desk:
        with pytest.raises(InvalidError, match=rf"config\.{field}: /\(/ is no regular expression"):
            await add(desk, **{field: ["/(/"]})
        source = await add(desk)
        with pytest.raises(InvalidError, match=rf"config\.{field}"):
            await desk.sources.update(source.id, {"config": {field: ["/(/"]}})
        assert (await desk.sources.get(source.id)).config is None


async def test_unusable_filter_pauses_only_its_source(tmp_path, monkeypatch):
    """A valid pattern may still be refused later, when it takes too long on a busy machine."""
    web = Web()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2)))

    def refuse(include, *args, **options):
        if "ferry" in include:
            raise InvalidError
        return compile_rules(include, *args, **options)

    async with open_at(tmp_path, web) as desk:
        await add(desk, include=["ferry"])
        await add(desk, TWO)
        with monkeypatch.context() as patch:
            patch.setattr("copydesk.desk.choosing.compile_rules", refuse)
            run = await desk.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED
        assert await titles(desk) == [title(2)]
        await desk.pipeline.run()
        assert await titles(desk) == [title(2), title(1)]


async def test_slow_regex_in_settings_fails_run(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web, pipeline__include="/(a+)+$/") as desk:
        await add(desk)
        run = await desk.pipeline.run()

    assert run.status is RunStatus.FAILED
    assert "pipeline.include: /(a+)+$/" in str(run.error)
    assert settings_at(tmp_path).pipeline.include == ()
    assert states(tmp_path) == {title(1): "new"}


async def test_ranking_runs_outside_event_loop_thread(tmp_path, monkeypatch):
    threads = {}

    def record_thread(name):
        original = getattr(choosing, name)

        def recording(*args):
            threads[name] = threading.current_thread()
            return original(*args)

        monkeypatch.setattr(choosing, name, recording)

    for name in ("_judge", "_stories", "gather", "_ranking"):
        record_thread(name)

    assert await one_run(tmp_path, (ONE, feed(entry(1)), {})) == [title(1)]

    assert len(threads) == 4
    assert threading.main_thread() not in threads.values()


async def test_items_are_judged_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(choosing, "JUDGED_AT_ONCE", 2)
    body = feed(*(entry(number) for number in range(1, 6)))

    assert len(await one_run(tmp_path, (ONE, body, {}))) == 5
