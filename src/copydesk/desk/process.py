"""Which process works on something, and whether it still lives."""

import os
import socket
from contextlib import suppress


def me() -> str:
    """This process, as it signs what it works on: host, process id, and a mark of its start."""
    return f"{socket.gethostname()}/{os.getpid()}/{_started(os.getpid())}"


def is_alive(owner: str) -> bool | None:
    """Whether the process lives; None for one on another host, or that cannot be asked."""
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
    # The number may have been given to another process since.
    return started == _started(int(pid))


def _started(pid: int) -> str:
    """When the process started, in the kernel's clock ticks; empty where /proc does not say."""
    with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[19]
    return ""
