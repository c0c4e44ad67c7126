"""A thousand due drafts to ten accounts beside the platform's own time for them, and a claim among a million posts."""

import asyncio
import sqlite3
import statistics
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks_table import Row
from many_drafts import NOW, build
from sqlalchemy import Connection

from copydesk.desk import Desk, open_desk
from copydesk.desk.planning import plan
from copydesk.model.change import ChangeDraft
from copydesk.model.delivery import Account
from copydesk.model.draft import Action
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.settings import load
from copydesk.store import accounts, deliveries
from copydesk.store.accounts import Sending
from copydesk.store.ids import new_id

DRAFTS, ACCOUNTS, LATENCY = 1_000, 10, 0.05
FEW, MANY, ROUNDS = 1_000, 1_000_000, 200
SEND_TARGET, CLAIM_TARGET = 1.3, 5.0
_POSTED = """
INSERT INTO engagement (id, user_id, draft_id, platform, account, format, status, retry_count, created_at)
SELECT id, user_id, id, 'fake', 'me0', format, 'posted', 0, created_at FROM draft;
INSERT INTO delivery
    (id, user_id, draft_id, account_id, state, version, due_at, seed, anyway, digest, sent_at, progress)
SELECT id, user_id, id, '{account}', 'sent', 2, created_at, id, 0, substr(id, 1, 32), created_at, '{{"state":"sent"}}'
FROM draft;
"""


def measure() -> list[Row]:
    """The rows of the table."""
    with TemporaryDirectory() as folder:
        sent = asyncio.run(_sent(Path(folder) / "sent"))
        few, many = (_claim_among(Path(folder) / str(drafts), drafts) for drafts in (FEW, MANY))
    ideal = DRAFTS / ACCOUNTS * LATENCY
    return [
        Row(
            f"send {DRAFTS:,} due drafts to {ACCOUNTS} accounts, {1000 * LATENCY:.0f} ms each",
            f"{sent:.2f} s",
            f"the platform's own time {ideal:.2f} s",
            f"{sent / ideal:.2f}",
            f"at most {SEND_TARGET:g}",
            sent / ideal <= SEND_TARGET,
        ),
        Row(
            f"claim an account and what is due there, among {MANY:,} posts",
            f"{many:.2f} ms",
            f"among {FEW:,} {few:.2f} ms",
            f"{many / few:.2f}",
            f"under {CLAIM_TARGET:g} ms",
            many < CLAIM_TARGET,
        ),
    ]


async def _sent(home: Path) -> float:
    """Seconds for all of them, from the first claim to the last result on the disk."""
    server = FakeServer(knows_keys=False)
    async with open_desk(load({}, home), platforms={"fake": FakePlatform(server, latency=LATENCY)}) as desk:
        names = [await _connect(desk, number) for number in range(ACCOUNTS)]
        ids = [await _approved(desk, number) for number in range(DRAFTS)]
        for number, draft_id in enumerate(ids):
            await desk.ground.write(_plan, draft_id, names[number % ACCOUNTS])
        began = time.perf_counter()
        assert len(await desk.posting.send_due()) == DRAFTS
        took = time.perf_counter() - began
        posted = await desk.drafts.list(status="posted", limit=100)
        assert (len(server.posts), len(posted.items)) == (DRAFTS, 100)
    return took


async def _approved(desk: Desk, number: int) -> str:
    made = await desk.drafts.create({"text": f"The one thing worth saying on day {number}."})
    await desk.drafts.change(made.drafts[0].id, ChangeDraft(action=Action.APPROVE))
    return made.drafts[0].id


async def _connect(desk: Desk, number: int) -> str:
    name = f"me{number}"
    details = Account(platform="fake", server="https://fake.example", id=name, name=name)
    return await desk.ground.write(accounts.connect, new_id(datetime.now(UTC)), details, datetime.now(UTC))


def _plan(conn: Connection, user_id: str, draft_id: str, account_id: str) -> None:
    """As picking it up does: a state of the draft, and its delivery."""
    conn.exec_driver_sql("UPDATE draft SET status = 'posting' WHERE id = ?", (draft_id,))
    to = accounts.one(conn, user_id, account_id)
    assert to is not None
    now = datetime.now(UTC)
    plan(conn, user_id, draft_id, [to], now, now)


def _claim_among(home: Path, drafts: int) -> float:
    build(home / "copydesk.db", drafts)
    return asyncio.run(_claimed(home))


async def _claimed(home: Path) -> float:
    """Milliseconds from the question what is due to the first delivery in hand, its account claimed."""
    async with open_desk(load({}, home)) as desk:
        account_id = await _connect(desk, 0)
        with closing(sqlite3.connect(home / "copydesk.db")) as connection:
            connection.executescript(_POSTED.format(account=account_id))
            due = connection.execute("SELECT id FROM delivery ORDER BY id LIMIT 1").fetchone()[0]
            connection.execute("UPDATE delivery SET state = 'planned' WHERE id = ?", (due,))
            connection.commit()
        return statistics.median([await _one_claim(desk, account_id, due) for _ in range(ROUNDS)])


async def _one_claim(desk: Desk, account_id: str, due: str) -> float:
    ground, now = desk.ground, NOW + timedelta(days=1)
    mine = Sending(owner="a/1/1", claim_id=new_id(now), lease_until=now + timedelta(minutes=5))
    began = time.perf_counter()
    assert await ground.read(deliveries.accounts_ready, now) == (account_id,)
    await ground.read(accounts.sending, account_id)
    assert await ground.write(accounts.claim, account_id, mine, now, instead_of=None)
    assert [kept.id for kept in await ground.read(deliveries.ready, account_id, now)] == [due]
    took = 1000 * (time.perf_counter() - began)
    assert mine.claim_id
    await ground.write(accounts.release, account_id, mine.claim_id)
    return took
