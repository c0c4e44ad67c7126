"""Sources: created with a test fetch, listed, changed, tested, deleted."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec
from sqlalchemy import Connection

from copydesk.desk import candidates, opml, overviews
from copydesk.desk.feed_import import Identity, KnownSourceError, TriedFeed, add_each, identity
from copydesk.desk.fields import convert, text_of
from copydesk.desk.ground import Ground
from copydesk.errors import ConflictError, CopydeskError, FieldError, InvalidError, NotFoundError
from copydesk.ingest.visit import Reading
from copydesk.model.source import FetchState, Health, Source, SourceConfig, SourceSpec
from copydesk.model.wire import Struct
from copydesk.store import sources
from copydesk.store.ids import new_id

SHOWN = 20
"""Entries that a test fetch shows."""
LONGEST_NAME = 200


class FoundEntry(Struct, frozen=True):
    """An entry that a test fetch found."""

    title: str
    url: str


class FetchTest(Struct, frozen=True, omit_defaults=True):
    """What a test fetch brought."""

    ok: bool
    error: str | None = None
    items: tuple[FoundEntry, ...] = ()


class Tried(FetchTest, frozen=True, kw_only=True, omit_defaults=True):
    """What a source that is none yet would bring, and where it was found."""

    url: str
    """Its own address: that of the feed, where a site was given."""
    title: str = ""
    """What it calls itself."""


class Imported(Struct, frozen=True):
    """What became of a list of feeds."""

    added: tuple[Source, ...]
    known: tuple[str, ...]
    """Addresses that were sources already."""
    refused: tuple[FieldError, ...]
    """Addresses that can be no source, and why."""


class Sources:
    """What Copydesk reads."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def create(
        self,
        type: str,
        url: str,
        *,
        name: str | None = None,
        config: Mapping[str, object] | None = None,
        test: bool = True,
    ) -> Source:
        """A new source, after a test fetch has shown that it can be read.

        Without a name it gets the feed's own. Raises InvalidError with the field, or the test's FetchError.
        """
        spec = await candidates.check(
            type, url, config, name=text_of("name", name, 1, LONGEST_NAME) if name is not None else ""
        )
        reading = await candidates.attempt(self._ground, spec) if test else None
        found = (reading.found_at or spec.url) if reading else spec.url
        title = reading.feed_title if reading else None
        source = _new(spec, found, self._ground.clock(), given=config is not None, title=title)
        await self._ground.write(_add, source)
        return source

    async def list(self) -> tuple[Source, ...]:
        """All the user's sources, oldest first."""
        return await self._ground.read(sources.every)

    async def get(self, source_id: str) -> Source:
        """One source; NotFoundError where there is none of the user's with this id."""
        found = await self._ground.read(sources.one, source_id)
        if found is None:
            raise _no_source(source_id)
        return found

    async def update(self, source_id: str, changes: Mapping[str, object], *, test: bool = True) -> Source:
        """Change name, type, url, enabled or config; the rest stays.

        What is read from elsewhere is read from the start, after a test fetch has shown that it can be. Raises
        InvalidError with the field, NotFoundError, or the test's FetchError; then nothing is changed.
        """
        before = await self.get(source_id)
        unknown = set(changes) - {"name", "type", "url", "enabled", "config"}
        if unknown:
            raise InvalidError(*(FieldError(field, "cannot be changed") for field in sorted(unknown)))
        values: dict[str, object] = {"updated_at": self._ground.clock()}
        if "name" in changes:
            values["name"] = text_of("name", changes["name"], 1, LONGEST_NAME)
        if "enabled" in changes:
            values["enabled"] = convert("enabled", changes["enabled"], bool)
        if changes.keys() & {"type", "url", "config"}:
            values |= await self._moved(before, changes, test=test)
        await self._ground.write(_change, source_id, values)
        return await self.get(source_id)

    async def _moved(self, before: Source, changes: Mapping[str, object], *, test: bool) -> dict[str, object]:
        kept = msgspec.to_builtins(before.config) if before.config else None
        config = changes.get("config", kept)
        spec = await candidates.check(changes.get("type", before.type), changes.get("url", before.url or ""), config)
        asked: dict[str, object] = {"type": spec.type, "url": spec.url, "config": spec.config if config else None}
        # Only what was asked for: the rest may have changed since it was read.
        values = {name: value for name, value in asked.items() if name in changes}
        if candidates.read_from(spec) == candidates.read_from(_spec(before)):
            return values
        reading = await candidates.attempt(self._ground, spec) if test else None
        found = (reading.found_at or spec.url) if reading else spec.url
        fresh = {"fetch": FetchState(), "health": Health.UNKNOWN, "fail_count": 0, "last_error": None}
        never = {"last_fetch": None, "next_at": None, "not_before": None}
        return values | {"type": spec.type, "url": found} | fresh | never

    async def delete(self, source_id: str) -> None:
        """Delete a source with its items and drafts.

        Raises NotFoundError, and ConflictError while one of its drafts is being posted: nobody would know how that
        ended.
        """
        await self._ground.write(_remove, source_id)

    async def test(self, source_id: str) -> FetchTest:
        """Fetch a source without storing anything; a failure is an answer, not an error."""
        source = await self.get(source_id)
        try:
            reading = await candidates.attempt(self._ground, _spec(source))
        except CopydeskError as error:
            return FetchTest(ok=False, error=str(error))
        return FetchTest(ok=True, items=_entries(reading))

    async def try_out(self, type: str, url: str, *, config: Mapping[str, object] | None = None) -> Tried:
        """Fetch what may become a source; a failure is an answer. InvalidError with the field for what can be none."""
        spec = await candidates.check(type, url, config)
        try:
            reading = await candidates.attempt(self._ground, spec)
        except CopydeskError as error:
            return Tried(ok=False, error=str(error), url=spec.url)
        found = reading.found_at or spec.url
        return Tried(ok=True, url=found, title=reading.feed_title or "", items=_entries(reading))

    async def overview(self) -> tuple[overviews.SourceOverview, ...]:
        """All the user's sources with what stands beside them in a list, oldest first."""
        return await self._ground.read(overviews.overview, self._ground.clock())

    async def recent(self, source_id: str, limit: int = 10) -> tuple[overviews.RecentItem, ...]:
        """What a source brought last, the newest first; nothing where there is no such source."""
        return await self._ground.read(overviews.recent, source_id, limit)

    async def import_each(
        self, feeds: Sequence[opml.Outline], hear: Callable[[TriedFeed], None], *, test: bool = True
    ) -> None:
        """Add feeds of a list that `read_opml` gave, each after a test fetch; `hear` is told what became of each."""
        await add_each(self, feeds, hear, test=test)

    def read_opml(self, body: bytes) -> tuple[opml.Outline, ...]:
        """The feeds of a list; InvalidError for what is none."""
        return opml.read(body)

    async def import_opml(self, body: bytes) -> Imported:
        """Add the feeds of a list, without fetching them; those that are sources already stay as they are."""
        found, refused = [], []
        now = self._ground.clock()
        for outline in opml.read(body):
            config = msgspec.to_builtins(outline.config) if outline.config else None
            try:
                spec = await candidates.check(
                    outline.type, outline.url, config, name=text_of("name", outline.name, 1, LONGEST_NAME)
                )
                found.append(_new(spec, spec.url, now, given=config is not None))
            except InvalidError as error:
                refused.append(FieldError(outline.url, str(error)))
        added = await self._ground.write(_add_unknown, found)
        new = {source.id for source in added}
        known = tuple(source.url or "" for source in found if source.id not in new)
        return Imported(added=added, known=known, refused=tuple(refused))

    async def export_opml(self) -> str:
        """The user's sources as OPML."""
        return opml.write(await self.list())


def _entries(reading: Reading) -> tuple[FoundEntry, ...]:
    return tuple(FoundEntry(title=entry.title, url=entry.url or "") for entry in reading.entries[:SHOWN])


def _spec(source: Source) -> SourceSpec:
    return SourceSpec(type=source.type, url=source.url or "", config=source.config or SourceConfig())


def _new(spec: SourceSpec, url: str, now: datetime, *, given: bool, title: str | None = None) -> Source:
    """The source that `spec` makes at `url`; without a name it gets `title`, or that of its host.

    `given` says whether settings were given at all.
    """
    name = spec.name or title or urlsplit(url).hostname or url
    return Source(
        id=new_id(now),
        type=spec.type,
        name=name[:LONGEST_NAME],
        url=url,
        config=spec.config if given else None,
        enabled=True,
        last_fetch=None,
        health=Health.UNKNOWN,
        fail_count=0,
        last_error=None,
        created_at=now,
        updated_at=now,
        item_count=0,
    )


def _identity(source: Source) -> Identity:
    return identity(source.type, source.url, source.config)


def _add(conn: Connection, user_id: str, new: Source) -> None:
    _refuse_known(conn, user_id, new)
    sources.add(conn, user_id, [new])


def _add_unknown(conn: Connection, user_id: str, found: Sequence[Source]) -> tuple[Source, ...]:
    """Add those that are no sources yet, each once."""
    known = {_identity(source) for source in sources.every(conn, user_id)}
    new: dict[tuple[object, ...], Source] = {}
    for source in found:
        if (identity := _identity(source)) not in known:
            new.setdefault(identity, source)
    sources.add(conn, user_id, tuple(new.values()))
    return tuple(new.values())


def _change(conn: Connection, user_id: str, source_id: str, values: Mapping[str, Any]) -> None:
    before = sources.one(conn, user_id, source_id)
    if before is None:
        raise _no_source(source_id)
    place = {name: value for name, value in values.items() if name in {"type", "url", "config"}}
    after = msgspec.structs.replace(before, **place)
    if _identity(after) != _identity(before):
        _refuse_known(conn, user_id, after)
    sources.change(conn, user_id, source_id, values)


def _refuse_known(conn: Connection, user_id: str, new: Source) -> None:
    """InvalidError where another source is the same; in the transaction that makes it one."""
    for known in sources.every(conn, user_id):
        if known.id != new.id and _identity(known) == _identity(new):
            raise KnownSourceError(FieldError("url", f"is the source {known.id} ({known.name}) already"))


def _remove(conn: Connection, user_id: str, source_id: str) -> None:
    if sources.is_posting(conn, user_id, source_id):
        hint = "Try again when its deliveries have ended."
        raise ConflictError("A draft of this source is being posted; it cannot be deleted now.", hint=hint)
    if not sources.remove(conn, user_id, source_id):
        raise _no_source(source_id)


def _no_source(source_id: str) -> NotFoundError:
    return NotFoundError(f"There is no source {source_id!r}.", hint="`copydesk source list` shows them all.")
