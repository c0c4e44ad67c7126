"""Tests for OAuth tokens: renewal, saving before use, and error responses."""

from datetime import timedelta

import httpx
import pytest

from copydesk.posting.http import Answer, Caller
from copydesk.posting.oauth import Access, Granted, as_secrets, grant, harmless
from copydesk.posting.platform import Account, LoginError, NotSentError, UnknownOutcomeError
from faulty_server import NOW, Clock, KeptSecrets

ME = Account(platform="any", server="https://any.example", id="1", name="me")
URL = "https://any.example/token"


def answer(status: int, body: bytes) -> Answer:
    return Answer(status=status, headers={}, body=body)


class Server:
    """Accepts only the newest token; records (token, number of saves so far) per request."""

    def __init__(self, secrets: KeptSecrets) -> None:
        self.secrets, self.good, self.seen = secrets, "old", []

    def take(self, request: httpx.Request) -> httpx.Response:
        token = request.headers["authorization"].removeprefix("Bearer ")
        self.seen.append((token, len(self.secrets.kept)))
        return httpx.Response(200 if token == self.good else 401)

    async def renew(self, account, held) -> Granted:
        self.good = held["access_token"] + "+"
        return Granted(access_token=self.good, expires_in=7200)


def access(server: Server, clock: Clock, *, renews: bool = True) -> Access:
    caller = Caller(httpx.MockTransport(server.take))
    renew = server.renew if renews else None
    return Access(caller, server.secrets, clock, renew=renew, early=timedelta(minutes=10))


async def test_new_token_is_saved_before_use():
    server = Server(KeptSecrets(access_token="old", expires_at=(NOW + timedelta(minutes=5)).isoformat(), more="kept"))
    assert (await access(server, Clock()).ask(ME, "GET", URL)).good
    assert server.seen == [("old+", 1)]
    assert server.secrets.held["more"] == "kept"
    assert server.secrets.held["expires_at"] == "2026-02-10T11:00:00.000Z"


async def test_rejected_token_is_renewed_once():
    server = Server(KeptSecrets(access_token="old"))
    server.good = "another"
    assert (await access(server, Clock()).ask(ME, "POST", URL)).good
    assert server.seen == [("old", 0), ("old+", 1)]


async def test_token_renewed_elsewhere_is_used():
    server = Server(KeptSecrets(access_token="old"))
    tokens = access(server, Clock())
    assert await tokens.token(ME, spent="older") == "old"
    assert server.secrets.kept == []


@pytest.mark.parametrize(("left", "works"), [(1, True), (-1, False)])
async def test_old_token_is_used_until_expiry(left, works):
    ends = (NOW + timedelta(minutes=left)).isoformat()
    server = Server(KeptSecrets(access_token="old", expires_at=ends))
    response = access(server, Clock(), renews=False).ask(ME, "GET", URL)
    if works:
        assert (await response).good
    else:
        with pytest.raises(LoginError):
            await response


async def test_unsavable_token_is_not_used():
    server = Server(KeptSecrets(access_token="old", expires_at=NOW.isoformat()))

    async def fail_to_save(account, secrets):
        raise OSError("No space left on device")

    server.secrets.keep = fail_to_save
    with pytest.raises(OSError, match="No space"):
        await access(server, Clock()).ask(ME, "GET", URL)
    assert server.seen == []


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (400, b'{"error":"invalid_grant","error_description":"Gone."}', LoginError),
        (401, b"<html>", LoginError),
        (400, b'{"error":{"message":"no"}}', LoginError),
        (429, b"", NotSentError),
        (500, b"", NotSentError),
        (200, b"{}", UnknownOutcomeError),
        (200, b'{"access_token":""}', UnknownOutcomeError),
    ],
)
def test_token_error_is_classified(status, body, error):
    with pytest.raises(error) as caught:
        grant(answer(status, body), URL, NOW)
    assert type(caught.value) is error


def test_invalid_expiry_is_not_saved():
    for seconds in (None, 0, -5, 10**12):
        assert as_secrets(Granted(access_token="a", expires_in=seconds), NOW) == {"access_token": "a"}


async def test_side_effect_free_request_may_be_retried():
    async def lose_response():
        raise UnknownOutcomeError("Cut.")

    with pytest.raises(NotSentError) as caught:
        await harmless(lose_response())
    assert caught.value.__context__ is None
