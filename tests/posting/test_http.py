"""Asking a platform: what certainly came to nothing is told from what may have made something."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from copydesk.errors import RefusedAddressError
from copydesk.posting.http import Answer, Caller, unread, when_again, wrong
from copydesk.posting.platform import LoginError, NotSentError, RefusedPostError, UnknownOutcomeError

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
URL = "https://social.example/api"
TOKEN = "cd-planted-token"


def caller(answers) -> Caller:
    return Caller(httpx.MockTransport(answers), asking=1)


def raising(error: Exception):
    def answer(request: httpx.Request) -> httpx.Response:
        raise error

    return answer


def answered(status: int, **headers: str) -> Answer:
    return Answer(status=status, headers={name.replace("_", "-"): value for name, value in headers.items()}, body=b"")


async def test_what_is_asked_arrives_as_it_was_meant():
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(201, json={"id": "1"})

    got = await caller(answer).ask("POST", URL, json={"text": "Héllo"}, params={"a": "b c"}, headers={"x-key": "k"})
    assert (got.status, got.good, got.read(dict[str, str])) == (201, True, {"id": "1"})
    assert str(seen[0].url) == f"{URL}?a=b+c"
    assert (seen[0].content, seen[0].headers["x-key"]) == ('{"text":"Héllo"}'.encode(), "k")


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("slow"),
        RefusedAddressError("10.0.0.1 is not a public address."),
    ],
)
async def test_without_a_connection_nothing_was_sent(error):
    with pytest.raises(NotSentError):
        await caller(raising(error)).ask("POST", URL)


@pytest.mark.parametrize(
    "error",
    [
        httpx.ReadTimeout("slow"),
        httpx.WriteError("cut"),
        httpx.ReadError("cut"),
        httpx.RemoteProtocolError("half an answer"),
        ConnectionResetError(104, "reset"),
        TimeoutError(),
    ],
)
async def test_a_connection_that_breaks_tells_nothing(error):
    with pytest.raises(UnknownOutcomeError):
        await caller(raising(error)).ask("POST", URL)


async def test_a_body_without_end_tells_nothing_and_is_not_read_to_its_end():
    with pytest.raises(UnknownOutcomeError, match="larger than 4 MB"):
        await caller(lambda _: httpx.Response(200, content=b"x" * (4 * 2**20 + 1))).ask("GET", URL)


async def test_an_answer_that_cannot_be_read_tells_nothing():
    for body in (b"<html>", b"[1]", b"\xff"):
        with pytest.raises(UnknownOutcomeError):
            Answer(status=200, headers={}, body=body).read(dict[str, str])


async def test_a_key_with_a_line_end_is_not_sent():
    with pytest.raises(NotSentError):
        await caller(lambda _: httpx.Response(200)).ask("GET", URL, headers={"authorization": "a\r\nx: y"})


async def test_no_error_holds_the_token():
    for error in (httpx.ReadError("cut"), httpx.ConnectError("refused")):
        with pytest.raises((UnknownOutcomeError, NotSentError)) as caught:
            await caller(raising(error)).ask("POST", URL, headers={"authorization": f"Bearer {TOKEN}"})
        chain, link = [], caught.value
        while link is not None:
            chain.append(repr(vars(link)) + str(link))
            link = link.__cause__ or link.__context__
        assert TOKEN not in "".join(chain)
        assert len(chain) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *[(status, RefusedPostError) for status in (400, 404, 413, 415, 422)],
        *[(status, LoginError) for status in (401, 403)],
        (429, NotSentError),
        *[(status, UnknownOutcomeError) for status in (301, 408, 409, 418, 500, 502, 503, 504)],
    ],
)
def test_only_documented_statuses_prove_that_nothing_was_made(status, kind):
    assert type(wrong(answered(status), "social.example", NOW)) is kind


def test_a_status_that_speaks_of_the_post_is_no_matter_of_login():
    assert type(wrong(answered(403), "x.example", NOW, login=frozenset({401}))) is RefusedPostError


def test_who_only_looked_made_nothing():
    assert type(unread(answered(500), "social.example", NOW)) is NotSentError
    assert type(unread(answered(401), "social.example", NOW)) is LoginError


def test_what_the_platform_says_is_shown_on_one_line_and_in_bounds():
    says = "No.\x1b]0;pwned\x07\n" + "y" * 1000
    message = wrong(answered(422), "social.example", NOW, says=says).message
    assert "\x1b" not in message
    assert "\n" not in message
    assert len(message) < 330


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry_after": "60"}, 60),
        ({"ratelimit_reset": str(int(NOW.timestamp()) + 90)}, 90),
        ({"x_rate_limit_reset": str(int(NOW.timestamp()) + 120), "x_rate_limit_remaining": "0"}, 120),
        ({}, None),
        ({"ratelimit_reset": "9" * 30}, None),
    ],
)
def test_when_to_ask_again_is_the_servers_to_say(headers, wait):
    expected = None if wait is None else NOW + timedelta(seconds=wait)
    assert when_again(answered(429, **headers).headers, NOW) == expected


async def test_a_server_that_never_ends_is_given_up():
    async def slow(request: httpx.Request) -> httpx.Response:
        raise TimeoutError

    with pytest.raises(UnknownOutcomeError):
        await Caller(httpx.MockTransport(slow), asking=0.01).ask("POST", URL)
