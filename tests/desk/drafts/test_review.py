"""Tests for changing one draft: every action in every status, edits, times, races between two desks."""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from copydesk.errors import ConflictError, InvalidError, NotFoundError, StaleVersionError
from copydesk.model.draft import Action, Status
from copydesk.model.schedule import Slot
from copydesk.model.serialization import to_json_value
from copydesk.model.transitions import allowed_actions, can_edit, next_status
from copydesk.store import schedule
from desk_fixtures import (
    NOW,
    URL_ONE,
    FakeWeb,
    Watch,
    create_source,
    entry,
    execute_sql,
    feed,
    list_drafts,
    open_desk_at,
    query_db,
)

LATER = NOW + timedelta(days=2)
MONDAY, WEDNESDAY = Slot(day_of_week=1, hour=9, minute=0), Slot(day_of_week=3, hour=14, minute=30)
UNKNOWN_ID = "019c4a5e-0000-7000-8000-000000000000"


@pytest.fixture
async def desk(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        yield desk


async def create_draft(desk, text: str = "The harbour opens on Monday.") -> str:
    """Create a draft that awaits review and return its id."""
    return (await desk.drafts.create({"text": text})).drafts[0].id


async def create_approved(desk) -> str:
    draft_id = await create_draft(desk)
    await desk.drafts.approve(draft_id)
    return draft_id


def set_columns(home, draft_id: str, **columns: object) -> None:
    """Change columns of a draft directly in the database."""
    assignments = ", ".join(f"{name} = ?" for name in columns)
    execute_sql(home, f"UPDATE draft SET {assignments} WHERE id = ?", *columns.values(), draft_id)


def snapshot(home) -> list[list[tuple[object, ...]]]:
    """Return all rows that belong to drafts."""
    return [query_db(home, f"SELECT * FROM {table}") for table in ("draft", "draft_event", "item", "draft_tag")]


def request_for(action: Action) -> dict[str, object]:
    return {"action": action, "scheduledAt": LATER} if action is Action.RESCHEDULE else {"action": action}


async def set_slots(desk, *slots: Slot) -> None:
    await desk._context.write(schedule.replace_slots, slots)


async def test_action_status_matrix(desk, tmp_path):
    await set_slots(desk, MONDAY)
    draft_id = await create_draft(desk)
    for version, (action, status) in enumerate(product(set(Action) - {Action.POST}, Status), start=100):
        set_columns(
            tmp_path,
            draft_id,
            status=status.value,
            archived_at=None,
            version=version * 2,
            scheduled_at=None,
            scheduled_wall=None,
        )
        before = snapshot(tmp_path)
        if action in allowed_actions(status, archived=False):
            assert (await desk.drafts.change(draft_id, request_for(action))).status == next_status(
                action, status, archived=False
            )
            continue
        with pytest.raises(ConflictError) as refused:
            await desk.drafts.change(draft_id, request_for(action))
        with pytest.raises(ConflictError) as by_table:
            next_status(action, status, archived=False)
        assert str(refused.value) == str(by_table.value)
        assert refused.value.current_status == status
        assert refused.value.allowed_actions == allowed_actions(status, archived=False)
        assert snapshot(tmp_path) == before


async def test_scheduled_draft_refuses_schedule_with_its_time(desk):
    draft_id = await create_draft(desk)
    await desk.drafts.change(draft_id, {"action": "approve"})
    await desk.drafts.change(draft_id, {"action": "schedule", "scheduledAt": "2027-03-01T09:00:00Z"})
    with pytest.raises(
        ConflictError, match=r"^Already scheduled for Mon 1 Mar 09:00\. Use reschedule, unschedule or post"
    ):
        await desk.drafts.change(draft_id, {"action": "schedule", "scheduledAt": "2027-03-02T09:00:00Z"})


@pytest.mark.parametrize("status", Status)
async def test_edit_is_possible_in_allowed_statuses(desk, tmp_path, status):
    draft_id = await create_draft(desk)
    set_columns(tmp_path, draft_id, status=status.value)
    before = snapshot(tmp_path)
    if can_edit(status, archived=False):
        assert (await desk.drafts.edit(draft_id, "Another text.")).text == "Another text."
        return
    with pytest.raises(ConflictError, match=r"^Cannot edit a"):
        await desk.drafts.edit(draft_id, "Another text.")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("action", Action)
async def test_archived_draft_accepts_no_action(desk, tmp_path, action):
    draft_id = await create_draft(desk)
    await desk.drafts.archive(draft_id)
    before = snapshot(tmp_path)
    with pytest.raises(ConflictError, match="an archived draft"):
        await desk.drafts.change(draft_id, request_for(action))

    assert snapshot(tmp_path) == before


async def test_change_returns_draft_without_item(desk):
    document = to_json_value(await desk.drafts.approve(await create_draft(desk)))

    assert isinstance(document, dict)
    assert "item" not in document
    assert (document["status"], document["version"]) == ("approved", 2)


async def test_change_increments_version_and_writes_event(tmp_path):
    clock = Watch()
    async with open_desk_at(tmp_path, FakeWeb(), clock) as desk:
        draft_id = await create_draft(desk)
        clock.advance(60)
        approved_draft = await desk.drafts.approve(draft_id)
        clock.advance(60)
        rejected_draft = await desk.drafts.reject(draft_id, "Too long.")
        events = await desk.drafts.history(draft_id)

    assert [approved_draft.version, rejected_draft.version] == [2, 3]
    assert [approved_draft.updated_at, rejected_draft.updated_at] == [
        NOW + timedelta(minutes=1),
        NOW + timedelta(minutes=2),
    ]
    assert [(event.version, event.action, event.who, event.feedback) for event in events] == [
        (1, "create", "user", None),
        (2, "approve", "user", None),
        (3, "reject", "user", "Too long."),
    ]
    approvals = events[1].after["approvals"]
    assert [approval.at for approval in approvals] == [NOW + timedelta(minutes=1)]
    assert events[1].before == {"status": Status.AWAITING_REVIEW, "approvals": ()}
    assert events[1].after == {"status": Status.APPROVED, "approvals": approvals}
    assert events[2].before == {"status": Status.APPROVED, "rejection_feedback": None, "approvals": approvals}
    assert events[2].after == {"status": Status.REJECTED, "rejection_feedback": "Too long.", "approvals": ()}


async def test_edit_runs_checks(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        (draft,) = await list_drafts(desk)
        edited = await desk.drafts.edit(draft.id, "999 ferries will sink, says #nobody #at #all #of #them #ever")

    assert edited.checks != draft.checks
    assert edited.checks.ran == draft.checks.ran
    assert edited.sentences == ()
    assert draft.sentences


async def test_edit_keeps_traces_of_unchanged_sentences(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        (draft,) = await list_drafts(desk)
        edited = await desk.drafts.edit(draft.id, f"{draft.sentences[0].text} And a word of mine.")

    assert edited.sentences == draft.sentences[:1]


async def test_edit_and_action_are_one_change(desk, tmp_path):
    draft_id = await create_draft(desk)
    set_columns(tmp_path, draft_id, status="changes_requested")
    changed = await desk.drafts.change(draft_id, {"text": "Better.", "action": "approve"})

    assert (changed.text, changed.status, changed.version) == ("Better.", "approved", 2)
    assert [event.action for event in await desk.drafts.history(draft_id)] == ["create", "approve"]


async def test_refused_action_discards_edit(desk, tmp_path):
    draft_id = await create_draft(desk)
    before = snapshot(tmp_path)
    with pytest.raises(ConflictError, match="Cannot reschedule a draft with the status “needs review”"):
        await desk.drafts.change(draft_id, {"text": "Better.", "action": "reschedule", "scheduledAt": LATER})

    assert snapshot(tmp_path) == before


async def test_feedback_is_cleared_with_its_status(desk, tmp_path):
    draft_id = await create_draft(desk)
    rejected = await desk.drafts.reject(draft_id, " Too long. ")
    approved_draft = await desk.drafts.approve(draft_id)
    unapproved = await desk.drafts.unapprove(draft_id, "Shorter, please.")
    set_columns(tmp_path, draft_id, last_error="It broke.")
    archived = await desk.drafts.archive(draft_id)

    assert (rejected.rejection_feedback, approved_draft.rejection_feedback) == ("Too long.", None)
    assert (unapproved.status, unapproved.feedback) == ("changes_requested", "Shorter, please.")
    assert (archived.status, archived.feedback, archived.last_error) == (
        "changes_requested",
        unapproved.feedback,
        "It broke.",
    )
    await desk.drafts.undo(draft_id)
    assert (await desk.drafts.approve(draft_id)).feedback is None
    assert (await desk.drafts.get(draft_id)).last_error is None


async def test_regenerate_reuses_last_feedback(desk):
    rejected_id, unapproved_id, new_id = await create_draft(desk), await create_draft(desk), await create_draft(desk)
    await desk.drafts.reject(rejected_id, "Too long.")
    await desk.drafts.approve(unapproved_id)
    await desk.drafts.unapprove(unapproved_id, "Too short.")

    assert (await desk.drafts.regenerate(rejected_id)).feedback == "Too long."
    assert (await desk.drafts.regenerate(unapproved_id)).feedback == "Too short."
    changed = await desk.drafts.regenerate(new_id, "Another sentence.")
    assert (changed.status, changed.feedback) == ("pending_regeneration", "Another sentence.")


async def test_post_without_platform_is_refused(desk, tmp_path):
    draft_id = await create_approved(desk)
    before = snapshot(tmp_path)
    with pytest.raises(ConflictError, match="No accounts connected") as refused:
        await desk.drafts.change(draft_id, {"action": "post"})

    assert "post" not in refused.value.allowed_actions
    assert snapshot(tmp_path) == before


async def test_time_is_stored_with_wall_time_and_zone(desk, tmp_path):
    execute_sql(tmp_path, "UPDATE user SET time_zone = 'Europe/Prague'")
    draft_id = await create_approved(desk)
    time = datetime(2026, 7, 1, 9, 30, tzinfo=UTC)
    changed = await desk.drafts.schedule(draft_id, time)

    assert (changed.status, changed.scheduled_at) == ("scheduled", time)
    wall_times = query_db(tmp_path, "SELECT scheduled_wall, scheduled_zone FROM draft")
    assert wall_times == [("2026-07-01T11:30", "Europe/Prague")]
    moved = await desk.drafts.reschedule(draft_id, time + timedelta(hours=1))
    assert moved.scheduled_at == time + timedelta(hours=1)
    unscheduled = await desk.drafts.cancel_schedule(draft_id)
    assert (unscheduled.status, unscheduled.scheduled_at) == ("approved", None)
    assert query_db(tmp_path, "SELECT scheduled_wall, scheduled_zone FROM draft") == [(None, None)]


async def test_schedule_without_time_takes_next_slot(desk):
    await set_slots(desk, WEDNESDAY, MONDAY)
    times = [(await desk.drafts.schedule(await create_approved(desk))).scheduled_at for _ in range(3)]

    assert [f"{time:%a %d %H:%M}" for time in times] == ["Wed 11 14:30", "Mon 16 09:00", "Wed 18 14:30"]


async def test_smart_schedule_takes_next_slot_after_time(desk):
    await set_slots(desk, MONDAY)
    time = datetime(2026, 2, 23, 9, 0, tzinfo=UTC)
    first_id, second_id = await create_approved(desk), await create_approved(desk)

    assert (await desk.drafts.schedule(first_id, time, smart=True)).scheduled_at == time
    assert (await desk.drafts.schedule(second_id, time, smart=True)).scheduled_at == time + timedelta(weeks=1)


async def test_rescheduled_draft_frees_its_slot(desk):
    await set_slots(desk, MONDAY)
    first_id, second_id = await create_approved(desk), await create_approved(desk)
    first = (await desk.drafts.schedule(first_id)).scheduled_at
    await desk.drafts.reschedule(first_id, LATER)

    assert (await desk.drafts.schedule(second_id)).scheduled_at == first


async def test_schedule_without_slots_is_refused(desk, tmp_path):
    draft_id = await create_approved(desk)
    before = snapshot(tmp_path)
    for request in ({"action": "schedule"}, {"action": "schedule", "smartSchedule": True, "scheduledAt": LATER}):
        with pytest.raises(ConflictError, match="No weekly slots") as refused:
            await desk.drafts.change(draft_id, request)
        assert refused.value.current_status == "approved"
    assert snapshot(tmp_path) == before


async def test_full_schedule_is_reported(desk, tmp_path):
    await set_slots(desk, MONDAY)
    monday = datetime(2026, 2, 16, 9, 0, tzinfo=UTC)
    for week in range(53):
        set_columns(
            tmp_path,
            await create_draft(desk),
            status="scheduled",
            scheduled_at=int((monday + timedelta(weeks=week)).timestamp()) * 10**6,
        )
    draft_id = await create_approved(desk)
    before = snapshot(tmp_path)
    with pytest.raises(ConflictError, match="All slots in the next 366 days are taken"):
        await desk.drafts.change(draft_id, {"action": "schedule", "smartSchedule": True})

    assert snapshot(tmp_path) == before


INVALID_REQUESTS = {
    "action": [{}, {"action": "publish"}, {"action": 5}, {"feedback": "x"}],
    "text": [{"text": ""}, {"text": "x" * 50_001}, {"text": "a\x00b"}],
    "scheduledAt": [
        {"action": "reschedule"},
        {"action": "schedule", "scheduledAt": NOW.isoformat()},
        {"action": "schedule", "scheduledAt": "2026-02-12T09:00:00"},
        {"action": "schedule", "scheduledAt": "9999-12-31T23:59:59Z"},
        {"action": "schedule", "scheduledAt": "9999-12-31T23:59:59-12:00"},
        {"action": "schedule", "scheduledAt": "soon"},
        {"action": "approve", "scheduledAt": LATER},
    ],
    "feedback": [{"action": "approve", "feedback": "x"}, {"action": "reject", "feedback": "x" * 5001}],
    "smartSchedule": [{"action": "reschedule", "scheduledAt": LATER, "smartSchedule": True}],
    "platforms": [{"action": "approve", "platforms": ["x"]}],
    "colour": [{"action": "approve", "colour": "red"}],
}


@pytest.mark.parametrize(
    ("field", "payload"), [(field, payload) for field, payloads in INVALID_REQUESTS.items() for payload in payloads]
)
async def test_invalid_request_names_field(desk, tmp_path, field, payload):
    draft_id = await create_approved(desk)
    before = snapshot(tmp_path)
    with pytest.raises(InvalidError) as refused:
        await desk.drafts.change(draft_id, payload)

    assert field in [error.field for error in refused.value.errors]
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("draft_id", [UNKNOWN_ID, "", "x" * 100_000, "'; DROP TABLE draft; --"])
async def test_unknown_id_is_not_found(desk, draft_id):
    drafts = desk.drafts
    for method in (drafts.get, drafts.approve, drafts.history, drafts.list_versions, drafts.undo, drafts.redo):
        with pytest.raises(NotFoundError, match="No draft") as unknown:
            await method(draft_id)
        assert len(str(unknown.value)) < 200
    with pytest.raises(NotFoundError, match="No draft"):
        await desk.drafts.edit(draft_id, "Words.")


async def test_foreign_draft_is_not_found(desk, tmp_path):
    draft_id = await create_draft(desk)
    execute_sql(tmp_path, "INSERT INTO user (id, name, time_zone, created_at) VALUES ('zz', 'Eve', 'UTC', 0)")
    for table in ("draft", "draft_event", "item"):
        execute_sql(tmp_path, f"UPDATE {table} SET user_id = 'zz'")
    before = snapshot(tmp_path)
    for method in (desk.drafts.approve, desk.drafts.archive, desk.drafts.history, desk.drafts.undo):
        with pytest.raises(NotFoundError, match=f"No draft '{draft_id}'"):
            await method(draft_id)
    with pytest.raises(ConflictError, match="Nothing to undo"):
        await desk.drafts.undo()
    result = await desk.drafts.bulk({"action": "approve", "ids": [draft_id]})

    assert result.results.failed[0].error.startswith(f"No draft '{draft_id}'")
    assert snapshot(tmp_path) == before


async def test_stale_version_is_refused(desk, tmp_path):
    draft_id = await create_draft(desk)
    stale = await desk.drafts.get(draft_id)
    await desk.drafts.edit(draft_id, "Another text.")
    before = snapshot(tmp_path)
    with pytest.raises(StaleVersionError, match="changed in the meantime: its status is “needs review” now") as refused:
        await desk.drafts.change(draft_id, {"action": "approve"}, expected_version=stale.version)

    assert refused.value.current_status == "awaiting_review"
    assert "approve" in refused.value.allowed_actions
    assert snapshot(tmp_path) == before
    current = await desk.drafts.get(draft_id)
    await desk.drafts.change(draft_id, {"action": "approve"}, expected_version=current.version)


async def test_concurrent_edits_have_one_winner(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb()) as first, open_desk_at(tmp_path, FakeWeb()) as second:
        for _ in range(20):
            draft_id = await create_draft(first)
            results = await asyncio.gather(
                first.drafts.edit(draft_id, "One."), second.drafts.edit(draft_id, "Two."), return_exceptions=True
            )
            conflicts = [error for error in results if isinstance(error, ConflictError)]
            events = await first.drafts.history(draft_id)
            final = await first.drafts.get(draft_id)
            # Both succeed only if the second began after the first had finished.
            assert len(events) == 1 + (2 - len(conflicts))
            assert final.version == len(events)
            assert final.text == events[-1].after["text"]
            assert len(conflicts) + sum(not isinstance(result, Exception) for result in results) == 2


@pytest.mark.parametrize(("expected_version", "error_type"), [(None, ConflictError), (1, StaleVersionError)])
async def test_change_overtaken_before_write_is_refused(tmp_path, monkeypatch, expected_version, error_type):
    async with open_desk_at(tmp_path, FakeWeb()) as first, open_desk_at(tmp_path, FakeWeb()) as second:
        draft_id = await create_draft(first)
        write = first._context.database.write_durable

        async def late_write(*args, **kwargs):
            await second.drafts.reject(draft_id, "First.")
            return await write(*args, **kwargs)

        monkeypatch.setattr(first._context.database, "write_durable", late_write)
        with pytest.raises(ConflictError, match="changed in the meantime: its status is “rejected” now") as refused:
            await first.drafts.change(draft_id, {"action": "approve"}, expected_version=expected_version)
        events = await second.drafts.history(draft_id)

    assert type(refused.value) is error_type
    assert refused.value.allowed_actions == allowed_actions(Status.REJECTED, archived=False)
    assert [event.action for event in events] == ["create", "reject"]


async def test_two_desks_take_different_slots(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb()) as first, open_desk_at(tmp_path, FakeWeb()) as second:
        await set_slots(first, MONDAY, WEDNESDAY)
        ids = [await create_approved(first) for _ in range(12)]
        desks = (first, second)
        changed = await asyncio.gather(
            *(desks[index % 2].drafts.schedule(draft_id) for index, draft_id in enumerate(ids))
        )

    assert len({draft.scheduled_at for draft in changed}) == len(ids)


async def test_edit_is_compared_with_the_checks_of_the_first_text(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        (draft,) = (await desk.drafts.create({"text": "The harbour opens."})).drafts
        for text in ("The harbour closes.", "The harbour closes at {time}."):
            await desk.drafts.edit(draft.id, text)
        difference = await desk.drafts.compare_edit(draft.id)
        assert difference.worse == (await desk.drafts.get(draft.id)).checks.findings != ()


async def test_text_that_was_typed_as_it_was_written_is_not_edited(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        (draft,) = (await desk.drafts.create({"text": "The harbour opens."})).drafts
        for text in ("The harbour closes.", "The harbour opens."):
            await desk.drafts.edit(draft.id, text)
        with pytest.raises(ConflictError, match="was not edited"):
            await desk.drafts.compare_edit(draft.id)
