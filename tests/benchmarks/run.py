"""Measure every performance figure that Copydesk claims: `make bench`.

`make bench` prints a table; with `--write` it goes into docs/benchmarks.md, with date and machine.
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

from table_row import Row

import copydesk

MODULES = (
    "bench_feed_parsing",
    "bench_pipeline",
    "bench_duplicates",
    "bench_drafting",
    "bench_draft_corpus",
    "bench_claims",
    "bench_draft_queries",
    "bench_bulk_review",
    "bench_publishing",
    "bench_due_drafts",
    "bench_event_streams",
    "bench_engagement",
    "bench_startup",
    "bench_console_start",
    "bench_console_keys",
    "bench_console_during_run",
    "bench_http",
    "bench_workers",
)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
MARKERS = ("<!-- benchmarks -->", "<!-- /benchmarks -->")


def main() -> int:
    """Print the rows as each module ends; return 1 if a target is missed."""
    rows: list[Row] = []
    # As in an installation: otherwise each start would compile the modules again.
    compileall.compile_dir(next(iter(copydesk.__path__)), quiet=1)
    for name in MODULES:
        # In a process of its own: memory left behind by one module would distort the next one's measurements.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
            module_rows = executor.submit(_measure, name).result()
        rows += module_rows
        for row in module_rows:
            print(_format_row(row), flush=True)
    if "--write" in sys.argv:
        _write_page(rows)
    return 1 if any(row.ok is False for row in rows) else 0


def _measure(name: str) -> list[Row]:
    rows: list[Row] = import_module(name).measure()
    return rows


def _format_row(row: Row) -> str:
    verdict = {True: "yes", False: "NO", None: ""}[row.ok]
    return f"| {row.label} | {row.ours} | {row.baseline} | {row.ratio} | {row.target} | {verdict} |"


def _write_page(rows: list[Row]) -> None:
    header = ["| what | Copydesk | compared with | ratio | target | met |", "|---|---|---|---|---|---|"]
    caption = (
        f"Measured on {datetime.now(UTC):%Y-%m-%d} with Python {platform.python_version()} on {_describe_machine()}."
    )
    table = "\n".join([MARKERS[0], caption, "", *header, *map(_format_row, rows), MARKERS[1]])
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(f"{MARKERS[0]}.*{MARKERS[1]}", lambda _: table, text, flags=re.DOTALL), encoding="utf-8")


def _describe_machine() -> str:
    try:
        cpus = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        cpus = []
    return f"{len(cpus)} x {cpus[0]}, {platform.system()}" if cpus else f"{platform.machine()}, {platform.system()}"


if __name__ == "__main__":
    sys.exit(main())
