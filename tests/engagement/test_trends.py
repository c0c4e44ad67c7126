"""Tests for periods on the user's calendar, and for figures."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.engagement.trends import (
    build_figures,
    choose_metric,
    choose_step,
    day_of_quarter,
    group_by_platform,
    quarters_between,
    split_period,
    start_of_day,
)
from copydesk.model.engagement import EngagementMetric, Interval, PostSums

DAYS = st.dates(date(1990, 1, 1), date(2060, 1, 1))


def test_week_and_month_boundaries():
    first, last = date(2026, 1, 24), date(2026, 2, 4)
    weeks = split_period(first, last, Interval.WEEK)
    assert [(start.day, end.day) for start, end in weeks] == [(24, 25), (26, 1), (2, 4)]
    assert split_period(first, last, Interval.MONTH) == ((first, date(2026, 1, 31)), (date(2026, 2, 1), last))
    assert len(split_period(first, last, Interval.DAY)) == 12


@pytest.mark.parametrize(
    ("last", "step"),
    [
        (date(2026, 1, 1), Interval.DAY),
        (date(2026, 2, 14), Interval.DAY),
        (date(2026, 2, 15), Interval.WEEK),
        (date(2026, 6, 29), Interval.WEEK),
        (date(2026, 6, 30), Interval.MONTH),
    ],
)
def test_longer_periods_have_longer_steps(last, step):
    assert choose_step(date(2026, 1, 1), last) is step


@pytest.mark.parametrize(
    ("day", "quarters"), [(date(2026, 3, 29), 92), (date(2026, 10, 25), 100), (date(2026, 5, 1), 96)]
)
def test_day_with_clock_change_is_shorter_or_longer(day, quarters):
    start, end = quarters_between(day, day, ZoneInfo("Europe/Prague"))
    assert end - start == quarters


@given(DAYS, st.sampled_from(["UTC", "Asia/Kathmandu", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia"]))
def test_quarters_belong_to_their_day(day, zone_name):
    zone = ZoneInfo(zone_name)
    first, end = quarters_between(day, day, zone)
    # A zone that crossed the date line has skipped a day.
    for number in (first, end - 1) if end > first else ():
        assert day_of_quarter(number, zone) == day


def test_start_of_day_is_local():
    assert start_of_day(date(2026, 2, 10), ZoneInfo("America/New_York")) == datetime(2026, 2, 10, 5, tzinfo=UTC)


def test_unreported_metrics_are_unknown():
    figures = build_figures(PostSums(posts=2, measured=1, likes=0, with_likes=1, with_interactions=1))
    assert (figures.likes, figures.interactions, figures.interactions_per_post) == (0, 0, 0.0)
    assert (figures.impressions, figures.engagement_rate) == (None, None)
    (group,) = group_by_platform([("bluesky", PostSums(posts=2, measured=1, with_likes=1, with_interactions=1))])
    assert group.not_reported == ("replies", "reposts", "impressions", "clicks")
    (group,) = group_by_platform([("bluesky", PostSums(posts=2))])
    assert group.not_reported == ()


@pytest.mark.parametrize(
    ("rated", "with_interactions", "metric"),
    [(0, 0, EngagementMetric.INTERACTIONS), (2, 2, EngagementMetric.RATE), (1, 2, EngagementMetric.INTERACTIONS)],
)
def test_rate_is_chosen_if_all_posts_have_one(rated, with_interactions, metric):
    assert choose_metric(build_figures(PostSums(posts=3, rated=rated, with_interactions=with_interactions))) is metric
