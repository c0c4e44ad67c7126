"""The metrics of a draft at one fixed age, so that older posts do not look better for being older."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from copydesk.model.engagement import INTERACTION_METRICS, METRICS
from copydesk.model.experiment import METRICS_AGE_HOURS, DraftMetrics, PublishedPost

METRICS_AGE = timedelta(hours=METRICS_AGE_HOURS)
LAST_AGE = 2 * METRICS_AGE
"""A reading after that is of another age. It is not used, and the post counts as one without metrics."""


def read_draft_metrics(posts: Sequence[PublishedPost], now: datetime) -> tuple[DraftMetrics | None, bool]:
    """Return the metrics of a draft, and True if they may still be read later.

    They are complete once each platform has been read at that age, or will not be any more. From then on they are
    fixed, whatever is read later.
    """
    if any(_completed_at(post) > now for post in posts):
        return None, True
    measured = [metrics for post in posts if (metrics := _metrics_at_age(post))]
    if not measured:
        return None, False
    impressions = [metrics.get("impressions") for metrics in measured]
    return DraftMetrics(
        interactions=sum(metrics.get(name) or 0 for metrics in measured for name in INTERACTION_METRICS),
        impressions=None if None in impressions else sum(value or 0 for value in impressions),
        complete_at=max(_completed_at(post) for post in posts),
    ), False


def _completed_at(post: PublishedPost) -> datetime:
    """Return the time at which the metrics of the post were read, or after which none are read."""
    first, last = post.published_at + METRICS_AGE, post.published_at + LAST_AGE
    return next((reading.at for reading in post.readings if first <= reading.at <= last), last)


def _metrics_at_age(post: PublishedPost) -> Mapping[str, int | None]:
    """Return the last known value of each metric at the reading that is used; empty without one."""
    used = _completed_at(post)
    metrics: dict[str, int | None] = {}
    for reading in post.readings:
        if reading.at <= used:
            metrics |= {name: value for name in METRICS if (value := getattr(reading, name)) is not None}
    return metrics if any(reading.at == used for reading in post.readings) else {}
