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
from copydesk.posting.client import PlatformClient
from copydesk.posting.platform import (
    Account,
    Evidence,
    Intent,
    LoginError,
    NotSentError,
    Post,
    PostImage,
    RefusedPostError,
    UnknownOutcomeError,
)
from copydesk.store.ids import new_id
from fault_proxy import GARBAGE, Cut, FaultProxy, ReplacedResponse
from faulty_server import RecordingSecrets
from pds_server import Pds, PdsAccount

pytestmark = pytest.mark.xdist_group("pds")
NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
WRITES = r"POST /xrpc/com\.atproto\.repo\.applyWrites"
TEXTS = ("👩‍👩‍👧‍👦 Über example.com/ä #tag", "Zwei 🇩🇪 https://example.com/?a=1#b", "Three.")


class BlueskySetup:
    """An account on the server, reached through a proxy."""

    def __init__(self, pds: Pds, writer: PdsAccount, proxy: FaultProxy) -> None:
        self.pds = pds
        self.writer = writer
        self.proxy = proxy
        self.transport = GuardedTransport(allow_private=True, concurrency=4)
        self.secrets = RecordingSecrets(password=writer.app_password)
        self.account = Account(platform="bluesky", server=proxy.url, id=writer.did, name=writer.handle)
        self.bluesky = self.restart()

    def restart(self) -> Bluesky:
        """Return the platform as after a start, with no token in memory."""
        return Bluesky(PlatformClient(self.transport, timeout=5), self.secrets, clock=lambda: NOW)

    def intent(self, *parts: str, alts: tuple[str, ...] = ()) -> Intent:
        kind = Format.THREAD if len(parts) > 1 else Format.SHORT
        return self.bluesky.render(Post(format=kind, parts=parts, at=NOW, alts=alts), self.account, new_id(NOW))

    @property
    def texts(self) -> list[object]:
        return [record["value"]["text"] for record in self.records]

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records stored on the server."""
        return self.pds.list_posts(self.writer.did)

    @property
    def request_names(self) -> list[str]:
        """The names of all requests, in order."""
        return [request.path.partition("?")[0].rsplit(".", 1)[1] for request in self.proxy.requests]


@pytest.fixture
async def setup(pds: Pds, writer: PdsAccount) -> AsyncIterator[BlueskySetup]:
    async with FaultProxy(pds.url, pattern=WRITES) as proxy:
        desk = BlueskySetup(pds, writer, proxy)
        yield desk
        await desk.transport.aclose()


async def test_thread_is_complete_with_locally_computed_hashes(setup):
    intent = setup.intent(*TEXTS)
    result = await setup.bluesky.send(setup.account, intent, ())
    records = setup.records
    assert tuple(record["uri"] for record in records) == result.ids
    shown_short = TEXTS[1].replace("https://example.com/", "example.com")
    assert tuple(setup.texts) == (TEXTS[0], shown_short, TEXTS[2])
    root, second = ({"uri": record["uri"], "cid": record["cid"]} for record in records[:2])
    assert "reply" not in records[0]["value"]
    assert records[1]["value"]["reply"] == {"root": root, "parent": root}
    assert records[2]["value"]["reply"] == {"root": root, "parent": second}
    # `send` compares the server's hashes with its own and would have failed.
    assert result.evidence is Evidence.ANSWERED
    assert (await setup.bluesky.find_post(setup.account, intent, (), NOW)).ids == result.ids


async def test_facets_match_server_byte_offsets(setup):
    await setup.bluesky.send(setup.account, setup.intent(TEXTS[0]), ())
    value = setup.records[0]["value"]
    raw = value["text"].encode()
    covered = [raw[facet["index"]["byteStart"] : facet["index"]["byteEnd"]].decode() for facet in value["facets"]]
    assert covered == ["example.com/ä", "#tag"]
    assert value["facets"][0]["features"][0]["uri"] == "https://example.com/ä"


async def test_pictures_are_stored_with_alt_texts(setup):
    pictures = [make_picture("png", (30, 20), "Red"), make_picture("jpeg", (8, 9), "")]
    intent = setup.intent("One.", "Two.", alts=("Red", ""))
    setup.proxy.faults.append(Cut.AFTER)
    with pytest.raises(UnknownOutcomeError):
        await setup.bluesky.send(setup.account, intent, (), pictures)
    found = await setup.bluesky.find_post(setup.account, intent, (), NOW)
    assert found.evidence is Evidence.READ_BACK
    first = setup.records[0]
    images = first["value"]["embed"]["images"]
    assert [(image["alt"], image["aspectRatio"]) for image in images] == [
        ("Red", {"width": 30, "height": 20}),
        ("", {"width": 8, "height": 9}),
    ]
    assert [setup.pds.get_blob(setup.writer.did, image["image"]["ref"]["$link"]) for image in images] == [
        picture.content for picture in pictures
    ]


async def test_second_request_creates_nothing_and_is_found(setup):
    intent = setup.intent("One.", "Two.")
    first = await setup.bluesky.send(setup.account, intent, ())
    with pytest.raises(UnknownOutcomeError):
        await setup.bluesky.send(setup.account, intent, ())
    assert setup.texts == ["One.", "Two."]
    assert (await setup.bluesky.find_post(setup.account, intent, (), NOW)).ids == first.ids


async def test_one_of_four_concurrent_senders_succeeds(setup):
    intent = setup.intent("One.", "Two.")
    senders = [setup.restart() for _ in range(4)]
    outcomes = await asyncio.gather(
        *[sender.send(setup.account, intent, ()) for sender in senders], return_exceptions=True
    )
    assert sorted(type(sender).__name__ for sender in outcomes) == ["StepResult", *["UnknownOutcomeError"] * 3]
    assert setup.texts == ["One.", "Two."]


@pytest.mark.parametrize(
    ("fault", "error", "arrived"),
    [
        (Cut.BEFORE, UnknownOutcomeError, False),
        (Cut.AFTER, UnknownOutcomeError, True),
        (Cut.HALF, UnknownOutcomeError, True),
        (ReplacedResponse(500), UnknownOutcomeError, False),
        (ReplacedResponse(502, b"<html>", forwarded=True), UnknownOutcomeError, True),
        (ReplacedResponse(200, b"<html>", forwarded=True), UnknownOutcomeError, True),
        (ReplacedResponse(429, headers=(("retry-after", "7"),)), NotSentError, False),
        (GARBAGE, UnknownOutcomeError, False),
    ],
)
async def test_post_is_found_or_resent_after_fault(setup, fault, error, arrived):
    intent = setup.intent("One.", "Two.")
    setup.proxy.faults.append(fault)
    with pytest.raises(error):
        await setup.bluesky.send(setup.account, intent, ())
    found = await setup.bluesky.find_post(setup.account, intent, (), NOW)
    assert (found is not None) is arrived
    if found is None:
        await setup.bluesky.send(setup.account, intent, ())
    assert setup.texts == ["One.", "Two."]


async def test_refused_connection_posts_nothing(setup):
    intent = setup.intent("One.")
    await setup.bluesky.check(setup.account)
    async with setup.proxy.refuse_connections():
        with pytest.raises(NotSentError):
            await setup.bluesky.send(setup.account, intent, ())
        with pytest.raises(NotSentError):
            await setup.bluesky.find_post(setup.account, intent, (), NOW)
    assert setup.texts == []


async def test_late_request_after_resend_creates_nothing(setup):
    intent = setup.intent("One.", "Two.")
    setup.proxy.faults.append(Cut.LATE)
    with pytest.raises(UnknownOutcomeError):
        await setup.bluesky.send(setup.account, intent, ())
    assert await setup.bluesky.find_post(setup.account, intent, (), NOW) is None
    await setup.bluesky.send(setup.account, intent, ())
    assert [b" 500 " in answer.split(b"\r\n")[0] for answer in await setup.proxy.forward_late()] == [True]
    assert setup.texts == ["One.", "Two."]


async def test_thread_is_found_after_cancelled_send(setup):
    intent = setup.intent("One.", "Two.")
    setup.proxy.faults.append(Cut.SILENT)
    sending = asyncio.create_task(setup.bluesky.send(setup.account, intent, ()))
    await setup.proxy.response_held.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert setup.texts == ["One.", "Two."]
    assert await setup.bluesky.find_post(setup.account, intent, (), NOW) is not None


async def test_edited_post_is_unknown(setup):
    intent = setup.intent("One.")
    await setup.bluesky.send(setup.account, intent, ())
    setup.pds.replace_post(setup.writer, intent.steps[0].keys[0], "Else.")
    with pytest.raises(UnknownOutcomeError, match="A different post exists"):
        await setup.bluesky.find_post(setup.account, intent, (), NOW)


@pytest.mark.parametrize("text", ["x" * 301, "👩‍👩‍👧‍👦" * 121])
async def test_overlong_text_is_refused_by_server_too(setup, text):
    post = Post(format=Format.SHORT, parts=(text,), at=NOW)
    assert setup.bluesky.validate(post, setup.account) != []
    with pytest.raises(RefusedPostError):
        await setup.bluesky.send(setup.account, setup.intent(text), ())


@pytest.mark.parametrize("text", ["x" * 300, "👩‍👩‍👧‍👦" * 120])
async def test_longest_allowed_text_is_accepted(setup, text):
    await setup.bluesky.send(setup.account, setup.intent(text), ())
    assert setup.texts == [text]


async def test_longest_allowed_thread_is_accepted(setup):
    parts = tuple(f"Part {number}. #tag https://example.com/{number} " + "é" * 200 for number in range(100))
    assert setup.bluesky.validate(Post(format=Format.THREAD, parts=parts, at=NOW), setup.account) == []
    result = await setup.bluesky.send(setup.account, setup.intent(*parts), ())
    assert len(result.ids) == len(setup.texts) == 100


async def test_expired_token_is_refreshed(setup):
    await setup.bluesky.check(setup.account)
    before = len(setup.proxy.requests)
    tokens = setup.bluesky._sessions._access_tokens
    tokens.update({key: setup.pds.expire_token(token) for key, token in tokens.items()})
    await setup.bluesky.send(setup.account, setup.intent("One."), ())
    assert setup.request_names[before:] == ["applyWrites", "refreshSession", "applyWrites"]
    assert setup.texts == ["One."]


async def test_start_uses_saved_refresh_token(setup):
    await setup.bluesky.check(setup.account)
    setup.secrets.secrets.pop("password")
    await setup.restart().check(setup.account)
    assert setup.request_names == ["createSession", "getSession", "refreshSession", "getSession"]


async def test_old_refresh_token_works_if_renewal_was_lost(setup):
    await setup.bluesky.check(setup.account)
    old = dict(setup.secrets.secrets)
    await setup.restart().check(setup.account)
    setup.secrets.secrets = {"refresh": old["refresh"]}
    assert (await setup.restart().check(setup.account)).id == setup.writer.did


async def test_connect_by_handle_returns_account(setup):
    credentials = {"handle": f"@{setup.account.name}", "password": setup.writer.app_password}
    connected = await setup.bluesky.connect(setup.proxy.url, credentials)
    assert connected.account == setup.account
    setup.secrets.secrets = dict(connected.credentials)
    assert await setup.bluesky.check(connected.account) == setup.account


async def test_invalid_password_is_reported(setup):
    with pytest.raises(LoginError, match="Invalid identifier or password"):
        await setup.bluesky.connect(setup.proxy.url, {"handle": setup.account.name, "password": "wrong"})


async def test_invalid_credentials_raise_login_error(setup):
    setup.secrets.secrets = {"password": "wrong", "refresh": "garbage"}
    with pytest.raises(LoginError):
        await setup.bluesky.send(setup.account, setup.intent("One."), ())
    assert setup.texts == []


async def test_deleting_twice_is_no_error(setup):
    intent = setup.intent("One.", "Two.")
    result = await setup.bluesky.send(setup.account, intent, ())
    await setup.bluesky.delete(setup.account, result)
    await setup.bluesky.delete(setup.account, result)
    assert setup.texts == []
    assert await setup.bluesky.find_post(setup.account, intent, (), NOW) is None


async def test_metrics_need_an_index(setup):
    result = await setup.bluesky.send(setup.account, setup.intent("One."), ())
    with pytest.raises(NotSentError):
        await setup.bluesky.metrics(setup.account, result.ids)


def make_picture(kind: str, size: tuple[int, int], alt: str) -> PostImage:
    """Return a small one-colour picture."""
    raw = io.BytesIO()
    Image.new("RGB", size, "red").save(raw, kind)
    return PostImage(content=raw.getvalue(), media_type=f"image/{kind}", width=size[0], height=size[1], alt=alt)
