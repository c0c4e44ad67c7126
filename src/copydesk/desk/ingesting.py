"""The first stage of a run: every source is asked for what is new, and what came is stored.

What one source brought is one transaction, so that a kill loses at most that source's fetch; so is a failure. That
sources had nothing new is noted of several at once, every second.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.desk.left_behind import after_reading, keep_reading, outcome_of, with_cursor
from copydesk.desk.report import Report
from copydesk.errors import CopydeskError, FetchError, StoreError, UnreachableError
from copydesk.ingest import decide
from copydesk.model.run import RunRequest
from copydesk.model.source import FetchState, SourceConfig, SourceSpec
from copydesk.store import sources
from copydesk.store.sources import StoredSource

if TYPE_CHECKING:
    from copydesk.ingest.fetch import Fetcher
    from copydesk.ingest.visit import Reading

log = logging.getLogger(__name__)
MOST_WAITING = 16
"""Sources that are handed to the thread that stores at once: any other write waits for all of them."""
NOTED = 1.0
"""Seconds after which it is noted at the latest that a source had nothing new."""


async def ingest(ground: Ground, request: RunRequest, report: Report) -> Set[str]:
    """Ask every enabled source, or those of the request, for what is new, and store it.

    Returns the ids of the new items. Raises a FetchError where every single source failed.
    """
    stored = await ground.read(sources.to_fetch, request.source_ids)
    now = ground.clock()
    wanted = [each for each in stored if decide.may_fetch(each.state, now, by_hand=not request.due)]
    report.expect(len(wanted))
    if not wanted:
        return frozenset()
    async with ground.network() as http:
        stage = _Stage(ground, http, report)
        noting = asyncio.create_task(stage.note_now_and_then())
        try:
            async with asyncio.TaskGroup() as group:
                for each in wanted:
                    group.create_task(stage.visit(each))
        except ExceptionGroup as failed:
            # Only the database's errors come so far, and the first one says it all.
            raise failed.exceptions[0] from failed
        finally:
            noting.cancel()
            with suppress(asyncio.CancelledError):
                await noting
            await stage.note_quiet()
    await stage.conclude()
    return stage.new


class _Stage:
    """One ingest: how the visits ended so far."""

    def __init__(self, ground: Ground, http: "Fetcher", report: Report) -> None:
        self._ground = ground
        self._http = http
        self._report = report
        self._quiet: list[tuple[StoredSource, Reading]] = []
        """Sources that had nothing new, which is not noted yet."""
        self._failed: list[tuple[StoredSource, FetchError]] = []
        self._reached: list[StoredSource] = []
        # A thread that has the next source at hand stores without a gap; beside keys it is given one at a time.
        self._at_once = asyncio.Semaphore(1 if ground.attended else MOST_WAITING)
        self.new: set[str] = set()
        """The ids of the new items."""

    async def visit(self, stored: StoredSource) -> None:
        """Read one source and store what it brought, or why it brought nothing."""
        try:
            reading = await read(self._ground, self._http, stored.spec, stored.state)
            if reading.failure is not None and not reading.entries:
                stored = with_cursor(stored, reading)
                raise reading.failure
            if reading.unchanged:
                self._quiet.append((stored, reading))
            else:
                with as_its_failure(stored.spec):
                    await self._store(stored, reading)
        except FetchError as error:
            await self._note_failure(stored, error)
        else:
            self._reached.append(stored)
            self._report.add(sources_fetched=1, sources_unchanged=int(reading.unchanged))
        self._report.step(stored.source.name)

    async def _store(self, stored: StoredSource, reading: "Reading") -> None:
        """Store what a source brought, in one transaction."""
        async with self._at_once:
            fresh = await self._ground.write(keep_reading, self._ground, stored, reading, self._ground.clock())
        self._report.add(items_ingested=len(fresh), items_new=len(fresh))
        self.new.update(item.id for item in fresh)

    async def _note_failure(self, stored: StoredSource, error: FetchError) -> None:
        """Note at once that a source failed, and which hosts asked to be left alone: a kill shall not forget it."""
        ground, now = self._ground, self._ground.clock()
        state = self._after_failure(stored, error, now)
        cooldowns = dict(self._http.cooldowns)  # other visits go on changing it while this one is kept

        def keep(conn: Connection, user_id: str) -> None:
            sources.save_outcomes(conn, user_id, [outcome_of(conn, user_id, stored, state, now)])
            sources.save_cooldowns(conn, user_id, cooldowns, now)

        await ground.write(keep)
        self._failed.append((stored, error))
        self._report.add(sources_failed=1)

    async def note_now_and_then(self) -> None:
        """Note every second which sources had nothing new."""
        while True:
            await asyncio.sleep(NOTED)
            await self.note_quiet()

    async def note_quiet(self) -> None:
        """Note which sources had nothing new, in one transaction."""
        quiet, self._quiet = self._quiet, []
        if not quiet:
            return
        now = self._ground.clock()

        def keep(conn: Connection, user_id: str) -> None:
            outcomes = [after_reading(conn, user_id, *each, [], now, self._ground.jitter()) for each in quiet]
            sources.save_outcomes(conn, user_id, outcomes)

        await self._ground.write(keep)

    async def conclude(self) -> None:
        """Take back the failures that were this machine's own, and say so where every source failed."""
        offline = self._is_offline()
        if offline:
            await self._forgive()
        if self._failed and not self._reached:
            raise _all_failed([error for _, error in self._failed], offline=offline)

    async def _forgive(self) -> None:
        ground, now = self._ground, self._ground.clock()
        unreached = [each for each in self._failed if isinstance(each[1], UnreachableError)]
        states = [
            (stored, decide.after_offline(stored.state, error, now, ground.jitter())) for stored, error in unreached
        ]

        def keep(conn: Connection, user_id: str) -> None:
            outcomes = [outcome_of(conn, user_id, stored, state, now) for stored, state in states]
            sources.save_outcomes(conn, user_id, outcomes)

        await ground.write(keep)

    def _after_failure(self, stored: StoredSource, error: FetchError, now: datetime) -> FetchState:
        interval = (stored.source.config or SourceConfig()).interval
        return decide.after_failure(stored.state, error, now, self._ground.jitter(), interval)

    def _is_offline(self) -> bool:
        """Whether it is this machine that has no network, rather than its sources that are down."""
        failed = [(_host(stored), error) for stored, error in self._failed]
        return decide.offline([*failed, *((_host(stored), None) for stored in self._reached)])


async def read(ground: Ground, http: "Fetcher", spec: SourceSpec, state: FetchState) -> "Reading":
    """What the source brings now; every failure is a FetchError."""
    from copydesk.ingest.reading import read_source  # noqa: PLC0415 - httpx costs as much as the rest

    with as_its_failure(spec):
        return await read_source(spec, state, http, credentials=ground.credentials(), now=ground.clock())


@contextmanager
def as_its_failure(spec: SourceSpec) -> Iterator[None]:
    """Make an error that nobody foresaw the source's failure, not the run's; one of the database goes on as it is."""
    try:
        yield
    except (FetchError, StoreError):
        raise
    except CopydeskError as error:
        raise FetchError(error.message, hint=error.hint) from error
    except Exception as error:
        log.exception("reading %s failed", spec.url)
        # Only its name: what it says may hold whatever was at hand, a secret too.
        raise FetchError(
            f"Reading it failed with an error that Copydesk did not expect ({type(error).__name__})."
        ) from error


def _host(stored: StoredSource) -> str:
    return urlsplit(stored.source.url or "").hostname or ""


def _all_failed(errors: Sequence[FetchError], *, offline: bool) -> FetchError:
    """One error that speaks for all of them, of the kind that most of them are."""
    kinds = Counter(type(error) for error in errors)
    kind = kinds.most_common(1)[0][0]
    example = next(error for error in errors if type(error) is kind)
    if offline:
        return kind("No source could be reached: this machine seems to be offline.", hint="What was stored is kept.")
    return kind(f"Every source failed ({len(errors)}); the first says: {example.message}", hint=example.hint)
