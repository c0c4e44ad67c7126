"""Kill a backup and a restore at every file operation, one after the other, and report what each kill left behind.

A program of its own, because it forks: `killed_backup.py FOLDER`, where FOLDER has the desk `desk/desk.db`, with its
newest changes in its log, and the backup `backup.db`. Prints the reports as JSON.
"""

import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from copydesk.store import backup
from copydesk.store.backup import Interrupter, check_database

NOW = datetime(2026, 2, 11, 9, 30, tzinfo=UTC)
EVENTS = {"open", "os.link", "os.mkdir", "os.remove", "os.rename", "sqlite3.connect"}


class Killer:
    """Kills this process before its file operation with the given number."""

    def __init__(self, kill_at: int) -> None:
        self._left = kill_at

    def reach(self, *_: object) -> None:
        """Count an operation."""
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        """Watch what Python reports to auditors, and what it does not."""
        sync, check = os.fsync, Interrupter.check

        def reach_sync(descriptor: int) -> None:
            self.reach()
            sync(descriptor)

        def reach_check(interrupter: Interrupter, *args: object) -> None:
            self.reach()
            check(interrupter, *args)

        os.fsync, Interrupter.check = reach_sync, reach_check
        backup.PAGES_PER_STEP = 20
        sys.addaudithook(lambda event, _: self.reach() if event in EVENTS else None)


def survives(kill_at: int, work: Callable[[], object]) -> bool:
    """Do the work in a process that is killed at that operation; return True if it came to its end before."""
    pid = os.fork()
    if not pid:
        Killer(kill_at).install()
        work()
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status):
        assert status == 0
        return True
    return False


def count_drafts(path: Path) -> int | str | None:
    """Return the drafts in an intact database, None if it does not exist."""
    if not path.exists():
        return None
    try:
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return check_database(path, Interrupter()).drafts
    except Exception as error:
        return repr(error)


def kill_backups(folder: Path) -> list[dict[str, object]]:
    """Back up the desk to a new file and to an existing one; kill each at every operation."""
    reports: list[dict[str, object]] = []
    for overwrite in (False, True):
        for kill_at in count(1):
            home = folder / "work"
            shutil.copytree(folder / "desk", home)
            target = home / "copy.db"
            if overwrite:
                shutil.copyfile(folder / "backup.db", target)
            done = survives(
                kill_at,
                lambda: backup.create_backup(home / "desk.db", target, Interrupter(), overwrite=overwrite),  # noqa: B023
            )
            reports.append(
                {
                    "overwrite": overwrite,
                    "done": done,
                    "copy": count_drafts(target),
                    "desk": count_drafts(home / "desk.db"),
                }
            )
            shutil.rmtree(home)
            if done:
                break
    return reports


def kill_restores(folder: Path) -> list[dict[str, object]]:
    """Restore the backup over the desk, killed at every operation; then restore it again."""
    reports: list[dict[str, object]] = []
    for kill_at in count(1):
        home = folder / "work"
        shutil.copytree(folder / "desk", home)
        path = home / "desk.db"

        def restore() -> None:
            backup.restore_database(path, folder / "backup.db", NOW, 0.0, Interrupter())  # noqa: B023

        done = survives(kill_at, restore)
        kept = [count_drafts(file) for file in home.glob("desk.db.replaced-*") if not file.samefile(path)]
        report: dict[str, object] = {"done": done, "desk": count_drafts(path), "kept": kept}
        restore()
        reports.append(report | {"again": count_drafts(path)})
        shutil.rmtree(home)
        if done:
            break
    return reports


if __name__ == "__main__":
    print(json.dumps({"backups": kill_backups(Path(sys.argv[1])), "restores": kill_restores(Path(sys.argv[1]))}))
