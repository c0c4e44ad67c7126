"""Tests for finding a Mastodon post after its response was lost."""

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
async def test_post_is_found_by_text(here, text):
    here.server.write("Another one.")
    status = here.server.write(text.strip())
    here.server.write("A later one.")
    found = await looked(here, text)
    assert found == Made(
        ids=(status.id,), urls=(f"https://social.example/@me/{status.id}",), evidence=Evidence.READ_BACK
    )


async def test_other_posts_are_not_matched(here):
    here.server.write("Nearly the same")
    here.server.write("The same", account="2000")
    here.server.write("The same", reblog_of="000900")
    here.server.write("The same", at=NOW - 3 * MINUTE)
    assert await looked(here, "The same") is None


async def test_slightly_slow_server_clock_is_tolerated(here):
    status = here.server.write("The same", at=NOW - 1.9 * MINUTE)
    found = await looked(here, "The same")
    assert found is not None
    assert found.ids == (status.id,)


async def test_reply_must_answer_same_parent(here):
    parent = here.server.write("Before.")
    completed = (Made(ids=(parent.id,), urls=()),)
    here.server.write("The same")
    assert await looked(here, "The same", completed) is None
    answer = here.server.write("The same", parent=parent.id)
    found = await looked(here, "The same", completed)
    assert found is not None
    assert found.ids == (answer.id,)
    assert (await looked(here, "The same")).ids != found.ids


async def test_pages_are_searched_back_to_first_request(here):
    here.server.write("Too early", at=NOW - 3 * MINUTE)
    status = here.server.write("The same")
    for number in range(2 * PAGE + 5):
        here.server.write(f"Later {number}")
    assert (await looked(here, "The same")).ids == (status.id,)
    assert await looked(here, "Not the same") is None
    assert await looked(here, "Too early") is None


async def test_search_beyond_page_limit_is_unknown():
    setup = Here(GOTOSOCIAL)
    for number in range(MOST_PAGES * PAGE + 1):
        setup.server.write(f"Post {number}")
    with pytest.raises(UnknownOutcomeError, match="more posts"):
        await looked(setup, "Not there")


async def test_circular_pages_end_search():
    setup = Here(GOTOSOCIAL)
    status = setup.server.write("Not it")
    listed = setup.server._shown(status)
    setup.server._answer = lambda request: httpx.Response(200, json=[listed])
    with pytest.raises(UnknownOutcomeError):
        await looked(setup, "Not there")
    assert len(setup.server.asked) == 2


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
async def test_failed_search_is_not_absent(here, fault, error):
    here.server.faults["GET /api/v1/accounts/1090/statuses"].append(fault)
    with pytest.raises(error):
        await looked(here, "The same")


async def test_unreadable_source_is_not_absent():
    setup = Here(MASTODON)
    status = setup.server.write("The same")
    setup.server.faults[f"GET /api/v1/statuses/{status.id}/source"].append(500)
    with pytest.raises(NotSentError):
        await looked(setup, "The same")


@given(st.text(alphabet=string.ascii_letters + string.digits + " \n.,:/@#&<>'\"-_?=äß漢", max_size=200))
@settings(max_examples=200, deadline=None)
def test_text_matches_its_html(text):
    assert likeness(plain(as_html(text))) == likeness(text)


@pytest.mark.parametrize("piece", ["<", "<p", "<br ", "&#", "@a", "@a@", "<p>@"])
def test_hostile_markup_takes_linear_time(piece):
    likeness(plain(piece * 200_000))


async def test_source_decides_when_html_differs():
    setup = Here(MASTODON)
    status = setup.server.write("(c) :cat: -- it's")
    original = setup.server._shown
    setup.server._shown = lambda listed_status: original(listed_status) | {"content": "<p>© 🐈 — it’s</p>"}
    assert (await looked(setup, "(c) :cat: -- it's")).ids == (status.id,)


async def test_listed_boost_is_not_matched():
    setup = Here(PLEROMA)
    boost = setup.server.write("The same")
    original = setup.server._shown
    setup.server._shown = lambda listed_status: original(listed_status) | {"reblog": {"id": "1"}}
    assert await looked(setup, "The same") is None
    assert boost in setup.server.statuses


# Complete deliveries under faults.

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
async def test_thread_is_posted_once_in_order_after_two_faults(kind, sending, looking, count):
    setup = Here(kind)
    parts = [f"Part {number}." for number in range(count)]
    setup.server.faults["POST /api/v1/statuses"] = deque(sending)
    setup.server.faults["GET /api/v1/accounts/1090/statuses"] = deque(looking)
    delivery = await run(setup.platform, setup.me, setup.intent(*parts), setup.clock, waiting=setup.server.arrive)
    setup.server.arrive()
    assert delivery.state is State.SENT, delivery.error
    assert whole(setup.server, parts)
    assert [result.ids[0] for result in delivery.made] == [status.id for status in setup.server.statuses]


@given(st.sampled_from(KINDS), st.lists(st.sampled_from(SENDING), min_size=3, max_size=12), st.integers(1, 2))
@settings(max_examples=200, deadline=None)
async def test_many_faults_post_nothing_twice(kind, sending, count):
    setup = Here(kind)
    parts = [f"Part {number}." for number in range(count)]
    setup.server.faults["POST /api/v1/statuses"] = deque(sending)
    delivery = await run(setup.platform, setup.me, setup.intent(*parts), setup.clock, waiting=setup.server.arrive)
    setup.server.arrive()
    texts = [text for text, _ in setup.server.said()]
    assert texts == parts[: len(texts)]
    if delivery.state is State.SENT:
        assert whole(setup.server, parts)
    else:
        assert delivery.state in (State.NEEDS_USER, State.ABANDONED)
