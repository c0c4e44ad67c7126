"""Store a fetch: the new and changed items, and the new state of the source."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection

from copydesk.desk.ground import DeskContext
from copydesk.ingest import decide
from copydesk.model.item import Entry, ItemState
from copydesk.model.source import FetchState, SourceConfig
from copydesk.ranking.canonical import canonical_url
from copydesk.store import items, sources
from copydesk.store.ids import new_id
from copydesk.store.items import ExistingItem, NewItem
from copydesk.store.sources import FetchOutcome, StoredSource

if TYPE_CHECKING:
    from copydesk.ingest.visit import FetchResult

SILENCE_THRESHOLD = timedelta(days=14)
"""A source may be silent this long before its health is questioned."""


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
        if item is None or item.id in matched_ids:
            new.append(entry)
            continue
        matched_ids.add(item.id)
        if item.content_hash != items.content_hash(entry):
            changed.append((item.id, entry))
    return new, changed


def store_fetch(
    conn: Connection, user_id: str, ctx: DeskContext, stored: StoredSource, result: "FetchResult", now: datetime
) -> list[NewItem]:
    """Store a source's entries in one transaction; return the new items."""
    # Do not infer this from the state: it is empty after a change of URL, while the items are still there.
    first_fetch = stored.source.item_count == 0
    stored_items = () if first_fetch else items.find_existing(conn, user_id, stored.source.id, result.entries)
    new, changed = match_entries(result.entries, stored_items)
    new_items = _new_items(ctx, stored, new, now)
    published = [item.published for item in new_items]
    outcome = fetch_outcome(conn, user_id, stored, result, published, now, ctx.jitter())
    if not sources.save_fetch_outcomes(conn, user_id, [outcome]):
        return []  # the source was deleted or changed in the meantime: the entries are not its any more
    items.add(conn, user_id, stored.source.id, new_items, now)
    items.update_entries(
        conn, user_id, [(item_id, entry, canonical_url(entry.url or "")) for item_id, entry in changed]
    )
    return new_items


def _new_items(ctx: DeskContext, stored: StoredSource, entries: Sequence[Entry], now: datetime) -> list[NewItem]:
    """Convert entries to items. Only recent ones of a first fetch, within the source's cap, can be drafted."""
    is_first_fetch, hours = stored.state.last_ok is None, ctx.settings.pipeline.first_fetch_hours
    result = []
    for entry in entries:
        published = min(entry.published or now, now)
        eligible = decide.is_eligible(published, now, is_first_fetch, hours)
        state = ItemState.NEW if eligible else ItemState.HISTORY
        canonical = canonical_url(entry.url or "")
        result.append(NewItem(id=new_id(now), entry=entry, canonical=canonical, published=published, state=state))
    return _limit_new(result, (stored.source.config or SourceConfig()).max_items)


def _limit_new(new_items: list[NewItem], limit: int | None) -> list[NewItem]:
    """Return the items with all but the newest `limit` marked as history."""
    if limit is None or len(new_items) <= limit:
        return new_items
    newest_ids = {item.id for item in sorted(new_items, key=lambda item: (item.published, item.id))[-limit:]}
    return [
        item if item.id in newest_ids else msgspec.structs.replace(item, state=ItemState.HISTORY) for item in new_items
    ]


def fetch_outcome(
    conn: Connection,
    user_id: str,
    stored: StoredSource,
    result: "FetchResult",
    published: list[datetime],
    now: datetime,
    jitter: float,
) -> FetchOutcome:
    """Return the outcome of a fetch for its source; `published` are the times of the new items."""
    config = stored.source.config or SourceConfig()
    if result.error is not None:
        state_so_far = with_cursor(stored, result).state
        state = decide.after_failure(state_so_far, result.error, now, jitter, config.interval)
        return build_outcome(conn, user_id, stored, state, now)
    fetched = decide.FetchOutcome(
        published=tuple(published),
        etag=result.etag,
        last_modified=result.last_modified,
        body_hash=result.body_hash,
        fresh_for=result.fresh_for,
        ttl=result.ttl,
        retry_after=result.retry_after,
        moved_to=result.moved_to,
        cursor=result.cursor,
    )
    state = decide.after_fetch(stored.state, fetched, config.interval, now, jitter)
    outcome = build_outcome(conn, user_id, stored, state, now)
    url = result.discovered_url or decide.confirmed_new_url(state)
    return msgspec.structs.replace(outcome, url=url) if url else outcome


def build_outcome(
    conn: Connection, user_id: str, stored: StoredSource, state: FetchState, now: datetime
) -> FetchOutcome:
    """Return the outcome of a fetch that led to `state`; the source's health is judged by its usual interval."""
    gap = None
    # A source that never had an item is silent since the user created it.
    quiet_since = state.last_new or stored.source.updated_at
    if now - quiet_since > SILENCE_THRESHOLD:
        times = items.list_publication_times(conn, user_id, stored.source.id)
        gap = median((later - sooner).total_seconds() for later, sooner in pairwise(times)) if len(times) > 1 else None
    health = decide.source_health(msgspec.structs.replace(state, last_new=quiet_since), gap, now)
    return FetchOutcome(source_id=stored.source.id, requested_url=stored.source.url, state=state, health=health)


def with_cursor(stored: StoredSource, result: "FetchResult") -> StoredSource:
    """Return the source with the cursor of an interrupted fetch, so that pages already read are not requested again."""
    state = msgspec.structs.replace(stored.state, cursor=result.cursor)
    return msgspec.structs.replace(stored, state=state)
