"""The order of the stories, and which are left out."""

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.model.item import Item
from copydesk.ranking.rank import AMONG, PER_SOURCE, Ranked, Ranking, rank
from copydesk.ranking.score import Context, Standing
from copydesk.ranking.stories import gather
from ranking_items import NOW, item


def ranking(*items: Item, context: Context | None = None) -> Ranking:
    return rank(gather(items), context or Context(), NOW)


def order(found: Ranking) -> list[str]:
    return [story.story_id for story in found.ranked]


def reasons(found: Ranking) -> dict[str, str]:
    return {each.story.story_id: each.reason for each in found.dropped}


def test_the_higher_score_comes_first() -> None:
    found = ranking(item("Old", id="a", hours=40), item("New", id="b", hours=1, source="s2"))
    assert order(found) == ["b", "a"]
    assert found.ranked[0].score.total > found.ranked[1].score.total


def test_ties_go_by_id() -> None:
    assert order(ranking(*(item("Same", id=each, source=each, url=None) for each in "cab"))) == ["a", "b", "c"]


def test_one_story_of_five_sources_is_one_ranked_item_that_names_all_five() -> None:
    found = ranking(*(item(f"T{n}", id=f"i{n}", source=f"s{n}", story="one") for n in range(5)))
    assert order(found) == ["one"]
    assert {teller.source_id for teller in found.ranked[0].score.sources} == {f"s{n}" for n in range(5)}
    assert len(found.ranked[0].items) == 5
    assert found.ranked[0].items[0] is found.ranked[0].lead


def test_nothing_to_rank_is_no_ranking() -> None:
    assert ranking() == Ranking(ranked=())


def test_a_negative_interest_keeps_a_story_out() -> None:
    context = Context(interests=("sqlite", "-crypto", "- NFT "))
    found = ranking(
        item("SQLite for crypto", id="a"),
        item("A gallery", id="b", summary="sells an NFT"),
        item("Cryptography", id="c"),
        context=context,
    )
    assert order(found) == ["c"]
    assert reasons(found) == {"a": "has crypto, which you keep out", "b": "has NFT, which you keep out"}


def test_what_was_told_before_is_left_out() -> None:
    context = Context(told=("Civil rights leader Jesse Jackson dies, aged 84",))
    found = ranking(item("US civil rights leader Jesse Jackson dies aged 84"), context=context)
    assert order(found) == []
    assert reasons(found)["i1"] == "89% like “Civil rights leader Jesse Jackson dies, aged 84”, drafted before"


def test_the_next_version_was_not_told_before() -> None:
    context = Context(told=("Python 3.15 alpha 1 is ready for testing by everybody",))
    assert order(ranking(item("Python 3.15 alpha 2 is ready for testing by everybody"), context=context)) == ["i1"]


def test_a_story_below_the_least_score_is_left_out() -> None:
    context = Context(standings={"s1": Standing(min_score=0.9)})
    found = ranking(item("A", id="a"), item("B", id="b", source="s2"), context=context)
    assert order(found) == ["b"]
    assert reasons(found)["a"].startswith("scored 0.")
    assert reasons(found)["a"].endswith(", below 0.9")
    assert not found.dropped[0].for_good


def test_only_a_low_score_is_not_for_good() -> None:
    context = Context(interests=("-crypto",), told=("Iran and the US talk in Geneva again",), min_score=0.99)
    found = ranking(
        item("Crypto", id="a"), item("Iran and the US talk in Geneva", id="b"), item("Weak", id="c"), context=context
    )
    assert {each.story.story_id: each.for_good for each in found.dropped} == {"a": True, "b": True, "c": False}


def test_a_story_that_another_source_lets_through_stays() -> None:
    items = [item("A", id="a", story="x", text="long " * 99), item("B", id="b", source="s2", story="x")]
    assert order(ranking(*items, context=Context(standings={"s1": Standing(min_score=0.9)}))) == ["x"]


def test_the_least_score_of_all_sources_gives_way_to_a_sources_own() -> None:
    context = Context(min_score=0.9, standings={"s1": Standing(min_score=0.1)})
    assert order(ranking(item("A", id="a"), item("B", id="b", source="s2"), context=context)) == ["a"]


def test_a_source_of_weight_nothing_is_ranked_lower_not_dropped() -> None:
    context = Context(standings={"s1": Standing(weight=0)})
    found = ranking(item("A", id="a"), item("B", id="b", source="s2", hours=2), context=context)
    assert order(found) == ["b", "a"]


def test_a_source_gets_two_places_of_ten_while_others_have_something() -> None:
    loud = [item(f"Loud {n}", id=f"a{n}", source="loud", hours=0.1 * n) for n in range(8)]
    quiet = [item(f"Quiet {n}", id=f"b{n}", source=f"q{n}", hours=30 + n) for n in range(8)]
    found = order(ranking(*loud, *quiet))
    assert found[:2] == ["a0", "a1"]
    assert found[2:10] == [f"b{n}" for n in range(8)]
    assert found[10:] == [f"a{n}" for n in range(2, 8)]


def test_a_desk_of_one_source_is_ranked_by_score_alone() -> None:
    assert order(ranking(*(item(f"T{n}", id=f"i{n}", hours=n) for n in range(15)))) == [f"i{n}" for n in range(15)]


SAID = st.sampled_from(["", "iran", "talks end 4"])
ITEMS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5), st.integers(0, 6), SAID), max_size=30)


@given(ITEMS, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_the_order_does_not_depend_on_the_order_of_the_input(
    made: list[tuple[str, int, int, str]], rng: random.Random
) -> None:
    items = [
        item(title, id=f"i{n}", source=source, story=f"t{story}", hours=hours)
        for n, (source, hours, story, title) in enumerate(made)
    ]
    context = Context(interests=("iran",), told=("talks end",))
    stories = list(gather(items))
    first = rank(stories, context, NOW)
    rng.shuffle(stories)
    assert rank(stories, context, NOW) == first
    assert rank(gather(rng.sample(items, len(items))), context, NOW) == first


def place(story: Ranked) -> tuple[float, str, str]:
    """Where a story would stand if no source had to make room."""
    return -story.score.total, story.lead.source_id, story.lead.id


@given(ITEMS)
@settings(max_examples=60)
def test_no_story_is_lost_and_none_moves_up_without_need(made: list[tuple[str, int, int, str]]) -> None:
    items = [item(title, id=f"i{n}", source=source, hours=hours) for n, (source, hours, _, title) in enumerate(made)]
    found = ranking(*items)
    assert sorted(order(found)) == sorted(each.id for each in items)
    sources = [story.lead.source_id for story in found.ranked]
    for at, (one, other) in enumerate(pairwise(found.ranked)):
        in_order = place(one) < place(other)
        recent = sources[max(0, at - AMONG + 1) : at]
        assert in_order or recent.count(other.lead.source_id) >= PER_SOURCE
