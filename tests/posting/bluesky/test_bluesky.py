"""Tests for posting to Bluesky."""

import asyncio
from datetime import UTC, datetime, timedelta

import httpx
import msgspec
import pytest

from copydesk.model.draft import Format
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.client import PlatformClient
from copydesk.posting.platform import (
    Account,
    Evidence,
    LoginError,
    NotSentError,
    Post,
    PostImage,
    PostMetrics,
    RefusedPostError,
    StepResult,
    UnknownOutcomeError,
)
from fake_pds import DID, PASSWORD, FakePds, RequestLoss, error_response
from faulty_server import RecordingSecrets

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
SEED = "019c465e-6f00-7000-8000-000000000000"
ME = Account(platform="bluesky", server="https://pds.example", id=DID, name="me.example")
PICTURE = PostImage(content=b"\x89PNG...", media_type="image/png", width=30, height=20, alt="A red square")


class BlueskySetup:
    """A fake server, the platform, and the account's credentials."""

    def __init__(self) -> None:
        self.server = FakePds()
        self.secrets = RecordingSecrets(password=PASSWORD, refresh="refresh-1")
        self.bluesky = Bluesky(PlatformClient(self.server.transport, timeout=1), self.secrets, clock=lambda: NOW)

    def intent(self, *parts: str, alts: tuple[str, ...] = ()):
        kind = Format.THREAD if len(parts) > 1 else Format.SHORT
        return self.bluesky.render(Post(format=kind, parts=parts or ("One.",), at=NOW, alts=alts), ME, SEED)

    @property
    def texts(self) -> list[object]:
        return [record["value"]["text"] for record in self.server.records.values()]


@pytest.fixture
def setup() -> BlueskySetup:
    return BlueskySetup()


async def test_thread_is_created_by_one_request(setup):
    intent = setup.intent("One.", "Two.", "Three.")
    result = await setup.bluesky.send(ME, intent, ())
    assert setup.server.calls.count("applyWrites") == 1
    assert setup.texts == ["One.", "Two.", "Three."]
    assert result.ids == tuple(setup.server.records) == intent.steps[0].expects
    assert result.urls[0] == f"https://bsky.app/profile/me.example/post/{intent.steps[0].keys[0]}"


def test_rendering_is_deterministic(setup):
    intent = setup.intent("One. #tag", "Two.", alts=("Red",))
    assert intent == setup.intent("One. #tag", "Two.", alts=("Red",))
    assert msgspec.json.decode(msgspec.json.encode(intent), type=type(intent)) == intent


async def test_picture_is_uploaded_before_post(setup):
    await setup.bluesky.send(ME, setup.intent("One.", "Two.", alts=("Red",)), (), [PICTURE])
    assert setup.server.calls[-2:] == ["uploadBlob", "applyWrites"]
    first = next(iter(setup.server.records.values()))
    assert first["value"]["embed"]["images"][0]["alt"] == "Red"


@pytest.mark.parametrize("pictures", [[], [PICTURE, PICTURE]])
async def test_picture_count_mismatch_is_refused(setup, pictures):
    with pytest.raises(RefusedPostError):
        await setup.bluesky.send(ME, setup.intent(alts=("Red",)), (), pictures)
    assert setup.server.calls == []


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (error_response(500, "InternalServerError", "Internal Server Error"), NotSentError),
        (error_response(413, "PayloadTooLarge", "Too large"), RefusedPostError),
        (
            httpx.Response(200, json={"blob": {"ref": {"$link": "b" + "a" * 58}, "mimeType": "image/png", "size": 7}}),
            NotSentError,
        ),
        (httpx.Response(200, content=b"<html>"), NotSentError),
    ],
)
async def test_failed_upload_prevents_post(setup, answer, error):
    setup.server.canned_responses["uploadBlob"] = answer
    with pytest.raises(error):
        await setup.bluesky.send(ME, setup.intent(alts=("Red",)), (), [PICTURE])
    assert "applyWrites" not in setup.server.calls


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (error_response(400, "InvalidRequest", "Record/text must not be longer than 300 graphemes"), RefusedPostError),
        (error_response(400, "BlobNotFound", "Could not find blob"), RefusedPostError),
        (error_response(401, "AuthMissing", "Authentication Required"), LoginError),
        (error_response(400, "AccountTakedown", "Account has been taken down"), LoginError),
        (error_response(429, "RateLimitExceeded", "Rate Limit Exceeded"), NotSentError),
        (error_response(500, "InternalServerError", "Internal Server Error"), UnknownOutcomeError),
        (error_response(502, "UpstreamFailure", "Upstream"), UnknownOutcomeError),
        (httpx.Response(200, json={}), UnknownOutcomeError),
        (httpx.Response(200, json={"results": []}), UnknownOutcomeError),
        (httpx.Response(200, content=b"not json"), UnknownOutcomeError),
        (httpx.Response(302, headers={"location": "https://elsewhere.example"}), UnknownOutcomeError),
        (httpx.ConnectError("refused"), NotSentError),
        (httpx.ReadTimeout("slow"), UnknownOutcomeError),
        (RequestLoss.BEFORE, UnknownOutcomeError),
    ],
)
async def test_response_maps_to_error(setup, answer, error):
    setup.server.faults.append(answer)
    with pytest.raises(error):
        await setup.bluesky.send(ME, setup.intent(), ())


async def test_retry_after_is_respected(setup):
    setup.server.faults.append(error_response(429, "RateLimitExceeded", "Rate Limit Exceeded", {"retry-after": "90"}))
    with pytest.raises(NotSentError) as caught:
        await setup.bluesky.send(ME, setup.intent(), ())
    assert caught.value.retry_after == NOW + timedelta(seconds=90)


async def test_lost_thread_is_found_by_keys(setup):
    intent = setup.intent("One.", "Two.", alts=("Red",))
    setup.server.faults.append(RequestLoss.AFTER)
    with pytest.raises(UnknownOutcomeError):
        await setup.bluesky.send(ME, intent, (), [PICTURE])
    found = await setup.bluesky.find_post(ME, intent, (), NOW)
    assert found.ids == intent.steps[0].expects
    assert found.evidence is Evidence.READ_BACK


async def test_resent_post_creates_nothing_and_is_found(setup):
    intent = setup.intent()
    await setup.bluesky.send(ME, intent, ())
    with pytest.raises(UnknownOutcomeError):
        await setup.bluesky.send(ME, intent, ())
    assert setup.texts == ["One."]
    assert await setup.bluesky.find_post(ME, intent, (), NOW) is not None


async def test_missing_post_is_not_found(setup):
    assert await setup.bluesky.find_post(ME, setup.intent("One.", "Two."), (), NOW) is None


async def test_post_of_another_time_under_our_key_is_ours(setup):
    sent = await setup.bluesky.send(ME, setup.intent("One.", "Two."), ())
    later = Post(format=Format.THREAD, parts=("One.", "Two."), at=NOW + timedelta(hours=1))
    found = await setup.bluesky.find_post(ME, setup.bluesky.render(later, ME, SEED), (), NOW)
    assert found == msgspec.structs.replace(sent, evidence=Evidence.READ_BACK)


@pytest.mark.parametrize("change", [{"text": "Else."}, {"embed": {"$type": "app.bsky.embed.images", "images": []}}])
async def test_different_post_under_our_key_is_unknown(setup, change):
    intent = setup.intent("One.", "Two.")
    await setup.bluesky.send(ME, intent, ())
    first = setup.server.records[intent.steps[0].expects[0]]
    first["value"] = {**first["value"], **change}
    first["cid"] = "bafyreiother"
    with pytest.raises(UnknownOutcomeError, match="A different post exists"):
        await setup.bluesky.find_post(ME, intent, (), NOW)


@pytest.mark.parametrize("embed", [None, "x", {"images": [{"alt": "Red", "image": {"ref": {"$link": "b"}}}]}])
async def test_post_without_our_picture_is_unknown(setup, embed):
    intent = setup.intent(alts=("Red",))
    await setup.bluesky.send(ME, intent, (), [PICTURE])
    setup.server.records[intent.steps[0].expects[0]]["value"]["embed"] = embed
    with pytest.raises(UnknownOutcomeError):
        await setup.bluesky.find_post(ME, intent, (), NOW)


async def test_partly_deleted_thread_is_unknown(setup):
    intent = setup.intent("One.", "Two.")
    await setup.bluesky.send(ME, intent, ())
    del setup.server.records[intent.steps[0].expects[1]]
    with pytest.raises(UnknownOutcomeError, match="1 of 2"):
        await setup.bluesky.find_post(ME, intent, (), NOW)


@pytest.mark.parametrize(
    "answer",
    [
        error_response(400, "InvalidRequest", "Could not find repo"),
        error_response(404, "", ""),
        httpx.Response(404, content=b"<html>"),
        httpx.Response(200, content=b"<html>"),
        httpx.Response(502),
    ],
)
async def test_only_record_not_found_means_absent(setup, answer):
    setup.server.canned_responses["getRecord"] = answer
    with pytest.raises(NotSentError):
        await setup.bluesky.find_post(ME, setup.intent(), (), NOW)


async def test_expired_token_is_refreshed_and_saved_before_use(setup):
    await setup.bluesky.check(ME)
    setup.server.expire_access()
    await setup.bluesky.send(ME, setup.intent(), ())
    assert setup.server.calls == ["refreshSession", "getSession", "applyWrites", "refreshSession", "applyWrites"]
    assert setup.texts == ["One."]
    assert [saved["refresh"] for saved in setup.secrets.saved] == ["refresh-4"]
    assert setup.secrets.secrets["password"] == PASSWORD


async def test_password_is_used_when_refresh_token_is_invalid(setup):
    setup.secrets.secrets["refresh"] = "refresh-of-last-year"
    await setup.bluesky.send(ME, setup.intent(), ())
    assert setup.server.calls == ["refreshSession", "createSession", "applyWrites"]


@pytest.mark.parametrize(
    ("status", "error"), [(400, LoginError), (401, LoginError), (403, LoginError), (404, NotSentError)]
)
async def test_refused_password_means_new_login(setup, status, error):
    setup.secrets.secrets["refresh"] = "refresh-of-last-year"
    setup.server.canned_responses["createSession"] = error_response(status, "AccountTakedown", "Account is gone")
    with pytest.raises(error) as raised:
        await setup.bluesky.send(ME, setup.intent(), ())
    assert type(raised.value) is error


async def test_concurrent_requests_refresh_token_once(setup):
    await asyncio.gather(*[setup.bluesky.check(ME) for _ in range(4)])
    assert setup.server.calls.count("refreshSession") == 1


async def test_rejected_new_token_is_refreshed_only_once(setup):
    setup.server.canned_responses["applyWrites"] = error_response(400, "InvalidToken", "Token could not be verified")
    with pytest.raises(LoginError):
        await setup.bluesky.send(ME, setup.intent(), ())
    assert setup.server.calls.count("applyWrites") == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [(httpx.Response(500), NotSentError), (httpx.Response(200, json={"did": DID}), NotSentError)],
)
async def test_failed_refresh_sends_nothing(setup, answer, error):
    setup.server.canned_responses["refreshSession"] = answer
    with pytest.raises(error):
        await setup.bluesky.send(ME, setup.intent(), ())
    assert setup.server.calls == ["refreshSession"]


async def test_session_of_another_account_is_refused(setup):
    setup.server.session["did"] = "did:plc:somebody"
    with pytest.raises(LoginError, match="another account"):
        await setup.bluesky.send(ME, setup.intent(), ())


async def test_connect_returns_account_and_credentials(setup):
    connected = await setup.bluesky.connect("pds.example/", {"handle": "@me.example ", "password": f" {PASSWORD}\n"})
    assert connected.account == ME
    assert connected.credentials == {"password": PASSWORD, "refresh": "refresh-1"}


@pytest.mark.parametrize(
    ("endpoint", "server"),
    [
        ("https://morel.host.example", "https://morel.host.example"),
        ("https://morel.host.example/", "https://morel.host.example"),
        ("http://morel.host.example", "https://pds.example"),
        ("https://user@morel.host.example", "https://pds.example"),
        ({"uri": "https://morel.host.example"}, "https://pds.example"),
        (None, "https://pds.example"),
    ],
)
async def test_account_uses_its_own_server(setup, endpoint, server):
    services = [
        {"id": "#other", "serviceEndpoint": "https://other.example"},
        {"id": "#atproto_pds", "serviceEndpoint": endpoint},
    ]
    setup.server.session["didDoc"] = {"service": services}
    connected = await setup.bluesky.connect("https://pds.example", {"handle": "me.example", "password": PASSWORD})
    assert connected.account.server == server


async def test_invalid_password_is_login_error_without_password(setup):
    with pytest.raises(LoginError, match="Invalid identifier or password") as caught:
        await setup.bluesky.connect("https://pds.example", {"handle": "me.example", "password": "planted-secret"})
    assert "planted-secret" not in repr(vars(caught.value)) + str(caught.value)


@pytest.mark.parametrize("server", ["http://pds.example", "https://me:pw@pds.example", "ftp://pds.example", "", "a b"])
async def test_password_is_not_sent_to_unsafe_server(setup, server):
    with pytest.raises(RefusedPostError):
        await setup.bluesky.connect(server, {"handle": "me.example", "password": PASSWORD})
    assert setup.server.calls == []


@pytest.mark.parametrize("handle", ["handle.invalid", "not a handle", "<b>"])
async def test_account_without_handle_uses_its_did(setup, handle):
    setup.server.session["handle"] = handle
    account = await setup.bluesky.check(ME)
    assert account.name == DID
    result = await setup.bluesky.send(account, setup.intent(), ())
    assert result.urls[0].startswith(f"https://bsky.app/profile/{DID}/post/")


async def test_deleting_twice_is_no_error(setup):
    result = await setup.bluesky.send(ME, setup.intent("One.", "Two."), ())
    await setup.bluesky.delete(ME, result)
    await setup.bluesky.delete(ME, result)
    assert setup.texts == []


async def test_only_own_posts_are_deleted(setup):
    with pytest.raises(RefusedPostError):
        await setup.bluesky.delete(ME, StepResult(ids=("at://did:plc:other/app.bsky.feed.post/3k",), urls=()))
    assert setup.server.calls == []


async def test_metrics_are_requested_in_batches_of_25(setup):
    uris = [f"at://{DID}/app.bsky.feed.post/{number}" for number in range(30)]
    setup.server.metrics = {uri: {"likeCount": 3, "replyCount": 0, "repostCount": 1} for uri in uris[1:]}
    metrics = await setup.bluesky.metrics(ME, uris)
    assert setup.server.calls.count("getPosts") == 2
    assert metrics[uris[0]] is None
    assert metrics[uris[29]] == PostMetrics(likes=3, replies=0, reposts=1)
    assert await setup.bluesky.metrics(ME, []) == {}


async def test_impossible_count_is_not_reported(setup):
    uri = f"at://{DID}/app.bsky.feed.post/1"
    setup.server.metrics = {uri: {"likeCount": 10**30, "replyCount": -1, "repostCount": 2}}
    assert await setup.bluesky.metrics(ME, [uri]) == {uri: PostMetrics(reposts=2)}


async def test_post_missing_from_index_is_not_deleted(setup):
    result = await setup.bluesky.send(ME, setup.intent(), ())
    assert await setup.bluesky.metrics(ME, result.ids) == {result.ids[0]: PostMetrics()}


async def test_failed_lookup_is_not_reported_as_deleted(setup):
    setup.server.canned_responses["getRecord"] = httpx.Response(502)
    with pytest.raises(NotSentError):
        await setup.bluesky.metrics(ME, [f"at://{DID}/app.bsky.feed.post/3k"])


def test_validation_reports_problems(setup):
    def problems(**post: object) -> list[tuple[str, int | None]]:
        fields = {"format": Format.SHORT, "parts": ("One.",), "at": NOW, **post}
        return [(problem.message, problem.part) for problem in setup.bluesky.validate(Post(**fields), ME)]

    assert problems() == []
    assert problems(parts=("",), alts=("Red",)) == []
    assert problems(format=Format.BLOG) == [("Bluesky does not support articles.", None)]
    assert problems(parts=("a", "x" * 301), format=Format.THREAD) == [("301 characters; the Bluesky limit is 300.", 1)]
    assert problems(alts=("",) * 5) == [("5 images; the Bluesky limit is 4.", None)]
    assert problems(parts=("a",) * 101, format=Format.THREAD) == [("101 posts; the limit per thread is 100.", None)]
    assert problems(parts=()) == [("The text is empty.", None)]


class ReadOnlySecrets(RecordingSecrets):
    """Credentials that can be read but not replaced, such as those from environment variables."""

    async def save(self, account, secrets):
        raise NotSentError("The credentials of this account come from the environment and cannot be replaced.")


async def test_password_suffices_with_read_only_credentials():
    server = FakePds()
    bluesky = Bluesky(
        PlatformClient(server.transport, timeout=1), ReadOnlySecrets(password=PASSWORD), clock=lambda: NOW
    )
    assert (await bluesky.check(ME)).id == DID


async def test_unsavable_token_is_not_used_without_password():
    server = FakePds()
    bluesky = Bluesky(
        PlatformClient(server.transport, timeout=1), ReadOnlySecrets(refresh="refresh-1"), clock=lambda: NOW
    )
    with pytest.raises(NotSentError, match="cannot be replaced"):
        await bluesky.check(ME)


def add_post(setup: BlueskySetup, number: int, text: object, **fields: object) -> None:
    uri = f"at://{DID}/app.bsky.feed.post/{number:03}"
    setup.server.records[uri] = {"uri": uri, "cid": "bafy", "value": {"text": text, **fields}}


async def test_own_posts_are_listed_newest_first_without_replies(setup):
    add_post(setup, 1, "The oldest.")
    add_post(setup, 2, "An answer.", reply={"root": {}, "parent": {}})
    add_post(setup, 3, "The newest.")
    assert await setup.bluesky.list_posts(ME, 100) == ["The newest.", "The oldest."]
    assert setup.server.tokens == [""]


async def test_at_most_the_limit_of_own_posts_is_listed(setup):
    for number in range(5):
        add_post(setup, number, f"Number {number}.")
    assert await setup.bluesky.list_posts(ME, 2) == ["Number 4.", "Number 3."]


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b'{"records": [{"value": {"text": 1}}]}', b'{"records": [{"value": null}]}']
)
async def test_unreadable_list_of_posts_is_an_error(setup, body):
    setup.server.canned_responses["listRecords"] = httpx.Response(200, content=body)
    with pytest.raises(NotSentError, match="Cannot read the account"):
        await setup.bluesky.list_posts(ME, 100)
