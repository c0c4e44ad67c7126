"""Looking for a post on Mastodon after its answer was lost."""

import string
from collections import deque
from datetime import timedelta

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.posting.delivery import State
from copydesk.posting.mastodon.search import MOST_PAGES, PAGE, likeness, plain
from copydesk.posting.platform import Evidence, LoginError, Made, NotSentError, UnknownOutcomeError
from fake_mastodon import GOTOSOCIAL, MASTODON, MASTODON_4, MASTODON_46, PLEROMA, FakeMastodon, Fault, as_html
from mastodon_fixtures import NOW, Here
from mastodon_runs import run

KINDS = [MASTODON, MASTODON_46, MASTODON_4, GOTOSOCIAL, PLEROMA]
TEXTS = [
    "Plain.",
    "  Ends in white space \n",
    "Two lines\nand a paragraph\n\nthen <b>no</b> markup & an &amp; — “quoted”.",
    "A link https://example.com/a/very/long/path/that/is/cut?b=c&d=e#f in it",
    "Hello @someone@elsewhere.example and\n@Me, #hashtag #Ünïcode 👨‍👩‍👧",
    "cafe\u0301",
]
MINUTE = timedelta(minutes=1)


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind.name} {kind.version}")
def here(request: pytest.FixtureRequest) -> Here:
    return Here(request.param)


async def looked(here: Here, text: str, made: tuple[Made, ...] = (), *, since=NOW) -> Made | None:
    parts = ["Before."] * len(made) + [text]
    return await here.platform.look_up(here.me, here.intent(*parts), made, since)


@pytest.mark.parametrize("text", TEXTS)
async def test_it_is_found_by_what_it_says(here, text):
    here.server.write("Another one.")
    status = here.server.write(text.strip())
    here.server.write("A later one.")
    found = await looked(here, text)
    assert found == Made(
        ids=(status.id,), urls=(f"https://social.example/@me/{status.id}",), evidence=Evidence.READ_BACK
    )


async def test_it_is_not_there_where_only_others_are(here):
    here.server.write("Nearly the same")
    here.server.write("The same", account="2000")
    here.server.write("The same", reblog_of="000900")
    here.server.write("The same", at=NOW - 3 * MINUTE)
    assert await looked(here, "The same") is None


async def test_a_servers_clock_may_be_a_little_behind(here):
    status = here.server.write("The same", at=NOW - 1.9 * MINUTE)
    found = await looked(here, "The same")
    assert found is not None
    assert found.ids == (status.id,)


async def test_it_answers_the_same_post_or_it_is_another(here):
    parent = here.server.write("Before.")
    made = (Made(ids=(parent.id,), urls=()),)
    here.server.write("The same")
    assert await looked(here, "The same", made) is None
    answer = here.server.write("The same", parent=parent.id)
    found = await looked(here, "The same", made)
    assert found is not None
    assert found.ids == (answer.id,)
    assert (await looked(here, "The same")).ids != found.ids


async def test_all_pages_back_to_the_first_request_are_looked_through(here):
    here.server.write("Too early", at=NOW - 3 * MINUTE)
    status = here.server.write("The same")
    for number in range(2 * PAGE + 5):
        here.server.write(f"Later {number}")
    assert (await looked(here, "The same")).ids == (status.id,)
    assert await looked(here, "Not the same") is None
    assert await looked(here, "Too early") is None


async def test_more_than_can_be_looked_through_cannot_be_told():
    here = Here(GOTOSOCIAL)
    for number in range(MOST_PAGES * PAGE + 1):
        here.server.write(f"Post {number}")
    with pytest.raises(UnknownOutcomeError, match="more posts"):
        await looked(here, "Not there")


async def test_pages_that_go_in_a_circle_come_to_an_end():
    here = Here(GOTOSOCIAL)
    status = here.server.write("Not it")
    shown = here.server._shown(status)
    here.server._answer = lambda request: httpx.Response(200, json=[shown])
    with pytest.raises(UnknownOutcomeError):
        await looked(here, "Not there")
    assert len(here.server.asked) == 2


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.CUT_BEFORE, NotSentError),
        (Fault.GARBAGE_AFTER, NotSentError),
        (Fault.NO_CONNECTION, NotSentError),
        (Fault.THROTTLED, NotSentError),
        (404, NotSentError),
        (500, NotSentError),
        (401, LoginError),
    ],
)
async def test_absent_is_only_what_was_looked_for(here, fault, error):
    here.server.faults["GET /api/v1/accounts/1090/statuses"].append(fault)
    with pytest.raises(error):
        await looked(here, "The same")


async def test_a_source_that_nobody_could_read_is_not_absent():
    here = Here(MASTODON)
    status = here.server.write("The same")
    here.server.faults[f"GET /api/v1/statuses/{status.id}/source"].append(500)
    with pytest.raises(NotSentError):
        await looked(here, "The same")


@given(st.text(alphabet=string.ascii_letters + string.digits + " \n.,:/@#&<>'\"-_?=äß漢", max_size=200))
@settings(max_examples=200, deadline=None)
def test_what_html_keeps_of_a_text_is_like_it(text):
    assert likeness(plain(as_html(text))) == likeness(text)


@pytest.mark.parametrize("piece", ["<", "<p", "<br ", "&#", "@a", "@a@", "<p>@"])
def test_hostile_markup_takes_no_longer_than_its_length(piece):
    likeness(plain(piece * 200_000))


async def test_its_source_decides_where_the_server_shows_it_differently():
    here = Here(MASTODON)
    status = here.server.write("(c) :cat: -- it's")
    plainly = here.server._shown
    here.server._shown = lambda each: plainly(each) | {"content": "<p>© 🐈 — it’s</p>"}
    assert (await looked(here, "(c) :cat: -- it's")).ids == (status.id,)


async def test_a_boost_that_a_server_lists_all_the_same_is_not_it():
    here = Here(PLEROMA)
    boost = here.server.write("The same")
    plainly = here.server._shown
    here.server._shown = lambda each: plainly(each) | {"reblog": {"id": "1"}}
    assert await looked(here, "The same") is None
    assert boost in here.server.statuses


# From the first request to the end, whatever breaks.

SENDING = [fault for fault in Fault if fault is not Fault.WALL]
LOOKING = [Fault.CUT_BEFORE, Fault.BROKEN_BEFORE, Fault.THROTTLED, Fault.GARBAGE_AFTER]


def whole(server: FakeMastodon, parts: list[str]) -> bool:
    before: list[str | None] = [None, *parts[:-1]]
    return server.said() == list(zip(parts, before, strict=True))


@given(
    st.sampled_from(KINDS),
    st.lists(st.none() | st.sampled_from(SENDING), max_size=2),
    st.lists(st.none() | st.sampled_from(LOOKING), max_size=2),
    st.integers(1, 3),
)
@settings(max_examples=300, deadline=None)
async def test_whatever_breaks_twice_a_thread_is_there_once_and_in_order(kind, sending, looking, count):
    here = Here(kind)
    parts = [f"Part {number}." for number in range(count)]
    here.server.faults["POST /api/v1/statuses"] = deque(sending)
    here.server.faults["GET /api/v1/accounts/1090/statuses"] = deque(looking)
    done = await run(here.platform, here.me, here.intent(*parts), here.clock, waiting=here.server.arrive)
    here.server.arrive()
    assert done.state is State.SENT, done.error
    assert whole(here.server, parts)
    assert [made.ids[0] for made in done.made] == [status.id for status in here.server.statuses]


@given(st.sampled_from(KINDS), st.lists(st.sampled_from(SENDING), min_size=3, max_size=12), st.integers(1, 2))
@settings(max_examples=200, deadline=None)
async def test_however_much_breaks_nothing_is_there_twice(kind, sending, count):
    here = Here(kind)
    parts = [f"Part {number}." for number in range(count)]
    here.server.faults["POST /api/v1/statuses"] = deque(sending)
    done = await run(here.platform, here.me, here.intent(*parts), here.clock, waiting=here.server.arrive)
    here.server.arrive()
    texts = [text for text, _ in here.server.said()]
    assert texts == parts[: len(texts)]
    if done.state is State.SENT:
        assert whole(here.server, parts)
    else:
        assert done.state in (State.NEEDS_USER, State.ABANDONED)
