"""The platform that is all here makes posts, and misbehaves as it is told."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from copydesk.model.draft import Format
from copydesk.posting.fake import FakePlatform, FakeServer, Fault
from copydesk.posting.platform import (
    Account,
    Evidence,
    Figures,
    LoginError,
    NotSentError,
    Post,
    RefusedPostError,
    UnknownOutcomeError,
)

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
ME = Account(platform="fake", server="https://fake.example", id="me", name="me")
SEED = "019c465e-6f00-7000-8000-000000000000"


def thread(*parts: str) -> Post:
    return Post(format=Format.THREAD, parts=parts, at=NOW)


async def test_a_thread_is_made_post_by_post_each_under_the_one_before():
    server = FakeServer()
    platform = FakePlatform(server)
    intent = platform.render(thread("One.", "Two."), ME, SEED)
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
async def test_after_these_faults_nothing_is_there(fault, error):
    server = FakeServer()
    server.faults.append(fault)
    platform = FakePlatform(server)
    intent = platform.render(thread("One."), ME, SEED)
    with pytest.raises(error):
        await platform.send(ME, intent, ())
    assert server.posts == ()
    assert await platform.look_up(ME, intent, (), NOW) is None


async def test_after_a_lost_answer_it_is_there_and_found():
    server = FakeServer()
    server.faults.append(Fault.CUT_AFTER)
    platform = FakePlatform(server)
    intent = platform.render(thread("One."), ME, SEED)
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, intent, ())
    found = await platform.look_up(ME, intent, (), NOW)
    assert (found.ids, found.evidence) == (("1",), Evidence.READ_BACK)


async def test_a_late_request_arrives_when_it_does():
    server = FakeServer()
    server.faults.append(Fault.LATE)
    platform = FakePlatform(server)
    intent = platform.render(thread("One."), ME, SEED)
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, intent, ())
    assert await platform.look_up(ME, intent, (), NOW) is None
    server.arrive()
    assert await platform.look_up(ME, intent, (), NOW) is not None


@pytest.mark.parametrize(("knows", "count"), [(True, 1), (False, 2)])
async def test_a_server_that_knows_keys_makes_nothing_twice(knows, count):
    server = FakeServer(knows_keys=knows)
    platform = FakePlatform(server)
    intent = platform.render(thread("One."), ME, SEED)
    await platform.send(ME, intent, ())
    await platform.send(ME, intent, ())
    assert len(server.posts) == count


async def test_what_is_in_a_file_outlives_whoever_posted_it(tmp_path: Path):
    path = tmp_path / "server.jsonl"
    platform = FakePlatform(FakeServer(path))
    made = await platform.send(ME, platform.render(thread("Ünïcode\nand lines"), ME, SEED), ())
    later = FakePlatform(FakeServer(path))
    assert [post.text for post in later.server.posts] == ["Ünïcode\nand lines"]
    await later.delete(ME, made)
    await later.delete(ME, made)
    assert platform.server.posts == ()


async def test_figures_of_what_is_gone_are_none():
    server = FakeServer()
    platform = FakePlatform(server)
    await platform.send(ME, platform.render(thread("One."), ME, SEED), ())
    server.figures["1"] = Figures(likes=3)
    assert await platform.figures(ME, ["1", "2"]) == {"1": Figures(likes=3), "2": None}


def test_a_part_that_is_too_long_is_named():
    assert [problem.part for problem in FakePlatform(FakeServer()).problems(thread("a", "b" * 501), ME)] == [1]
