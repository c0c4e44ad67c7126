"""Rank stories by points and comments within their source type: points mean different things on Reddit and X."""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from copydesk.model.item import Item
from copydesk.model.source import SourceType
from copydesk.ranking.stories import Candidate

_GRAVITY = 0.8
"""Decay of popularity: divided by the age in hours to this power."""
_NO_METRICS = 0.5, "no figures: counted as average"


class Popularity:
    """The candidates' metrics by source type."""

    def __init__(self, candidates: Sequence[Candidate], now: datetime) -> None:
        self._now = now
        self._sorted_scores: defaultdict[SourceType | None, list[float]] = defaultdict(list)
        for story in candidates:
            for item in story.items:
                if _has_metrics(item):
                    self._sorted_scores[item.source_type].append(self._decayed_score(item))
        for scores in self._sorted_scores.values():
            scores.sort()

    def percentile(self, story: Candidate) -> tuple[float, str]:
        """Return the best percentile (0 to 1) among the story's items, with the reason; 0.5 without metrics."""
        items = [item for item in story.items if _has_metrics(item)]
        if not items:
            return _NO_METRICS
        percentile, item = max(
            ((self._percentile(item), item) for item in items), key=lambda pair: (pair[0], pair[1].id)
        )
        return percentile, f"{_format_metrics(item)}: above {percentile:.0%} of the {item.source_type} items"

    def _percentile(self, item: Item) -> float:
        """Return the share of items below this one, plus half of those equal to it, itself included."""
        scores, score = self._sorted_scores[item.source_type], self._decayed_score(item)
        return (bisect_left(scores, score) + bisect_right(scores, score)) / 2 / len(scores)

    def _decayed_score(self, item: Item) -> float:
        """Return the item's decayed popularity. A comment counts as two points; the logarithm tames outliers."""
        hours = max(1.0, (self._now - item.published).total_seconds() / 3600)
        # Points may be negative.
        points, comments = item.entry.points or 0, item.entry.comments or 0
        return math.log1p(max(0, points) + 2 * max(0, comments)) / math.pow(hours, _GRAVITY)


def _has_metrics(item: Item) -> bool:
    return item.entry.points is not None or item.entry.comments is not None


def _format_metrics(item: Item) -> str:
    points, comments = item.entry.points, item.entry.comments
    parts = [f"{count:,} {unit}" for count, unit in ((points, "points"), (comments, "comments")) if count is not None]
    return ", ".join(parts)
