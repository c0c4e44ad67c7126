"""A bulk of a hundred beside a single action, and its undo beside the undo of one; among a thousand drafts and many."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks_table import Row
from many_drafts import build

from copydesk.desk import Desk, open_desk
from copydesk.settings import load

FEW, MANY = 1_000, 1_000_000
BULK, ROUNDS = 100, 30
TARGET = 15.0


def measure() -> list[Row]:
    """The rows of the table."""
    rows = []
    with TemporaryDirectory() as folder:
        for drafts in (FEW, MANY):
            home = Path(folder) / str(drafts)
            build(home / "copydesk.db", drafts)
            rows += asyncio.run(_measured(home, drafts))
    return rows


async def _measured(home: Path, drafts: int) -> list[Row]:
    async with open_desk(load({}, home)) as desk:
        ids = await desk.drafts.matching(status="pending_review", archived="exclude")
        times = [await _round(desk, ids[: BULK + 1]) for _ in range(ROUNDS)]
    one, undo_one, bulk, undo_bulk = (statistics.median(column) for column in zip(*times, strict=True))
    # Both are held to the single action: to undo one is so little that a commit of a hundred pages is many times it.
    beside = f"; {undo_bulk / undo_one:.1f} of one undo of {undo_one:.2f} ms"
    return [
        _row(f"approve {BULK} of {drafts:,} drafts", one, bulk),
        _row(f"undo of {BULK} of {drafts:,} drafts", one, undo_bulk, beside),
    ]


async def _round(desk: Desk, ids: Sequence[str]) -> list[float]:
    """Approve one and take it back, then a hundred; everything is as it was after it."""
    first, *rest = ids
    return [
        await _timed(desk.drafts.approve(first)),
        await _timed(desk.drafts.undo(first)),
        await _timed(desk.drafts.bulk({"action": "approve", "ids": rest})),
        await _timed(desk.drafts.undo()),
    ]


async def _timed(asked: Awaitable[object]) -> float:
    """Milliseconds."""
    begin = time.perf_counter()
    await asked
    return (time.perf_counter() - begin) * 1000


def _row(what: str, one: float, many: float, beside: str = "") -> Row:
    ratio = many / one
    figures = (f"{many:.1f} ms", f"one approval {one:.2f} ms", f"{ratio:.1f} times{beside}", f"at most {TARGET:g}")
    return Row(what, *figures, ratio <= TARGET)
