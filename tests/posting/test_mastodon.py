"""Mastodon and its kin as a platform: what is sent, what answers mean, and what a server takes."""

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


async def test_each_post_of_a_thread_answers_the_one_before_under_a_key_of_its_own(here):
    intent = here.intent("One.", "Two.")
    first = await here.platform.send(here.me, intent, ())
    second = await here.platform.send(here.me, intent, (first,))
    assert here.server.said() == [("One.", None), ("Two.", "One.")]
    assert (first.urls, first.evidence) == ((f"https://social.example/@me/{first.ids[0]}",), Evidence.ANSWERED)
    assert second.ids[0] == here.server.statuses[1].id
    keys = [request.headers["idempotency-key"] for request in here.server.requests("POST", "/api/v1/statuses")]
    assert keys == [uuid_key(SEED, 0), uuid_key(SEED, 1)]


async def test_it_is_visible_to_all_and_plain_text_whatever_is_usual_there(here):
    await here.platform.send(here.me, here.intent("*One.*"), ())
    sent = msgspec.json.decode(here.server.requests("POST", "/api/v1/statuses")[0].content)
    assert sent == {"status": "*One.*", "visibility": "public", "content_type": "text/plain"}


def test_the_same_draft_is_the_same_intent_for_ever(here):
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
async def test_what_an_answer_means(here, fault, error):
    here.server.faults[POSTING].append(fault)
    with pytest.raises(error) as raised:
        await here.platform.send(here.me, here.intent("One."), ())
    assert type(raised.value) is error
    assert TOKEN not in repr(raised.value) + str(raised.value.__dict__)
    assert not hasattr(raised.value.__context__, "request")


async def test_mastodons_own_rate_limit_says_when_again(here):
    here.server.faults[POSTING].append(Fault.THROTTLED)
    with pytest.raises(NotSentError) as raised:
        await here.platform.send(here.me, here.intent("One."), ())
    assert raised.value.retry_after == NOW + timedelta(minutes=4)


async def test_an_address_in_an_answer_is_shown_only_if_it_is_one(here):
    for url in ("javascript:alert(1)", "https://me:pw@social.example/1", "https://x.example/\x1b[31m", None, "/1"):
        here.server._shown = lambda status, url=url: {"id": status.id, "url": url}
        assert (await here.platform.send(here.me, here.intent("One."), ())).urls == ()


async def test_an_id_that_could_lead_a_request_astray_is_not_taken(here):
    for bad in ("../../oauth", "1?x", "", 17, "1\n", "x" * 65):
        here.server._shown = lambda status, bad=bad: {"id": bad}
        with pytest.raises(UnknownOutcomeError):
            await here.platform.send(here.me, here.intent("One."), ())


# What real Mastodon does and mastodon-mock does not.


async def test_a_key_is_known_for_an_hour_and_no_longer(here):
    intent = here.intent("One.")
    first = await here.platform.send(here.me, intent, ())
    here.clock.wait(NOW + timedelta(minutes=59))
    assert await here.platform.send(here.me, intent, ()) == first
    here.clock.wait(NOW + HOUR)
    assert await here.platform.send(here.me, intent, ()) != first
    assert timedelta(minutes=59) > here.platform.trust(here.me).repeat_within


async def test_a_key_whose_post_was_deleted_is_refused(here):
    intent = here.intent("One.")
    made = await here.platform.send(here.me, intent, ())
    await here.platform.delete(here.me, made)
    with pytest.raises(RefusedPostError, match="Record not found") as raised:
        await here.platform.send(here.me, intent, ())
    assert "deleted" in raised.value.hint


async def test_a_post_whose_parent_was_deleted_is_refused(here):
    intent = here.intent("One.", "Two.")
    made = await here.platform.send(here.me, intent, ())
    await here.platform.delete(here.me, made)
    with pytest.raises(RefusedPostError) as raised:
        await here.platform.send(here.me, intent, (made,))
    assert "The post before it was deleted" in raised.value.hint


async def test_a_picture_is_uploaded_anew_for_each_attempt_because_it_goes_with_one_post_only(here):
    intent = here.intent("One.")
    here.server.faults[POSTING].append(Fault.CUT_AFTER)
    with pytest.raises(UnknownOutcomeError):
        await here.platform.send(here.me, intent, (), [picture()])
    here.clock.wait(NOW + 2 * HOUR)
    made = await here.platform.send(here.me, intent, (), [picture()])
    assert [status.media for status in here.server.statuses] == [["000101"], ["000103"]]
    assert made.ids == ("000104",)


async def test_a_server_that_knows_no_keys_makes_each_request_a_post():
    here = Here(GOTOSOCIAL)
    for _ in range(3):
        await here.platform.send(here.me, here.intent("One."), ())
    assert len(here.server.statuses) == 3
    assert here.platform.trust(here.me) == Trust()


# Pictures.


async def test_pictures_go_up_before_the_post_and_with_the_first_one_only(here):
    intent = here.intent("One.", "Two.")
    first = await here.platform.send(here.me, intent, (), [picture("Ä cat"), picture("")])
    await here.platform.send(here.me, intent, (first,), [picture("Ä cat"), picture("")])
    assert [status.media for status in here.server.statuses] == [["000101", "000102"], []]
    assert [upload.description for upload in here.server.uploads.values()] == ["Ä cat", ""]
    assert here.server.uploads["000101"].content == b"\x89PNG\r\n\x00bytes"


async def test_a_picture_that_takes_its_time_is_waited_for(here):
    here.server.busy = 3
    await here.platform.send(here.me, here.intent("One."), (), [picture()])
    assert (here.paused, len(here.server.statuses)) == ([0.5, 1.0, 2.0], 1)


async def test_a_picture_that_takes_too_long_is_not_waited_for(here):
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
async def test_without_its_pictures_nothing_is_posted_and_that_is_certain(here, fault, error):
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
async def test_nor_where_the_server_cannot_finish_one(here, fault, error):
    here.server.busy = 5
    here.server.faults["GET /api/v1/media/000101"].append(fault)
    with pytest.raises(error):
        await here.platform.send(here.me, here.intent("One."), (), [picture()])
    assert here.server.statuses == []


# What a server takes.


def problems(here: Here, post: Post, **account: object) -> list[tuple[str, int | None]]:
    found = here.platform.problems(post, replace(here.me, **account))
    return [(problem.message, problem.part) for problem in found]


def test_what_is_too_long_is_named_as_the_server_counts(here):
    link = "https://example.com/" + "a" * 600
    assert problems(here, thread(link, "b" * 500, "@someone@" + "x" * 500 + ".example")) == []
    assert problems(here, thread("ok", "b" * 501)) == [("It has 501 characters; social.example takes 500.", 1)]
    assert problems(here, thread("b" * 501), longest=5000) == []
    assert problems(here, thread("b" * 501), longest=None) != []


def test_other_servers_than_mastodon_count_links_whole_and_each_code_point(here):
    family = "👨‍👩‍👧‍👦" * 80
    assert problems(here, thread("https://example.com/" + "a" * 600), software="gotosocial 0.20.1") != []
    assert problems(here, thread(family)) == []
    assert problems(here, thread(family), software="gotosocial 0.20.1") != []


def test_what_has_no_place_there_is_said_before(here):
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
def test_keys_are_relied_on_only_where_they_hold_while_the_first_request_is_under_way(here, software, keyed):
    trust = here.platform.trust(replace(here.me, software=software))
    assert trust == (Trust(repeat_within=timedelta(minutes=50)) if keyed else Trust(quiet=timedelta(seconds=90)))
