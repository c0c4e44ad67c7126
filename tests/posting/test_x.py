"""X: a thread answer by answer, read back where an answer was lost, paid by the post."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

import httpx
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.posting.cost import cost
from copydesk.posting.delivery import Move, next_move
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.http import Caller
from copydesk.posting.oauth import challenge
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
from copydesk.posting.x import X
from copydesk.posting.x_posts import XPost, made_at, same
from fake_x import CREATE_POST, FakeX
from faulty_server import FAULTS, NOW, SEED, Clock, KeptSecrets, delivered

ME = Account(platform="x", server="https://api.x.com", id="12", name="me")
PICTURE = Picture(content=b"\x89PNG", media_type="image/png", width=1, height=1, alt="A dot.")


class World:
    """The platform, the server and what both live by."""

    def __init__(self, **rules: bool) -> None:
        self.clock = Clock()
        self.server = FakeX(self.clock, **rules)
        ends = (NOW + timedelta(hours=2)).isoformat()
        held = {"access_token": "access-0", "refresh_token": "refresh-0", "expires_at": ends, "client_id": "app"}
        self.secrets = KeptSecrets(**held)

    @property
    def x(self) -> X:
        return X(self.server.caller, self.secrets, clock=self.clock)


def post(*parts: str, alts: tuple[str, ...] = ()) -> Post:
    form = Format.THREAD if len(parts) > 1 else Format.SHORT
    return Post(format=form, parts=parts, at=NOW, alts=alts)


async def test_a_thread_is_made_post_by_post_each_in_answer_to_the_one_before():
    world = World()
    intent = world.x.render(post("One.", "Two."), ME, SEED)
    first = await world.x.send(ME, intent, ())
    second = await world.x.send(ME, intent, (first,))
    assert [(each["source"], each["parent"]) for each in world.server.posts] == [("One.", None), ("Two.", first.ids[0])]
    assert second.urls == (f"https://x.com/me/status/{second.ids[0]}",)
    assert second.evidence is Evidence.ANSWERED


def test_what_will_be_sent_is_the_same_each_time_and_in_nfc():
    platform = World().x
    assert platform.render(post("cafe\u0301"), ME, SEED) == platform.render(post("cafe\u0301"), ME, SEED)
    assert platform.render(post("cafe\u0301"), ME, SEED).steps[0].body == {"text": "café"}


async def test_pictures_go_with_the_first_part_and_are_described():
    world = World()
    intent = world.x.render(post("One.", "Two.", alts=("A dot.",)), ME, SEED)
    first = await world.x.send(ME, intent, (), (PICTURE,))
    await world.x.send(ME, intent, (first,), (PICTURE,))
    assert [len(each["media"]) for each in world.server.posts] == [1, 0]
    assert world.server.alts == {world.server.posts[0]["media"][0]: "A dot."}
    assert (await world.x.look_up(ME, intent, (), NOW)).ids == first.ids


async def test_a_picture_that_does_not_arrive_stops_the_post():
    world = World()
    world.server.faults.append("cut_after")
    with pytest.raises(NotSentError):
        await world.x.send(ME, world.x.render(post("One.", alts=("",)), ME, SEED), (), (PICTURE,))
    assert world.server.posts == []


@given(
    parts=st.lists(st.text(max_size=300), min_size=1, max_size=3),
    parent=st.integers(0, 10**19 - 1),
    pictures=st.integers(0, 4),
)
@settings(max_examples=30)
async def test_every_new_post_has_the_shape_that_x_documents(parts, parent, pictures):
    """The shapes are those of X's OpenAPI document, as far as fake_x has them."""
    world = World()
    intent = world.x.render(post(*parts), ME, SEED)
    for place in range(len(parts)):
        made = [Made(ids=(str(parent),), urls=())] * place
        try:
            await world.x.send(ME, intent, made, [PICTURE] * pictures)
        except UnknownOutcomeError:
            assert parts[place] in parts[:place]  # the same text twice
    sent = [json.loads(each.content) for each in world.server.requests if each.url.path == "/2/tweets"]
    assert sent
    assert all(CREATE_POST(body) for body in sent)
    assert not any(each.url.query for each in world.server.requests)


def test_a_body_of_another_shape_would_be_seen():
    for wrong in ({"text": 1}, {"text": "", "reply": {}}, {"media": {"media_ids": []}}, {"text": "", "more": 1}):
        assert not CREATE_POST(wrong)


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
async def test_what_an_answer_means(status, detail, error):
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/2/oauth2/token":
            return httpx.Response(200, json={"access_token": "b", "refresh_token": "c", "expires_in": 7200})
        return httpx.Response(status, json={"detail": detail})

    secrets = KeptSecrets(access_token="cd-planted", refresh_token="r", client_id="app")
    platform = X(Caller(httpx.MockTransport(answer)), secrets, clock=Clock())
    with pytest.raises(error) as caught:
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())
    assert type(caught.value) is error
    assert "cd-planted" not in str(caught.value)


@pytest.mark.parametrize(
    "body", [b"{}", b'{"data":{}}', b'{"data":{"id":"../1"}}', b'{"data":{"id":"1\\n"}}', b"[", b""]
)
async def test_an_answer_without_an_id_tells_nothing(body):
    secrets = KeptSecrets(access_token="a", client_id="app")
    platform = X(Caller(httpx.MockTransport(lambda _: httpx.Response(201, content=body))), secrets, clock=Clock())
    with pytest.raises(UnknownOutcomeError):
        await platform.send(ME, platform.render(post("One."), ME, SEED), ())


async def test_where_x_takes_no_answers_the_user_reads_what_else_there_is():
    world = World(takes_replies=False)
    intent = world.x.render(post("One.", "Two."), ME, SEED)
    first = await world.x.send(ME, intent, ())
    with pytest.raises(RefusedPostError, match="One long post is an alternative"):
        await world.x.send(ME, intent, (first,))


async def test_x_says_when_it_wants_to_be_asked_again():
    reset = str(int(NOW.timestamp()) + 120)
    headers = {"x-rate-limit-remaining": "0", "x-rate-limit-reset": reset}
    transport = httpx.MockTransport(lambda _: httpx.Response(429, headers=headers))
    platform = X(Caller(transport), KeptSecrets(access_token="a", client_id="app"), clock=Clock())
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
async def test_a_post_is_found_by_its_text_however_x_rewrote_it(text):
    world = World()
    world.server.faults.append("cut_after")
    intent = world.x.render(post(text), ME, SEED)
    with pytest.raises(UnknownOutcomeError):
        await world.x.send(ME, intent, ())
    found = await world.x.look_up(ME, intent, (), NOW)
    assert (found.ids, found.evidence) == ((world.server.posts[0]["id"],), Evidence.READ_BACK)


async def test_another_text_another_parent_and_an_older_post_are_not_it():
    world = World()
    intent = world.x.render(post("One.", "Two."), ME, SEED)
    old = await world.x.send(ME, intent, ())
    world.clock.move(minutes=3)
    assert await world.x.look_up(ME, intent, (), world.clock.now) is None
    assert (await world.x.look_up(ME, intent, (), NOW)).ids == old.ids
    other = world.x.render(post("One!"), ME, SEED)
    assert await world.x.look_up(ME, other, (), NOW) is None
    assert await world.x.look_up(ME, world.x.render(post("Zero.", "One."), ME, SEED), (old,), NOW) is None


async def test_it_is_looked_for_on_every_page_and_the_first_of_two_is_taken():
    world = World(refuses_duplicates=False)
    world.server.page = 1
    intent = world.x.render(post("One."), ME, SEED)
    first = await world.x.send(ME, intent, ())
    world.clock.move(seconds=1)
    await world.x.send(ME, intent, ())
    await world.x.send(ME, world.x.render(post("Two."), ME, SEED), ())
    assert (await world.x.look_up(ME, intent, (), NOW)).ids == first.ids


async def test_pages_without_end_tell_nothing():
    page = {"meta": {"result_count": 0, "next_token": "more"}}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=page))
    platform = X(Caller(transport), KeptSecrets(access_token="a", client_id="app"), clock=Clock())
    with pytest.raises(UnknownOutcomeError):
        await platform.look_up(ME, platform.render(post("One."), ME, SEED), (), NOW)


@pytest.mark.parametrize("body", [{}, {"errors": [{"title": "No"}]}, {"meta": {"result_count": 3}}, {"meta": {}}])
async def test_a_list_that_is_not_whole_is_not_taken_for_an_empty_one(body):
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    platform = X(Caller(transport), KeptSecrets(access_token="a", client_id="app"), clock=Clock())
    with pytest.raises(UnknownOutcomeError):
        await platform.look_up(ME, platform.render(post("One."), ME, SEED), (), NOW)


@pytest.mark.parametrize("fault", ["refused", "cut_before", "500", "429"])
async def test_who_could_not_look_says_so(fault):
    world = World()
    world.server.faults.append(fault)
    with pytest.raises(NotSentError):
        await world.x.look_up(ME, world.x.render(post("One."), ME, SEED), (), NOW)


def test_a_link_that_is_not_the_same_is_no_match():
    def shown(url: str) -> XPost:
        urls = [{"url": "https://t.co/abc", "expanded_url": url}]
        body = {"id": "1", "text": "See https://t.co/abc", "created_at": NOW, "entities": {"urls": urls}}
        return msgspec.convert(body, XPost)

    assert same(shown("https://example.com/a"), "See https://example.com/a")
    assert not same(shown("https://example.com/b"), "See https://example.com/a")


def test_an_id_tells_when_its_post_was_made():
    assert made_at("1212092628029698048").replace(microsecond=0) == datetime(2019, 12, 31, 19, 26, 16, tzinfo=UTC)


async def test_a_token_near_its_end_is_renewed_and_kept_before_it_is_used():
    world = World()
    world.clock.move(minutes=55 + 60)
    await world.x.send(ME, world.x.render(post("One."), ME, SEED), ())
    assert [each["access_token"] for each in world.secrets.kept] == ["access-1"]
    assert world.secrets.held["refresh_token"] == "refresh-1"
    assert world.secrets.held["client_id"] == "app"


async def test_a_token_that_x_does_not_take_is_renewed_and_the_post_made_once():
    world = World()
    world.server.access = "another"
    await world.x.send(ME, world.x.render(post("One."), ME, SEED), ())
    assert len(world.server.posts) == 1
    assert world.secrets.held["access_token"] == "access-1"


async def test_many_at_once_renew_once():
    world = World()
    world.clock.move(hours=3)
    platform = world.x
    intents = [platform.render(post(f"Number {number}."), ME, SEED) for number in range(5)]
    await asyncio.gather(*(platform.send(ME, intent, ()) for intent in intents))
    assert len(world.secrets.kept) == 1
    assert len(world.server.posts) == 5


async def test_a_new_pair_is_not_lost_with_whoever_waited_for_it():
    world = World()
    world.clock.move(hours=3)
    kept, begun, gate, ended = world.secrets.keep, asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(account, secrets):
        begun.set()
        await gate.wait()
        await kept(account, secrets)
        ended.set()

    world.secrets.keep = slow
    platform = world.x
    sending = asyncio.ensure_future(platform.send(ME, platform.render(post("One."), ME, SEED), ()))
    await asyncio.wait_for(begun.wait(), 60)
    sending.cancel()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await asyncio.wait_for(ended.wait(), 60)
    assert world.secrets.held["refresh_token"] == "refresh-1"
    assert world.server.posts == []


@pytest.mark.parametrize(("fault", "left"), [("cut_before", True), ("500", True), ("cut_before", False)])
async def test_where_a_token_cannot_be_renewed_the_old_one_serves_to_its_end(fault, left):
    world = World()
    world.clock.move(minutes=115 if left else 121)
    world.server.faults.append(fault)
    sending = world.x.send(ME, world.x.render(post("One."), ME, SEED), ())
    if left:
        await sending
    else:
        with pytest.raises(NotSentError):
            await sending
    assert len(world.server.posts) == (1 if left else 0)


async def test_a_pair_that_x_has_forgotten_means_a_new_login():
    world = World()
    world.server.family = False
    world.clock.move(hours=3)
    with pytest.raises(LoginError, match="Connect the account again"):
        await world.x.send(ME, world.x.render(post("One."), ME, SEED), ())


async def test_an_account_is_connected_in_the_browser_with_a_challenge_and_a_state():
    world = World()
    sign_in = await world.x.begin(X.home, {"client_id": "app"}, "http://127.0.0.1:8399/callback")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(sign_in.url).query).items()}
    assert sign_in.url.startswith("https://x.com/i/oauth2/authorize?")
    assert asked["state"] == sign_in.state
    assert asked["code_challenge"] == challenge(sign_in.kept["code_verifier"])
    assert (asked["code_challenge_method"], asked["redirect_uri"]) == ("S256", "http://127.0.0.1:8399/callback")
    assert sign_in.kept["code_verifier"] not in sign_in.url
    connected = await world.x.finish(X.home, sign_in, "the-code")
    assert connected.account == ME
    assert connected.secrets["refresh_token"] == "refresh-1"
    form = parse_qs(world.server.requests[0].content.decode())
    assert form["code_verifier"] == [sign_in.kept["code_verifier"]]


def test_the_challenge_is_the_one_of_the_standard():
    assert challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


async def test_an_app_with_a_secret_shows_it_in_a_header():
    world = World()
    world.secrets.held["client_secret"] = "hush"
    world.clock.move(hours=3)
    await world.x.check(ME)
    assert world.server.requests[0].headers["authorization"] == "Basic YXBwOmh1c2g="
    assert b"hush" not in world.server.requests[0].content


async def test_check_tells_the_name_that_the_account_has_now_and_whose_key_it_is():
    world = World()
    assert await world.x.check(Account(platform="x", server=X.home, id="12", name="was")) == ME
    with pytest.raises(LoginError):
        await world.x.check(Account(platform="x", server=X.home, id="13", name="me"))


async def test_figures_are_what_x_reports_and_what_is_gone_is_none():
    world = World()
    made = await world.x.send(ME, world.x.render(post("One."), ME, SEED), ())
    there, gone = made.ids[0], str(int(made.ids[0]) + 1)
    expected = Figures(likes=3, replies=1, reposts=2, impressions=90, clicks=4)
    assert await world.x.figures(ME, [there, gone]) == {there: expected, gone: None}


@pytest.mark.parametrize("days", [1, 30, 31])
async def test_clicks_are_absent_where_x_does_not_tell_them(days):
    world = World()
    made = await world.x.send(ME, world.x.render(post("One."), ME, SEED), ())
    world.server.clicks = days != 1
    world.clock.move(days=days)
    world.secrets.held["expires_at"] = (world.clock.now + timedelta(hours=1)).isoformat()
    expected = Figures(likes=3, replies=1, reposts=2, impressions=90)
    assert await world.x.figures(ME, list(made.ids)) == {made.ids[0]: expected}


async def test_figures_are_asked_for_a_hundred_at_once():
    world = World()
    base = int(world.server.new_id())
    found = await world.x.figures(ME, [str(base + number) for number in range(150)])
    assert len(world.server.requests) == 2
    assert set(found.values()) == {None}


async def test_a_post_is_taken_back_and_what_is_gone_is_no_error():
    world = World()
    made = await world.x.send(ME, world.x.render(post("One."), ME, SEED), ())
    await world.x.delete(ME, made)
    await world.x.delete(ME, made)
    assert world.server.posts == []


def test_what_would_be_refused_is_said_before():
    platform = World().x

    def said(each: Post) -> list[tuple[int | None, str]]:
        return [(problem.part, problem.message) for problem in platform.problems(each, ME)]

    assert said(post("x" * 280)) == []
    assert said(post("One.", "x" * 281)) == [(1, "It is 281 characters long as X counts; 280 are allowed.")]
    assert said(post("日" * 141))[0][0] == 0
    assert said(post("a" * 257 + "https://example.com/" + "b" * 500)) == []
    assert said(post("One.", "One.")) == [(1, "X refuses the same text twice.")]
    assert said(post("")) == [(0, "It is empty.")]
    assert said(post("One.", alts=("",) * 5)) == [(0, "X takes at most 4 pictures.")]
    assert said(Post(format=Format.BLOG, parts=("x",), at=NOW)) == [(None, "X takes short posts and threads.")]


@pytest.mark.parametrize(
    ("parts", "alts", "amount"),
    [
        (("One.",), (), "0.015"),
        (("One. example.com",), (), "0.20"),
        (("One.", "See https://example.com/", "Three."), (), "0.230"),
        (("One.",), ("A dot.", ""), "0.020"),
    ],
)
def test_what_a_post_costs_is_known_before(parts, alts, amount):
    asked = cost(World().x, post(*parts, alts=alts), ME)
    assert (asked.amount, asked.currency) == (Decimal(amount), "USD")


def test_a_platform_that_asks_nothing_has_no_cost():
    assert cost(FakePlatform(FakeServer()), post("One."), ME) is None


async def test_a_duplicate_that_is_not_ours_ends_with_the_user():
    world = World()
    await world.x.send(ME, world.x.render(post("One."), ME, SEED), ())
    world.clock.move(days=1)
    world.secrets.held["expires_at"] = (world.clock.now + timedelta(hours=1)).isoformat()
    intent = world.x.render(post("One."), ME, SEED)
    ended = await delivered(world.x, ME, intent, world.clock)
    assert ended.state == "needs_user"
    assert next_move(ended, world.x.trust(ME), world.clock.now) is Move.WAIT
    assert len(world.server.posts) == 1


@given(
    faults=st.lists(st.sampled_from(FAULTS), max_size=25),
    parts=st.integers(1, 3),
    refuses=st.booleans(),
    jitter=st.floats(0, 1),
)
@settings(max_examples=150, deadline=None)
async def test_whatever_happens_each_post_is_made_once_and_the_thread_is_in_order(faults, parts, refuses, jitter):
    world = World(refuses_duplicates=refuses)
    world.server.faults.extend(faults)
    texts = [f"Part {number}. https://example.com/{number} & more" for number in range(parts)]
    intent = world.x.render(post(*texts), ME, SEED)
    ended = await delivered(None, ME, intent, world.clock, jitter=jitter, fresh=lambda: world.x)
    world.server.arrive(everything=True)
    there = world.server.posts
    assert [each["source"] for each in there] == texts[: len(there)]
    assert [each["parent"] for each in there] == [None, *[each["id"] for each in there]][: len(there)]
    assert [made.ids[0] for made in ended.made] == [each["id"] for each in there][: len(ended.made)]
    if ended.state == "sent" or not faults:
        assert len(there) == parts == len(ended.made)
    elif ended.state in ("failed", "abandoned"):
        assert len(there) == len(ended.made)


@pytest.mark.parametrize("server", ["http://elsewhere.example", "https://me@elsewhere.example", "https://a.example/?b"])
async def test_no_code_goes_where_it_could_be_read_on_its_way(server):
    world = World()
    given_ = {"client_id": "app", "client_secret": "hush"}
    sign_in = await world.x.begin(server, given_, "https://localhost/")
    with pytest.raises(RefusedPostError):
        await world.x.finish(server, sign_in, "code")
    assert world.server.requests == []
