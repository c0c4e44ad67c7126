"""Tests for Threads: hidden containers, their publication, and recovery of lost responses."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.model.draft import Format
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
    UnknownOutcomeError,
)
from copydesk.posting.threads.platform import Threads
from fake_threads import FakeThreads
from faulty_server import FAULTS, NOW, SEED, FakeClock, RecordingSecrets, run_delivery
from sampling import sample_size

ME = Account(platform="threads", server="https://graph.threads.net", id="77", name="me.too")


class ThreadsSetup:
    """The platform, a fake server, and the clock and credentials that both use."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.server = FakeThreads(self.clock)
        self.secrets = RecordingSecrets(access_token="token", expires_at=(NOW + timedelta(days=60)).isoformat())

    @property
    def threads(self) -> Threads:
        return Threads(self.server.client, self.secrets, clock=self.clock)

    def intent(self, *parts: str):
        return self.threads.render(post(*parts), ME, SEED)

    async def send_steps(self, intent, steps: int) -> list:
        completed: list = []
        for _ in range(steps):
            completed.append(await self.threads.send(ME, intent, completed))
        return completed


def post(*parts: str, alts: tuple[str, ...] = ()) -> Post:
    form = Format.THREAD if len(parts) > 1 else Format.SHORT
    return Post(format=form, parts=parts, at=NOW, alts=alts)


async def test_parts_are_published_as_replies():
    setup = ThreadsSetup()
    intent = setup.intent("One.", "Two.")
    assert [step.hidden for step in intent.steps] == [True, False, True, False]
    results = await setup.send_steps(intent, 4)
    assert [(posted["text"], posted["parent"]) for posted in setup.server.posts] == [("One.", ""), ("Two.", "5000")]
    assert [posted.ids[0] for posted in results] == ["1000", "5000", "1001", "5001"]
    assert [posted.urls for posted in results][:2] == [(), ("https://www.threads.net/@me.too/post/5000",)]
    assert intent == setup.intent("One.", "Two.")


async def test_token_is_not_in_url():
    setup = ThreadsSetup()
    await setup.send_steps(setup.intent("One."), 2)
    assert not any("token" in str(request.url) for request in setup.server.requests)


async def test_post_without_permalink_links_to_profile():
    setup = ThreadsSetup()
    intent = setup.intent("One.")
    completed = await setup.send_steps(intent, 1)
    setup.server.faults.extend(["none", "none", "cut_before"])
    assert (await setup.threads.send(ME, intent, completed)).urls == ("https://www.threads.com/@me.too",)


async def test_lost_container_is_not_found():
    setup = ThreadsSetup()
    intent = setup.intent("One.")
    setup.server.faults.append("cut_after")
    with pytest.raises(UnknownOutcomeError):
        await setup.threads.send(ME, intent, ())
    assert await setup.threads.find_post(ME, intent, (), NOW) is None


async def test_published_thread_is_found_without_its_containers():
    setup = ThreadsSetup()
    intent = setup.intent("One.", "Two.")
    sent = await setup.send_steps(intent, 4)
    found: list = []
    for _ in intent.steps:
        found.append(await setup.threads.find_post(ME, intent, found, NOW))
    assert [step.ids for step in found] == [step.ids for step in (sent[1], sent[1], sent[3], sent[3])]
    assert [bool(step.urls) for step in found] == [False, True, False, True]


@pytest.mark.parametrize("part", [0, 1])
async def test_lost_publication_is_found(part):
    setup = ThreadsSetup()
    intent = setup.intent("One #tag.", " Two.")
    completed = await setup.send_steps(intent, 2 * part + 1)
    setup.server.faults.extend(["none", "cut_after"])
    with pytest.raises(UnknownOutcomeError):
        await setup.threads.send(ME, intent, completed)
    found = await setup.threads.find_post(ME, intent, completed, NOW)
    assert (found.ids, found.evidence) == ((setup.server.posts[-1]["id"],), Evidence.READ_BACK)


async def test_waiting_container_means_not_published():
    setup = ThreadsSetup()
    intent = setup.intent("One.")
    completed = await setup.send_steps(intent, 1)
    setup.server.faults.extend(["none", "cut_before"])
    with pytest.raises(UnknownOutcomeError):
        await setup.threads.send(ME, intent, completed)
    assert await setup.threads.find_post(ME, intent, completed, NOW) is None


async def test_unknown_container_status_is_not_published():
    """A status that Meta adds later may mean anything, published included."""
    setup = ThreadsSetup()
    intent = setup.intent("One.")
    completed = await setup.send_steps(intent, 1)
    (container,) = setup.server.containers.values()
    container["status"] = "ARCHIVED"
    with pytest.raises(NotSentError, match="unknown status of the post"):
        await setup.threads.send(ME, intent, completed)
    assert setup.server.posts == []


async def test_published_container_is_not_published_twice():
    setup = ThreadsSetup()
    intent = setup.intent("One.")
    completed = await setup.send_steps(intent, 1)
    await setup.threads.send(ME, intent, completed)
    with pytest.raises(UnknownOutcomeError, match="already"):
        await setup.threads.send(ME, intent, completed)
    assert len(setup.server.posts) == 1


async def test_published_but_unlisted_post_is_unknown():
    setup = ThreadsSetup()
    intent = setup.intent("One.")
    completed = await setup.send_steps(intent, 1)
    await setup.threads.send(ME, intent, completed)
    setup.server.lists_posts = False
    with pytest.raises(UnknownOutcomeError, match="does not list it yet"):
        await setup.threads.find_post(ME, intent, completed, NOW)


@pytest.mark.parametrize("status", ["EXPIRED", "ERROR"])
async def test_expired_container_is_decided_by_post_list(status):
    setup = ThreadsSetup()
    intent = setup.intent("One.")
    completed = await setup.send_steps(intent, 1)
    setup.server.containers["1000"]["status"] = status
    assert await setup.threads.find_post(ME, intent, completed, NOW) is None
    republished = await setup.threads.send(ME, intent, completed)
    assert [posted["text"] for posted in setup.server.posts] == ["One."]
    assert (await setup.threads.find_post(ME, intent, completed, NOW)).ids == republished.ids


async def test_unready_container_is_retried_later():
    setup = ThreadsSetup()
    setup.server.containers_ready = False
    intent = setup.intent("One.")
    completed = await setup.send_steps(intent, 1)
    with pytest.raises(NotSentError) as caught:
        await setup.threads.send(ME, intent, completed)
    assert caught.value.retry_after == NOW + timedelta(seconds=30)
    assert await setup.threads.find_post(ME, intent, completed, NOW) is None


async def test_post_is_found_if_our_clock_was_ahead():
    setup = ThreadsSetup()
    intent = setup.intent("One.")
    completed = await setup.send_steps(intent, 1)
    result = await setup.threads.send(ME, intent, completed)
    setup.server.containers["1000"]["status"] = "EXPIRED"
    assert (await setup.threads.find_post(ME, intent, completed, NOW + timedelta(hours=14))).ids == result.ids


async def test_earlier_post_with_same_text_is_not_taken_for_a_later_one():
    setup = ThreadsSetup()
    intent = setup.intent("One.")
    await setup.send_steps(intent, 2)
    setup.clock.advance(hours=1)
    completed = await setup.send_steps(intent, 1)
    second = await setup.threads.send(ME, intent, completed)
    assert (await setup.threads.find_post(ME, intent, completed, setup.clock.now)).ids == second.ids


async def test_post_is_searched_on_all_pages_since_request():
    setup = ThreadsSetup()
    setup.server.page_size = 1
    intent = setup.intent("One.")
    completed = await setup.send_steps(intent, 1)
    first = await setup.threads.send(ME, intent, completed)
    await setup.send_steps(setup.intent("Two."), 2)
    assert (await setup.threads.find_post(ME, intent, completed, NOW)).ids == first.ids
    setup.server.containers["1000"]["status"] = "EXPIRED"
    assert await setup.threads.find_post(ME, intent, completed, NOW + timedelta(hours=16)) is None


@pytest.mark.parametrize("body", [{}, {"status": "SOMETHING"}, {"status": 1}])
async def test_unknown_container_status_raises(body):
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    setup = ThreadsSetup()
    completed = await setup.send_steps(setup.intent("One."), 1)
    platform = Threads(PlatformClient(transport), setup.secrets, clock=setup.clock)
    with pytest.raises((NotSentError, UnknownOutcomeError)):
        await platform.find_post(ME, setup.intent("One."), completed, NOW)


ERRORS = [
    (400, {"code": 100, "message": "Bad text."}, RefusedPostError),
    (400, {"code": 190, "message": "The session has expired."}, LoginError),
    (401, {"code": 190}, LoginError),
    (403, {"code": 10}, LoginError),
    (400, {"code": 4, "message": "Application request limit reached"}, NotSentError),
    (429, {}, NotSentError),
    (400, {"code": 2, "is_transient": True}, UnknownOutcomeError),
    (400, {"code": 1}, UnknownOutcomeError),
    (500, {"code": 2}, UnknownOutcomeError),
    (503, {}, UnknownOutcomeError),
    (400, "garbage", RefusedPostError),
]


@pytest.mark.parametrize(("status", "error_body", "error"), ERRORS)
async def test_response_maps_to_error(status, error_body, error):
    transport = httpx.MockTransport(lambda _: httpx.Response(status, json={"error": error_body}))
    platform = Threads(PlatformClient(transport), RecordingSecrets(access_token="cd-planted"), clock=FakeClock())
    with pytest.raises(error) as caught:
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())
    assert type(caught.value) is error
    assert "cd-planted" not in str(caught.value)
    assert "says: ." not in str(caught.value)


@pytest.mark.parametrize("body", [{}, {"id": ""}, {"id": "1/../2"}, {"id": 1}])
async def test_response_without_id_has_unknown_outcome(body):
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    platform = Threads(PlatformClient(transport), RecordingSecrets(access_token="t"), clock=FakeClock())
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())


async def test_permalink_of_other_host_is_replaced():
    setup = ThreadsSetup()
    intent = setup.intent("One.")
    completed = await setup.send_steps(intent, 2)
    listed = {"id": completed[1].ids[0], "text": "One.", "timestamp": "2026-02-10T09:00:00+0000"}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/me/threads"):
            return httpx.Response(200, json={"data": [{**listed, "permalink": "https://evil.example/"}]})
        return httpx.Response(200, json={"status": "PUBLISHED"})

    platform = Threads(PlatformClient(httpx.MockTransport(answer)), setup.secrets, clock=setup.clock)
    assert (await platform.find_post(ME, intent, completed[:1], NOW)).urls == ("https://www.threads.com/@me.too",)


async def test_browser_sign_in_connects_account():
    setup = ThreadsSetup()
    sign_in = await setup.threads.start_sign_in(
        Threads.info.default_server, {"client_id": "1", "client_secret": "hush"}, Threads.info.manual_redirect_uri
    )
    authorization = parse_qs(urlsplit(sign_in.url).query)
    assert authorization["redirect_uri"] == [Threads.info.manual_redirect_uri]
    assert "hush" not in sign_in.url
    connected = await setup.threads.finish_sign_in(Threads.info.default_server, sign_in, "code#_")
    assert connected.account == ME
    assert connected.credentials["access_token"] == "token"
    assert set(connected.credentials) == {"access_token", "expires_at"}
    assert await setup.threads.check(ME) == ME


async def test_expiring_token_is_renewed_and_saved():
    setup = ThreadsSetup()
    setup.clock.advance(days=55)
    await setup.threads.check(ME)
    assert setup.secrets.secrets["access_token"] == "token+"
    setup.clock.advance(days=70)
    setup.server.token = "another"
    with pytest.raises(LoginError):
        await setup.threads.check(ME)


async def test_metrics_are_read():
    setup = ThreadsSetup()
    completed = await setup.send_steps(setup.intent("One."), 2)
    expected = PostMetrics(likes=3, replies=0, reposts=2, impressions=90)
    assert await setup.threads.metrics(ME, ["5000", "5001"]) == {completed[1].ids[0]: expected, "5001": None}


async def test_private_metrics_are_not_reported_as_deleted():
    setup = ThreadsSetup()
    await setup.send_steps(setup.intent("One."), 2)
    setup.server.has_insights = False
    assert await setup.threads.metrics(ME, ["5000"]) == {}


async def test_deleting_twice_is_no_error():
    setup = ThreadsSetup()
    completed = await setup.send_steps(setup.intent("One."), 2)
    for result in (*completed, *completed):
        await setup.threads.delete(ME, result)
    assert setup.server.posts == []


async def test_pictures_are_refused():
    platform = ThreadsSetup().threads
    assert [problem.message for problem in platform.validate(post("One.", alts=("A dot.",)), ME)] == [
        "Threads accepts images from public addresses only."
    ]
    picture = PostImage(content=b"", media_type="image/png", width=1, height=1, alt="")
    with pytest.raises(RefusedPostError):
        await platform.send(ME, platform.render(post("One."), ME, SEED), (), (picture,))


def test_validation_reports_problems():
    platform = ThreadsSetup().threads
    assert platform.validate(post("x" * 500), ME) == []
    assert platform.validate(post("é" * 500), ME) == []
    assert platform.validate(post("😀" * 125), ME) == []
    assert len(platform.validate(post("😀" * 126), ME)) == 1
    assert [problem.part for problem in platform.validate(post("One.", "x" * 501, " "), ME)] == [1, 2]
    assert platform.validate(Post(format=Format.BLOG, parts=("x",), at=NOW), ME)[0].part is None


@given(faults=st.lists(st.sampled_from(FAULTS), max_size=30), parts=st.integers(1, 3), jitter=st.floats(0, 1))
@settings(max_examples=sample_size(150), deadline=None)
async def test_posts_are_created_once_in_order_under_faults(faults, parts, jitter):
    setup = ThreadsSetup()
    setup.server.faults.extend(faults)
    texts = [f"Part {number}." for number in range(parts)]
    intent = setup.intent(*texts)
    delivery = await run_delivery(
        None, ME, intent, setup.clock, max_actions=100, jitter=jitter, make_platform=lambda: setup.threads
    )
    setup.server.deliver_late(everything=True)
    posts = setup.server.posts
    assert [posted["text"] for posted in posts] == texts[: len(posts)]
    assert [posted["parent"] for posted in posts] == ["", *[posted["id"] for posted in posts]][: len(posts)]
    published = [result.ids[0] for result in delivery.results[1::2]]
    assert published == [posted["id"] for posted in posts][: len(published)]
    if delivery.state == "sent" or not faults:
        assert len(posts) == parts == len(published)
    elif delivery.state in ("failed", "abandoned"):
        assert len(posts) == len(published)


@pytest.mark.parametrize("server", ["http://elsewhere.example", "https://me@elsewhere.example", "https://a.example/?b"])
async def test_code_is_not_sent_to_unsafe_server(server):
    setup = ThreadsSetup()
    client_credentials = {"client_id": "app", "client_secret": "hush"}
    sign_in = await setup.threads.start_sign_in(server, client_credentials, "https://localhost/")
    with pytest.raises(RefusedPostError):
        await setup.threads.finish_sign_in(server, sign_in, "code")
    assert setup.server.requests == []
