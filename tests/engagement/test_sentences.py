"""Tests for the result of the test of the times of posting in words."""

import pytest

from copydesk.engagement.best_time import describe_best_time
from copydesk.model.engagement import EngagementMetric, TimeBlock

MORNINGS = TimeBlock(weekend=False, first_hour=9, last_hour=12, posts=45, lift=0.34, low=0.12, high=0.6)
NIGHTS = TimeBlock(weekend=True, first_hour=21, last_hour=24, posts=8, lift=1.5, low=0.5, high=3.2)


@pytest.mark.parametrize(
    ("p_value", "best", "metric", "sentence"),
    [
        (None, None, EngagementMetric.RATE, "No time stands out yet: 7 of 40 posts needed for a test."),
        (
            0.42,
            None,
            EngagementMetric.RATE,
            "No time stands out yet: in 7 posts the differences may be chance (p = 0.42).",
        ),
        (
            0.012,
            MORNINGS,
            EngagementMetric.INTERACTIONS,
            (
                "Monday to Friday 09:00 to 12:00 stands out: about 34% more interactions than similar posts"
                " (12% to 60%; 45 posts; p = 0.01)."
            ),
        ),
        (
            0.0002,
            NIGHTS,
            EngagementMetric.RATE,
            (
                "Saturday and Sunday 21:00 to 24:00 stands out: an engagement rate about 150% higher than similar posts"
                " (50% to 320%; 8 posts; p < 0.01)."
            ),
        ),
    ],
)
def test_result_in_words(p_value, best, metric, sentence):
    assert describe_best_time(7, p_value, best, metric) == sentence
