"""Which process works on something, and whether it still lives."""

import os
import socket
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path


def me() -> str:
    """This process, as it signs what it works on: host, process id, and a mark of its start."""
    return f"{socket.gethostname()}/{os.getpid()}/{_started(os.getpid())}"


def is_alive(owner: str) -> bool | None:
    """Whether the process lives; None where that cannot be told: on another host, or without /proc.

    A process that is gone is dead everywhere, but a number that lives may have been given to another one since.
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
    now = _started(int(pid))
    if not now or not started:
        return None
    # It may have ended without its parent having asked how.
    return _stat(int(pid))[:1] != ["Z"] and started == now


def is_gone(owner: str | None, lease_until: datetime | None, now: datetime, longest: timedelta) -> bool:
    """Whether whoever holds a lease is not to be waited for. `longest` is the longest lease that anybody asks for."""
    alive = is_alive(owner) if owner else None
    # Nobody asks for a longer lease: the clock was ahead when this one was given.
    too_long = lease_until is not None and lease_until > now + longest
    return alive is False or (alive is None and too_long)


def _started(pid: int) -> str:
    """When the process started, in the kernel's clock ticks; empty where /proc does not say."""
    return "".join(_stat(pid)[19:20])


def _stat(pid: int) -> list[str]:
    """What /proc says of the process, from its state on; nothing where it does not say."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return []
