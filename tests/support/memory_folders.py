"""Folders of test runs in memory. A run that is killed leaves its own, which the next run removes."""

import os
import re
import shutil
from pathlib import Path

_NAME = re.compile(r"copydesk-tests-(\d+)-\w+")


def folder_prefix() -> str:
    """Return how the names of this process's folders begin."""
    return f"copydesk-tests-{os.getpid()}-"


def remove_leftovers(memory: Path) -> None:
    """Remove the folders of processes that have ended."""
    for folder in memory.iterdir():
        name = _NAME.fullmatch(folder.name)
        if name and not _is_running(int(name[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
