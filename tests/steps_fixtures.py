"""Initial drafts of the state machine test, and conversions between results and the reference model."""

import asyncio
import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from hypothesis import strategies as st
from sqlalchemy import Connection

from copydesk.desk import open_desk
from copydesk.errors import ConflictError, CopydeskError, NotFoundError
from copydesk.model.change import ChangeDraft
from copydesk.model.draft import Action
from copydesk.model.history import SYSTEM as BY_ITSELF
from copydesk.model.history import EventKind
from copydesk.model.schedule import Slot
from copydesk.store import changes
from desk_fixtures import Watch, rows, settings_at
from proof_desk import furnish
from small_desk import Refused
from small_tables import HOURS, SYSTEM, UNKNOWN, WITH_TIME, Values

FORMATS = ("SHORT", "BLOG", "THREAD")
# Posting and posted drafts accept few actions; the other states are reached from these.
STARTS = (
    *("pending_review", "approved", "awaiting_review", "approved", "rejected", "changes_requested"),
    *("generation_failed", "pending_generation"),
)
TAKES_FEEDBACK = {"reject", "unapprove", "regenerate"}
_TOPS_QUERY = """SELECT draft.id, undo.version, redo.version FROM draft
    LEFT JOIN draft_event AS undo ON undo.rid = draft.undo_rid
    LEFT JOIN draft_event AS redo ON redo.rid = draft.redo_rid"""


def tops(home: Path) -> dict[str, tuple[int | None, int | None]]:
    """Return the versions that the next undo and the next redo of each draft revert."""
    return {draft_id: (undo, redo) for draft_id, undo, redo in rows(home, _TOPS_QUERY)}


def an_action(allowed, how):
    """Draw an action, mostly an allowed one, and seldom one that ends the draft's life."""
    frequent = sorted(set(allowed) - {"archive", "post"})
    anything = st.sampled_from([action.value for action in Action])
    return how.draw(st.sampled_from(frequent * 4 + sorted(allowed)) | anything if allowed else anything)


def what_goes_with(action, feedback, at, how):
    """Draw the arguments that the action accepts."""
    if action in TAKES_FEEDBACK:
        return {"feedback": feedback}
    if action == "reschedule":
        return {"at": at}
    if action == "schedule":
        at, smart = how.draw(st.sampled_from([(at, False), (at, True), (None, True), (None, False)]))
        return {"at": at, "smart": smart}
    return {}


async def answered(asked):
    """Await a call; return its result or its error."""
    try:
        return await asked
    except CopydeskError as error:
        return error


def check(answer, predicted) -> None:
    """Assert that the result is no error, or the predicted one with the same status and allowed actions."""
    if predicted is None:
        assert not isinstance(answer, Exception), answer
    elif predicted.status == UNKNOWN:
        assert isinstance(answer, NotFoundError), answer
    else:
        assert isinstance(answer, ConflictError), answer
        assert (answer.current_status, set(answer.allowed_actions)) == predicted, answer


def unconnected(refused):
    """Return the refusal of a post without a connected account: posting is not offered instead."""
    return Refused(refused.status, refused.allowed - {"post"})


def change_of(action, text, asked):
    """Return the desk's request for the model's arguments."""
    return ChangeDraft(
        action=Action(action) if action else None,
        text=text,
        feedback=asked.get("feedback"),
        scheduled_at=asked.get("at"),
        smart_schedule=asked.get("smart", False),
    )


def values_of(draft):
    """Return the draft's values in the form of the model."""
    return Values(
        draft.status,
        draft.text,
        draft.scheduled_at,
        draft.archived_at is not None,
        draft.feedback,
        draft.rejection_feedback,
    )


def happen(conn: Connection, user_id: str, draft_id: str, what: str, now) -> None:
    """Apply a system event as publishing and writing do: a change that cannot be undone."""
    snapshot = changes.one_seen(conn, user_id, draft_id)
    columns = {"status": SYSTEM[what][snapshot.status]}
    if columns["status"] not in WITH_TIME:
        columns |= dict.fromkeys(("scheduled_at", "scheduled_wall", "scheduled_zone"))
    change = changes.Step(kind=EventKind.FIXED, action=what, after=columns, at=now, who=BY_ITSELF)
    changes.put(conn, user_id, snapshot, change)


def under_way(conn: Connection, user_id: str) -> None:
    """Set new deliveries to unknown. Nothing sends them here, so they stay in doubt."""
    progress = "json_set(progress, '$.state', 'unknown', '$.doubt', json('true'))"
    conn.exec_driver_sql(f"UPDATE delivery SET state = 'unknown', progress = {progress} WHERE user_id = ?", (user_id,))


@cache
def furnished() -> Path:
    """Return a desk with its drafts, created once; each test case starts from a copy."""
    home = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, home)
    asyncio.run(_fill_template(home))
    return home


async def _fill_template(home: Path) -> None:
    async with open_desk(settings_at(home), clock=Watch()) as desk:
        await furnish(desk, STARTS, FORMATS)
        await desk.schedule.set_zone("UTC")
        await desk.schedule.set_slots(
            [Slot(day_of_week=day, hour=hour, minute=0) for day in range(7) for hour in HOURS]
        )
