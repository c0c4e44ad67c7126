"""Tests for Threads: hidden containers, their publication, and recovery of lost responses."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.posting.http import Caller
from copydesk.posting.platform import (
    Account,
    Evidence,
    Figures,
    LoginError,
    NotSentError,
    Picture,
    Post,
    RefusedPostError,
    UnknownOutcomeError,
)
from copydesk.posting.threads import Threads
from fake_threads import FakeThreads
from faulty_server import FAULTS, NOW, SEED, Clock, KeptSecrets, delivered

ME = Account(platform="threads", server="https://graph.threads.net", id="77", name="me.too")


class World:
    """The platform, a fake server, and the clock and credentials that both use."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.server = FakeThreads(self.clock)
        self.secrets = KeptSecrets(access_token="token", expires_at=(NOW + timedelta(days=60)).isoformat())

    @property
    def threads(self) -> Threads:
        return Threads(self.server.caller, self.secrets, clock=self.clock)

    def intent(self, *parts: str):
        return self.threads.render(post(*parts), ME, SEED)

    async def sent(self, intent, steps: int) -> list:
        completed: list = []
        for _ in range(steps):
            completed.append(await self.threads.send(ME, intent, completed))
        return completed


def post(*parts: str, alts: tuple[str, ...] = ()) -> Post:
    form = Format.THREAD if len(parts) > 1 else Format.SHORT
    return Post(format=form, parts=parts, at=NOW, alts=alts)


async def test_parts_are_published_as_replies():
    setup = World()
    intent = setup.intent("One.", "Two.")
    assert [step.hidden for step in intent.steps] == [True, False, True, False]
    results = await setup.sent(intent, 4)
    assert [(posted["text"], posted["parent"]) for posted in setup.server.posts] == [("One.", ""), ("Two.", "5000")]
    assert [posted.ids[0] for posted in results] == ["1000", "5000", "1001", "5001"]
    assert [posted.urls for posted in results][:2] == [(), ("https://www.threads.net/@me.too/post/5000",)]
    assert intent == setup.intent("One.", "Two.")


async def test_token_is_not_in_url():
    setup = World()
    await setup.sent(setup.intent("One."), 2)
    assert not any("token" in str(request.url) for request in setup.server.requests)


async def test_post_without_permalink_links_to_profile():
    setup = World()
    intent = setup.intent("One.")
    completed = await setup.sent(intent, 1)
    setup.server.faults.extend(["none", "none", "cut_before"])
    assert (await setup.threads.send(ME, intent, completed)).urls == ("https://www.threads.com/@me.too",)


async def test_lost_container_is_not_found():
    setup = World()
    intent = setup.intent("One.")
    setup.server.faults.append("cut_after")
    with pytest.raises(UnknownOutcomeError):
        await setup.threads.send(ME, intent, ())
    assert await setup.threads.look_up(ME, intent, (), NOW) is None


@pytest.mark.parametrize("part", [0, 1])
async def test_lost_publication_is_found(part):
    setup = World()
    intent = setup.intent("One #tag.", " Two.")
    completed = await setup.sent(intent, 2 * part + 1)
    setup.server.faults.extend(["none", "cut_after"])
    with pytest.raises(UnknownOutcomeError):
        await setup.threads.send(ME, intent, completed)
    found = await setup.threads.look_up(ME, intent, completed, NOW)
    assert (found.ids, found.evidence) == ((setup.server.posts[-1]["id"],), Evidence.READ_BACK)


async def test_waiting_container_means_not_published():
    setup = World()
    intent = setup.intent("One.")
    completed = await setup.sent(intent, 1)
    setup.server.faults.extend(["none", "cut_before"])
    with pytest.raises(UnknownOutcomeError):
        await setup.threads.send(ME, intent, completed)
    assert await setup.threads.look_up(ME, intent, completed, NOW) is None


async def test_published_container_is_not_published_twice():
    setup = World()
    intent = setup.intent("One.")
    completed = await setup.sent(intent, 1)
    await setup.threads.send(ME, intent, completed)
    with pytest.raises(UnknownOutcomeError, match="already"):
        await setup.threads.send(ME, intent, completed)
    assert len(setup.server.posts) == 1


async def test_published_but_unlisted_post_is_unknown():
    setup = World()
    intent = setup.intent("One.")
    completed = await setup.sent(intent, 1)
    await setup.threads.send(ME, intent, completed)
    setup.server.shows = False
    with pytest.raises(UnknownOutcomeError, match="does not show it"):
        await setup.threads.look_up(ME, intent, completed, NOW)


@pytest.mark.parametrize("end", ["EXPIRED", "ERROR"])
async def test_expired_container_is_decided_by_post_list(end):
    setup = World()
    intent = setup.intent("One.")
    completed = await setup.sent(intent, 1)
    setup.server.containers["1000"]["status"] = end
    assert await setup.threads.look_up(ME, intent, completed, NOW) is None
    republished = await setup.threads.send(ME, intent, completed)
    assert [posted["text"] for posted in setup.server.posts] == ["One."]
    assert (await setup.threads.look_up(ME, intent, completed, NOW)).ids == republished.ids


async def test_unready_container_is_retried_later():
    setup = World()
    setup.server.ready = False
    intent = setup.intent("One.")
    completed = await setup.sent(intent, 1)
    with pytest.raises(NotSentError) as caught:
        await setup.threads.send(ME, intent, completed)
    assert caught.value.retry_after == NOW + timedelta(seconds=30)
    assert await setup.threads.look_up(ME, intent, completed, NOW) is None


async def test_post_is_searched_on_all_pages_since_request():
    setup = World()
    setup.server.page = 1
    intent = setup.intent("One.")
    completed = await setup.sent(intent, 1)
    first = await setup.threads.send(ME, intent, completed)
    await setup.sent(setup.intent("Two."), 2)
    assert (await setup.threads.look_up(ME, intent, completed, NOW)).ids == first.ids
    setup.server.containers["1000"]["status"] = "EXPIRED"
    assert await setup.threads.look_up(ME, intent, completed, NOW + timedelta(minutes=3)) is None


@pytest.mark.parametrize("body", [{}, {"status": "SOMETHING"}, {"status": 1}])
async def test_unknown_container_status_raises(body):
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    setup = World()
    completed = await setup.sent(setup.intent("One."), 1)
    platform = Threads(Caller(transport), setup.secrets, clock=setup.clock)
    with pytest.raises((NotSentError, UnknownOutcomeError)):
        await platform.look_up(ME, setup.intent("One."), completed, NOW)


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


@pytest.mark.parametrize(("status", "said", "error"), ERRORS)
async def test_response_maps_to_error(status, said, error):
    transport = httpx.MockTransport(lambda _: httpx.Response(status, json={"error": said}))
    platform = Threads(Caller(transport), KeptSecrets(access_token="cd-planted"), clock=Clock())
    with pytest.raises(error) as caught:
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())
    assert type(caught.value) is error
    assert "cd-planted" not in str(caught.value)


@pytest.mark.parametrize("body", [{}, {"id": ""}, {"id": "1/../2"}, {"id": 1}])
async def test_response_without_id_has_unknown_outcome(body):
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    platform = Threads(Caller(transport), KeptSecrets(access_token="t"), clock=Clock())
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())


async def test_permalink_of_other_host_is_replaced():
    setup = World()
    intent = setup.intent("One.")
    completed = await setup.sent(intent, 2)
    listed = {"id": completed[1].ids[0], "text": "One.", "timestamp": "2026-02-10T09:00:00+0000"}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/me/threads"):
            return httpx.Response(200, json={"data": [{**listed, "permalink": "https://evil.example/"}]})
        return httpx.Response(200, json={"status": "PUBLISHED"})

    platform = Threads(Caller(httpx.MockTransport(answer)), setup.secrets, clock=setup.clock)
    assert (await platform.look_up(ME, intent, completed[:1], NOW)).urls == ("https://www.threads.com/@me.too",)


async def test_browser_sign_in_connects_account():
    setup = World()
    sign_in = await setup.threads.begin(Threads.home, {"client_id": "1", "client_secret": "hush"}, Threads.by_hand)
    authorization = parse_qs(urlsplit(sign_in.url).query)
    assert authorization["redirect_uri"] == [Threads.by_hand]
    assert "hush" not in sign_in.url
    connected = await setup.threads.finish(Threads.home, sign_in, "code#_")
    assert connected.account == ME
    assert connected.secrets["access_token"] == "token"
    assert set(connected.secrets) == {"access_token", "expires_at"}
    assert await setup.threads.check(ME) == ME


async def test_expiring_token_is_renewed_and_saved():
    setup = World()
    setup.clock.move(days=55)
    await setup.threads.check(ME)
    assert setup.secrets.held["access_token"] == "token+"
    setup.clock.move(days=70)
    setup.server.token = "another"
    with pytest.raises(LoginError):
        await setup.threads.check(ME)


async def test_metrics_are_read():
    setup = World()
    completed = await setup.sent(setup.intent("One."), 2)
    expected = Figures(likes=3, replies=0, reposts=2, impressions=90)
    assert await setup.threads.figures(ME, ["5000", "5001"]) == {completed[1].ids[0]: expected, "5001": None}


async def test_private_metrics_are_not_reported_as_deleted():
    setup = World()
    await setup.sent(setup.intent("One."), 2)
    setup.server.insights = False
    assert await setup.threads.figures(ME, ["5000"]) == {}


async def test_deleting_twice_is_no_error():
    setup = World()
    completed = await setup.sent(setup.intent("One."), 2)
    for result in (*completed, *completed):
        await setup.threads.delete(ME, result)
    assert setup.server.posts == []


async def test_pictures_are_refused():
    platform = World().threads
    assert [problem.message for problem in platform.problems(post("One.", alts=("A dot.",)), ME)] == [
        "Threads takes pictures from a public address only, not from here."
    ]
    picture = Picture(content=b"", media_type="image/png", width=1, height=1, alt="")
    with pytest.raises(RefusedPostError):
        await platform.send(ME, platform.render(post("One."), ME, SEED), (), (picture,))


def test_validation_reports_problems():
    platform = World().threads
    assert platform.problems(post("x" * 500), ME) == []
    assert platform.problems(post("é" * 500), ME) == []
    assert platform.problems(post("😀" * 125), ME) == []
    assert len(platform.problems(post("😀" * 126), ME)) == 1
    assert [problem.part for problem in platform.problems(post("One.", "x" * 501, " "), ME)] == [1, 2]
    assert platform.problems(Post(format=Format.BLOG, parts=("x",), at=NOW), ME)[0].part is None


@given(faults=st.lists(st.sampled_from(FAULTS), max_size=30), parts=st.integers(1, 3), jitter=st.floats(0, 1))
@settings(max_examples=150, deadline=None)
async def test_posts_are_created_once_in_order_under_faults(faults, parts, jitter):
    setup = World()
    setup.server.faults.extend(faults)
    texts = [f"Part {number}." for number in range(parts)]
    intent = setup.intent(*texts)
    delivery = await delivered(None, ME, intent, setup.clock, moves=100, jitter=jitter, fresh=lambda: setup.threads)
    setup.server.arrive(everything=True)
    posts = setup.server.posts
    assert [posted["text"] for posted in posts] == texts[: len(posts)]
    assert [posted["parent"] for posted in posts] == ["", *[posted["id"] for posted in posts]][: len(posts)]
    published = [result.ids[0] for result in delivery.made[1::2]]
    assert published == [posted["id"] for posted in posts][: len(published)]
    if delivery.state == "sent" or not faults:
        assert len(posts) == parts == len(published)
    elif delivery.state in ("failed", "abandoned"):
        assert len(posts) == len(published)


@pytest.mark.parametrize("server", ["http://elsewhere.example", "https://me@elsewhere.example", "https://a.example/?b"])
async def test_code_is_not_sent_to_unsafe_server(server):
    setup = World()
    client_credentials = {"client_id": "app", "client_secret": "hush"}
    sign_in = await setup.threads.begin(server, client_credentials, "https://localhost/")
    with pytest.raises(RefusedPostError):
        await setup.threads.finish(server, sign_in, "code")
    assert setup.server.requests == []
