"""Tests for undo and redo of one draft, of the last change and of bulk changes, and for the conflicts."""

import random
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from copydesk.errors import ConflictError, CopydeskError, NotFoundError, UndoNotAllowedError
from copydesk.model.draft import Action, Status
from copydesk.model.schedule import Slot
from copydesk.model.transitions import SYSTEM, EventKind
from copydesk.store import draft_events as events
from copydesk.store import draft_updates, schedule, tables
from copydesk.store.draft_updates import DraftUpdate
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

SLOTS = [Slot(day_of_week=day, hour=9, minute=0) for day in range(7)]
LATER = NOW + timedelta(days=2)
UNRESTORED_COLUMNS = {"version", "updated_at", "undo_rid", "redo_rid"}
"""Columns that an undo does not restore: they count and time the changes, including the undo itself."""


@pytest.fixture
async def desk(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb()) as desk:
        await desk._context.write(schedule.replace_slots, SLOTS)
        yield desk


async def create_drafts(desk, count: int) -> list[str]:
    return [(await desk.drafts.create({"text": f"Text {number}."})).drafts[0].id for number in range(count)]


def restorable_rows(home) -> list[tuple[object, ...]]:
    """Return the rows of all drafts without the columns that an undo does not restore."""
    names = tables.draft.c.keys()
    return query_db(
        home, f"SELECT {', '.join(name for name in names if name not in UNRESTORED_COLUMNS)} FROM draft ORDER BY id"
    )


async def apply_system_change(desk, draft_id: str, action: str, **after: object) -> None:
    """Apply a change by the system to a draft."""

    def work(conn, user_id):
        snapshot = draft_updates.load_snapshot(conn, user_id, draft_id)
        step = DraftUpdate(
            kind=EventKind.PERMANENT, action=action, after=draft_updates.to_column_values(after), at=NOW, actor=SYSTEM
        )
        draft_updates.apply_update(conn, user_id, snapshot, step)

    await desk._context.write(work)


APPROVE = {"action": "approve"}
SCHEDULE = {"action": "schedule", "scheduledAt": LATER}


@pytest.mark.parametrize(
    ("changes", "phrase"),
    [
        ([{"text": "Other words."}], "editing the text"),
        ([APPROVE], "approving it"),
        ([{**APPROVE, "text": "Other words."}], "editing the text and approving it"),
        ([{"action": "reject"}], "rejecting it"),
        ([{"action": "regenerate"}], "asking for a new version"),
        ([APPROVE, {"action": "unapprove"}], "withdrawing the approval"),
        ([{"action": "archive"}], "archiving it"),
        ([APPROVE, SCHEDULE], "scheduling it"),
        ([APPROVE, SCHEDULE, {"action": "reschedule", "scheduledAt": LATER + timedelta(days=1)}], "rescheduling it"),
        ([APPROVE, SCHEDULE, {"action": "cancel_schedule"}], "unscheduling it"),
    ],
)
async def test_history_says_what_was_undone_and_redone(desk, changes, phrase):
    (draft_id,) = await create_drafts(desk, 1)
    for change in changes:
        await desk.drafts.change(draft_id, change)
    await desk.drafts.undo(draft_id)
    await desk.drafts.redo(draft_id)
    undone, redone = (await desk.drafts.describe_history(draft_id)).lines[-2:]
    assert f" you undid {phrase}" in undone
    assert f" you redid {phrase}" in redone


async def test_undo_and_redo_of_one_draft(desk, tmp_path):
    (draft_id,) = await create_drafts(desk, 1)
    first = restorable_rows(tmp_path)
    await desk.drafts.reject(draft_id, "No.")
    second = restorable_rows(tmp_path)
    await desk.drafts.approve(draft_id)
    third = restorable_rows(tmp_path)

    states = []
    for step in (desk.drafts.undo, desk.drafts.undo, desk.drafts.redo, desk.drafts.redo, desk.drafts.undo):
        result = await step(draft_id)
        assert result.succeeded == (draft_id,)
        states.append(restorable_rows(tmp_path))
    assert states == [second, first, second, third, second]
    assert (await desk.drafts.get(draft_id)).version == 8


async def test_undo_is_in_history(desk):
    (draft_id,) = await create_drafts(desk, 1)
    await desk.drafts.reject(draft_id, "No.")
    await desk.drafts.undo(draft_id)
    await desk.drafts.redo(draft_id)
    await desk.drafts.undo(draft_id)
    draft_events = [
        (event.kind, event.action, event.of_version, event.undone) for event in await desk.drafts.history(draft_id)
    ]

    assert draft_events == [
        ("fixed", "create", None, False),
        ("change", "reject", None, True),
        ("undo", "reject", 2, False),
        ("redo", "reject", 3, True),
        ("undo", "reject", 4, False),
    ]


async def test_undo_of_edit_restores_text_and_checks(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        await desk.pipeline.run()
        (draft,) = await list_drafts(desk)
        before = restorable_rows(tmp_path)
        await desk.drafts.change(draft.id, {"text": "Nothing but 77 words.", "action": "approve"})
        await desk.drafts.undo(draft.id)
        after = await desk.drafts.get(draft.id)

    assert restorable_rows(tmp_path) == before
    assert (after.text, after.checks, after.confidence) == (draft.text, draft.checks, draft.confidence)
    assert after.sentences == draft.sentences


async def test_undo_of_archive(desk):
    (draft_id,) = await create_drafts(desk, 1)
    await desk.drafts.archive(draft_id)
    await desk.drafts.undo(draft_id)

    assert (await desk.drafts.get(draft_id)).archived_at is None
    await desk.drafts.approve(draft_id)


async def test_new_change_clears_redo(desk):
    first, second = await create_drafts(desk, 2)
    await desk.drafts.approve(first)
    await desk.drafts.undo(first)
    await desk.drafts.reject(first)
    with pytest.raises(ConflictError, match="Nothing to redo on this draft"):
        await desk.drafts.redo(first)

    await desk.drafts.undo(first)
    await desk.drafts.approve(second)
    with pytest.raises(ConflictError, match="something changed since the last undo"):
        await desk.drafts.redo()
    # The draft itself is still where the undo left it.
    await desk.drafts.redo(first)


async def test_foreign_changes_do_not_block_undo(desk, tmp_path):
    own, foreign = await create_drafts(desk, 2)
    await desk.drafts.reject(own)
    await desk.drafts.undo(own)
    await desk.drafts.reject(foreign)
    execute_sql(tmp_path, "INSERT INTO user (id, name, time_zone, created_at) VALUES ('zz', 'Eve', 'UTC', 0)")
    execute_sql(tmp_path, "UPDATE draft_event SET user_id = 'zz' WHERE draft_id = ?", foreign)
    execute_sql(tmp_path, "UPDATE draft SET user_id = 'zz' WHERE id = ?", foreign)

    assert (await desk.drafts.redo()).succeeded == (own,)
    assert (await desk.drafts.undo()).succeeded == (own,)
    assert (await desk.drafts.get(own)).status is Status.AWAITING_REVIEW


async def test_undo_without_id_goes_back_one_by_one(desk, tmp_path):
    first_id, second_id = await create_drafts(desk, 2)
    first = restorable_rows(tmp_path)
    await desk.drafts.approve(first_id)
    await desk.drafts.reject(second_id)
    await desk.drafts.unapprove(first_id)
    last = restorable_rows(tmp_path)

    results = [await desk.drafts.undo() for _ in range(3)]
    assert [(result.action, result.succeeded) for result in results] == [
        ("unapprove", (first_id,)),
        ("reject", (second_id,)),
        ("approve", (first_id,)),
    ]
    assert restorable_rows(tmp_path) == first
    with pytest.raises(ConflictError, match="Nothing to undo"):
        await desk.drafts.undo()
    assert [(await desk.drafts.redo()).action for _ in range(3)] == ["approve", "reject", "unapprove"]
    assert restorable_rows(tmp_path) == last
    with pytest.raises(ConflictError, match="Nothing to redo"):
        await desk.drafts.redo()


async def test_bulk_is_undone_and_redone_at_once(desk, tmp_path):
    ids = await create_drafts(desk, 60)
    first = restorable_rows(tmp_path)
    await desk.drafts.bulk({"action": "approve", "ids": ids})
    second = restorable_rows(tmp_path)
    undone = await desk.drafts.undo()

    assert (undone.action, undone.succeeded, undone.failed) == ("approve", tuple(ids[::-1]), ())
    assert restorable_rows(tmp_path) == first
    redone = await desk.drafts.redo()
    assert redone.succeeded == tuple(ids)
    assert restorable_rows(tmp_path) == second
    assert (await desk.drafts.undo()).succeeded == tuple(ids[::-1])
    assert restorable_rows(tmp_path) == first


async def test_large_action_is_undone_at_once(desk, tmp_path):
    ids = await create_drafts(desk, 130)
    first = restorable_rows(tmp_path)
    assert (await desk.drafts.bulk_all(Action.ARCHIVE, ids)).succeeded == 130

    assert len((await desk.drafts.undo()).succeeded) == 130
    assert restorable_rows(tmp_path) == first


async def test_later_changes_are_undone_before_bulk(desk, tmp_path):
    first_id, second_id, third_id = await create_drafts(desk, 3)
    first = restorable_rows(tmp_path)
    await desk.drafts.bulk({"action": "approve", "ids": [first_id, second_id, third_id]})
    await desk.drafts.undo(first_id)
    await desk.drafts.reject(first_id)
    await desk.drafts.edit(second_id, "Better.")

    assert [(await desk.drafts.undo()).succeeded for _ in range(3)] == [
        (second_id,),
        (first_id,),
        (third_id, second_id),
    ]
    assert restorable_rows(tmp_path) == first


async def test_undone_drafts_of_bulk_are_skipped(desk):
    first, second, third = await create_drafts(desk, 3)
    await desk.drafts.bulk({"action": "approve", "ids": [first, second, third]})
    await desk.drafts.undo(first)
    await apply_system_change(desk, second, "picked_up", status=Status.POSTING)
    result = await desk.drafts.undo()

    assert result.succeeded == (third,)
    assert [(failure.id, failure.error) for failure in result.failed] == [(second, "Posting started in the meantime.")]


async def test_one_draft_of_bulk_can_be_undone(desk):
    first, second = await create_drafts(desk, 2)
    await desk.drafts.bulk({"action": "approve", "ids": [first, second]})
    await desk.drafts.undo(first)

    assert [(await desk.drafts.get(draft_id)).status for draft_id in (first, second)] == ["awaiting_review", "approved"]


async def test_unchanged_draft_has_nothing_to_undo(desk):
    (draft_id,) = await create_drafts(desk, 1)
    with pytest.raises(ConflictError, match="Nothing to undo on this draft") as refused:
        await desk.drafts.undo(draft_id)

    assert refused.value.current_status == "awaiting_review"
    assert "approve" in refused.value.allowed_actions
    with pytest.raises(ConflictError, match="Nothing to undo"):
        await desk.drafts.undo()


async def test_system_changes_cannot_be_undone(desk):
    first, second = await create_drafts(desk, 2)
    await desk.drafts.approve(second)
    await desk.drafts.approve(first)
    await desk.drafts.schedule(first)
    await apply_system_change(desk, first, "late", status=Status.MISSED)
    with pytest.raises(
        ConflictError,
        match=r"The last change of this draft \(it missed its time\) cannot be undone",
    ):
        await desk.drafts.undo(first)
    # An older change must not be undone instead.
    with pytest.raises(
        ConflictError,
        match=r"The last change \(it was scheduled\) cannot be undone: it missed its time in the meantime",
    ):
        await desk.drafts.undo()
    await desk.drafts.reschedule(first, LATER)

    assert (await desk.drafts.undo()).action == "reschedule"
    with pytest.raises(ConflictError, match="Nothing to undo on this draft"):
        await desk.drafts.undo(first)
    assert (await desk.drafts.get(first)).status == "missed"
    await desk.drafts.undo(second)


async def test_passing_skips_unreachable_change(desk):
    first, second, third = await create_drafts(desk, 3)
    for draft_id in (first, second, third):
        await desk.drafts.approve(draft_id)
    await apply_system_change(desk, third, "post", status=Status.POSTING)
    passed = set()
    with pytest.raises(
        UndoNotAllowedError, match=r"\(it was approved\) cannot be undone: it was sent in the meantime\."
    ) as refused:
        await desk.drafts.undo()
    passed.add(refused.value.change_id)
    assert (await desk.drafts.undo(skip=passed)).succeeded == (second,)
    assert (await desk.drafts.undo(skip=passed)).succeeded == (first,)
    with pytest.raises(ConflictError, match="Nothing to undo"):
        await desk.drafts.undo(skip=passed)


async def test_expired_change_can_be_skipped(desk):
    first, second = await create_drafts(desk, 2)
    await desk.drafts.approve(first)
    await desk.drafts.approve(second)
    await desk.drafts.schedule(second)
    await desk.drafts.cancel_schedule(second)
    desk._context.clock.now += timedelta(days=30)
    with pytest.raises(UndoNotAllowedError, match="has passed") as refused:
        await desk.drafts.undo()
    assert (await desk.drafts.undo(skip={refused.value.change_id})).succeeded == (first,)


async def test_unreachable_bulk_can_be_skipped(desk):
    first, *bulk, last = await create_drafts(desk, 5)
    await desk.drafts.approve(first)
    await desk.drafts.bulk_all(Action.APPROVE, bulk)
    await desk.drafts.bulk_all(Action.SCHEDULE, bulk)
    await desk.drafts.bulk_all(Action.CANCEL_SCHEDULE, bulk)
    desk._context.clock.now += timedelta(days=30)
    passed = set()
    with pytest.raises(
        UndoNotAllowedError, match=r"\(.*\) cannot be undone on any of its 3 drafts. Cannot undo this: its time"
    ) as refused:
        await desk.drafts.undo(skip=passed)
    passed.add(refused.value.change_id)
    assert (await desk.drafts.undo(skip=passed)).succeeded == (first,)

    # Later changes are undone first, and none between the two is skipped.
    await desk.drafts.approve(first)
    await desk.drafts.approve(last)
    assert [(await desk.drafts.undo(skip=passed)).succeeded for _ in range(2)] == [(last,), (first,)]
    with pytest.raises(ConflictError, match="Nothing to undo"):
        await desk.drafts.undo(skip=passed)


async def test_reachable_part_of_bulk_is_undone(desk):
    first, second, other = await create_drafts(desk, 3)
    await desk.drafts.bulk_all(Action.APPROVE, [other, first, second])
    await desk.drafts.schedule(first, NOW + timedelta(days=1))
    await desk.drafts.schedule(second, NOW + timedelta(days=60))
    await desk.drafts.bulk_all(Action.CANCEL_SCHEDULE, [first, second])
    desk._context.clock.now += timedelta(days=30)
    result = await desk.drafts.undo()
    assert (result.succeeded, [failure.id for failure in result.failed]) == ((second,), [first])
    with pytest.raises(UndoNotAllowedError, match="on its draft") as refused:
        await desk.drafts.undo()
    assert (await desk.drafts.undo(skip={refused.value.change_id})).succeeded == (second,)


async def test_change_between_unreachable_ones_is_not_skipped(desk):
    first, second, third = await create_drafts(desk, 3)
    passed = set()
    for draft_id in (first, third):
        await desk.drafts.approve(draft_id)
        await desk.drafts.schedule(draft_id)
        await desk.drafts.cancel_schedule(draft_id)
        desk._context.clock.now += timedelta(days=30)
        with pytest.raises(UndoNotAllowedError, match="has passed") as refused:
            await desk.drafts.undo(skip=passed)
        passed.add(refused.value.change_id)
        if draft_id == first:
            await desk.drafts.approve(second)
    assert (await desk.drafts.undo(skip=passed)).succeeded == (second,)


async def test_large_undo_can_be_stopped_and_continued(desk, tmp_path, monkeypatch):
    monkeypatch.setattr("copydesk.desk.drafts.undo.MAX_IDS", 2)
    ids = await create_drafts(desk, 5)
    first = restorable_rows(tmp_path)
    await desk.drafts.bulk_all(Action.ARCHIVE, ids)
    last = restorable_rows(tmp_path)
    result = await desk.drafts.undo(is_cancelled=lambda: True)
    assert (len(result.succeeded), result.failed, result.left) == (2, (), 3)
    assert len((await desk.drafts.undo()).succeeded) == 3
    assert restorable_rows(tmp_path) == first

    result = await desk.drafts.redo(is_cancelled=lambda: True)
    assert (len(result.succeeded), result.left) == (2, 1)
    while restorable_rows(tmp_path) != last:
        await desk.drafts.redo()


async def test_undo_of_a_bulk_reports_progress(desk, monkeypatch):
    monkeypatch.setattr("copydesk.desk.drafts.undo.MAX_IDS", 2)
    ids, progress = await create_drafts(desk, 5), []
    await desk.drafts.bulk_all(Action.ARCHIVE, ids)
    for change in (desk.drafts.undo, desk.drafts.redo, partial(desk.drafts.restore, ids)):
        await change(on_progress=lambda *counts: progress.append(counts))
    assert progress == [(2, 5), (4, 5), (5, 5)] * 3


@pytest.mark.parametrize("delivery", ["pending", "posted"])
async def test_delivered_change_is_not_undone(desk, tmp_path, delivery):
    (draft_id,) = await create_drafts(desk, 1)
    await desk.drafts.approve(draft_id)
    statement = (
        "INSERT INTO engagement (id, user_id, draft_id, platform, format, status, created_at)"
        " SELECT 'e', user_id, id, 'bluesky', format, ?, updated_at + 1 FROM draft"
    )
    execute_sql(tmp_path, statement, delivery)
    before = restorable_rows(tmp_path)
    for draft_or_last in (draft_id, None):
        with pytest.raises(ConflictError, match="Cannot undo this: it was posted to bluesky since"):
            await desk.drafts.undo(draft_or_last)

    assert restorable_rows(tmp_path) == before
    await desk.drafts.archive(draft_id)
    execute_sql(tmp_path, "UPDATE engagement SET created_at = 0")
    await desk.drafts.undo(draft_id)


async def test_passed_time_is_not_restored(tmp_path):
    clock = Watch()
    async with open_desk_at(tmp_path, FakeWeb(), clock) as desk:
        first, second = await create_drafts(desk, 2)
        await desk.drafts.bulk({"action": "approve", "ids": [first, second]})
        await desk.drafts.schedule(first, NOW + timedelta(hours=1))
        await desk.drafts.cancel_schedule(first)
        await desk.drafts.schedule(second, NOW + timedelta(hours=1))
        await desk.drafts.reschedule(second, NOW + timedelta(days=1))
        clock.advance(7200)
        for draft_id in (first, second):
            with pytest.raises(ConflictError, match="its time, Tue 10 Feb 13:00, has passed"):
                await desk.drafts.undo(draft_id)
        await desk.drafts.edit(second, "Other words.")
        await desk.drafts.undo(second)

        assert (await desk.drafts.get(first)).status == "approved"
        assert (await desk.drafts.get(second)).scheduled_at == NOW + timedelta(days=1)


async def test_occupied_slot_is_restored(desk):
    first_id, second_id = await create_drafts(desk, 2)
    await desk.drafts.bulk({"action": "approve", "ids": [first_id, second_id]})
    time = (await desk.drafts.schedule(first_id)).scheduled_at
    await desk.drafts.cancel_schedule(first_id)
    assert (await desk.drafts.schedule(second_id)).scheduled_at == time
    await desk.drafts.undo(first_id)

    assert [(await desk.drafts.get(draft_id)).scheduled_at for draft_id in (first_id, second_id)] == [time, time]


async def run_random_step(desk, rng: random.Random, ids: list[str]) -> None:
    """Run a random user operation, which may be refused."""
    drafts, draft_id = desk.drafts, rng.choice(ids)
    sample = rng.sample(ids, rng.randint(1, len(ids)))
    time = NOW + timedelta(hours=rng.randint(1, 500))
    action = rng.choice(["approve", "reject", "archive", "schedule", "cancel_schedule"])
    step = rng.choice(
        [
            lambda: drafts.approve(draft_id),
            lambda: drafts.reject(draft_id, rng.choice([None, "No.", "é[red]"])),
            lambda: drafts.unapprove(draft_id, rng.choice([None, "Shorter."])),
            lambda: drafts.archive(draft_id),
            lambda: drafts.regenerate(draft_id) if rng.random() < 0.1 else drafts.approve(draft_id),
            lambda: drafts.edit(draft_id, f"Words {rng.random()} #some #{rng.random()}"),
            lambda: drafts.change(draft_id, {"text": "Both.", "action": "approve"}),
            lambda: drafts.schedule(draft_id),
            lambda: drafts.schedule(draft_id, time, smart=rng.random() < 0.5),
            lambda: drafts.reschedule(draft_id, time),
            lambda: drafts.cancel_schedule(draft_id),
            lambda: drafts.bulk({"action": action, "ids": sample}),
            lambda: drafts.undo(draft_id),
            lambda: drafts.redo(draft_id),
            drafts.undo,
            drafts.redo,
        ]
    )
    await step()


@pytest.mark.parametrize("seed", range(4))
async def test_undoing_200_random_steps_restores_drafts(desk, tmp_path, seed):
    rng = random.Random(seed)
    ids = await create_drafts(desk, 6)
    first = restorable_rows(tmp_path)
    count = 0
    while count < 200:
        try:
            await run_random_step(desk, rng, ids)
            count += 1
        except CopydeskError:
            continue
    while any(query_db(tmp_path, "SELECT 1 FROM draft WHERE undo_rid IS NOT NULL")):
        assert not (await desk.drafts.undo()).failed

    assert restorable_rows(tmp_path) == first
    with pytest.raises(ConflictError, match="Nothing to undo"):
        await desk.drafts.undo()
    # Every version has its event, and each records the values before it.
    for draft_id in ids:
        draft_events = await desk.drafts.history(draft_id)
        assert [event.version for event in draft_events] == list(
            range(1, (await desk.drafts.get(draft_id)).version + 1)
        )
        state: dict[str, object] = {}
        for event in draft_events:
            assert {name: state.get(name, value) for name, value in event.before.items()} == event.before
            state |= event.after


async def test_draft_deleted_during_undo_is_not_found(desk, tmp_path, monkeypatch):
    def deleting(conn, user_id, ids, **kwargs):
        snapshots = original(conn, user_id, ids, **kwargs)()
        for table, column in (("draft_event", "draft_id"), ("draft", "id")):
            execute_sql(tmp_path, f"DELETE FROM {table} WHERE {column} = ?", deleted_id)
        return lambda: snapshots

    original, (deleted_id, other_id) = draft_updates.query_snapshots, await create_drafts(desk, 2)
    await desk.drafts.bulk({"action": "archive", "ids": [deleted_id, other_id]})
    monkeypatch.setattr(draft_updates, "query_snapshots", deleting)
    with pytest.raises(NotFoundError):
        await desk.drafts.undo(deleted_id)


async def test_draft_deleted_during_bulk_undo_is_skipped(desk, tmp_path, monkeypatch):
    def deleting(conn, user_id, bulk_id):
        found = original(conn, user_id, bulk_id)
        execute_sql(tmp_path, "DELETE FROM draft WHERE id = ?", deleted_id)
        return found

    original, (deleted_id, other_id) = events.list_by_bulk, await create_drafts(desk, 2)
    await desk.drafts.bulk({"action": "archive", "ids": [deleted_id, other_id]})
    monkeypatch.setattr(events, "list_by_bulk", deleting)
    result = await desk.drafts.undo()

    assert (result.succeeded, result.failed) == ((other_id,), ())


@pytest.mark.parametrize("before", [True, False])
async def test_bulk_deleted_during_undo_is_a_conflict(desk, tmp_path, monkeypatch, before):
    def deleting(conn, user_id, bulk_id):
        found = () if before else original(conn, user_id, bulk_id)
        for table in ("draft_event", "draft"):
            execute_sql(tmp_path, f"DELETE FROM {table}")
        return found

    original, ids = events.list_by_bulk, await create_drafts(desk, 2)
    await desk.drafts.bulk({"action": "archive", "ids": ids})
    monkeypatch.setattr(events, "list_by_bulk", deleting)
    with pytest.raises(ConflictError, match="Cannot undo this: the drafts were deleted"):
        await desk.drafts.undo()


async def test_event_numbers_are_not_reused(desk, tmp_path):
    first, second = await create_drafts(desk, 2)
    await desk.drafts.reject(second)
    ((last,),) = query_db(tmp_path, "SELECT max(rid) FROM draft_event")
    execute_sql(tmp_path, "DELETE FROM draft_event WHERE draft_id = ?", second)
    await desk.drafts.reject(first)

    assert query_db(tmp_path, "SELECT max(rid) FROM draft_event") == [(int(str(last)) + 1,)]


@pytest.mark.sqlite("plans of SQLite")
async def test_next_undo_is_found_by_index(desk, tmp_path):
    queries = [
        "SELECT undo_rid FROM draft WHERE user_id = 'u' AND undo_rid IS NOT NULL ORDER BY undo_rid DESC LIMIT 1",
        "SELECT redo_rid FROM draft WHERE user_id = 'u' AND redo_rid IS NOT NULL ORDER BY redo_rid DESC LIMIT 1",
        "SELECT * FROM draft_event WHERE user_id = 'u' AND kind = 'change' ORDER BY rid DESC LIMIT 1",
    ]
    for query in queries:
        ((*_, plan),) = query_db(tmp_path, f"EXPLAIN QUERY PLAN {query}")
        assert str(plan).startswith("SEARCH")
        assert "INDEX" in str(plan)


async def test_two_desks_do_not_undo_one_change_twice(tmp_path):
    async with open_desk_at(tmp_path, FakeWeb()) as first_desk, open_desk_at(tmp_path, FakeWeb()) as second_desk:
        (draft_id,) = await create_drafts(first_desk, 1)
        await first_desk.drafts.reject(draft_id, "No.")
        await second_desk.drafts.undo()
        with pytest.raises(ConflictError, match="Nothing to undo"):
            await first_desk.drafts.undo()
        await first_desk.drafts.redo()

        assert (await second_desk.drafts.get(draft_id)).rejection_feedback == "No."


async def test_undone_reschedule_names_the_time_it_is_back_to(desk):
    draft_id = (await desk.drafts.create({"text": "One thing."})).drafts[0].id
    await desk.drafts.approve(draft_id)
    await desk.drafts.schedule(draft_id, datetime(2026, 11, 24, 10, 30, tzinfo=UTC))
    await desk.drafts.reschedule(draft_id, datetime(2026, 11, 25, 9, 0, tzinfo=UTC))
    assert (await desk.drafts.undo()).scheduled_for == "Tue 24 Nov 10:30"
    assert (await desk.drafts.redo()).scheduled_for == "Wed 25 Nov 09:00"
    await desk.drafts.cancel_schedule(draft_id)
    assert (await desk.drafts.undo(draft_id)).scheduled_for == "Wed 25 Nov 09:00"
    await desk.drafts.edit(draft_id, "Another.")
    assert (await desk.drafts.undo()).scheduled_for == ""


async def test_restoring_undoes_archiving_of_several_drafts(desk):
    approved, rejected, live = await create_drafts(desk, 3)
    await desk.drafts.approve(approved)
    await desk.drafts.reject(rejected, "Old news")
    await desk.drafts.bulk_all(Action.ARCHIVE, [approved, rejected])
    await desk.drafts.approve(live)
    result = await desk.drafts.restore([rejected, approved, live, rejected, "unknown"])
    assert result.succeeded == (rejected, approved)
    assert [(failure.id, failure.error) for failure in result.failed] == [
        (live, "Not archived."),
        ("unknown", "No draft 'unknown'."),
    ]
    restored = [await desk.drafts.get(draft_id) for draft_id in (approved, rejected)]
    assert [(draft.status, draft.archived_at) for draft in restored] == [("approved", None), ("rejected", None)]
    assert set((await desk.drafts.redo()).succeeded) == {approved, rejected}
    assert (await desk.drafts.counts()).archived == 2


async def test_replaced_version_is_not_restored(desk):
    (draft_id,) = await create_drafts(desk, 1)
    await apply_system_change(desk, draft_id, "new_version_written", archived_at=NOW)
    result = await desk.drafts.restore([draft_id])
    assert (result.succeeded, result.failed[0].error) == ((), "Cannot restore it: a newer version has replaced it.")
