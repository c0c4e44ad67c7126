"""Second and third stage of a run: filter the waiting items, merge them into stories, rank the stories.

All decisions are computed in threads: for thousands of items they take longer than a key press may wait for.
"""

import asyncio
import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.desk.report import Report
from copydesk.errors import InvalidError
from copydesk.model.item import Item, ItemState
from copydesk.model.run import RunRequest, Stage
from copydesk.model.source import Source, SourceConfig
from copydesk.ranking.duplicates import StoryIndex
from copydesk.ranking.filters import Rules, compile_rules, judge
from copydesk.ranking.preference import Decision, train
from copydesk.ranking.rank import Ranked, Ranking, rank
from copydesk.ranking.score import Context, Standing, Weights
from copydesk.ranking.stories import Candidate, gather
from copydesk.settings import Settings
from copydesk.store import counts, drafts, items, sources
from copydesk.store.drafts import Decided
from copydesk.store.items import StoryMember
from copydesk.text.digest import digest

log = logging.getLogger(__name__)
WINDOW = timedelta(days=14)
"""Items within this window can belong to one story; later the same words are a new story."""
TOLD = timedelta(days=60)
"""Stories drafted within this window are no longer news."""
NO_RULES = Rules()
JUDGED_AT_ONCE = 500
"""Items per batch; a run can be cancelled between two batches."""
MOST_DECISIONS = 2000
"""Newest decisions that the preference is trained on; more would not change it."""


async def choose(ground: Ground, request: RunRequest, report: Report, new: Container[str]) -> tuple[Ranked, ...]:
    """Return the stories worth drafting, best first. `new` holds the ids of the items this run stored."""
    with report.during(Stage.FILTER):
        stories = await _filter(ground, request, report, new)
    with report.during(Stage.RANK, len(stories)):
        return await _rank(ground, stories, report)


async def _filter(ctx: Ground, request: RunRequest, progress: Report, new: Container[str]) -> tuple[Candidate, ...]:
    """Return the stories of the items that pass the rules; store the outcome of the others."""
    now = ctx.clock()
    rules = await _load_rules(ctx)
    waiting = await ctx.read(items.waiting, request.source_ids)
    # Compare ids instead of subtracting counts: items this run stored may have been deleted since.
    already_stored = sum(item.id not in new for item in waiting)
    progress.add(items_ingested=already_stored, items_waiting=already_stored)
    progress.expect(len(waiting))
    if not waiting:
        return ()
    passed, outcomes = await _filter_items(waiting, rules, now, progress)
    story_ids = await _assign_stories(ctx, passed, now)
    passed = [msgspec.structs.replace(item, story_id=story_ids.get(item.id, item.story_id)) for item in passed]
    drafted = await ctx.write(_save_outcomes, passed, story_ids, outcomes)
    stories = await asyncio.to_thread(gather, [item for item in passed if item.story_id not in drafted])
    progress.count(items_filtered=len(stories))
    return stories


def _save_outcomes(
    conn: Connection,
    user_id: str,
    passed: Sequence[Item],
    story_ids: Mapping[str, str],
    outcomes: Sequence[tuple[str, ItemState, str | None]],
) -> frozenset[str]:
    """Store story assignments and outcomes; return the ids of the stories that have drafts already."""
    items.place(conn, user_id, story_ids.items())
    drafted = drafts.drafted_among(conn, user_id, sorted({item.story_id for item in passed}))
    # Another process may have drafted the story since these items were loaded.
    late_outcomes = [
        (item.id, ItemState.DUPLICATE, "its story was drafted before") for item in passed if item.story_id in drafted
    ]
    items.settle(conn, user_id, [*outcomes, *late_outcomes])
    return drafted


async def _rank(ctx: Ground, stories: Sequence[Candidate], progress: Report) -> tuple[Ranked, ...]:
    """Return the ranked stories. Items dropped for good are marked, so that later runs skip them."""
    if not stories:
        return ()
    now = ctx.clock()
    inputs = await ctx.read(_load_ranking_inputs, now - TOLD)
    ranking = await asyncio.to_thread(_ranking, stories, inputs, ctx.settings, now)
    outcomes = [
        (item.id, ItemState.FILTERED, dropped.reason)
        for dropped in ranking.dropped
        if dropped.for_good
        for item in dropped.story.items
    ]
    if outcomes:
        await ctx.write(items.settle, outcomes)
    progress.count(items_ranked=len(ranking.ranked))
    progress.all_done()
    return ranking.ranked


class _RankingInputs(NamedTuple):
    """Stored data that the ranking uses."""

    sources: tuple[Source, ...]
    told: tuple[str, ...]
    counts: Mapping[str, tuple[int, int]]
    decisions: tuple[Decided, ...]


def _load_ranking_inputs(conn: Connection, user_id: str, since: datetime) -> _RankingInputs:
    return _RankingInputs(
        sources=sources.every(conn, user_id),
        told=drafts.titles_since(conn, user_id, since),
        counts=counts.decisions(conn, user_id),
        decisions=drafts.decisions(conn, user_id, MOST_DECISIONS),
    )


def _ranking(stories: Sequence[Candidate], inputs: _RankingInputs, settings: Settings, now: datetime) -> Ranking:
    return rank(stories, _ranking_context(inputs, settings), now)


def _ranking_context(inputs: _RankingInputs, settings: Settings) -> Context:
    """Build the ranking context from the settings, the sources' records, the user's decisions and earlier titles."""
    options = settings.ranking
    return Context(
        interests=options.interests,
        weights=Weights(**{name: getattr(options, name) for name in Weights.__struct_fields__}),
        half_life_hours=options.half_life_hours,
        standings={
            source.id: _source_record(source, *inputs.counts.get(source.id, (0, 0))) for source in inputs.sources
        },
        told=inputs.told,
        preference=train(_to_decisions(inputs.decisions)),
        min_score=settings.pipeline.min_score,
    )


def _source_record(source: Source, approved: int, rejected: int) -> Standing:
    config = source.config or SourceConfig()
    return Standing(weight=config.weight, min_score=config.min_score, approved=approved, rejected=rejected)


def _to_decisions(decisions: Iterable[Decided]) -> Iterable[Decision]:
    for decision in decisions:
        yield Decision(
            text=f"{decision.title}\n{decision.summary}", source_id=decision.source_id or "", approved=decision.approved
        )


async def _load_rules(ctx: Ground) -> tuple[Rules, Mapping[str, Rules | None]]:
    """Return the rules for all items, and those of each source that has its own; None for unusable ones.

    Items that a source's previous rules left out are reopened if the rules have changed since.
    """
    max_age = timedelta(hours=ctx.settings.pipeline.max_age_hours)
    all_sources, stored_fingerprints = await ctx.read(_load_sources)
    compiled = await asyncio.to_thread(_compile_rules, ctx.settings, max_age, all_sources)
    fingerprints = {source.id: _rules_fingerprint(ctx, source.config or SourceConfig()) for source in all_sources}
    # Items are judged once. Only changed rules make those they left out wait again.
    if changed := {
        source_id: rules for source_id, rules in fingerprints.items() if stored_fingerprints.get(source_id) != rules
    }:
        await ctx.write(_reopen_items, changed, ctx.clock() - max_age)
    return compiled


def _load_sources(conn: Connection, user_id: str) -> tuple[tuple[Source, ...], Mapping[str, str | None]]:
    return sources.every(conn, user_id), sources.judged_by(conn, user_id)


def _reopen_items(conn: Connection, user_id: str, changed: Mapping[str, str], since: datetime) -> None:
    items.reopen(conn, user_id, list(changed), since)
    sources.judge_by(conn, user_id, changed)


def _rules_fingerprint(ctx: Ground, config: SourceConfig) -> str:
    """Return a fingerprint of every setting that can leave out items of a source for good."""
    options = ctx.settings.pipeline
    global_rules = (options.include, options.exclude, options.language, options.max_age_hours)
    excluded = sorted(interest for interest in ctx.settings.ranking.interests if interest.startswith("-"))
    rules = (global_rules, excluded, config.include, config.exclude, config.language)
    return digest(msgspec.json.encode(rules), 8).hex()


def _compile_rules(
    settings: Settings, max_age: timedelta, all_sources: Iterable[Source]
) -> tuple[Rules, Mapping[str, Rules | None]]:
    options = settings.pipeline
    global_rules = compile_rules(options.include, options.exclude, options.language or None, max_age, field="pipeline")
    return global_rules, {
        source.id: _compile_source_rules(source.config) for source in all_sources if source.config is not None
    }


def _compile_source_rules(config: SourceConfig) -> Rules | None:
    try:
        return compile_rules(config.include, config.exclude, config.language, None)
    except InvalidError as error:
        # Validated when they were set, but an expression may still be too slow on a much slower machine.
        log.warning("the items of a source wait: %s", error)
        return None


async def _filter_items(
    waiting: Sequence[Item], rules: tuple[Rules, Mapping[str, Rules | None]], now: datetime, progress: Report
) -> tuple[list[Item], list[tuple[str, ItemState, str | None]]]:
    """Return the items that pass and the outcomes of the others; items of a source with unusable rules keep waiting."""
    passed: list[Item] = []
    outcomes: list[tuple[str, ItemState, str | None]] = []
    for start in range(0, len(waiting), JUDGED_AT_ONCE):
        batch = waiting[start : start + JUDGED_AT_ONCE]
        batch_passed, batch_outcomes = await asyncio.to_thread(_judge, batch, rules, now)
        passed += batch_passed
        outcomes += batch_outcomes
        progress.step(steps=len(batch))
    return passed, outcomes


def _judge(
    waiting: Sequence[Item], rules: tuple[Rules, Mapping[str, Rules | None]], now: datetime
) -> tuple[list[Item], list[tuple[str, ItemState, str | None]]]:
    global_rules, rules_by_source = rules
    passed: list[Item] = []
    outcomes: list[tuple[str, ItemState, str | None]] = []
    for item in waiting:
        source_rules = rules_by_source.get(item.source_id, NO_RULES)
        # Unusable rules: keep the item waiting instead of letting it through.
        if source_rules is None:
            continue
        reason = judge(item, global_rules, now) or judge(item, source_rules, now)
        if reason is None:
            passed.append(item)
        else:
            outcomes.append((item.id, ItemState.FILTERED, reason))
    return passed, outcomes


async def _assign_stories(ctx: Ground, passed: Sequence[Item], now: datetime) -> dict[str, str]:
    """Return the stories of items that have none yet: {item id: story id}."""
    unplaced = [item for item in passed if not item.story_id]
    if not unplaced:
        return {}
    members = await ctx.read(items.story_members, now - WINDOW)
    return await asyncio.to_thread(_stories, members, unplaced)


def _stories(members: Iterable[StoryMember], unplaced: Sequence[Item]) -> dict[str, str]:
    index = StoryIndex(WINDOW)
    for member in members:
        index.add(member.story_id, member.source_id, member.title, member.canonical, member.published)
    return {
        # An item that matches no story starts a new one under its own id.
        item.id: index.place(item.id, item.source_id, item.entry.title, item.canonical, item.published) or item.id
        for item in unplaced
    }
