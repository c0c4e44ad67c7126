"""Run the command line with one system call, or one allocation of memory, that fails.

As a script it imports the command line once and forks a process for each line of JSON on standard input, a
`FaultyCall`; it answers with a `CallResult`. Failures of system calls are injected by strace into every library alike,
SQLite's included; those of allocations by CPython's own test module. The process is a user's in all else: it ends as
Python ends.
"""

import importlib
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

import copydesk
from cli_runner import make_environment, run_in_process
from copydesk.cli import main


class FaultyCall(msgspec.Struct, frozen=True):
    """A call of the command line, and the failure to inject."""

    home: str
    args: tuple[str, ...]
    stdin: str = ""
    variables: dict[str, str] = {}
    trace: str = ""
    """Record these system calls, separated by commas, in `home`.trace."""
    with_data: bool = False
    """Record all that is written, in hexadecimal."""
    inject: str = ""
    """An expression for `strace -e inject=`."""
    allocation: int = 0
    """The number of the allocation that fails."""
    is_warm_up: bool = False
    timeout: float = 150.0
    """Seconds after which a command counts as hanging.

    A post waits for 30 to be sent again; a lock of a file that the system did not release holds up several transactions
    of the process for 30 each.
    """


class CallResult(msgspec.Struct, frozen=True):
    """The end of a call."""

    code: int
    """Negative for a signal; SIGKILL if it hung."""
    out: str
    err: str


def serve() -> FaultyCall:
    """Fork a process for each line of standard input; return in that process.

    A call with `is_warm_up` is run in this one: what it imports is imported in the others.
    """
    for line in sys.stdin:
        call = msgspec.json.decode(line, type=FaultyCall)
        if call.is_warm_up:
            warmed = run_in_process(Path(call.home), *call.args, stdin=call.stdin, **call.variables)
            print(json.dumps(warmed._asdict()), flush=True)
            continue
        gate, opener = os.pipe()
        prepared, preparer = os.pipe()
        child = os.fork()
        if not child:
            os.close(opener)
            os.close(prepared)
            _become_command(call)
            os.close(preparer)
            select.select([gate], [], [])
            os.close(gate)
            return call
        os.close(gate)
        os.close(preparer)
        os.read(prepared, 1)
        os.close(prepared)
        tracer = _attach(child, call)
        os.close(opener)
        code = _wait(child, call.timeout)
        if tracer is not None:
            tracer.wait()
        out, err = (Path(f"{call.home}.{name}").read_bytes().decode(errors="replace") for name in ("out", "err"))
        print(json.dumps(msgspec.to_builtins(CallResult(code, out, err))), flush=True)
    sys.exit(0)


def _become_command(call: FaultyCall) -> None:
    """Replace the streams, the environment and the arguments of this process."""
    Path(f"{call.home}.in").write_text(call.stdin, encoding="utf-8")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for descriptor, name, mode in ((0, "in", os.O_RDONLY), (1, "out", flags), (2, "err", flags)):
        opened = os.open(f"{call.home}.{name}", mode, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - lives as long as the process
    environment = make_environment(Path(call.home), **call.variables)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["copydesk", *call.args]


def _attach(pid: int, call: FaultyCall) -> "subprocess.Popen[str] | None":
    """Let strace trace the process; return when it does."""
    if not call.trace and not call.inject:
        return None
    names = call.trace or call.inject.partition(":")[0]
    command = ["strace", "-f", "-y", "-o", f"{call.home}.trace", "-e", f"trace={names}", "-p", str(pid)]
    if call.with_data:
        command += ["-xx", "-s", "10000000"]
    if call.inject:
        command += ["-e", f"inject={call.inject}"]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    line = tracer.stderr.readline()
    assert "attached" in line, line
    return tracer


def _wait(pid: int, timeout: float) -> int:
    """Return the exit code of the process; kill it if it hangs."""
    deadline = time.monotonic() + timeout
    killed = False
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline and not killed:
            os.kill(pid, signal.SIGKILL)
            killed = True
        time.sleep(0.003)


class CommandRunner:
    """The test's side of the script."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, call: FaultyCall) -> CallResult:
        """Run the command to its end."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(msgspec.json.encode(call).decode() + "\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=CallResult)


@contextmanager
def command_runner() -> Iterator[CommandRunner]:
    """Run the script for the block."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield CommandRunner(process)


ERRORS: dict[str, tuple[str, ...]] = {
    "openat": ("EMFILE", "EACCES", "EIO", "ENOSPC"),
    "read": ("EIO",),
    "pread64": ("EIO",),
    "write": ("ENOSPC", "EIO"),
    "pwrite64": ("ENOSPC", "EIO"),
    "fsync": ("EIO",),
    "fdatasync": ("EIO", "ENOSPC"),
    "ftruncate": ("EIO",),
    "rename": ("EIO", "EACCES"),
    "link": ("ENOSPC", "EPERM"),
    "unlink": ("EACCES",),
    "mkdir": ("ENOSPC", "EACCES"),
    "newfstatat": ("EACCES", "EIO"),
    "getdents64": ("EIO",),
    "fcntl": ("EIO", "ENOLCK"),
    "flock": ("ENOLCK",),
    "socket": ("EMFILE",),
    "connect": ("ECONNREFUSED", "ENETUNREACH"),
    "epoll_create1": ("EMFILE",),
    "socketpair": ("EMFILE",),
    "pipe2": ("EMFILE",),
    "clone3": ("EAGAIN",),
}
"""The errors with which each system call fails. Without memory, which is left out, a thread of CPython can hang."""
_FOREIGN = ("/lib/python", "site-packages", "F_GETFL", "F_SETFL", "S_IFSOCK")
"""Parts of calls by which Python imports modules, or prepares its own sockets."""
_NEAR_SYNC = 4
"""Calls before and after a sync that all fail in turn; of the others there is a sample."""


def choose_faults(trace: Path, sample: int) -> list[str]:
    """Return injections for the recorded calls: all near a sync, and about `sample` others of each system call.

    strace counts the calls of each thread: the same number may be reached by several.
    """
    numbers: defaultdict[tuple[str, str], int] = defaultdict(int)
    threads: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    foreign: set[tuple[str, int]] = set()
    for line in trace.read_text(errors="replace").splitlines():
        thread, _, text = line.partition(" ")
        name = text.strip().partition("(")[0]
        if name not in ERRORS:
            continue
        numbers[thread, name] += 1
        threads[thread].append((name, numbers[thread, name]))
        if any(part in text for part in _FOREIGN):
            foreign.add((name, numbers[thread, name]))
    near, others = set(), set()
    for calls in threads.values():
        syncs = [position for position, (name, _) in enumerate(calls) if name.endswith("sync")]
        for position, call in enumerate(calls):
            is_near = any(abs(position - sync) <= _NEAR_SYNC for sync in syncs)
            (near if is_near else others).add(call)
    chosen = {call for call in near if call[0] in {"pwrite64", "fdatasync", "fsync", "rename", "write"}} - foreign
    for name in ERRORS:
        rest = sorted(call for call in (near | others) - foreign if call[0] == name)
        chosen.update(rest[:: max(1, len(rest) // sample)])
    return [f"{name}:error={ERRORS[name][number % len(ERRORS[name])]}:when={number}" for name, number in sorted(chosen)]


def import_everything() -> None:
    """Import all modules of Copydesk: what fails is a command, and not its imports."""
    for module in pkgutil.walk_packages(copydesk.__path__, "copydesk."):
        if not module.name.startswith(("copydesk.tui", "copydesk.http", "copydesk.mcp", "copydesk.store.migrations")):
            importlib.import_module(module.name)


if __name__ == "__main__":
    import_everything()
    current = serve()
    if current.allocation:
        from _testcapi import set_nomemory

        set_nomemory(current.allocation, current.allocation + 1)
    main()
