"""The ranking: why an item has no draft, what a change of interests, filters or weights would do, and saving it.

Only `change` and `reset` store anything. The rankings are computed in threads.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.desk.pipeline.item_rules import ItemRules, compile_item_rules, detect_source_languages
from copydesk.desk.pipeline.ranking_inputs import (
    NOVELTY_WINDOW,
    RankingInputs,
    load_ranking_inputs,
    ranking_context,
)
from copydesk.desk.saved_ranking import apply_change, build_profile, load_settings, merge_changes
from copydesk.errors import FieldError, InvalidError, SourceNotFoundError
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.draft import STATUS_LABELS
from copydesk.model.item import DECLINED_REASON, FAILED_REASON, STORY_DRAFTED_REASON, Item, ItemState
from copydesk.model.ranking import ChangeRanking, RankingProfile
from copydesk.model.ranking_preview import (
    Explanation,
    InterestRank,
    ItemFate,
    PreviewedStory,
    RankingPreview,
    RankingPreviewRequest,
    StoryDraft,
)
from copydesk.model.source import Source
from copydesk.model.token import Scope
from copydesk.ranking.canonical_url import canonical_url
from copydesk.ranking.preview import (
    ApprovedStory,
    DayRanking,
    Variant,
    count_hits,
    day_ends,
    pick_drafts,
    rank_by_recency,
    rank_days,
)
from copydesk.ranking.rank import RankedStory, Ranking, rank
from copydesk.ranking.score import Interests, ScoringContext
from copydesk.ranking.stories import Candidate, group_into_stories
from copydesk.settings import Settings
from copydesk.store import drafts, items, sources, users
from copydesk.store.database import Transaction
from copydesk.switch_interval import short_switch_interval
from copydesk.text.formatting import format_relative, plural

PREVIEW_DAYS = 30
MAX_ITEMS = 20_000
"""Newest items that are replayed."""
MAX_APPROVALS = 60
TOP = 20
"""Ranks that count as a hit."""
MAX_LISTED = 20
"""Stories listed as gained, and as lost."""
MAX_INTERESTS = 5
"""Interests of one story that are left out in turn."""
_AGGREGATORS = frozenset(info.name for info in SOURCE_TYPES.values() if info.is_aggregator)


class Rankings:
    """Operations on the ranking."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def get(self) -> RankingProfile:
        """Return the interests, filters and weights that runs use."""
        return build_profile(self._ctx.settings, await self._ctx.read(users.load_ranking))

    @needs(Scope.REVIEW)
    @operation
    async def change(self, request: ChangeRanking) -> RankingProfile:
        """Save interests, filters and weights in place of those in the settings file; null leaves a setting as it is.

        The next run uses them. Raise InvalidError for an unknown part of the score, or an expression that is invalid or
        too slow.
        """
        changed = apply_change(self._ctx.settings, request)
        await asyncio.to_thread(compile_item_rules, changed.pipeline, ())
        return build_profile(self._ctx.settings, await self._ctx.write_durable(_save_change, request))

    @needs(Scope.REVIEW)
    @operation
    async def reset(self) -> RankingProfile:
        """Forget the saved interests, filters and weights: those in the settings file are used again."""
        await self._ctx.write_durable(users.save_ranking, ChangeRanking())
        return build_profile(self._ctx.settings, ChangeRanking())

    @operation
    async def preview(self, request: RankingPreviewRequest) -> RankingPreview:
        """Replay the items of 30 days as the settings are, and with a change.

        Raise InvalidError for an invalid change, SourceNotFoundError for an unknown source.
        """
        now = self._ctx.clock()
        stored, inputs, approved = await self._ctx.read(_load_preview, now - timedelta(days=PREVIEW_DAYS))
        before = _Options(await load_settings(self._ctx), inputs.sources, inputs.excluded)
        after = _change(before, request)
        rules = [await self._compile(options, stored) for options in (before, after)]
        # Many seconds for many items: give the console's thread its turn more often.
        with short_switch_interval():
            return await asyncio.to_thread(_preview, stored, inputs, approved, (before, after), rules, now)

    async def _compile(self, options: "_Options", stored: Sequence[Item]) -> ItemRules:
        rules = await asyncio.to_thread(
            compile_item_rules, options.settings.pipeline, options.sources, options.excluded, any_age=True
        )
        return rules._replace(source_languages=await detect_source_languages(self._ctx, stored, rules))

    @operation
    async def why(self, url: str) -> Explanation:
        """Explain why an item, given by its address or id, has no draft; or name its drafts."""
        now = self._ctx.clock()
        found = await self._ctx.read(_find_item, url.strip(), canonical_url(url))
        if found is None:
            return await self._ctx.read(_explain_unknown, url.strip(), now)
        if found.drafts:
            return _explanation(found, ItemFate.DRAFTED, _describe_drafts(found.drafts))
        if found.item.state is not ItemState.NEW:
            return await self._explain_decided(found)
        return await self._explain_waiting(found, now)

    async def _explain_decided(self, found: "_FoundItem") -> Explanation:
        item, reason = found.item, found.item.reason or ""
        if item.state is ItemState.HISTORY:
            hours = self._ctx.settings.pipeline.first_fetch_hours
            why = f"It was older than {hours} hours when {item.source_name} was first fetched."
            return _explanation(found, ItemFate.HISTORY, why)
        if item.state is ItemState.DUPLICATE and reason == STORY_DRAFTED_REASON:
            return _explanation(found, ItemFate.MERGED, "Its story was drafted; the draft was deleted since.")
        if item.state is ItemState.DUPLICATE:
            return _explanation(found, ItemFate.MERGED, f"It is part of a story that is {reason}." if reason else "")
        if item.state is ItemState.DRAFTED:
            return _explanation(found, ItemFate.DRAFTED, "It was drafted; the draft was deleted since.")
        for beginning, why in ((DECLINED_REASON, "The writer declined it."), (FAILED_REASON, "The writer failed.")):
            if reason.startswith(beginning):
                return _explanation(found, ItemFate.DECLINED, f"{why} {reason.removeprefix(beginning)}")
        return _explanation(found, ItemFate.FILTERED, await self._describe_filter(item, reason))

    async def _describe_filter(self, item: Item, reason: str) -> str:
        """Return which filter left the item out, and where that filter is set."""
        inputs = await self._ctx.read(load_ranking_inputs, self._ctx.clock())
        options = (await load_settings(self._ctx)).pipeline
        rules = await asyncio.to_thread(compile_item_rules, options, inputs.sources, inputs.excluded)
        rejection = await asyncio.to_thread(rules.reject, item, self._ctx.clock())
        if rejection is None or rejection.reason != reason:
            return f"It was filtered out: {reason}."
        scope = f"the settings of {item.source_name}" if rejection.of_source else "the settings for all sources"
        if any(reason == f"has the excluded {term}" for term in inputs.excluded):
            scope = "a rule of yours (copydesk rule list)"
        return f"It was filtered out by {scope}: {reason}."

    async def _explain_waiting(self, found: "_FoundItem", now: datetime) -> Explanation:
        waiting = await self._ctx.read(items.list_new, None)
        if all(item.id != found.item.id for item in waiting):
            return _explanation(found, ItemFate.DROPPED, f"It waits, but {found.item.source_name} is disabled.")
        inputs = await self._ctx.read(load_ranking_inputs, now - NOVELTY_WINDOW)
        settings = await load_settings(self._ctx)
        rules = await asyncio.to_thread(compile_item_rules, settings.pipeline, inputs.sources, inputs.excluded)
        rules = rules._replace(source_languages=await detect_source_languages(self._ctx, waiting, rules))
        return await asyncio.to_thread(_explain_waiting, found, waiting, rules, inputs, settings, now)


class _Options(NamedTuple):
    """The settings that a preview compares."""

    settings: Settings
    sources: tuple[Source, ...]
    excluded: tuple[str, ...]
    """Words that the user's rules exclude."""


class _FoundItem(NamedTuple):
    item: Item
    lead: Item | None
    """The item that stands for its story, if that is another one."""
    drafts: tuple[StoryDraft, ...]


def _change(options: _Options, request: RankingPreviewRequest) -> _Options:
    """Return the options with the change. Raise InvalidError, or SourceNotFoundError for an unknown source."""
    if (request.source_id is None) is not (request.source_config is None):
        raise InvalidError(FieldError("sourceConfig", "sourceId and sourceConfig belong together"))
    return _Options(apply_change(options.settings, request), _change_source(options.sources, request), options.excluded)


def _change_source(all_sources: tuple[Source, ...], request: RankingPreviewRequest) -> tuple[Source, ...]:
    if request.source_id is None:
        return all_sources
    if all(source.id != request.source_id for source in all_sources):
        raise SourceNotFoundError(request.source_id)
    return tuple(
        msgspec.structs.replace(source, config=request.source_config) if source.id == request.source_id else source
        for source in all_sources
    )


def _save_change(conn: Transaction, user_id: str, change: ChangeRanking) -> ChangeRanking:
    saved = merge_changes(users.load_ranking(conn, user_id), change)
    users.save_ranking(conn, user_id, saved)
    return saved


def _load_preview(
    conn: Transaction, user_id: str, since: datetime
) -> tuple[tuple[Item, ...], RankingInputs, tuple[ApprovedStory, ...]]:
    approved = drafts.list_approved_stories(conn, user_id, since, MAX_APPROVALS)
    # What was drafted and decided in these days must not rank the same days.
    inputs = load_ranking_inputs(conn, user_id, since)._replace(drafted_titles=(), counts={}, decisions=())
    stored = items.list_since(conn, user_id, since, MAX_ITEMS)
    return stored, inputs, tuple(ApprovedStory(*row) for row in approved)


class _Replay(NamedTuple):
    """The days with one of the two settings."""

    variant: Variant
    rejected: Mapping[str, str]
    """By item id the reason."""
    rankings: tuple[DayRanking, ...]
    drafted: Mapping[str, datetime]


def _preview(
    stored: Sequence[Item],
    inputs: RankingInputs,
    approved: Collection[ApprovedStory],
    options: tuple[_Options, _Options],
    rules: Sequence[ItemRules],
    now: datetime,
) -> RankingPreview:
    days = day_ends(now, PREVIEW_DAYS)
    max_age = timedelta(hours=options[0].settings.pipeline.max_age_hours)
    before, after = (
        _replay(stored, inputs, chosen, compiled, days, now) for chosen, compiled in zip(options, rules, strict=True)
    )
    unfiltered = Variant(before.variant.context, group_into_stories(stored, _AGGREGATORS), 0, _AGGREGATORS)
    stories = {story.story_id: story for story in unfiltered.stories}
    gained = [story_id for story_id in after.drafted if story_id not in before.drafted]
    lost = [story_id for story_id in before.drafted if story_id not in after.drafted]
    return RankingPreview(
        days=PREVIEW_DAYS,
        items=len(stored),
        drafted_now=len(before.drafted),
        drafted=len(after.drafted),
        gained=_list_stories(reversed(gained), stories, after, before),
        gained_count=len(gained),
        lost=_list_stories(reversed(lost), stories, after, before),
        lost_count=len(lost),
        top=TOP,
        hits_now=count_hits(before.rankings, approved, TOP),
        hits=count_hits(after.rankings, approved, TOP),
        hits_by_recency=count_hits(rank_by_recency(unfiltered, days, max_age), approved, TOP),
    )


def _replay(
    stored: Sequence[Item],
    inputs: RankingInputs,
    options: _Options,
    rules: ItemRules,
    days: Sequence[datetime],
    now: datetime,
) -> _Replay:
    rejections = ((item.id, rules.reject(item, now)) for item in stored)
    rejected = {item_id: rejection.reason for item_id, rejection in rejections if rejection}
    settings = options.settings
    variant = Variant(
        ranking_context(inputs._replace(sources=options.sources), settings),
        group_into_stories([item for item in stored if item.id not in rejected], _AGGREGATORS),
        settings.pipeline.max_drafts,
        _AGGREGATORS,
    )
    rankings = rank_days(variant, days, timedelta(hours=settings.pipeline.max_age_hours))
    return _Replay(variant, rejected, rankings, pick_drafts(rankings, variant.max_drafts))


def _list_stories(
    story_ids: Iterable[str], stories: Mapping[str, Candidate], after: _Replay, before: _Replay
) -> tuple[PreviewedStory, ...]:
    return tuple(_describe(stories[story_id], after, before) for story_id in list(story_ids)[:MAX_LISTED])


def _describe(story: Candidate, after: _Replay, before: _Replay) -> PreviewedStory:
    day = after.drafted.get(story.story_id) or before.drafted[story.story_id]
    position, reason = _rank_on_day(story, day, after)
    position_now, reason_now = _rank_on_day(story, day, before)
    return PreviewedStory(
        item_id=story.lead.id,
        title=story.lead.entry.title,
        source=story.lead.source_name,
        url=story.lead.entry.url,
        day=day,
        rank=position,
        rank_now=position_now,
        reason=reason or reason_now,
    )


def _rank_on_day(story: Candidate, day: datetime, replay: _Replay) -> tuple[int | None, str]:
    """Return the rank of a story on a day, and why it has none."""
    ranking = next(ranking for ranking in replay.rankings if ranking.at == day)
    position = ranking.position(story.story_id)
    if position is not None:
        return position, ""
    return None, ranking.dropped.get(story.story_id) or replay.rejected.get(story.lead.id, "")


def _find_item(conn: Transaction, user_id: str, url: str, canonical: str) -> _FoundItem | None:
    item = items.get(conn, user_id, url) or next(iter(items.find_by_address(conn, user_id, url, canonical)), None)
    if item is None:
        return None
    members = items.list_story(conn, user_id, item.story_id) if item.story_id else (item,)
    found = drafts.list_by_story(conn, user_id, item.story_id) if item.story_id else ()
    lead = next((member for member in members if member.state is ItemState.DRAFTED and member.id != item.id), None)
    return _FoundItem(item, lead, tuple(StoryDraft(*row) for row in found))


def _describe_drafts(found: Sequence[StoryDraft]) -> str:
    newest = found[0]
    suffix = f" and {len(found) - 1} more" if len(found) > 1 else ""
    archived = ", archived" if newest.archived else ""
    return f"It has a draft: {newest.id} ({STATUS_LABELS[newest.status]}{archived}){suffix}."


def _explanation(found: _FoundItem, fate: ItemFate, why: str) -> Explanation:
    return Explanation(
        fate=fate,
        why=why,
        item_id=found.item.id,
        title=found.item.entry.title,
        source=found.item.source_name,
        state=found.item.state,
        lead_title=found.lead.entry.title if found.lead else None,
        drafts=found.drafts,
    )


def _explain_unknown(conn: Transaction, user_id: str, url: str, now: datetime) -> Explanation:
    host = _site(url)
    related = [source for source in sources.list_all(conn, user_id) if host and _site(source.url or "") == host]
    if not related:
        return Explanation(fate=ItemFate.UNKNOWN, why="No item has this address, and no source is on its site.")
    source = related[0]
    name = source.name
    if source.last_fetch is None:
        return Explanation(
            fate=ItemFate.NOT_FETCHED, why=f"Your source {name} is on this site and was not fetched yet.", source=name
        )
    fetched = format_relative(source.last_fetch, now)
    if source.last_error:
        why = f"Your source {name} is on this site. Its last fetch, {fetched}, failed: {source.last_error}"
        return Explanation(fate=ItemFate.NOT_FETCHED, why=why, source=name)
    why = f"Your source {name} is on this site. It was fetched {fetched} and has not listed this page so far."
    return Explanation(fate=ItemFate.UNKNOWN, why=why, source=name)


def _site(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _explain_waiting(
    found: _FoundItem,
    waiting: Sequence[Item],
    rules: ItemRules,
    inputs: RankingInputs,
    settings: Settings,
    now: datetime,
) -> Explanation:
    item = found.item
    if not rules.can_judge(item):
        return _explanation(found, ItemFate.DROPPED, f"It waits: a filter of {item.source_name} cannot be used.")
    if rejection := rules.reject(item, now):
        scope = f"of {item.source_name}" if rejection.of_source else "for all sources"
        return _explanation(found, ItemFate.FILTERED, f"The next run filters it out ({scope}): {rejection.reason}.")
    passing = [other for other in waiting if rules.can_judge(other) and rules.reject(other, now) is None]
    stories = group_into_stories(passing, _AGGREGATORS)
    context = ranking_context(inputs, settings)
    ranking = rank(stories, context, now)
    story_id = item.story_id or item.id
    position = _position(ranking, story_id)
    if position is None:
        reason = next((entry.reason for entry in ranking.dropped if entry.story.story_id == story_id), "it has no rank")
        return _explanation(found, ItemFate.DROPPED, f"It waits, but a run does not draft it: {reason}.")
    ranked = ranking.ranked[position - 1]
    limit = settings.pipeline.max_drafts
    total = len(ranking.ranked)
    verdict = "The next run drafts it" if position <= limit else f"A run drafts {limit}"
    explained = _explanation(
        found, ItemFate.WAITING, f"It waits at rank {position} of {plural(total, 'story')}. {verdict}."
    )
    return msgspec.structs.replace(
        explained,
        rank=position,
        of=total,
        score=ranked.score.total,
        parts=ranked.score.parts,
        lead_title=ranked.lead.entry.title if ranked.lead.id != item.id else None,
        without_interest=_ranks_without_interests(stories, context, ranked, now),
    )


def _position(ranking: Ranking, story_id: str) -> int | None:
    return next((number for number, story in enumerate(ranking.ranked, 1) if story.story_id == story_id), None)


def _ranks_without_interests(
    stories: Sequence[Candidate], context: ScoringContext, ranked: RankedStory, now: datetime
) -> tuple[InterestRank, ...]:
    """Return the rank of a story without each of the interests that it matches."""
    candidate = next(story for story in stories if story.story_id == ranked.story_id)
    matched = [interest for interest in context.interests if _matches(candidate, interest)]
    ranks = []
    for interest in matched[:MAX_INTERESTS]:
        remaining = tuple(other for other in context.interests if other != interest)
        changed = msgspec.structs.replace(context, interests=remaining)
        ranks.append(InterestRank(interest, _position(rank(stories, changed, now), ranked.story_id)))
    return tuple(ranks)


def _matches(story: Candidate, interest: str) -> bool:
    interests = Interests((interest,), [story])
    return interests.required and interests.match(story).value > 0
