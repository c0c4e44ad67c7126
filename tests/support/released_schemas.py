"""A small database of each released revision, `tests/store/released/REVISION.db.gz`.

A database of a new revision is added by running this file, before the revision is released. It is never made again.
"""

import asyncio
import gzip
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from copydesk.desk import Desk
from copydesk.desk.idempotency import Outcome
from copydesk.model.token import Scope
from populated_desk import open_populated_desk, populate
from posting_fixtures import create_approved_draft

FOLDER = Path(__file__).parents[1] / "store" / "released"


def unpack(revision: str, target: Path) -> Path:
    """Write the database of that revision to `target`; return it."""
    target.write_bytes(gzip.decompress((FOLDER / f"{revision}.db.gz").read_bytes()))
    return target


async def respond() -> Outcome:
    """Return the response to a request."""
    return Outcome(response=b"response")


async def create_desk(home: Path) -> None:
    """Create a desk with rows in most tables."""
    await populate(home)
    async with open_populated_desk(home) as desk:
        await desk.voice.update({"style": "dry"})
        await desk.tokens.create("agent", Scope.DRAFT)
        await desk.idempotency.run("key", b"fingerprint", respond)
        await desk.schedule.set_slots([{"dayOfWeek": 1, "hour": 9, "minute": 0}])
        await desk.pipeline.run()
        await desk.posting.post(await create_approved_draft(desk))
        scheduled = await create_approved_draft(desk)
        await desk.drafts.change(scheduled, {"action": "schedule", "smartSchedule": True})
        await add_activity(desk, scheduled)


async def add_activity(desk: Desk, draft_id: str) -> None:
    """Let two reviewers edit the draft and comment on it."""
    await desk.drafts.activity.view(draft_id)
    lease = await desk.drafts.activity.start_edit(draft_id)
    await desk.drafts.activity.renew_edit(draft_id, lease.id, "Typed, and not saved.")
    await desk.drafts.activity.start_edit(draft_id, take_over=True)
    comment = await desk.drafts.comments.add(draft_id, "Shorter?")
    await desk.drafts.comments.resolve(comment.id)


def write_fixture() -> Path:
    """Write the database of the current revision; return its path."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        asyncio.run(create_desk(home))
        copy = home / "copy.db"
        with closing(sqlite3.connect(home / "copydesk.db")) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
            (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        target = FOLDER / f"{revision}.db.gz"
        target.write_bytes(gzip.compress(copy.read_bytes(), mtime=0))
    return target


if __name__ == "__main__":
    print(write_fixture())
