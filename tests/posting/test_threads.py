"""Threads: containers that nobody sees, their publication, and what became of one whose answer was lost."""

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
    """The platform, the server and what both live by."""

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
        made: list = []
        for _ in range(steps):
            made.append(await self.threads.send(ME, intent, made))
        return made


def post(*parts: str, alts: tuple[str, ...] = ()) -> Post:
    form = Format.THREAD if len(parts) > 1 else Format.SHORT
    return Post(format=form, parts=parts, at=NOW, alts=alts)


async def test_each_part_is_contained_and_published_in_answer_to_the_one_before():
    world = World()
    intent = world.intent("One.", "Two.")
    assert [step.hidden for step in intent.steps] == [True, False, True, False]
    made = await world.sent(intent, 4)
    assert [(each["text"], each["parent"]) for each in world.server.posts] == [("One.", ""), ("Two.", "5000")]
    assert [each.ids[0] for each in made] == ["1000", "5000", "1001", "5001"]
    assert [each.urls for each in made][:2] == [(), ("https://www.threads.net/@me.too/post/5000",)]
    assert intent == world.intent("One.", "Two.")


async def test_no_token_is_in_an_address():
    world = World()
    await world.sent(world.intent("One."), 2)
    assert not any("token" in str(request.url) for request in world.server.requests)


async def test_the_post_is_told_of_even_where_its_address_is_not():
    world = World()
    intent = world.intent("One.")
    made = await world.sent(intent, 1)
    world.server.faults.extend(["none", "none", "cut_before"])
    assert (await world.threads.send(ME, intent, made)).urls == ("https://www.threads.com/@me.too",)


async def test_a_lost_container_is_simply_made_again():
    world = World()
    intent = world.intent("One.")
    world.server.faults.append("cut_after")
    with pytest.raises(UnknownOutcomeError):
        await world.threads.send(ME, intent, ())
    assert await world.threads.look_up(ME, intent, (), NOW) is None


@pytest.mark.parametrize("part", [0, 1])
async def test_a_lost_publication_is_found(part):
    world = World()
    intent = world.intent("One #tag.", " Two.")
    made = await world.sent(intent, 2 * part + 1)
    world.server.faults.extend(["none", "cut_after"])
    with pytest.raises(UnknownOutcomeError):
        await world.threads.send(ME, intent, made)
    found = await world.threads.look_up(ME, intent, made, NOW)
    assert (found.ids, found.evidence) == ((world.server.posts[-1]["id"],), Evidence.READ_BACK)


async def test_a_container_that_waits_says_that_nothing_was_published():
    world = World()
    intent = world.intent("One.")
    made = await world.sent(intent, 1)
    world.server.faults.extend(["none", "cut_before"])
    with pytest.raises(UnknownOutcomeError):
        await world.threads.send(ME, intent, made)
    assert await world.threads.look_up(ME, intent, made, NOW) is None


async def test_what_is_published_is_never_published_again():
    world = World()
    intent = world.intent("One.")
    made = await world.sent(intent, 1)
    await world.threads.send(ME, intent, made)
    with pytest.raises(UnknownOutcomeError, match="already"):
        await world.threads.send(ME, intent, made)
    assert len(world.server.posts) == 1


async def test_what_is_published_and_not_shown_yet_is_looked_for_again():
    world = World()
    intent = world.intent("One.")
    made = await world.sent(intent, 1)
    await world.threads.send(ME, intent, made)
    world.server.shows = False
    with pytest.raises(UnknownOutcomeError, match="does not show it"):
        await world.threads.look_up(ME, intent, made, NOW)


@pytest.mark.parametrize("end", ["EXPIRED", "ERROR"])
async def test_of_a_container_that_has_ended_the_list_of_posts_decides(end):
    world = World()
    intent = world.intent("One.")
    made = await world.sent(intent, 1)
    world.server.containers["1000"]["status"] = end
    assert await world.threads.look_up(ME, intent, made, NOW) is None
    again = await world.threads.send(ME, intent, made)
    assert [each["text"] for each in world.server.posts] == ["One."]
    assert (await world.threads.look_up(ME, intent, made, NOW)).ids == again.ids


async def test_a_container_that_is_not_ready_is_waited_for():
    world = World()
    world.server.ready = False
    intent = world.intent("One.")
    made = await world.sent(intent, 1)
    with pytest.raises(NotSentError) as caught:
        await world.threads.send(ME, intent, made)
    assert caught.value.retry_after == NOW + timedelta(seconds=30)
    assert await world.threads.look_up(ME, intent, made, NOW) is None


async def test_a_post_is_looked_for_on_every_page_and_not_in_what_is_older():
    world = World()
    world.server.page = 1
    intent = world.intent("One.")
    made = await world.sent(intent, 1)
    first = await world.threads.send(ME, intent, made)
    await world.sent(world.intent("Two."), 2)
    assert (await world.threads.look_up(ME, intent, made, NOW)).ids == first.ids
    world.server.containers["1000"]["status"] = "EXPIRED"
    assert await world.threads.look_up(ME, intent, made, NOW + timedelta(minutes=3)) is None


@pytest.mark.parametrize("body", [{}, {"status": "SOMETHING"}, {"status": 1}])
async def test_a_status_that_is_not_known_decides_nothing(body):
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    world = World()
    made = await world.sent(world.intent("One."), 1)
    platform = Threads(Caller(transport), world.secrets, clock=world.clock)
    with pytest.raises((NotSentError, UnknownOutcomeError)):
        await platform.look_up(ME, world.intent("One."), made, NOW)


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
async def test_what_an_answer_means(status, said, error):
    transport = httpx.MockTransport(lambda _: httpx.Response(status, json={"error": said}))
    platform = Threads(Caller(transport), KeptSecrets(access_token="cd-planted"), clock=Clock())
    with pytest.raises(error) as caught:
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())
    assert type(caught.value) is error
    assert "cd-planted" not in str(caught.value)


@pytest.mark.parametrize("body", [{}, {"id": ""}, {"id": "1/../2"}, {"id": 1}])
async def test_an_answer_without_an_id_tells_nothing(body):
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    platform = Threads(Caller(transport), KeptSecrets(access_token="t"), clock=Clock())
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())


async def test_a_link_of_another_host_is_not_shown():
    world = World()
    intent = world.intent("One.")
    made = await world.sent(intent, 2)
    listed = {"id": made[1].ids[0], "text": "One.", "timestamp": "2026-02-10T09:00:00+0000"}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/me/threads"):
            return httpx.Response(200, json={"data": [{**listed, "permalink": "https://evil.example/"}]})
        return httpx.Response(200, json={"status": "PUBLISHED"})

    platform = Threads(Caller(httpx.MockTransport(answer)), world.secrets, clock=world.clock)
    assert (await platform.look_up(ME, intent, made[:1], NOW)).urls == ("https://www.threads.com/@me.too",)


async def test_an_account_is_connected_in_the_browser():
    world = World()
    sign_in = await world.threads.begin(Threads.home, {"client_id": "1", "client_secret": "hush"}, Threads.by_hand)
    asked = parse_qs(urlsplit(sign_in.url).query)
    assert asked["redirect_uri"] == [Threads.by_hand]
    assert "hush" not in sign_in.url
    connected = await world.threads.finish(Threads.home, sign_in, "code#_")
    assert connected.account == ME
    assert connected.secrets["access_token"] == "token"
    assert set(connected.secrets) == {"access_token", "expires_at"}
    assert await world.threads.check(ME) == ME


async def test_a_token_near_its_end_is_renewed_and_kept():
    world = World()
    world.clock.move(days=55)
    await world.threads.check(ME)
    assert world.secrets.held["access_token"] == "token+"
    world.clock.move(days=70)
    world.server.token = "another"
    with pytest.raises(LoginError):
        await world.threads.check(ME)


async def test_figures_are_what_threads_reports():
    world = World()
    made = await world.sent(world.intent("One."), 2)
    expected = Figures(likes=3, replies=0, reposts=2, impressions=90)
    assert await world.threads.figures(ME, ["5000", "5001"]) == {made[1].ids[0]: expected, "5001": None}


async def test_a_post_whose_figures_are_closed_is_not_called_gone():
    world = World()
    await world.sent(world.intent("One."), 2)
    world.server.insights = False
    assert await world.threads.figures(ME, ["5000"]) == {}


async def test_a_post_is_taken_back_and_its_container_left():
    world = World()
    made = await world.sent(world.intent("One."), 2)
    for each in (*made, *made):
        await world.threads.delete(ME, each)
    assert world.server.posts == []


async def test_pictures_are_refused_before_and_when_sending():
    platform = World().threads
    assert [problem.message for problem in platform.problems(post("One.", alts=("A dot.",)), ME)] == [
        "Threads takes pictures from a public address only, not from here."
    ]
    picture = Picture(content=b"", media_type="image/png", width=1, height=1, alt="")
    with pytest.raises(RefusedPostError):
        await platform.send(ME, platform.render(post("One."), ME, SEED), (), (picture,))


def test_what_would_be_refused_is_said_before():
    platform = World().threads
    assert platform.problems(post("x" * 500), ME) == []
    assert platform.problems(post("é" * 500), ME) == []
    assert platform.problems(post("😀" * 125), ME) == []
    assert len(platform.problems(post("😀" * 126), ME)) == 1
    assert [problem.part for problem in platform.problems(post("One.", "x" * 501, " "), ME)] == [1, 2]
    assert platform.problems(Post(format=Format.BLOG, parts=("x",), at=NOW), ME)[0].part is None


@given(faults=st.lists(st.sampled_from(FAULTS), max_size=30), parts=st.integers(1, 3), jitter=st.floats(0, 1))
@settings(max_examples=150, deadline=None)
async def test_whatever_happens_each_post_is_made_once_and_the_thread_is_in_order(faults, parts, jitter):
    world = World()
    world.server.faults.extend(faults)
    texts = [f"Part {number}." for number in range(parts)]
    intent = world.intent(*texts)
    ended = await delivered(None, ME, intent, world.clock, moves=100, jitter=jitter, fresh=lambda: world.threads)
    world.server.arrive(everything=True)
    there = world.server.posts
    assert [each["text"] for each in there] == texts[: len(there)]
    assert [each["parent"] for each in there] == ["", *[each["id"] for each in there]][: len(there)]
    published = [made.ids[0] for made in ended.made[1::2]]
    assert published == [each["id"] for each in there][: len(published)]
    if ended.state == "sent" or not faults:
        assert len(there) == parts == len(published)
    elif ended.state in ("failed", "abandoned"):
        assert len(there) == len(published)


@pytest.mark.parametrize("server", ["http://elsewhere.example", "https://me@elsewhere.example", "https://a.example/?b"])
async def test_no_code_goes_where_it_could_be_read_on_its_way(server):
    world = World()
    given_ = {"client_id": "app", "client_secret": "hush"}
    sign_in = await world.threads.begin(server, given_, "https://localhost/")
    with pytest.raises(RefusedPostError):
        await world.threads.finish(server, sign_in, "code")
    assert world.server.requests == []
