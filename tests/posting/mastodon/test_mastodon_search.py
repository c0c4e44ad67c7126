"""Tests for finding a Mastodon post after its response was lost."""

import string
from collections import deque
from datetime import timedelta

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.posting.client import PlatformClient
from copydesk.posting.delivery_states import DeliveryState
from copydesk.posting.mastodon import Mastodon
from copydesk.posting.mastodon.platform import MAX_PAGES, PAGE_SIZE, html_to_text, normalize_text
from copydesk.posting.platform import Evidence, LoginError, NotSentError, StepResult, UnknownOutcomeError
from cost_growth import assert_linear
from delivery_runner import run_delivery
from fake_mastodon import GOTOSOCIAL, MASTODON, MASTODON_4, MASTODON_46, PLEROMA, FakeMastodon, Fault, render_html
from mastodon_fixtures import NOW, MastodonSetup
from sampling import sample_size

SERVERS = [MASTODON, MASTODON_46, MASTODON_4, GOTOSOCIAL, PLEROMA]
TEXTS = [
    "Plain.",
    "  Ends in white space \n",
    "Two lines\nand a paragraph\n\nthen <b>no</b> markup & an &amp; — “quoted”.",
    "A link https://example.com/a/very/long/path/that/is/cut?b=c&d=e#f in it",
    "Hello @someone@elsewhere.example and\n@Me, #hashtag #Ünïcode 👨‍👩‍👧",
    "cafe\u0301",
]
HOUR = timedelta(hours=1)


@pytest.fixture(params=SERVERS, ids=lambda kind: f"{kind.name} {kind.version}")
def setup(request: pytest.FixtureRequest) -> MastodonSetup:
    return MastodonSetup(request.param)


async def find(
    setup: MastodonSetup, text: str, completed: tuple[StepResult, ...] = (), *, since=NOW
) -> StepResult | None:
    parts = ["Before."] * len(completed) + [text]
    return await setup.platform.find_post(setup.account, setup.render(*parts), completed, since)


@pytest.mark.parametrize("text", TEXTS)
async def test_post_is_found_by_text(setup, text):
    setup.server.add_status("Another one.")
    status = setup.server.add_status(text.strip())
    setup.server.add_status("A later one.")
    found = await find(setup, text)
    assert found == StepResult(
        ids=(status.id,), urls=(f"https://social.example/@me/{status.id}",), evidence=Evidence.READ_BACK
    )


async def test_other_posts_are_not_matched(setup):
    setup.server.add_status("Nearly the same")
    setup.server.add_status("The same", account="2000")
    setup.server.add_status("The same", reblog_of="000900")
    setup.server.add_status("The same", at=NOW - 16 * HOUR)
    assert await find(setup, "The same") is None


async def test_post_is_found_if_our_clock_was_ahead(setup):
    status = setup.server.add_status("The same", at=NOW - 14 * HOUR)
    found = await find(setup, "The same")
    assert found is not None
    assert found.ids == (status.id,)


async def test_reply_must_answer_same_parent(setup):
    parent = setup.server.add_status("Before.")
    completed = (StepResult(ids=(parent.id,), urls=()),)
    setup.server.add_status("The same")
    assert await find(setup, "The same", completed) is None
    answer = setup.server.add_status("The same", parent=parent.id)
    found = await find(setup, "The same", completed)
    assert found is not None
    assert found.ids == (answer.id,)
    assert (await find(setup, "The same")).ids != found.ids


async def test_pages_are_searched_back_to_first_request(setup):
    setup.server.add_status("Too early", at=NOW - 16 * HOUR)
    status = setup.server.add_status("The same")
    for number in range(2 * PAGE_SIZE + 5):
        setup.server.add_status(f"Later {number}")
    assert (await find(setup, "The same")).ids == (status.id,)
    assert await find(setup, "Not the same") is None
    assert await find(setup, "Too early") is None


async def test_search_beyond_page_limit_is_unknown():
    setup = MastodonSetup(GOTOSOCIAL)
    for number in range(MAX_PAGES * PAGE_SIZE + 1):
        setup.server.add_status(f"Post {number}")
    with pytest.raises(UnknownOutcomeError, match="Too many newer posts"):
        await find(setup, "Not there")


async def test_circular_pages_end_search():
    setup = MastodonSetup(GOTOSOCIAL)
    status = setup.server.add_status("Not it")
    listed = setup.server._to_json(status)
    setup.server._respond = lambda request: httpx.Response(200, json=[listed])
    with pytest.raises(UnknownOutcomeError):
        await find(setup, "Not there")
    assert len(setup.server.received) == 2


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
async def test_failed_search_is_not_absent(setup, fault, error):
    setup.server.faults["GET /api/v1/accounts/1090/statuses"].append(fault)
    with pytest.raises(error):
        await find(setup, "The same")


async def test_unreadable_source_is_not_absent():
    setup = MastodonSetup(MASTODON)
    status = setup.server.add_status("The same")
    setup.server.faults[f"GET /api/v1/statuses/{status.id}/source"].append(500)
    with pytest.raises(NotSentError):
        await find(setup, "The same")


@given(st.text(alphabet=string.ascii_letters + string.digits + " \n.,:/@#&<>'\"-_?=äß漢", max_size=200))
@settings(max_examples=sample_size(200), deadline=None)
def test_text_matches_its_html(text):
    assert normalize_text(html_to_text(render_html(text))) == normalize_text(text)


@pytest.mark.parametrize("piece", ["<", "<p", "<br ", "&#", "@a", "@a@", "<p>@"])
def test_hostile_markup_takes_linear_time(piece):
    assert_linear(lambda size: piece * size, lambda html: normalize_text(html_to_text(html)), 100_000)


async def test_source_decides_when_html_differs():
    setup = MastodonSetup(MASTODON)
    status = setup.server.add_status("(c) :cat: -- it's")
    original = setup.server._to_json
    setup.server._to_json = lambda listed_status: original(listed_status) | {"content": "<p>© 🐈 — it’s</p>"}
    assert (await find(setup, "(c) :cat: -- it's")).ids == (status.id,)


async def test_listed_boost_is_not_matched():
    setup = MastodonSetup(PLEROMA)
    boost = setup.server.add_status("The same")
    original = setup.server._to_json
    setup.server._to_json = lambda listed_status: original(listed_status) | {"reblog": {"id": "1"}}
    assert await find(setup, "The same") is None
    assert boost in setup.server.statuses


# Complete deliveries under faults.

SEND_FAULTS = [fault for fault in Fault if fault is not Fault.WALL]
LOOKUP_FAULTS = [Fault.CUT_BEFORE, Fault.BROKEN_BEFORE, Fault.THROTTLED, Fault.GARBAGE_AFTER]


def is_complete(server: FakeMastodon, parts: list[str]) -> bool:
    before: list[str | None] = [None, *parts[:-1]]
    return server.posted_texts() == list(zip(parts, before, strict=True))


@given(
    st.sampled_from(SERVERS),
    st.lists(st.none() | st.sampled_from(SEND_FAULTS), max_size=2),
    st.lists(st.none() | st.sampled_from(LOOKUP_FAULTS), max_size=2),
    st.integers(1, 3),
)
@settings(max_examples=sample_size(300), deadline=None)
async def test_thread_is_posted_once_in_order_after_two_faults(software, send_faults, lookup_faults, count):
    setup = MastodonSetup(software)
    parts = [f"Part {number}." for number in range(count)]
    setup.server.faults["POST /api/v1/statuses"] = deque(send_faults)
    setup.server.faults["GET /api/v1/accounts/1090/statuses"] = deque(lookup_faults)
    delivery = await run_delivery(
        setup.platform, setup.account, setup.render(*parts), setup.clock, on_wait=setup.server.deliver_late
    )
    setup.server.deliver_late()
    assert delivery.state is DeliveryState.SENT, delivery.error
    assert is_complete(setup.server, parts)
    assert [result.ids[0] for result in delivery.results] == [status.id for status in setup.server.statuses]


@given(st.sampled_from(SERVERS), st.lists(st.sampled_from(SEND_FAULTS), min_size=3, max_size=12), st.integers(1, 2))
@settings(max_examples=sample_size(200), deadline=None)
async def test_many_faults_post_nothing_twice(kind, sending, count):
    setup = MastodonSetup(kind)
    parts = [f"Part {number}." for number in range(count)]
    setup.server.faults["POST /api/v1/statuses"] = deque(sending)
    delivery = await run_delivery(
        setup.platform, setup.account, setup.render(*parts), setup.clock, on_wait=setup.server.deliver_late
    )
    setup.server.deliver_late()
    texts = [text for text, _ in setup.server.posted_texts()]
    assert texts == parts[: len(texts)]
    if delivery.state is DeliveryState.SENT:
        assert is_complete(setup.server, parts)
    else:
        assert delivery.state in (DeliveryState.NEEDS_USER, DeliveryState.ABANDONED)


async def test_own_public_posts_are_listed_newest_first(setup):
    first = setup.server.add_status("One line\nand <b>another</b>.\n\nA paragraph & more.")
    setup.server.add_status("A reply.", parent=first.id)
    setup.server.add_status("Of somebody else.", account="2000")
    setup.server.add_status("Boosted.", reblog_of="000900")
    setup.server.add_status("The newest.")
    setup.server.add_status("For followers.").visibility = "private"
    posts = await setup.platform.list_posts(setup.account, 100)
    assert posts == ["The newest.", "One line\nand <b>another</b>.\n\nA paragraph & more."]


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'[{"id": {}}]', b'[{"id": "1", "created_at": "x"}]'])
async def test_unreadable_list_of_posts_is_an_error(setup, body):
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body))
    platform = Mastodon(PlatformClient(transport), setup.secrets, clock=setup.clock)
    with pytest.raises(NotSentError):
        await platform.list_posts(setup.account, 100)
