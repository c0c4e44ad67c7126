"""States of the sample desk for the screenshots, at a fixed time."""

from datetime import datetime, timedelta

from sqlalchemy import Connection

from console_driver import NOW
from copydesk.desk import Desk
from copydesk.model.draft import Status
from copydesk.model.run import RunRequest
from copydesk.sample.desk import open_sample
from copydesk.settings import Settings
from experiments_desk import HASHTAGS, HOOK, insert_participants
from posted_desk import ZONE, insert_posts

__all__ = ["NOW"]

SLOTS = (
    *("mon 09:00", "tue 09:00", "wed 09:00", "thu 09:00", "fri 09:00"),
    *("mon 17:30", "wed 17:30", "thu 13:00", "fri 17:30", "sat 11:00", "sun 11:00"),
)
DRAFTS, APPROVED, SCHEDULED = 22, 7, 6
EXPERIMENT_AGE = timedelta(days=20)
SAMPLE_DRAFTS = 18
"""Drafts of the sample desk in terminals: fewer than there are, so that it does not matter what the writer declines."""


async def leave_empty(settings: Settings) -> None:
    """Leave the desk empty."""


async def run_pipeline(settings: Settings) -> None:
    """Run the pipeline."""
    async with open_sample(settings, clock=lambda: NOW) as desk:
        await desk.pipeline.run()


async def build_history(settings: Settings) -> None:
    """Approve, schedule and publish drafts, run an experiment, and prepare another one."""
    times = [NOW]

    def clock() -> datetime:
        return times[-1]

    async with open_sample(settings, clock=clock) as desk:
        await desk.schedule.set_zone(ZONE)
        await desk.schedule.set_slots([desk.schedule.parse_slot(slot) for slot in SLOTS])
        # Feed dates are relative to the desk's creation, so the clock goes back only after that.
        times.append(NOW - EXPERIMENT_AGE)
        experiment = await desk.experiments.create(HASHTAGS)
        await desk.experiments.create(HOOK)
        times.append(NOW)

        def add(conn: Connection, user: str) -> int:
            insert_posts(conn, user)
            insert_participants(conn, user, experiment.id)
            return 0

        await desk._context.write(add)
        await desk.pipeline.run(RunRequest(max_drafts=DRAFTS))
        await _schedule(desk)


async def _schedule(desk: Desk) -> None:
    page = await desk.drafts.list(status=Status.PENDING_REVIEW, limit=APPROVED)
    ids = [draft.id for draft in page.items]
    for draft_id in ids:
        await desk.drafts.approve(draft_id)
    await desk.schedule.auto_schedule(ids[:SCHEDULED])
