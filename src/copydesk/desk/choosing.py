"""The second and third stage of a run: what waits is filtered, merged into stories, and ranked."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from copydesk.desk.ground import Ground
from copydesk.desk.report import Report
from copydesk.errors import InvalidError
from copydesk.model.item import Item, ItemState
from copydesk.model.run import RunRequest, Stage
from copydesk.model.source import Source, SourceConfig
from copydesk.ranking.duplicates import StoryIndex
from copydesk.ranking.filters import Rules, compile_rules, judge
from copydesk.ranking.preference import Decision, train
from copydesk.ranking.rank import Ranked, rank
from copydesk.ranking.score import Context, Standing, Weights
from copydesk.ranking.stories import Candidate, gather
from copydesk.store import drafts, items, sources
from copydesk.store.drafts import Decided

log = logging.getLogger(__name__)
WINDOW = timedelta(days=14)
"""Stories are told anew for so long; later the same words are another story."""
TOLD = timedelta(days=60)
"""What was drafted in this time is no news."""
NO_RULES = Rules()
MOST_DECISIONS = 2000
"""Decisions that the preference is learnt from, the newest; more would not change it."""


async def choose(ground: Ground, request: RunRequest, report: Report, draftable: int) -> tuple[Ranked, ...]:
    """The stories worth drafting, the best first. `draftable` items of those that wait are new in this run."""
    with report.during(Stage.FILTER):
        stories = await _filter(ground, request, report, draftable)
    with report.during(Stage.RANK, len(stories)):
        return await _rank(ground, stories, report)


async def _filter(ground: Ground, request: RunRequest, report: Report, draftable: int) -> tuple[Candidate, ...]:
    """The stories that the items that pass tell; what was decided of the others is kept."""
    now = ground.clock()
    async with ground.engines.reading() as conn:
        waiting = await items.waiting(conn, ground.user_id, request.source_ids)
    report.add(items_ingested=len(waiting) - draftable, items_waiting=len(waiting) - draftable)
    report.expect(len(waiting))
    if not waiting:
        return ()
    passed, outcomes = _judge_all(waiting, await _rules(ground), now, report)
    placed = await _place(ground, passed, now)
    passed = [msgspec.structs.replace(item, story_id=placed.get(item.id, item.story_id)) for item in passed]
    async with ground.engines.writing() as conn:
        await items.place(conn, ground.user_id, placed.items())
        told = await drafts.drafted_among(conn, ground.user_id, sorted({item.story_id for item in passed}))
        late = [
            (item.id, ItemState.DUPLICATE, "its story was drafted before") for item in passed if item.story_id in told
        ]
        await items.settle(conn, ground.user_id, [*outcomes, *late])
    stories = gather(item for item in passed if item.story_id not in told)
    report.count(items_filtered=len(stories))
    return stories


async def _rank(ground: Ground, stories: Sequence[Candidate], report: Report) -> tuple[Ranked, ...]:
    """The stories in order; those that are dropped for good are kept out of later runs."""
    if not stories:
        return ()
    ranking = rank(stories, await _context(ground), ground.clock())
    outcomes = [
        (item.id, ItemState.FILTERED, dropped.reason)
        for dropped in ranking.dropped
        if dropped.for_good
        for item in dropped.story.items
    ]
    if outcomes:
        async with ground.engines.writing() as conn:
            await items.settle(conn, ground.user_id, outcomes)
    report.count(items_ranked=len(ranking.ranked))
    report.all_done()
    return ranking.ranked


async def _context(ground: Ground) -> Context:
    """What the ranking should know: the settings, the sources' standing, the user's decisions, what was told."""
    asked, now = ground.settings.ranking, ground.clock()
    async with ground.engines.reading() as conn:
        every = await sources.every(conn, ground.user_id)
        told = await drafts.titles_since(conn, ground.user_id, now - TOLD)
        counts = await drafts.decision_counts(conn, ground.user_id)
        decisions = await drafts.decisions(conn, ground.user_id, MOST_DECISIONS)
    return Context(
        interests=asked.interests,
        weights=Weights(**{name: getattr(asked, name) for name in Weights.__struct_fields__}),
        half_life_hours=asked.half_life_hours,
        standings={source.id: _standing(source, *counts.get(source.id, (0, 0))) for source in every},
        told=told,
        preference=train(_labels(decisions)),
        min_score=ground.settings.pipeline.min_score,
    )


def _standing(source: Source, approved: int, rejected: int) -> Standing:
    config = source.config or SourceConfig()
    return Standing(weight=config.weight, min_score=config.min_score, approved=approved, rejected=rejected)


def _labels(decisions: Iterable[Decided]) -> Iterable[Decision]:
    for each in decisions:
        yield Decision(text=f"{each.title}\n{each.summary}", source_id=each.source_id or "", approved=each.approved)


async def _rules(ground: Ground) -> tuple[Rules, Mapping[str, Rules | None]]:
    """The rules for every item, and those of each source that has some of its own; None where they are unusable."""
    asked = ground.settings.pipeline
    max_age = timedelta(hours=asked.max_age_hours)
    everywhere = compile_rules(asked.include, asked.exclude, asked.language or None, max_age, field="pipeline")
    async with ground.engines.reading() as conn:
        every = await sources.every(conn, ground.user_id)
    own = {each.id: _own_rules(each.config) for each in every if each.config is not None}
    return everywhere, own


def _own_rules(config: SourceConfig) -> Rules | None:
    try:
        return compile_rules(config.include, config.exclude, config.language, None)
    except InvalidError as error:
        # They were checked when they were set; an expression may still take too long on a busy machine.
        log.warning("the items of a source wait: %s", error)
        return None


def _judge_all(
    waiting: Sequence[Item], rules: tuple[Rules, Mapping[str, Rules | None]], now: datetime, report: Report
) -> tuple[list[Item], list[tuple[str, ItemState, str | None]]]:
    """Which items pass, and what became of the others; those of a source with unusable rules go on waiting."""
    everywhere, own = rules
    passed: list[Item] = []
    outcomes: list[tuple[str, ItemState, str | None]] = []
    for item in waiting:
        report.step()
        its_own = own.get(item.source_id, NO_RULES)
        if its_own is None:
            continue
        reason = judge(item, everywhere, now) or judge(item, its_own, now)
        if reason is None:
            passed.append(item)
        else:
            outcomes.append((item.id, ItemState.FILTERED, reason))
    return passed, outcomes


async def _place(ground: Ground, passed: Sequence[Item], now: datetime) -> dict[str, str]:
    """The stories of the items that are in none yet: {item id: story id}."""
    unplaced = [item for item in passed if not item.story_id]
    if not unplaced:
        return {}
    index = StoryIndex(WINDOW)
    async with ground.engines.reading() as conn:
        members = await items.story_members(conn, ground.user_id, now - WINDOW)
    for known in members:
        index.add(known.story_id, known.source_id, known.title, known.canonical, known.published)
    return {
        item.id: index.place(item.id, item.source_id, item.entry.title, item.canonical, item.published) or item.id
        for item in unplaced
    }
