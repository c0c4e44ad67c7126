"""LinkedIn: one post that cannot be read back, and what the refusal of a second one tells."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.posting.http import Caller
from copydesk.posting.linkedin import LinkedIn
from copydesk.posting.linkedin_text import little, made_at
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
from fake_linkedin import FakeLinkedIn, read_little
from faulty_server import FAULTS, NOW, SEED, Clock, KeptSecrets, delivered

ME = Account(platform="linkedin", server="https://api.linkedin.com", id="abc-1", name="Jo Doe")
PICTURE = Picture(content=b"\x89PNG", media_type="image/png", width=1, height=1, alt="A dot.")


class World:
    """The platform, the server and what both live by."""

    def __init__(self, *, probe: bool = False) -> None:
        self.clock = Clock()
        self.server = FakeLinkedIn(self.clock)
        self.secrets = KeptSecrets(access_token="token", expires_at=(NOW + timedelta(days=60)).isoformat())
        self.linkedin = LinkedIn(self.server.caller, self.secrets, clock=self.clock, probe_by_repeating=probe)

    def intent(self, text: str = "One.", alts: tuple[str, ...] = ()):
        return self.linkedin.render(post(text, alts), ME, SEED)


def post(text: str, alts: tuple[str, ...] = (), format: Format = Format.SHORT) -> Post:
    return Post(format=format, parts=(text,), at=NOW, alts=alts)


async def lose(world: World, intent, fault: str = "cut_after") -> None:
    world.server.faults.append(fault)
    with pytest.raises(UnknownOutcomeError):
        await world.linkedin.send(ME, intent, ())


async def test_a_post_is_made_and_named():
    world = World()
    made = await world.linkedin.send(ME, world.intent(), ())
    assert made.ids == (world.server.posts[0]["urn"],)
    assert made.urls == (f"https://www.linkedin.com/feed/update/{made.ids[0]}/",)
    assert world.intent() == world.intent()


@given(st.text(max_size=60) | st.text("#ab_(){}[]|@<>*~\\ .", max_size=40))
def test_nothing_of_a_text_is_lost_on_its_way(text):
    assert read_little(little(text)) == text


def test_hashtags_stay_hashtags_and_links_stay_whole():
    assert little("A #tag (b_c).") == r"A {hashtag|\#|tag} \(b\_c\)."
    assert little("https://example.com/a_b#part #12") == r"https://example.com/a\_b\#part \#12"


async def test_one_picture_and_several_are_sent_with_their_descriptions():
    world = World()
    await world.linkedin.send(ME, world.intent("One.", ("A dot.",)), (), (PICTURE,))
    await world.linkedin.send(ME, world.intent("Two.", ("A dot.", "A dot.")), (), (PICTURE, PICTURE))
    image = {"id": "urn:li:image:0", "altText": "A dot."}
    assert world.server.posts[0]["content"] == {"media": image}
    assert [each["id"][-1] for each in world.server.posts[1]["content"]["multiImage"]["images"]] == ["1", "2"]
    assert set(world.server.pictures.values()) == {PICTURE.content}


@pytest.mark.parametrize("faults", [["cut_after"], ["none", "cut_before"], ["500"], ["none", "500_after"]])
async def test_a_picture_that_does_not_arrive_stops_the_post(faults):
    world = World()
    world.server.faults.extend(faults)
    with pytest.raises((NotSentError, UnknownOutcomeError)) as caught:
        await world.linkedin.send(ME, world.intent("One.", ("",)), (), (PICTURE,))
    assert isinstance(caught.value, NotSentError)
    assert world.server.posts == []


async def test_a_post_without_its_pictures_is_not_made():
    with pytest.raises(RefusedPostError):
        await World().linkedin.send(ME, World().intent("One.", ("A dot.",)), ())


@pytest.mark.parametrize(
    "url", ["https://evil.example/", "http://www.linkedin.com/1", "https://linkedin.com.evil.org/"]
)
async def test_the_token_goes_nowhere_else(url):
    world = World()
    world.server.upload = url
    with pytest.raises(NotSentError):
        await world.linkedin.send(ME, world.intent("One.", ("",)), (), (PICTURE,))
    assert len(world.server.requests) == 1


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
async def test_what_an_answer_means(status, error):
    transport = httpx.MockTransport(lambda _: httpx.Response(status, json={"message": "No.", "code": "X"}))
    platform = LinkedIn(Caller(transport), KeptSecrets(access_token="cd-planted"), clock=Clock())
    with pytest.raises(error) as caught:
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())
    assert type(caught.value) is error
    assert "cd-planted" not in str(caught.value)


@pytest.mark.parametrize("headers", [{}, {"x-restli-id": "urn:li:share:"}, {"x-restli-id": "urn:li:share:1/../2"}])
async def test_an_answer_without_a_name_tells_nothing(headers):
    transport = httpx.MockTransport(lambda _: httpx.Response(201, headers=headers))
    platform = LinkedIn(Caller(transport), KeptSecrets(access_token="t"), clock=Clock())
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())


async def test_the_same_text_as_an_earlier_post_is_refused_and_the_post_is_named():
    world = World()
    made = await world.linkedin.send(ME, world.intent(), ())
    world.clock.move(hours=5)
    with pytest.raises(RefusedPostError) as caught:
        await world.linkedin.send(ME, world.intent(), ())
    assert made.urls[0] in caught.value.message


async def test_where_the_post_it_names_is_of_this_moment_it_may_be_our_own():
    world = World()
    await world.linkedin.send(ME, world.intent(), ())
    with pytest.raises(UnknownOutcomeError, match="feed/update"):
        await world.linkedin.send(ME, world.intent(), ())


async def test_a_lost_post_is_the_users_to_look_for():
    world = World()
    await lose(world, world.intent())
    assert not world.linkedin.trust(ME).can_look
    with pytest.raises(UnknownOutcomeError, match="your profile"):
        await world.linkedin.look_up(ME, world.intent(), (), NOW)
    assert len(world.server.requests) == 1


@pytest.mark.parametrize(("fault", "evidence"), [("cut_after", "duplicate_answer"), ("cut_before", "answered")])
async def test_where_the_user_allows_it_the_same_again_tells(fault, evidence):
    world = World(probe=True)
    await lose(world, world.intent(), fault)
    world.clock.move(seconds=90)
    found = await world.linkedin.look_up(ME, world.intent(), (), NOW)
    assert (found.ids, found.evidence) == ((world.server.posts[0]["urn"],), Evidence(evidence))
    assert len(world.server.posts) == 1


async def test_it_is_not_asked_again_while_the_first_may_be_under_way():
    world = World(probe=True)
    await lose(world, world.intent())
    with pytest.raises(NotSentError) as caught:
        await world.linkedin.look_up(ME, world.intent(), (), NOW)
    assert caught.value.retry_after == NOW + timedelta(seconds=90)


async def test_nor_after_an_hour_nor_with_pictures_nor_a_second_time():
    world = World(probe=True)
    await lose(world, world.intent())
    pictured = world.intent("One.", ("A dot.",))
    world.clock.move(minutes=2)
    with pytest.raises(UnknownOutcomeError):
        await world.linkedin.look_up(ME, pictured, (), NOW)
    world.server.faults.append("cut_before")
    for _ in range(2):
        with pytest.raises(UnknownOutcomeError):
            await world.linkedin.look_up(ME, world.intent(), (), NOW)
    other = World(probe=True)
    other.clock.move(hours=1)
    with pytest.raises(UnknownOutcomeError):
        await other.linkedin.look_up(ME, other.intent(), (), NOW)
    assert len(world.server.requests) == 2
    assert other.server.requests == []


async def test_a_post_of_another_time_is_not_taken_for_ours():
    world = World(probe=True)
    await world.linkedin.send(ME, world.intent(), ())
    world.clock.move(hours=5)
    began = world.clock.now
    world.clock.move(minutes=2)
    with pytest.raises(UnknownOutcomeError, match="another time"):
        await world.linkedin.look_up(ME, world.intent(), (), began)


def test_a_name_tells_when_its_post_was_made_or_nothing():
    assert made_at(f"urn:li:share:{int(NOW.timestamp() * 1000) << 22}") == NOW
    assert made_at("urn:li:share:6") is None
    assert made_at("urn:li:share:" + "9" * 20) is None


async def test_a_token_that_has_run_out_is_not_tried():
    world = World()
    world.clock.move(days=61)
    with pytest.raises(LoginError, match="Connect the account again"):
        await world.linkedin.send(ME, world.intent(), ())
    assert world.server.requests == []


async def test_an_account_is_connected_in_the_browser():
    world = World()
    given_ = {"client_id": "app", "client_secret": "hush"}
    sign_in = await world.linkedin.begin(LinkedIn.home, given_, "http://127.0.0.1:8398/callback")
    asked = parse_qs(urlsplit(sign_in.url).query)
    assert (asked["state"], asked["scope"]) == ([sign_in.state], ["openid profile w_member_social"])
    assert "hush" not in sign_in.url
    connected = await world.linkedin.finish(LinkedIn.home, sign_in, "code")
    assert connected.account == ME
    assert set(connected.secrets) == {"access_token", "expires_at"}
    assert str(world.server.requests[0].url) == "https://www.linkedin.com/oauth/v2/accessToken"
    wrong = await world.linkedin.begin(LinkedIn.home, {**given_, "client_secret": "bad"}, "http://127.0.0.1:8398/")
    with pytest.raises(LoginError):
        await world.linkedin.finish(LinkedIn.home, wrong, "code")


async def test_what_linkedin_does_not_report_is_absent_and_not_nought():
    assert await World().linkedin.figures(ME, ["urn:li:share:1"]) == {"urn:li:share:1": Figures()}


async def test_a_post_is_taken_back():
    world = World()
    made = await world.linkedin.send(ME, world.intent(), ())
    await world.linkedin.delete(ME, made)
    await world.linkedin.delete(ME, made)
    assert world.server.posts == []


def test_what_would_be_refused_is_said_before():
    platform = World().linkedin

    def said(each: Post) -> list[str]:
        return [problem.message for problem in platform.problems(each, ME)]

    assert said(post("x" * 3000)) == []
    assert said(post("_" * 3000)) == []  # counted as people see it
    assert said(post("😀" * 1501)) == ["It is 3002 characters long; 3000 are allowed."]
    assert said(post(" ")) == ["It is empty."]
    assert "no threads" in said(post("One.", format=Format.THREAD))[0]
    assert said(post("One.", ("",) * 21)) == ["LinkedIn takes at most 20 pictures."]


@given(faults=st.lists(st.sampled_from(FAULTS), max_size=20), probe=st.booleans(), jitter=st.floats(0, 1))
@settings(max_examples=150, deadline=None)
async def test_whatever_happens_it_is_made_once_and_told_as_it_is(faults, probe, jitter):
    world = World(probe=probe)
    world.server.faults.extend(faults)
    ended = await delivered(world.linkedin, ME, world.intent("One & #two."), world.clock, jitter=jitter)
    world.server.arrive(everything=True)
    there = world.server.posts
    assert len(there) <= 1
    if ended.state == "sent" or not faults:
        assert [each["urn"] for each in there] == list(ended.made[0].ids)
    elif ended.state in ("failed", "abandoned"):
        assert there == []


@pytest.mark.parametrize("server", ["http://elsewhere.example", "https://me@elsewhere.example", "https://a.example/?b"])
async def test_no_code_goes_where_it_could_be_read_on_its_way(server):
    world = World()
    given_ = {"client_id": "app", "client_secret": "hush"}
    sign_in = await world.linkedin.begin(server, given_, "https://localhost/")
    with pytest.raises(RefusedPostError):
        await world.linkedin.finish(server, sign_in, "code")
    assert world.server.requests == []
