"""Sending a thousand due drafts to ten accounts, and claiming an account among a million posts."""

import asyncio
import statistics
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from large_desk import NOW, build_database
from sqlalchemy import Connection
from table_row import Row

from copydesk.desk import Desk, open_desk
from copydesk.desk.publishing.draft_deliveries import create_deliveries
from copydesk.model.delivery import Account
from copydesk.model.draft import Action
from copydesk.model.requests import ChangeDraft
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.store import accounts, deliveries
from copydesk.store.accounts import AccountLease
from copydesk.store.ids import new_id
from copydesk.store.raw_sql import execute_sql
from desk_fixtures import settings_at
from store_fixtures import connect_to, postgresql_server

DRAFTS, ACCOUNTS, LATENCY = 1_000, 10, 0.05
SMALL_DESK, LARGE_DESK, ROUNDS = 1_000, 1_000_000, 200
SEND_TARGET, CLAIM_TARGET = 1.3, 5.0
_POSTED = """
INSERT INTO engagement (id, user_id, draft_id, platform, account, format, status, retry_count, created_at)
SELECT id, user_id, id, 'fake', 'me0', format, 'posted', 0, created_at FROM draft;
INSERT INTO delivery
    (id, user_id, draft_id, account_id, state, version, due_at, seed, anyway, digest, sent_at, progress)
SELECT id, user_id, id, '{account}', 'sent', 2, created_at, id, FALSE, substr(id, 1, 32), created_at,
    '{{"state":"sent"}}'
FROM draft;
"""


def measure() -> list[Row]:
    """Return the rows of the table."""
    with TemporaryDirectory() as folder:
        sent = asyncio.run(_time_sending(Path(folder) / "sent"))
        small, large = (_time_claim(Path(folder) / str(drafts), drafts) for drafts in (SMALL_DESK, LARGE_DESK))
    ideal = DRAFTS / ACCOUNTS * LATENCY
    return [
        Row(
            f"send {DRAFTS:,} due drafts to {ACCOUNTS} accounts, {1000 * LATENCY:.0f} ms each",
            f"{sent:.2f} s",
            f"the platform's own time {ideal:.2f} s",
            f"{sent / ideal:.2f}",
            f"at most {SEND_TARGET:g}",
            sent / ideal <= SEND_TARGET,
            sent,
        ),
        Row(
            f"claim an account and what is due there, among {LARGE_DESK:,} posts",
            f"{large:.2f} ms",
            f"among {SMALL_DESK:,} {small:.2f} ms",
            f"{large / small:.2f}",
            f"under {CLAIM_TARGET:g} ms",
            large < CLAIM_TARGET,
            large,
        ),
    ]


async def _time_sending(home: Path) -> float:
    """Return the seconds for all drafts, from the first claim to the last result on disk."""
    server = FakeServer(knows_keys=False)
    async with open_desk(settings_at(home), platforms={"fake": FakePlatform(server, latency=LATENCY)}) as desk:
        account_ids = [await connect_account(desk, number) for number in range(ACCOUNTS)]
        ids = [await create_approved(desk, number) for number in range(DRAFTS)]
        for number, draft_id in enumerate(ids):
            await desk._context.write(create_delivery, draft_id, account_ids[number % ACCOUNTS])
        started = time.perf_counter()
        assert len(await desk.posting.send_due()) == DRAFTS
        seconds = time.perf_counter() - started
        posted = await desk.drafts.list(status="posted", limit=100)
        assert (len(server.posts), len(posted.items)) == (DRAFTS, 100)
    return seconds


def text_of(number: int) -> str:
    """Return the text of a draft."""
    return f"The one thing worth saying on day {number}."


async def create_approved(desk: Desk, number: int, *platforms: str) -> str:
    """Create an approved draft; return its id."""
    created = await desk.drafts.create({"text": text_of(number), "targetPlatforms": platforms})
    await desk.drafts.change(created.drafts[0].id, ChangeDraft(action=Action.APPROVE))
    return created.drafts[0].id


async def connect_account(desk: Desk, number: int) -> str:
    """Connect an account of the fake platform; return its id."""
    name = f"me{number}"
    details = Account(platform="fake", server="https://fake.example", id=name, name=name)
    return await desk._context.write(accounts.save, new_id(datetime.now(UTC)), details, datetime.now(UTC))


def create_delivery(conn: Connection, user_id: str, draft_id: str, account_id: str) -> None:
    """Set the draft to posting and create its delivery, as the scheduler does."""
    execute_sql(conn, "UPDATE draft SET status = 'posting' WHERE id = ?", (draft_id,))
    account = accounts.get(conn, user_id, account_id)
    assert account is not None
    now = datetime.now(UTC)
    create_deliveries(conn, user_id, draft_id, [account], now, now)


def _time_claim(home: Path, drafts: int) -> float:
    build_database(home, drafts)
    return asyncio.run(_measure_claims(home))


async def _measure_claims(home: Path) -> float:
    """Return the median milliseconds from looking up ready accounts to holding the first delivery."""
    async with open_desk(settings_at(home)) as desk:
        account_id = await connect_account(desk, 0)
        with closing(connect_to(home)) as connection, connection:
            if postgresql_server() is not None:
                # In one transaction each change of a total would be slower than the one before.
                connection.execute("SET session_replication_role = replica")
            for statement in _POSTED.format(account=account_id).strip().split(";\n"):
                connection.execute(statement)
            due = connection.execute("SELECT id FROM delivery ORDER BY id LIMIT 1").fetchone()[0]
            connection.execute("UPDATE delivery SET state = 'planned' WHERE id = ?", (due,))
        return statistics.median([await _claim_once(desk, account_id, due) for _ in range(ROUNDS)])


async def _claim_once(desk: Desk, account_id: str, due: str) -> float:
    """Claim the account and load its due delivery, then release it; return the milliseconds."""
    ctx, now = desk._context, NOW + timedelta(days=1)
    lease = AccountLease(owner="a/1/1", claim_id=new_id(now), lease_until=now + timedelta(minutes=5))
    started = time.perf_counter()
    assert await ctx.read(deliveries.list_ready_accounts, now) == (account_id,)
    await ctx.read(accounts.get_lease, account_id)
    assert await ctx.write(accounts.acquire_lease, account_id, lease, now, abandoned_claim_id=None)
    assert [row.id for row in await ctx.read(deliveries.list_ready, account_id, now)] == [due]
    milliseconds = 1000 * (time.perf_counter() - started)
    assert lease.claim_id
    await ctx.write(accounts.release_lease, account_id, lease.claim_id)
    return milliseconds
