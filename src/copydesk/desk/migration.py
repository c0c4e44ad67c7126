"""Copy a desk to a database of the other kind: from its SQLite file to a PostgreSQL server, or back."""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from copydesk.desk.backups import run_interruptible
from copydesk.errors import ConflictError, StoreError
from copydesk.model.backup import CopyProgress, MigratedDesk
from copydesk.settings import Settings, name_server
from copydesk.store import database_file
from copydesk.store.backup import Interrupter, check_database, exclusive_lock, os_errors, publish
from copydesk.store.connection_pool import reject_network_file_system
from copydesk.store.opening import open_server_source, open_server_target
from copydesk.store.row_copy import COPIED_TABLES, OnProgress, check_equal, copy_rows, copy_to_file, read_file

SERVER_SCHEMES = ("postgresql://", "postgres://")
"""Starts of the URL of a server; anything else is the path of a file."""


async def migrate_desk(
    settings: Settings, target: str, on_progress: Callable[[CopyProgress], None] = lambda _: None
) -> MigratedDesk:
    """Copy the desk that `settings` name to the database `target`, and compare every row; return what was copied.

    `target` is the URL of an empty PostgreSQL database if the desk is a file, else the path of a file that does not
    exist. The desk itself is only read, and nobody can change it meanwhile. If the process is killed, the next call
    with the same target goes on. `on_progress` is called in another thread. Raise StoreBusyError if a process has the
    desk open, ConflictError if the target is not empty, StoreError.
    """
    to_server = target.startswith(SERVER_SCHEMES)
    if to_server and settings.database.url:
        raise ConflictError("The desk is on a server already; nothing changed.", hint="Use pg_dump and pg_restore.")
    if not to_server and not settings.database.url:
        raise ConflictError(
            "The desk is a file already; nothing changed.",
            hint="To a server: --to postgresql://user@host/name. To another file: copydesk backup FILE",
        )
    migrate = (
        partial(_migrate_to_server, settings, target) if to_server else partial(_migrate_to_file, settings, target)
    )
    return await run_interruptible(
        settings.database_file, lambda interrupter: migrate(_report(interrupter, on_progress))
    )


def _report(interrupter: Interrupter, on_progress: OnProgress) -> OnProgress:
    """Return `on_progress`, which stops the copy when the interrupter is stopped."""

    def report(progress: CopyProgress) -> None:
        interrupter.check()
        on_progress(progress)

    return report


def _migrate_to_server(settings: Settings, target: str, on_progress: OnProgress) -> MigratedDesk:
    path, options = settings.database_file, name_server(settings.database, target)
    _check_revision(path)
    with (
        exclusive_lock(path.parent, options.busy_timeout),
        read_file(path) as source,
        open_server_target(options) as server,
    ):
        source.check_references()
        rows = copy_rows(source, server, on_progress)
        return MigratedDesk(source=source.name, target=server.name, rows=rows, tables=len(COPIED_TABLES))


def _check_revision(path: Path) -> None:
    if not path.exists():
        raise StoreError(f"There is no desk to copy: {path} does not exist.")
    if database_file.read_revision(path) != database_file.HEAD_REVISION:
        raise ConflictError(
            f"The tables of {path} are those of an older version; nothing changed.",
            hint="Upgrade them: copydesk draft list",
        )


def _migrate_to_file(settings: Settings, target: str, on_progress: OnProgress) -> MigratedDesk:
    path = Path(target).absolute()
    # The name is given to the whole desk only.
    part = path.with_name(f"{path.name}.unfinished")
    with open_server_source(settings.database, exclusive=True) as source, os_errors(f"Cannot write {path}"):
        if path.exists():
            # By an earlier call that was killed at its very end, or another desk.
            _check_revision(path)
            with read_file(path) as other:
                rows = check_equal(source, other.name, other.connection, on_progress)
        else:
            reject_network_file_system(path)
            with suppress(FileExistsError):
                os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            rows = copy_to_file(source, part, on_progress)
            check_database(part, Interrupter())
            publish(part, path, overwrite=False)
        part.unlink(missing_ok=True)
        return MigratedDesk(source=source.name, target=str(path), rows=rows, tables=len(COPIED_TABLES))
