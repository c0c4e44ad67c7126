"""Tests for the score: parts between 0 and 1, each with a weight and a reason."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import InvalidError
from copydesk.model.draft import Score, ScorePart
from copydesk.model.item import Item
from copydesk.ranking.preference import Decision, train
from copydesk.ranking.score import ScoringContext, SourceRecord, Weights, prepare, score
from copydesk.ranking.stories import group_into_stories
from ranking_fixtures import NOW, make_item

PARTS = ["recency", "interest", "source", "popularity", "corroboration", "novelty", "preference"]


def scored(*items: Item, context: ScoringContext | None = None) -> Score:
    """Return the score of the first item's story among the stories of all items."""
    context = context or ScoringContext()
    stories = group_into_stories(items)
    first = next(story for story in stories if story.story_id == items[0].story_id)
    return score(first, prepare(stories, context, NOW), NOW)


def part(name: str, *items: Item, context: ScoringContext | None = None) -> ScorePart:
    """Return one part of that score."""
    return next(score_part for score_part in scored(*items, context=context).parts if score_part.name == name)


def test_parts_are_ordered_and_add_up() -> None:
    whole = scored(make_item("Iran talks", points=5), context=ScoringContext(interests=("iran",)))
    assert [score_part.name for score_part in whole.parts] == PARTS
    assert whole.total == sum(score_part.points for score_part in whole.parts)
    assert all(score_part.points == score_part.value * score_part.weight for score_part in whole.parts)


@pytest.mark.parametrize(
    ("hours", "value", "why"),
    [
        (0, 1.0, "published just now"),
        (0.2, 0.9923, "published 12 min ago"),
        (1, 0.9622, "published 1 h ago"),
        (18, 0.5, "published 18 h ago"),
        (36, 0.25, "published 36 h ago"),
        (72, 0.0625, "published 3 days ago"),
        (-5, 1.0, "published just now"),
    ],
)
def test_recency_follows_half_life(hours: float, value: float, why: str) -> None:
    recency = part("recency", make_item(hours=hours))
    assert (recency.value, recency.why) == (value, why)


def test_half_life_is_configurable() -> None:
    assert part("recency", make_item(hours=6), context=ScoringContext(half_life_hours=6)).value == 0.5


def test_story_age_is_its_leads_age() -> None:
    items = [
        make_item("A", id="a", story="x", hours=18, text="much " * 100),
        make_item("B", id="b", source="s2", story="x"),
    ]
    assert part("recency", *items).value == 0.5


def test_interest_names_title_matches_first() -> None:
    interests = ScoringContext(interests=("python", "sqlite", "go"))
    found = part(
        "interest", make_item("SQLite news", summary="for Python people"), make_item("B", id="b"), context=interests
    )
    assert found.why == "matches sqlite, python"
    assert 0.5 < found.value < 1


def test_title_match_counts_three_times() -> None:
    interests, fillers = ScoringContext(interests=("sqlite",)), [make_item(f"O{n}", id=f"o{n}") for n in range(3)]
    in_title = part("interest", make_item("About SQLite"), *fillers, context=interests).value
    in_text = part("interest", make_item("About it", text="SQLite"), *fillers, context=interests).value
    assert math.isclose(1 - in_title, (1 - in_text) ** 3, abs_tol=0.001)


def test_interest_matches_hyphenated_words() -> None:
    interests = ScoringContext(interests=("open source",))
    fillers = [make_item(f"O{n}", id=f"o{n}") for n in range(3)]
    assert (
        part("interest", make_item("An open-source editor"), *fillers, context=interests).why == "matches open source"
    )


def test_rare_interest_outweighs_common_one() -> None:
    interests = ScoringContext(interests=("sqlite", "news"))
    fillers = [make_item(f"News {n}", id=f"o{n}") for n in range(9)]
    rare = part("interest", make_item("SQLite"), *fillers, context=interests).value
    common = part("interest", make_item("News"), *fillers, context=interests).value
    assert rare > common > 0


def test_titles_of_all_sources_count() -> None:
    items = [make_item("They did it", id="a", story="x"), make_item("SQLite is out", id="b", source="s2", story="x")]
    assert part("interest", *items, context=ScoringContext(interests=("sqlite",))).why == "matches sqlite"


def test_interest_without_phrases_or_match() -> None:
    assert part("interest", make_item()).value == 0.5
    assert part("interest", make_item(), context=ScoringContext(interests=(" ", "-"))).value == 0.5
    missed = part("interest", make_item(), context=ScoringContext(interests=("sqlite",)))
    assert (missed.value, missed.why) == (0, "matches none of your interests")


@pytest.mark.parametrize(
    ("record", "value", "why"),
    [
        (SourceRecord(), 0.5, "no decisions yet on S1"),
        (SourceRecord(approved=12, rejected=3), 0.7368, "12 approved, 3 rejected from S1"),
        (SourceRecord(approved=0, rejected=8), 0.1667, "0 approved, 8 rejected from S1"),
        (SourceRecord(weight=1.5), 0.75, "no decisions yet on S1, weight 1.5"),
        (SourceRecord(weight=10), 1.0, "no decisions yet on S1, weight 10"),
        (SourceRecord(weight=0, approved=9), 0.0, "9 approved, 0 rejected from S1, weight 0"),
    ],
)
def test_source_value_uses_weight_and_approvals(record: SourceRecord, value: float, why: str) -> None:
    source = part("source", make_item(), context=ScoringContext(source_records={"s1": record}))
    assert (source.value, source.why) == (value, why)


def test_popularity_is_rank_within_source_type() -> None:
    reddit = [make_item(f"R{n}", id=f"r{n}", type="reddit", points=10 * n, comments=n) for n in range(1, 5)]
    news = make_item("N", id="n", type="hackernews", points=3)
    assert part("popularity", reddit[3], *reddit[:3], news).value == 0.875
    assert part("popularity", reddit[0], *reddit[1:], news).value == 0.125
    assert part("popularity", news, *reddit).value == 0.5
    assert part("popularity", reddit[3], *reddit[:3]).why == "40 points, 4 comments: above 88% of the reddit items"


def test_few_comments_of_a_feed_count_as_average() -> None:
    silent, quiet = (make_item(f"C{n}", id=f"c{n}", comments=n) for n in (0, 1))
    loud = [make_item(f"L{n}", id=f"l{n}", comments=50 + n) for n in range(4)]
    assert part("popularity", silent, quiet, *loud).value == 0.5
    assert part("popularity", silent, quiet, *loud).why == "0 comments (counts as average)"
    assert part("popularity", quiet, silent, *loud).value == 0.5
    assert part("popularity", loud[3], silent, quiet, *loud[:3]).value > 0.9


def test_popularity_decays_with_age() -> None:
    old = make_item("Old", id="o", type="reddit", points=100, hours=48)
    new = make_item("New", id="n", type="reddit", points=100, hours=2)
    assert part("popularity", new, old).value > part("popularity", old, new).value


def test_unknown_metrics_count_as_average() -> None:
    unknown = part("popularity", make_item(), make_item("Hit", id="h", points=10_000))
    assert (unknown.value, unknown.why) == (0.5, "no metrics (counts as average)")


def test_extreme_metrics_are_handled() -> None:
    odd = [make_item(f"O{n}", id=f"o{n}", points=points, comments=-5) for n, points in enumerate((-7, 0, 10**30))]
    assert part("popularity", odd[2], *odd[:2]).value > part("popularity", odd[0], *odd[1:]).value


@pytest.mark.parametrize(("count", "value"), [(1, 0), (2, 0.5), (3, 0.7925), (4, 1), (5, 1)])
def test_corroboration_grows_with_sources(count: int, value: float) -> None:
    items = [make_item("T", id=f"i{n}", source=f"s{n}", story="x") for n in range(count)]
    assert part("corroboration", *items).value == value
    assert part("corroboration", *items).why == (
        f"reported by {count} sources" if count > 1 else "reported by one source"
    )


def test_repeated_source_counts_once() -> None:
    items = [make_item("T", id=f"i{n}", story="x") for n in range(2)]
    assert part("corroboration", *items).value == 0


def test_novelty_falls_with_similarity() -> None:
    context = ScoringContext(recent_titles=("SQLite 3.51 adds faster joins", "Something else"))
    like = part("novelty", make_item("SQLite 3.51 adds a new shell"), context=context)
    assert like.value == 0.5
    assert like.why == "50% like “SQLite 3.51 adds faster joins”, drafted before"
    assert part("novelty", make_item("Iran talks end"), context=context).why == "nothing similar drafted in 60 days"
    assert part("novelty", make_item("SQLite in space"), context=context).value == 1
    assert part("novelty", make_item("Iran talks end")).value == 1


def test_preference_weight_grows_with_decisions() -> None:
    def trained(count: int) -> ScoringContext:
        return ScoringContext(
            preference=train(
                Decision(text="sqlite index" if n % 2 else "celebrity yacht", source_id="s", approved=bool(n % 2))
                for n in range(count)
            )
        )

    nothing = part("preference", make_item("SQLite"))
    assert (nothing.value, nothing.weight, nothing.points, nothing.why) == (0, 0, 0, "no decisions to learn from yet")
    some = part("preference", make_item("SQLite"), context=trained(50))
    assert some.weight == 0.15
    assert some.value > 0.1
    assert some.why == "approved 25 of 25 with “sqlite”"
    yacht = part("preference", make_item("A yacht"), context=trained(50))
    assert yacht.points < 0
    assert yacht.why == "rejected 25 of 25 with “yacht”"
    neither = part("preference", make_item("Neither"), context=trained(50))
    assert (neither.points, neither.why) == (0, "no word stands out in 50 decisions")


def test_weights_are_applied() -> None:
    weights = Weights(recency=1, interest=0, source=0, popularity=0, corroboration=0, novelty=0, preference=0)
    assert scored(make_item(hours=18), context=ScoringContext(weights=weights)).total == 0.5


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf])
def test_invalid_weight_is_refused(bad: float) -> None:
    with pytest.raises(InvalidError, match=r"ranking\.novelty"):
        Weights(novelty=bad)


TITLES = st.text(alphabet="abc iran talks 12 日本", max_size=30)


@given(st.lists(st.tuples(TITLES, st.integers(-9, 10**6), st.floats(-10, 10**5)), min_size=1, max_size=8))
def test_values_are_shares_and_sum_to_total(specs: Sequence[tuple[str, int, float]]) -> None:
    items = [make_item(title, id=f"i{n}", points=points, hours=hours) for n, (title, points, hours) in enumerate(specs)]
    context = ScoringContext(
        interests=("iran", "-talks", "日本"),
        recent_titles=("iran talks", "12"),
        source_records={"s1": SourceRecord(weight=9)},
    )
    stories = group_into_stories(items)
    field = prepare(stories, context, NOW)
    for story in stories:
        whole = score(story, field, NOW)
        assert whole.total == sum(score_part.points for score_part in whole.parts)
        assert all(-0.5 <= score_part.value <= 1 and score_part.why for score_part in whole.parts)
