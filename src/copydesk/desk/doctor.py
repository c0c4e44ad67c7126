"""Looks for what is wrong with a desk, without changing anything that is right."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from pathlib import Path

from copydesk.desk import Desk
from copydesk.errors import CopydeskError
from copydesk.model.run import RunStatus
from copydesk.model.source import Health
from copydesk.model.wire import Struct
from copydesk.settings import Settings

LITTLE_SPACE = 200 * 1024 * 1024
"""Bytes that should be free: the copy before a migration needs as much as the database."""


class Verdict(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Examined(Struct, frozen=True):
    """One thing that was looked at."""

    what: str
    verdict: Verdict
    found: str
    advice: str = ""


async def examine(settings: Settings, opened: Callable[[], AbstractAsyncContextManager[Desk]]) -> tuple[Examined, ...]:
    """Everything that was looked at, in the order of looking."""
    found = [_settings(settings), _space(settings.data_home)]
    try:
        async with opened() as desk:
            found.append(_database(settings.database_file))
            found += [await _sources(desk), await _runs(desk)]
    except CopydeskError as error:
        found.append(Examined(what="database", verdict=Verdict.ERROR, found=error.message, advice=error.hint))
    return tuple(found)


def _settings(settings: Settings) -> Examined:
    file = settings.file
    says = f"{file}" if file.exists() else f"{file} is not there: everything is at its default"
    return Examined(what="settings", verdict=Verdict.OK, found=f"{says}.")


def _space(folder: Path) -> Examined:
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(there).free
    says = f"{free / 2**30:.1f} GiB free for {folder}."
    if free < LITTLE_SPACE:
        return Examined(what="disk", verdict=Verdict.WARNING, found=says, advice="Free some space.")
    return Examined(what="disk", verdict=Verdict.OK, found=says)


def _database(path: Path) -> Examined:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        answer = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        answer = str(error)
    finally:
        connection.close()
    if answer == "ok":
        size = path.stat().st_size / 2**20
        return Examined(what="database", verdict=Verdict.OK, found=f"{path}, {size:.1f} MiB, whole.")
    advice = f"Restore the newest copy: {path.name}.bak-* beside it."
    return Examined(what="database", verdict=Verdict.ERROR, found=f"{path} is damaged: {answer}.", advice=advice)


async def _sources(desk: Desk) -> Examined:
    every = await desk.sources.list()
    bad = [source.name for source in every if source.enabled and source.health is Health.ERROR]
    if not every:
        advice = "Add one: copydesk source add rss https://example.com/feed"
        return Examined(what="sources", verdict=Verdict.WARNING, found="There are none.", advice=advice)
    if bad:
        advice = "`copydesk source show ID` says why."
        says = f"{len(bad)} of {len(every)} cannot be read: {', '.join(bad[:5])}."
        return Examined(what="sources", verdict=Verdict.WARNING, found=says, advice=advice)
    return Examined(what="sources", verdict=Verdict.OK, found=f"{len(every)}, none in error.")


async def _runs(desk: Desk) -> Examined:
    newest = (await desk.pipeline.runs(limit=1)).items
    if not newest:
        return Examined(what="pipeline", verdict=Verdict.OK, found="No run yet.", advice="copydesk --run-pipeline")
    run = newest[0]
    says = f"The last run {run.status}{f': {run.error}' if run.error else '.'}"
    good = run.status in {RunStatus.SUCCEEDED, RunStatus.RUNNING, RunStatus.QUEUED, RunStatus.CANCELLED}
    return Examined(what="pipeline", verdict=Verdict.OK if good else Verdict.WARNING, found=says)
