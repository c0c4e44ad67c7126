"""Tests for posting to Mastodon-compatible servers."""

from datetime import timedelta

import msgspec
import pytest
from msgspec.structs import replace

from copydesk.model.draft import Format
from copydesk.posting.keys import uuid_key
from copydesk.posting.mastodon.media import PAUSES
from copydesk.posting.platform import (
    Evidence,
    LoginError,
    NotSentError,
    Post,
    RefusedPostError,
    Trust,
    UnknownOutcomeError,
)
from fake_mastodon import GOTOSOCIAL, HOUR, TOKEN, Fault
from mastodon_fixtures import NOW, SEED, Here, picture, thread

POSTING, MEDIA = "POST /api/v1/statuses", "POST /api/v2/media"


@pytest.fixture
def here() -> Here:
    return Here()


async def test_thread_posts_reply_with_own_idempotency_keys(here):
    intent = here.intent("One.", "Two.")
    first = await here.platform.send(here.me, intent, ())
    second = await here.platform.send(here.me, intent, (first,))
    assert here.server.said() == [("One.", None), ("Two.", "One.")]
    assert (first.urls, first.evidence) == ((f"https://social.example/@me/{first.ids[0]}",), Evidence.ANSWERED)
    assert second.ids[0] == here.server.statuses[1].id
    keys = [request.headers["idempotency-key"] for request in here.server.requests("POST", "/api/v1/statuses")]
    assert keys == [uuid_key(SEED, 0), uuid_key(SEED, 1)]


async def test_post_is_public_plain_text(here):
    await here.platform.send(here.me, here.intent("*One.*"), ())
    sent = msgspec.json.decode(here.server.requests("POST", "/api/v1/statuses")[0].content)
    assert sent == {"status": "*One.*", "visibility": "public", "content_type": "text/plain"}


def test_rendering_is_deterministic(here):
    assert here.intent("One.", "Two.") == here.intent("One.", "Two.")


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.NO_CONNECTION, NotSentError),
        (Fault.THROTTLED, NotSentError),
        (400, RefusedPostError),
        (401, LoginError),
        (403, LoginError),
        (Fault.WALL, RefusedPostError),
        (404, RefusedPostError),
        (422, RefusedPostError),
        (301, UnknownOutcomeError),
        (408, UnknownOutcomeError),
        (409, UnknownOutcomeError),
        (500, UnknownOutcomeError),
        (503, UnknownOutcomeError),
        (Fault.CUT_BEFORE, UnknownOutcomeError),
        (Fault.CUT_AFTER, UnknownOutcomeError),
        (Fault.GARBAGE_AFTER, UnknownOutcomeError),
        (Fault.NO_ID_AFTER, UnknownOutcomeError),
    ],
)
async def test_response_maps_to_error(here, fault, error):
    here.server.faults[POSTING].append(fault)
    with pytest.raises(error) as raised:
        await here.platform.send(here.me, here.intent("One."), ())
    assert type(raised.value) is error
    assert TOKEN not in repr(raised.value) + str(raised.value.__dict__)
    assert not hasattr(raised.value.__context__, "request")


async def test_rate_limit_reset_is_respected(here):
    here.server.faults[POSTING].append(Fault.THROTTLED)
    with pytest.raises(NotSentError) as raised:
        await here.platform.send(here.me, here.intent("One."), ())
    assert raised.value.retry_after == NOW + timedelta(minutes=4)


async def test_invalid_url_in_response_is_dropped(here):
    for url in ("javascript:alert(1)", "https://me:pw@social.example/1", "https://x.example/\x1b[31m", None, "/1"):
        here.server._shown = lambda status, url=url: {"id": status.id, "url": url}
        assert (await here.platform.send(here.me, here.intent("One."), ())).urls == ()


async def test_unsafe_id_in_response_has_unknown_outcome(here):
    for unsafe_id in ("../../oauth", "1?x", "", 17, "1\n", "x" * 65):
        here.server._shown = lambda status, unsafe_id=unsafe_id: {"id": unsafe_id}
        with pytest.raises(UnknownOutcomeError):
            await here.platform.send(here.me, here.intent("One."), ())


# Behaviour of real Mastodon that mastodon-mock lacks.


async def test_idempotency_key_expires_after_an_hour(here):
    intent = here.intent("One.")
    first = await here.platform.send(here.me, intent, ())
    here.clock.wait(NOW + timedelta(minutes=59))
    assert await here.platform.send(here.me, intent, ()) == first
    here.clock.wait(NOW + HOUR)
    assert await here.platform.send(here.me, intent, ()) != first
    assert timedelta(minutes=59) > here.platform.trust(here.me).repeat_within


async def test_key_of_deleted_post_is_refused(here):
    intent = here.intent("One.")
    result = await here.platform.send(here.me, intent, ())
    await here.platform.delete(here.me, result)
    with pytest.raises(RefusedPostError, match="Record not found") as raised:
        await here.platform.send(here.me, intent, ())
    assert "deleted" in raised.value.hint


async def test_reply_to_deleted_post_is_refused(here):
    intent = here.intent("One.", "Two.")
    result = await here.platform.send(here.me, intent, ())
    await here.platform.delete(here.me, result)
    with pytest.raises(RefusedPostError) as raised:
        await here.platform.send(here.me, intent, (result,))
    assert "The post before it was deleted" in raised.value.hint


async def test_picture_is_uploaded_per_attempt(here):
    """A media upload can be attached to one post only."""
    intent = here.intent("One.")
    here.server.faults[POSTING].append(Fault.CUT_AFTER)
    with pytest.raises(UnknownOutcomeError):
        await here.platform.send(here.me, intent, (), [picture()])
    here.clock.wait(NOW + 2 * HOUR)
    result = await here.platform.send(here.me, intent, (), [picture()])
    assert [status.media for status in here.server.statuses] == [["000101"], ["000103"]]
    assert result.ids == ("000104",)


async def test_server_without_keys_creates_duplicates():
    setup = Here(GOTOSOCIAL)
    for _ in range(3):
        await setup.platform.send(setup.me, setup.intent("One."), ())
    assert len(setup.server.statuses) == 3
    assert setup.platform.trust(setup.me) == Trust()


# Pictures.


async def test_pictures_are_attached_to_first_post(here):
    intent = here.intent("One.", "Two.")
    first = await here.platform.send(here.me, intent, (), [picture("Ä cat"), picture("")])
    await here.platform.send(here.me, intent, (first,), [picture("Ä cat"), picture("")])
    assert [status.media for status in here.server.statuses] == [["000101", "000102"], []]
    assert [upload.description for upload in here.server.uploads.values()] == ["Ä cat", ""]
    assert here.server.uploads["000101"].content == b"\x89PNG\r\n\x00bytes"


async def test_media_processing_is_waited_for(here):
    here.server.busy = 3
    await here.platform.send(here.me, here.intent("One."), (), [picture()])
    assert (here.paused, len(here.server.statuses)) == ([0.5, 1.0, 2.0], 1)


async def test_slow_media_processing_times_out(here):
    here.server.busy = 100
    with pytest.raises(NotSentError, match="still at work"):
        await here.platform.send(here.me, here.intent("One."), (), [picture(), picture()])
    assert (here.paused, here.server.statuses) == (list(PAUSES), [])


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.NO_CONNECTION, NotSentError),
        (Fault.CUT_BEFORE, NotSentError),
        (Fault.CUT_AFTER, NotSentError),
        (Fault.GARBAGE_AFTER, NotSentError),
        (Fault.NO_ID_AFTER, NotSentError),
        (Fault.THROTTLED, NotSentError),
        (500, NotSentError),
        (401, LoginError),
        (413, RefusedPostError),
        (422, RefusedPostError),
    ],
)
async def test_failed_upload_prevents_post(here, fault, error):
    here.server.faults[MEDIA] += [None, fault]
    with pytest.raises(error) as raised:
        await here.platform.send(here.me, here.intent("One."), (), [picture(), picture()])
    assert type(raised.value) is error
    assert here.server.statuses == []


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (422, RefusedPostError),
        (404, NotSentError),
        (500, NotSentError),
        (Fault.CUT_AFTER, NotSentError),
        (401, LoginError),
    ],
)
async def test_failed_media_processing_prevents_post(here, fault, error):
    here.server.busy = 5
    here.server.faults["GET /api/v1/media/000101"].append(fault)
    with pytest.raises(error):
        await here.platform.send(here.me, here.intent("One."), (), [picture()])
    assert here.server.statuses == []


# Limits of servers.


def problems(here: Here, post: Post, **account: object) -> list[tuple[str, int | None]]:
    issues = here.platform.problems(post, replace(here.me, **account))
    return [(problem.message, problem.part) for problem in issues]


def test_length_is_counted_as_server_does(here):
    link = "https://example.com/" + "a" * 600
    assert problems(here, thread(link, "b" * 500, "@someone@" + "x" * 500 + ".example")) == []
    assert problems(here, thread("ok", "b" * 501)) == [("It has 501 characters; social.example takes 500.", 1)]
    assert problems(here, thread("b" * 501), longest=5000) == []
    assert problems(here, thread("b" * 501), longest=None) != []


def test_other_servers_count_links_and_code_points(here):
    family = "👨‍👩‍👧‍👦" * 80
    assert problems(here, thread("https://example.com/" + "a" * 600), software="gotosocial 0.20.1") != []
    assert problems(here, thread(family)) == []
    assert problems(here, thread(family), software="gotosocial 0.20.1") != []


def test_validation_reports_problems(here):
    assert problems(here, thread("  ")) == [("It is empty.", 0)]
    assert "articles" in problems(here, Post(format=Format.BLOG, parts=("Long.",), at=NOW))[0][0]
    assert "5 pictures" in problems(here, thread("One.", alts=("",) * 5))[0][0]
    assert "1500" in problems(here, thread("One.", alts=("x" * 1501,)))[0][0]


@pytest.mark.parametrize(
    ("software", "keyed"),
    [
        ("mastodon 4.6.0", True),
        ("mastodon 4.6.3+glitch", True),
        ("mastodon 5.0.1", True),
        ("mastodon 4.5.9", False),
        ("mastodon 4.6.0-alpha.3+glitch", False),
        ("mastodon 3.5.19", False),
        ("mastodon", False),
        ("mastodon 99999999999999999999.0.0", False),
        ("gotosocial 0.20.1", False),
        ("pleroma 4.6.0", False),
        ("notmastodon 4.6.0", False),
        ("", False),
    ],
)
def test_idempotency_depends_on_server_version(here, software, keyed):
    """Earlier versions do not honour a key while its first request is still being processed."""
    trust = here.platform.trust(replace(here.me, software=software))
    assert trust == (Trust(repeat_within=timedelta(minutes=50)) if keyed else Trust(quiet=timedelta(seconds=90)))
