"""Undo and redo: of one draft, of the user's last change, of a bulk as one; and what stands in the way."""

import random
from datetime import timedelta

import pytest

from copydesk.errors import ConflictError, CopydeskError, NotFoundError, OutOfReachError
from copydesk.model.draft import Action, Status
from copydesk.model.history import SYSTEM, EventKind
from copydesk.model.schedule import Slot
from copydesk.store import changes, events, schedule
from copydesk.store.changes import Step
from desk_fixtures import NOW, ONE, Watch, Web, add, change, drafts_of, entry, feed, open_at, rows

SLOTS = [Slot(day_of_week=day, hour=9, minute=0) for day in range(7)]
LATER = NOW + timedelta(days=2)
GOES_ON = {"version", "updated_at", "undo_rid", "redo_rid"}
"""The columns of a draft that an undo does not restore: they count and time the changes, the undo with them."""


@pytest.fixture
async def desk(tmp_path):
    async with open_at(tmp_path, Web()) as desk:
        await desk.ground.write(schedule.set_slots, SLOTS)
        yield desk


async def made(desk, count: int) -> list[str]:
    return [(await desk.drafts.create({"text": f"Text {number}."})).drafts[0].id for number in range(count)]


def kept(home) -> list[tuple[object, ...]]:
    """The rows of all drafts, but for what goes on."""
    names = [str(name) for _, name, *_ in rows(home, "PRAGMA table_info(draft)")]
    return rows(home, f"SELECT {', '.join(name for name in names if name not in GOES_ON)} FROM draft ORDER BY id")


async def by_the_system(desk, draft_id: str, action: str, **after: object) -> None:
    """Something that the system does to a draft."""

    def work(conn, user_id):
        seen = changes.one_seen(conn, user_id, draft_id)
        step = Step(kind=EventKind.FIXED, action=action, after=changes.stored(after), at=NOW, who=SYSTEM)
        changes.put(conn, user_id, seen, step)

    await desk.ground.write(work)


async def test_the_last_change_of_a_draft_is_taken_back_and_done_again(desk, tmp_path):
    (draft_id,) = await made(desk, 1)
    first = kept(tmp_path)
    await desk.drafts.reject(draft_id, "No.")
    second = kept(tmp_path)
    await desk.drafts.approve(draft_id)
    third = kept(tmp_path)

    states = []
    for step in (desk.drafts.undo, desk.drafts.undo, desk.drafts.redo, desk.drafts.redo, desk.drafts.undo):
        done = await step(draft_id)
        assert done.succeeded == (draft_id,)
        states.append(kept(tmp_path))
    assert states == [second, first, second, third, second]
    assert (await desk.drafts.get(draft_id)).version == 8


async def test_an_undo_is_itself_in_the_history(desk):
    (draft_id,) = await made(desk, 1)
    await desk.drafts.reject(draft_id, "No.")
    await desk.drafts.undo(draft_id)
    await desk.drafts.redo(draft_id)
    await desk.drafts.undo(draft_id)
    story = [(each.kind, each.action, each.of_version, each.undone) for each in await desk.drafts.history(draft_id)]

    assert story == [
        ("fixed", "create", None, False),
        ("change", "reject", None, True),
        ("undo", "reject", 2, False),
        ("redo", "reject", 3, True),
        ("undo", "reject", 4, False),
    ]


async def test_the_undo_of_an_edit_restores_text_checks_and_confidence_to_the_byte(tmp_path):
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        await add(desk)
        await desk.pipeline.run()
        (draft,) = await drafts_of(desk)
        before = kept(tmp_path)
        await desk.drafts.change(draft.id, {"text": "Nothing but 77 words.", "action": "approve"})
        await desk.drafts.undo(draft.id)
        after = await desk.drafts.get(draft.id)

    assert kept(tmp_path) == before
    assert (after.text, after.checks, after.confidence) == (draft.text, draft.checks, draft.confidence)
    assert after.sentences == draft.sentences


async def test_the_undo_of_archiving_restores_the_draft(desk):
    (draft_id,) = await made(desk, 1)
    await desk.drafts.archive(draft_id)
    await desk.drafts.undo(draft_id)

    assert (await desk.drafts.get(draft_id)).archived_at is None
    await desk.drafts.approve(draft_id)


async def test_after_another_change_nothing_is_redone(desk):
    one, two = await made(desk, 2)
    await desk.drafts.approve(one)
    await desk.drafts.undo(one)
    await desk.drafts.reject(one)
    with pytest.raises(ConflictError, match="nothing to be redone on this draft"):
        await desk.drafts.redo(one)

    await desk.drafts.undo(one)
    await desk.drafts.approve(two)
    with pytest.raises(ConflictError, match="something was changed after the last undo"):
        await desk.drafts.redo()
    # By itself the draft is where the undo left it.
    await desk.drafts.redo(one)


async def test_what_somebody_else_changed_since_stands_in_nobodys_way(desk, tmp_path):
    one, theirs = await made(desk, 2)
    await desk.drafts.reject(one)
    await desk.drafts.undo(one)
    await desk.drafts.reject(theirs)
    change(tmp_path, "INSERT INTO user (id, name, time_zone, created_at) VALUES ('zz', 'Eve', 'UTC', 0)")
    change(tmp_path, "UPDATE draft_event SET user_id = 'zz' WHERE draft_id = ?", theirs)
    change(tmp_path, "UPDATE draft SET user_id = 'zz' WHERE id = ?", theirs)

    assert (await desk.drafts.redo()).succeeded == (one,)
    assert (await desk.drafts.undo()).succeeded == (one,)
    assert (await desk.drafts.get(one)).status is Status.AWAITING_REVIEW


async def test_without_an_id_the_users_last_changes_are_taken_back_one_by_one(desk, tmp_path):
    one, two = await made(desk, 2)
    first = kept(tmp_path)
    await desk.drafts.approve(one)
    await desk.drafts.reject(two)
    await desk.drafts.unapprove(one)
    last = kept(tmp_path)

    done = [await desk.drafts.undo() for _ in range(3)]
    assert [(each.action, each.succeeded) for each in done] == [
        ("unapprove", (one,)),
        ("reject", (two,)),
        ("approve", (one,)),
    ]
    assert kept(tmp_path) == first
    with pytest.raises(ConflictError, match="There is nothing to be undone"):
        await desk.drafts.undo()
    assert [(await desk.drafts.redo()).action for _ in range(3)] == ["approve", "reject", "unapprove"]
    assert kept(tmp_path) == last
    with pytest.raises(ConflictError, match="There is nothing to be redone"):
        await desk.drafts.redo()


async def test_a_bulk_is_taken_back_and_done_again_as_one(desk, tmp_path):
    ids = await made(desk, 60)
    first = kept(tmp_path)
    await desk.drafts.bulk({"action": "approve", "ids": ids})
    second = kept(tmp_path)
    undone = await desk.drafts.undo()

    assert (undone.action, undone.succeeded, undone.failed) == ("approve", tuple(ids[::-1]), ())
    assert kept(tmp_path) == first
    redone = await desk.drafts.redo()
    assert redone.succeeded == tuple(ids)
    assert kept(tmp_path) == second
    assert (await desk.drafts.undo()).succeeded == tuple(ids[::-1])
    assert kept(tmp_path) == first


async def test_an_action_on_more_than_a_hundred_drafts_is_taken_back_as_one(desk, tmp_path):
    ids = await made(desk, 130)
    first = kept(tmp_path)
    assert (await desk.drafts.act(Action.ARCHIVE, ids)).succeeded == 130

    assert len((await desk.drafts.undo()).succeeded) == 130
    assert kept(tmp_path) == first


async def test_what_came_after_a_bulk_is_taken_back_before_it(desk, tmp_path):
    one, two, three = await made(desk, 3)
    first = kept(tmp_path)
    await desk.drafts.bulk({"action": "approve", "ids": [one, two, three]})
    await desk.drafts.undo(one)
    await desk.drafts.reject(one)
    await desk.drafts.edit(two, "Better.")

    assert [(await desk.drafts.undo()).succeeded for _ in range(3)] == [(two,), (one,), (three, two)]
    assert kept(tmp_path) == first


async def test_a_bulk_leaves_out_what_was_taken_back_already(desk):
    one, two, three = await made(desk, 3)
    await desk.drafts.bulk({"action": "approve", "ids": [one, two, three]})
    await desk.drafts.undo(one)
    await by_the_system(desk, two, "picked_up", status=Status.POSTING)
    done = await desk.drafts.undo()

    assert done.succeeded == (three,)
    assert [(failure.id, failure.error) for failure in done.failed] == [
        (two, "Something happened to this draft since (posting has begun); it was left as it is.")
    ]


async def test_one_of_a_bulk_is_taken_back_alone(desk):
    one, two = await made(desk, 2)
    await desk.drafts.bulk({"action": "approve", "ids": [one, two]})
    await desk.drafts.undo(one)

    assert [(await desk.drafts.get(each)).status for each in (one, two)] == ["awaiting_review", "approved"]


async def test_a_draft_to_which_nothing_was_done_has_nothing_to_undo(desk):
    (draft_id,) = await made(desk, 1)
    with pytest.raises(ConflictError, match="There is nothing to be undone on this draft") as refused:
        await desk.drafts.undo(draft_id)

    assert refused.value.current_status == "awaiting_review"
    assert "approve" in refused.value.allowed_actions
    with pytest.raises(ConflictError, match="There is nothing to be undone"):
        await desk.drafts.undo()


async def test_what_the_system_did_is_not_undone_nor_what_was_before_it(desk):
    one, two = await made(desk, 2)
    await desk.drafts.approve(two)
    await desk.drafts.approve(one)
    await desk.drafts.schedule(one)
    await by_the_system(desk, one, "late", status=Status.MISSED)
    with pytest.raises(
        ConflictError,
        match=r"The last thing that happened to this draft \(it was too late to be sent\) cannot be undone",
    ):
        await desk.drafts.undo(one)
    # Not an older change instead, which nobody meant.
    with pytest.raises(
        ConflictError, match=r"Your last change \(it was scheduled\) cannot be undone: since then it was too late"
    ):
        await desk.drafts.undo()
    await desk.drafts.reschedule(one, LATER)

    assert (await desk.drafts.undo()).action == "reschedule"
    with pytest.raises(ConflictError, match=r"\(late\)|nothing to be undone on this draft"):
        await desk.drafts.undo(one)
    assert (await desk.drafts.get(one)).status == "missed"
    await desk.drafts.undo(two)


async def test_who_was_told_that_the_last_change_is_out_of_reach_gets_at_the_one_before_it(desk):
    one, two, three = await made(desk, 3)
    for each in (one, two, three):
        await desk.drafts.approve(each)
    await by_the_system(desk, three, "post", status=Status.POSTING)
    told = set()
    with pytest.raises(
        OutOfReachError, match=r"\(it was approved\) cannot be undone: since then it was sent\."
    ) as refused:
        await desk.drafts.undo()
    told.add(refused.value.change)
    assert (await desk.drafts.undo(passing=told)).succeeded == (two,)
    assert (await desk.drafts.undo(passing=told)).succeeded == (one,)
    with pytest.raises(ConflictError, match="nothing to be undone"):
        await desk.drafts.undo(passing=told)


async def test_a_change_whose_time_has_passed_keeps_nobody_from_the_one_before_it(desk):
    one, two = await made(desk, 2)
    await desk.drafts.approve(one)
    await desk.drafts.approve(two)
    await desk.drafts.schedule(two)
    await desk.drafts.cancel_schedule(two)
    desk.ground.clock.now += timedelta(days=30)
    with pytest.raises(OutOfReachError, match="has passed") as refused:
        await desk.drafts.undo()
    assert (await desk.drafts.undo(passing={refused.value.change})).succeeded == (one,)


async def test_a_bulk_of_which_nothing_can_be_undone_keeps_nobody_from_the_one_before_it(desk):
    first, *bulk, last = await made(desk, 5)
    await desk.drafts.approve(first)
    await desk.drafts.act(Action.APPROVE, bulk)
    await desk.drafts.act(Action.SCHEDULE, bulk)
    await desk.drafts.act(Action.CANCEL_SCHEDULE, bulk)
    desk.ground.clock.now += timedelta(days=30)
    told = set()
    with pytest.raises(OutOfReachError, match=r"\(.*\) cannot be undone on any of its 3 drafts. Its time") as refused:
        await desk.drafts.undo(passing=told)
    told.add(refused.value.change)
    assert (await desk.drafts.undo(passing=told)).succeeded == (first,)

    # What is done after that is taken back first, and nothing between the two is passed over.
    await desk.drafts.approve(first)
    await desk.drafts.approve(last)
    assert [(await desk.drafts.undo(passing=told)).succeeded for _ in range(2)] == [(last,), (first,)]
    with pytest.raises(ConflictError, match="nothing to be undone"):
        await desk.drafts.undo(passing=told)


async def test_of_a_bulk_that_is_partly_out_of_reach_the_rest_is_taken_back(desk):
    one, two, before = await made(desk, 3)
    await desk.drafts.act(Action.APPROVE, [before, one, two])
    await desk.drafts.schedule(one, NOW + timedelta(days=1))
    await desk.drafts.schedule(two, NOW + timedelta(days=60))
    await desk.drafts.act(Action.CANCEL_SCHEDULE, [one, two])
    desk.ground.clock.now += timedelta(days=30)
    done = await desk.drafts.undo()
    assert (done.succeeded, [failure.id for failure in done.failed]) == ((two,), [one])
    with pytest.raises(OutOfReachError, match="on its draft") as refused:
        await desk.drafts.undo()
    assert (await desk.drafts.undo(passing={refused.value.change})).succeeded == (two,)


async def test_what_was_made_between_two_changes_out_of_reach_is_not_passed_over(desk):
    one, two, three = await made(desk, 3)
    told = set()
    for each in (one, three):
        await desk.drafts.approve(each)
        await desk.drafts.schedule(each)
        await desk.drafts.cancel_schedule(each)
        desk.ground.clock.now += timedelta(days=30)
        with pytest.raises(OutOfReachError, match="has passed") as refused:
            await desk.drafts.undo(passing=told)
        told.add(refused.value.change)
        if each == one:
            await desk.drafts.approve(two)
    assert (await desk.drafts.undo(passing=told)).succeeded == (two,)


async def test_a_large_bulk_can_be_stopped_between_its_parts_and_gone_on_with(desk, tmp_path, monkeypatch):
    monkeypatch.setattr("copydesk.desk.undoing.MOST_IDS", 2)
    ids = await made(desk, 5)
    first = kept(tmp_path)
    await desk.drafts.act(Action.ARCHIVE, ids)
    last = kept(tmp_path)
    done = await desk.drafts.undo(stopped=lambda: True)
    assert (len(done.succeeded), done.failed, done.left) == (2, (), 3)
    assert len((await desk.drafts.undo()).succeeded) == 3
    assert kept(tmp_path) == first

    done = await desk.drafts.redo(stopped=lambda: True)
    assert (len(done.succeeded), done.left) == (2, 1)
    while kept(tmp_path) != last:
        await desk.drafts.redo()


@pytest.mark.parametrize("delivery", ["pending", "posted"])
async def test_what_was_sent_since_is_not_undone(desk, tmp_path, delivery):
    (draft_id,) = await made(desk, 1)
    await desk.drafts.approve(draft_id)
    statement = (
        "INSERT INTO engagement (id, user_id, draft_id, platform, format, status, created_at)"
        " SELECT 'e', user_id, id, 'bluesky', format, ?, updated_at + 1 FROM draft"
    )
    change(tmp_path, statement, delivery)
    before = kept(tmp_path)
    for asked in (draft_id, None):
        with pytest.raises(ConflictError, match="It went to bluesky since; that cannot be undone"):
            await desk.drafts.undo(asked)

    assert kept(tmp_path) == before
    await desk.drafts.archive(draft_id)
    change(tmp_path, "UPDATE engagement SET created_at = 0")
    await desk.drafts.undo(draft_id)


async def test_a_time_that_has_passed_is_not_given_back(tmp_path):
    clock = Watch()
    async with open_at(tmp_path, Web(), clock) as desk:
        one, two = await made(desk, 2)
        await desk.drafts.bulk({"action": "approve", "ids": [one, two]})
        await desk.drafts.schedule(one, NOW + timedelta(hours=1))
        await desk.drafts.cancel_schedule(one)
        await desk.drafts.schedule(two, NOW + timedelta(hours=1))
        await desk.drafts.reschedule(two, NOW + timedelta(days=1))
        clock.forward(7200)
        for draft_id in (one, two):
            with pytest.raises(ConflictError, match=r"Its time, 2026-02-10T13:00:00.000Z, has passed"):
                await desk.drafts.undo(draft_id)
        await desk.drafts.edit(two, "Other words.")
        await desk.drafts.undo(two)

        assert (await desk.drafts.get(one)).status == "approved"
        assert (await desk.drafts.get(two)).scheduled_at == NOW + timedelta(days=1)


async def test_a_slot_that_another_draft_has_by_now_is_given_back_all_the_same(desk):
    one, two = await made(desk, 2)
    await desk.drafts.bulk({"action": "approve", "ids": [one, two]})
    first = (await desk.drafts.schedule(one)).scheduled_at
    await desk.drafts.cancel_schedule(one)
    assert (await desk.drafts.schedule(two)).scheduled_at == first
    await desk.drafts.undo(one)

    assert [(await desk.drafts.get(each)).scheduled_at for each in (one, two)] == [first, first]


async def random_step(desk, chance: random.Random, ids: list[str]) -> None:
    """Anything that a user may ask, refused or not."""
    drafts, draft_id = desk.drafts, chance.choice(ids)
    some = chance.sample(ids, chance.randint(1, len(ids)))
    at = NOW + timedelta(hours=chance.randint(1, 500))
    bulk = chance.choice(["approve", "reject", "archive", "schedule", "cancel_schedule"])
    step = chance.choice(
        [
            lambda: drafts.approve(draft_id),
            lambda: drafts.reject(draft_id, chance.choice([None, "No.", "é[red]"])),
            lambda: drafts.unapprove(draft_id, chance.choice([None, "Shorter."])),
            lambda: drafts.archive(draft_id),
            lambda: drafts.regenerate(draft_id) if chance.random() < 0.1 else drafts.approve(draft_id),
            lambda: drafts.edit(draft_id, f"Words {chance.random()} #some #{chance.random()}"),
            lambda: drafts.change(draft_id, {"text": "Both.", "action": "approve"}),
            lambda: drafts.schedule(draft_id),
            lambda: drafts.schedule(draft_id, at, smart=chance.random() < 0.5),
            lambda: drafts.reschedule(draft_id, at),
            lambda: drafts.cancel_schedule(draft_id),
            lambda: drafts.bulk({"action": bulk, "ids": some}),
            lambda: drafts.undo(draft_id),
            lambda: drafts.redo(draft_id),
            drafts.undo,
            drafts.redo,
        ]
    )
    await step()


@pytest.mark.parametrize("seed", range(4))
async def test_200_random_steps_undone_bring_every_draft_back_to_its_first_state(desk, tmp_path, seed):
    chance = random.Random(seed)
    ids = await made(desk, 6)
    first = kept(tmp_path)
    done = 0
    while done < 200:
        try:
            await random_step(desk, chance, ids)
            done += 1
        except CopydeskError:
            continue
    while any(rows(tmp_path, "SELECT 1 FROM draft WHERE undo_rid IS NOT NULL")):
        assert not (await desk.drafts.undo()).failed

    assert kept(tmp_path) == first
    with pytest.raises(ConflictError, match="There is nothing to be undone"):
        await desk.drafts.undo()
    # Every version has its event, and each says what was there before.
    for draft_id in ids:
        story = await desk.drafts.history(draft_id)
        assert [each.version for each in story] == list(range(1, (await desk.drafts.get(draft_id)).version + 1))
        now: dict[str, object] = {}
        for each in story:
            assert {name: now.get(name, value) for name, value in each.before.items()} == each.before
            now |= each.after


async def test_what_is_deleted_while_it_is_looked_for_is_no_damage(desk, tmp_path, monkeypatch):
    def deleting(conn, user_id, ids, **how):
        found = seen(conn, user_id, ids, **how)
        for table, named in (("draft_event", "draft_id"), ("draft", "id")):
            change(tmp_path, f"DELETE FROM {table} WHERE {named} = ?", one)
        return found

    seen, (one, other) = changes.seen, await made(desk, 2)
    await desk.drafts.bulk({"action": "archive", "ids": [one, other]})
    monkeypatch.setattr(changes, "seen", deleting)
    with pytest.raises(NotFoundError):
        await desk.drafts.undo(one)


async def test_of_a_bulk_what_is_deleted_while_it_is_looked_for_is_passed_over(desk, tmp_path, monkeypatch):
    def deleting(conn, user_id, bulk_id):
        found = of_bulk(conn, user_id, bulk_id)
        change(tmp_path, "DELETE FROM draft WHERE id = ?", one)
        return found

    of_bulk, (one, other) = events.of_bulk, await made(desk, 2)
    await desk.drafts.bulk({"action": "archive", "ids": [one, other]})
    monkeypatch.setattr(events, "of_bulk", deleting)
    done = await desk.drafts.undo()

    assert (done.succeeded, done.failed) == ((other,), ())


@pytest.mark.parametrize("before", [True, False])
async def test_where_all_of_a_bulk_is_deleted_while_it_is_looked_for_that_is_a_conflict(
    desk, tmp_path, monkeypatch, before
):
    def deleting(conn, user_id, bulk_id):
        found = () if before else of_bulk(conn, user_id, bulk_id)
        for table in ("draft_event", "draft"):
            change(tmp_path, f"DELETE FROM {table}")
        return found

    of_bulk, ids = events.of_bulk, await made(desk, 2)
    await desk.drafts.bulk({"action": "archive", "ids": ids})
    monkeypatch.setattr(events, "of_bulk", deleting)
    with pytest.raises(ConflictError, match="deleted meanwhile; nothing was undone"):
        await desk.drafts.undo()


async def test_the_number_of_an_event_is_given_once(desk, tmp_path):
    one, other = await made(desk, 2)
    await desk.drafts.reject(other)
    ((last,),) = rows(tmp_path, "SELECT max(rid) FROM draft_event")
    change(tmp_path, "DELETE FROM draft_event WHERE draft_id = ?", other)
    await desk.drafts.reject(one)

    assert rows(tmp_path, "SELECT max(rid) FROM draft_event") == [(int(str(last)) + 1,)]


async def test_the_next_step_back_is_found_without_reading_the_history(desk, tmp_path):
    queries = [
        "SELECT undo_rid FROM draft WHERE user_id = 'u' AND undo_rid IS NOT NULL ORDER BY undo_rid DESC LIMIT 1",
        "SELECT redo_rid FROM draft WHERE user_id = 'u' AND redo_rid IS NOT NULL ORDER BY redo_rid DESC LIMIT 1",
        "SELECT * FROM draft_event WHERE user_id = 'u' AND kind = 'change' ORDER BY rid DESC LIMIT 1",
    ]
    for query in queries:
        ((*_, plan),) = rows(tmp_path, f"EXPLAIN QUERY PLAN {query}")
        assert str(plan).startswith("SEARCH")
        assert "INDEX" in str(plan)


async def test_two_desks_do_not_take_one_change_back_twice(tmp_path):
    async with open_at(tmp_path, Web()) as one, open_at(tmp_path, Web()) as two:
        (draft_id,) = await made(one, 1)
        await one.drafts.reject(draft_id, "No.")
        await two.drafts.undo()
        with pytest.raises(ConflictError, match="There is nothing to be undone"):
            await one.drafts.undo()
        await one.drafts.redo()

        assert (await two.drafts.get(draft_id)).rejection_feedback == "No."
