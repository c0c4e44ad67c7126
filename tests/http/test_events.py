"""Event streams: what they send, that they resume without gap or duplicate, and when they end."""

import asyncio
import json
import tempfile
from contextlib import AsyncExitStack, aclosing
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.desk import open_desks
from copydesk.http import event_stream
from copydesk.http.event_stream import EventStream, find_start
from copydesk.model.event import Event, EventRange, EventType
from copydesk.model.token import Scope
from copydesk.settings import load
from delayed_responses import wait_until
from desk_fixtures import NOW, Watch
from event_streams import open_stream
from http_service import run_server, run_service
from sampling import sample_size
from store_fixtures import database_variables

ANSWER_TIME = 10.0


async def make_drafts(desk, count):
    return [(await desk.drafts.create({"text": f"Ferry {number}."})).drafts[0].id for number in range(count)]


async def test_stream_sends_what_happens_from_now_on(service):
    client = await service.client(Scope.READ)
    desk = await service.desks.get(service.desks.owner)
    await make_drafts(desk, 2)
    async with open_stream(client) as stream:
        assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        (draft_id,) = await make_drafts(desk, 1)
        await desk.drafts.approve(draft_id)
        created, changed = await stream.events(2)
        assert (created.id, created.event) == (3, "draft.created")
        assert (changed.id, changed.event) == (4, "draft.changed")
        assert json.loads(changed.data)["data"]["status"] == "approved"
        assert json.loads(changed.data)["id"] == 4


@pytest.mark.parametrize("way", ["header", "parameter"])
async def test_stream_resumes_after_an_event(service, way):
    client = await service.client()
    desk = await service.desks.get(service.desks.owner)
    await make_drafts(desk, 5)
    path, headers = ("/events", {"last_event_id": "2"}) if way == "header" else ("/events?lastEventId=2", {})
    async with open_stream(client, path, **headers) as stream:
        assert [event.id for event in await stream.events(3)] == [3, 4, 5]
        await make_drafts(desk, 1)
        assert [event.id for event in await stream.events(1)] == [6]


async def test_header_counts_before_parameter(service):
    """A browser reconnects to the same URL, with the header."""
    client = await service.client()
    await make_drafts(await service.desks.get(service.desks.owner), 5)
    async with open_stream(client, "/events?lastEventId=2", last_event_id="4") as stream:
        assert [event.id for event in await stream.events(1)] == [5]


async def test_more_events_than_one_read(service):
    client = await service.client()
    await make_drafts(await service.desks.get(service.desks.owner), 130)
    async with open_stream(client, last_event_id="0") as stream:
        assert [event.id for event in await stream.events(130)] == list(range(1, 131))


async def test_chosen_types(service, monkeypatch):
    monkeypatch.setattr(event_stream, "KEEP_ALIVE", 0.05)
    client = await service.client()
    desk = await service.desks.get(service.desks.owner)
    async with open_stream(client, "/events?types=draft.changed,run.ended") as stream:
        ids = await make_drafts(desk, 3)
        await desk.drafts.approve(ids[0])
        (event,) = await stream.events(1)
        assert (event.id, event.event) == (4, "draft.changed")
        await make_drafts(desk, 1)
        # The client learns the number of what it does not get, and need not ask for it again.
        async for block in stream.blocks():
            if block.id is not None:
                assert (block.id, block.event, block.comment) == (5, "", "keep-alive")
                break


async def test_comments_are_sent_between_events_of_other_types(monkeypatch):
    """A proxy closes a connection on which nothing is sent."""
    monkeypatch.setattr(event_stream, "KEEP_ALIVE", 0.05)

    async def wait(after: int) -> tuple[Event, ...]:
        return (Event(id=after + 1, type=EventType.DRAFT_CREATED, timestamp=NOW, data={}),)

    async def is_token_valid() -> bool:
        return True

    stream = EventStream(
        SimpleNamespace(events=SimpleNamespace(wait=wait)),
        0,
        {EventType.RUN_ENDED},
        stopping=asyncio.Event(),
        is_token_valid=is_token_valid,
    )
    async with aclosing(stream.read()) as pieces, asyncio.timeout(ANSWER_TIME):
        assert (await anext(pieces)).startswith(b"retry:")
        assert (await anext(pieces)).startswith(b": keep-alive")


@pytest.mark.parametrize(
    ("path", "headers", "field"),
    [
        ("/events?types=draft.eaten", {}, "types"),
        ("/events?types=", {}, "types"),
        ("/events?lastEventId=-1", {}, "lastEventId"),
        ("/events?lastEventId=x", {}, "lastEventId"),
        ("/events", {"last_event_id": "x"}, "lastEventId"),
        ("/events", {"last_event_id": "9" * 30}, "lastEventId"),
    ],
)
async def test_invalid_parameters_are_refused(service, path, headers, field):
    async with open_stream(await service.client(), path, **headers) as stream:
        problem = json.loads(await stream.body())
        assert (stream.status, problem["errors"][0]["field"]) == (422, field)


async def test_stream_needs_a_token(service):
    async with open_stream(service.anonymous_client()) as stream:
        await stream.body()
        assert stream.status == 401


async def test_open_streams_of_a_token_are_limited(service, monkeypatch):
    monkeypatch.setattr(event_stream, "MAX_STREAMS", 2)
    client, other = await service.client(), await service.client()
    async with open_stream(client), AsyncExitStack() as stack:
        await stack.enter_async_context(open_stream(client))
        async with open_stream(client) as refused, open_stream(other) as accepted:
            problem = json.loads(await refused.body())
            assert (refused.status, problem["type"]) == (429, "/problems/too-many-streams")
            assert accepted.status == 200
        assert service.service.open_streams.total == 2
        await stack.aclose()
        async with open_stream(client) as again:
            assert again.status == 200
    assert service.service.open_streams.total == 0


async def test_head_does_not_wait(service):
    client = await service.client()
    async with asyncio.timeout(ANSWER_TIME):
        response = await client.head("/events")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


async def test_reset_tells_that_events_are_missing(tmp_path):
    watch = Watch()
    async with run_service(tmp_path, clock=watch) as service:
        desk = await service.desks.get(service.desks.owner)
        await make_drafts(desk, 5)
        watch.now += timedelta(days=31)
        await desk.retention.prune()
        await make_drafts(desk, 1)
        client = await service.client()
        async with open_stream(client, last_event_id="2") as stream:
            reset, *events = await stream.events(3)
            assert (reset.event, reset.id, json.loads(reset.data)) == ("reset", 4, {"requested": 2, "from": 5})
            assert [event.id for event in events] == [5, 6]
        async with open_stream(client, last_event_id="4") as stream:
            assert [event.id for event in await stream.events(2)] == [5, 6]
        # Of a database that was replaced by an older copy.
        async with open_stream(client, last_event_id="9") as stream:
            await make_drafts(desk, 1)
            reset, event = await stream.events(2)
            assert (reset.event, reset.id, event.id) == ("reset", 6, 7)


@given(st.integers(0, 50), st.integers(0, 50), st.none() | st.integers(0, 120))
def test_start_of_a_stream(deleted, kept, requested):
    newest = deleted + kept
    range_ = EventRange(oldest=deleted + 1 if kept else 0, newest=newest if kept else 0)
    start, is_reset = find_start(requested, range_)
    held = set(range(range_.oldest, range_.newest + 1)) - {0}
    if requested is None:
        assert (start, is_reset) == (range_.newest, False)
    elif not is_reset:
        assert start == requested
        # Nothing between the requested event and the first that is sent was deleted.
        assert set(range(requested + 1, range_.newest + 1)) <= held
    else:
        assert {event for event in held if event > start} == {event for event in held if event > requested}


async def test_other_users_events_are_not_sent(service):
    owner, anna = await service.client(), await service.client(user="anna")
    desk = await service.desks.get(service.desks.owner)
    other = await service.desks.get(await service.desks.users.get("anna"))
    async with open_stream(anna, last_event_id="0") as stream, open_stream(owner, last_event_id="0") as own:
        await make_drafts(desk, 3)
        (draft_id,) = await make_drafts(other, 1)
        (event,) = await stream.events(1)
        assert (event.id, json.loads(event.data)["data"]["draftId"]) == (1, draft_id)
        assert [event.id for event in await own.events(3)] == [1, 2, 3]


async def test_stream_ends_when_the_server_stops(service):
    async with open_stream(await service.client()) as stream, asyncio.timeout(ANSWER_TIME):
        service.service.stopping.set()
        assert [block async for block in stream.blocks() if block.event] == []


async def test_stream_ends_when_the_token_is_revoked(service, monkeypatch):
    monkeypatch.setattr(event_stream, "KEEP_ALIVE", 0.05)
    client = await service.client()
    desk = await service.desks.get(service.desks.owner)
    async with open_stream(client) as stream:
        await desk.tokens.revoke("test 0")
        await make_drafts(desk, 1)
        assert await stream.events(1) == []
        assert stream.has_ended


async def test_stream_ends_when_the_user_is_removed(service, monkeypatch):
    monkeypatch.setattr(event_stream, "KEEP_ALIVE", 0.05)
    async with open_stream(await service.client(user="anna")) as stream:
        await service.desks.users.remove("anna")
        assert await stream.events(1) == []
        assert stream.has_ended


async def test_client_that_does_not_read_is_given_up(service, monkeypatch):
    monkeypatch.setattr(event_stream, "SEND_TIMEOUT", 0.05)
    desk = await service.desks.get(service.desks.owner)
    async with open_stream(await service.client()) as stream, asyncio.timeout(ANSWER_TIME):
        async for _ in stream.blocks():
            break
        stream.reads.clear()
        await make_drafts(desk, 1)
        await stream.wait_until_given_up()
    assert not service.desks._ctx.event_watcher._waiting


async def test_closed_stream_leaves_no_tasks(service):
    client = await service.client()
    for _ in range(3):
        async with open_stream(client) as stream:
            async for _ in stream.blocks():
                break
    assert not service.desks._ctx.event_watcher._waiting

    def waits() -> set[str]:
        return {"Event.wait", "Events.wait"} & {task.get_coro().__qualname__ for task in asyncio.all_tasks()}

    # Those that were cancelled may need another round of the loop to end.
    await wait_until(lambda: not waits(), lambda: asyncio.sleep(0))


@settings(max_examples=sample_size(80), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3), st.booleans()), min_size=1, max_size=6))
def test_resumption_has_no_gap_and_no_duplicate(rounds):
    """Clients that lose their connection at any event, under writes before, during and between, and restarts."""

    async def run(home):
        received, remaining, headers = [], list(rounds), None
        while remaining:
            async with run_service(home, clock=Watch()) as service:
                client = await service.client() if headers is None else service.anonymous_client(headers)
                headers = {"Authorization": client.headers["authorization"]}
                desk = await service.desks.get(service.desks.owner)
                while remaining:
                    before, wanted, restart = remaining.pop(0)
                    await make_drafts(desk, before)
                    async with open_stream(client, last_event_id=str(received[-1] if received else 0)) as stream:
                        writing = asyncio.create_task(make_drafts(desk, wanted))
                        received += [event.id for event in await stream.events(wanted)]
                        await writing
                    if restart:
                        break
        return received

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        received = asyncio.run(run(home))
    assert received == list(range(1, len(received) + 1))


async def test_open_stream_does_not_hold_up_the_stop_of_the_server(tmp_path):
    async with open_desks(load(database_variables(tmp_path), tmp_path)) as desks, httpx.AsyncClient() as client:
        desk = await desks.get(desks.owner)
        token = await desk.tokens.create("reader", Scope.READ)
        headers = {"Authorization": f"Bearer {token.secret}"}
        async with asyncio.timeout(ANSWER_TIME), AsyncExitStack() as stack:
            async with run_server(desks) as url:
                request = client.stream("GET", f"{url}/events", headers=headers)
                chunks = (await stack.enter_async_context(request)).aiter_text()
                assert await anext(chunks) == "retry: 2000\n\n"
                await make_drafts(desk, 1)
                assert (await anext(chunks)).startswith("id: 1\nevent: draft.created\n")
            assert [chunk async for chunk in chunks] == []
