"""Tests that what was reported as done survives a power cut: every write to the log is synced before the report.

`strace` shows the order of the system calls: a write that no sync followed may be missing after a power cut.
"""

import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from faulty_calls import command_runner
from faulty_commands import COMMANDS, FaultyWorld
from feed_server import FeedServer
from power_cuts import RECORDED, LossyDisk, read_calls
from sampling import EXHAUSTIVE

COUNT = 60
CHANGES = f"""
import asyncio, os, sys
from pathlib import Path
from copydesk.desk import open_desk
from copydesk.settings import load

async def main():
    async with open_desk(load({{}}, Path(sys.argv[1]))) as desk:
        ids = [(await desk.drafts.create({{"text": f"Text {{number}}."}})).drafts[0].id for number in range({COUNT})]
        os.write(1, b"REPORT create\\n")
        await desk.drafts.approve(ids[0])
        os.write(1, b"REPORT approve\\n")
        await desk.drafts.bulk({{"action": "reject", "ids": ids}})
        os.write(1, b"REPORT bulk\\n")
        await desk.drafts.undo()
        os.write(1, b"REPORT undo\\n")

asyncio.run(main())
"""
REPORTS = ["create", "approve", "bulk", "undo"]
_TRACED = "trace=write,pwrite64,pwritev,fsync,fdatasync"


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_reported_change_is_synced(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-y", "-e", _TRACED, "-o", str(trace), sys.executable, "-c", CHANGES]
    run = subprocess.run([*command, str(tmp_path / "home")], capture_output=True, text=True, check=False, timeout=120)
    if "ptrace" in run.stderr.lower():
        pytest.skip("may not trace processes here")
    assert run.returncode == 0, run.stderr

    reports, unsynced, writes = [], 0, 0
    for line in trace.read_text().splitlines():
        if report := re.search(r'write\(1<[^>]*>, "REPORT (\w+)', line):
            reports.append(report[1])
            assert unsynced == 0, f"{unsynced} writes before the report of {report[1]} are not synced"
        elif re.search(r"pwritev?(64)?\(\d+<[^>]*copydesk\.db-wal>", line):
            unsynced, writes = unsynced + 1, writes + 1
        elif re.search(r"(fsync|fdatasync)\(\d+<[^>]*copydesk\.db-wal>", line):
            unsynced = 0
    assert reports == REPORTS
    assert writes > len(REPORTS)


RANDOM_CUTS = 40
"""Power cuts of each command at random calls, which leave any part of what is not synced."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyWorld]:
    """A template of a desk, and what runs commands on copies of it."""
    with FeedServer() as server, command_runner() as runner:
        yield FaultyWorld(tmp_path_factory.mktemp("power"), server, runner)


@pytest.mark.skipif(not EXHAUSTIVE, reason="a proof of its own: make prove")
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("name", COMMANDS)
def test_power_cut_keeps_what_was_reported(world: FaultyWorld, tmp_path: Path, name: str) -> None:
    case, home = COMMANDS[name], tmp_path / "desk"
    call = world.call(world.copy(home), case)
    disk = LossyDisk(home)
    result = world.runner.run(replace(call, trace=",".join(RECORDED), with_data=True))
    assert result.code == 0, result
    calls = list(read_calls(home.with_suffix(".trace")))
    rng = random.Random(name)
    cuts = set(rng.sample(range(len(calls)), min(RANDOM_CUTS, len(calls))))
    expected = count_drafts(world.template)

    reported = False
    for number, made in enumerate(calls):
        synced = disk.apply(made)
        if made.name == "write" and made.strings[0].decode() == str(home.with_suffix(".out")):
            reported = True
            assert disk.unsynced_files() == []
        for chance in [None] * (synced or reported) + [rng] * (number in cuts):
            left = tmp_path / "left" / "desk"
            shutil.rmtree(left.parent, ignore_errors=True)
            disk.restore(left, chance)
            assert count_drafts(left) >= expected, f"after {number} calls"
            assert not reported or case.is_done(world, left), f"after {number} calls: {result.out}"
    assert reported or not result.out


def count_drafts(home: Path) -> int:
    """Return the number of drafts in an intact database."""
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return int(connection.execute("SELECT count(*) FROM draft").fetchone()[0])
