"""Order stories by score, and drop those not worth drafting."""

from collections import defaultdict, deque
from collections.abc import Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush

from copydesk.model.draft import Score
from copydesk.model.item import Item
from copydesk.model.serialization import Struct
from copydesk.ranking.score import PreparedContext, ScoringContext, SourceRecord, prepare, score
from copydesk.ranking.stories import Candidate

MAX_PER_SOURCE = 2
"""Maximum positions of one source..."""
SOURCE_WINDOW = 10
"""... among this many in a row, while other sources have stories left."""


class RankedStory(Struct, frozen=True, gc=False):
    """A story with its score."""

    story_id: str
    lead: Item
    items: tuple[Item, ...]
    """The lead first."""
    score: Score


class DroppedStory(Struct, frozen=True, gc=False):
    """A story that is not drafted, with the reason."""

    story: RankedStory
    reason: str
    permanent: bool
    """False if a later score may let it pass."""


class Ranking(Struct, frozen=True):
    """The ranked stories, best first, and the dropped ones."""

    ranked: tuple[RankedStory, ...]
    dropped: tuple[DroppedStory, ...] = ()


def rank(candidates: Sequence[Candidate], context: ScoringContext, now: datetime) -> Ranking:
    """Score the stories and order them. The order of `candidates` does not matter; ties go by source, then id.

    No source gets more than two of ten consecutive positions while others have stories left.
    """
    prepared = prepare(candidates, context, now)
    passed, dropped = [], []
    for story in candidates:
        ranked = RankedStory(
            story_id=story.story_id, lead=story.lead, items=story.items, score=score(story, prepared, now)
        )
        reason = _veto(story, prepared)
        weakness = _no_interest(story, prepared) or _low_score(story, ranked.score, prepared)
        if reason is not None:
            dropped.append(DroppedStory(story=ranked, reason=reason, permanent=True))
        elif weakness is not None:
            dropped.append(DroppedStory(story=ranked, reason=weakness, permanent=False))
        else:
            passed.append(ranked)
    # Reproducible whatever the order of the candidates.
    dropped.sort(key=lambda entry: entry.story.story_id)
    return Ranking(ranked=interleave_sources(passed), dropped=tuple(dropped))


def _veto(story: Candidate, prepared: PreparedContext) -> str | None:
    """Return the reason that excludes the story whatever its score, None without one."""
    veto = prepared.interests.match(story).veto
    if veto is not None:
        return f"contains {veto}, which you exclude"
    similarity = prepared.novelty.most_similar(story)
    return similarity.why if similarity.is_repeat else None


def _no_interest(story: Candidate, prepared: PreparedContext) -> str | None:
    match = prepared.interests.match(story)
    return match.why if prepared.interests.required and not match.value else None


def _low_score(story: Candidate, story_score: Score, prepared: PreparedContext) -> str | None:
    # The most lenient of its sources decides.
    required = min(_required_score(item, prepared.context) for item in story.items)
    return f"score {story_score.total:.2f} is below {required:g}" if story_score.total < required else None


def _required_score(item: Item, context: ScoringContext) -> float:
    source_minimum = context.source_records.get(item.source_id, SourceRecord()).min_score
    return context.min_score if source_minimum is None else source_minimum


def interleave_sources(stories: Sequence[RankedStory]) -> tuple[RankedStory, ...]:
    """Return the stories by descending score, moved down only where their source has used up its positions."""
    by_source: defaultdict[str, deque[RankedStory]] = defaultdict(deque)
    for story in sorted(stories, key=_order):
        by_source[story.lead.source_id].append(story)
    # A heap of each source's best remaining story.
    heads = [(_order(waiting[0]), source_id) for source_id, waiting in by_source.items()]
    heapify(heads)
    result: list[RankedStory] = []
    recent: deque[str] = deque(maxlen=SOURCE_WINDOW - 1)
    while heads:
        source_id = _pop_next(heads, recent)
        waiting = by_source[source_id]
        result.append(waiting.popleft())
        recent.append(source_id)
        if waiting:
            heappush(heads, (_order(waiting[0]), source_id))
    return tuple(result)


def _order(story: RankedStory) -> tuple[float, str, str]:
    # The source before the id: ids are assigned in the order in which sources responded, which is random.
    return (-story.score.total, story.lead.source_id, story.lead.id)


def _pop_next(heads: list[tuple[tuple[float, str, str], str]], recent: deque[str]) -> str:
    """Pop the source of the best story that may come next, or of the best story at all if none may."""
    skipped = []
    while heads and recent.count(heads[0][1]) >= MAX_PER_SOURCE:
        skipped.append(heappop(heads))
    chosen = heappop(heads) if heads else skipped.pop(0)
    for head in skipped:
        heappush(heads, head)
    return chosen[1]
