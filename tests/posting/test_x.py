"""Tests for X: threads as replies, recovery of lost responses, tokens and costs."""

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

import httpx
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.posting.client import PlatformClient, Response
from copydesk.posting.delivery_states import NextAction, next_action
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.oauth import code_challenge
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
    post_cost,
)
from copydesk.posting.x.api_models import XPost, XProblem, creation_time, error_for_post, has_text
from copydesk.posting.x.platform import X
from fake_x import CREATE_POST, FakeX
from faulty_server import FAULTS, NOW, SEED, FakeClock, RecordingSecrets, run_delivery
from sampling import sample_size

ME = Account(platform="x", server="https://api.x.com", id="12", name="me")
PICTURE = PostImage(content=b"\x89PNG", media_type="image/png", width=1, height=1, alt="A dot.")


class XSetup:
    """The platform, a fake server, and the clock and credentials that both use."""

    def __init__(self, **rules: bool) -> None:
        self.clock = FakeClock()
        self.server = FakeX(self.clock, **rules)
        ends = (NOW + timedelta(hours=2)).isoformat()
        held = {"access_token": "access-0", "refresh_token": "refresh-0", "expires_at": ends, "client_id": "app"}
        self.secrets = RecordingSecrets(**held)

    @property
    def x(self) -> X:
        return X(self.server.client, self.secrets, clock=self.clock)


def post(*parts: str, alts: tuple[str, ...] = ()) -> Post:
    form = Format.THREAD if len(parts) > 1 else Format.SHORT
    return Post(format=form, parts=parts, at=NOW, alts=alts)


async def test_thread_is_posted_as_replies():
    setup = XSetup()
    intent = setup.x.render(post("One.", "Two."), ME, SEED)
    first = await setup.x.send(ME, intent, ())
    second = await setup.x.send(ME, intent, (first,))
    assert [(posted["source"], posted["parent"]) for posted in setup.server.posts] == [
        ("One.", None),
        ("Two.", first.ids[0]),
    ]
    assert second.urls == (f"https://x.com/me/status/{second.ids[0]}",)
    assert second.evidence is Evidence.ANSWERED


def test_rendering_is_deterministic_and_nfc():
    platform = XSetup().x
    assert platform.render(post("cafe\u0301"), ME, SEED) == platform.render(post("cafe\u0301"), ME, SEED)
    assert platform.render(post("cafe\u0301"), ME, SEED).steps[0].body == {"text": "café"}


async def test_pictures_are_attached_to_first_part():
    setup = XSetup()
    intent = setup.x.render(post("One.", "Two.", alts=("A dot.",)), ME, SEED)
    first = await setup.x.send(ME, intent, (), (PICTURE,))
    await setup.x.send(ME, intent, (first,), (PICTURE,))
    assert [len(posted["media"]) for posted in setup.server.posts] == [1, 0]
    assert setup.server.alt_texts == {setup.server.posts[0]["media"][0]: "A dot."}
    assert (await setup.x.find_post(ME, intent, (), NOW)).ids == first.ids


async def test_failed_upload_prevents_post():
    setup = XSetup()
    setup.server.faults.append("cut_after")
    with pytest.raises(NotSentError):
        await setup.x.send(ME, setup.x.render(post("One.", alts=("",)), ME, SEED), (), (PICTURE,))
    assert setup.server.posts == []


@given(
    parts=st.lists(st.text(max_size=300), min_size=1, max_size=3),
    parent=st.integers(0, 10**19 - 1),
    pictures=st.integers(0, 4),
)
@settings(max_examples=sample_size(30))
async def test_request_body_matches_openapi_schema(parts, parent, pictures):
    """The schema is that of X's OpenAPI document, as far as fake_x includes it."""
    setup = XSetup()
    intent = setup.x.render(post(*parts), ME, SEED)
    for position in range(len(parts)):
        completed = [StepResult(ids=(str(parent),), urls=())] * position
        try:
            await setup.x.send(ME, intent, completed, [PICTURE] * pictures)
        except UnknownOutcomeError:
            assert parts[position] in parts[:position]  # the same text twice
    sent = [json.loads(request.content) for request in setup.server.requests if request.url.path == "/2/tweets"]
    assert sent
    assert all(CREATE_POST(body) for body in sent)
    assert not any(request.url.query for request in setup.server.requests)


def test_schema_rejects_other_bodies():
    for invalid in ({"text": 1}, {"text": "", "reply": {}}, {"media": {"media_ids": []}}, {"text": "", "more": 1}):
        assert not CREATE_POST(invalid)


@pytest.mark.parametrize(
    ("status", "detail", "error"),
    [
        (400, "The text is bad.", RefusedPostError),
        (401, "Unauthorized", LoginError),
        (402, "CreditsDepleted", NotSentError),
        (403, "You are not allowed to create a Tweet with duplicate content.", UnknownOutcomeError),
        (403, "Your app is suspended.", RefusedPostError),
        (404, "", RefusedPostError),
        (409, "", UnknownOutcomeError),
        (429, "Too Many Requests", NotSentError),
        (500, "", UnknownOutcomeError),
        (503, "Over capacity", UnknownOutcomeError),
    ],
)
async def test_response_maps_to_error(status, detail, error):
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/2/oauth2/token":
            return httpx.Response(200, json={"access_token": "b", "refresh_token": "c", "expires_in": 7200})
        return httpx.Response(status, json={"detail": detail})

    secrets = RecordingSecrets(access_token="cd-planted", refresh_token="r", client_id="app")
    platform = X(PlatformClient(httpx.MockTransport(answer)), secrets, clock=FakeClock())
    with pytest.raises(error) as caught:
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())
    assert type(caught.value) is error
    assert "cd-planted" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "detail", "message"),
    [
        (402, "No credits are left.", "X requires payment for posts: No credits are left."),
        (402, "", "X requires payment for posts: no reason given."),
        (403, "Not permitted", "X rejected this part of the thread: Not permitted."),
    ],
)
def test_message_of_error_is_one_sentence(status, detail, message):
    response = Response(status=status, headers={}, body=json.dumps({"detail": detail}).encode())
    assert error_for_post(response, NOW, is_reply=True).message == message


@pytest.mark.parametrize(
    "body", [b"{}", b'{"data":{}}', b'{"data":{"id":"../1"}}', b'{"data":{"id":"1\\n"}}', b"[", b""]
)
async def test_response_without_id_has_unknown_outcome(body):
    secrets = RecordingSecrets(access_token="a", client_id="app")
    platform = X(
        PlatformClient(httpx.MockTransport(lambda _: httpx.Response(201, content=body))), secrets, clock=FakeClock()
    )
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())


async def test_rejection_with_deeply_nested_body_is_rejection():
    def reject(_: httpx.Request) -> httpx.Response:
        return httpx.Response(400, content=b'{"more": ' + b"[" * 20_000 + b"]" * 20_000 + b"}")

    secrets = RecordingSecrets(access_token="a", client_id="app")
    platform = X(PlatformClient(httpx.MockTransport(reject)), secrets, clock=FakeClock())
    with pytest.raises(RefusedPostError, match="X answered with status 400"):
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())


async def test_refused_reply_suggests_long_post():
    setup = XSetup(allows_replies=False)
    intent = setup.x.render(post("One.", "Two."), ME, SEED)
    first = await setup.x.send(ME, intent, ())
    with pytest.raises(RefusedPostError, match="Use one longer post instead"):
        await setup.x.send(ME, intent, (first,))


@pytest.mark.parametrize("limit", ["x-rate-limit", "x-user-limit-24hour", "x-app-limit-24hour"])
async def test_rate_limit_reset_is_respected(limit):
    reset = str(int(NOW.timestamp()) + 120)
    headers = {f"{limit}-remaining": "0", f"{limit}-reset": reset, "x-rate-limit-limit": "1"}
    transport = httpx.MockTransport(lambda _: httpx.Response(429, headers=headers))
    platform = X(PlatformClient(transport), RecordingSecrets(access_token="a", client_id="app"), clock=FakeClock())
    with pytest.raises(NotSentError) as caught:
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())
    assert caught.value.retry_after == NOW + timedelta(minutes=2)


REWRITTEN = [
    "Plain.",
    "  Space at the ends\n\n\nand between ",
    "A & B < C > D &amp; E",
    "Read https://example.com/a?b=c&d=e, then example.org and www.example.net/.",
    "cafe\u0301 https://example.com/",
    "https://x.com/somebody/status/1/photo/1 was seen",
]


@pytest.mark.parametrize("text", REWRITTEN)
async def test_rewritten_post_is_found_by_text(text):
    setup = XSetup()
    setup.server.faults.append("cut_after")
    intent = setup.x.render(post(text), ME, SEED)
    with pytest.raises(UnknownOutcomeError):
        await setup.x.send(ME, intent, ())
    found = await setup.x.find_post(ME, intent, (), NOW)
    assert (found.ids, found.evidence) == ((setup.server.posts[0]["id"],), Evidence.READ_BACK)


async def test_post_is_found_if_our_clock_was_ahead():
    setup = XSetup()
    intent = setup.x.render(post("One."), ME, SEED)
    result = await setup.x.send(ME, intent, ())
    assert (await setup.x.find_post(ME, intent, (), NOW + timedelta(hours=14))).ids == result.ids


async def test_other_text_parent_or_time_is_not_matched():
    setup = XSetup()
    intent = setup.x.render(post("One.", "Two."), ME, SEED)
    old = await setup.x.send(ME, intent, ())
    assert await setup.x.find_post(ME, intent, (), NOW + timedelta(hours=16)) is None
    assert (await setup.x.find_post(ME, intent, (), NOW)).ids == old.ids
    other = setup.x.render(post("One!"), ME, SEED)
    assert await setup.x.find_post(ME, other, (), NOW) is None
    assert await setup.x.find_post(ME, setup.x.render(post("Zero.", "One."), ME, SEED), (old,), NOW) is None


async def test_earlier_post_with_same_text_is_not_taken_for_a_later_one():
    setup = XSetup(refuses_duplicates=False)
    intent = setup.x.render(post("One."), ME, SEED)
    await setup.x.send(ME, intent, ())
    setup.clock.advance(hours=1)
    second = await setup.x.send(ME, intent, ())
    assert (await setup.x.find_post(ME, intent, (), setup.clock.now)).ids == second.ids


async def test_search_reads_all_pages_and_takes_first_match():
    setup = XSetup(refuses_duplicates=False)
    setup.server.page_size = 1
    intent = setup.x.render(post("One."), ME, SEED)
    first = await setup.x.send(ME, intent, ())
    setup.clock.advance(seconds=1)
    await setup.x.send(ME, intent, ())
    await setup.x.send(ME, setup.x.render(post("Two."), ME, SEED), ())
    assert (await setup.x.find_post(ME, intent, (), NOW)).ids == first.ids


async def test_endless_pages_are_unknown():
    page = {"meta": {"result_count": 0, "next_token": "more"}}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=page))
    platform = X(PlatformClient(transport), RecordingSecrets(access_token="a", client_id="app"), clock=FakeClock())
    with pytest.raises(UnknownOutcomeError):
        await platform.find_post(ME, platform.render(post("One."), ME, SEED), (), NOW)


@pytest.mark.parametrize("body", [{}, {"errors": [{"title": "No"}]}, {"meta": {"result_count": 3}}, {"meta": {}}])
async def test_incomplete_list_is_not_taken_as_empty(body):
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    platform = X(PlatformClient(transport), RecordingSecrets(access_token="a", client_id="app"), clock=FakeClock())
    with pytest.raises(UnknownOutcomeError):
        await platform.find_post(ME, platform.render(post("One."), ME, SEED), (), NOW)


@pytest.mark.parametrize("fault", ["refused", "cut_before", "500", "429"])
async def test_failed_search_raises_not_sent(fault):
    setup = XSetup()
    setup.server.faults.append(fault)
    with pytest.raises(NotSentError):
        await setup.x.find_post(ME, setup.x.render(post("One."), ME, SEED), (), NOW)


def test_expanded_link_must_match():
    def make_post(url: str) -> XPost:
        urls = [{"url": "https://t.co/abc", "expanded_url": url}]
        body = {"id": "1", "text": "See https://t.co/abc", "created_at": NOW, "entities": {"urls": urls}}
        return msgspec.convert(body, XPost)

    assert has_text(make_post("https://example.com/a"), "See https://example.com/a")
    assert not has_text(make_post("https://example.com/b"), "See https://example.com/a")


def test_post_id_contains_creation_time():
    assert creation_time("1212092628029698048").replace(microsecond=0) == datetime(2019, 12, 31, 19, 26, 16, tzinfo=UTC)


async def test_expiring_token_is_renewed_and_saved_before_use():
    setup = XSetup()
    setup.clock.advance(minutes=55 + 60)
    await setup.x.send(ME, setup.x.render(post("One."), ME, SEED), ())
    assert [saved["access_token"] for saved in setup.secrets.saved] == ["access-1"]
    assert setup.secrets.secrets["refresh_token"] == "refresh-1"
    assert setup.secrets.secrets["client_id"] == "app"


async def test_rejected_token_is_renewed_and_post_created_once():
    setup = XSetup()
    setup.server.access = "another"
    await setup.x.send(ME, setup.x.render(post("One."), ME, SEED), ())
    assert len(setup.server.posts) == 1
    assert setup.secrets.secrets["access_token"] == "access-1"


async def test_concurrent_sends_renew_token_once():
    setup = XSetup()
    setup.clock.advance(hours=3)
    platform = setup.x
    intents = [platform.render(post(f"Number {number}."), ME, SEED) for number in range(5)]
    await asyncio.gather(*(platform.send(ME, intent, ()) for intent in intents))
    assert len(setup.secrets.saved) == 1
    assert len(setup.server.posts) == 5


async def test_renewed_token_is_saved_despite_cancellation():
    setup = XSetup()
    setup.clock.advance(hours=3)
    save, started, proceed, saved = setup.secrets.save, asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(account, secrets):
        started.set()
        await proceed.wait()
        await save(account, secrets)
        # Before the refresh the old ones are saved once more, to know that it can be done.
        if setup.secrets.saved:
            saved.set()

    setup.secrets.save = slow
    platform = setup.x
    sending = asyncio.ensure_future(platform.send(ME, platform.render(post("One."), ME, SEED), ()))
    await asyncio.wait_for(started.wait(), 60)
    sending.cancel()
    proceed.set()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await asyncio.wait_for(saved.wait(), 60)
    assert setup.secrets.secrets["refresh_token"] == "refresh-1"
    assert setup.server.posts == []


@pytest.mark.parametrize("full", [[True], [False, True], [False, True, True]], ids=str)
async def test_login_survives_full_disk_during_renewal(full):
    setup = XSetup()
    setup.clock.advance(hours=3)
    setup.secrets.full.extend(full)
    platform = setup.x
    for number in range(3):
        with suppress(NotSentError):
            await platform.send(ME, platform.render(post(f"Number {number}."), ME, SEED), ())
    assert len(setup.server.posts) == (2 if full == [True] else 3)
    assert setup.secrets.secrets["refresh_token"] == setup.server.refresh
    setup.clock.advance(hours=3)
    assert await setup.x.check(ME) == ME


@pytest.mark.parametrize(("fault", "still_valid"), [("cut_before", True), ("500", True), ("cut_before", False)])
async def test_old_token_is_used_until_expiry_when_renewal_fails(fault, still_valid):
    setup = XSetup()
    setup.clock.advance(minutes=115 if still_valid else 121)
    setup.server.faults.append(fault)
    sending = setup.x.send(ME, setup.x.render(post("One."), ME, SEED), ())
    if still_valid:
        await sending
    else:
        with pytest.raises(NotSentError):
            await sending
    assert len(setup.server.posts) == (1 if still_valid else 0)


async def test_forgotten_refresh_token_requires_login():
    setup = XSetup()
    setup.server.token_family_valid = False
    setup.clock.advance(hours=3)
    with pytest.raises(LoginError, match="Connect the account again"):
        await setup.x.send(ME, setup.x.render(post("One."), ME, SEED), ())


async def test_browser_sign_in_uses_pkce_and_state():
    setup = XSetup()
    sign_in = await setup.x.start_sign_in(X.info.default_server, {"client_id": "app"}, "http://127.0.0.1:8399/callback")
    authorization = {name: values[0] for name, values in parse_qs(urlsplit(sign_in.url).query).items()}
    assert sign_in.url.startswith("https://x.com/i/oauth2/authorize?")
    assert authorization["state"] == sign_in.state
    assert authorization["code_challenge"] == code_challenge(sign_in.context["code_verifier"])
    assert (authorization["code_challenge_method"], authorization["redirect_uri"]) == (
        "S256",
        "http://127.0.0.1:8399/callback",
    )
    assert sign_in.context["code_verifier"] not in sign_in.url
    code = httpx.URL(setup.server.authorize(sign_in.url)).params["code"]
    connected = await setup.x.finish_sign_in(X.info.default_server, sign_in, code)
    assert connected.account == ME
    assert connected.credentials["refresh_token"] == "refresh-1"
    form = parse_qs(setup.server.requests[0].content.decode())
    assert form["code_verifier"] == [sign_in.context["code_verifier"]]


def test_challenge_matches_rfc_7636():
    assert (
        code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    )


async def test_client_secret_is_sent_in_header():
    setup = XSetup()
    setup.server.client_secret = setup.secrets.secrets["client_secret"] = "hush"
    setup.clock.advance(hours=3)
    await setup.x.check(ME)
    assert setup.server.requests[0].headers["authorization"] == "Basic YXBwOmh1c2g="
    assert b"hush" not in setup.server.requests[0].content


async def test_check_returns_current_name_and_verifies_owner():
    setup = XSetup()
    assert await setup.x.check(Account(platform="x", server=X.info.default_server, id="12", name="was")) == ME
    with pytest.raises(LoginError):
        await setup.x.check(Account(platform="x", server=X.info.default_server, id="13", name="me"))


async def test_metrics_of_missing_post_are_none():
    setup = XSetup()
    result = await setup.x.send(ME, setup.x.render(post("One."), ME, SEED), ())
    existing, missing = result.ids[0], str(int(result.ids[0]) + 1)
    expected = PostMetrics(likes=3, replies=1, reposts=2, impressions=90, clicks=4)
    assert await setup.x.metrics(ME, [existing, missing]) == {existing: expected, missing: None}


async def test_empty_response_does_not_delete_posts():
    client = PlatformClient(httpx.MockTransport(lambda _: httpx.Response(200, json={})))
    platform = X(client, RecordingSecrets(access_token="a", client_id="app"), clock=FakeClock())
    assert await platform.metrics(ME, ["1"]) == {}


@pytest.mark.parametrize("named", [{"resource_id": "12"}, {"value": "12"}, {"resource_id": "12", "value": ["12"]}])
def test_problem_names_its_post(named):
    assert msgspec.convert({"title": "Not Found Error", **named}, XProblem).post_id == "12"


@pytest.mark.parametrize("days", [1, 30, 31])
async def test_clicks_are_none_when_not_reported(days):
    setup = XSetup()
    result = await setup.x.send(ME, setup.x.render(post("One."), ME, SEED), ())
    setup.server.has_clicks = days != 1
    setup.clock.advance(days=days)
    setup.secrets.secrets["expires_at"] = (setup.clock.now + timedelta(hours=1)).isoformat()
    expected = PostMetrics(likes=3, replies=1, reposts=2, impressions=90)
    assert await setup.x.metrics(ME, list(result.ids)) == {result.ids[0]: expected}


async def test_metrics_are_requested_in_batches_of_100():
    setup = XSetup()
    base = int(setup.server.new_id())
    metrics = await setup.x.metrics(ME, [str(base + number) for number in range(150)])
    assert len(setup.server.requests) == 2
    assert set(metrics.values()) == {None}


async def test_deleting_twice_is_no_error():
    setup = XSetup()
    result = await setup.x.send(ME, setup.x.render(post("One."), ME, SEED), ())
    await setup.x.delete(ME, result)
    await setup.x.delete(ME, result)
    assert setup.server.posts == []


def test_validation_reports_problems():
    platform = XSetup().x

    def problems_of(candidate: Post) -> list[tuple[int | None, str]]:
        return [(problem.part, problem.message) for problem in platform.validate(candidate, ME)]

    assert problems_of(post("x" * 280)) == []
    assert problems_of(post("One.", "x" * 281)) == [(1, "281 characters as X counts; the limit is 280.")]
    assert problems_of(post("日" * 141))[0][0] == 0
    assert problems_of(post("a" * 257 + "https://example.com/" + "b" * 500)) == []
    assert problems_of(post("One.", "One.")) == [(1, "X rejects duplicate texts.")]
    assert problems_of(post("")) == [(0, "The text is empty.")]
    assert problems_of(post("One.", alts=("",) * 5)) == [(0, "X accepts at most 4 images.")]
    assert problems_of(Post(format=Format.BLOG, parts=("x",), at=NOW)) == [
        (None, "X accepts short posts and threads only.")
    ]


@pytest.mark.parametrize(
    ("parts", "alts", "amount"),
    [
        (("One.",), (), "0.015"),
        (("One. example.com",), (), "0.20"),
        (("One.", "See https://example.com/", "Three."), (), "0.230"),
        (("One.",), ("A dot.", ""), "0.020"),
    ],
)
def test_post_cost_is_estimated(parts, alts, amount):
    estimate = post_cost(XSetup().x, post(*parts, alts=alts), ME)
    assert (estimate.amount, estimate.currency) == (Decimal(amount), "USD")


def test_free_platform_has_no_cost():
    assert post_cost(FakePlatform(FakeServer()), post("One."), ME) is None


async def test_foreign_duplicate_needs_user():
    setup = XSetup()
    await setup.x.send(ME, setup.x.render(post("One."), ME, SEED), ())
    setup.clock.advance(days=1)
    setup.secrets.secrets["expires_at"] = (setup.clock.now + timedelta(hours=1)).isoformat()
    intent = setup.x.render(post("One."), ME, SEED)
    delivery = await run_delivery(setup.x, ME, intent, setup.clock)
    assert delivery.state == "needs_user"
    assert next_action(delivery, setup.x.guarantees(ME), setup.clock.now) is NextAction.WAIT
    assert len(setup.server.posts) == 1


@given(
    faults=st.lists(st.sampled_from(FAULTS), max_size=25),
    parts=st.integers(1, 3),
    refuses=st.booleans(),
    jitter=st.floats(0, 1),
)
@settings(max_examples=sample_size(150), deadline=None)
async def test_posts_are_created_once_in_order_under_faults(faults, parts, refuses, jitter):
    setup = XSetup(refuses_duplicates=refuses)
    setup.server.faults.extend(faults)
    texts = [f"Part {number}. https://example.com/{number} & more" for number in range(parts)]
    intent = setup.x.render(post(*texts), ME, SEED)
    delivery = await run_delivery(None, ME, intent, setup.clock, jitter=jitter, make_platform=lambda: setup.x)
    setup.server.deliver_late(everything=True)
    posts = setup.server.posts
    assert [posted["source"] for posted in posts] == texts[: len(posts)]
    assert [posted["parent"] for posted in posts] == [None, *[posted["id"] for posted in posts]][: len(posts)]
    assert [result.ids[0] for result in delivery.results] == [posted["id"] for posted in posts][: len(delivery.results)]
    if delivery.state == "sent" or not faults:
        assert len(posts) == parts == len(delivery.results)
    elif delivery.state in ("failed", "abandoned"):
        assert len(posts) == len(delivery.results)


@pytest.mark.parametrize("server", ["http://elsewhere.example", "https://me@elsewhere.example", "https://a.example/?b"])
async def test_code_is_not_sent_to_unsafe_server(server):
    setup = XSetup()
    client_credentials = {"client_id": "app", "client_secret": "hush"}
    sign_in = await setup.x.start_sign_in(server, client_credentials, "https://localhost/")
    with pytest.raises(RefusedPostError):
        await setup.x.finish_sign_in(server, sign_in, "code")
    assert setup.server.requests == []
