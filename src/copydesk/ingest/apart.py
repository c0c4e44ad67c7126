"""A parser in a process of its own, which is killed at its deadline: for work that hostile input makes endless.

The process is a module of ours: it calls `limit`, says READY, reads bytes on standard input until they end, and answers
on standard output. An exit status other than 0 means that there is no answer.
"""

import asyncio
import contextlib
import os
import sys
from pathlib import Path
from weakref import WeakKeyDictionary

import copydesk

LOADING = 15.0
"""Seconds for loading the parser: it takes a fifth of one, but the machine may be busy."""
AT_ONCE = 2
"""Processes at a time: each takes some 40 MB and more, and there are rarely more idle cores."""
READY = b"\n"
"""Said when the parser is loaded: the deadline is for its work, not for the loading."""

MAX_MEMORY = 1 << 30
MAX_FILES = 16
"""Open at once: the three it is given, and what Python opens where a module is first used."""
MAX_SECONDS = 30
"""Of CPU: in case that the one who waits for the answer is gone."""

_KEPT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG")
_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def ask(module: str, body: bytes, *arguments: str, seconds: float) -> bytes:
    """What `module`, started with `arguments`, answers to `body`; nothing where it fails. It never outlives this call.

    Raises TimeoutError where the work takes longer than `seconds`.
    """
    async with _slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE)):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", module, *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=_environment(),
            cwd=Path(copydesk.__file__).anchor,
        )
        try:
            return await _converse(process, body, seconds)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def _converse(process: asyncio.subprocess.Process, body: bytes, seconds: float) -> bytes:
    assert process.stdout is not None
    async with asyncio.timeout(LOADING):
        await process.stdout.read(len(READY))
    async with asyncio.timeout(seconds):
        answer, _ = await process.communicate(body)
    return answer if process.returncode == 0 else b""


def limit() -> None:
    """Give back what a parser has no use for: memory and time without end, files, processes."""
    try:
        import resource  # noqa: PLC0415 - not on every platform
    except ImportError:
        return
    for what, most in (
        ("RLIMIT_AS", MAX_MEMORY),
        ("RLIMIT_CPU", MAX_SECONDS),
        ("RLIMIT_NOFILE", MAX_FILES),
        ("RLIMIT_NPROC", 0),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_CORE", 0),
    ):
        # Not every platform has each of them, or a lower limit is in force already.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, what), (most, most))


def say_ready() -> None:
    """Tell the one who waits that the parser is loaded."""
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()


def _environment() -> dict[str, str]:
    """Enough to find the same modules; no secret of ours is in the process that reads hostile input."""
    package = str(Path(copydesk.__file__).parent.parent)
    places = [package, *(str(Path(place).absolute()) for place in sys.path if place)]
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(places))}
