"""Replay past days with other interests, filters or weights: what is drafted, and where approved stories rank.

Pure: items, settings and decisions come in as values. Each day is ranked once, at its end, over the stories of the days
before it that a run of that day would have considered.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from copydesk.model.ranking_preview import Hits
from copydesk.ranking.rank import rank
from copydesk.ranking.score import ScoringContext
from copydesk.ranking.stories import Candidate, build_candidate

DAY = timedelta(days=1)
_Z = 1.96
"""Standard deviations of a 95% interval."""


class Variant(NamedTuple):
    """Settings to replay."""

    context: ScoringContext
    stories: tuple[Candidate, ...]
    """The stories of the items that pass the filters."""
    max_drafts: int
    """Drafts a day."""
    aggregators: Collection[str]
    """The source types whose items point to articles elsewhere."""

    def stories_at(self, at: datetime, max_age: timedelta) -> list[Candidate]:
        """Return the stories with the items that were published by then, without those that had none recent enough."""
        stories = []
        for story in self.stories:
            published = [item for item in story.items if at - max_age < item.published <= at]
            if len(published) == len(story.items):
                stories.append(story)
            elif published:
                stories.append(build_candidate(story.story_id, published, self.aggregators))
        return stories


class ApprovedStory(NamedTuple):
    """A story of which the user approved a draft."""

    story_id: str
    drafted_at: datetime


class DayRanking(NamedTuple):
    """The stories of one day in order, and why others were dropped."""

    at: datetime
    order: tuple[str, ...]
    dropped: Mapping[str, str]
    """By story id."""

    def position(self, story_id: str) -> int | None:
        """Return the rank of a story, from 1."""
        return self.order.index(story_id) + 1 if story_id in self.order else None


def rank_days(variant: Variant, days: Iterable[datetime], max_age: timedelta) -> tuple[DayRanking, ...]:
    """Rank the stories as they were at each of the given times."""
    rankings = []
    for at in days:
        ranking = rank(variant.stories_at(at, max_age), variant.context, at)
        dropped = {entry.story.story_id: entry.reason for entry in ranking.dropped}
        rankings.append(DayRanking(at, tuple(story.story_id for story in ranking.ranked), dropped))
    return tuple(rankings)


def pick_drafts(rankings: Iterable[DayRanking], max_drafts: int) -> dict[str, datetime]:
    """Return the stories that would have been drafted, with their day: the best of each day not drafted before."""
    drafted: dict[str, datetime] = {}
    for ranking in rankings:
        waiting = [story_id for story_id in ranking.order if story_id not in drafted]
        drafted |= dict.fromkeys(waiting[:max_drafts], ranking.at)
    return drafted


def count_hits(rankings: Sequence[DayRanking], approved: Collection[ApprovedStory], top: int) -> Hits:
    """Return how many approved stories were among the best `top` of the day they were drafted on."""
    hits = 0
    for story in approved:
        ranking = next((day for day in rankings if day.at - DAY < story.drafted_at <= day.at), None)
        hits += ranking is not None and story.story_id in ranking.order[:top]
    return Hits(hits, len(approved), *wilson_interval(hits, len(approved)))


def rank_by_recency(variant: Variant, days: Iterable[datetime], max_age: timedelta) -> tuple[DayRanking, ...]:
    """Rank the stories of each day by their date alone, newest first."""
    rankings = []
    for at in days:
        newest_first = sorted(
            variant.stories_at(at, max_age), key=lambda story: (-story.lead.published.timestamp(), story.story_id)
        )
        rankings.append(DayRanking(at, tuple(story.story_id for story in newest_first), {}))
    return tuple(rankings)


def wilson_interval(hits: int, count: int) -> tuple[float, float]:
    """Return the 95% score interval of a share (Wilson 1927): it holds for few cases, and near 0 and 1."""
    if not count:
        return 0.0, 1.0
    share, square = hits / count, _Z * _Z
    centre = share + square / (2 * count)
    margin = _Z * math.sqrt(share * (1 - share) / count + square / (4 * count * count))
    scale = 1 + square / count
    return max(0.0, (centre - margin) / scale), min(1.0, (centre + margin) / scale)


def day_ends(now: datetime, days: int) -> tuple[datetime, ...]:
    """Return the ends of the last `days` spans of 24 hours, oldest first."""
    return tuple(now - DAY * number for number in reversed(range(days)))
