"""Tests that a command whose system call, or memory, fails says so on a line, damages nothing, and can be repeated."""

import shutil
import signal
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from faulty_calls import ERRORS, CallResult, choose_faults, command_runner
from faulty_commands import COMMANDS, CommandCase, FaultyWorld
from feed_server import FeedServer
from sampling import EXHAUSTIVE

pytestmark = [
    pytest.mark.skipif(not EXHAUSTIVE, reason="a proof of its own: make prove"),
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace"),
]
SAMPLE = 3
"""Failing calls of each kind, besides those near a commit."""
ALLOCATIONS = 25
"""Failing allocations of each command; one makes tens of thousands."""
MAX_HANGS = 2
"""Commands that may hang: CPython waits for ever for a thread that has no memory to begin with."""
LONGEST_WAIT = 20.0
"""Seconds after which a command without memory counts as hanging; the others take one."""
FIRST_ALLOCATION = 1_000
"""Before it nothing but the command line itself is prepared."""
UNEXPECTED = ("Traceback", "Unexpected error", "never retrieved", "never awaited", "Exception ignored")
CONFUSED = (
    "SystemError",
    "Error calling __set_name__",
    "path should be string, bytes",
    "Event loop stopped before Future completed",
    "Cannot run the event loop while another loop is running",
)
"""What CPython raises in place of a MemoryError."""
# CPython 3.11 reports a loop that it could not create a second time, when it is collected.
HALF_CREATED_LOOP = "in _close_self_pipe"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyWorld]:
    """A template of a desk, and what runs commands on copies of it."""
    with FeedServer() as server, command_runner() as runner:
        yield FaultyWorld(tmp_path_factory.mktemp("faulty"), server, runner)


@pytest.mark.parametrize("name", COMMANDS)
def test_failing_system_call(world: FaultyWorld, tmp_path: Path, name: str) -> None:
    case, home = COMMANDS[name], tmp_path / "desk"
    traced = world.runner.run(replace(world.call(world.copy(home), case), trace=",".join(ERRORS)))
    assert traced.code == 0, traced
    faults = choose_faults(home.with_suffix(".trace"), SAMPLE)
    assert len(faults) > 20

    findings = []
    for fault in faults:
        result = world.runner.run(replace(world.call(world.copy(home), case), inject=fault))
        findings += [
            f"{fault}: {finding}" for finding in check_end(result, fault) + check_state(world, home, case, result)
        ]
    assert not findings, "\n".join(findings)


def check_end(result: CallResult, fault: str) -> list[str]:
    """Return what is wrong with the exit code and the messages of a command."""
    findings = []
    # strace counts the calls of each thread: the write that prints the message may fail as well.
    is_silent = result.code and not fault.startswith("write:") and not (result.err + result.out).strip()
    if result.code not in {0, 1, 2} or is_silent:
        findings.append(f"ended with {result}")
    if HALF_CREATED_LOOP not in result.err and any(words in result.err for words in UNEXPECTED):
        findings.append(f"said {result.err}")
    return findings


def check_state(world: FaultyWorld, home: Path, case: CommandCase, result: CallResult) -> list[str]:
    """Return what is wrong with the desk after a command that may have failed; it is repeated, unless it succeeded."""
    findings = []
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            findings.append(f"damaged the database after {result}")
    repeated = result
    if result.code and not (case.once and case.is_done(world, home)):
        repeated = world.runner.run(world.call(home, case))
        # A post that began is finished by the daemon.
        if "Already posting" in repeated.err:
            world.runner.run(world.call(home, COMMANDS["daemon"]))
    if not case.is_done(world, home):
        findings.append(f"did nothing: {result}, {repeated}")
    return findings


@pytest.mark.parametrize("name", COMMANDS)
def test_failing_allocation(world: FaultyWorld, tmp_path: Path, name: str) -> None:
    pytest.importorskip("_testcapi", reason="Python was built without its test modules")
    case, home = COMMANDS[name], tmp_path / "desk"

    def call_without(allocation: int) -> CallResult:
        call = world.call(world.copy(home), case)
        return world.runner.run(replace(call, allocation=allocation, timeout=LONGEST_WAIT))

    total = FIRST_ALLOCATION
    while call_without(total).code:
        total *= 2

    step = total // ALLOCATIONS
    findings, hangs = [], 0
    for start in range(FIRST_ALLOCATION, total, step):
        # Not at equal distances, where the same kind of call may be met each time.
        number = start + zlib.crc32(f"{name} {start}".encode()) % step
        result = call_without(number)
        hangs += result.code == -signal.SIGKILL
        findings += [f"allocation {number}: {finding}" for finding in check_state(world, home, case, result)]
        # Python prints tracebacks of its own, of threads and of what runs at its exit, and confuses errors of its own.
        if "Unexpected error" in result.err and not any(words in result.err for words in CONFUSED):
            findings.append(f"allocation {number}: said {result.err}")
    assert not findings, "\n".join(findings)
    assert hangs <= MAX_HANGS
