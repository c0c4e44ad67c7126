"""Looks for what is wrong with a desk, without changing anything that is right."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from copydesk.desk import Desk
from copydesk.errors import CopydeskError, SecretsError
from copydesk.model.run import RunStatus
from copydesk.model.wire import Struct
from copydesk.pictures.keep import kept_in
from copydesk.secrets.places import Where
from copydesk.settings import Settings
from copydesk.store import pictures

LITTLE_SPACE = 200 * 1024 * 1024
"""Bytes that should be free: the copy before a migration needs as much as the database."""

_ADVICE = {
    Where.KEYRING: "They cannot be read from here. Unlock it, or start Copydesk in your session.",
    Where.SEALED: "They cannot be read from here. Set COPYDESK_PASSPHRASE, or call this in a terminal.",
    Where.PLAIN: "To encrypt them, remove the accounts, set COPYDESK_PASSPHRASE and connect them again.",
}


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
            # In a thread: it reads the whole database, and the console shows this, too.
            found.append(await asyncio.to_thread(_database, settings.database_file))
            found += [await _sources(desk), await _runs(desk), *await _accounts(desk), await _pictures(desk)]
    except CopydeskError as error:
        found.append(Examined(what="database", verdict=Verdict.ERROR, found=error.message, advice=error.hint))
    return tuple(found)


def _settings(settings: Settings) -> Examined:
    file = settings.file
    says = (
        f"{file}." if file.exists() else f"No settings file: what it would set is at its default. It would be {file}."
    )
    return Examined(what="settings", verdict=Verdict.OK, found=says)


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
    # As the screen of the sources counts them: what failed once is failing, long before it is given up.
    failing = await desk.pipeline.failing()
    if not every:
        advice = "Add one: copydesk source add rss https://example.com/feed"
        return Examined(what="sources", verdict=Verdict.WARNING, found="There are none.", advice=advice)
    if failing:
        advice = "`copydesk source show ID` says why."
        says = f"{len(failing)} of {len(every)} failing: {', '.join(each.name for each in failing[:5])}."
        return Examined(what="sources", verdict=Verdict.WARNING, found=says, advice=advice)
    return Examined(what="sources", verdict=Verdict.OK, found=f"{len(every)}, none failing.")


async def _runs(desk: Desk) -> Examined:
    newest = (await desk.pipeline.runs(limit=1)).items
    if not newest:
        return Examined(what="pipeline", verdict=Verdict.OK, found="No run yet.", advice="copydesk --run-pipeline")
    run = newest[0]
    says = f"The last run {run.status}{f': {run.error}' if run.error else '.'}"
    good = run.status in {RunStatus.SUCCEEDED, RunStatus.RUNNING, RunStatus.QUEUED, RunStatus.CANCELLED}
    return Examined(what="pipeline", verdict=Verdict.OK if good else Verdict.WARNING, found=says)


async def _accounts(desk: Desk) -> tuple[Examined, ...]:
    """The accounts, and where their keys are; without accounts nobody is asked for keys."""
    every = await desk.accounts.list()
    if not every:
        advice = "To post, connect one: copydesk account connect bluesky"
        return (Examined(what="accounts", verdict=Verdict.OK, found="None is connected.", advice=advice),)
    held = [f"{each.label}: {each.trouble}" for each in every if each.trouble]
    says = f"{len(held)} of {len(every)} cannot be posted to. {' '.join(held[:5])}"
    well = f"{len(every)}, none in trouble."
    verdict = Verdict.WARNING if held else Verdict.OK
    return Examined(what="accounts", verdict=verdict, found=says if held else well), await _keys(desk)


async def _keys(desk: Desk) -> Examined:
    try:
        keys = await desk.accounts.keys()
    except SecretsError as error:
        return Examined(what="keys", verdict=Verdict.ERROR, found=error.message, advice=error.hint)
    given = f" The environment gives {', '.join(keys.environment)}." if keys.environment else ""
    says = f"{'Kept in' if keys.begun else 'None is kept so far. The first goes to'} {keys.says}.{given}"
    advice = _ADVICE[keys.where] if keys.begun and (not keys.usable or keys.where is Where.PLAIN) else ""
    return Examined(what="keys", verdict=Verdict.WARNING if advice else Verdict.OK, found=says, advice=advice)


async def _pictures(desk: Desk) -> Examined:
    """What is kept of pictures, and whether those that are to be posted can be made to fit."""
    ground = desk.ground
    names = await ground.read(pictures.kept_digests)
    kept = await asyncio.to_thread(kept_in, desk.settings.pictures_folder)
    unnamed = [size for digest, size in kept.items() if digest not in names]
    says = f"{len(kept)} kept, {sum(kept.values()) / 2**20:.1f} MiB."
    if unnamed:
        says += f" No draft has {len(unnamed)} of them any more, {sum(unnamed) / 2**20:.1f} MiB."
    if find_spec("PIL") is None and await ground.read(pictures.any_to_be_posted):
        says += " Drafts that are to be posted have some, and Pillow, which makes them fit, is not installed."
        advice = "Install it: pip install pillow"
        return Examined(what="pictures", verdict=Verdict.WARNING, found=says, advice=advice)
    return Examined(what="pictures", verdict=Verdict.OK, found=says)
