"""Identify the process that holds a lease, and check whether it is still alive."""

import os
import socket
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path


def current_owner() -> str:
    """Return the id of this process as stored in leases: `host/pid/start time`."""
    return f"{socket.gethostname()}/{os.getpid()}/{_start_time(os.getpid())}"


def is_alive(owner: str) -> bool | None:
    """Return True if the process is alive; None if that cannot be determined, on another host or without /proc.

    The start time is compared because a pid may have been reused.
    """
    host, _, rest = owner.partition("/")
    pid, _, started = rest.partition("/")
    if host != socket.gethostname() or not pid.isdigit():
        return None
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    except OSError:
        return None
    current_start = _start_time(int(pid))
    if not current_start or not started:
        return None
    # A zombie still has a pid, but it has ended.
    return _read_stat(int(pid))[:1] != ["Z"] and started == current_start


def is_lease_abandoned(owner: str | None, lease_until: datetime | None, now: datetime, max_lease: timedelta) -> bool:
    """Return True if the lease's holder is dead, or the lease cannot be trusted.

    `max_lease` is the duration of the longest lease that is ever requested.
    """
    alive = is_alive(owner) if owner else None
    # A lease this long is never requested, so the clock was ahead when it was written.
    from_future = lease_until is not None and lease_until > now + max_lease
    return alive is False or (alive is None and from_future)


def _start_time(pid: int) -> str:
    """Return the start time of the process in clock ticks since boot; empty without /proc."""
    return "".join(_read_stat(pid)[19:20])


def _read_stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on (proc_pid_stat(5)); empty without /proc."""
    with suppress(OSError):
        # The process name in parentheses may itself contain spaces and parentheses, so split after the last one.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return []
