"""Tests for posting to Mastodon-compatible servers."""

from datetime import timedelta

import msgspec
import pytest
from msgspec.structs import replace

from copydesk.model.draft import Format
from copydesk.posting.mastodon.platform import CHECK_DELAYS
from copydesk.posting.platform import (
    DeliveryGuarantees,
    Evidence,
    LoginError,
    NotSentError,
    Post,
    RefusedPostError,
    UnknownOutcomeError,
    uuid_key,
)
from fake_mastodon import GOTOSOCIAL, HOUR, TOKEN, Fault
from mastodon_fixtures import NOW, SEED, MastodonSetup, make_image, make_thread

POST_STATUS, POST_MEDIA = "POST /api/v1/statuses", "POST /api/v2/media"


@pytest.fixture
def setup() -> MastodonSetup:
    return MastodonSetup()


async def test_thread_posts_reply_with_own_idempotency_keys(setup):
    intent = setup.render("One.", "Two.")
    first = await setup.platform.send(setup.account, intent, ())
    second = await setup.platform.send(setup.account, intent, (first,))
    assert setup.server.posted_texts() == [("One.", None), ("Two.", "One.")]
    assert (first.urls, first.evidence) == ((f"https://social.example/@me/{first.ids[0]}",), Evidence.ANSWERED)
    assert second.ids[0] == setup.server.statuses[1].id
    keys = [request.headers["idempotency-key"] for request in setup.server.requests_to("POST", "/api/v1/statuses")]
    assert keys == [uuid_key(SEED, 0), uuid_key(SEED, 1)]


async def test_post_is_public_plain_text(setup):
    await setup.platform.send(setup.account, setup.render("*One.*"), ())
    sent = msgspec.json.decode(setup.server.requests_to("POST", "/api/v1/statuses")[0].content)
    assert sent == {"status": "*One.*", "visibility": "public", "content_type": "text/plain"}


def test_rendering_is_deterministic(setup):
    assert setup.render("One.", "Two.") == setup.render("One.", "Two.")


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
async def test_response_maps_to_error(setup, fault, error):
    setup.server.faults[POST_STATUS].append(fault)
    with pytest.raises(error) as raised:
        await setup.platform.send(setup.account, setup.render("One."), ())
    assert type(raised.value) is error
    assert TOKEN not in repr(raised.value) + str(raised.value.__dict__)
    assert not hasattr(raised.value.__context__, "request")


async def test_rate_limit_reset_is_respected(setup):
    setup.server.faults[POST_STATUS].append(Fault.THROTTLED)
    with pytest.raises(NotSentError) as raised:
        await setup.platform.send(setup.account, setup.render("One."), ())
    assert raised.value.retry_after == NOW + timedelta(minutes=4)


async def test_invalid_url_in_response_is_dropped(setup):
    for url in ("javascript:alert(1)", "https://me:pw@social.example/1", "https://x.example/\x1b[31m", None, "/1"):
        setup.server._to_json = lambda status, url=url: {"id": status.id, "url": url}
        assert (await setup.platform.send(setup.account, setup.render("One."), ())).urls == ()


async def test_unsafe_id_in_response_has_unknown_outcome(setup):
    for unsafe_id in ("../../oauth", "1?x", "", 17, "1\n", "x" * 65):
        setup.server._to_json = lambda status, unsafe_id=unsafe_id: {"id": unsafe_id}
        with pytest.raises(UnknownOutcomeError):
            await setup.platform.send(setup.account, setup.render("One."), ())


# Behaviour of real Mastodon that mastodon-mock lacks.


async def test_idempotency_key_expires_after_an_hour(setup):
    intent = setup.render("One.")
    first = await setup.platform.send(setup.account, intent, ())
    setup.clock.advance_to(NOW + timedelta(minutes=59))
    assert await setup.platform.send(setup.account, intent, ()) == first
    setup.clock.advance_to(NOW + HOUR)
    assert await setup.platform.send(setup.account, intent, ()) != first
    assert timedelta(minutes=59) > setup.platform.guarantees(setup.account).idempotency_window


async def test_key_of_deleted_post_is_refused(setup):
    intent = setup.render("One.")
    result = await setup.platform.send(setup.account, intent, ())
    await setup.platform.delete(setup.account, result)
    with pytest.raises(RefusedPostError, match="Record not found") as raised:
        await setup.platform.send(setup.account, intent, ())
    assert "deleted" in raised.value.hint


async def test_reply_to_deleted_post_is_refused(setup):
    intent = setup.render("One.", "Two.")
    result = await setup.platform.send(setup.account, intent, ())
    await setup.platform.delete(setup.account, result)
    with pytest.raises(RefusedPostError) as raised:
        await setup.platform.send(setup.account, intent, (result,))
    assert "The post before it was deleted" in raised.value.hint


async def test_picture_is_uploaded_per_attempt(setup):
    """A media upload can be attached to one post only."""
    intent = setup.render("One.")
    setup.server.faults[POST_STATUS].append(Fault.CUT_AFTER)
    with pytest.raises(UnknownOutcomeError):
        await setup.platform.send(setup.account, intent, (), [make_image()])
    setup.clock.advance_to(NOW + 2 * HOUR)
    result = await setup.platform.send(setup.account, intent, (), [make_image()])
    assert [status.media for status in setup.server.statuses] == [["000101"], ["000103"]]
    assert result.ids == ("000104",)


async def test_server_without_keys_creates_duplicates():
    setup = MastodonSetup(GOTOSOCIAL)
    for _ in range(3):
        await setup.platform.send(setup.account, setup.render("One."), ())
    assert len(setup.server.statuses) == 3
    assert setup.platform.guarantees(setup.account) == DeliveryGuarantees()


# Pictures.


async def test_pictures_are_attached_to_first_post(setup):
    intent = setup.render("One.", "Two.")
    first = await setup.platform.send(setup.account, intent, (), [make_image("Ä cat"), make_image("")])
    await setup.platform.send(setup.account, intent, (first,), [make_image("Ä cat"), make_image("")])
    assert [status.media for status in setup.server.statuses] == [["000101", "000102"], []]
    assert [upload.description for upload in setup.server.uploads.values()] == ["Ä cat", ""]
    assert setup.server.uploads["000101"].content == b"\x89PNG\r\n\x00bytes"


async def test_media_processing_is_waited_for(setup):
    setup.server.media_polls = 3
    await setup.platform.send(setup.account, setup.render("One."), (), [make_image()])
    assert (setup.pauses, len(setup.server.statuses)) == ([0.5, 1.0, 2.0], 1)


async def test_slow_media_processing_times_out(setup):
    setup.server.media_polls = 100
    with pytest.raises(NotSentError, match="still processing"):
        await setup.platform.send(setup.account, setup.render("One."), (), [make_image(), make_image()])
    assert (setup.pauses, setup.server.statuses) == (list(CHECK_DELAYS), [])


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
async def test_failed_upload_prevents_post(setup, fault, error):
    setup.server.faults[POST_MEDIA] += [None, fault]
    with pytest.raises(error) as raised:
        await setup.platform.send(setup.account, setup.render("One."), (), [make_image(), make_image()])
    assert type(raised.value) is error
    assert setup.server.statuses == []


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
async def test_failed_media_processing_prevents_post(setup, fault, error):
    setup.server.media_polls = 5
    setup.server.faults["GET /api/v1/media/000101"].append(fault)
    with pytest.raises(error):
        await setup.platform.send(setup.account, setup.render("One."), (), [make_image()])
    assert setup.server.statuses == []


# Limits of servers.


def find_problems(setup: MastodonSetup, post: Post, **account: object) -> list[tuple[str, int | None]]:
    issues = setup.platform.validate(post, replace(setup.account, **account))
    return [(problem.message, problem.part) for problem in issues]


def test_length_is_counted_as_server_does(setup):
    link = "https://example.com/" + "a" * 600
    assert find_problems(setup, make_thread(link, "b" * 500, "@someone@" + "x" * 500 + ".example")) == []
    assert find_problems(setup, make_thread("ok", "b" * 501)) == [
        ("501 characters; the limit of social.example is 500.", 1)
    ]
    assert find_problems(setup, make_thread("b" * 501), max_length=5000) == []
    assert find_problems(setup, make_thread("b" * 501), max_length=None) != []


def test_other_servers_count_links_and_code_points(setup):
    family = "👨‍👩‍👧‍👦" * 80
    assert find_problems(setup, make_thread("https://example.com/" + "a" * 600), software="gotosocial 0.20.1") != []
    assert find_problems(setup, make_thread(family)) == []
    assert find_problems(setup, make_thread(family), software="gotosocial 0.20.1") != []


def test_validation_reports_problems(setup):
    assert find_problems(setup, make_thread("  ")) == [("The text is empty.", 0)]
    assert "articles" in find_problems(setup, Post(format=Format.BLOG, parts=("Long.",), at=NOW))[0][0]
    assert "5 images" in find_problems(setup, make_thread("One.", alts=("",) * 5))[0][0]
    assert "1500" in find_problems(setup, make_thread("One.", alts=("x" * 1501,)))[0][0]


@pytest.mark.parametrize(
    ("software", "idempotent"),
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
def test_idempotency_depends_on_server_version(setup, software, idempotent):
    """Earlier versions do not honour a key while its first request is still being processed."""
    guarantees = setup.platform.guarantees(replace(setup.account, software=software))
    assert guarantees == (
        DeliveryGuarantees(idempotency_window=timedelta(minutes=50))
        if idempotent
        else DeliveryGuarantees(settle_time=timedelta(seconds=90))
    )
