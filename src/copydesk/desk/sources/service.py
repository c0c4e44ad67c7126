"""Sources: create after a test fetch, list, update, test, delete, import and export."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.desk.sources import feed_import, overview, preview_fetch
from copydesk.desk.sources.feed_import import (
    DuplicateSourceError,
    FeedImportResult,
    Identity,
    feed_identity,
    import_feeds,
)
from copydesk.errors import ConflictError, CopydeskError, FieldError, InvalidError, SourceNotFoundError
from copydesk.ingest.fetch_context import FetchResult
from copydesk.model.serialization import Struct
from copydesk.model.source import (
    MAX_NAME_LENGTH,
    ChangeSource,
    FetchState,
    Health,
    NewSource,
    Source,
    SourceConfig,
    SourceSpec,
)
from copydesk.model.token import Scope
from copydesk.model.validation import FieldReader, convert, parse_line, wire_fields, wire_names
from copydesk.store import sources
from copydesk.store.database import Transaction
from copydesk.store.ids import new_id

PREVIEW_ENTRIES = 20
"""Entries returned by a test fetch."""

_FETCH_RESET = {
    "fetch": FetchState(),
    "health": Health.UNKNOWN,
    "fail_count": 0,
    "last_error": None,
    "last_fetch": None,
    "next_at": None,
    "not_before": None,
}


class FoundEntry(Struct, frozen=True):
    """An entry found by a test fetch."""

    title: str
    url: str


class FetchTest(Struct, frozen=True, omit_defaults=True):
    """Result of a test fetch."""

    ok: bool
    error: str | None = None
    items: tuple[FoundEntry, ...] = ()


class CandidateTest(FetchTest, frozen=True, kw_only=True, omit_defaults=True):
    """Result of a test fetch of a source that is not stored yet, with the feed URL it discovered."""

    url: str
    """URL of the feed, also if the URL of a site was given."""
    title: str = ""
    """The feed's own title."""


class ImportResult(Struct, frozen=True):
    """Result of an OPML import."""

    added: tuple[Source, ...]
    known: tuple[str, ...]
    """URLs that were already sources."""
    refused: tuple[FieldError, ...]
    """URLs that cannot be sources, with the reason."""


class Sources:
    """Operations on the sources that Copydesk reads."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @needs(Scope.REVIEW)
    @operation
    async def create(self, request: NewSource | Mapping[str, object], *, test: bool = True, title: str = "") -> Source:
        """Create a source after a test fetch has succeeded, and return it.

        Without a name it gets the feed's title: `title` if that is known already. Raise InvalidError with the field, or
        the FetchError of the test.
        """
        fields = _new_source_fields(request)
        name = fields.get("name")
        spec = await preview_fetch.validate_source(
            fields["type"],
            fields["url"],
            fields.get("config"),
            name=parse_line("name", name, 1, MAX_NAME_LENGTH) if name is not None else "",
        )
        fetched = await preview_fetch.preview_fetch(self._ctx, spec) if test else None
        # `discovered_url` is the URL of the feed itself if that of a site was given.
        feed_url = (fetched.discovered_url or spec.url) if fetched else spec.url
        title = parse_line("title", title, 0, MAX_NAME_LENGTH) or (fetched.feed_title if fetched else None) or ""
        source = _build_source(
            spec, feed_url, self._ctx.clock(), has_config=fields.get("config") is not None, title=title
        )
        return await self._ctx.write_durable(_add, source)

    @operation
    async def list(self) -> tuple[Source, ...]:
        """Return all sources of the user, oldest first."""
        return await self._ctx.read(sources.list_all)

    @operation
    async def get(self, source_id: str) -> Source:
        """Return a source. Raise SourceNotFoundError if the user has none with this id."""
        source = await self._ctx.read(sources.get, source_id)
        if source is None:
            raise SourceNotFoundError(source_id)
        return source

    @needs(Scope.REVIEW)
    @operation
    async def update(
        self, source_id: str, changes: ChangeSource | Mapping[str, object], *, test: bool = True
    ) -> Source:
        """Update name, type, url, enabled or config; other fields keep their values. Return the source.

        If the source is then fetched from elsewhere, its fetch state is reset after a test fetch. Raise InvalidError
        with the field, SourceNotFoundError, or the FetchError of the test; nothing is changed then.
        """
        changes = wire_fields(changes)
        # Refuse unknown fields: ignoring a misspelled one would look like success.
        unknown = {str(name) for name in changes} - wire_names(ChangeSource)
        if unknown:
            raise InvalidError(*(FieldError(field, "cannot be changed") for field in sorted(unknown)))
        before = await self.get(source_id)
        values: dict[str, object] = {"updated_at": self._ctx.clock()}
        if "name" in changes:
            # Also if it is the same name: it may be the feed's title, which the user wants to be credited whole.
            values |= {"name": parse_line("name", changes["name"], 1, MAX_NAME_LENGTH), "named_by_user": True}
        if "enabled" in changes:
            values["enabled"] = convert("enabled", changes["enabled"], bool)
        if changes.keys() & {"type", "url", "config"}:
            values |= await self._relocate(before, changes, test=test)
        await self._ctx.write_durable(_update, source_id, values)
        return await self.get(source_id)

    async def _relocate(self, before: Source, changes: Mapping[str, object], *, test: bool) -> dict[str, object]:
        current_config = msgspec.to_builtins(before.config) if before.config else None
        config = changes.get("config", current_config)
        spec = await preview_fetch.validate_source(
            changes.get("type", before.type), changes.get("url", before.url or ""), config
        )
        requested: dict[str, object] = {"type": spec.type, "url": spec.url, "config": spec.config if config else None}
        # Write only requested fields: another process may have changed the others since `before` was read.
        values = {name: value for name, value in requested.items() if name in changes}
        is_same = preview_fetch.source_identity(spec) == preview_fetch.source_identity(_spec(before))
        # Saving the address of a source that answered 410 means that it is worth another try.
        if is_same and not ("url" in changes and await self._is_gone(before.id)):
            return values
        fetched = await preview_fetch.preview_fetch(self._ctx, spec) if test else None
        feed_url = (fetched.discovered_url or spec.url) if fetched else spec.url
        # Cache validators and failure counts belong to the old location.
        return values | {"type": spec.type, "url": feed_url} | _FETCH_RESET

    async def _is_gone(self, source_id: str) -> bool:
        """Return True if the source answered 410, so that it is not fetched any more."""
        stored = await self._ctx.read(sources.list_to_fetch, [source_id])
        return bool(stored) and stored[0].state.gone

    @needs(Scope.REVIEW)
    @operation
    async def delete(self, source_id: str) -> None:
        """Delete a source with its items and drafts.

        Raise SourceNotFoundError, or ConflictError while one of its drafts is being posted, since its outcome would be
        lost.
        """
        await self._ctx.write_durable(_delete, source_id)

    @operation
    async def test(self, source_id: str) -> FetchTest:
        """Fetch a source without storing anything. Fetch errors are returned in the result, not raised.

        If a source that answered 410 works again, it is fetched automatically from then on.
        """
        source = await self.get(source_id)
        try:
            fetched = await preview_fetch.preview_fetch(self._ctx, _spec(source))
        except CopydeskError as error:
            return FetchTest(ok=False, error=str(error))
        if await self._is_gone(source_id):
            await self._ctx.write(sources.update_source, source_id, _FETCH_RESET)
        return FetchTest(ok=True, items=_preview_entries(fetched))

    @operation
    async def test_candidate(self, request: NewSource | Mapping[str, object]) -> CandidateTest:
        """Fetch a source that is not stored yet. Fetch errors are returned.

        Raise InvalidError for invalid fields, DuplicateSourceError if the source is stored already.
        """
        fields = _new_source_fields(request)
        spec = await preview_fetch.validate_source(fields["type"], fields["url"], fields.get("config"))
        _check_unique(await self.list(), feed_identity(spec.type, spec.url, spec.config))
        try:
            fetched = await preview_fetch.preview_fetch(self._ctx, spec)
        except CopydeskError as error:
            return CandidateTest(ok=False, error=str(error), url=spec.url)
        feed_url = fetched.discovered_url or spec.url
        return CandidateTest(ok=True, url=feed_url, title=fetched.feed_title or "", items=_preview_entries(fetched))

    @operation
    async def list_overviews(self) -> tuple[overview.SourceOverview, ...]:
        """Return all sources with next fetch, item counts and draft counts, oldest first."""
        return await self._ctx.read(overview.list_overviews, self._ctx.clock())

    @operation
    async def recent(self, source_id: str, limit: int = 10) -> tuple[overview.RecentItem, ...]:
        """Return the source's most recent items, newest first; empty if the source does not exist."""
        return await self._ctx.read(overview.list_recent_items, source_id, limit)

    @needs(Scope.REVIEW)
    @operation
    async def import_feeds(
        self, feeds: Sequence[feed_import.Outline], on_result: Callable[[FeedImportResult], None], *, test: bool = True
    ) -> None:
        """Add feeds returned by `read_opml`, each after a test fetch; call `on_result` with the result of each."""

        async def create(feed: feed_import.Outline) -> Source:
            new_source = NewSource(type=feed.type, url=feed.url, name=feed.given_name or None, config=feed.config)
            return await self.create(new_source, test=test, title=feed.name)

        existing = {_identity(source) for source in await self.list()}
        await import_feeds(create, feeds, existing, on_result)

    @operation
    async def read_opml(self, body: bytes) -> tuple[feed_import.Outline, ...]:
        """Return the feeds of an OPML file. Raise InvalidError if it is not one."""
        return await feed_import.parse_opml(body)

    @needs(Scope.REVIEW)
    @operation
    async def import_opml(self, body: bytes, on_progress: Callable[[int, int], None] = lambda *_: None) -> ImportResult:
        """Add the feeds of an OPML file without fetching them. Existing sources are not changed.

        `on_progress` is called after each feed with the number of feeds that were checked and of all.
        """
        candidates_found, refused = [], []
        now = self._ctx.clock()
        outlines = await feed_import.parse_opml(body)
        for number, outline in enumerate(outlines, 1):
            config = msgspec.to_builtins(outline.config) if outline.config else None
            try:
                title = parse_line("name", outline.name, 1, MAX_NAME_LENGTH)
                spec = await preview_fetch.validate_source(outline.type, outline.url, config, name=outline.given_name)
                candidates_found.append(_build_source(spec, spec.url, now, has_config=config is not None, title=title))
            except InvalidError as error:
                refused.append(FieldError(outline.url, str(error)))
            on_progress(number, len(outlines))
        added = await self._ctx.write_durable(_add_missing, candidates_found)
        added_ids = {source.id for source in added}
        known = tuple(source.url or "" for source in candidates_found if source.id not in added_ids)
        return ImportResult(added=added, known=known, refused=tuple(refused))

    @operation
    async def export_opml(self) -> str:
        """Return the user's sources as an OPML document."""
        return feed_import.format_opml(await self.list())


def _new_source_fields(request: NewSource | Mapping[str, object]) -> Mapping[str, object]:
    """Return the fields of a source to add. Raise InvalidError for missing and unknown ones."""
    reader = FieldReader(NewSource, request)
    reader.require("type", "url")
    reader.raise_if_invalid()
    return wire_fields(request)


def _preview_entries(result: FetchResult) -> tuple[FoundEntry, ...]:
    return tuple(FoundEntry(title=entry.title, url=entry.url or "") for entry in result.entries[:PREVIEW_ENTRIES])


def _spec(source: Source) -> SourceSpec:
    return SourceSpec(type=source.type, url=source.url or "", config=source.config or SourceConfig())


def _build_source(spec: SourceSpec, url: str, now: datetime, *, has_config: bool, title: str = "") -> Source:
    """Return a new source for `spec` at `url`, named after the spec, the feed's `title` or the host.

    `has_config` is False if no config was given, so that defaults are not stored.
    """
    # Feeds of categories begin with the site's name and a separator, of which an empty category leaves the separator.
    name = spec.name or title.rstrip(" -–|·") or urlsplit(url).hostname or url
    return Source(
        id=new_id(now),
        type=spec.type,
        name=name[:MAX_NAME_LENGTH],
        url=url,
        config=spec.config if has_config else None,
        enabled=True,
        last_fetch=None,
        health=Health.UNKNOWN,
        fail_count=0,
        last_error=None,
        created_at=now,
        updated_at=now,
        item_count=0,
        named_by_user=bool(spec.name),
    )


def _identity(source: Source) -> Identity:
    return feed_identity(source.type, source.url, source.config)


def _add(conn: Transaction, user_id: str, new: Source) -> Source:
    # In the inserting transaction: another process may add the same source.
    _check_unique(sources.list_all(conn, user_id), _identity(new))
    sources.add(conn, user_id, [new])
    return new


def _add_missing(conn: Transaction, user_id: str, candidate_sources: Sequence[Source]) -> tuple[Source, ...]:
    """Insert the sources that do not exist yet, each once; return those inserted."""
    existing = {_identity(source) for source in sources.list_all(conn, user_id)}
    added: dict[tuple[object, ...], Source] = {}
    for source in candidate_sources:
        if (identity := _identity(source)) not in existing:
            added.setdefault(identity, source)
    sources.add(conn, user_id, tuple(added.values()))
    return tuple(added.values())


def _update(conn: Transaction, user_id: str, source_id: str, values: Mapping[str, Any]) -> None:
    before = sources.get(conn, user_id, source_id)
    if before is None:
        raise SourceNotFoundError(source_id)
    location = {name: value for name, value in values.items() if name in {"type", "url", "config"}}
    after = msgspec.structs.replace(before, **location)
    if _identity(after) != _identity(before):
        _check_unique(sources.list_all(conn, user_id), _identity(after))
    if values.get("enabled") and not before.enabled and "fetch" not in values:
        # One that answered 410 is tried once more. Read here: a fetch may have changed its state meanwhile.
        state = sources.list_to_fetch(conn, user_id, [source_id])[0].state
        if state.gone:
            values = {**values, "fetch": msgspec.structs.replace(state, gone=False)}
    sources.update_source(conn, user_id, source_id, values)


def _check_unique(existing: Sequence[Source], identity: Identity) -> None:
    """Raise DuplicateSourceError if one of the sources has this identity."""
    for source in existing:
        if _identity(source) == identity:
            raise DuplicateSourceError(FieldError("url", f"already added as “{source.name}”"))


def _delete(conn: Transaction, user_id: str, source_id: str) -> None:
    if sources.has_posting_draft(conn, user_id, source_id):
        hint = "Try again when its deliveries are finished."
        raise ConflictError("A draft of this source is being posted; the source was not deleted.", hint=hint)
    if not sources.remove(conn, user_id, source_id):
        raise SourceNotFoundError(source_id)
