"""Check processes that a test has started."""

from pathlib import Path


def is_running(pid: int) -> bool:
    """Return whether the process runs. A zombie counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end between open and read
        return False
