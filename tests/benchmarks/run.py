"""Every figure that Copydesk claims, measured now, as one table: `make bench`.

`make bench` prints it; `python tests/benchmarks/run.py --readme` puts it into the README, with the day and machine.
"""

import compileall
import platform
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from benchmarks_table import Row

import copydesk

MODULES = (
    "bench_parse",
    "bench_pipeline",
    "bench_duplicates",
    "bench_drafting",
    "bench_lists",
    "bench_review",
    "bench_posting",
    "bench_engagement",
    "bench_start",
    "bench_console_start",
    "bench_console",
    "bench_console_busy",
)
README = Path(__file__).resolve().parents[2] / "README.md"
MARKS = ("<!-- benchmarks -->", "<!-- /benchmarks -->")


def main() -> int:
    """Print the table as each module ends; 1 where a target is missed."""
    rows: list[Row] = []
    # As an installation has it: else each start would translate the modules anew.
    compileall.compile_dir(next(iter(copydesk.__path__)), quiet=1)
    for name in MODULES:
        # In a process of its own: what one leaves in memory would hide what the next one takes.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
            measured = apart.submit(_measured, name).result()
        rows += measured
        for row in measured:
            print(_line(row), flush=True)
    if "--readme" in sys.argv:
        _write(rows)
    return 1 if any(row.ok is False for row in rows) else 0


def _measured(name: str) -> list[Row]:
    rows: list[Row] = import_module(name).measure()
    return rows


def _line(row: Row) -> str:
    verdict = {True: "yes", False: "NO", None: ""}[row.ok]
    return f"| {row.what} | {row.ours} | {row.theirs} | {row.ratio} | {row.target} | {verdict} |"


def _write(rows: list[Row]) -> None:
    head = ["| what | Copydesk | compared with | ratio | target | met |", "|---|---|---|---|---|---|"]
    said = f"Measured on {datetime.now(UTC):%Y-%m-%d} with Python {platform.python_version()} on {_machine()}."
    table = "\n".join([MARKS[0], said, "", *head, *map(_line, rows), MARKS[1]])
    text = README.read_text(encoding="utf-8")
    README.write_text(re.sub(f"{MARKS[0]}.*{MARKS[1]}", lambda _: table, text, flags=re.DOTALL), encoding="utf-8")


def _machine() -> str:
    try:
        cpus = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        cpus = []
    return f"{len(cpus)} x {cpus[0]}, {platform.system()}" if cpus else f"{platform.machine()}, {platform.system()}"


if __name__ == "__main__":
    sys.exit(main())
