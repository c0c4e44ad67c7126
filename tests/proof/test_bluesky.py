"""Tests of the Bluesky platform against a real PDS; assertions are on what the server stores."""

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
    """An account on the server, reached through a proxy."""

    def __init__(self, pds: Pds, writer: Writer, proxy: CuttingProxy) -> None:
        self.pds = pds
        self.writer = writer
        self.proxy = proxy
        self.transport = GuardedTransport(allow_private=True, concurrency=4)
        self.secrets = KeptSecrets(password=writer.app_password)
        self.account = Account(platform="bluesky", server=proxy.url, id=writer.did, name=writer.handle)
        self.bluesky = self.fresh()

    def fresh(self) -> Bluesky:
        """Return the platform as after a start, with no token in memory."""
        return Bluesky(Caller(self.transport, asking=5), self.secrets, clock=lambda: NOW)

    def intent(self, *parts: str, alts: tuple[str, ...] = ()) -> Intent:
        kind = Format.THREAD if len(parts) > 1 else Format.SHORT
        return self.bluesky.render(Post(format=kind, parts=parts, at=NOW, alts=alts), self.account, new_id(NOW))

    @property
    def texts(self) -> list[object]:
        return [record["value"]["text"] for record in self.held]

    @property
    def held(self) -> list[dict[str, Any]]:
        """The records stored on the server."""
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


async def test_thread_is_complete_with_locally_computed_hashes(desk):
    intent = desk.intent(*TEXTS)
    result = await desk.bluesky.send(desk.account, intent, ())
    records = desk.held
    assert tuple(record["uri"] for record in records) == result.ids
    assert tuple(desk.texts) == TEXTS
    root, second = ({"uri": record["uri"], "cid": record["cid"]} for record in records[:2])
    assert "reply" not in records[0]["value"]
    assert records[1]["value"]["reply"] == {"root": root, "parent": root}
    assert records[2]["value"]["reply"] == {"root": root, "parent": second}
    # `send` compares the server's hashes with its own and would have failed.
    assert result.evidence is Evidence.ANSWERED
    assert (await desk.bluesky.look_up(desk.account, intent, (), NOW)).ids == result.ids


async def test_facets_match_server_byte_offsets(desk):
    await desk.bluesky.send(desk.account, desk.intent(TEXTS[0]), ())
    value = desk.held[0]["value"]
    raw = value["text"].encode()
    covered = [raw[facet["index"]["byteStart"] : facet["index"]["byteEnd"]].decode() for facet in value["facets"]]
    assert covered == ["example.com/ä", "#tag"]
    assert value["facets"][0]["features"][0]["uri"] == "https://example.com/ä"


async def test_pictures_are_stored_with_alt_texts(desk):
    pictures = [drawn("png", (30, 20), "Red"), drawn("jpeg", (8, 9), "")]
    intent = desk.intent("One.", "Two.", alts=("Red", ""))
    desk.proxy.faults.append(Cut.AFTER)
    with pytest.raises(UnknownOutcomeError):
        await desk.bluesky.send(desk.account, intent, (), pictures)
    found = await desk.bluesky.look_up(desk.account, intent, (), NOW)
    assert found.evidence is Evidence.READ_BACK
    first = desk.held[0]
    images = first["value"]["embed"]["images"]
    assert [(image["alt"], image["aspectRatio"]) for image in images] == [
        ("Red", {"width": 30, "height": 20}),
        ("", {"width": 8, "height": 9}),
    ]
    assert [desk.pds.blob(desk.writer.did, image["image"]["ref"]["$link"]) for image in images] == [
        picture.content for picture in pictures
    ]


async def test_second_request_creates_nothing_and_is_found(desk):
    intent = desk.intent("One.", "Two.")
    first = await desk.bluesky.send(desk.account, intent, ())
    with pytest.raises(UnknownOutcomeError):
        await desk.bluesky.send(desk.account, intent, ())
    assert desk.texts == ["One.", "Two."]
    assert (await desk.bluesky.look_up(desk.account, intent, (), NOW)).ids == first.ids


async def test_one_of_four_concurrent_senders_succeeds(desk):
    intent = desk.intent("One.", "Two.")
    senders = [desk.fresh() for _ in range(4)]
    outcomes = await asyncio.gather(
        *[sender.send(desk.account, intent, ()) for sender in senders], return_exceptions=True
    )
    assert sorted(type(sender).__name__ for sender in outcomes) == ["Made", *["UnknownOutcomeError"] * 3]
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
async def test_post_is_found_or_resent_after_fault(desk, fault, error, there):
    intent = desk.intent("One.", "Two.")
    desk.proxy.faults.append(fault)
    with pytest.raises(error):
        await desk.bluesky.send(desk.account, intent, ())
    found = await desk.bluesky.look_up(desk.account, intent, (), NOW)
    assert (found is not None) is there
    if found is None:
        await desk.bluesky.send(desk.account, intent, ())
    assert desk.texts == ["One.", "Two."]


async def test_refused_connection_posts_nothing(desk):
    intent = desk.intent("One.")
    await desk.bluesky.check(desk.account)
    async with desk.proxy.refusing():
        with pytest.raises(NotSentError):
            await desk.bluesky.send(desk.account, intent, ())
        with pytest.raises(NotSentError):
            await desk.bluesky.look_up(desk.account, intent, (), NOW)
    assert desk.texts == []


async def test_late_request_after_resend_creates_nothing(desk):
    intent = desk.intent("One.", "Two.")
    desk.proxy.faults.append(Cut.LATE)
    with pytest.raises(UnknownOutcomeError):
        await desk.bluesky.send(desk.account, intent, ())
    assert await desk.bluesky.look_up(desk.account, intent, (), NOW) is None
    await desk.bluesky.send(desk.account, intent, ())
    assert [b" 500 " in answer.split(b"\r\n")[0] for answer in await desk.proxy.arrive()] == [True]
    assert desk.texts == ["One.", "Two."]


async def test_thread_is_found_after_cancelled_send(desk):
    intent = desk.intent("One.", "Two.")
    desk.proxy.faults.append(Cut.SILENT)
    sending = asyncio.create_task(desk.bluesky.send(desk.account, intent, ()))
    await desk.proxy.silent.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert desk.texts == ["One.", "Two."]
    assert await desk.bluesky.look_up(desk.account, intent, (), NOW) is not None


async def test_edited_post_is_unknown(desk):
    intent = desk.intent("One.")
    await desk.bluesky.send(desk.account, intent, ())
    desk.pds.edit(desk.writer, intent.steps[0].keys[0], "Else.")
    with pytest.raises(UnknownOutcomeError, match="something else"):
        await desk.bluesky.look_up(desk.account, intent, (), NOW)


@pytest.mark.parametrize("text", ["x" * 301, "👩‍👩‍👧‍👦" * 121])
async def test_overlong_text_is_refused_by_server_too(desk, text):
    post = Post(format=Format.SHORT, parts=(text,), at=NOW)
    assert desk.bluesky.problems(post, desk.account) != []
    with pytest.raises(RefusedPostError):
        await desk.bluesky.send(desk.account, desk.intent(text), ())


@pytest.mark.parametrize("text", ["x" * 300, "👩‍👩‍👧‍👦" * 120])
async def test_longest_allowed_text_is_accepted(desk, text):
    await desk.bluesky.send(desk.account, desk.intent(text), ())
    assert desk.texts == [text]


async def test_longest_allowed_thread_is_accepted(desk):
    parts = tuple(f"Part {number}. #tag https://example.com/{number} " + "é" * 200 for number in range(100))
    assert desk.bluesky.problems(Post(format=Format.THREAD, parts=parts, at=NOW), desk.account) == []
    result = await desk.bluesky.send(desk.account, desk.intent(*parts), ())
    assert len(result.ids) == len(desk.texts) == 100


async def test_expired_token_is_refreshed(desk):
    await desk.bluesky.check(desk.account)
    before = len(desk.proxy.seen)
    tokens = desk.bluesky._sessions._access
    tokens.update({key: desk.pds.expired(token) for key, token in tokens.items()})
    await desk.bluesky.send(desk.account, desk.intent("One."), ())
    assert desk.asked[before:] == ["applyWrites", "refreshSession", "applyWrites"]
    assert desk.texts == ["One."]


async def test_start_uses_saved_refresh_token(desk):
    await desk.bluesky.check(desk.account)
    desk.secrets.held.pop("password")
    await desk.fresh().check(desk.account)
    assert desk.asked == ["createSession", "getSession", "refreshSession", "getSession"]


async def test_old_refresh_token_works_if_renewal_was_lost(desk):
    await desk.bluesky.check(desk.account)
    old = dict(desk.secrets.held)
    await desk.fresh().check(desk.account)
    desk.secrets.held = {"refresh": old["refresh"]}
    assert (await desk.fresh().check(desk.account)).id == desk.writer.did


async def test_connect_by_handle_returns_account(desk):
    credentials = {"handle": f"@{desk.account.name}", "password": desk.writer.app_password}
    connected = await desk.bluesky.connect(desk.proxy.url, credentials)
    assert connected.account == desk.account
    desk.secrets.held = dict(connected.secrets)
    assert await desk.bluesky.check(connected.account) == desk.account


async def test_invalid_password_is_reported(desk):
    with pytest.raises(LoginError, match="Invalid identifier or password"):
        await desk.bluesky.connect(desk.proxy.url, {"handle": desk.account.name, "password": "wrong"})


async def test_invalid_credentials_raise_login_error(desk):
    desk.secrets.held = {"password": "wrong", "refresh": "garbage"}
    with pytest.raises(LoginError):
        await desk.bluesky.send(desk.account, desk.intent("One."), ())
    assert desk.texts == []


async def test_deleting_twice_is_no_error(desk):
    intent = desk.intent("One.", "Two.")
    result = await desk.bluesky.send(desk.account, intent, ())
    await desk.bluesky.delete(desk.account, result)
    await desk.bluesky.delete(desk.account, result)
    assert desk.texts == []
    assert await desk.bluesky.look_up(desk.account, intent, (), NOW) is None


async def test_metrics_need_an_index(desk):
    result = await desk.bluesky.send(desk.account, desk.intent("One."), ())
    with pytest.raises(NotSentError):
        await desk.bluesky.figures(desk.account, result.ids)


def drawn(kind: str, size: tuple[int, int], alt: str) -> Picture:
    """Return a small one-colour picture."""
    raw = io.BytesIO()
    Image.new("RGB", size, "red").save(raw, kind)
    return Picture(content=raw.getvalue(), media_type=f"image/{kind}", width=size[0], height=size[1], alt=alt)
