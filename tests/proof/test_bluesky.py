"""Bluesky's adapter against a real PDS: what counts is what the server holds."""

import asyncio
import io
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from PIL import Image

from copydesk.model.draft import Format
from copydesk.network.transport import GuardedTransport
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.http import Caller
from copydesk.posting.platform import (
    Account,
    Evidence,
    Intent,
    LoginError,
    NotSentError,
    Picture,
    Post,
    RefusedPostError,
    UnknownOutcomeError,
)
from copydesk.store.ids import new_id
from cutting_proxy import GARBAGE, Cut, CuttingProxy, Instead
from faulty_server import KeptSecrets
from pds_server import Pds, Writer

pytestmark = pytest.mark.xdist_group("pds")
NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
WRITES = r"POST /xrpc/com\.atproto\.repo\.applyWrites"
TEXTS = ("👩‍👩‍👧‍👦 Über example.com/ä #tag", "Zwei 🇩🇪 https://example.com/?a=1#b", "Three.")


class Desk:
    """An account on the server, asked through a proxy."""

    def __init__(self, pds: Pds, writer: Writer, proxy: CuttingProxy) -> None:
        self.pds = pds
        self.writer = writer
        self.proxy = proxy
        self.transport = GuardedTransport(allow_private=True, concurrency=4)
        self.secrets = KeptSecrets(password=writer.app_password)
        self.account = Account(platform="bluesky", server=proxy.url, id=writer.did, name=writer.handle)
        self.bluesky = self.fresh()

    def fresh(self) -> Bluesky:
        """The adapter as after a start: no token in memory."""
        return Bluesky(Caller(self.transport, asking=5), self.secrets, clock=lambda: NOW)

    def intent(self, *parts: str, alts: tuple[str, ...] = ()) -> Intent:
        kind = Format.THREAD if len(parts) > 1 else Format.SHORT
        return self.bluesky.render(Post(format=kind, parts=parts, at=NOW, alts=alts), self.account, new_id(NOW))

    @property
    def texts(self) -> list[object]:
        return [record["value"]["text"] for record in self.held]

    @property
    def held(self) -> list[dict[str, Any]]:
        """What the server has."""
        return self.pds.posts(self.writer.did)

    @property
    def asked(self) -> list[str]:
        """The names of all requests, in order."""
        return [request.path.partition("?")[0].rsplit(".", 1)[1] for request in self.proxy.seen]


@pytest.fixture
async def desk(pds: Pds, writer: Writer) -> AsyncIterator[Desk]:
    async with CuttingProxy(pds.url, aim=WRITES) as proxy:
        desk = Desk(pds, writer, proxy)
        yield desk
        await desk.transport.aclose()


async def test_a_thread_is_whole_in_order_and_has_the_hashes_that_were_computed_here(desk):
    intent = desk.intent(*TEXTS)
    made = await desk.bluesky.send(desk.account, intent, ())
    held = desk.held
    assert tuple(record["uri"] for record in held) == made.ids
    assert tuple(desk.texts) == TEXTS
    root, second = ({"uri": record["uri"], "cid": record["cid"]} for record in held[:2])
    assert "reply" not in held[0]["value"]
    assert held[1]["value"]["reply"] == {"root": root, "parent": root}
    assert held[2]["value"]["reply"] == {"root": root, "parent": second}
    # `send` compares the server's hashes with its own: it would not have ended well.
    assert made.evidence is Evidence.ANSWERED
    assert (await desk.bluesky.look_up(desk.account, intent, (), NOW)).ids == made.ids


async def test_links_and_hashtags_stand_where_the_server_counts_them(desk):
    await desk.bluesky.send(desk.account, desk.intent(TEXTS[0]), ())
    value = desk.held[0]["value"]
    raw = value["text"].encode()
    shown = [raw[each["index"]["byteStart"] : each["index"]["byteEnd"]].decode() for each in value["facets"]]
    assert shown == ["example.com/ä", "#tag"]
    assert value["facets"][0]["features"][0]["uri"] == "https://example.com/ä"


async def test_pictures_are_there_with_their_descriptions(desk):
    pictures = [drawn("png", (30, 20), "Red"), drawn("jpeg", (8, 9), "")]
    intent = desk.intent("One.", "Two.", alts=("Red", ""))
    desk.proxy.faults.append(Cut.AFTER)
    with pytest.raises(UnknownOutcomeError):
        await desk.bluesky.send(desk.account, intent, (), pictures)
    found = await desk.bluesky.look_up(desk.account, intent, (), NOW)
    assert found.evidence is Evidence.READ_BACK
    first = desk.held[0]
    images = first["value"]["embed"]["images"]
    assert [(each["alt"], each["aspectRatio"]) for each in images] == [
        ("Red", {"width": 30, "height": 20}),
        ("", {"width": 8, "height": 9}),
    ]
    assert [desk.pds.blob(desk.writer.did, each["image"]["ref"]["$link"]) for each in images] == [
        picture.content for picture in pictures
    ]


async def test_a_second_request_makes_nothing_and_is_found(desk):
    intent = desk.intent("One.", "Two.")
    first = await desk.bluesky.send(desk.account, intent, ())
    with pytest.raises(UnknownOutcomeError):
        await desk.bluesky.send(desk.account, intent, ())
    assert desk.texts == ["One.", "Two."]
    assert (await desk.bluesky.look_up(desk.account, intent, (), NOW)).ids == first.ids


async def test_of_four_senders_at_once_one_makes_it(desk):
    intent = desk.intent("One.", "Two.")
    senders = [desk.fresh() for _ in range(4)]
    done = await asyncio.gather(*[each.send(desk.account, intent, ()) for each in senders], return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == ["Made", *["UnknownOutcomeError"] * 3]
    assert desk.texts == ["One.", "Two."]


@pytest.mark.parametrize(
    ("fault", "error", "there"),
    [
        (Cut.BEFORE, UnknownOutcomeError, False),
        (Cut.AFTER, UnknownOutcomeError, True),
        (Cut.HALF, UnknownOutcomeError, True),
        (Instead(500), UnknownOutcomeError, False),
        (Instead(502, b"<html>", asked=True), UnknownOutcomeError, True),
        (Instead(200, b"<html>", asked=True), UnknownOutcomeError, True),
        (Instead(429, headers=(("retry-after", "7"),)), NotSentError, False),
        (GARBAGE, UnknownOutcomeError, False),
    ],
)
async def test_after_a_fault_it_is_found_or_can_be_sent_again(desk, fault, error, there):
    intent = desk.intent("One.", "Two.")
    desk.proxy.faults.append(fault)
    with pytest.raises(error):
        await desk.bluesky.send(desk.account, intent, ())
    found = await desk.bluesky.look_up(desk.account, intent, (), NOW)
    assert (found is not None) is there
    if found is None:
        await desk.bluesky.send(desk.account, intent, ())
    assert desk.texts == ["One.", "Two."]


async def test_a_refused_connection_made_nothing(desk):
    intent = desk.intent("One.")
    await desk.bluesky.check(desk.account)
    async with desk.proxy.refusing():
        with pytest.raises(NotSentError):
            await desk.bluesky.send(desk.account, intent, ())
        with pytest.raises(NotSentError):
            await desk.bluesky.look_up(desk.account, intent, (), NOW)
    assert desk.texts == []


async def test_a_request_that_arrives_after_it_was_sent_again_makes_nothing(desk):
    intent = desk.intent("One.", "Two.")
    desk.proxy.faults.append(Cut.LATE)
    with pytest.raises(UnknownOutcomeError):
        await desk.bluesky.send(desk.account, intent, ())
    assert await desk.bluesky.look_up(desk.account, intent, (), NOW) is None
    await desk.bluesky.send(desk.account, intent, ())
    assert [b" 500 " in answer.split(b"\r\n")[0] for answer in await desk.proxy.arrive()] == [True]
    assert desk.texts == ["One.", "Two."]


async def test_a_sender_that_is_cancelled_in_the_middle_leaves_a_thread_that_is_found(desk):
    intent = desk.intent("One.", "Two.")
    desk.proxy.faults.append(Cut.SILENT)
    sending = asyncio.create_task(desk.bluesky.send(desk.account, intent, ()))
    await desk.proxy.silent.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert desk.texts == ["One.", "Two."]
    assert await desk.bluesky.look_up(desk.account, intent, (), NOW) is not None


async def test_an_edited_post_is_not_taken_for_ours(desk):
    intent = desk.intent("One.")
    await desk.bluesky.send(desk.account, intent, ())
    desk.pds.edit(desk.writer, intent.steps[0].keys[0], "Else.")
    with pytest.raises(UnknownOutcomeError, match="something else"):
        await desk.bluesky.look_up(desk.account, intent, (), NOW)


@pytest.mark.parametrize("text", ["x" * 301, "👩‍👩‍👧‍👦" * 121])
async def test_what_is_said_to_be_too_long_is_too_long(desk, text):
    post = Post(format=Format.SHORT, parts=(text,), at=NOW)
    assert desk.bluesky.problems(post, desk.account) != []
    with pytest.raises(RefusedPostError):
        await desk.bluesky.send(desk.account, desk.intent(text), ())


@pytest.mark.parametrize("text", ["x" * 300, "👩‍👩‍👧‍👦" * 120])
async def test_what_is_said_to_fit_fits(desk, text):
    await desk.bluesky.send(desk.account, desk.intent(text), ())
    assert desk.texts == [text]


async def test_the_longest_thread_is_taken(desk):
    parts = tuple(f"Part {number}. #tag https://example.com/{number} " + "é" * 200 for number in range(100))
    assert desk.bluesky.problems(Post(format=Format.THREAD, parts=parts, at=NOW), desk.account) == []
    made = await desk.bluesky.send(desk.account, desk.intent(*parts), ())
    assert len(made.ids) == len(desk.texts) == 100


async def test_a_token_that_ran_out_is_renewed(desk):
    await desk.bluesky.check(desk.account)
    before = len(desk.proxy.seen)
    tokens = desk.bluesky._sessions._access
    tokens.update({key: desk.pds.expired(token) for key, token in tokens.items()})
    await desk.bluesky.send(desk.account, desk.intent("One."), ())
    assert desk.asked[before:] == ["applyWrites", "refreshSession", "applyWrites"]
    assert desk.texts == ["One."]


async def test_a_start_renews_by_the_kept_token_and_not_by_the_password(desk):
    await desk.bluesky.check(desk.account)
    desk.secrets.held.pop("password")
    await desk.fresh().check(desk.account)
    assert desk.asked == ["createSession", "getSession", "refreshSession", "getSession"]


async def test_whoever_is_killed_before_a_renewed_pair_is_kept_uses_the_old_one_again(desk):
    await desk.bluesky.check(desk.account)
    old = dict(desk.secrets.held)
    await desk.fresh().check(desk.account)
    desk.secrets.held = {"refresh": old["refresh"]}
    assert (await desk.fresh().check(desk.account)).id == desk.writer.did


async def test_connecting_with_a_handle_gives_the_account(desk):
    given = {"handle": f"@{desk.account.name}", "password": desk.writer.app_password}
    connected = await desk.bluesky.connect(desk.proxy.url, given)
    assert connected.account == desk.account
    desk.secrets.held = dict(connected.secrets)
    assert await desk.bluesky.check(connected.account) == desk.account


async def test_a_wrong_password_is_said_to_be_one(desk):
    with pytest.raises(LoginError, match="Invalid identifier or password"):
        await desk.bluesky.connect(desk.proxy.url, {"handle": desk.account.name, "password": "wrong"})


async def test_tokens_and_password_that_do_not_count_are_a_matter_of_login(desk):
    desk.secrets.held = {"password": "wrong", "refresh": "garbage"}
    with pytest.raises(LoginError):
        await desk.bluesky.send(desk.account, desk.intent("One."), ())
    assert desk.texts == []


async def test_posts_are_taken_back_and_a_second_time_is_no_error(desk):
    intent = desk.intent("One.", "Two.")
    made = await desk.bluesky.send(desk.account, intent, ())
    await desk.bluesky.delete(desk.account, made)
    await desk.bluesky.delete(desk.account, made)
    assert desk.texts == []
    assert await desk.bluesky.look_up(desk.account, intent, (), NOW) is None


async def test_without_an_index_there_are_no_figures(desk):
    made = await desk.bluesky.send(desk.account, desk.intent("One."), ())
    with pytest.raises(NotSentError):
        await desk.bluesky.figures(desk.account, made.ids)


def drawn(kind: str, size: tuple[int, int], alt: str) -> Picture:
    """A small picture."""
    raw = io.BytesIO()
    Image.new("RGB", size, "red").save(raw, kind)
    return Picture(content=raw.getvalue(), media_type=f"image/{kind}", width=size[0], height=size[1], alt=alt)
