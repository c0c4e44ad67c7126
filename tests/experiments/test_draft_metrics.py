"""Tests for the metrics of a draft at one fixed age."""

from datetime import UTC, datetime, timedelta

import pytest

from copydesk.experiments.draft_metrics import read_draft_metrics
from copydesk.model.experiment import PublishedPost, Reading

POSTED = datetime(2026, 11, 1, 9, tzinfo=UTC)


def hours(count: float) -> datetime:
    return POSTED + timedelta(hours=count)


def post(*readings: tuple[float, int], platform: str = "x", impressions: int | None = 100) -> PublishedPost:
    taken = tuple(Reading(at=hours(age), likes=likes, impressions=impressions) for age, likes in readings)
    return PublishedPost(platform=platform, published_at=POSTED, readings=taken)


def test_first_reading_at_that_age_is_used():
    metrics, is_open = read_draft_metrics([post((1, 1), (24, 5), (49, 8), (90, 40))], hours(500))
    assert (metrics.interactions, metrics.complete_at, is_open) == (8, hours(49), False)


def test_young_post_has_no_metrics_yet():
    assert read_draft_metrics([post((1, 1))], hours(50)) == (None, True)


@pytest.mark.parametrize("readings", [(), ((1, 5), (24, 9)), ((97, 5),)])
def test_post_without_a_reading_at_that_age_has_none(readings):
    assert read_draft_metrics([post(*readings)], hours(100)) == (None, False)


def test_platforms_are_summed_once_all_are_complete():
    both = [post((48, 5)), post((60, 7), platform="mastodon", impressions=None)]
    assert read_draft_metrics(both, hours(59))[1]
    metrics, _ = read_draft_metrics(both, hours(60))
    assert (metrics.interactions, metrics.impressions, metrics.complete_at) == (12, None, hours(60))


def test_metric_that_was_not_read_again_keeps_its_value():
    readings = (Reading(at=hours(1), impressions=50), Reading(at=hours(50), likes=4))
    metrics, _ = read_draft_metrics([PublishedPost(platform="x", published_at=POSTED, readings=readings)], hours(51))
    assert (metrics.interactions, metrics.impressions) == (4, 50)


def test_metrics_do_not_change_with_time():
    complete = post((49, 8))
    assert read_draft_metrics([complete], hours(49)) == read_draft_metrics([complete], hours(5_000))
