"""Kill a migration at one of its statements after the other, and report what each kill left behind.

A program of its own, because it forks: `killed_migration.py FOLDER URL FILE STEP`, where FOLDER has a desk in a file,
URL names an empty PostgreSQL database, and FILE does not exist. Copies the desk there and back, killed at every STEPth
statement; each time it goes on where it was. Prints the number of kills in each direction as JSON.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from copydesk.desk import migration
from copydesk.desk.migration import migrate_desk
from copydesk.settings import load
from copydesk.store import row_copy
from copydesk.store.postgresql.connection import PostgresConnection


class Killer:
    """Kills this process before the statement, or the step with a file, of the given number."""

    def __init__(self, kill_at: int) -> None:
        self._left = kill_at

    def reach(self) -> None:
        """Count a statement."""
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)

    def _counting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.reach()
            return function(*args, **options)

        return call

    def install(self) -> None:
        """Count the statements to the server, the transactions of the file, and the steps around it."""
        transaction = row_copy.FileTarget._transaction

        @contextmanager
        def counted(target: row_copy.FileTarget) -> Iterator[None]:
            self.reach()
            with transaction(target):
                yield
                self.reach()

        row_copy.FileTarget._transaction = counted  # type: ignore[method-assign]
        for name in ("execute", "control", "cursor"):
            setattr(PostgresConnection, name, self._counting(getattr(PostgresConnection, name)))
        migration.publish = self._counting(migration.publish)  # type: ignore[attr-defined]
        os.open, os.fsync = self._counting(os.open), self._counting(os.fsync)


def survives(kill_at: int, work: Callable[[], object]) -> bool:
    """Do the work in a process that is killed at that statement; return True if it came to its end before."""
    pid = os.fork()
    if not pid:
        Killer(kill_at).install()
        work()
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status):
        assert status == 0, status
        return True
    assert os.WTERMSIG(status) == signal.SIGKILL
    return False


def kill_until_done(home: Path, variables: dict[str, str], target: str, step: int) -> int:
    """Migrate the desk in `home` to `target`, killed at later and later statements; return the number of kills."""
    settings = load(variables, home)
    kills = 0
    # Each call starts over with its count, and soon gets further than the one before.
    while not survives(1 + kills * step, lambda: asyncio.run(migrate_desk(settings, target))):
        kills += 1
    return kills


if __name__ == "__main__":
    folder, url, file, step = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    row_copy.BATCH_SIZE = 4  # type: ignore[misc]
    there = kill_until_done(folder, {}, url, step)
    back = kill_until_done(folder, {"COPYDESK_DATABASE__URL": url}, file, step)
    print(json.dumps({"there": there, "back": back}))
