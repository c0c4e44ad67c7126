"""Tests for ranking stories and dropping the unwanted."""

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.model.item import Item
from copydesk.ranking.rank import MAX_PER_SOURCE, SOURCE_WINDOW, RankedStory, Ranking, rank
from copydesk.ranking.score import ScoringContext, SourceRecord
from copydesk.ranking.stories import group_into_stories
from ranking_fixtures import NOW, make_item
from sampling import sample_size


def ranking(*items: Item, context: ScoringContext | None = None) -> Ranking:
    return rank(group_into_stories(items), context or ScoringContext(), NOW)


def order(result: Ranking) -> list[str]:
    return [story.story_id for story in result.ranked]


def reasons(result: Ranking) -> dict[str, str]:
    return {dropped.story.story_id: dropped.reason for dropped in result.dropped}


def test_higher_score_ranks_first() -> None:
    found = ranking(make_item("Old", id="a", hours=40), make_item("New", id="b", hours=1, source="s2"))
    assert order(found) == ["b", "a"]
    assert found.ranked[0].score.total > found.ranked[1].score.total


def test_ties_are_ordered_by_id() -> None:
    assert order(ranking(*(make_item("Same", id=item_id, source=item_id, url=None) for item_id in "cab"))) == [
        "a",
        "b",
        "c",
    ]


def test_merged_story_lists_all_sources() -> None:
    found = ranking(*(make_item(f"T{n}", id=f"i{n}", source=f"s{n}", story="one") for n in range(5)))
    assert order(found) == ["one"]
    assert {teller.source_id for teller in found.ranked[0].score.sources} == {f"s{n}" for n in range(5)}
    assert len(found.ranked[0].items) == 5
    assert found.ranked[0].items[0] is found.ranked[0].lead


def test_empty_input_gives_empty_ranking() -> None:
    assert ranking() == Ranking(ranked=())


def test_story_that_matches_no_interest_is_dropped_for_now() -> None:
    items = [make_item("SQLite joins", id="a"), make_item("A gallery", id="b", source="s2")]
    found = ranking(*items, context=ScoringContext(interests=("sqlite",)))
    assert order(found) == ["a"]
    assert [(drop.reason, drop.permanent) for drop in found.dropped] == [("matches none of your interests", False)]
    assert set(order(ranking(*items, context=ScoringContext(interests=("-crypto",))))) == {"a", "b"}


def test_negative_interest_drops_story() -> None:
    context = ScoringContext(interests=("sqlite", "-crypto", "- NFT "))
    found = ranking(
        make_item("SQLite for crypto", id="a"),
        make_item("A gallery", id="b", summary="sells an NFT"),
        make_item("Cryptography in SQLite", id="c"),
        context=context,
    )
    assert order(found) == ["c"]
    assert reasons(found) == {"a": "contains crypto, which you exclude", "b": "contains NFT, which you exclude"}


def test_previously_drafted_story_is_dropped() -> None:
    context = ScoringContext(recent_titles=("Civil rights leader Jesse Jackson dies, aged 84",))
    found = ranking(make_item("US civil rights leader Jesse Jackson dies aged 84"), context=context)
    assert order(found) == []
    assert reasons(found)["i1"] == "89% like “Civil rights leader Jesse Jackson dies, aged 84”, drafted before"


def test_next_version_is_not_a_repeat() -> None:
    context = ScoringContext(recent_titles=("Python 3.15 alpha 1 is ready for testing by everybody",))
    assert order(ranking(make_item("Python 3.15 alpha 2 is ready for testing by everybody"), context=context)) == ["i1"]


def test_story_below_min_score_is_dropped() -> None:
    context = ScoringContext(source_records={"s1": SourceRecord(min_score=0.9)})
    found = ranking(make_item("A", id="a"), make_item("B", id="b", source="s2"), context=context)
    assert order(found) == ["b"]
    assert reasons(found)["a"].startswith("score 0.")
    assert reasons(found)["a"].endswith(" is below 0.9")
    assert not found.dropped[0].permanent


def test_only_low_score_is_not_permanent() -> None:
    context = ScoringContext(
        interests=("-crypto",), recent_titles=("Iran and the US talk in Geneva again",), min_score=0.99
    )
    found = ranking(
        make_item("Crypto", id="a"),
        make_item("Iran and the US talk in Geneva", id="b"),
        make_item("Weak", id="c"),
        context=context,
    )
    assert {dropped.story.story_id: dropped.permanent for dropped in found.dropped} == {
        "a": True,
        "b": True,
        "c": False,
    }


def test_story_passes_if_one_source_allows() -> None:
    items = [make_item("A", id="a", story="x", text="long " * 99), make_item("B", id="b", source="s2", story="x")]
    assert order(ranking(*items, context=ScoringContext(source_records={"s1": SourceRecord(min_score=0.9)}))) == ["x"]


def test_source_min_score_overrides_global() -> None:
    context = ScoringContext(min_score=0.9, source_records={"s1": SourceRecord(min_score=0.1)})
    assert order(ranking(make_item("A", id="a"), make_item("B", id="b", source="s2"), context=context)) == ["a"]


def test_zero_weight_lowers_but_does_not_drop() -> None:
    context = ScoringContext(source_records={"s1": SourceRecord(weight=0)})
    found = ranking(make_item("A", id="a"), make_item("B", id="b", source="s2", hours=2), context=context)
    assert order(found) == ["b", "a"]


def test_source_gets_two_of_ten_positions() -> None:
    """As long as other sources have stories left."""
    loud = [make_item(f"Loud {n}", id=f"a{n}", source="loud", hours=0.1 * n) for n in range(8)]
    quiet = [make_item(f"Quiet {n}", id=f"b{n}", source=f"q{n}", hours=30 + n) for n in range(8)]
    found = order(ranking(*loud, *quiet))
    assert found[:2] == ["a0", "a1"]
    assert found[2:10] == [f"b{n}" for n in range(8)]
    assert found[10:] == [f"a{n}" for n in range(2, 8)]


def test_single_source_is_ranked_by_score() -> None:
    assert order(ranking(*(make_item(f"T{n}", id=f"i{n}", hours=n) for n in range(15)))) == [f"i{n}" for n in range(15)]


TITLES = st.sampled_from(["", "iran", "talks end 4"])
ITEMS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5), st.integers(0, 6), TITLES), max_size=30)


@given(ITEMS, st.randoms(use_true_random=False))
@settings(max_examples=sample_size(60))
def test_ranking_is_independent_of_input_order(specs: list[tuple[str, int, int, str]], rng: random.Random) -> None:
    items = [
        make_item(title, id=f"i{n}", source=source, story=f"t{story}", hours=hours)
        for n, (source, hours, story, title) in enumerate(specs)
    ]
    context = ScoringContext(interests=("iran",), recent_titles=("talks end",))
    stories = list(group_into_stories(items))
    first = rank(stories, context, NOW)
    rng.shuffle(stories)
    assert rank(stories, context, NOW) == first
    assert rank(group_into_stories(rng.sample(items, len(items))), context, NOW) == first


def sort_key(story: RankedStory) -> tuple[float, str, str]:
    """Return the sort key that orders stories when no source has to make room."""
    return -story.score.total, story.lead.source_id, story.lead.id


@given(ITEMS)
@settings(max_examples=sample_size(60))
def test_no_story_is_lost_or_promoted(specs: list[tuple[str, int, int, str]]) -> None:
    """A story is ranked above a better one only if the better one's source has used up its positions."""
    items = [
        make_item(title, id=f"i{n}", source=source, hours=hours) for n, (source, hours, _, title) in enumerate(specs)
    ]
    found = ranking(*items)
    assert sorted(order(found)) == sorted(story_item.id for story_item in items)
    sources = [story.lead.source_id for story in found.ranked]
    for at, (current, following) in enumerate(pairwise(found.ranked)):
        in_order = sort_key(current) < sort_key(following)
        recent = sources[max(0, at - SOURCE_WINDOW + 1) : at]
        assert in_order or recent.count(following.lead.source_id) >= MAX_PER_SOURCE
