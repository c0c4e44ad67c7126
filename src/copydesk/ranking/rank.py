"""The stories in the order in which they are worth drafting, and those that are not."""

from collections import defaultdict, deque
from collections.abc import Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush

from copydesk.model.draft import Score
from copydesk.model.item import Item
from copydesk.model.wire import Struct
from copydesk.ranking.score import Context, Field, Standing, score, survey
from copydesk.ranking.stories import Candidate

PER_SOURCE = 2
"""Places of one source..."""
AMONG = 10
"""... among so many in a row, as long as other sources have something."""


class Ranked(Struct, frozen=True):
    """A story with its score."""

    story_id: str
    lead: Item
    items: tuple[Item, ...]
    """All that tell it, the lead first."""
    score: Score


class Dropped(Struct, frozen=True):
    """A story that is not to be drafted, and why."""

    story: Ranked
    reason: str
    for_good: bool
    """False where another day's score may let it through."""


class Ranking(Struct, frozen=True):
    """The order of the stories, best first, and what was left out."""

    ranked: tuple[Ranked, ...]
    dropped: tuple[Dropped, ...] = ()


def rank(candidates: Sequence[Candidate], context: Context, now: datetime) -> Ranking:
    """Score the stories and put them in order. The order of the candidates does not matter; ties go by source, then id.

    No source gets more than two of any ten places in a row while others have something to say.
    """
    field = survey(candidates, context, now)
    kept, dropped = [], []
    for story in candidates:
        ranked = Ranked(story_id=story.story_id, lead=story.lead, items=story.items, score=score(story, field, now))
        reason = _reason_against(story, field)
        weakness = _weakness(story, ranked.score, field)
        if reason is not None:
            dropped.append(Dropped(story=ranked, reason=reason, for_good=True))
        elif weakness is not None:
            dropped.append(Dropped(story=ranked, reason=weakness, for_good=False))
        else:
            kept.append(ranked)
    dropped.sort(key=lambda each: each.story.story_id)
    return Ranking(ranked=spread(kept), dropped=tuple(dropped))


def _reason_against(story: Candidate, field: Field) -> str | None:
    """What speaks against the story whatever it scores."""
    veto = field.interests.match(story).veto
    if veto is not None:
        return f"has {veto}, which you keep out"
    likest = field.told.likest(story)
    return likest.why if likest.repeated else None


def _weakness(story: Candidate, scored: Score, field: Field) -> str | None:
    needed = min(_min_score(item, field.context) for item in story.items)
    return f"scored {scored.total:.2f}, below {needed:g}" if scored.total < needed else None


def _min_score(item: Item, context: Context) -> float:
    own = context.standings.get(item.source_id, Standing()).min_score
    return context.min_score if own is None else own


def spread(stories: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """The stories from high to low, moved down only where their source has had its places."""
    by_source: defaultdict[str, deque[Ranked]] = defaultdict(deque)
    for story in sorted(stories, key=_order):
        by_source[story.lead.source_id].append(story)
    next_ones = [(_order(waiting[0]), source_id) for source_id, waiting in by_source.items()]
    heapify(next_ones)
    placed: list[Ranked] = []
    recent: deque[str] = deque(maxlen=AMONG - 1)
    while next_ones:
        source_id = _take_next(next_ones, recent)
        waiting = by_source[source_id]
        placed.append(waiting.popleft())
        recent.append(source_id)
        if waiting:
            heappush(next_ones, (_order(waiting[0]), source_id))
    return tuple(placed)


def _order(story: Ranked) -> tuple[float, str, str]:
    # Not by id alone: ids tell which source answered first, and that is luck.
    return (-story.score.total, story.lead.source_id, story.lead.id)


def _take_next(next_ones: list[tuple[tuple[float, str, str], str]], recent: deque[str]) -> str:
    """The source of the best story that may come next; of the best one of all where none may."""
    passed_over = []
    while next_ones and recent.count(next_ones[0][1]) >= PER_SOURCE:
        passed_over.append(heappop(next_ones))
    chosen = heappop(next_ones) if next_ones else passed_over.pop(0)
    for each in passed_over:
        heappush(next_ones, each)
    return chosen[1]
