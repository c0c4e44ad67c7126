"""What a run leaves out, what it takes for one story, and which stories it drafts first."""

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
    """The titles that were drafted of sources given as (address, body, config)."""
    web = Web()
    async with open_at(home, web, clock, **named) as desk:
        for url, body, config in sources:
            web.put(url, body)
            await add(desk, url, **config)
        run = await desk.pipeline.run(request)
        assert run.status is RunStatus.SUCCEEDED, run.error
        return await titles(desk)


async def test_a_source_takes_only_what_has_one_of_its_words_and_none_of_the_others(tmp_path):
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


async def test_the_words_of_one_source_are_not_those_of_another(tmp_path):
    body = [feed(entry(number, named=f"{title(number)} hiring")) for number in (1, 2)]

    drafted = await one_run(tmp_path, (ONE, body[0], {"exclude": ["hiring"]}), (TWO, body[1], {}))

    assert drafted == [f"{title(2)} hiring"]


async def test_the_words_of_the_settings_are_for_every_source(tmp_path):
    body = [feed(entry(number, named=f"{title(number)} horoscope")) for number in (1, 2)]

    drafted = await one_run(tmp_path, *((url, body[0], {}) for url in (ONE, TWO)), pipeline__exclude="horoscope")

    assert drafted == []


@pytest.mark.parametrize("where", ["source", "settings"])
async def test_what_is_in_another_language_is_left_out(tmp_path, where):
    body = feed(entry(1, named=GERMAN, text=GERMAN), entry(2, named=ENGLISH, text=ENGLISH))
    config, named = ({"language": "en"}, {}) if where == "source" else ({}, {"pipeline__language": "en"})

    assert await one_run(tmp_path, (ONE, body, config), **named) == [ENGLISH]
    assert reasons(tmp_path) == {GERMAN: "in German, not in English"}


async def test_a_story_that_waited_too_long_is_no_longer_drafted(tmp_path):
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


async def test_the_heavier_source_comes_first(tmp_path):
    sources = [
        (url, feed(entry(number)), {"weight": weight})
        for number, (url, weight) in enumerate(((ONE, 0.5), (TWO, 3.0), (THREE, 1.0)))
    ]

    assert await one_run(tmp_path, *sources) == [title(1), title(2), title(0)]


async def test_what_scores_too_low_waits_and_is_drafted_when_the_bar_is_lower(tmp_path):
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


async def test_a_story_of_several_sources_is_one_draft_of_the_one_that_says_most(tmp_path):
    told = "Harbour bridge collapses in Port Ellery after storm"
    long = "The bridge fell at noon. " * 200
    sources = [
        (url, feed(entry(number, named=told, text=text)), {})
        for number, (url, text) in enumerate(((ONE, "Short."), (TWO, long), (THREE, "Short too.")))
    ]

    assert await one_run(tmp_path, *sources) == [told]
    assert sorted(state for (state,) in rows(tmp_path, "SELECT state FROM item")) == [
        "drafted",
        "duplicate",
        "duplicate",
    ]
    assert rows(tmp_path, "SELECT count(DISTINCT story_id) FROM item") == [(1,)]


async def test_a_story_that_was_drafted_is_not_drafted_again_when_another_source_tells_it(tmp_path):
    told = "Harbour bridge collapses in Port Ellery after storm"
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1, named=told)))
    web.put(TWO, feed(entry(2)))
    async with open_at(tmp_path, web, clock) as desk:
        await add(desk)
        await add(desk, TWO)
        await desk.pipeline.run()
        web.put(TWO, feed(entry(3, named=told, hours=0), entry(2)))
        clock.forward(600)
        run = await desk.pipeline.run()
        assert run.stats.drafts_created == 0
        assert sorted(await titles(desk)) == sorted([told, title(2)])

    assert rows(tmp_path, "SELECT reason FROM item WHERE state = 'duplicate'") == [("its story was drafted before",)]


async def test_a_word_that_is_kept_out_keeps_a_story_out_for_good(tmp_path):
    body = feed(entry(1, named="Casino opens at the harbour"), entry(2))

    assert await one_run(tmp_path, (ONE, body, {}), ranking__interests="ferry, -casino") == [title(2)]
    assert reasons(tmp_path) == {"Casino opens at the harbour": "has casino, which you keep out"}


async def test_a_story_that_its_source_tells_once_more_is_not_drafted_once_more(tmp_path):
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


async def test_two_entries_of_one_source_with_the_same_title_are_two_stories(tmp_path):
    body = feed(entry(1, named="Weekly notes from the harbour"), entry(2, named="Weekly notes from the harbour"))

    assert await one_run(tmp_path, (ONE, body, {})) == ["Weekly notes from the harbour"] * 2


async def test_the_order_does_not_depend_on_which_source_answers_first(tmp_path):
    """Items of different sources that are equal in everything were told apart by ids that the network's luck gave."""

    async def drafted(home, late: str) -> list[tuple[str, str]]:
        web = Web()
        async with open_at(home, web) as desk:
            for offset, url in enumerate((ONE, TWO)):
                web.put(url, feed(*(entry(2 * number + offset) for number in range(4)), title="Same"))
                await add(desk, url, name="Same")
            web.put(THREE, feed(entry(100, named=title(1), link="https://elsewhere.example/1")))
            await add(desk, THREE, name="Same")
            held, others_are_in = web.hold(late), asyncio.Event()
            work = asyncio.create_task(desk.pipeline.run(None, lambda step: step.done == 2 and others_are_in.set()))
            await others_are_in.wait()
            held.go.set()
            await work
            return [(draft.item.title, draft.text) for draft in await drafts_of(desk)]

    assert await drafted(tmp_path / "a", ONE) == await drafted(tmp_path / "b", TWO)


@pytest.mark.parametrize("field", ["include", "exclude"])
async def test_an_expression_that_is_none_is_refused_with_the_source_that_wants_it(tmp_path, field):
    """It was accepted, and from then on every run failed."""
    async with open_at(tmp_path, Web()) as desk:
        with pytest.raises(InvalidError, match=rf"config\.{field}: /\(/ is no regular expression"):
            await add(desk, **{field: ["/(/"]})
        source = await add(desk)
        with pytest.raises(InvalidError, match=rf"config\.{field}"):
            await desk.sources.update(source.id, {"config": {field: ["/(/"]}})
        assert (await desk.sources.get(source.id)).config is None


async def test_rules_that_can_no_longer_be_used_keep_only_their_own_source_waiting(tmp_path, monkeypatch):
    """An expression may be refused later: where it takes too long on a busy machine."""
    web = Web()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2)))

    def refuse(include, *rest, **named):
        if "ferry" in include:
            raise InvalidError
        return compile_rules(include, *rest, **named)

    async with open_at(tmp_path, web) as desk:
        await add(desk, include=["ferry"])
        await add(desk, TWO)
        with monkeypatch.context() as patched:
            patched.setattr("copydesk.desk.choosing.compile_rules", refuse)
            run = await desk.pipeline.run()
        assert run.status is RunStatus.SUCCEEDED
        assert await titles(desk) == [title(2)]
        await desk.pipeline.run()
        assert await titles(desk) == [title(2), title(1)]


async def test_an_expression_of_the_settings_that_takes_too_long_fails_the_run_and_is_named(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web, pipeline__include="/(a+)+$/") as desk:
        await add(desk)
        run = await desk.pipeline.run()

    assert run.status is RunStatus.FAILED
    assert "pipeline.include: /(a+)+$/" in str(run.error)
    assert settings_at(tmp_path).pipeline.include == ()
    assert states(tmp_path) == {title(1): "new"}


async def test_what_is_decided_of_many_items_keeps_nobody_else_from_their_turn(tmp_path, monkeypatch):
    decided_in = {}

    def watched(name):
        decide = getattr(choosing, name)

        def decides(*args):
            decided_in[name] = threading.current_thread()
            return decide(*args)

        monkeypatch.setattr(choosing, name, decides)

    for name in ("_judge", "_stories", "gather", "_ranking"):
        watched(name)

    assert await one_run(tmp_path, (ONE, feed(entry(1)), {})) == [title(1)]

    assert len(decided_in) == 4
    assert threading.main_thread() not in decided_in.values()


async def test_more_items_than_are_judged_at_once_are_all_judged(tmp_path, monkeypatch):
    monkeypatch.setattr(choosing, "JUDGED_AT_ONCE", 2)
    body = feed(*(entry(number) for number in range(1, 6)))

    assert len(await one_run(tmp_path, (ONE, body, {}))) == 5
