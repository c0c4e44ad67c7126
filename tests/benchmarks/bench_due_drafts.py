"""From a draft's time to its post, with the jobs of `copydesk daemon`, and to the report of a draft that failed."""

import asyncio
import os
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_publishing import connect_account, create_approved, text_of
from table_row import Row

from copydesk.desk import Desk, open_desk
from copydesk.jobs import run_jobs
from copydesk.posting.fake import FakePlatform, FakePost, FakeServer
from copydesk.settings import Settings
from copydesk.store.column_types import to_microseconds
from desk_fixtures import execute_sql, settings_at
from store_fixtures import database_variables

DRAFTS, SPACING, LATENCY = 60, timedelta(seconds=0.5), 0.05
DELAY_TARGET, REPORT_TARGET = 2.0, 60.0
_MAKE_LATE = """
UPDATE draft SET status = 'scheduled', scheduled_at = ?, target_platforms = '["mastodon"]' WHERE id = ?
"""
_SENDER = """
import asyncio, os, sys
from pathlib import Path
from copydesk.desk import open_desk
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.settings import load

class Hanging(FakePlatform):
    async def send(self, *_):
        print("sending", flush=True)
        await asyncio.Event().wait()

async def main():
    async with open_desk(load(os.environ, Path(sys.argv[1])), platforms={"fake": Hanging(FakeServer())}) as desk:
        await desk.posting.post(sys.argv[2])

asyncio.run(main())
"""


def measure() -> list[Row]:
    """Return the rows of the table."""
    with TemporaryDirectory() as folder:
        delays = asyncio.run(_measure_delays(settings_at(Path(folder) / "delays")))
        reports = asyncio.run(_measure_reports(settings_at(Path(folder) / "reports")))
    late, median = statistics.quantiles(delays, n=20)[-1], statistics.median(delays)
    rows = [
        Row(
            f"a draft's time to its post, {DRAFTS} drafts, half of them scheduled by another desk while it waits",
            f"95th percentile {late:.2f} s",
            f"median {median:.2f} s, the platform's own time {LATENCY:.2f} s",
            f"{late / median:.1f}",
            f"at most {DELAY_TARGET:g} s",
            late <= DELAY_TARGET,
            late,
        )
    ]
    for label, seconds in reports.items():
        ratio = f"{seconds / REPORT_TARGET:.2f}"
        met = seconds <= REPORT_TARGET
        rows.append(Row(label, f"{seconds:.1f} s", "", ratio, f"at most {REPORT_TARGET:g} s", met, seconds))
    return rows


class _TimedServer(FakeServer):
    """Records the time at which each post arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.arrivals: dict[str, datetime] = {}

    def accept(self, account: str, key: str, text: str, parent: str | None) -> FakePost:
        self.arrivals[text] = datetime.now(UTC)
        return super().accept(account, key, text, parent)


async def _measure_delays(settings: Settings) -> list[float]:
    """Return the seconds from each draft's time to its post."""
    server = _TimedServer()
    platforms = {"fake": FakePlatform(server, latency=LATENCY)}
    async with open_desk(settings, platforms=platforms) as daemon, open_desk(settings, platforms=platforms) as console:
        # An account per draft: one account posts every five minutes.
        for number in range(DRAFTS):
            await connect_account(daemon, number)
        ids = [await create_approved(daemon, number, f"fake:me{number}") for number in range(DRAFTS)]
        first = datetime.now(UTC) + timedelta(seconds=5)
        times = [first + number * SPACING for number in range(DRAFTS)]
        planned = list(zip(ids, times, strict=True))
        for draft_id, at in planned[::2]:
            await daemon.drafts.schedule(draft_id, at)
        async with run_jobs(daemon, daemon=True):
            for draft_id, at in planned[1::2]:
                await asyncio.sleep((at - datetime.now(UTC)).total_seconds() - 1.2)
                await console.drafts.schedule(draft_id, at)
            while len(server.arrivals) < DRAFTS:  # noqa: ASYNC110 - the jobs run meanwhile
                await asyncio.sleep(0.05)
    return [(server.arrivals[text_of(number)] - at).total_seconds() for number, at in enumerate(times)]


async def _measure_reports(settings: Settings) -> dict[str, float]:
    """Return the seconds until a missed draft is reported, and a delivery whose sender was killed."""
    platforms = {"fake": FakePlatform(FakeServer())}
    async with open_desk(settings, platforms=platforms) as desk, open_desk(settings, platforms=platforms) as console:
        await connect_account(desk, 0)
        missed, sent = [await create_approved(desk, number) for number in range(2)]
        async with run_jobs(desk, daemon=True):
            await asyncio.sleep(2)
            missed_at = datetime.now(UTC) + timedelta(seconds=10)
            # By hand: nobody can schedule a draft in the past.
            due_at = to_microseconds(missed_at - timedelta(minutes=settings.schedule.grace_short_minutes))
            execute_sql(settings.data_home, _MAKE_LATE, due_at, missed)
            await asyncio.to_thread(_kill_while_sending, settings, sent)
            killed_at = datetime.now(UTC)
            times = await asyncio.gather(_time_of_status(console, missed, "missed"), _time_of_report(console, sent))
    return {
        "a missed draft: from the end of its grace period to its report": (times[0] - missed_at).total_seconds(),
        "a killed sender: from its end to the report of the outcome": (times[1] - killed_at).total_seconds(),
    }


def _kill_while_sending(settings: Settings, draft_id: str) -> None:
    """Post the draft in a process that is killed while its request is in progress."""
    command = [sys.executable, "-c", _SENDER, str(settings.data_home), draft_id]
    environment = os.environ | database_variables(settings.data_home)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"sending\n"
        # Until the jobs have looked at its commit: nothing announces its end.
        time.sleep(2)
        process.kill()


async def _time_of_status(desk: Desk, draft_id: str, status: str) -> datetime:
    while (await desk.drafts.get(draft_id)).status != status:  # noqa: ASYNC110 - it is in the database
        await asyncio.sleep(0.05)
    return datetime.now(UTC)


async def _time_of_report(desk: Desk, draft_id: str) -> datetime:
    while (await desk.posting.list_deliveries(draft_id))[0].state == "sending":  # noqa: ASYNC110 - see above
        await asyncio.sleep(0.05)
    return datetime.now(UTC)
