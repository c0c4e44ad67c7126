"""Bulk approval of a hundred drafts against a single approval, and their undo, on a small and a large desk."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from large_desk import build_database
from table_row import Row

from copydesk.desk import Desk, open_desk
from desk_fixtures import settings_at

FEW, MANY = 1_000, 1_000_000
BULK, ROUNDS = 100, 30
TARGET = 15.0


def measure() -> list[Row]:
    """Return the rows of the table."""
    rows = []
    with TemporaryDirectory() as folder:
        for drafts in (FEW, MANY):
            home = Path(folder) / str(drafts)
            build_database(home, drafts)
            rows += asyncio.run(_measure(home, drafts))
    return rows


async def _measure(home: Path, drafts: int) -> list[Row]:
    async with open_desk(settings_at(home)) as desk:
        ids = await desk.drafts.matching_ids(status="pending_review", archived="exclude")
        times = [await _time_round(desk, ids[: BULK + 1]) for _ in range(ROUNDS)]
    single, undo_one, bulk, undo_bulk = (statistics.median(column) for column in zip(*times, strict=True))
    # Both are compared with a single approval: one undo is so cheap that any commit of 100 pages is many times it.
    undo_note = f"; {undo_bulk / undo_one:.1f} of one undo of {undo_one:.2f} ms"
    return [
        Row(f"approve one of {drafts:,} drafts", f"{single:.2f} ms", "", "", "", None, single),
        _row(f"approve {BULK} of {drafts:,} drafts", single, bulk),
        _row(f"undo of {BULK} of {drafts:,} drafts", single, undo_bulk, undo_note),
    ]


async def _time_round(desk: Desk, ids: Sequence[str]) -> list[float]:
    """Approve one draft and undo it, then a hundred; the desk is as before afterwards."""
    first, *rest = ids
    return [
        await _time(desk.drafts.approve(first)),
        await _time(desk.drafts.undo(first)),
        await _time(desk.drafts.bulk({"action": "approve", "ids": rest})),
        await _time(desk.drafts.undo()),
    ]


async def _time(call: Awaitable[object]) -> float:
    """Return the milliseconds of a call."""
    started = time.perf_counter()
    await call
    return (time.perf_counter() - started) * 1000


def _row(label: str, single: float, bulk: float, note: str = "") -> Row:
    ratio = bulk / single
    cells = (f"{bulk:.1f} ms", f"one approval {single:.2f} ms", f"{ratio:.1f} times{note}", f"at most {TARGET:g}")
    return Row(label, *cells, ratio <= TARGET, bulk)
