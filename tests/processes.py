"""Processes that a test has started."""

from pathlib import Path


def alive(process: int) -> bool:
    """Whether the process runs; one that has ended and that nobody has asked after does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end between the opening and the reading
        return False
