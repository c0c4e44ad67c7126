"""Posts on Bluesky: made once, found again, and what a server says is understood."""

import asyncio
from datetime import UTC, datetime, timedelta

import httpx
import msgspec
import pytest

from copydesk.model.draft import Format
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.http import Caller
from copydesk.posting.platform import (
    Account,
    Evidence,
    Figures,
    LoginError,
    Made,
    NotSentError,
    Picture,
    Post,
    RefusedPostError,
    UnknownOutcomeError,
)
from fake_pds import DID, PASSWORD, FakePds, Lost, fault
from faulty_server import KeptSecrets

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
SEED = "019c465e-6f00-7000-8000-000000000000"
ME = Account(platform="bluesky", server="https://pds.example", id=DID, name="me.example")
PICTURE = Picture(content=b"\x89PNG...", media_type="image/png", width=30, height=20, alt="A red square")


class Desk:
    """A server, the adapter before it, and the keys to the account."""

    def __init__(self) -> None:
        self.server = FakePds()
        self.secrets = KeptSecrets(password=PASSWORD, refresh="refresh-1")
        self.bluesky = Bluesky(Caller(self.server.transport, asking=1), self.secrets, clock=lambda: NOW)

    def intent(self, *parts: str, alts: tuple[str, ...] = ()):
        kind = Format.THREAD if len(parts) > 1 else Format.SHORT
        return self.bluesky.render(Post(format=kind, parts=parts or ("One.",), at=NOW, alts=alts), ME, SEED)

    @property
    def texts(self) -> list[object]:
        return [record["value"]["text"] for record in self.server.records.values()]


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_a_thread_is_made_whole_by_one_request(desk):
    intent = desk.intent("One.", "Two.", "Three.")
    made = await desk.bluesky.send(ME, intent, ())
    assert desk.server.asked.count("applyWrites") == 1
    assert desk.texts == ["One.", "Two.", "Three."]
    assert made.ids == tuple(desk.server.records) == intent.steps[0].expects
    assert made.urls[0] == f"https://bsky.app/profile/me.example/post/{intent.steps[0].keys[0]}"


def test_the_same_post_gives_the_same_intent_for_ever(desk):
    intent = desk.intent("One. #tag", "Two.", alts=("Red",))
    assert intent == desk.intent("One. #tag", "Two.", alts=("Red",))
    assert msgspec.json.decode(msgspec.json.encode(intent), type=type(intent)) == intent


async def test_a_picture_is_uploaded_before_its_post(desk):
    await desk.bluesky.send(ME, desk.intent("One.", "Two.", alts=("Red",)), (), [PICTURE])
    assert desk.server.asked[-2:] == ["uploadBlob", "applyWrites"]
    first = next(iter(desk.server.records.values()))
    assert first["value"]["embed"]["images"][0]["alt"] == "Red"


@pytest.mark.parametrize("pictures", [[], [PICTURE, PICTURE]])
async def test_a_post_does_not_go_out_with_other_pictures_than_it_was_approved_with(desk, pictures):
    with pytest.raises(RefusedPostError):
        await desk.bluesky.send(ME, desk.intent(alts=("Red",)), (), pictures)
    assert desk.server.asked == []


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (fault(500, "InternalServerError", "Internal Server Error"), NotSentError),
        (fault(413, "PayloadTooLarge", "Too large"), RefusedPostError),
        (
            httpx.Response(200, json={"blob": {"ref": {"$link": "b" + "a" * 58}, "mimeType": "image/png", "size": 7}}),
            NotSentError,
        ),
        (httpx.Response(200, content=b"<html>"), NotSentError),
    ],
)
async def test_without_its_picture_a_post_is_not_made(desk, answer, error):
    desk.server.answers["uploadBlob"] = answer
    with pytest.raises(error):
        await desk.bluesky.send(ME, desk.intent(alts=("Red",)), (), [PICTURE])
    assert "applyWrites" not in desk.server.asked


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (fault(400, "InvalidRequest", "Record/text must not be longer than 300 graphemes"), RefusedPostError),
        (fault(400, "BlobNotFound", "Could not find blob"), RefusedPostError),
        (fault(401, "AuthMissing", "Authentication Required"), LoginError),
        (fault(400, "AccountTakedown", "Account has been taken down"), LoginError),
        (fault(429, "RateLimitExceeded", "Rate Limit Exceeded"), NotSentError),
        (fault(500, "InternalServerError", "Internal Server Error"), UnknownOutcomeError),
        (fault(502, "UpstreamFailure", "Upstream"), UnknownOutcomeError),
        (httpx.Response(200, json={}), UnknownOutcomeError),
        (httpx.Response(200, json={"results": []}), UnknownOutcomeError),
        (httpx.Response(200, content=b"not json"), UnknownOutcomeError),
        (httpx.Response(302, headers={"location": "https://elsewhere.example"}), UnknownOutcomeError),
        (httpx.ConnectError("refused"), NotSentError),
        (httpx.ReadTimeout("slow"), UnknownOutcomeError),
        (Lost.BEFORE, UnknownOutcomeError),
    ],
)
async def test_what_did_not_become_a_post_is_told_from_what_may_have(desk, answer, error):
    desk.server.faults.append(answer)
    with pytest.raises(error):
        await desk.bluesky.send(ME, desk.intent(), ())


async def test_a_server_says_when_it_wants_to_be_asked_again(desk):
    desk.server.faults.append(fault(429, "RateLimitExceeded", "Rate Limit Exceeded", {"retry-after": "90"}))
    with pytest.raises(NotSentError) as caught:
        await desk.bluesky.send(ME, desk.intent(), ())
    assert caught.value.retry_after == NOW + timedelta(seconds=90)


async def test_a_lost_thread_is_found_by_its_keys(desk):
    intent = desk.intent("One.", "Two.", alts=("Red",))
    desk.server.faults.append(Lost.AFTER)
    with pytest.raises(UnknownOutcomeError):
        await desk.bluesky.send(ME, intent, (), [PICTURE])
    found = await desk.bluesky.look_up(ME, intent, (), NOW)
    assert found.ids == intent.steps[0].expects
    assert found.evidence is Evidence.READ_BACK


async def test_what_is_sent_again_makes_nothing_and_is_found(desk):
    intent = desk.intent()
    await desk.bluesky.send(ME, intent, ())
    with pytest.raises(UnknownOutcomeError):
        await desk.bluesky.send(ME, intent, ())
    assert desk.texts == ["One."]
    assert await desk.bluesky.look_up(ME, intent, (), NOW) is not None


async def test_what_never_arrived_is_not_there(desk):
    assert await desk.bluesky.look_up(ME, desk.intent("One.", "Two."), (), NOW) is None


@pytest.mark.parametrize("change", [{"text": "Else."}, {"embed": {"$type": "app.bsky.embed.images", "images": []}}])
async def test_another_post_under_our_key_is_not_taken_for_ours(desk, change):
    intent = desk.intent("One.", "Two.")
    await desk.bluesky.send(ME, intent, ())
    first = desk.server.records[intent.steps[0].expects[0]]
    first["value"] = {**first["value"], **change}
    first["cid"] = "bafyreiother"
    with pytest.raises(UnknownOutcomeError, match="something else"):
        await desk.bluesky.look_up(ME, intent, (), NOW)


@pytest.mark.parametrize("embed", [None, "x", {"images": [{"alt": "Red", "image": {"ref": {"$link": "b"}}}]}])
async def test_a_post_without_our_picture_is_not_taken_for_ours(desk, embed):
    intent = desk.intent(alts=("Red",))
    await desk.bluesky.send(ME, intent, (), [PICTURE])
    desk.server.records[intent.steps[0].expects[0]]["value"]["embed"] = embed
    with pytest.raises(UnknownOutcomeError):
        await desk.bluesky.look_up(ME, intent, (), NOW)


async def test_a_thread_that_somebody_shortened_is_for_the_user_to_judge(desk):
    intent = desk.intent("One.", "Two.")
    await desk.bluesky.send(ME, intent, ())
    del desk.server.records[intent.steps[0].expects[1]]
    with pytest.raises(UnknownOutcomeError, match="1 of 2"):
        await desk.bluesky.look_up(ME, intent, (), NOW)


@pytest.mark.parametrize(
    "answer",
    [
        fault(400, "InvalidRequest", "Could not find repo"),
        fault(404, "", ""),
        httpx.Response(404, content=b"<html>"),
        httpx.Response(200, content=b"<html>"),
        httpx.Response(502),
    ],
)
async def test_only_the_servers_own_word_means_that_it_is_not_there(desk, answer):
    desk.server.answers["getRecord"] = answer
    with pytest.raises(NotSentError):
        await desk.bluesky.look_up(ME, desk.intent(), (), NOW)


async def test_an_expired_token_is_renewed_and_kept_before_it_is_used(desk):
    await desk.bluesky.check(ME)
    desk.server.expire()
    await desk.bluesky.send(ME, desk.intent(), ())
    assert desk.server.asked == ["refreshSession", "getSession", "applyWrites", "refreshSession", "applyWrites"]
    assert desk.texts == ["One."]
    assert [kept["refresh"] for kept in desk.secrets.kept] == ["refresh-1", "refresh-4"]
    assert desk.secrets.held["password"] == PASSWORD


async def test_the_password_is_used_only_where_the_token_does_not_count_any_more(desk):
    desk.secrets.held["refresh"] = "refresh-of-last-year"
    await desk.bluesky.send(ME, desk.intent(), ())
    assert desk.server.asked == ["refreshSession", "createSession", "applyWrites"]


async def test_of_several_who_ask_at_once_one_renews_the_token(desk):
    await asyncio.gather(*[desk.bluesky.check(ME) for _ in range(4)])
    assert desk.server.asked.count("refreshSession") == 1


async def test_a_token_that_never_counts_is_renewed_once(desk):
    desk.server.answers["applyWrites"] = fault(400, "InvalidToken", "Token could not be verified")
    with pytest.raises(LoginError):
        await desk.bluesky.send(ME, desk.intent(), ())
    assert desk.server.asked.count("applyWrites") == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [(httpx.Response(500), NotSentError), (httpx.Response(200, json={"did": DID}), NotSentError)],
)
async def test_where_no_token_comes_nothing_was_sent(desk, answer, error):
    desk.server.answers["refreshSession"] = answer
    with pytest.raises(error):
        await desk.bluesky.send(ME, desk.intent(), ())
    assert desk.server.asked == ["refreshSession"]


async def test_a_session_of_somebody_else_is_not_used(desk):
    desk.server.session["did"] = "did:plc:somebody"
    with pytest.raises(LoginError, match="another account"):
        await desk.bluesky.send(ME, desk.intent(), ())


async def test_connecting_gives_the_account_and_its_keys(desk):
    connected = await desk.bluesky.connect("pds.example/", {"handle": "@me.example ", "password": f" {PASSWORD}\n"})
    assert connected.account == ME
    assert connected.secrets == {"password": PASSWORD, "refresh": "refresh-1"}


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
async def test_an_account_is_asked_where_it_is(desk, endpoint, server):
    services = [
        {"id": "#other", "serviceEndpoint": "https://other.example"},
        {"id": "#atproto_pds", "serviceEndpoint": endpoint},
    ]
    desk.server.session["didDoc"] = {"service": services}
    connected = await desk.bluesky.connect("https://pds.example", {"handle": "me.example", "password": PASSWORD})
    assert connected.account.server == server


async def test_a_wrong_password_is_a_matter_of_login_and_is_not_in_the_error(desk):
    with pytest.raises(LoginError, match="Invalid identifier or password") as caught:
        await desk.bluesky.connect("https://pds.example", {"handle": "me.example", "password": "planted-secret"})
    assert "planted-secret" not in repr(vars(caught.value)) + str(caught.value)


@pytest.mark.parametrize("server", ["http://pds.example", "https://me:pw@pds.example", "ftp://pds.example", "", "a b"])
async def test_a_password_is_not_sent_just_anywhere(desk, server):
    with pytest.raises(RefusedPostError):
        await desk.bluesky.connect(server, {"handle": "me.example", "password": PASSWORD})
    assert desk.server.asked == []


@pytest.mark.parametrize("handle", ["handle.invalid", "not a handle", "<b>"])
async def test_an_account_without_a_handle_goes_by_its_did(desk, handle):
    desk.server.session["handle"] = handle
    account = await desk.bluesky.check(ME)
    assert account.name == DID
    made = await desk.bluesky.send(account, desk.intent(), ())
    assert made.urls[0].startswith(f"https://bsky.app/profile/{DID}/post/")


async def test_posts_are_taken_back_and_a_second_time_is_no_error(desk):
    made = await desk.bluesky.send(ME, desk.intent("One.", "Two."), ())
    await desk.bluesky.delete(ME, made)
    await desk.bluesky.delete(ME, made)
    assert desk.texts == []


async def test_only_ones_own_posts_are_taken_back(desk):
    with pytest.raises(RefusedPostError):
        await desk.bluesky.delete(ME, Made(ids=("at://did:plc:other/app.bsky.feed.post/3k",), urls=()))
    assert desk.server.asked == []


async def test_figures_are_asked_for_25_at_a_time_and_what_is_gone_has_none(desk):
    uris = [f"at://{DID}/app.bsky.feed.post/{number}" for number in range(30)]
    desk.server.figures = {uri: {"likeCount": 3, "replyCount": 0, "repostCount": 1} for uri in uris[1:]}
    found = await desk.bluesky.figures(ME, uris)
    assert desk.server.asked.count("getPosts") == 2
    assert found[uris[0]] is None
    assert found[uris[29]] == Figures(likes=3, replies=0, reposts=1)
    assert await desk.bluesky.figures(ME, []) == {}


async def test_a_post_that_the_index_lacks_and_its_server_has_is_not_gone(desk):
    made = await desk.bluesky.send(ME, desk.intent(), ())
    assert await desk.bluesky.figures(ME, made.ids) == {made.ids[0]: Figures()}


async def test_whether_a_post_is_gone_is_not_guessed(desk):
    desk.server.answers["getRecord"] = httpx.Response(502)
    with pytest.raises(NotSentError):
        await desk.bluesky.figures(ME, [f"at://{DID}/app.bsky.feed.post/3k"])


def test_what_would_not_be_taken_is_said_before(desk):
    def says(**post: object) -> list[tuple[str, int | None]]:
        asked = {"format": Format.SHORT, "parts": ("One.",), "at": NOW, **post}
        return [(problem.message, problem.part) for problem in desk.bluesky.problems(Post(**asked), ME)]

    assert says() == []
    assert says(parts=("",), alts=("Red",)) == []
    assert says(format=Format.BLOG) == [("Bluesky takes no articles.", None)]
    assert says(parts=("a", "x" * 301), format=Format.THREAD) == [("It has 301 characters; Bluesky takes 300.", 1)]
    assert says(alts=("",) * 5) == [("It has 5 pictures; Bluesky takes 4.", None)]
    assert says(parts=("a",) * 101, format=Format.THREAD) == [("It has 101 posts; 100 go into one thread.", None)]
    assert says(parts=()) == [("It has no text.", None)]


class Unkept(KeptSecrets):
    """Secrets that come from elsewhere: they can be read, and not replaced."""

    async def keep(self, account, secrets):
        raise NotSentError("The key to this account comes from the environment and cannot be replaced.")


async def test_a_password_is_enough_where_nothing_can_be_kept():
    server = FakePds()
    bluesky = Bluesky(Caller(server.transport, asking=1), Unkept(password=PASSWORD), clock=lambda: NOW)
    assert (await bluesky.check(ME)).id == DID


async def test_a_token_that_cannot_be_kept_is_not_used_where_there_is_no_password():
    server = FakePds()
    bluesky = Bluesky(Caller(server.transport, asking=1), Unkept(refresh="refresh-1"), clock=lambda: NOW)
    with pytest.raises(NotSentError, match="cannot be replaced"):
        await bluesky.check(ME)
