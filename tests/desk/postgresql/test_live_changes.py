"""A change by a console, a server or a worker reaches the others by the server's notification, without a timer.

Every timer that leads to a look at the database without one is set to ten minutes.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.http import event_stream
from copydesk.model.draft import Status
from copydesk.model.token import Scope
from copydesk.tui import desk_app
from desk_fixtures import FakeWeb, create_source, entry, feed
from event_streams import open_stream
from http_service import run_service
from review_driver import ReviewDriver, open_review
from running_workers import make_worker, open_desks_now, running

LONG = 600.0


@pytest.fixture(autouse=True)
def no_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let neither a console nor an event stream look for a change by itself."""
    monkeypatch.setattr(desk_app, "IDLE_INTERVAL", LONG)
    monkeypatch.setattr(event_stream, "KEEP_ALIVE", LONG)


async def wait_for_status(review: ReviewDriver, draft_id: str, status: Status) -> None:
    await review.wait_for(lambda: review.find_row(draft_id).status is status)


async def test_console_sees_what_another_console_decides(tmp_path: Path) -> None:
    async with (
        open_review(tmp_path, console__reviewer="anna") as anna,
        open_review(tmp_path, console__reviewer="ben") as ben,
    ):
        for one, other in ((anna, ben), (ben, anna)):
            draft_id = one.current.id
            await one.press("a")
            await wait_for_status(other, draft_id, Status.APPROVED)
            await other.press("j")


async def test_console_sees_what_a_server_decides_and_its_stream_what_the_console_does(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review, run_service(tmp_path) as one, run_service(tmp_path) as two:
        client = await one.client()
        stream_client = two.anonymous_client({"Authorization": client.headers["Authorization"]})
        first, second = review.screen.queue.rows[:2]
        async with open_stream(stream_client) as stream:
            assert (await client.patch(f"/drafts/{first.id}", json={"action": "reject"})).status_code == 200
            await wait_for_status(review, first.id, Status.REJECTED)
            await review.press("j", "a")
            events = [json.loads(event.data)["data"] for event in await stream.events(2)]
        assert [(event["draftId"], event["status"]) for event in events] == [
            (first.id, "rejected"),
            (second.id, "approved"),
        ]


async def test_console_and_stream_see_what_a_worker_writes(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put("https://one.example/feed", feed(entry(1, now=datetime.now(UTC))))
    async with (
        open_review(tmp_path) as review,
        run_service(tmp_path) as service,
        open_desks_now(tmp_path, web) as desks,
        open_stream(await service.client(Scope.READ)) as stream,
    ):
        desk: Desk = await desks.get(desks.owner)
        await create_source(desk, "https://one.example/feed")
        async with running(make_worker(tmp_path, desks)):
            while (await stream.events(1))[0].event != "draft.created":
                pass
            await review.wait_for(lambda: "1 new" in review.text)
