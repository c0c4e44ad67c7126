"""How popular a story is among those of the same source type: points mean something else on Reddit and on X."""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from copydesk.model.item import Item
from copydesk.model.source import SourceType
from copydesk.ranking.stories import Candidate

_GRAVITY = 0.8
"""How fast figures wear off: they are divided by the age in hours to this power."""
_UNKNOWN = 0.5, "no figures: counted as average"


class Popularity:
    """The candidates' figures by source type, each story's as its place among the others."""

    def __init__(self, candidates: Sequence[Candidate], now: datetime) -> None:
        self._now = now
        self._heats: defaultdict[SourceType | None, list[float]] = defaultdict(list)
        for story in candidates:
            for item in story.items:
                if _has_figures(item):
                    self._heats[item.source_type].append(self._heat(item))
        for heats in self._heats.values():
            heats.sort()

    def of(self, story: Candidate) -> tuple[float, str]:
        """Its place among the items of the type (0 to 1, the highest of its items), and why. Without figures 0.5."""
        counted = [item for item in story.items if _has_figures(item)]
        if not counted:
            return _UNKNOWN
        place, item = max(((self._place(item), item) for item in counted), key=lambda each: (each[0], each[1].id))
        return place, f"{_figures(item)}: above {place:.0%} of the {item.source_type} items"

    def _place(self, item: Item) -> float:
        """The share of items below this one; of those level with it, itself included, half."""
        heats, heat = self._heats[item.source_type], self._heat(item)
        return (bisect_left(heats, heat) + bisect_right(heats, heat)) / 2 / len(heats)

    def _heat(self, item: Item) -> float:
        hours = max(1.0, (self._now - item.published).total_seconds() / 3600)
        points, comments = item.entry.points or 0, item.entry.comments or 0
        return math.log1p(max(0, points) + 2 * max(0, comments)) / math.pow(hours, _GRAVITY)


def _has_figures(item: Item) -> bool:
    return item.entry.points is not None or item.entry.comments is not None


def _figures(item: Item) -> str:
    points, comments = item.entry.points, item.entry.comments
    said = [f"{count:,} {unit}" for count, unit in ((points, "points"), (comments, "comments")) if count is not None]
    return ", ".join(said)
