"""The schedule: weekly slots, the next free one, conflicts, automatic scheduling."""

from datetime import datetime
from typing import Any

from copydesk.errors import FieldError, InvalidError
from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.http.resources.drafts import EXAMPLE_ID
from copydesk.model.draft import Draft
from copydesk.model.schedule import AutoSchedule, AutoScheduleRequest, Conflicts, Slot
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope
from copydesk.model.validation import Id

operations = Operations("Schedule")


class ScheduleNext(Struct, frozen=True, forbid_unknown_fields=True):
    """Schedule an approved draft in the next free slot."""

    draft_id: Id


class ConflictsQuery(Struct, frozen=True):
    """Parameters of the check for conflicts."""

    scheduled_at: datetime
    exclude_draft_id: str | None = None


@operations.add("GET", "/schedule/slots", scope=Scope.READ, response=tuple[Slot, ...])
async def list_slots(call: Call) -> tuple[Slot, ...]:
    """List the weekly slots, Sunday first, as wall-clock times in the user's time zone."""
    return await call.desk.schedule.slots()


@operations.add(
    "PUT",
    "/schedule/slots",
    scope=Scope.PUBLISH,
    body=tuple[Slot, ...],
    response=tuple[Slot, ...],
    example=[{"dayOfWeek": 1, "hour": 9, "minute": 0}],
)
async def replace_slots(call: Call) -> tuple[Slot, ...]:
    """Replace all slots, and return them."""
    return await call.desk.schedule.set_slots(call.body)


@operations.add(
    "POST",
    "/schedule/next",
    scope=Scope.PUBLISH,
    body=ScheduleNext,
    response=Draft,
    errors=(404, 409),
    headers=("ETag",),
    example={"draftId": EXAMPLE_ID},
)
async def schedule_next(call: Call) -> Draft:
    """Schedule an approved draft in the next free slot, and return the draft."""
    if call.body.get("draftId") is None:
        raise InvalidError(FieldError("draftId", "is missing"))
    draft = await call.desk.schedule.schedule_next(call.body["draftId"])
    call.set_version(draft.version)
    return draft


@operations.add("GET", "/schedule/conflicts", scope=Scope.READ, query=ConflictsQuery, response=Conflicts)
async def list_conflicts(call: Call) -> Conflicts:
    """List the drafts that are scheduled within 30 minutes of a time."""
    if "scheduled_at" not in call.query:
        raise InvalidError(FieldError("scheduledAt", "is missing"))
    scheduled_at: Any = call.query["scheduled_at"]
    exclude: Any = call.query.get("exclude_draft_id")
    return await call.desk.schedule.conflicts(scheduled_at, exclude)


@operations.add(
    "POST",
    "/schedule/auto",
    scope=Scope.PUBLISH,
    body=AutoScheduleRequest,
    body_required=False,
    response=AutoSchedule,
    example={"draftIds": [EXAMPLE_ID]},
)
async def schedule_automatically(call: Call) -> AutoSchedule:
    """Schedule approved drafts in the free slots, by confidence; without `draftIds` all of them."""
    return await call.desk.schedule.auto_schedule(call.body.get("draftIds"))
