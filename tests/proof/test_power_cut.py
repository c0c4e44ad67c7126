"""Tests that what was reported as done survives a power cut: every write to the log is synced before the report.

`strace` shows the order of the system calls: a write that no sync followed may be missing after a power cut.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
