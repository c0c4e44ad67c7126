"""Tests for OAuth tokens: renewal, saving before use, and error responses."""

import asyncio
from datetime import timedelta

import httpx
import pytest

from copydesk.posting.client import PlatformClient, Response, as_repeatable
from copydesk.posting.oauth import AuthorizedClient, TokenResponse, parse_token_response, to_credentials
from copydesk.posting.platform import Account, LoginError, NotSentError, UnknownOutcomeError
from faulty_server import NOW, FakeClock, RecordingSecrets

ME = Account(platform="any", server="https://any.example", id="1", name="me")
URL = "https://any.example/token"


def make_response(status: int, body: bytes) -> Response:
    return Response(status=status, headers={}, body=body)


class TokenServer:
    """Accepts only the newest token; records (token, number of saves so far) per request."""

    def __init__(self, secrets: RecordingSecrets) -> None:
        self.secrets, self.good, self.received = secrets, "old", []

    def take(self, request: httpx.Request) -> httpx.Response:
        token = request.headers["authorization"].removeprefix("Bearer ")
        self.received.append((token, len(self.secrets.saved)))
        return httpx.Response(200 if token == self.good else 401)

    async def renew(self, account, held) -> TokenResponse:
        self.good = held["access_token"] + "+"
        return TokenResponse(access_token=self.good, expires_in=7200)


def make_access(server: TokenServer, clock: FakeClock, *, renews: bool = True) -> AuthorizedClient:
    caller = PlatformClient(httpx.MockTransport(server.take))
    renew = server.renew if renews else None
    return AuthorizedClient(caller, server.secrets, clock, refresh=renew, refresh_before=timedelta(minutes=10))


async def test_new_token_is_saved_before_use():
    server = TokenServer(
        RecordingSecrets(access_token="old", expires_at=(NOW + timedelta(minutes=5)).isoformat(), more="kept")
    )
    assert (await make_access(server, FakeClock()).request(ME, "GET", URL)).is_success
    assert server.received == [("old+", 1)]
    assert server.secrets.secrets["more"] == "kept"
    assert server.secrets.secrets["expires_at"] == "2026-02-10T11:00:00.000Z"


async def test_rejected_token_is_renewed_once():
    server = TokenServer(RecordingSecrets(access_token="old"))
    server.good = "another"
    assert (await make_access(server, FakeClock()).request(ME, "POST", URL)).is_success
    assert server.received == [("old", 0), ("old+", 1)]


@pytest.mark.parametrize(("body", "reason"), [(b'{"error": "invalid_grant"}', "invalid_grant."), (b"", "status 400")])
def test_denied_tokens_end_in_sentence_and_next_step(body, reason):
    with pytest.raises(LoginError, match=rf"^x.example denied access: {reason}.* Connect the account again\.$"):
        parse_token_response(Response(status=400, headers={}, body=body), "https://x.example/token", NOW)


async def test_token_renewed_elsewhere_is_used():
    server = TokenServer(RecordingSecrets(access_token="old"))
    tokens = make_access(server, FakeClock())
    assert await tokens.access_token(ME, rejected="older") == "old"
    assert server.secrets.saved == []


@pytest.mark.parametrize(("minutes", "works"), [(1, True), (-1, False)])
async def test_old_token_is_used_until_expiry(minutes, works):
    ends = (NOW + timedelta(minutes=minutes)).isoformat()
    server = TokenServer(RecordingSecrets(access_token="old", expires_at=ends))
    response = make_access(server, FakeClock(), renews=False).request(ME, "GET", URL)
    if works:
        assert (await response).is_success
    else:
        with pytest.raises(LoginError):
            await response


async def test_unsavable_token_is_not_used():
    server = TokenServer(RecordingSecrets(access_token="old", expires_at=NOW.isoformat()))

    async def fail_to_save(account, secrets):
        raise OSError("No space left on device")

    server.secrets.save = fail_to_save
    with pytest.raises(OSError, match="No space"):
        await make_access(server, FakeClock()).request(ME, "GET", URL)
    assert server.received == []


async def test_nothing_is_granted_that_could_not_be_stored():
    server = TokenServer(RecordingSecrets(access_token="old", expires_at=NOW.isoformat()))
    server.secrets.full.append(True)
    tokens = make_access(server, FakeClock())
    with pytest.raises(NotSentError, match="No space"):
        await tokens.request(ME, "GET", URL)
    assert (server.good, server.received) == ("old", [])
    assert (await tokens.request(ME, "GET", URL)).is_success


async def test_token_granted_on_full_disk_is_used_and_stored_later():
    server = TokenServer(RecordingSecrets(access_token="old", expires_at=NOW.isoformat()))
    server.secrets.full.extend([False, True, True, False])
    tokens = make_access(server, FakeClock())
    for saves in (0, 0, 1):
        assert (await tokens.request(ME, "GET", URL)).is_success
        assert len(server.secrets.saved) == saves
    assert [token for token, _ in server.received] == ["old+"] * 3
    assert server.secrets.secrets["access_token"] == "old+"


class SlowServer(TokenServer):
    """Grants a token once it may."""

    def __init__(self, secrets: RecordingSecrets) -> None:
        super().__init__(secrets)
        self.was_asked, self.may_grant = asyncio.Event(), asyncio.Event()

    async def renew(self, account, held) -> TokenResponse:
        self.was_asked.set()
        await self.may_grant.wait()
        return await super().renew(account, held)


async def test_token_that_is_being_granted_is_stored_on_close():
    """The console was closed while metrics were read, and the account had to be connected again."""
    server = SlowServer(RecordingSecrets(access_token="old", expires_at=NOW.isoformat()))
    tokens = make_access(server, FakeClock())
    request = asyncio.create_task(tokens.access_token(ME))
    await server.was_asked.wait()
    # The second one ends the wait for the token.
    for _ in range(2):
        request.cancel()
        await asyncio.wait([request], timeout=0)
    assert request.cancelled()
    closing = asyncio.create_task(tokens.close())
    await asyncio.wait([closing], timeout=0)
    server.may_grant.set()
    await closing
    assert server.secrets.secrets["access_token"] == "old+"


async def test_cancelled_request_waits_for_its_token():
    server = SlowServer(RecordingSecrets(access_token="old", expires_at=NOW.isoformat()))
    request = asyncio.create_task(make_access(server, FakeClock()).access_token(ME))
    await server.was_asked.wait()
    request.cancel()
    await asyncio.wait([request], timeout=0)
    assert not request.done()
    server.may_grant.set()
    await asyncio.wait([request])
    assert (request.cancelled(), server.secrets.secrets["access_token"]) == (True, "old+")


class LockedSecrets(RecordingSecrets):
    """Waits for the passphrase, which nobody enters."""

    async def read(self, account) -> dict[str, str]:
        return await asyncio.Future()


async def is_cancelled_at_once(request) -> bool:
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    request.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    return request.cancelled()


async def test_cancelled_request_does_not_wait_for_passphrase():
    """One Ctrl-C at the prompt did not end the command any more."""
    tokens = make_access(TokenServer(LockedSecrets()), FakeClock())
    assert await is_cancelled_at_once(asyncio.create_task(tokens.access_token(ME)))
    await tokens.close()


async def test_cancelled_request_does_not_wait_for_its_turn():
    server = SlowServer(RecordingSecrets(access_token="old", expires_at=NOW.isoformat()))
    tokens = make_access(server, FakeClock())
    request = asyncio.create_task(tokens.access_token(ME))
    await server.was_asked.wait()
    assert await is_cancelled_at_once(asyncio.create_task(tokens.access_token(ME)))
    server.may_grant.set()
    assert await request == "old+"


async def test_token_granted_on_full_disk_is_stored_on_close():
    server = TokenServer(RecordingSecrets(access_token="old", expires_at=NOW.isoformat()))
    server.secrets.full.extend([False, True])
    tokens = make_access(server, FakeClock())
    await tokens.access_token(ME)
    await tokens.close()
    assert server.secrets.secrets["access_token"] == "old+"


@pytest.mark.parametrize("full", [[], [True]])
async def test_lost_token_is_reported_on_close(caplog, full):
    server = TokenServer(RecordingSecrets(access_token="old", expires_at=NOW.isoformat()))
    server.secrets.full.extend([False, True, *full])
    tokens = make_access(server, FakeClock())
    await tokens.access_token(ME)
    await tokens.close()
    reports = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert reports == (["The renewed login of any:me could not be stored; connect the account again."] if full else [])


async def test_account_connected_again_replaces_unstored_token():
    server = TokenServer(RecordingSecrets(access_token="old", expires_at=NOW.isoformat()))
    server.secrets.full.extend([False, True])
    tokens = make_access(server, FakeClock())
    await tokens.access_token(ME)
    server.secrets.secrets = {"access_token": "of the new login"}
    assert await tokens.access_token(ME) == "of the new login"
    assert server.secrets.saved == []


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
        parse_token_response(make_response(status, body), URL, NOW)
    assert type(caught.value) is error


def test_invalid_expiry_is_not_saved():
    for seconds in (None, 0, -5, 10**12):
        assert to_credentials(TokenResponse(access_token="a", expires_in=seconds), NOW) == {"access_token": "a"}


async def test_side_effect_free_request_may_be_retried():
    async def lose_response():
        raise UnknownOutcomeError("Cut.")

    with pytest.raises(NotSentError) as caught:
        await as_repeatable(lose_response())
    assert caught.value.__context__ is None
