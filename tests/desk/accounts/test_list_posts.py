"""Tests for the posts of a connected account as examples of the user's voice."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import msgspec
import pytest

from copydesk.desk import Desk, open_desk
from copydesk.desk.accounts.service import MAX_LISTED_POSTS
from copydesk.errors import InvalidError, NotFoundError
from copydesk.settings import load
from desk_fixtures import NOW
from draft_consistency import dump_tables
from fake_pds import DID, PASSWORD, FakePds
from sign_in_platforms import sign_in_platforms
from store_fixtures import database_variables

PLAIN_CREDENTIALS = {"COPYDESK_SECRETS__KEYRING": "false", "COPYDESK_SECRETS__PLAIN": "true"}


@asynccontextmanager
async def open_bluesky_desk(home: Path, server: FakePds) -> AsyncIterator[Desk]:
    async with open_desk(
        load(database_variables(home) | PLAIN_CREDENTIALS, home), clock=lambda: NOW, transport=server.transport
    ) as desk:
        credentials = {"handle": "me.example", "password": PASSWORD}
        await desk.accounts.connect("bluesky", credentials, "https://pds.example")
        yield desk


def add_posts(server: FakePds, *texts: str) -> None:
    for number, text in enumerate(texts):
        uri = f"at://{DID}/app.bsky.feed.post/{number:03}"
        server.records[uri] = {"uri": uri, "cid": "bafy", "value": {"text": text}}


async def test_posts_are_listed_and_nothing_is_stored(tmp_path: Path) -> None:
    server = FakePds()
    add_posts(
        server, "A post that I wrote before.", "short", "@anna An answer to somebody.", "The newest post of mine."
    )
    async with open_bluesky_desk(tmp_path, server) as desk:
        before = dump_tables(tmp_path)
        posts = await desk.accounts.list_posts("bluesky")
        assert dump_tables(tmp_path) == before
        imported = await desk.voice.import_posts(msgspec.json.encode(posts).decode())
    assert posts == ("The newest post of mine.", "A post that I wrote before.")
    assert imported.examples == posts


async def test_hostile_posts_are_cleaned_or_left_out(tmp_path: Path) -> None:
    server = FakePds()
    add_posts(server, "Red \x1b[31m and \u202e turned around, twice.", "x" * 100_000)
    async with open_bluesky_desk(tmp_path, server) as desk:
        (post,) = await desk.accounts.list_posts("bluesky")
    assert "\x1b" not in post
    assert "\u202e" not in post


async def test_server_that_ignores_the_limit(tmp_path: Path) -> None:
    server = FakePds()
    texts = [f"A post that I wrote before, number {number}." for number in range(2 * MAX_LISTED_POSTS)]
    records = [{"uri": "", "cid": "", "value": {"text": text}} for text in texts]
    server.canned_responses["listRecords"] = httpx.Response(200, json={"records": records})
    async with open_bluesky_desk(tmp_path, server) as desk:
        assert len(await desk.accounts.list_posts("bluesky")) == MAX_LISTED_POSTS


async def test_unknown_account(tmp_path: Path) -> None:
    async with open_bluesky_desk(tmp_path, FakePds()) as desk:
        with pytest.raises(NotFoundError):
            await desk.accounts.list_posts("mastodon")


async def test_platform_without_a_list_of_posts_is_refused(tmp_path: Path) -> None:
    settings = load(database_variables(tmp_path) | PLAIN_CREDENTIALS, tmp_path)
    async with open_desk(settings, clock=lambda: NOW, platforms=sign_in_platforms()) as desk:
        await desk.accounts.connect("keyed", {"handle": "me", "password": "open"})
        with pytest.raises(InvalidError, match="Keyed, whose posts cannot be read; import a file instead"):
            await desk.accounts.list_posts("keyed")
