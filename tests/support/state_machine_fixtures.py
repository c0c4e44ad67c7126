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
from copydesk.model.draft import Action
from copydesk.model.requests import ChangeDraft
from copydesk.model.schedule import Slot
from copydesk.model.transitions import SYSTEM as BY_ITSELF
from copydesk.model.transitions import EventKind, SystemEvent
from copydesk.store import draft_updates
from desk_fixtures import Watch, query_db, settings_at
from draft_consistency import insert_drafts
from reference_tables import SLOT_HOURS, STATUS_AFTER_EVENT, TIMED_STATES, UNKNOWN, Values

FORMATS = ("SHORT", "BLOG", "THREAD")
# Posting and posted drafts accept few actions; the other states are reached from these.
INITIAL_STATES = (
    *("pending_review", "approved", "awaiting_review", "approved", "rejected", "changes_requested"),
    *("generation_failed", "pending_generation"),
)
FEEDBACK_ACTIONS = {"reject", "unapprove", "regenerate"}
_TOPS_QUERY = """SELECT draft.id, undo.version, redo.version FROM draft
    LEFT JOIN draft_event AS undo ON undo.rid = draft.undo_rid
    LEFT JOIN draft_event AS redo ON redo.rid = draft.redo_rid"""


def undo_redo_versions(home: Path) -> dict[str, tuple[int | None, int | None]]:
    """Return the versions that the next undo and the next redo of each draft revert."""
    return {draft_id: (undo, redo) for draft_id, undo, redo in query_db(home, _TOPS_QUERY)}


def draw_action(allowed, data):
    """Draw an action, mostly an allowed one, and seldom one that ends the draft's life.

    An allowed post is not drawn: it would send, which has proofs of its own.
    """
    possible = sorted(set(allowed) - {"post"})
    frequent = sorted(set(possible) - {"archive"})
    anything = st.sampled_from([action.value for action in Action if action != "post" or "post" not in allowed])
    return data.draw(st.sampled_from(frequent * 4 + possible) | anything if possible else anything)


def draw_arguments(action, feedback, at, data):
    """Draw the arguments that the action accepts."""
    if action in FEEDBACK_ACTIONS:
        return {"feedback": feedback}
    if action == "reschedule":
        return {"at": at}
    if action == "schedule":
        at, smart = data.draw(st.sampled_from([(at, False), (at, True), (None, True), (None, False)]))
        return {"at": at, "smart": smart}
    return {}


async def result_or_error(call):
    """Await a call; return its result or its error."""
    try:
        return await call
    except CopydeskError as error:
        return error


def assert_matches(result, predicted) -> None:
    """Assert that the result is no error, or the predicted one with the same status and allowed actions."""
    if predicted is None:
        assert not isinstance(result, Exception), result
    elif predicted.status == UNKNOWN:
        assert isinstance(result, NotFoundError), result
    else:
        assert isinstance(result, ConflictError), result
        assert (result.current_status, set(result.allowed_actions)) == predicted, result


def build_change(action, text, arguments):
    """Return the desk's request for the model's arguments."""
    return ChangeDraft(
        action=Action(action) if action else None,
        text=text,
        feedback=arguments.get("feedback"),
        scheduled_at=arguments.get("at"),
        smart_schedule=arguments.get("smart", False),
    )


def model_values(draft):
    """Return the draft's values in the form of the model."""
    return Values(
        draft.status,
        draft.text,
        draft.scheduled_at,
        draft.archived_at is not None,
        draft.feedback,
        draft.rejection_feedback,
    )


def apply_system_event(conn: Connection, user_id: str, draft_id: str, event: str, now) -> None:
    """Apply a system event as publishing and writing do: a change that cannot be undone."""
    if event == "writing_failed":
        snapshot = draft_updates.load_snapshot(conn, user_id, draft_id)
        error = {"last_error": "It failed."}
        draft_updates.apply_system_event(conn, user_id, snapshot, SystemEvent.GENERATION_FAILED, error, now)
        return
    snapshot = draft_updates.load_snapshot(conn, user_id, draft_id)
    columns = {"status": STATUS_AFTER_EVENT[event][snapshot.status]}
    if columns["status"] not in TIMED_STATES:
        columns |= dict.fromkeys(("scheduled_at", "scheduled_wall", "scheduled_zone"))
    change = draft_updates.DraftUpdate(kind=EventKind.PERMANENT, action=event, after=columns, at=now, actor=BY_ITSELF)
    draft_updates.apply_update(conn, user_id, snapshot, change)


def leave_deliveries_unknown(conn: Connection, user_id: str) -> None:
    """Set new deliveries to unknown. Nothing sends them here, so they stay in doubt."""
    progress = "json_set(progress, '$.state', 'unknown', '$.doubt', json('true'))"
    conn.exec_driver_sql(f"UPDATE delivery SET state = 'unknown', progress = {progress} WHERE user_id = ?", (user_id,))


@cache
def template_home() -> Path:
    """Return a desk with its drafts, created once; each test case starts from a copy."""
    home = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, home)
    asyncio.run(_fill_template(home))
    return home


async def _fill_template(home: Path) -> None:
    async with open_desk(settings_at(home), clock=Watch()) as desk:
        await insert_drafts(desk, INITIAL_STATES, FORMATS)
        await desk.schedule.set_zone("UTC")
        await desk.schedule.set_slots(
            [Slot(day_of_week=day, hour=hour, minute=0) for day in range(7) for hour in SLOT_HOURS]
        )
