"""What a fetch leaves behind: items that are new or changed, and the state of the source itself."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.ingest import decide
from copydesk.model.item import Entry, ItemState
from copydesk.model.source import FetchState, SourceConfig
from copydesk.ranking.canonical import canonical_url
from copydesk.store import items, sources
from copydesk.store.ids import new_id
from copydesk.store.items import KnownItem, NewItem
from copydesk.store.sources import FetchOutcome, StoredSource

if TYPE_CHECKING:
    from copydesk.ingest.visit import Reading

QUIET = timedelta(days=14)
"""A source may be silent for so long before anybody wonders."""


def sort_entries(entries: Sequence[Entry], known: Sequence[KnownItem]) -> tuple[list[Entry], list[tuple[str, Entry]]]:
    """Which entries are new, and which stored items they change: (item id, entry).

    An entry is a stored item where it has its id; or else its second key, if no other entry has that item's id: a
    source that renames its ids is not a source full of news.
    """
    here: dict[str, Entry] = {}
    for entry in entries:
        here.setdefault(entry.ident, entry)  # of two with one id the first: there can be but one item of it
    by_ident = {item.ident: item for item in known}
    by_alias = {item.alias: item for item in known if item.ident not in here}
    new, changed, taken = [], [], set()
    for entry in here.values():
        item = by_ident.get(entry.ident) or by_alias.get(entry.alias)
        if item is None or item.id in taken:
            new.append(entry)
            continue
        taken.add(item.id)
        if item.content_hash != items.content_hash(entry):
            changed.append((item.id, entry))
    return new, changed


def keep_reading(
    conn: Connection, user_id: str, ground: Ground, stored: StoredSource, reading: "Reading", now: datetime
) -> list[NewItem]:
    """Store what a source brought, in one transaction; the items that are new."""
    # Not asked of the state: that of a source with a new address is empty, and its items are still there.
    new_here = stored.source.item_count == 0
    known = () if new_here else items.known(conn, user_id, stored.source.id, reading.entries)
    new, changed = sort_entries(reading.entries, known)
    fresh = _new_items(ground, stored, new, now)
    published = [item.published for item in fresh]
    outcome = after_reading(conn, user_id, stored, reading, published, now, ground.jitter())
    if not sources.save_outcomes(conn, user_id, [outcome]):
        return []  # the source was deleted or changed in the meantime: this is no longer what it brings
    items.add(conn, user_id, stored.source.id, fresh, now)
    items.refresh(conn, user_id, [(item_id, entry, canonical_url(entry.url or "")) for item_id, entry in changed])
    return fresh


def _new_items(ground: Ground, stored: StoredSource, entries: Sequence[Entry], now: datetime) -> list[NewItem]:
    """The entries as items. Only what is new enough of a first fetch, and within the source's cap, can be drafted."""
    first, hours = stored.state.last_ok is None, ground.settings.pipeline.first_fetch_hours
    made = []
    for entry in entries:
        published = min(entry.published or now, now)
        fresh = decide.eligible(published, now, first, hours)
        state = ItemState.NEW if fresh else ItemState.HISTORY
        canonical = canonical_url(entry.url or "")
        made.append(NewItem(id=new_id(now), entry=entry, canonical=canonical, published=published, state=state))
    return _capped(made, (stored.source.config or SourceConfig()).max_items)


def _capped(made: list[NewItem], most: int | None) -> list[NewItem]:
    """The same items, of which only the newest `most` can be drafted."""
    if most is None or len(made) <= most:
        return made
    newest = {item.id for item in sorted(made, key=lambda item: (item.published, item.id))[-most:]}
    return [item if item.id in newest else msgspec.structs.replace(item, state=ItemState.HISTORY) for item in made]


def after_reading(
    conn: Connection,
    user_id: str,
    stored: StoredSource,
    reading: "Reading",
    published: list[datetime],
    now: datetime,
    jitter: float,
) -> FetchOutcome:
    """What a reading leaves behind of its source; `published` are the times of what it brought."""
    config = stored.source.config or SourceConfig()
    if reading.failure is not None:
        begun = with_cursor(stored, reading).state
        state = decide.after_failure(begun, reading.failure, now, jitter, config.interval)
        return outcome_of(conn, user_id, stored, state, now)
    fetched = decide.Fetched(
        published=tuple(published),
        etag=reading.etag,
        last_modified=reading.last_modified,
        body_hash=reading.body_hash,
        fresh_for=reading.fresh_for,
        ttl=reading.ttl,
        retry_after=reading.retry_after,
        moved_to=reading.moved_to,
        cursor=reading.cursor,
    )
    state = decide.after_fetch(stored.state, fetched, config.interval, now, jitter)
    outcome = outcome_of(conn, user_id, stored, state, now)
    url = reading.found_at or decide.new_address(state)
    return msgspec.structs.replace(outcome, url=url) if url else outcome


def outcome_of(conn: Connection, user_id: str, stored: StoredSource, state: FetchState, now: datetime) -> FetchOutcome:
    """What is kept of a fetch that led to `state`; the source's health is told by its own habit."""
    gap = None
    # One that never brought anything is silent since the user set it up.
    quiet_since = state.last_new or stored.source.updated_at
    if now - quiet_since > QUIET:
        times = items.recent_times(conn, user_id, stored.source.id)
        gap = median((later - sooner).total_seconds() for later, sooner in pairwise(times)) if len(times) > 1 else None
    health = decide.health(msgspec.structs.replace(state, last_new=quiet_since), gap, now)
    return FetchOutcome(source_id=stored.source.id, asked=stored.source.url, state=state, health=health)


def with_cursor(stored: StoredSource, reading: "Reading") -> StoredSource:
    """The source with what a look that broke off has learnt: it is not to be asked, and paid, for once more."""
    state = msgspec.structs.replace(stored.state, cursor=reading.cursor)
    return msgspec.structs.replace(stored, state=state)
