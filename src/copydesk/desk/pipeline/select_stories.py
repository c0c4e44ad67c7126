"""Second and third stage of a run: filter the waiting items, merge them into stories, rank the stories.

All decisions are computed in threads: for thousands of items they take longer than a key press may wait for.
"""

import asyncio
import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.pipeline.item_rules import ItemRules, compile_item_rules, detect_source_languages
from copydesk.desk.pipeline.progress import RunProgress
from copydesk.desk.pipeline.ranking_inputs import NOVELTY_WINDOW, load_ranking_inputs, ranking_context
from copydesk.desk.saved_ranking import load_settings
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.item import STORY_DRAFTED_REASON, Item, ItemState, digest
from copydesk.model.rule import RuleKind
from copydesk.model.run import RunRequest, Stage
from copydesk.model.source import Source, SourceConfig
from copydesk.ranking.rank import RankedStory, rank
from copydesk.ranking.stories import Candidate, StoryIndex, group_into_stories
from copydesk.settings import Settings
from copydesk.store import drafts, items, sources
from copydesk.store.database import Transaction
from copydesk.store.items import StoryMember
from copydesk.store.rules import list_terms

log = logging.getLogger(__name__)
STORY_WINDOW = timedelta(days=14)
"""Items within this window can belong to one story; later the same words are a new story."""
FILTER_BATCH_SIZE = 500
"""Items per batch; a run can be cancelled between two batches."""


async def select_stories(
    ctx: DeskContext, request: RunRequest, progress: RunProgress, new: Container[str]
) -> tuple[RankedStory, ...]:
    """Return the stories worth drafting, best first. `new` holds the ids of the items this run stored."""
    settings = await load_settings(ctx)
    with progress.track_stage(Stage.FILTER):
        stories = await _filter(ctx, settings, request, progress, new)
    with progress.track_stage(Stage.RANK, len(stories)):
        return await _rank(ctx, settings, stories, progress)


async def _filter(
    ctx: DeskContext, settings: Settings, request: RunRequest, progress: RunProgress, new: Container[str]
) -> tuple[Candidate, ...]:
    """Return the stories of the items that pass the rules; store the outcome of the others."""
    now = ctx.clock()
    rules = await _load_rules(ctx, settings)
    waiting = await ctx.read(items.list_new, request.source_ids)
    # Compare ids instead of subtracting counts: items this run stored may have been deleted since.
    already_stored = sum(item.id not in new for item in waiting)
    progress.increment(items_considered=already_stored, items_waiting=already_stored)
    progress.set_total(len(waiting))
    if not waiting:
        return ()
    rules = rules._replace(source_languages=await detect_source_languages(ctx, waiting, rules))
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
        (item.id, ItemState.DUPLICATE, STORY_DRAFTED_REASON) for item in passed if item.story_id in drafted
    ]
    items.set_outcomes(conn, user_id, [*outcomes, *late_outcomes])
    return drafted


async def _rank(
    ctx: DeskContext, settings: Settings, stories: Sequence[Candidate], progress: RunProgress
) -> tuple[RankedStory, ...]:
    """Return the ranked stories. Items dropped for good are marked, so that later runs skip them."""
    if not stories:
        return ()
    now = ctx.clock()
    inputs = await ctx.read(load_ranking_inputs, now - NOVELTY_WINDOW)
    ranking = await asyncio.to_thread(lambda: rank(stories, ranking_context(inputs, settings), now))
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


async def _load_rules(ctx: DeskContext, settings: Settings) -> ItemRules:
    """Return the rules for all items, and those of each source that has its own.

    Items that a source's previous rules left out are reopened if the rules have changed since.
    """
    all_sources, stored_fingerprints, excluded = await ctx.read(_load_sources)
    compiled = await asyncio.to_thread(compile_item_rules, settings.pipeline, all_sources, excluded)
    fingerprints = {
        source.id: _rules_fingerprint(settings, source.config or SourceConfig(), excluded) for source in all_sources
    }
    # Items are judged once. Only changed rules make those they left out wait again.
    if changed := {
        source_id: rules for source_id, rules in fingerprints.items() if stored_fingerprints.get(source_id) != rules
    }:
        max_age = timedelta(hours=settings.pipeline.max_age_hours)
        await ctx.write(_reopen_items, changed, ctx.clock() - max_age)
    return compiled


def _load_sources(
    conn: Transaction, user_id: str
) -> tuple[tuple[Source, ...], Mapping[str, str | None], tuple[str, ...]]:
    fingerprints = sources.list_rule_fingerprints(conn, user_id)
    return sources.list_all(conn, user_id), fingerprints, list_terms(conn, user_id, RuleKind.EXCLUDE)


def _reopen_items(conn: Transaction, user_id: str, changed: Mapping[str, str], since: datetime) -> None:
    items.reopen_filtered(conn, user_id, list(changed), since)
    sources.save_rule_fingerprints(conn, user_id, changed)


def _rules_fingerprint(settings: Settings, config: SourceConfig, excluded_by_rules: tuple[str, ...]) -> str:
    """Return a fingerprint of every setting that can leave out items of a source for good."""
    options = settings.pipeline
    global_rules = (options.include, options.exclude, options.language, options.max_age_hours)
    excluded = sorted(interest for interest in settings.ranking.interests if interest.startswith("-"))
    filters = (global_rules, excluded, config.include, config.exclude, config.language)
    # Without rules as before there were any: a changed fingerprint reopens what was filtered out.
    return digest(msgspec.json.encode((*filters, excluded_by_rules) if excluded_by_rules else filters), 8).hex()


async def _filter_items(
    waiting: Sequence[Item], rules: ItemRules, now: datetime, progress: RunProgress
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
    waiting: Sequence[Item], rules: ItemRules, now: datetime
) -> tuple[list[Item], list[tuple[str, ItemState, str | None]]]:
    passed: list[Item] = []
    outcomes: list[tuple[str, ItemState, str | None]] = []
    for item in waiting:
        # Unusable rules: keep the item waiting instead of letting it through.
        if not rules.can_judge(item):
            continue
        rejection = rules.reject(item, now)
        if rejection is None:
            passed.append(item)
        else:
            outcomes.append((item.id, ItemState.FILTERED, rejection.reason))
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
