"""Tests for events: which changes have one, what it tells, that none is missed, and that they belong to their user."""

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from copydesk.desk.event_watcher import EventWatcher
from copydesk.desk.webhooks.sender import RETRY_DELAYS
from copydesk.errors import DeskClosedError
from copydesk.model.event import EventRange, EventType
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.store.database import Database
from desk_fixtures import NOW, URL_ONE, FakeWeb, Watch, create_source, entry, execute_sql, feed, open_desk_at, query_db
from desks_fixtures import open_desks_at
from draft_consistency import insert_drafts
from posting_fixtures import create_approved_draft
from virtual_time import run_in_virtual_time


async def told(desk, after=0):
    """Return type and data of the events after one."""
    return [(event.type, event.data) for event in await desk.events.list(after)]


async def newest(desk) -> int:
    return (await desk.events.range()).newest


async def types(desk, after=0):
    return [type_.value for type_, _ in await told(desk, after)]


async def test_draft_and_its_changes(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        draft_id = (await desk.drafts.create({"text": "A ferry."})).drafts[0].id
        await desk.drafts.approve(draft_id)
        await desk.drafts.edit(draft_id, "Another ferry.")
        await desk.drafts.undo(draft_id)
        created, approved, edited, undone = await told(desk)
        assert created[0] is EventType.DRAFT_CREATED
        assert (created[1]["draftId"], created[1]["status"], created[1]["origin"]) == (
            draft_id,
            "awaiting_review",
            "direct",
        )
        changes = [
            (data["action"], data["kind"], data["version"], data["statusBefore"], data["status"])
            for _, data in (approved, edited, undone)
        ]
        assert changes == [
            ("approve", "change", 2, "awaiting_review", "approved"),
            ("edit", "change", 3, "approved", "approved"),
            ("edit", "undo", 4, "approved", "approved"),
        ]
        assert "ferry" not in json.dumps([data for _, data in await told(desk)])
        assert {event.timestamp for event in await desk.events.list()} == {NOW}


async def test_bulk_change_has_an_event_for_each_draft(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        ids = await insert_drafts(desk, ["pending_review"] * 3)
        before = await newest(desk)
        await desk.drafts.bulk({"action": "reject", "ids": ids})
        changes = [data for _, data in await told(desk, before)]
        assert [change["draftId"] for change in changes] == ids
        assert len({change["bulkId"] for change in changes}) == 1


async def test_missed_draft(tmp_path):
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        draft_id = await create_approved_draft(desk)
        await desk.drafts.change(draft_id, {"action": "schedule", "scheduledAt": NOW + timedelta(hours=1)})
        watch.now += timedelta(days=2)
        await desk.schedule.accept_clock()
        before = await newest(desk)
        assert await desk.schedule.due_drafts.mark_missed() == (draft_id,)
        changed, missed = await told(desk, before)
        assert (changed[0], changed[1]["status"]) == (EventType.DRAFT_CHANGED, "missed")
        assert missed == (
            EventType.DRAFT_MISSED,
            {"draftId": draft_id, "version": changed[1]["version"], "scheduledAt": "2026-02-10T13:00:00.000Z"},
        )


async def test_run_and_source(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        source = await create_source(desk)
        run = await desk.pipeline.run()
        events = dict(await told(desk))
        assert events[EventType.RUN_STARTED] == {"runId": run.id}
        assert events[EventType.RUN_ENDED] == {
            "runId": run.id,
            "status": "succeeded",
            "itemsIngested": 1,
            "draftsCreated": 1,
        }
        assert events[EventType.SOURCE_HEALTH_CHANGED] == {
            "sourceId": source.id,
            "healthBefore": "unknown",
            "health": "healthy",
            "failCount": 0,
        }
        assert events[EventType.DRAFT_CREATED]["runId"] == run.id
        before = await newest(desk)
        execute_sql(tmp_path, "UPDATE run SET stage = 'rank'")
        execute_sql(tmp_path, "UPDATE run SET stage = 'rank', stats = '{}'")
        assert await told(desk, before) == [(EventType.RUN_PROGRESSED, {"runId": run.id, "stage": "rank"})]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("sent", {"outcome": "posted"}),
        ("failed", {"outcome": "failed"}),
        ("abandoned", {"outcome": "abandoned"}),
        ("unknown", {}),
        ("needs_user", {"reason": "outcome_unknown"}),
    ],
)
async def test_delivery(tmp_path, state, expected):
    type_ = {"unknown": EventType.DELIVERY_OUTCOME_UNKNOWN, "needs_user": EventType.DELIVERY_NEEDS_USER}
    async with open_posting_desk(tmp_path) as desk:
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        ((delivery_id,),) = query_db(tmp_path, "SELECT id FROM delivery")
        execute_sql(tmp_path, "UPDATE delivery SET state = 'sending'")
        before = await newest(desk)
        execute_sql(tmp_path, "UPDATE delivery SET state = ?", state)
        (event,) = await told(desk, before)
        delivery = {"deliveryId": delivery_id, "draftId": draft_id, "platform": "fake", "account": "me"}
        assert event == (type_.get(state, EventType.DELIVERY_ENDED), delivery | expected)


@asynccontextmanager
async def open_posting_desk(home):
    """Open a desk with an account of the fake platform."""
    options = {"secrets__plain": "true", "secrets__keyring": "false"}
    async with open_desks_at(home, platforms={"fake": FakePlatform(FakeServer())}, **options) as desks:
        desk = await desks.get(desks.owner)
        await desk.accounts.connect("fake", {"name": "me"})
        yield desk


async def test_account_that_cannot_be_used(tmp_path):
    async with open_posting_desk(tmp_path) as desk:
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        execute_sql(tmp_path, "UPDATE delivery SET state = 'planned'")
        before = await newest(desk)
        execute_sql(tmp_path, "UPDATE account SET trouble = 'Sign in.'")
        execute_sql(tmp_path, "UPDATE account SET trouble = 'Sign in again.'")
        execute_sql(tmp_path, "UPDATE delivery SET state = 'failed'")
        execute_sql(tmp_path, "UPDATE delivery SET state = 'planned'")
        execute_sql(tmp_path, "UPDATE delivery SET account_id = NULL")
        events = await told(desk, before)
        assert [type_ for type_, _ in events] == [
            EventType.DELIVERY_NEEDS_USER,
            EventType.DELIVERY_ENDED,
            EventType.DELIVERY_NEEDS_USER,
            EventType.DELIVERY_NEEDS_USER,
        ]
        assert {data["reason"] for type_, data in events if type_ is EventType.DELIVERY_NEEDS_USER} == {"account"}


async def test_numbers_say_nothing_of_other_users(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        owner, anna = await desks.get(desks.owner), await desks.get(await desks.users.add("anna"))
        for desk in (owner, anna, owner, anna, anna):
            await desk.drafts.create({"text": "A ferry."})
        assert [event.id for event in await owner.events.list()] == [1, 2]
        assert [event.id for event in await anna.events.list()] == [1, 2, 3]
        theirs = {event.data["draftId"] for event in await anna.events.list()}
        assert not theirs & {event.data["draftId"] for event in await owner.events.list()}


async def test_range_and_pages(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        assert await desk.events.range() == EventRange(oldest=0, newest=0)
        await insert_drafts(desk, ["pending_review"] * 5)
        assert await desk.events.range() == EventRange(oldest=1, newest=5)
        assert [event.id for event in await desk.events.list(1, 2)] == [2, 3]


async def test_old_events_are_deleted_but_not_the_newest(tmp_path):
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        await insert_drafts(desk, ["pending_review"] * 120)
        watch.now += timedelta(days=20)
        await insert_drafts(desk, ["pending_review"] * 2)
        watch.now += timedelta(days=11)
        assert (await desk.retention.prune()).events == 120
        assert await desk.events.range() == EventRange(oldest=121, newest=122)
        watch.now += timedelta(days=365)
        assert (await desk.retention.prune()).events == 1
        await insert_drafts(desk, ["pending_review"])
        assert await desk.events.range() == EventRange(oldest=122, newest=123)


async def test_event_is_kept_until_webhooks_had_all_attempts(tmp_path):
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch, retention__events_days="1") as desk:
        await insert_drafts(desk, ["pending_review"] * 2)
        watch.now += sum(RETRY_DELAYS, timedelta()) + timedelta(hours=1)
        assert (await desk.retention.prune()).events == 0
        watch.now += timedelta(days=1)
        assert (await desk.retention.prune()).events == 1


class Waiters:
    """Tells when `count` have begun to wait for events of a desk."""

    def __init__(self, monkeypatch, desk, count=1):
        watcher = desk._context.shared.event_watcher
        self.are_waiting = asyncio.Event()
        self._missing, self._wait = count, watcher.wait
        monkeypatch.setattr(watcher, "wait", self._count)

    async def _count(self, user_id, after):
        self._missing -= 1
        if self._missing == 0:
            self.are_waiting.set()
        await self._wait(user_id, after)


async def test_waiting_ends_with_an_event_of_another_process(tmp_path, monkeypatch):
    async with open_desk_at(tmp_path) as desk, open_desk_at(tmp_path) as other_process:
        waiters = Waiters(monkeypatch, desk)
        waiting = asyncio.create_task(desk.events.wait(0))
        await waiters.are_waiting.wait()
        await other_process.drafts.create({"text": "A ferry."})
        async with asyncio.timeout(10):
            (event,) = await waiting
        assert event.type is EventType.DRAFT_CREATED
        # What is there already is returned at once.
        assert await desk.events.wait(0) == (event,)


async def test_waiting_ends_when_the_desk_closes(tmp_path, monkeypatch):
    async with open_desk_at(tmp_path) as desk:
        waiters = Waiters(monkeypatch, desk)
        waiting = asyncio.create_task(desk.events.wait(0))
        await waiters.are_waiting.wait()
    with pytest.raises(DeskClosedError):
        await waiting


async def test_many_who_wait_cost_one_look(tmp_path, monkeypatch):
    async with open_desk_at(tmp_path) as desk:
        database = desk._context.database
        looks = 0
        count = database.change_counter

        async def change_counter():
            nonlocal looks
            looks += 1
            return await count()

        monkeypatch.setattr(database, "change_counter", change_counter)
        waiters = Waiters(monkeypatch, desk, 200)
        waiting = [asyncio.create_task(desk.events.wait(0)) for _ in range(200)]
        await waiters.are_waiting.wait()
        await desk.drafts.create({"text": "A ferry."})
        async with asyncio.timeout(10):
            results = await asyncio.gather(*waiting)
        assert {event.id for found in results for event in found} == {1}
        assert looks <= 20


class WrittenFile:
    """A database in a file to which another process writes; it tells nobody."""

    wait_for_change = Database.wait_for_change

    def __init__(self):
        self.writes = 0

    async def change_counter(self):
        return self.writes

    async def read(self, *_):
        return {"anna": self.writes}


async def _longest_wait(database):
    """Return the most seconds from a write to the end of the wait for its event, over writes at all moments."""
    watcher, loop, waits = EventWatcher(database), asyncio.get_running_loop(), []
    for number in range(50):
        waiting = asyncio.create_task(watcher.wait("anna", database.writes))
        await asyncio.sleep(2 + number / 50)
        database.writes += 1
        written_at = loop.time()
        await waiting
        waits.append(loop.time() - written_at)
    await watcher.close()
    return max(waits)


def test_event_in_a_file_is_noticed_within_half_a_second():
    assert run_in_virtual_time(_longest_wait(WrittenFile())) < 0.5
