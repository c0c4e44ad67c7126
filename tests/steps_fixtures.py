"""What the state machine of drafts begins with, and how answers and drafts are read."""

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
# What is waiting or posted takes little, and the rest of the states are come to.
STARTS = (
    *("pending_review", "approved", "awaiting_review", "approved", "rejected", "changes_requested"),
    *("generation_failed", "pending_generation"),
)
TAKES_FEEDBACK = {"reject", "unapprove", "regenerate"}
_TOPS = """SELECT draft.id, undo.version, redo.version FROM draft
    LEFT JOIN draft_event AS undo ON undo.rid = draft.undo_rid
    LEFT JOIN draft_event AS redo ON redo.rid = draft.redo_rid"""


def tops(home: Path) -> dict[str, tuple[int | None, int | None]]:
    """Of each draft the versions that the next undo and the next redo take back."""
    return {draft_id: (undo, redo) for draft_id, undo, redo in rows(home, _TOPS)}


def an_action(allowed, how):
    """Mostly one of those that the draft takes, and of these seldom one after which it takes no other."""
    fit = sorted(set(allowed) - {"archive", "post"})
    anything = st.sampled_from([action.value for action in Action])
    return how.draw(st.sampled_from(fit * 4 + sorted(allowed)) | anything if allowed else anything)


def what_goes_with(action, feedback, at, how):
    """What is asked beside an action: only what it takes."""
    if action in TAKES_FEEDBACK:
        return {"feedback": feedback}
    if action == "reschedule":
        return {"at": at}
    if action == "schedule":
        at, smart = how.draw(st.sampled_from([(at, False), (at, True), (None, True), (None, False)]))
        return {"at": at, "smart": smart}
    return {}


async def answered(asked):
    """What is answered, or the error."""
    try:
        return await asked
    except CopydeskError as error:
        return error


def check(answer, predicted) -> None:
    """The answer is no error, or the one that was predicted, which names the state and what is allowed."""
    if predicted is None:
        assert not isinstance(answer, Exception), answer
    elif predicted.status == UNKNOWN:
        assert isinstance(answer, NotFoundError), answer
    else:
        assert isinstance(answer, ConflictError), answer
        assert (answer.current_status, set(answer.allowed_actions)) == predicted, answer


def unconnected(refused):
    """The refusal of a post: it is not among what is offered instead."""
    return Refused(refused.status, refused.allowed - {"post"})


def change_of(action, text, asked):
    """What is asked of the desk, as the model is asked for it."""
    return ChangeDraft(
        action=Action(action) if action else None,
        text=text,
        feedback=asked.get("feedback"),
        scheduled_at=asked.get("at"),
        smart_schedule=asked.get("smart", False),
    )


def values_of(draft):
    """What the model knows of a draft."""
    return Values(
        draft.status,
        draft.text,
        draft.scheduled_at,
        draft.archived_at is not None,
        draft.feedback,
        draft.rejection_feedback,
    )


def happen(conn: Connection, user_id: str, draft_id: str, what: str, now) -> None:
    """What those do who post and write, in their place: a change that stands."""
    seen = changes.one_seen(conn, user_id, draft_id)
    after = {"status": SYSTEM[what][seen.status]}
    if after["status"] not in WITH_TIME:
        after |= dict.fromkeys(("scheduled_at", "scheduled_wall", "scheduled_zone"))
    step = changes.Step(kind=EventKind.FIXED, action=what, after=after, at=now, who=BY_ITSELF)
    changes.put(conn, user_id, seen, step)


def under_way(conn: Connection, user_id: str) -> None:
    """The deliveries that a pick-up began are sent by nobody here, and nobody gives them up: they stay in doubt."""
    progress = "json_set(progress, '$.state', 'unknown', '$.doubt', json('true'))"
    conn.exec_driver_sql(f"UPDATE delivery SET state = 'unknown', progress = {progress} WHERE user_id = ?", (user_id,))


@cache
def furnished() -> Path:
    """A desk with its drafts, made once: each course begins with a copy."""
    home = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, home)
    asyncio.run(_furnish(home))
    return home


async def _furnish(home: Path) -> None:
    async with open_desk(settings_at(home), clock=Watch()) as desk:
        await furnish(desk, STARTS, FORMATS)
        await desk.schedule.set_zone("UTC")
        await desk.schedule.set_slots(
            [Slot(day_of_week=day, hour=hour, minute=0) for day in range(7) for hour in HOURS]
        )
