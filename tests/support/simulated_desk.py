"""A desk that lives through many days in seconds: feeds that grow, a user who decides each morning, a fake platform."""

import asyncio
import gc
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import httpx

from copydesk.desk import Desk, open_desk
from copydesk.jobs import JobMessage, Jobs
from copydesk.model.requests import BulkChange
from copydesk.model.schedule import Slot
from copydesk.posting.fake import FakePlatform, FakeServer
from desk_fixtures import NOW, RSS, Watch, create_source, entry, feed, made_up_word, settings_at
from posting_fixtures import connect_account

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
ZONE = ZoneInfo("America/New_York")
START = datetime(2026, 3, 7, tzinfo=ZONE)
"""The day before clocks go forward; they go back in autumn."""
SLOTS = ((9, 0), (13, 30), (18, 45))
"""Wall-clock times of each day's posts."""
DECISION_HOUR = 8
ENTRY_GAPS = {"news": 3, "blog": 7, "magazine": 16, "lab": 45}
"""Hours between two entries, by the name of the feed."""
FEED_LENGTH = 25
RETENTION = {f"retention__{name}_days": "60" for name in ("items", "runs", "readings", "undone")}
"""So that most of what the desk collects in a year is deleted again."""
_SECTIONS = ("The council", "Every harbour", "A new pier", "This winter", "The crew", "Each evening")


class GrowingFeeds(httpx.AsyncBaseTransport):
    """Feeds of the newest entries by the clock; a conditional request for an unchanged one is answered with 304."""

    def __init__(self, clock: Watch) -> None:
        self._clock = clock

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the feed that the host names."""
        names = list(ENTRY_GAPS)
        index = names.index(request.url.host.partition(".")[0])
        gap = ENTRY_GAPS[names[index]] * HOUR
        newest = (self._clock() - START) // gap + FEED_LENGTH
        headers = {"content-type": RSS, "etag": f'"{newest}"'}
        if request.headers.get("if-none-match") == headers["etag"]:
            return httpx.Response(304, headers=headers)
        entries = (
            _long_entry(len(names) * number + index, START + (number - FEED_LENGTH) * gap)
            for number in range(newest, newest - FEED_LENGTH, -1)
        )
        return httpx.Response(200, headers=headers, content=feed(*entries, title=names[index]))


def _long_entry(number: int, published: datetime) -> str:
    words = [made_up_word(4 * number + offset) for offset in range(4)]
    sentences = (f"{start} of {words[at % 4]} counts {number + at} boats." for at, start in enumerate(_SECTIONS * 3))
    return entry(number, hours=0, now=published, text=" ".join(sentences))


class Reading(NamedTuple):
    """The size of things at the end of a day."""

    database: int
    """Bytes of the database and its log."""
    backups: int
    """Files in the folder of backups."""
    memory: int
    """Resident bytes of the process."""
    blocks: int
    """Memory blocks that Python holds."""
    open_files: int
    cpu: float
    """Seconds of processor time used so far."""


class Year(NamedTuple):
    """What happened to a desk in its days."""

    failures: list[JobMessage]
    post_times: list[datetime]
    """Time at which each post arrived."""
    posts: list[str]
    readings: list[Reading]


def live_year(home: Path, days: int, *, days_per_start: int) -> Year:
    """Run a desk for some days, and return what happened.

    In a process of its own: what other tests have left in this one would be measured, too.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(_live_year, home, days, days_per_start).result()


def _live_year(home: Path, days: int, days_per_start: int) -> Year:
    return asyncio.run(_live_days(SimulatedDesk(home), days, days_per_start))


async def _live_days(simulated: "SimulatedDesk", days: int, days_per_start: int) -> Year:
    async with simulated.open() as desk:
        await simulated.set_up(desk)
    readings = []
    for _ in range(0, days, days_per_start):
        async with simulated.open() as desk:
            await simulated.live_days(desk, days_per_start)
        readings.append(simulated.read())
    posts = [post.text for post in simulated.server.posts]
    return Year(simulated.failures, simulated.post_times, posts, readings)


class SimulatedDesk:
    """A desk in `home`, whose days pass with `live_days`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.clock = Watch(START.astimezone(NOW.tzinfo))
        self.server = FakeServer()
        self.failures: list[JobMessage] = []
        self.post_times: list[datetime] = []

    def open(self):
        """Open the desk; `set_up` it once."""
        settings = settings_at(self.home, jobs__pipeline_minutes="720", pipeline__max_drafts="5", **RETENTION)
        platforms = {"fake": FakePlatform(self.server)}
        return open_desk(settings, clock=self.clock, transport=GrowingFeeds(self.clock), platforms=platforms)

    async def set_up(self, desk: Desk) -> None:
        """Connect an account, add the feeds, and define the weekly slots."""
        await connect_account(desk, now=self.clock())
        for name in ENTRY_GAPS:
            await create_source(desk, f"https://{name}.example/feed", name=name)
        await desk.schedule.set_zone(ZONE.key)
        await desk.schedule.set_slots(
            [Slot(day_of_week=day, hour=hour, minute=minute) for day in range(7) for hour, minute in SLOTS]
        )

    async def live_days(self, desk: Desk, days: int) -> None:
        """Run the daemon's jobs for these days of the wall clock; the user decides each morning."""
        jobs = Jobs(desk, fetches_sources=True, backup_delay=timedelta(0), listener=self._listen)
        for _ in range(days):
            today = self.clock().astimezone(ZONE)
            # Added to the wall clock: a day of a clock change has 23 or 25 hours.
            tomorrow = (today + DAY).replace(hour=0, minute=0)
            decided = False
            while self.clock() < tomorrow:
                if not decided and self.clock().astimezone(ZONE).hour == DECISION_HOUR:
                    decided = True
                    await self._decide(desk)
                wait = await jobs.tick()
                await jobs.drain()
                self.post_times += [self.clock()] * (len(self.server.posts) - len(self.post_times))
                self.clock.now += min(HOUR, wait or HOUR)
            await desk.release_memory()
        await jobs.stop()

    async def _decide(self, desk: Desk) -> None:
        """Edit the best draft, approve as many as the day has slots, reject the others, and schedule."""
        queue = await desk.drafts.queue()
        if queue:
            await desk.drafts.edit(queue[0].id, f"{queue[0].text[:200]} Worth a look.")
        ids = [draft.id for draft in queue]
        if chosen := tuple(ids[: len(SLOTS)]):
            await desk.drafts.bulk(BulkChange(action="approve", ids=chosen))
        if left := tuple(ids[len(SLOTS) :]):
            await desk.drafts.bulk(BulkChange(action="reject", ids=left, feedback="Not today."))
        await desk.schedule.auto_schedule()

    def _listen(self, message: JobMessage) -> None:
        if message.failed:
            self.failures.append(message)

    def read(self) -> Reading:
        """Measure the desk and this process."""
        gc.collect()
        folder = self.home / "backups"
        return Reading(
            database=sum(file.stat().st_size for file in self.home.glob("copydesk.db*")),
            backups=len(list(folder.iterdir())) if folder.exists() else 0,
            memory=int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
            blocks=sys.getallocatedblocks(),
            open_files=len(list(Path("/proc/self/fd").iterdir())),
            cpu=time.process_time(),
        )
