"""Second and third stage of a run: filter the waiting items, merge them into stories, rank the stories.

All decisions are computed in threads: for thousands of items they take longer than a key press may wait for.
"""

import asyncio
import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.learning import load_decisions
from copydesk.desk.pipeline.progress import RunProgress
from copydesk.errors import InvalidError
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.item import Entry, Item, ItemState, digest
from copydesk.model.run import RunRequest, Stage
from copydesk.model.source import Source, SourceConfig
from copydesk.ranking.filters import FilterRules, compile_rules, detect_common_language, rejection_reason
from copydesk.ranking.preference import Decision, train
from copydesk.ranking.rank import RankedStory, Ranking, rank
from copydesk.ranking.score import ScoringContext, SourceRecord, Weights
from copydesk.ranking.stories import Candidate, StoryIndex, group_into_stories
from copydesk.settings import Settings
from copydesk.store import drafts, items, sources
from copydesk.store.database import Transaction
from copydesk.store.drafts import DraftDecision
from copydesk.store.items import StoryMember

log = logging.getLogger(__name__)
STORY_WINDOW = timedelta(days=14)
"""Items within this window can belong to one story; later the same words are a new story."""
NOVELTY_WINDOW = timedelta(days=60)
"""Stories drafted within this window are no longer news."""
NO_RULES = FilterRules()
LANGUAGE_SAMPLE_SIZE = 30
"""Newest items of a source that tell its language where an item's own title does not."""
FILTER_BATCH_SIZE = 500
"""Items per batch; a run can be cancelled between two batches."""


async def select_stories(
    ctx: DeskContext, request: RunRequest, progress: RunProgress, new: Container[str]
) -> tuple[RankedStory, ...]:
    """Return the stories worth drafting, best first. `new` holds the ids of the items this run stored."""
    with progress.track_stage(Stage.FILTER):
        stories = await _filter(ctx, request, progress, new)
    with progress.track_stage(Stage.RANK, len(stories)):
        return await _rank(ctx, stories, progress)


async def _filter(
    ctx: DeskContext, request: RunRequest, progress: RunProgress, new: Container[str]
) -> tuple[Candidate, ...]:
    """Return the stories of the items that pass the rules; store the outcome of the others."""
    now = ctx.clock()
    rules = await _load_rules(ctx)
    waiting = await ctx.read(items.list_new, request.source_ids)
    # Compare ids instead of subtracting counts: items this run stored may have been deleted since.
    already_stored = sum(item.id not in new for item in waiting)
    progress.increment(items_considered=already_stored, items_waiting=already_stored)
    progress.set_total(len(waiting))
    if not waiting:
        return ()
    rules = rules._replace(source_languages=await _detect_source_languages(ctx, waiting, rules))
    passed, outcomes = await _filter_items(waiting, rules, now, progress)
    story_ids = await _assign_stories(ctx, passed, now)
    passed = [msgspec.structs.replace(item, story_id=story_ids.get(item.id, item.story_id)) for item in passed]
    drafted = await ctx.write(_save_outcomes, passed, story_ids, outcomes)
    aggregators = {info.name for info in SOURCE_TYPES.values() if info.is_aggregator}
    undrafted = [item for item in passed if item.story_id not in drafted]
    stories = await asyncio.to_thread(group_into_stories, undrafted, aggregators)
    progress.set_counters(items_filtered=len(stories))
    return stories


def _save_outcomes(
    conn: Transaction,
    user_id: str,
    passed: Sequence[Item],
    story_ids: Mapping[str, str],
    outcomes: Sequence[tuple[str, ItemState, str | None]],
) -> frozenset[str]:
    """Store story assignments and outcomes; return the ids of the stories that have drafts already."""
    items.assign_stories(conn, user_id, story_ids.items())
    drafted = drafts.find_drafted_stories(conn, user_id, sorted({item.story_id for item in passed}))
    # Another process may have drafted the story since these items were loaded.
    late_outcomes = [
        (item.id, ItemState.DUPLICATE, "its story already has a draft") for item in passed if item.story_id in drafted
    ]
    items.set_outcomes(conn, user_id, [*outcomes, *late_outcomes])
    return drafted


async def _rank(ctx: DeskContext, stories: Sequence[Candidate], progress: RunProgress) -> tuple[RankedStory, ...]:
    """Return the ranked stories. Items dropped for good are marked, so that later runs skip them."""
    if not stories:
        return ()
    now = ctx.clock()
    inputs = await ctx.read(_load_ranking_inputs, now - NOVELTY_WINDOW)
    ranking = await asyncio.to_thread(_rank_stories, stories, inputs, ctx.settings, now)
    outcomes = [
        (item.id, ItemState.FILTERED, dropped.reason)
        for dropped in ranking.dropped
        if dropped.permanent
        for item in dropped.story.items
    ]
    if outcomes:
        await ctx.write(items.set_outcomes, outcomes)
    progress.set_counters(items_ranked=len(ranking.ranked))
    progress.complete()
    return ranking.ranked


class _Rules(NamedTuple):
    """The rules of a run."""

    everywhere: FilterRules
    by_source: Mapping[str, FilterRules | None]
    """None for unusable rules."""
    source_languages: Mapping[str, str | None] = {}

    def filter_language(self, source_id: str) -> str | None:
        """Return the language that the items of a source must have, None if any."""
        source_rules = self.by_source.get(source_id) or NO_RULES
        return source_rules.language or self.everywhere.language


class _RankingInputs(NamedTuple):
    """Stored data that the ranking uses."""

    sources: tuple[Source, ...]
    drafted_titles: tuple[str, ...]
    counts: Mapping[str, tuple[int, int]]
    """By source id: (approved, rejected)."""
    decisions: tuple[DraftDecision, ...]


def _load_ranking_inputs(conn: Transaction, user_id: str, since: datetime) -> _RankingInputs:
    state, decisions = load_decisions(conn, user_id)
    return _RankingInputs(
        sources=sources.list_all(conn, user_id),
        drafted_titles=drafts.list_titles_since(conn, user_id, since),
        counts=_count_by_source(decisions) if state.since else drafts.count_decisions_by_source(conn, user_id),
        decisions=decisions,
    )


def _count_by_source(decisions: Iterable[DraftDecision]) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for decision in decisions:
        approved, rejected = counts.get(decision.source_id or "", (0, 0))
        counts[decision.source_id or ""] = (approved + decision.approved, rejected + (not decision.approved))
    return counts


def _rank_stories(stories: Sequence[Candidate], inputs: _RankingInputs, settings: Settings, now: datetime) -> Ranking:
    return rank(stories, _ranking_context(inputs, settings), now)


def _ranking_context(inputs: _RankingInputs, settings: Settings) -> ScoringContext:
    """Build the ranking context from the settings, the sources' records, the user's decisions and earlier titles."""
    options = settings.ranking
    return ScoringContext(
        interests=options.interests,
        weights=Weights(**{name: getattr(options, name) for name in Weights.__struct_fields__}),
        half_life_hours=options.half_life_hours,
        source_records={
            source.id: _source_record(source, *inputs.counts.get(source.id, (0, 0))) for source in inputs.sources
        },
        recent_titles=inputs.drafted_titles,
        preference=train(_to_decisions(inputs.decisions)),
        min_score=settings.pipeline.min_score,
    )


def _source_record(source: Source, approved: int, rejected: int) -> SourceRecord:
    config = source.config or SourceConfig()
    return SourceRecord(weight=config.weight, min_score=config.min_score, approved=approved, rejected=rejected)


def _to_decisions(decisions: Iterable[DraftDecision]) -> Iterable[Decision]:
    for decision in decisions:
        yield Decision(
            text=f"{decision.title}\n{decision.summary}",
            source_id=decision.source_id or "",
            approved=decision.approved,
            reason=decision.reason,
        )


async def _load_rules(ctx: DeskContext) -> _Rules:
    """Return the rules for all items, and those of each source that has its own.

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


def _load_sources(conn: Transaction, user_id: str) -> tuple[tuple[Source, ...], Mapping[str, str | None]]:
    return sources.list_all(conn, user_id), sources.list_rule_fingerprints(conn, user_id)


def _reopen_items(conn: Transaction, user_id: str, changed: Mapping[str, str], since: datetime) -> None:
    items.reopen_filtered(conn, user_id, list(changed), since)
    sources.save_rule_fingerprints(conn, user_id, changed)


def _rules_fingerprint(ctx: DeskContext, config: SourceConfig) -> str:
    """Return a fingerprint of every setting that can leave out items of a source for good."""
    options = ctx.settings.pipeline
    global_rules = (options.include, options.exclude, options.language, options.max_age_hours)
    excluded = sorted(interest for interest in ctx.settings.ranking.interests if interest.startswith("-"))
    rules = (global_rules, excluded, config.include, config.exclude, config.language)
    return digest(msgspec.json.encode(rules), 8).hex()


def _compile_rules(settings: Settings, max_age: timedelta, all_sources: Iterable[Source]) -> _Rules:
    options = settings.pipeline
    global_rules = compile_rules(options.include, options.exclude, options.language or None, max_age, field="pipeline")
    by_source = {source.id: _compile_source_rules(source.config) for source in all_sources if source.config is not None}
    return _Rules(global_rules, by_source)


def _compile_source_rules(config: SourceConfig) -> FilterRules | None:
    try:
        return compile_rules(config.include, config.exclude, config.language, None)
    except InvalidError as error:
        # Validated when they were set, but an expression may still be too slow on a much slower machine.
        log.warning("the items of a source wait: %s", error)
        return None


async def _detect_source_languages(
    ctx: DeskContext, waiting: Iterable[Item], rules: _Rules
) -> Mapping[str, str | None]:
    """Return the languages of the sources whose items are filtered by language."""
    source_ids = {item.source_id for item in waiting}
    filtered = sorted(source_id for source_id in source_ids if rules.filter_language(source_id) is not None)
    if not filtered:
        return {}
    samples = await ctx.read(items.list_language_samples, filtered, LANGUAGE_SAMPLE_SIZE)
    return await asyncio.to_thread(_detect_languages, samples)


def _detect_languages(samples: Mapping[str, Sequence[Entry]]) -> dict[str, str | None]:
    return {source_id: detect_common_language(entries) for source_id, entries in samples.items()}


async def _filter_items(
    waiting: Sequence[Item], rules: _Rules, now: datetime, progress: RunProgress
) -> tuple[list[Item], list[tuple[str, ItemState, str | None]]]:
    """Return the items that pass and the outcomes of the others; items of a source with unusable rules keep waiting."""
    passed: list[Item] = []
    outcomes: list[tuple[str, ItemState, str | None]] = []
    for start in range(0, len(waiting), FILTER_BATCH_SIZE):
        batch = waiting[start : start + FILTER_BATCH_SIZE]
        batch_passed, batch_outcomes = await asyncio.to_thread(_apply_rules, batch, rules, now)
        passed += batch_passed
        outcomes += batch_outcomes
        progress.advance(steps=len(batch))
    return passed, outcomes


def _apply_rules(
    waiting: Sequence[Item], rules: _Rules, now: datetime
) -> tuple[list[Item], list[tuple[str, ItemState, str | None]]]:
    passed: list[Item] = []
    outcomes: list[tuple[str, ItemState, str | None]] = []
    for item in waiting:
        source_rules = rules.by_source.get(item.source_id, NO_RULES)
        # Unusable rules: keep the item waiting instead of letting it through.
        if source_rules is None:
            continue
        language = rules.source_languages.get(item.source_id)
        reason = rejection_reason(item, rules.everywhere, now, language)
        reason = reason or rejection_reason(item, source_rules, now, language)
        if reason is None:
            passed.append(item)
        else:
            outcomes.append((item.id, ItemState.FILTERED, reason))
    return passed, outcomes


async def _assign_stories(ctx: DeskContext, passed: Sequence[Item], now: datetime) -> dict[str, str]:
    """Return the stories of items that have none yet: {item id: story id}."""
    unplaced = [item for item in passed if not item.story_id]
    if not unplaced:
        return {}
    members = await ctx.read(items.list_story_members, now - STORY_WINDOW)
    return await asyncio.to_thread(_match_stories, members, unplaced)


def _match_stories(members: Iterable[StoryMember], unplaced: Sequence[Item]) -> dict[str, str]:
    index = StoryIndex(STORY_WINDOW)
    for member in members:
        index.add(member.story_id, member.source_id, member.title, member.canonical, member.published, member.summary)
    return {item.id: _assign_story(index, item) for item in unplaced}


def _assign_story(index: StoryIndex, item: Item) -> str:
    entry = item.entry
    summary = entry.summary or entry.text
    story_id = index.assign(item.id, item.source_id, entry.title, item.canonical, item.published, summary)
    # An item that matches no story starts a new one under its own id.
    return story_id or item.id
