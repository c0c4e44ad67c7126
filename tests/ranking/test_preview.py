"""Tests for replaying past days with other settings."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.ranking.preview import (
    ApprovedStory,
    DayRanking,
    Variant,
    count_hits,
    day_ends,
    pick_drafts,
    rank_by_recency,
    rank_days,
    wilson_interval,
)
from copydesk.ranking.score import ScoringContext
from copydesk.ranking.stories import group_into_stories
from ranking_fixtures import NOW, make_item

THREE_DAYS = timedelta(days=3)


def variant(*items, interests=()):
    aggregators = ("hackernews",)
    return Variant(ScoringContext(interests=interests), group_into_stories(items, aggregators), 10, aggregators)


def test_day_ranks_only_what_was_published_by_then():
    stories = variant(make_item("Old", id="old", hours=30), make_item("New", id="new", hours=2, source="s2"))
    yesterday, today = rank_days(stories, day_ends(NOW, 2), THREE_DAYS)
    assert yesterday.order == ("old",)
    assert today.order == ("new", "old")
    assert (today.position("old"), yesterday.position("new")) == (2, None)


def test_item_beyond_the_maximum_age_is_left_out():
    (today,) = rank_days(variant(make_item("Old", hours=80)), day_ends(NOW, 1), THREE_DAYS)
    assert today.order == ()


def test_later_item_of_a_story_is_not_known_before():
    items = [make_item("One", id="a", story="s", hours=30), make_item("Two", id="b", story="s", hours=2, source="s2")]
    yesterday, today = rank_days(variant(*items), day_ends(NOW, 2), THREE_DAYS)
    assert yesterday.order == today.order == ("s",)


@pytest.mark.parametrize(("type", "text"), [("rss", ""), ("hackernews", "Long. " * 60)])
def test_lead_is_chosen_among_what_was_published_by_then(type, text):
    items = [
        make_item("One", id="a", story="s", hours=40, type=type, text=text),
        make_item("Two", id="b", story="s", hours=30, source="s2", text="Long. " * 30),
        make_item("Three", id="c", story="s", hours=2, source="s3", text="Long. " * 90),
        make_item("Other", id="other", hours=35, source="s4"),
    ]
    yesterday, _ = rank_by_recency(variant(*items), day_ends(NOW, 2), THREE_DAYS)
    assert yesterday.order == ("s", "other")


def test_dropped_story_has_its_reason():
    (today,) = rank_days(variant(make_item("Yachts", id="a"), interests=("ferries",)), day_ends(NOW, 1), THREE_DAYS)
    assert today.order == ()
    assert today.dropped == {"a": "matches none of your interests"}


def test_story_is_drafted_once():
    days = [DayRanking(NOW, ("a", "b", "c"), {}), DayRanking(NOW + timedelta(days=1), ("a", "c", "d"), {})]
    assert list(pick_drafts(days, 2)) == ["a", "b", "c", "d"]
    assert pick_drafts(days, 2)["c"] == NOW + timedelta(days=1)


def test_hits_are_counted_on_the_day_of_the_draft():
    days = [DayRanking(NOW - timedelta(days=1), ("a",), {}), DayRanking(NOW, ("b", "a"), {})]
    today, yesterday = NOW - timedelta(hours=1), NOW - timedelta(hours=30)
    approved = [ApprovedStory("b", today), ApprovedStory("b", yesterday), ApprovedStory("a", yesterday)]
    assert (count_hits(days, approved, 1).hits, count_hits(days, approved, 1).of) == (2, 3)
    assert count_hits(days, [ApprovedStory("a", today)], 1).hits == 0
    assert count_hits(days, [ApprovedStory("a", today)], 2).hits == 1


def test_recency_orders_by_date_alone():
    items = (make_item("Ferries", id="old", hours=9), make_item("Yachts", id="new", hours=1, source="s2"))
    (today,) = rank_by_recency(variant(*items, interests=("ferries",)), day_ends(NOW, 1), THREE_DAYS)
    assert today.order == ("new", "old")


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [(0, 0, 0, 1), (0, 10, 0, 0.278), (10, 10, 0.722, 1), (41, 60, 0.558, 0.787)],
)
def test_wilson_interval(hits, count, low, high):
    assert wilson_interval(hits, count) == pytest.approx((low, high), abs=0.001)


@given(st.integers(1, 500).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count))))
def test_interval_contains_the_share(case):
    hits, count = case
    low, high = wilson_interval(hits, count)
    assert 0 <= low <= hits / count + 1e-9
    assert hits / count - 1e-9 <= high <= 1
