"""What a person does with one draft: every action in every state, edits, times, and races between two desks."""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from copydesk.errors import ConflictError, InvalidError, NotFoundError
from copydesk.model.draft import Action, Status
from copydesk.model.schedule import Slot
from copydesk.model.transitions import after, allowed_actions, may_edit
from copydesk.model.wire import to_wire
from copydesk.store import schedule
from desk_fixtures import NOW, ONE, Watch, Web, add, change, drafts_of, entry, feed, open_at, rows

LATER = NOW + timedelta(days=2)
MONDAY, WEDNESDAY = Slot(day_of_week=1, hour=9, minute=0), Slot(day_of_week=3, hour=14, minute=30)
NOBODY = "019c4a5e-0000-7000-8000-000000000000"


@pytest.fixture
async def desk(tmp_path):
    async with open_at(tmp_path, Web()) as desk:
        yield desk


async def new(desk, text: str = "The harbour opens on Monday.") -> str:
    """A draft's id; it is awaiting review."""
    return (await desk.drafts.create({"text": text})).drafts[0].id


async def approved(desk) -> str:
    draft_id = await new(desk)
    await desk.drafts.approve(draft_id)
    return draft_id


def put(home, draft_id: str, **columns: object) -> None:
    """Change columns of a draft behind the desk's back."""
    named = ", ".join(f"{name} = ?" for name in columns)
    change(home, f"UPDATE draft SET {named} WHERE id = ?", *columns.values(), draft_id)


def whole(home) -> list[list[tuple[object, ...]]]:
    """Everything there is about drafts."""
    return [rows(home, f"SELECT * FROM {table}") for table in ("draft", "draft_event", "item", "draft_tag")]


def asking(action: Action) -> dict[str, object]:
    return {"action": action, "scheduledAt": LATER} if action is Action.RESCHEDULE else {"action": action}


async def set_slots(desk, *slots: Slot) -> None:
    await desk.ground.write(schedule.set_slots, slots)


async def test_every_action_in_every_state_does_what_the_table_says_or_nothing(desk, tmp_path):
    await set_slots(desk, MONDAY)
    draft_id = await new(desk)
    for version, (action, status) in enumerate(product(set(Action) - {Action.POST}, Status), start=100):
        put(tmp_path, draft_id, status=status.value, archived_at=None, version=version * 2, scheduled_at=None)
        before = whole(tmp_path)
        if action in allowed_actions(status, archived=False):
            assert (await desk.drafts.change(draft_id, asking(action))).status == after(action, status, archived=False)
            continue
        with pytest.raises(ConflictError) as refused:
            await desk.drafts.change(draft_id, asking(action))
        assert f"This draft is {status}; {action} is not possible." in str(refused.value)
        assert refused.value.current_status == status
        assert refused.value.allowed_actions == allowed_actions(status, archived=False)
        assert whole(tmp_path) == before


@pytest.mark.parametrize("status", Status)
async def test_a_text_is_edited_where_the_table_says(desk, tmp_path, status):
    draft_id = await new(desk)
    put(tmp_path, draft_id, status=status.value)
    before = whole(tmp_path)
    if may_edit(status, archived=False):
        assert (await desk.drafts.edit(draft_id, "Another text.")).text == "Another text."
        return
    with pytest.raises(ConflictError, match=f"This draft is {status}; edit is not possible"):
        await desk.drafts.edit(draft_id, "Another text.")
    assert whole(tmp_path) == before


@pytest.mark.parametrize("action", Action)
async def test_an_archived_draft_takes_nothing_until_it_is_restored(desk, tmp_path, action):
    draft_id = await new(desk)
    await desk.drafts.archive(draft_id)
    before = whole(tmp_path)
    with pytest.raises(ConflictError, match="This draft is archived"):
        await desk.drafts.change(draft_id, asking(action))

    assert whole(tmp_path) == before


async def test_a_change_answers_the_draft_without_its_item(desk):
    shown = to_wire(await desk.drafts.approve(await new(desk)))

    assert isinstance(shown, dict)
    assert "item" not in shown
    assert (shown["status"], shown["version"]) == ("approved", 2)


async def test_each_change_grows_the_version_and_the_time_of_change_and_writes_one_event(tmp_path):
    clock = Watch()
    async with open_at(tmp_path, Web(), clock) as desk:
        draft_id = await new(desk)
        clock.forward(60)
        one = await desk.drafts.approve(draft_id)
        clock.forward(60)
        two = await desk.drafts.reject(draft_id, "Too long.")
        story = await desk.drafts.history(draft_id)

    assert [one.version, two.version] == [2, 3]
    assert [one.updated_at, two.updated_at] == [NOW + timedelta(minutes=1), NOW + timedelta(minutes=2)]
    assert [(each.version, each.action, each.who, each.feedback) for each in story] == [
        (1, "create", "user", None),
        (2, "approve", "user", None),
        (3, "reject", "user", "Too long."),
    ]
    assert story[1].before == {"status": Status.AWAITING_REVIEW}
    assert story[1].after == {"status": Status.APPROVED}
    assert story[2].before == {"status": Status.APPROVED, "rejection_feedback": None}
    assert story[2].after == {"status": Status.REJECTED, "rejection_feedback": "Too long."}


async def test_an_edit_runs_the_checks_again(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        await desk.pipeline.run()
        (draft,) = await drafts_of(desk)
        edited = await desk.drafts.edit(draft.id, "999 ferries will sink, says #nobody #at #all #of #them #ever")

    assert edited.checks != draft.checks
    assert edited.checks.ran == draft.checks.ran
    assert edited.confidence < draft.confidence
    assert edited.sentences == ()
    assert draft.sentences


async def test_an_edit_keeps_where_the_words_come_from_that_still_stand(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        await desk.pipeline.run()
        (draft,) = await drafts_of(desk)
        edited = await desk.drafts.edit(draft.id, f"{draft.sentences[0].text} And a word of mine.")

    assert edited.sentences == draft.sentences[:1]


async def test_text_and_action_are_one_change_the_edit_first(desk, tmp_path):
    draft_id = await new(desk)
    put(tmp_path, draft_id, status="changes_requested")
    changed = await desk.drafts.change(draft_id, {"text": "Better.", "action": "approve"})

    assert (changed.text, changed.status, changed.version) == ("Better.", "approved", 2)
    assert [each.action for each in await desk.drafts.history(draft_id)] == ["create", "approve"]


async def test_where_the_action_is_refused_the_edit_is_not_made(desk, tmp_path):
    draft_id = await new(desk)
    before = whole(tmp_path)
    with pytest.raises(ConflictError, match="reschedule is not possible"):
        await desk.drafts.change(draft_id, {"text": "Better.", "action": "reschedule", "scheduledAt": LATER})

    assert whole(tmp_path) == before


async def test_what_is_said_about_a_state_goes_with_it(desk, tmp_path):
    draft_id = await new(desk)
    rejected = await desk.drafts.reject(draft_id, " Too long. ")
    again = await desk.drafts.approve(draft_id)
    back = await desk.drafts.unapprove(draft_id, "Shorter, please.")
    put(tmp_path, draft_id, last_error="It broke.")
    archived = await desk.drafts.archive(draft_id)

    assert (rejected.rejection_feedback, again.rejection_feedback) == ("Too long.", None)
    assert (back.status, back.feedback) == ("changes_requested", "Shorter, please.")
    assert (archived.status, archived.feedback, archived.last_error) == (
        "changes_requested",
        back.feedback,
        "It broke.",
    )
    await desk.drafts.undo(draft_id)
    assert (await desk.drafts.approve(draft_id)).feedback is None
    assert (await desk.drafts.get(draft_id)).last_error is None


async def test_a_regeneration_is_told_the_last_word_where_no_new_one_is_given(desk):
    one, two, three = await new(desk), await new(desk), await new(desk)
    await desk.drafts.reject(one, "Too long.")
    await desk.drafts.approve(two)
    await desk.drafts.unapprove(two, "Too loud.")

    assert (await desk.drafts.regenerate(one)).feedback == "Too long."
    assert (await desk.drafts.regenerate(two)).feedback == "Too loud."
    changed = await desk.drafts.regenerate(three, "Add the date.")
    assert (changed.status, changed.feedback) == ("pending_regeneration", "Add the date.")


async def test_a_post_is_refused_while_no_platform_is_connected(desk, tmp_path):
    draft_id = await approved(desk)
    before = whole(tmp_path)
    with pytest.raises(ConflictError, match="No platform is connected") as refused:
        await desk.drafts.change(draft_id, {"action": "post"})

    assert "post" not in refused.value.allowed_actions
    assert whole(tmp_path) == before


async def test_a_time_is_kept_as_the_instant_and_as_what_was_meant(desk, tmp_path):
    change(tmp_path, "UPDATE user SET time_zone = 'Europe/Prague'")
    draft_id = await approved(desk)
    at = datetime(2026, 7, 1, 9, 30, tzinfo=UTC)
    changed = await desk.drafts.schedule(draft_id, at)

    assert (changed.status, changed.scheduled_at) == ("scheduled", at)
    meant = rows(tmp_path, "SELECT scheduled_wall, scheduled_zone FROM draft")
    assert meant == [("2026-07-01T11:30", "Europe/Prague")]
    moved = await desk.drafts.reschedule(draft_id, at + timedelta(hours=1))
    assert moved.scheduled_at == at + timedelta(hours=1)
    gone = await desk.drafts.cancel_schedule(draft_id)
    assert (gone.status, gone.scheduled_at) == ("approved", None)
    assert rows(tmp_path, "SELECT scheduled_wall, scheduled_zone FROM draft") == [(None, None)]


async def test_without_a_time_the_next_free_slot_is_taken(desk):
    await set_slots(desk, WEDNESDAY, MONDAY)
    times = [(await desk.drafts.schedule(await approved(desk))).scheduled_at for _ in range(3)]

    assert [f"{time:%a %d %H:%M}" for time in times] == ["Wed 11 14:30", "Mon 16 09:00", "Wed 18 14:30"]


async def test_smart_schedule_takes_the_next_free_slot_at_or_after_a_time(desk):
    await set_slots(desk, MONDAY)
    at = datetime(2026, 2, 23, 9, 0, tzinfo=UTC)
    one, two = await approved(desk), await approved(desk)

    assert (await desk.drafts.schedule(one, at, smart=True)).scheduled_at == at
    assert (await desk.drafts.schedule(two, at, smart=True)).scheduled_at == at + timedelta(weeks=1)


async def test_a_slot_is_free_again_when_its_draft_is_given_another_time(desk):
    await set_slots(desk, MONDAY)
    one, two = await approved(desk), await approved(desk)
    first = (await desk.drafts.schedule(one)).scheduled_at
    await desk.drafts.reschedule(one, LATER)

    assert (await desk.drafts.schedule(two)).scheduled_at == first


async def test_without_slots_there_is_nothing_to_schedule_to(desk, tmp_path):
    draft_id = await approved(desk)
    before = whole(tmp_path)
    for asked in ({"action": "schedule"}, {"action": "schedule", "smartSchedule": True, "scheduledAt": LATER}):
        with pytest.raises(ConflictError, match="There are no slots to schedule to") as refused:
            await desk.drafts.change(draft_id, asked)
        assert refused.value.current_status == "approved"
    assert whole(tmp_path) == before


async def test_where_every_slot_of_the_next_year_is_taken_it_says_so(desk, tmp_path):
    await set_slots(desk, MONDAY)
    monday = datetime(2026, 2, 16, 9, 0, tzinfo=UTC)
    for week in range(53):
        put(
            tmp_path,
            await new(desk),
            status="scheduled",
            scheduled_at=int((monday + timedelta(weeks=week)).timestamp()) * 10**6,
        )
    draft_id = await approved(desk)
    before = whole(tmp_path)
    with pytest.raises(ConflictError, match="Every slot of the next 366 days is taken"):
        await desk.drafts.change(draft_id, {"action": "schedule", "smartSchedule": True})

    assert whole(tmp_path) == before


BAD = {
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


@pytest.mark.parametrize(("field", "asked"), [(field, asked) for field, every in BAD.items() for asked in every])
async def test_what_breaks_a_rule_is_refused_by_its_field_and_nothing_is_changed(desk, tmp_path, field, asked):
    draft_id = await approved(desk)
    before = whole(tmp_path)
    with pytest.raises(InvalidError) as refused:
        await desk.drafts.change(draft_id, asked)

    assert field in [error.field for error in refused.value.errors]
    assert whole(tmp_path) == before


@pytest.mark.parametrize("draft_id", [NOBODY, "", "x" * 100_000, "'; DROP TABLE draft; --"])
async def test_an_unknown_id_is_told_as_one(desk, draft_id):
    drafts = desk.drafts
    for asked in (drafts.get, drafts.approve, drafts.history, drafts.versions, drafts.undo, drafts.redo):
        with pytest.raises(NotFoundError, match="There is no draft") as unknown:
            await asked(draft_id)
        assert len(str(unknown.value)) < 200
    with pytest.raises(NotFoundError, match="There is no draft"):
        await desk.drafts.edit(draft_id, "Words.")


async def test_somebody_elses_draft_is_answered_as_one_that_does_not_exist(desk, tmp_path):
    draft_id = await new(desk)
    change(tmp_path, "INSERT INTO user (id, name, time_zone, created_at) VALUES ('zz', 'Eve', 'UTC', 0)")
    for table in ("draft", "draft_event", "item"):
        change(tmp_path, f"UPDATE {table} SET user_id = 'zz'")
    before = whole(tmp_path)
    for asked in (desk.drafts.approve, desk.drafts.archive, desk.drafts.history, desk.drafts.undo):
        with pytest.raises(NotFoundError, match=f"There is no draft '{draft_id}'"):
            await asked(draft_id)
    with pytest.raises(ConflictError, match="There is nothing to be undone"):
        await desk.drafts.undo()
    done = await desk.drafts.bulk({"action": "approve", "ids": [draft_id]})

    assert done.results.failed[0].error.startswith(f"There is no draft '{draft_id}'")
    assert whole(tmp_path) == before


async def test_a_stale_screen_gets_the_conflict(desk, tmp_path):
    draft_id = await new(desk)
    seen = await desk.drafts.get(draft_id)
    await desk.drafts.edit(draft_id, "Another text.")
    before = whole(tmp_path)
    with pytest.raises(ConflictError, match="changed meanwhile and is awaiting_review now") as refused:
        await desk.drafts.change(draft_id, {"action": "approve"}, expected_version=seen.version)

    assert refused.value.current_status == "awaiting_review"
    assert "approve" in refused.value.allowed_actions
    assert whole(tmp_path) == before
    current = await desk.drafts.get(draft_id)
    await desk.drafts.change(draft_id, {"action": "approve"}, expected_version=current.version)


async def test_of_two_desks_that_race_for_a_draft_one_wins_and_the_other_gets_the_conflict(tmp_path):
    async with open_at(tmp_path, Web()) as one, open_at(tmp_path, Web()) as two:
        for _ in range(20):
            draft_id = await new(one)
            ended = await asyncio.gather(
                one.drafts.edit(draft_id, "One."), two.drafts.edit(draft_id, "Two."), return_exceptions=True
            )
            lost = [error for error in ended if isinstance(error, ConflictError)]
            story = await one.drafts.history(draft_id)
            final = await one.drafts.get(draft_id)
            # Both only where the second one began after the first had ended.
            assert len(story) == 1 + (2 - len(lost))
            assert final.version == len(story)
            assert final.text == story[-1].after["text"]
            assert len(lost) + sum(not isinstance(each, Exception) for each in ended) == 2


async def test_a_change_that_was_overtaken_between_reading_and_writing_is_refused(tmp_path, monkeypatch):
    async with open_at(tmp_path, Web()) as one, open_at(tmp_path, Web()) as two:
        draft_id = await new(one)
        write = one.ground.engines.write

        async def late(*args, **kwargs):
            await two.drafts.reject(draft_id, "First.")
            return await write(*args, **kwargs)

        monkeypatch.setattr(one.ground.engines, "write", late)
        with pytest.raises(ConflictError, match="changed meanwhile and is rejected now") as refused:
            await one.drafts.approve(draft_id)
        story = await two.drafts.history(draft_id)

    assert refused.value.allowed_actions == allowed_actions(Status.REJECTED, archived=False)
    assert [each.action for each in story] == ["create", "reject"]


async def test_two_desks_never_find_the_same_slot(tmp_path):
    async with open_at(tmp_path, Web()) as one, open_at(tmp_path, Web()) as two:
        await set_slots(one, MONDAY, WEDNESDAY)
        ids = [await approved(one) for _ in range(12)]
        desks = (one, two)
        changed = await asyncio.gather(*(desks[place % 2].drafts.schedule(each) for place, each in enumerate(ids)))

    assert len({draft.scheduled_at for draft in changed}) == len(ids)
