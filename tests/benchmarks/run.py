"""Measure every performance figure that Copydesk claims: `make bench`.

`make bench` prints a table; with `--write` it goes into docs/benchmarks.md, with date and machine. What uses a database
is measured in a file and on a PostgreSQL server with default settings, which is started for it.
"""

import compileall
import os
import platform
import re
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from table_row import Row

import copydesk
from postgresql_server import URL_VARIABLE, PostgresqlServer, use_postgresql

WITHOUT_DATABASE = (
    "bench_feed_parsing",
    "bench_duplicates",
    "bench_drafting",
    "bench_draft_corpus",
    "bench_claims",
)
"""Measure what reads and writes no database."""
ON_BOTH = (
    "bench_pipeline",
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
)
"""Measure a desk: in a file, then on PostgreSQL."""
ON_POSTGRESQL = ("bench_many_users", "bench_workers")
"""Measure what there is only on PostgreSQL."""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
MARKERS = ("<!-- benchmarks -->", "<!-- /benchmarks -->")


class Line(NamedTuple):
    """A line of the table."""

    row: Row
    on_postgresql: str = ""
    """The same figure on PostgreSQL, with its ratio to that of the file where both are numbers."""


def main() -> int:
    """Print the lines as each module ends; return 1 if a target is missed. Arguments are modules to measure alone."""
    chosen = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    lines: list[Line] = []
    # As in an installation: otherwise each start would compile the modules again.
    compileall.compile_dir(next(iter(copydesk.__path__)), quiet=1)
    server = PostgresqlServer(synced=True)
    try:
        for name in chosen or (*WITHOUT_DATABASE, *ON_BOTH, *ON_POSTGRESQL):
            for line in _measure_module(name, server.url_pattern):
                print(_format_line(line), flush=True)
                lines.append(line)
    finally:
        server.close()
    if "--write" in sys.argv:
        _write_page(lines)
    return 1 if any(line.row.ok is False for line in lines) else 0


def _measure_module(name: str, url_pattern: str) -> list[Line]:
    rows = [] if name == "bench_many_users" else _run(_measure, name)
    if name in WITHOUT_DATABASE or name == "bench_workers":
        return [Line(row) for row in rows]
    labels = {row.label for row in rows}
    others = {row.label: row for row in _run(_measure_on_postgresql, name, url_pattern)}
    lines = [Line(row, _compare(row, others.get(row.label))) for row in rows]
    return lines + [Line(row, row.ours) for label, row in others.items() if label not in labels]


def _run(measure: Callable[..., list[Row]], *arguments: str) -> list[Row]:
    # In a process of its own: memory left behind by one module would distort the next one's measurements.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(measure, *arguments).result()


def _measure(name: str) -> list[Row]:
    rows: list[Row] = import_module(name).measure()
    return rows


def _measure_on_postgresql(name: str, url_pattern: str) -> list[Row]:
    os.environ[URL_VARIABLE] = url_pattern
    server = use_postgresql()
    try:
        return _measure(name)
    finally:
        server.close()


def _compare(row: Row, other: Row | None) -> str:
    if other is None:
        return ""
    if row.figure is None or other.figure is None:
        return other.ours
    return f"{other.ours} ({other.figure / row.figure:.1f} times)"


def _format_line(line: Line) -> str:
    row = line.row
    verdict = {True: "yes", False: "NO", None: ""}[row.ok]
    cells = (row.label, row.ours, row.baseline, row.ratio, row.target, verdict, line.on_postgresql)
    return f"| {' | '.join(cells)} |"


def _write_page(lines: list[Line]) -> None:
    header = [
        "| what | Copydesk | compared with | ratio | target | met | on PostgreSQL |",
        "|---|---|---|---|---|---|---|",
    ]
    caption = (
        f"Measured on {datetime.now(UTC):%Y-%m-%d} with Python {platform.python_version()} on {_describe_machine()}."
    )
    table = "\n".join([MARKERS[0], caption, "", *header, *map(_format_line, lines), MARKERS[1]])
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
