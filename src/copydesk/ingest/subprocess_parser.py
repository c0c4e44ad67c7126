"""Run a parser in a subprocess with limited processor time: hostile input can keep a parser busy for ever.

The subprocess runs a module of this package, which calls `apply_resource_limits` and `signal_ready`, reads standard
input to its end and writes its result to standard output. A non-zero exit status means that there is no result.

The limit is processor time because a busy machine makes a parser wait, not work; the clock only ends one that hangs.
"""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from weakref import WeakKeyDictionary

PACKAGE = Path(__file__).parents[1]

STARTUP_TIMEOUT = 60.0
"""Seconds to import the parser. It takes about 0.2; the margin is for a busy machine."""
MAX_PROCESSES = 2
"""Concurrent processes. Each takes 40 MB or more, and few machines have more idle cores."""
READY_MARKER = b"\n"
"""Written once the parser is imported, so that the limits cover parsing and not the start of Python."""
WALL_FACTOR = 10
"""Seconds of wall time that a process gets per second of processor time."""

MAX_MEMORY = 1 << 30
"""Bytes of address space."""
MAX_OPEN_FILES = 16
"""The three standard streams and a reserve for modules that Python imports late."""
MAX_CPU_SECONDS = 30
"""A backstop on top of the parser's own limit, which the process could lift."""

# Negative exit statuses: the signals of the timer and of the backstop. Windows has neither.
_OUT_OF_CPU_TIME = [-getattr(signal, name) for name in ("SIGPROF", "SIGXCPU") if hasattr(signal, name)]
_INHERITED_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG")
# A semaphore belongs to one event loop; tests and the command line run several.
_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def run_in_subprocess(module: str, body: bytes, *arguments: str, cpu_seconds: float) -> bytes:
    """Run `python -m module cpu_seconds arguments` with `body` on standard input; return its output, `b""` if it fails.

    The process never outlives this call. Raise TimeoutError if parsing takes more than `cpu_seconds` of processor time
    or ten times as long by the clock.
    """
    async with _slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MAX_PROCESSES)):
        process = await asyncio.create_subprocess_exec(
            # -P keeps the working directory out of sys.path: nothing there may shadow a module.
            *(sys.executable, "-P", "-m", module, str(cpu_seconds), *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # A parser's warnings would be printed over the console's screen, and an unread pipe would block it.
            stderr=asyncio.subprocess.DEVNULL,
            env=_environment(),
            cwd=PACKAGE.anchor,
        )
        try:
            return await _communicate(process, body, cpu_seconds)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def _communicate(process: asyncio.subprocess.Process, body: bytes, cpu_seconds: float) -> bytes:
    """Wait for the ready marker, send `body` and return the output."""
    assert process.stdout is not None
    async with asyncio.timeout(STARTUP_TIMEOUT):
        await process.stdout.read(len(READY_MARKER))
    async with asyncio.timeout(WALL_FACTOR * cpu_seconds):
        output, _ = await process.communicate(body)
    if process.returncode in _OUT_OF_CPU_TIME:
        raise TimeoutError
    return output if process.returncode == 0 else b""


def apply_resource_limits() -> None:
    """Limit this process's memory, CPU time and open files; forbid child processes, file writes and core dumps."""
    try:
        import resource  # noqa: PLC0415 - not on every platform
    except ImportError:
        return
    for name, value in (
        ("RLIMIT_AS", MAX_MEMORY),
        ("RLIMIT_CPU", MAX_CPU_SECONDS),
        ("RLIMIT_NOFILE", MAX_OPEN_FILES),
        # A parser that is taken over can start no other program and write no file.
        ("RLIMIT_NPROC", 0),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_CORE", 0),
    ):
        # Platforms lack some of these limits, and a limit that is already lower cannot be raised.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (value, value))


def signal_ready() -> None:
    """Start the limit of processor time, the first argument, and tell the parent that the parser is imported."""
    # Unlike RLIMIT_CPU it counts from here and in fractions of a second; its signal ends the process.
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, float(sys.argv[1]))
    sys.stdout.buffer.write(READY_MARKER)
    sys.stdout.buffer.flush()


def _environment() -> dict[str, str]:
    """Return an environment that finds the same modules.

    It is a short allowlist because credentials in environment variables must not reach a process that parses hostile
    input.
    """
    package = str(PACKAGE.parent)
    paths = [package, *(str(Path(path).absolute()) for path in sys.path if path)]
    inherited = {name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ}
    return inherited | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
