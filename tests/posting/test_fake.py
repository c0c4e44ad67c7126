"""Tests for the fake platform and its configurable faults."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from copydesk.model.draft import Format
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import (
    Account,
    Evidence,
    LoginError,
    NotSentError,
    Post,
    PostMetrics,
    RefusedPostError,
    UnknownOutcomeError,
)

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
ME = Account(platform="fake", server="https://fake.example", id="me", name="me")
SEED = "019c465e-6f00-7000-8000-000000000000"


def make_thread(*parts: str) -> Post:
    return Post(format=Format.THREAD, parts=parts, at=NOW)


async def test_thread_is_posted_as_replies():
    server = FakeServer()
    platform = FakePlatform(server)
    intent = platform.render(make_thread("One.", "Two."), ME, SEED)
    first = await platform.send(ME, intent, ())
    second = await platform.send(ME, intent, (first,))
    assert [(post.id, post.text, post.parent) for post in server.posts] == [("1", "One.", None), ("2", "Two.", "1")]
    assert (first.evidence, second.urls) == (Evidence.ANSWERED, ("https://fake.example/me/2",))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.NO_CONNECTION, NotSentError),
        (Fault.THROTTLED, NotSentError),
        (Fault.REFUSED, RefusedPostError),
        (Fault.LOGIN, LoginError),
        (Fault.CUT_BEFORE, UnknownOutcomeError),
    ],
)
async def test_fault_before_arrival_creates_nothing(fault, error):
    server = FakeServer()
    server.faults.append(fault)
    platform = FakePlatform(server)
    intent = platform.render(make_thread("One."), ME, SEED)
    with pytest.raises(error):
        await platform.send(ME, intent, ())
    assert server.posts == ()
    assert await platform.find_post(ME, intent, (), NOW) is None


async def test_post_is_found_after_lost_response():
    server = FakeServer()
    server.faults.append(Fault.CUT_AFTER)
    platform = FakePlatform(server)
    intent = platform.render(make_thread("One."), ME, SEED)
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, intent, ())
    found = await platform.find_post(ME, intent, (), NOW)
    assert (found.ids, found.evidence) == (("1",), Evidence.READ_BACK)


async def test_late_request_arrives_later():
    server = FakeServer()
    server.faults.append(Fault.LATE)
    platform = FakePlatform(server)
    intent = platform.render(make_thread("One."), ME, SEED)
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, intent, ())
    assert await platform.find_post(ME, intent, (), NOW) is None
    server.deliver_late_requests()
    assert await platform.find_post(ME, intent, (), NOW) is not None


@pytest.mark.parametrize(("idempotent", "count"), [(True, 1), (False, 2)])
async def test_idempotent_server_creates_post_once(idempotent, count):
    server = FakeServer(knows_keys=idempotent)
    platform = FakePlatform(server)
    intent = platform.render(make_thread("One."), ME, SEED)
    await platform.send(ME, intent, ())
    await platform.send(ME, intent, ())
    assert len(server.posts) == count


async def test_file_keeps_posts_across_instances(tmp_path: Path):
    path = tmp_path / "server.jsonl"
    platform = FakePlatform(FakeServer(path))
    result = await platform.send(ME, platform.render(make_thread("Ünïcode\nand lines"), ME, SEED), ())
    later = FakePlatform(FakeServer(path))
    assert [post.text for post in later.server.posts] == ["Ünïcode\nand lines"]
    await later.delete(ME, result)
    await later.delete(ME, result)
    assert platform.server.posts == ()


async def test_metrics_of_missing_post_are_none():
    server = FakeServer()
    platform = FakePlatform(server)
    await platform.send(ME, platform.render(make_thread("One."), ME, SEED), ())
    server.metrics["1"] = PostMetrics(likes=3)
    assert await platform.metrics(ME, ["1", "2"]) == {"1": PostMetrics(likes=3), "2": None}


def test_overlong_part_is_reported():
    assert [problem.part for problem in FakePlatform(FakeServer()).validate(make_thread("a", "b" * 501), ME)] == [1]
