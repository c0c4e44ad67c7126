"""First stage of a run: fetch every source; store its new and changed items and its new state.

These are stored in one transaction, together with those of other sources that wait for the database: a kill loses what
was waiting. Each failure is stored at once. Fetches that found nothing new are saved in batches, once a second.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from itertools import pairwise
from operator import itemgetter
from statistics import median
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import msgspec

from copydesk.desk.context import DeskContext, FetchQueue
from copydesk.desk.drafts import source_changes
from copydesk.desk.pipeline.progress import RunProgress
from copydesk.errors import CopydeskError, FetchError, GoneError, StoreError, UnreachableError
from copydesk.ingest import fetch_policy
from copydesk.model.item import Entry, ItemState
from copydesk.model.run import RunRequest
from copydesk.model.source import FetchState, SourceConfig, SourceGroup, SourceSpec
from copydesk.ranking.canonical_url import canonical_url
from copydesk.store import items, sources
from copydesk.store.database import Transaction
from copydesk.store.ids import new_id
from copydesk.store.items import ExistingItem, NewItem
from copydesk.store.sources import FetchOutcome, StoredSource

if TYPE_CHECKING:
    from copydesk.ingest.fetch_context import FetchResult
    from copydesk.network.fetcher import Fetcher


SILENCE_THRESHOLD = timedelta(days=14)
"""A source may be silent this long before its health is questioned."""
log = logging.getLogger(__name__)
MAX_GROUPED_ENTRIES = 250
"""Entries in one transaction: a source that brings more is the last one in it. Any other write waits for its end."""
MAX_UNSTORED_RESULTS = 16
"""Fetched sources that wait to be stored. No request is sent meanwhile: their entries would fill the memory."""
MAX_GROUP = 20
"""Sources of one host in one job of a worker."""
_ITEM_COUNTERS = ("items_ingested", "items_new", "items_considered")
FLUSH_INTERVAL = 1.0
"""Seconds between saves of fetches that found nothing new."""


def match_entries(
    entries: Sequence[Entry], stored_items: Sequence[ExistingItem]
) -> tuple[list[Entry], list[tuple[str, Entry]]]:
    """Return the new entries, and (item id, entry) of the stored items that changed.

    An entry matches the stored item with its id, or else with its second key if no other entry has that item's id: a
    source that changes all its ids is not a source full of news.
    """
    by_entry_id: dict[str, Entry] = {}
    for entry in entries:
        by_entry_id.setdefault(entry.ident, entry)  # a feed may repeat an id; the first entry wins
    by_ident = {item.ident: item for item in stored_items}
    by_alias = {item.alias: item for item in stored_items if item.ident not in by_entry_id}
    new, changed, matched_ids = [], [], set()
    for entry in by_entry_id.values():
        item = by_ident.get(entry.ident) or by_alias.get(entry.alias)
        # Several entries may share a second key; only the first of them is the stored item.
        if item is None or item.id in matched_ids:
            new.append(entry)
            continue
        matched_ids.add(item.id)
        if item.content_hash != items.content_hash(entry):
            changed.append((item.id, entry))
    return new, changed


class NewItems(NamedTuple):
    """The new items of a fetch."""

    items: list[NewItem]
    too_old: int = 0
    """Number of those that were already old when their source was first fetched."""


def store_fetch(
    conn: Transaction, user_id: str, ctx: DeskContext, stored: StoredSource, result: "FetchResult", now: datetime
) -> NewItems:
    """Store a source's entries and its state; return the new items."""
    # Do not infer this from the state: it is empty after a change of URL, while the items are still there.
    first_fetch = stored.source.item_count == 0
    stored_items = () if first_fetch else items.find_existing(conn, user_id, stored.source.id, result.entries)
    new, changed = match_entries(result.entries, stored_items)
    new_items = _new_items(ctx, stored, new, now)
    published = [item.published for item in new_items.items]
    state = state_after(stored, result, published, now, ctx.jitter())
    outcome = build_outcome(conn, user_id, stored, state, now, url=new_url(result, state))
    if not sources.save_fetch_outcomes(conn, user_id, [outcome]):
        return NewItems([])  # the source was deleted or changed in the meantime: the entries are not its any more
    if ctx.settings.schedule.hold_changed:
        source_changes.hold_changed(conn, user_id, changed, now)
        source_changes.hold_removed(conn, user_id, stored.source.id, result.removed, now)
    items.add(conn, user_id, stored.source.id, new_items.items, now)
    items.update_entries(
        conn, user_id, [(item_id, entry, canonical_url(entry.url or "")) for item_id, entry in changed]
    )
    return new_items


def store_fetches(
    conn: Transaction,
    user_id: str,
    ctx: DeskContext,
    fetched: Sequence[tuple[StoredSource, "FetchResult"]],
    now: datetime,
) -> list[NewItems]:
    """Store the entries of several sources in one transaction; return the new items of each."""
    return [store_fetch(conn, user_id, ctx, stored, result, now) for stored, result in fetched]


def _new_items(ctx: DeskContext, stored: StoredSource, entries: Sequence[Entry], now: datetime) -> NewItems:
    """Convert entries to items. Only recent ones of a first fetch, within the source's cap, can be drafted."""
    result, too_old = [], 0
    is_first_fetch = stored.state.last_ok is None
    for entry in entries:
        # A date in the future would keep the item newest until then.
        published = min(entry.published or now, now)
        is_recent = fetch_policy.is_eligible(published, now, is_first_fetch, ctx.settings.pipeline.first_fetch_hours)
        too_old += not is_recent
        state = ItemState.NEW if is_recent else ItemState.HISTORY
        canonical = canonical_url(entry.url or "")
        result.append(NewItem(id=new_id(now), entry=entry, canonical=canonical, published=published, state=state))
    return NewItems(_limit_new(result, (stored.source.config or SourceConfig()).max_items), too_old)


def _limit_new(new_items: list[NewItem], limit: int | None) -> list[NewItem]:
    """Return the items with all but the newest `limit` marked as history."""
    if limit is None or len(new_items) <= limit:
        return new_items
    newest_ids = {item.id for item in sorted(new_items, key=lambda item: (item.published, item.id))[-limit:]}
    return [
        item if item.id in newest_ids else msgspec.structs.replace(item, state=ItemState.HISTORY) for item in new_items
    ]


def state_after(
    stored: StoredSource, result: "FetchResult", published: Collection[datetime], now: datetime, jitter: float
) -> FetchState:
    """Return the state of a source after a fetch; `published` are the times of the new items."""
    if result.error is not None:
        # A fetch that was interrupted may have brought entries, but still counts as a failure.
        return state_after_failure(with_cursor(stored, result), result.error, now, jitter)
    interval = (stored.source.config or SourceConfig()).interval
    return fetch_policy.after_fetch(stored.state, result, published, interval, now, jitter)


def state_after_failure(stored: StoredSource, error: FetchError, now: datetime, jitter: float) -> FetchState:
    """Return the state of a source after a fetch that failed."""
    interval = (stored.source.config or SourceConfig()).interval
    return fetch_policy.after_failure(stored.state, error, now, jitter, interval)


def new_url(result: "FetchResult", state: FetchState) -> str | None:
    """Return the URL that replaces the source's after a fetch, or None; `state` is the one after it."""
    return None if result.error is not None else result.discovered_url or fetch_policy.confirmed_new_url(state)


def build_outcome(
    conn: Transaction, user_id: str, stored: StoredSource, state: FetchState, now: datetime, *, url: str | None = None
) -> FetchOutcome:
    """Return the outcome of a fetch that led to `state`; the source's health is judged by its usual interval."""
    gap = None
    # A source that never had an item is silent since the user created it.
    quiet_since = state.last_new or stored.source.updated_at
    if now - quiet_since > SILENCE_THRESHOLD:
        times = items.list_publication_times(conn, user_id, stored.source.id)
        gap = median((later - sooner).total_seconds() for later, sooner in pairwise(times)) if len(times) > 1 else None
    health = fetch_policy.source_health(msgspec.structs.replace(state, last_new=quiet_since), gap, now)
    return FetchOutcome(
        source_id=stored.source.id, requested_url=stored.source.url, state=state, health=health, url=url
    )


def with_cursor(stored: StoredSource, result: "FetchResult") -> StoredSource:
    """Return the source with the cursor of an interrupted fetch, so that pages already read are not requested again."""
    state = msgspec.structs.replace(stored.state, cursor=result.cursor)
    return msgspec.structs.replace(stored, state=state)


async def fetch_sources(ctx: DeskContext, request: RunRequest, progress: RunProgress) -> Set[str]:
    """Fetch every enabled source, or those of the request, and store the new items; return their ids.

    Raise a FetchError if every single source failed.
    """
    sources_to_fetch = await ctx.read(sources.list_to_fetch, request.source_ids)
    now = ctx.clock()
    is_named = request.source_ids is not None
    due: list[StoredSource] = []
    skipped: list[StoredSource] = []
    for source in sources_to_fetch:
        may_fetch = fetch_policy.may_fetch(source.state, now, manual=not request.due, named=is_named)
        (due if may_fetch else skipped).append(source)
    if is_named:
        progress.set_skipped_sources(source.source.name for source in skipped)
    progress.set_total(len(due))
    if not due:
        return frozenset()
    if request.due and ctx.shared.fetch_queue is not None:
        return await _fetch_elsewhere(ctx, ctx.shared.fetch_queue, due, progress)
    stage = await _fetch_all(ctx, due, progress)
    await stage.finish()
    return stage.new_item_ids


async def fetch_due(ctx: DeskContext, source_ids: Sequence[str]) -> int:
    """Fetch those of the sources that are due, and store their items; return their number."""
    now = ctx.clock()
    stored, cooldowns = await ctx.read(_load_group, source_ids, now)
    due = _list_due(stored, now)
    if due:
        await _fetch_all(ctx, due, RunProgress(""), cooldowns)
    return len(due)


async def fail_due(ctx: DeskContext, source_ids: Sequence[str], message: str) -> int:
    """Store a failure for those of the sources that are due; return their number. They stay due, twice in a row."""
    return await ctx.write(_fail_due, source_ids, FetchError(message), ctx.clock(), ctx.jitter())


def _fail_due(
    conn: Transaction, user_id: str, source_ids: Sequence[str], error: FetchError, now: datetime, jitter: float
) -> int:
    due = _list_due(sources.list_to_fetch(conn, user_id, source_ids), now)
    outcomes = []
    for stored in due:
        failed = state_after_failure(stored, error, now, jitter)
        # They were not fetched: the next run does it. One that ends its process must not do so in every run.
        is_suspect = failed.fails >= fetch_policy.FAILURES_TO_ERROR
        next_at = failed.next_at if is_suspect else stored.state.next_at
        state = msgspec.structs.replace(failed, last_fetch=stored.state.last_fetch, next_at=next_at)
        outcomes.append(build_outcome(conn, user_id, stored, state, now))
    return sources.save_fetch_outcomes(conn, user_id, outcomes)


def _list_due(stored_sources: Sequence[StoredSource], now: datetime) -> list[StoredSource]:
    """Return those that the user has not disabled, and another process has not fetched, since a job was deferred."""
    return [stored for stored in stored_sources if stored.source.enabled and fetch_policy.is_due(stored.state, now)]


def _load_group(
    conn: Transaction, user_id: str, source_ids: Sequence[str], now: datetime
) -> tuple[tuple[StoredSource, ...], Mapping[str, datetime]]:
    return sources.list_to_fetch(conn, user_id, source_ids), sources.list_cooldowns(conn, user_id, now)


async def _fetch_elsewhere(
    ctx: DeskContext, queue: FetchQueue, due: Sequence[StoredSource], progress: RunProgress
) -> Set[str]:
    """Let other processes fetch the sources; return the ids of the new items, which they have stored."""
    started = ctx.clock()
    async for group in queue.fetch(ctx.user_id, _group_by_host(due)):
        progress.advance(steps=len(group.source_ids))
    before = {stored.source.id: stored for stored in due}
    fetched = [
        stored
        for stored in await ctx.read(sources.list_to_fetch, None)
        if stored.source.id in before and _was_tried(stored.state, before[stored.source.id].state)
    ]
    failed = [stored for stored in fetched if stored.state.fails]
    new_count = sum(stored.source.item_count - before[stored.source.id].source.item_count for stored in fetched)
    progress.increment(sources_fetched=len(fetched) - len(failed), sources_failed=len(failed))
    progress.increment(**dict.fromkeys(_ITEM_COUNTERS, max(0, new_count)))
    if failed and len(failed) == len(fetched):
        raise FetchError(f"All sources failed ({len(failed)}). First error: {failed[0].state.error}")
    return await ctx.read(items.list_new_since, started)


def _was_tried(state: FetchState, before: FetchState) -> bool:
    """Return True if a source was fetched since, or its fetch has failed."""
    # Another time rather than a later one: the clocks of two machines differ.
    return state.last_fetch != before.last_fetch or state.fails != before.fails


def _group_by_host(stored_sources: Sequence[StoredSource]) -> list[SourceGroup]:
    """Return groups of sources of one host each, the first of each host first: hosts are fetched concurrently."""
    by_host: dict[str, list[str]] = {}
    for stored in stored_sources:
        # Sources without an address have a server of their type.
        by_host.setdefault(_host(stored) or stored.source.type, []).append(stored.source.id)
    groups = [
        (start, SourceGroup(host, tuple(ids[start : start + MAX_GROUP])))
        for host, ids in by_host.items()
        for start in range(0, len(ids), MAX_GROUP)
    ]
    return [group for _, group in sorted(groups, key=itemgetter(0))]


async def _fetch_all(
    ctx: DeskContext,
    due: Sequence[StoredSource],
    progress: RunProgress,
    cooldowns: Mapping[str, datetime] | None = None,
) -> "_FetchStage":
    """Fetch the sources and store their items; return the stage with the results. `cooldowns` as for `network`."""
    async with ctx.network(cooldowns) as http:
        stage = _FetchStage(ctx, http, progress)
        flusher = asyncio.create_task(stage.flush_periodically())
        try:
            async with asyncio.TaskGroup() as group:
                for source in due:
                    group.create_task(stage.fetch(source))
        except ExceptionGroup as group_error:
            # Only StoreErrors get here, and callers expect a plain one; the first is as good as all.
            raise group_error.exceptions[0] from group_error
        finally:
            flusher.cancel()
            with suppress(asyncio.CancelledError):
                await flusher
            # Also when cancelled: what was fetched is saved.
            await stage.flush_unchanged()
    return stage


class _Group:
    """Fetched sources that are stored in one transaction."""

    def __init__(self) -> None:
        self.fetched: list[tuple[StoredSource, FetchResult]] = []
        self.entry_count = 0
        self.stored: list[NewItems | Exception] = []
        """The new items of each source, or why it could not be stored; empty before the transaction."""

    def add(self, stored: StoredSource, result: "FetchResult") -> int:
        """Add a source; return its position."""
        self.fetched.append((stored, result))
        self.entry_count += len(result.entries)
        return len(self.fetched) - 1


class _FetchStage:
    """One fetch stage: the HTTP client, the progress and the outcomes so far."""

    def __init__(self, ctx: DeskContext, http: "Fetcher", progress: RunProgress) -> None:
        self._ctx = ctx
        self._http = http
        self._progress = progress
        self._unchanged: list[tuple[StoredSource, FetchResult]] = []
        """Sources without new items whose fetch is not saved yet."""
        self._failed: list[tuple[StoredSource, FetchError]] = []
        self._reached: list[StoredSource] = []
        # With a user at the console each source has a transaction of its own, so that key presses do not wait.
        self._max_entries = 0 if ctx.is_interactive else MAX_GROUPED_ENTRIES
        self._group = _Group()
        """The group that the next fetched source joins."""
        self._write_lock = asyncio.Lock()
        self._unstored = 0
        """Fetched sources that wait to be stored, or are being stored."""
        self.new_item_ids: set[str] = set()
        """Ids of the new items."""

    async def fetch(self, stored: StoredSource) -> None:
        """Fetch one source and store its items, or its failure."""
        try:
            result = await fetch_source(self._ctx, self._http, stored.spec, stored.state)
            if result.error is not None and not result.entries:
                # Keep the cursor of pages already read: requests to paid APIs must not be repeated.
                stored = with_cursor(stored, result)
                raise result.error
            if result.unchanged:
                self._unchanged.append((stored, result))
            else:
                with unexpected_as_fetch_error(stored.spec):
                    await self._store(stored, result)
        except FetchError as error:
            await self._save_failure(stored, error)
        else:
            self._reached.append(stored)
            self._progress.increment(sources_fetched=1, sources_unchanged=int(result.unchanged))
        self._progress.advance(stored.source.name)

    async def _store(self, stored: StoredSource, result: "FetchResult") -> None:
        """Store a source's items, together with those of the sources that wait for the database, too."""
        group = self._group
        position = group.add(stored, result)
        if group.entry_count >= self._max_entries:
            self._group = _Group()
        self._count_unstored(+1)
        try:
            async with self._write_lock:
                # The first one to get here stores them all.
                if not group.stored:
                    if group is self._group:
                        self._group = _Group()
                    group.stored = await self._store_fetched(group.fetched)
        finally:
            self._count_unstored(-1)
        new = group.stored[position]
        if isinstance(new, Exception):
            raise new
        self._progress.increment(items_too_old=new.too_old, **dict.fromkeys(_ITEM_COUNTERS, len(new.items)))
        self.new_item_ids.update(item.id for item in new.items)

    async def _store_fetched(self, fetched: Sequence[tuple[StoredSource, "FetchResult"]]) -> list[NewItems | Exception]:
        """Store sources in one transaction; return the new items of each, or why it could not be stored."""
        try:
            return [*await self._ctx.write(store_fetches, self._ctx, fetched, self._ctx.clock())]
        except Exception as error:
            # Of the database, which refuses the others, too; or of a single source.
            if isinstance(error, StoreError) or len(fetched) == 1:
                return [error] * len(fetched)
        return [(await self._store_fetched([one]))[0] for one in fetched]

    def _count_unstored(self, change: int) -> None:
        """Count sources that wait to be stored; pause the client while there are too many."""
        self._unstored += change
        if self._unstored >= MAX_UNSTORED_RESULTS:
            self._http.pause()
        else:
            self._http.resume()

    async def _save_failure(self, stored: StoredSource, error: FetchError) -> None:
        """Save the failure and the hosts' cooldowns immediately, so that a kill does not forget them."""
        ctx, now = self._ctx, self._ctx.clock()
        state = state_after_failure(stored, error, now, ctx.jitter())
        cooldowns = dict(self._http.cooldowns)  # other fetches change it while this one is saved

        def save(conn: Transaction, user_id: str) -> None:
            sources.save_fetch_outcomes(conn, user_id, [build_outcome(conn, user_id, stored, state, now)])
            sources.save_cooldowns(conn, user_id, cooldowns, now)
            if isinstance(error, GoneError) and ctx.settings.schedule.hold_changed:
                source_changes.hold_gone(conn, user_id, stored.source.id, now)

        await ctx.write(save)
        self._failed.append((stored, error))
        self._progress.increment(sources_failed=1)

    async def flush_periodically(self) -> None:
        """Save unchanged sources once per interval until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_INTERVAL)
            await self.flush_unchanged()

    async def flush_unchanged(self) -> None:
        """Save the unchanged sources in one transaction."""
        # Swap the list before the first await: fetches that end during the save go into the new one.
        unchanged, self._unchanged = self._unchanged, []
        if not unchanged:
            return
        now = self._ctx.clock()
        after = [
            (stored, result, state_after(stored, result, (), now, self._ctx.jitter())) for stored, result in unchanged
        ]

        def save(conn: Transaction, user_id: str) -> None:
            outcomes = [
                build_outcome(conn, user_id, stored, state, now, url=new_url(result, state))
                for stored, result, state in after
            ]
            sources.save_fetch_outcomes(conn, user_id, outcomes)

        try:
            await self._ctx.write(save)
        except asyncio.CancelledError:
            # Perhaps it was not its turn yet. Saved twice they are the same.
            self._unchanged += unchanged
            raise

    async def finish(self) -> None:
        """Undo failures caused by this machine being offline; raise if every source failed."""
        offline = self._is_offline()
        if offline:
            await self._clear_offline_failures()
        if self._failed and not self._reached:
            raise _combined_error([error for _, error in self._failed], offline=offline)

    async def _clear_offline_failures(self) -> None:
        ctx, now = self._ctx, self._ctx.clock()
        unreachable = [failure for failure in self._failed if isinstance(failure[1], UnreachableError)]
        states = [
            (stored, fetch_policy.after_offline(stored.state, error, now, ctx.jitter()))
            for stored, error in unreachable
        ]

        def save(conn: Transaction, user_id: str) -> None:
            outcomes = [build_outcome(conn, user_id, stored, state, now) for stored, state in states]
            sources.save_fetch_outcomes(conn, user_id, outcomes)

        await ctx.write(save)

    def _is_offline(self) -> bool:
        """Return True if this machine has no network, as opposed to its sources being down."""
        failed = [(_host(stored), error) for stored, error in self._failed]
        return fetch_policy.is_offline([*failed, *((_host(stored), None) for stored in self._reached)])


async def fetch_source(ctx: DeskContext, http: "Fetcher", spec: SourceSpec, state: FetchState) -> "FetchResult":
    """Fetch a source and return the result. Every failure is a FetchError."""
    from copydesk.ingest.registry import fetch_source  # noqa: PLC0415 - brings in httpx

    with unexpected_as_fetch_error(spec):
        return await fetch_source(spec, state, http, credentials=ctx.credentials(), now=ctx.clock())


@contextmanager
def unexpected_as_fetch_error(spec: SourceSpec) -> Iterator[None]:
    """Turn unexpected errors into a FetchError of the source, so that they do not fail the run. StoreError passes."""
    try:
        yield
    except (FetchError, StoreError):
        raise
    except CopydeskError as error:
        raise FetchError(error.message, hint=error.hint) from error
    except Exception as error:
        log.exception("reading %s failed", spec.url)
        # Only the type: the message may contain secrets.
        raise FetchError(f"Reading it failed with an unexpected error ({type(error).__name__}).") from error


def _host(stored: StoredSource) -> str:
    return urlsplit(stored.source.url or "").hostname or ""


def _combined_error(errors: Sequence[FetchError], *, offline: bool) -> FetchError:
    """Return one error for all failures, of the most common type among them."""
    types = Counter(type(error) for error in errors)
    error_type = types.most_common(1)[0][0]
    example = next(error for error in errors if type(error) is error_type)
    if offline:
        return error_type("Cannot reach any source: this machine seems to be offline.", hint="Stored items are kept.")
    return error_type(f"All sources failed ({len(errors)}). First error: {example.message}", hint=example.hint)
