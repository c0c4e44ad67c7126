"""Tests for LinkedIn: posts that cannot be read back, and detection by duplicate refusal."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.posting.client import PlatformClient
from copydesk.posting.linkedin import LinkedIn, creation_time, to_little_text
from copydesk.posting.platform import (
    Account,
    LoginError,
    NotSentError,
    Post,
    PostImage,
    PostMetrics,
    RefusedPostError,
    UnknownOutcomeError,
)
from fake_linkedin import FakeLinkedIn, parse_little_text
from faulty_server import FAULTS, NOW, SEED, FakeClock, RecordingSecrets, run_delivery
from sampling import sample_size

ME = Account(platform="linkedin", server="https://api.linkedin.com", id="abc-1", name="Jo Doe")
PICTURE = PostImage(content=b"\x89PNG", media_type="image/png", width=1, height=1, alt="A dot.")


class LinkedInSetup:
    """The platform, a fake server, and the clock and credentials that both use."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.server = FakeLinkedIn(self.clock)
        self.secrets = RecordingSecrets(access_token="token", expires_at=(NOW + timedelta(days=60)).isoformat())
        self.linkedin = LinkedIn(self.server.client, self.secrets, clock=self.clock)

    def intent(self, text: str = "One.", alts: tuple[str, ...] = ()):
        return self.linkedin.render(post(text, alts), ME, SEED)


def post(text: str, alts: tuple[str, ...] = (), format: Format = Format.SHORT) -> Post:
    return Post(format=format, parts=(text,), at=NOW, alts=alts)


async def lose_response(setup: LinkedInSetup, intent, fault: str = "cut_after") -> None:
    setup.server.faults.append(fault)
    with pytest.raises(UnknownOutcomeError):
        await setup.linkedin.send(ME, intent, ())


async def test_post_returns_urn_and_url():
    setup = LinkedInSetup()
    result = await setup.linkedin.send(ME, setup.intent(), ())
    assert result.ids == (setup.server.posts[0]["urn"],)
    assert result.urls == (f"https://www.linkedin.com/feed/update/{result.ids[0]}/",)
    assert setup.intent() == setup.intent()


@given(st.text(max_size=60) | st.text("#ab_(){}[]|@<>*~\\ .", max_size=40))
def test_escaping_loses_no_text(text):
    assert parse_little_text(to_little_text(text)) == text


def test_hashtags_and_links_are_preserved():
    assert to_little_text("A #tag (b_c).") == r"A {hashtag|\#|tag} \(b\_c\)."
    assert to_little_text("#हिन्दी में") == r"{hashtag|\#|हिन्दी} में"
    assert to_little_text("https://example.com/a_b#part #12") == r"https://example.com/a\_b\#part \#12"


async def test_pictures_have_alt_texts():
    setup = LinkedInSetup()
    await setup.linkedin.send(ME, setup.intent("One.", ("A dot.",)), (), (PICTURE,))
    await setup.linkedin.send(ME, setup.intent("Two.", ("A dot.", "A dot.")), (), (PICTURE, PICTURE))
    image = {"id": "urn:li:image:0", "altText": "A dot."}
    assert setup.server.posts[0]["content"] == {"media": image}
    assert [image_part["id"][-1] for image_part in setup.server.posts[1]["content"]["multiImage"]["images"]] == [
        "1",
        "2",
    ]
    assert set(setup.server.images.values()) == {PICTURE.content}


@pytest.mark.parametrize("faults", [["cut_after"], ["none", "cut_before"], ["500"], ["none", "500_after"]])
async def test_failed_upload_prevents_post(faults):
    setup = LinkedInSetup()
    setup.server.faults.extend(faults)
    with pytest.raises((NotSentError, UnknownOutcomeError)) as caught:
        await setup.linkedin.send(ME, setup.intent("One.", ("",)), (), (PICTURE,))
    assert isinstance(caught.value, NotSentError)
    assert setup.server.posts == []


async def test_missing_picture_prevents_post():
    with pytest.raises(RefusedPostError):
        await LinkedInSetup().linkedin.send(ME, LinkedInSetup().intent("One.", ("A dot.",)), ())


@pytest.mark.parametrize(
    "url", ["https://evil.example/", "http://www.linkedin.com/1", "https://linkedin.com.evil.org/"]
)
async def test_token_is_not_sent_to_other_hosts(url):
    setup = LinkedInSetup()
    setup.server.upload_url = url
    with pytest.raises(NotSentError):
        await setup.linkedin.send(ME, setup.intent("One.", ("",)), (), (PICTURE,))
    assert len(setup.server.requests) == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, RefusedPostError),
        (401, LoginError),
        (403, LoginError),
        (409, UnknownOutcomeError),
        (422, RefusedPostError),
        (426, RefusedPostError),
        (429, NotSentError),
        (500, UnknownOutcomeError),
        (504, UnknownOutcomeError),
    ],
)
async def test_response_maps_to_error(status, error):
    transport = httpx.MockTransport(lambda _: httpx.Response(status, json={"message": "No.", "code": "X"}))
    platform = LinkedIn(PlatformClient(transport), RecordingSecrets(access_token="cd-planted"), clock=FakeClock())
    with pytest.raises(error) as caught:
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())
    assert type(caught.value) is error
    assert "cd-planted" not in str(caught.value)


@pytest.mark.parametrize("headers", [{}, {"x-restli-id": "urn:li:share:"}, {"x-restli-id": "urn:li:share:1/../2"}])
async def test_response_without_id_has_unknown_outcome(headers):
    transport = httpx.MockTransport(lambda _: httpx.Response(201, headers=headers))
    platform = LinkedIn(PlatformClient(transport), RecordingSecrets(access_token="t"), clock=FakeClock())
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())


async def test_duplicate_of_earlier_post_is_refused():
    setup = LinkedInSetup()
    result = await setup.linkedin.send(ME, setup.intent(), ())
    setup.clock.advance(hours=5)
    with pytest.raises(RefusedPostError) as caught:
        await setup.linkedin.send(ME, setup.intent(), ())
    assert result.urls[0] in caught.value.message


async def test_duplicate_of_recent_post_may_be_ours():
    setup = LinkedInSetup()
    await setup.linkedin.send(ME, setup.intent(), ())
    with pytest.raises(UnknownOutcomeError, match="feed/update"):
        await setup.linkedin.send(ME, setup.intent(), ())


async def test_lost_post_cannot_be_read_back():
    setup = LinkedInSetup()
    await lose_response(setup, setup.intent())
    assert not setup.linkedin.guarantees(ME).can_read_back
    with pytest.raises(UnknownOutcomeError, match="your profile"):
        await setup.linkedin.find_post(ME, setup.intent(), (), NOW)
    assert len(setup.server.requests) == 1


def test_urn_contains_creation_time():
    assert creation_time(f"urn:li:share:{int(NOW.timestamp() * 1000) << 22}") == NOW
    assert creation_time("urn:li:share:6") is None
    assert creation_time("urn:li:share:" + "9" * 20) is None


async def test_expired_token_is_not_used():
    setup = LinkedInSetup()
    setup.clock.advance(days=61)
    with pytest.raises(LoginError, match="Connect the account again"):
        await setup.linkedin.send(ME, setup.intent(), ())
    assert setup.server.requests == []


async def test_browser_sign_in_connects_account():
    setup = LinkedInSetup()
    client_credentials = {"client_id": "app", "client_secret": "hush"}
    sign_in = await setup.linkedin.start_sign_in(
        LinkedIn.info.default_server, client_credentials, "http://127.0.0.1:8398/callback"
    )
    authorization = parse_qs(urlsplit(sign_in.url).query)
    assert (authorization["state"], authorization["scope"]) == ([sign_in.state], ["openid profile w_member_social"])
    assert "hush" not in sign_in.url
    connected = await setup.linkedin.finish_sign_in(LinkedIn.info.default_server, sign_in, "code")
    assert connected.account == ME
    assert set(connected.credentials) == {"access_token", "expires_at"}
    assert str(setup.server.requests[0].url) == "https://www.linkedin.com/oauth/v2/accessToken"
    rejected = await setup.linkedin.start_sign_in(
        LinkedIn.info.default_server, {**client_credentials, "client_secret": "bad"}, "http://127.0.0.1:8398/"
    )
    with pytest.raises(LoginError):
        await setup.linkedin.finish_sign_in(LinkedIn.info.default_server, rejected, "code")


async def test_unreported_metrics_are_none():
    assert await LinkedInSetup().linkedin.metrics(ME, ["urn:li:share:1"]) == {"urn:li:share:1": PostMetrics()}


async def test_deleting_twice_is_no_error():
    setup = LinkedInSetup()
    result = await setup.linkedin.send(ME, setup.intent(), ())
    await setup.linkedin.delete(ME, result)
    await setup.linkedin.delete(ME, result)
    assert setup.server.posts == []


def test_validation_reports_problems():
    platform = LinkedInSetup().linkedin

    def messages(candidate: Post) -> list[str]:
        return [problem.message for problem in platform.validate(candidate, ME)]

    assert messages(post("x" * 3000)) == []
    assert messages(post("_" * 3000)) == []  # counted without escapes
    assert messages(post("😀" * 1501)) == ["3002 characters; the limit is 3000."]
    assert messages(post(" ")) == ["The text is empty."]
    assert "no threads" in messages(post("One.", format=Format.THREAD))[0]
    assert messages(post("One.", ("",) * 21)) == ["LinkedIn accepts at most 20 images."]
    assert [problem.part for problem in platform.validate(post(" "), ME)] == [0]


@given(faults=st.lists(st.sampled_from(FAULTS), max_size=20), jitter=st.floats(0, 1))
@settings(max_examples=sample_size(150), deadline=None)
async def test_post_is_created_at_most_once_under_faults(faults, jitter):
    setup = LinkedInSetup()
    setup.server.faults.extend(faults)
    delivery = await run_delivery(setup.linkedin, ME, setup.intent("One & #two."), setup.clock, jitter=jitter)
    setup.server.deliver_late(everything=True)
    posts = setup.server.posts
    assert len(posts) <= 1
    if delivery.state == "sent" or not faults:
        assert [posted["urn"] for posted in posts] == list(delivery.results[0].ids)
    elif delivery.state in ("failed", "abandoned"):
        assert posts == []


@pytest.mark.parametrize("server", ["http://elsewhere.example", "https://me@elsewhere.example", "https://a.example/?b"])
async def test_code_is_not_sent_to_unsafe_server(server):
    setup = LinkedInSetup()
    client_credentials = {"client_id": "app", "client_secret": "hush"}
    sign_in = await setup.linkedin.start_sign_in(server, client_credentials, "https://localhost/")
    with pytest.raises(RefusedPostError):
        await setup.linkedin.finish_sign_in(server, sign_in, "code")
    assert setup.server.requests == []
