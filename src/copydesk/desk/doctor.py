"""Diagnose a desk: settings, disk, size, backups, database, sources, runs, clock, accounts, images. Changes nothing."""

import asyncio
import errno
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, closing, suppress
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

from copydesk.credentials.backends import BackendKind
from copydesk.desk import Desk, utc_now
from copydesk.desk.backups import list_backups, try_restore
from copydesk.errors import CopydeskError, CredentialsError, NotFoundError, StoreCorruptError
from copydesk.images.storage import list_stored
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.check_finding import CheckFinding, Verdict
from copydesk.model.delivery import DeliveryState
from copydesk.model.draft import Status
from copydesk.model.ids import IdKind
from copydesk.model.job import JobName
from copydesk.model.run import RunStatus
from copydesk.model.totals import QueueTotals, StandbyTotals, Totals
from copydesk.settings import Settings
from copydesk.store.connection_pool import is_read_only
from copydesk.store.database import to_store_error
from copydesk.store.database_file import connect_readonly, raise_read_error, restore_hint
from copydesk.store.opening import connect_to_server
from copydesk.store.retention import INCREMENTAL
from copydesk.store.totals import load_totals
from copydesk.text.formatting import format_duration, format_relative, plural

MAX_BACKUP_AGE = timedelta(days=7)
"""The age of the newest backup from which on it is a warning."""
MIN_FREE_SPACE = 200 * 1024 * 1024
"""Bytes that should be free: the backup before a migration needs as much space as the database."""
MAX_CHECK_TIME = 3.0
"""Seconds after which the check of the database stops, unless all of it is to be checked."""
MAX_FREE_SPACE = 16 * 1024 * 1024
"""Bytes that the database file may keep free before it is worth rewriting."""
MAX_QUEUE_DELAY = timedelta(minutes=2)
"""Time that a job may wait in the queue of the workers before there are too few of them."""
_RUN_VERBS = {
    RunStatus.QUEUED: "is ",
    RunStatus.RUNNING: "is ",
    RunStatus.CANCELLED: "was ",
    RunStatus.INTERRUPTED: "was ",
}
_INSTRUCTIONS_PER_CALL = 10_000
"""Of SQLite's virtual machine, between two looks at the clock; a millisecond at most."""
PROBE_SIZE = 1024 * 1024
"""Bytes that must fit on the disk; a change of a draft takes a few dozen kilobytes."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_ADVICE = {
    BackendKind.KEYRING: "Cannot read it from here. Unlock the keyring, or start Copydesk in your session.",
    BackendKind.ENCRYPTED: "Cannot decrypt it. Set COPYDESK_PASSPHRASE, or run this in a terminal.",
    BackendKind.PLAIN: "To encrypt it, remove the accounts, set COPYDESK_PASSPHRASE and connect them again.",
}


async def examine(
    settings: Settings,
    open_desk: Callable[[], AbstractAsyncContextManager[Desk]] | None,
    *,
    settings_error: CopydeskError | None = None,
    restore_test: bool = False,
    full: bool = False,
    on_progress: Callable[[str], None] = lambda _: None,
) -> tuple[CheckFinding, ...]:
    """Run all checks and return their results in order. A desk that cannot be opened is the last one.

    `settings_error` tells what is wrong with the settings. If they cannot be loaded, `settings` are the defaults and
    `open_desk` is None: only the desk's folder is checked, as the settings might name another database.

    The database is checked for MAX_CHECK_TIME seconds, with `full` to its end. `on_progress` is called with the name of
    each check that may take longer.
    """
    findings = [_check_settings(settings, settings_error), _check_disk(settings.data_home), await _check_size(settings)]
    if not settings.database.url and is_read_only(settings.database_file):
        message = f"{settings.database_file} is read-only: nothing can be changed."
        advice = "Check the owner of the file and its folder, and how the disk is mounted."
        findings.append(CheckFinding(what="disk", verdict=Verdict.WARNING, found=message, advice=advice))
    # Before the desk, which may have to be restored.
    on_progress("backups")
    findings.append(await _check_backups(settings, restore_test=restore_test))
    if open_desk is None:
        if settings.has_database:
            on_progress("database")
            findings.append(await _check_file(settings, full))
        message = "Not checked: sources, pipeline, accounts and images need the settings."
        advice = "Correct them and run it again: copydesk doctor"
        findings.append(CheckFinding(what="desk", verdict=Verdict.WARNING, found=message, advice=advice))
        return tuple(findings)
    # Opening the desk would create the database.
    if not settings.has_database:
        findings.append(_check_missing_file(settings))
        return tuple(findings)
    try:
        async with open_desk() as desk:
            on_progress("database")
            if settings.database.url:
                findings += await _check_server(settings)
            else:
                findings.append(await _check_file(settings, full))
            on_progress("sources, accounts and images")
            findings += [
                *await _check_bulks(desk),
                *await _check_held(desk),
                await _check_sources(desk),
                await _check_runs(desk),
                *await _check_backup_job(desk),
                *await _check_clock(desk),
                *await _check_accounts(desk),
                *await _check_deliveries(desk),
                *await _check_webhooks(desk),
                await _check_images(desk),
            ]
    except CopydeskError as error:
        what = "user" if isinstance(error, NotFoundError) else "database"
        findings.append(CheckFinding(what=what, verdict=Verdict.ERROR, found=error.message, advice=error.hint))
    return tuple(findings)


def _check_settings(settings: Settings, error: CopydeskError | None) -> CheckFinding:
    if error is not None:
        return CheckFinding(what="settings", verdict=Verdict.ERROR, found=error.message, advice=error.hint)
    file = settings.settings_file
    message = f"{file}." if file.exists() else f"No settings file; all defaults. Its path would be {file}."
    return CheckFinding(what="settings", verdict=Verdict.OK, found=message)


def _check_disk(folder: Path) -> CheckFinding:
    existing = _existing_parent(folder)
    free = shutil.disk_usage(existing).free
    message = f"{free / 2**30:.1f} GiB free for {folder}."
    if not _has_room(existing):
        full = f"The disk is full. {free / 2**20:.1f} MiB free for {folder}."
        return CheckFinding(what="disk", verdict=Verdict.ERROR, found=full, advice="Free some space.")
    if free < MIN_FREE_SPACE:
        return CheckFinding(what="disk", verdict=Verdict.WARNING, found=message, advice="Free some space.")
    return CheckFinding(what="disk", verdict=Verdict.OK, found=message)


def _existing_parent(folder: Path) -> Path:
    """Return the folder or, if it does not exist yet, its nearest parent that does."""
    return next(path for path in (folder, *folder.parents) if path.exists())


def _has_room(folder: Path) -> bool:
    """Return False if a file of PROBE_SIZE bytes does not fit, because the disk or the user's quota is full."""
    try:
        # The free space of a file system says nothing about quotas. The file has no name, so it leaves no trace.
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(PROBE_SIZE))
            probe.flush()
    except OSError as error:
        return error.errno not in _FULL
    return True


def _check_missing_file(settings: Settings) -> CheckFinding:
    existing = _existing_parent(settings.data_home)
    if not os.access(existing, os.W_OK):
        message = f"None yet, and {settings.database_file} cannot be created: {existing} is read-only."
        advice = "Check the owner of the folder, and how the disk is mounted."
        return CheckFinding(what="database", verdict=Verdict.ERROR, found=message, advice=advice)
    message = f"None yet. {settings.database_file} is created by the console"
    message += " or the first command that stores something."
    advice = "Try it with your own sources first: copydesk try https://example.com"
    return CheckFinding(what="database", verdict=Verdict.OK, found=message, advice=advice)


async def _check_file(settings: Settings, full: bool) -> CheckFinding:  # noqa: FBT001 - the option's name
    # In a thread: the check reads much of the database, and the console runs it too.
    max_time = None if full else MAX_CHECK_TIME
    return await asyncio.to_thread(_check_database, settings.database_file, max_time)


async def _check_server(settings: Settings) -> tuple[CheckFinding, ...]:
    """Report the PostgreSQL server, which checks its own files, and the workers, if there were any."""
    database = connect_to_server(settings)
    try:
        state = await database.examine()
        totals = await database.read(load_totals, utc_now())
    finally:
        await database.close()
    message = f"{database.name}, {state.size / 2**20:.1f} MiB, PostgreSQL {state.version},"
    message += f" answers in {state.round_trip * 1000:.1f} ms."
    if state.is_standby:
        advice = "Name the server that it follows in database.url."
        message += " It is a standby: nothing can be changed."
        return (CheckFinding(what="database", verdict=Verdict.ERROR, found=message, advice=advice),)
    if totals.standbys is not None:
        message += f" {_describe_standbys(totals.standbys)}"
    found = CheckFinding(what="database", verdict=Verdict.OK, found=message)
    return (found, _check_queue(totals.queue), _check_posting(totals)) if totals.queue else (found,)


def _describe_standbys(standbys: StandbyTotals) -> str:
    """Return how far the standby servers are behind."""
    count = plural(standbys.count, "standby server")
    if standbys.bytes_behind is None:
        return f"{count}; only a role with pg_monitor can see how far behind."
    if not standbys.bytes_behind:
        return f"{count}, up to date."
    lag = "" if standbys.seconds_behind is None else f" and {standbys.seconds_behind:.1f} s"
    return f"{count}, at most {standbys.bytes_behind / 2**20:.1f} MiB{lag} behind."


def _check_posting(totals: Totals) -> CheckFinding:
    """Report the deliveries of all users that are in doubt, and how late the oldest is."""
    unknown = totals.deliveries.get(DeliveryState.UNKNOWN, 0)
    message = f"{plural(unknown, 'delivery')} with an unknown outcome."
    delay, advice = timedelta(seconds=totals.oldest_due), ""
    if delay > MAX_QUEUE_DELAY:
        message += f" A post has been due for {format_duration(delay)}."
        advice = "It may wait for an account, an approval or the five minutes between two posts: copydesk needs-you"
    return CheckFinding(what="posting", verdict=Verdict.WARNING if advice else Verdict.OK, found=message, advice=advice)


def _check_queue(queue: QueueTotals) -> CheckFinding:
    message = f"{plural(queue.workers, 'worker')}, {plural(queue.waiting, 'job')} waiting, {queue.running} running."
    advice = ""
    delay = timedelta(seconds=queue.oldest)
    if delay > MAX_QUEUE_DELAY:
        message += f" The oldest has waited for {format_duration(delay)}."
        advice = "Start more of them: copydesk worker"
    if queue.stuck:
        message += f" {plural(queue.stuck, 'job')} of workers that died."
        advice = "A worker takes them over. Start one: copydesk worker"
    # A queue that is left is no fault: the daemon may do the work again.
    return CheckFinding(what="workers", verdict=Verdict.WARNING if advice else Verdict.OK, found=message, advice=advice)


def _check_database(path: Path, max_time: float | None = None) -> CheckFinding:
    size = path.stat().st_size / 2**20
    try:
        # A read-only connection of its own, outside the pool: the check must not create or repair anything.
        with closing(connect_readonly(path)) as connection:
            if max_time is not None:
                deadline = time.monotonic() + max_time
                connection.set_progress_handler(lambda: time.monotonic() > deadline, _INSTRUCTIONS_PER_CALL)
            result = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
            raise_read_error(result)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            message = f"{path}, {size:.1f} MiB, no damage found in {max_time:g} s."
            advice = "Check all of it: copydesk doctor --full"
            return CheckFinding(what="database", verdict=Verdict.OK, found=message, advice=advice)
        store_error = to_store_error(path, error)
        # A file that cannot be read now need not be damaged.
        if store_error is not None and not isinstance(store_error, StoreCorruptError):
            return CheckFinding(
                what="database", verdict=Verdict.ERROR, found=store_error.message, advice=store_error.hint
            )
        result = str(error)
    if result == "ok":
        return CheckFinding(what="database", verdict=Verdict.OK, found=f"{path}, {size:.1f} MiB, intact.")
    return CheckFinding(
        what="database", verdict=Verdict.ERROR, found=f"{path} is damaged: {result}.", advice=restore_hint(path)
    )


async def _check_size(settings: Settings) -> CheckFinding:
    """Report the disk space that the desk takes, and free space that its database file keeps."""
    database = settings.database_file
    parts = {
        "images": sum((await asyncio.to_thread(list_stored, settings.images_folder)).values()),
        "backups": sum(backup.size for backup in await asyncio.to_thread(list_backups, settings)),
    }
    if not settings.database.url:
        files = (database.with_name(database.name + suffix) for suffix in ("", "-wal", "-shm"))
        parts = {"database": sum(map(_file_size, files)), **parts}
    shares = ", ".join(f"{name} {size / 2**20:.1f}" for name, size in parts.items())
    message = f"{sum(parts.values()) / 2**20:.1f} MiB: {shares}."
    free = 0 if settings.database.url else await asyncio.to_thread(_free_space, database)
    if free < MAX_FREE_SPACE:
        return CheckFinding(what="size", verdict=Verdict.OK, found=message)
    message += f" {free / 2**20:.1f} MiB of the database are free and can be returned to the disk."
    return CheckFinding(what="size", verdict=Verdict.OK, found=message, advice="Return them: copydesk prune --compact")


def _file_size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _free_space(database: Path) -> int:
    """Return the bytes of the database file that are free and stay so until it is compacted."""
    # A file that cannot be read is reported by the check of the database.
    with suppress(sqlite3.Error), closing(connect_readonly(database)) as connection:
        names = ("freelist_count", "page_size", "auto_vacuum")
        free_pages, page_size, mode = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        return 0 if mode == INCREMENTAL else free_pages * page_size
    return 0


async def _check_backups(settings: Settings, *, restore_test: bool) -> CheckFinding:
    backups = await asyncio.to_thread(list_backups, settings)
    if settings.database.url and not restore_test:
        # Backups elsewhere, such as those of pg_dump, are not known here.
        message = "The desk is on PostgreSQL: no automatic backups are made of it."
        advice = "Let a timer run `copydesk backup --force FILE` or pg_dump, on one machine."
        return CheckFinding(what="backups", verdict=Verdict.OK, found=message, advice=advice)
    if not backups:
        automatic = "The console and `copydesk daemon` make one daily." if settings.backup.every_hours else ""
        advice = f"{automatic} Now: copydesk backup".strip()
        verdict = Verdict.ERROR if restore_test else Verdict.OK if automatic else Verdict.WARNING
        return CheckFinding(what="backups", verdict=verdict, found="No backups yet.", advice=advice)
    newest = backups[-1]
    size = sum(backup.size for backup in backups) / 2**20
    message = (
        f"{plural(len(backups), 'backup')}, {size:.1f} MiB, the newest {format_relative(newest.created_at, utc_now())}."
    )
    if restore_test:
        try:
            content = await try_restore(settings, Path(newest.path))
        except CopydeskError as error:
            return CheckFinding(what="backups", verdict=Verdict.ERROR, found=error.message, advice=error.hint)
        message += f" {newest.path} can be restored: {plural(content.drafts, 'draft')}, intact."
    too_old = utc_now() - newest.created_at > MAX_BACKUP_AGE
    return CheckFinding(
        what="backups",
        verdict=Verdict.WARNING if too_old else Verdict.OK,
        found=message,
        advice="Make one: copydesk backup" if too_old else "",
    )


async def _check_bulks(desk: Desk) -> tuple[CheckFinding, ...]:
    bulks = await desk.drafts.interrupted_bulks()
    return tuple(CheckFinding(what="drafts", verdict=Verdict.WARNING, found=bulk.summary) for bulk in bulks)


async def _check_held(desk: Desk) -> tuple[CheckFinding, ...]:
    """Report drafts that are held because their source changed, with the reason of the newest."""
    held = await desk.drafts.held_reasons()
    if not held:
        return ()
    newest = ", the newest" if len(held) > 1 else ""
    message = f"{plural(len(held), 'draft')} held{newest}: {held[0].removeprefix('Held: ')}"
    advice = "Approve, edit or reject: copydesk draft list --status awaiting_review"
    return (CheckFinding(what="drafts", verdict=Verdict.WARNING, found=message, advice=advice),)


async def _check_sources(desk: Desk) -> CheckFinding:
    sources = await desk.sources.list()
    # The same count as on the sources screen: one failure counts, long before the source is given up.
    failing = await desk.pipeline.list_failing_sources()
    if not sources:
        advice = "Add one: copydesk source add https://example.com"
        return CheckFinding(what="sources", verdict=Verdict.WARNING, found="No sources.", advice=advice)
    unknown = sorted({source.type for source in sources} - SOURCE_TYPES.keys())
    if unknown:
        message = f"No installed package reads sources of the type {', '.join(unknown)}."
        advice = "Install the package that does, or remove the sources."
        return CheckFinding(what="sources", verdict=Verdict.WARNING, found=message, advice=advice)
    if failing:
        advice = "See `copydesk source show ID`."
        message = f"{len(failing)} of {len(sources)} failing: {', '.join(source.name for source in failing[:5])}."
        return CheckFinding(what="sources", verdict=Verdict.WARNING, found=message, advice=advice)
    return CheckFinding(what="sources", verdict=Verdict.OK, found=f"{len(sources)}, none failing.")


async def _check_runs(desk: Desk) -> CheckFinding:
    newest = (await desk.pipeline.list(limit=1)).items
    if not newest:
        return CheckFinding(what="pipeline", verdict=Verdict.OK, found="No run yet.", advice="copydesk --run-pipeline")
    run = newest[0]
    message = f"The last run {_RUN_VERBS.get(run.status, '')}{run.status}{f': {run.error}' if run.error else '.'}"
    good = run.status in {RunStatus.SUCCEEDED, RunStatus.RUNNING, RunStatus.QUEUED, RunStatus.CANCELLED}
    return CheckFinding(what="pipeline", verdict=Verdict.OK if good else Verdict.WARNING, found=message)


async def _check_backup_job(desk: Desk) -> tuple[CheckFinding, ...]:
    errors = [state.error for state in await desk.job_leases.states() if state.name == JobName.BACKUP and state.error]
    message = "The last automatic backup failed: "
    return tuple(CheckFinding(what="backups", verdict=Verdict.ERROR, found=message + error) for error in errors)


async def _check_clock(desk: Desk) -> tuple[CheckFinding, ...]:
    """Report a clock that jumped; a clock that is right needs no line."""
    warning = await desk.schedule.peek_clock_warning()
    if warning is None:
        return ()
    direction = "forward" if warning.seconds > 0 else "back"
    message = f"The clock jumped {direction} by {format_duration(abs(warning.seconds))}. Posting is paused."
    return (CheckFinding(what="clock", verdict=Verdict.ERROR, found=message, advice=warning.advice),)


async def _check_accounts(desk: Desk) -> tuple[CheckFinding, ...]:
    """Check the accounts, and the vault if there are any: without accounts nobody should be asked to unlock it."""
    connected = await desk.accounts.list()
    missing = tuple(
        CheckFinding(what="accounts", verdict=Verdict.WARNING, found=question.known, advice=question.advice)
        for question in await desk.posting.list_missing_accounts()
    )
    if not connected and missing:
        # They say what is missing, and what waits for it.
        return missing
    if not connected:
        advice = "To post, connect an account: copydesk account connect bluesky"
        scheduled = (await desk.drafts.counts()).by_status[Status.SCHEDULED]
        verdict = Verdict.WARNING if scheduled else Verdict.OK
        waiting = f" {plural(scheduled, 'scheduled draft')} cannot be posted." if scheduled else ""
        return (CheckFinding(what="accounts", verdict=verdict, found=f"No accounts.{waiting}", advice=advice),)
    failing = [f"{account.label}: {account.login_error}" for account in connected if account.login_error]
    message = f"{len(failing)} of {len(connected)} failing. {' '.join(failing[:5])}"
    all_fine = f"{len(connected)}, none failing."
    verdict = Verdict.WARNING if failing else Verdict.OK
    found = CheckFinding(what="accounts", verdict=verdict, found=message if failing else all_fine)
    return found, *missing, await _check_vault(desk)


async def _check_deliveries(desk: Desk) -> tuple[CheckFinding, ...]:
    """Report deliveries that need the user, approvals that due drafts lack, and a database that lacks posts, if any."""
    findings: list[CheckFinding] = []
    if count := len(await desk.posting.list_needing_user()):
        message = f"{plural(count, 'delivery')} {'needs' if count == 1 else 'need'} you."
        advice = "See what is known, and answer: copydesk needs-you"
        findings.append(CheckFinding(what="deliveries", verdict=Verdict.WARNING, found=message, advice=advice))
    if due := [question for question in await desk.posting.list_missing_approvals() if question.is_due]:
        message = f"{plural(len(due), 'due draft')} {'waits' if len(due) == 1 else 'wait'} for another approval."
        advice = "See them: copydesk needs-you"
        findings.append(CheckFinding(what="approvals", verdict=Verdict.WARNING, found=message, advice=advice))
    if missing := await desk.posting.missing_sends():
        (until,) = await desk.schedule.format_times(missing.until, short=True)
        if missing.without_marks:
            message = f"This machine has no record of the posts until {until}."
            advice = "If other machines have posted, copy sends.json from one of them to the data folder."
        else:
            message, advice = f"The database went back to an older state: it lacks posts sent until {until}.", ""
        message += " Drafts of that time are looked for on the account before they are sent."
        findings.append(CheckFinding(what="deliveries", verdict=Verdict.WARNING, found=message, advice=advice))
    return tuple(findings)


async def _check_webhooks(desk: Desk) -> tuple[CheckFinding, ...]:
    """Report webhooks that are disabled or failing; one that works needs no line."""
    findings = []
    webhooks = await desk.webhooks.list()
    short_ids = await desk.ids.shorten(IdKind.WEBHOOK, [webhook.id for webhook in webhooks])
    for webhook in webhooks:
        if webhook.disabled_at is not None:
            message = f"{webhook.url} was disabled: its server accepted no event for days, or asked for none."
            advice = "Remove it, and add it again once the server works: copydesk webhook list"
        elif webhook.failing_since is not None:
            (since,) = await desk.schedule.format_times(webhook.failing_since, short=True)
            message = f"{webhook.url} has accepted no event since {since}."
            advice = f"See why: copydesk webhook log {short_ids[webhook.id]}"
        else:
            continue
        findings.append(CheckFinding(what="webhooks", verdict=Verdict.WARNING, found=message, advice=advice))
    return tuple(findings)


async def _check_vault(desk: Desk) -> CheckFinding:
    try:
        vault = await desk.accounts.vault_status()
    except CredentialsError as error:
        return CheckFinding(what="credentials", verdict=Verdict.ERROR, found=error.message, advice=error.hint)
    environment = f" From the environment: {', '.join(vault.environment)}." if vault.environment else ""
    prefix = "Stored in" if vault.has_credentials else "None stored yet. The first will be stored in"
    message = f"{prefix} {vault.description}.{environment}"
    advice = (
        _ADVICE[vault.backend]
        if vault.has_credentials and (not vault.usable or vault.backend is BackendKind.PLAIN)
        else ""
    )
    return CheckFinding(
        what="credentials", verdict=Verdict.WARNING if advice else Verdict.OK, found=message, advice=advice
    )


async def _check_images(desk: Desk) -> CheckFinding:
    """Report the stored images, the orphans among them, and a missing Pillow if images are about to be posted."""
    storage = await desk.drafts.images.storage()
    message = f"{storage.count} stored for all users, {storage.size / 2**20:.1f} MiB."
    if storage.orphan_count:
        message += f" {storage.orphan_count} of them unused, {storage.orphan_size / 2**20:.1f} MiB."
    if find_spec("PIL") is None and storage.has_postable:
        message += " Approved drafts have images, but Pillow, which resizes them, is not installed."
        advice = "Install it: pip install pillow"
        return CheckFinding(what="images", verdict=Verdict.WARNING, found=message, advice=advice)
    return CheckFinding(what="images", verdict=Verdict.OK, found=message)
