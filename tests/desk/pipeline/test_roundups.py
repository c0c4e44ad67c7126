"""Tests for round-ups: which items they get, how they are stored, and that none is made twice."""

from datetime import timedelta

import pytest

from copydesk.desk.pipeline.roundups import MAX_CANDIDATES, Roundup, Roundups
from copydesk.desk.pipeline.write_drafts import _load_roundups
from copydesk.model.draft import Format, Score, Status
from copydesk.model.item import Item
from copydesk.model.run import RunRequest
from copydesk.ranking.rank import RankedStory
from copydesk.store import items
from desk_fixtures import FakeWeb, Watch, create_source, entry, feed, item_states, list_drafts, open_desk_at
from ranking_fixtures import make_item

TITLES = (
    "Harbour to open for swimmers",
    "Harbour library lends nets to readers",
    "Orchestras play a concert at the harbour",
    "Harbour tram is delayed by cracks",
)
TEXTS = (
    "Swimmers may use the old basin of Marl from June to September.",
    "Readers borrowed forty nets and nine rods in the first week.",
    "Two orchestras will play on a pontoon between the cranes on Sunday.",
    "Engineers found cracks in eleven rails near the final stop.",
)
URLS = tuple(f"https://{name}.example/feed" for name in ("one", "two", "three", "four"))
BLOG = RunRequest(formats=("BLOG",))


def make_story(item: Item, *others: Item, score: float = 1.0) -> RankedStory:
    return RankedStory(story_id=item.story_id, lead=item, items=(item, *others), score=Score(total=score))


def make_stories(*titles: str) -> list[RankedStory]:
    """Return a story of its own source for each title, best first."""
    return [
        make_story(
            make_item(title, id=f"i{number}", source=f"s{number}", url=f"https://site{number}.example/"),
            score=1 - number / 1000,
        )
        for number, title in enumerate(titles)
    ]


def listed_ids(roundups: Roundups, story: RankedStory) -> list[list[str]]:
    return [[item.id for item in roundup.items] for roundup in roundups.list_for(story)]


def test_story_of_three_sources_is_a_roundup_of_its_own() -> None:
    items = [make_item(id=f"i{n}", source=f"s{n}", story="s", url=f"https://site{n}.example/") for n in range(3)]
    story = make_story(*items)
    assert list(Roundups([story], [], ()).list_for(story)) == [Roundup(tuple(items))]


def test_story_of_two_sources_is_none() -> None:
    items = [make_item(id=f"i{n}", source=f"s{n}", story="s", url=f"https://site{n}.example/") for n in range(2)]
    story = make_story(*items)
    assert list(Roundups([story], [], ()).list_for(story)) == []


def test_stories_of_one_interest_are_gathered_by_score() -> None:
    stories = make_stories("Rust is out", "Go is out", "Rust at work", "Learning Rust")
    roundups = Roundups([stories[3], *stories[:3]], ["go", "rust"], ())
    assert list(roundups.list_for(stories[0])) == [Roundup(tuple(stories[n].lead for n in (0, 2, 3)), "rust")]
    assert listed_ids(roundups, stories[2]) == [["i2", "i0", "i3"]]
    assert listed_ids(roundups, stories[1]) == []


def test_interest_takes_one_report_of_each_subject() -> None:
    stories = make_stories(*SUBJECT_TITLES[:2], "A train for Cluj", "Train drivers of Pecs sing")
    assert listed_ids(Roundups(stories, ["train"], ()), stories[0]) == [["i0", "i2", "i3"]]


def test_linked_items_are_in_no_other_roundup() -> None:
    stories = make_stories(*(f"Rust {n}" for n in range(6)))
    roundups = Roundups(stories, ["rust"], {"i1"})
    assert listed_ids(roundups, stories[0]) == [["i0", "i2", "i3", "i4", "i5"]]
    assert listed_ids(roundups, stories[1]) == []
    roundups.add_linked(["i0", "i2"])
    assert listed_ids(roundups, stories[0]) == []
    assert listed_ids(roundups, stories[3]) == [["i3", "i4", "i5"]]


def test_exhausted_interest_is_not_tried_again() -> None:
    stories = make_stories("Rust and Go", "Rust and Go at work", "Go and Rust")
    roundups = Roundups(stories, ["rust", "go"], ())
    roundups.exhaust("rust")
    assert [roundup.topic for roundup in roundups.list_for(stories[0])] == ["go"]


def test_busy_source_does_not_crowd_out_others() -> None:
    busy = [make_item(f"Rust {n}", id=f"b{n}", source="busy", url=f"https://busy.example/{n}") for n in range(30)]
    others = make_stories(*(f"Rust at place {n}" for n in range(30)))
    stories = [*(make_story(item, score=5) for item in busy), *others]
    (ids,) = listed_ids(Roundups(stories, ["rust"], ()), stories[0])
    assert ids[:4] == ["b0", "b1", "i0", "i1"]
    assert len(ids) == MAX_CANDIDATES


def test_sites_behind_an_aggregator_are_sources_of_their_own() -> None:
    items = [
        make_item(f"Rust {n}", id=f"i{n}", source="hn", type="hackernews", url=f"https://site{n}.example/")
        for n in range(3)
    ]
    stories = [make_story(item) for item in items]
    assert len(listed_ids(Roundups(stories, ["rust"], ()), stories[0])) == 1


SUBJECT_TITLES = (
    "Lisbon and Madrid agree on a night train",
    "The night train from Lisbon to Madrid has a price",
    "A concert for the trams of Graz",
    "Madrid has waited six years for its train to Lisbon",
)


def test_stories_of_one_subject_are_gathered_by_score() -> None:
    stories = make_stories(*SUBJECT_TITLES)
    (roundup,) = Roundups(stories, [], ()).list_for(stories[1])
    assert [item.id for item in roundup.items] == ["i1", "i0", "i3"]
    assert roundup.topic == "Lisbon and Madrid"


@pytest.mark.parametrize(
    ("title", "hours"), [("Lisbon and Madrid will agree on a night train", 1), (SUBJECT_TITLES[0], 100)]
)
def test_announced_and_old_items_are_not_gathered(title: str, hours: float) -> None:
    stories = make_stories(*SUBJECT_TITLES)
    stories[0] = make_story(make_item(title, id="i0", source="s0", url="https://site0.example/", hours=hours))
    assert list(Roundups(stories, [], ()).list_for(stories[1])) == []


def test_subject_is_tried_with_another_lead_but_written_once() -> None:
    stories = make_stories(*SUBJECT_TITLES)
    roundups = Roundups(stories, [], ())
    roundups.give_up("Lisbon and Madrid")
    assert listed_ids(roundups, stories[1]) == [["i1", "i0", "i3"]]
    roundups.exhaust("Lisbon and Madrid")
    assert listed_ids(roundups, stories[1]) == []


async def open_harbour(desk, web: FakeWeb, numbers=range(4)) -> None:
    for number, (url, title, text) in enumerate(zip(URLS, TITLES, TEXTS, strict=True)):
        if number in numbers:
            web.put(url, feed(entry(number, title=title, text=text, link=url.replace("feed", "story"))))
            await create_source(desk, url)


async def test_run_writes_one_roundup_of_an_interest(tmp_path) -> None:
    web = FakeWeb()
    async with open_desk_at(tmp_path, web, ranking__interests="harbour") as desk:
        await open_harbour(desk, web)
        run = await desk.pipeline.run(RunRequest(formats=("SHORT", "BLOG")))
        drafts = await list_drafts(desk)
        roundup = next(draft for draft in drafts if draft.format is Format.BLOG)
        assert sorted(draft.format for draft in drafts) == ["BLOG", *["SHORT"] * 4]
        assert run.stats.drafts_created == 5
        assert roundup.text.startswith("# Harbour: four links")
        assert roundup.items[0].id == roundup.item_id
        assert {item.title for item in roundup.items} == set(TITLES)
        assert all(item.url in roundup.text for item in roundup.items)
        assert all(text in roundup.text for text in TEXTS)
        assert not [finding for finding in roundup.checks.findings if finding.severity == "error"]
        assert {trace.item_id for trace in roundup.sentences} == {None, *(item.id for item in roundup.items[1:])}
        assert (await desk.drafts.get(roundup.id)).items == roundup.items
        assert not any(draft.items for draft in drafts if draft is not roundup)


async def test_roundup_is_not_made_again(tmp_path) -> None:
    web, clock = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, clock, ranking__interests="harbour") as desk:
        await open_harbour(desk, web)
        first = await desk.pipeline.run(BLOG)
        clock.advance(3600)
        second = await desk.pipeline.run(BLOG)
        assert (first.stats.drafts_created, second.stats.drafts_created) == (1, 0)
        # Their own drafts can still be written.
        third = await desk.pipeline.run(RunRequest(formats=("SHORT",)))
        assert third.stats.drafts_created == 3


async def test_items_wait_for_more_sources(tmp_path) -> None:
    web, clock = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, clock, ranking__interests="harbour") as desk:
        await open_harbour(desk, web, range(2))
        assert (await desk.pipeline.run(BLOG)).stats.drafts_created == 0
        assert set(item_states(tmp_path).values()) == {"new"}
        clock.advance(3600)
        await open_harbour(desk, web, [2])
        assert (await desk.pipeline.run(BLOG)).stats.drafts_created == 1


async def test_interest_has_one_roundup_a_day(tmp_path) -> None:
    web, clock = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, clock, ranking__interests="harbour") as desk:
        roundup = await make_roundup(desk, web)
        recent = [await desk._context.read(items.list_of_draft, roundup.id)]
        assert await desk._context.read(_load_roundups, clock.now) == tuple(recent)
        assert await desk._context.read(_load_roundups, clock.now + timedelta(seconds=1)) == ()

    stories = make_stories("Harbour crane", "Harbour gulls", "A museum at the harbour")
    assert listed_ids(Roundups(stories, ["harbour"], ()), stories[0]) == [["i0", "i1", "i2"]]
    assert listed_ids(Roundups(stories, ["harbour"], (), recent), stories[0]) == []


async def make_roundup(desk, web: FakeWeb):
    await open_harbour(desk, web)
    await desk.pipeline.run(BLOG)
    (roundup,) = await list_drafts(desk)
    return roundup


async def test_edited_roundup_is_checked_against_all_its_items(tmp_path) -> None:
    web = FakeWeb()
    async with open_desk_at(tmp_path, web, ranking__interests="harbour") as desk:
        roundup = await make_roundup(desk, web)
        edited = await desk.drafts.edit(roundup.id, roundup.text.replace("From ", "Four texts from "))
        assert not [finding for finding in edited.checks.findings if finding.severity == "error"]
        wrong = await desk.drafts.edit(roundup.id, roundup.text.replace("forty nets", "fifty nets"))
        assert {finding.rule for finding in wrong.checks.findings if finding.severity == "error"} & {"quote", "number"}


async def test_new_version_of_a_roundup_has_the_same_items(tmp_path) -> None:
    web = FakeWeb()
    async with open_desk_at(tmp_path, web, ranking__interests="harbour") as desk:
        for number, (url, title, text) in enumerate(zip(URLS, TITLES, TEXTS, strict=True)):
            longer = f"{text} Neighbours of the place number {number + 20} complained about noise."
            web.put(url, feed(entry(number, title=title, text=longer, link=url.replace("feed", "story"))))
            await create_source(desk, url)
        await desk.pipeline.run(BLOG)
        (roundup,) = await list_drafts(desk)
        await desk.drafts.regenerate(roundup.id, "shorter")
        await desk.generation.drain()
        newest = max(await list_drafts(desk), key=lambda draft: draft.id)
        assert newest.status is Status.AWAITING_REVIEW, newest.last_error
        assert newest.text.startswith("# Harbour: three links")
        assert [item.id for item in newest.items] == [item.id for item in roundup.items][:3]


async def test_changed_source_holds_an_approved_roundup(tmp_path) -> None:
    web, clock = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, clock, ranking__interests="harbour") as desk:
        roundup = await make_roundup(desk, web)
        await desk.drafts.approve(roundup.id)
        other = next(number for number, title in enumerate(TITLES) if title == roundup.items[2].title)
        url = URLS[other]
        web.put(
            url, feed(entry(other, title=TITLES[other], text="It was all wrong.", link=url.replace("feed", "story")))
        )
        clock.advance(3600)
        await desk.pipeline.run(BLOG)
        held = await desk.drafts.get(roundup.id)
        assert held.status is Status.AWAITING_REVIEW
        assert held.last_error == (
            f"Held: its source “{TITLES[other]}” changed since you approved it: the text changed."
        )
