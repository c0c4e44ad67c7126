"""The servers of the sending proof, and the posts stored on them."""

import itertools
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import httpx

from copydesk.model.delivery import Account
from copydesk.posting.fake import FakeServer
from crash_points import Order, deliver_late
from mastodon_mock_server import MockMastodon
from pds_server import Pds, PdsAccount

DRAFTS_PER_ACCOUNT = 25
"""Drafts per account: a PDS lists 100 records at once. A lookup on Mastodon reads all statuses since DUE, so there each
draft has an account of its own.
"""
HTML_TAG = re.compile(r"<[^>]+>")
_numbers = itertools.count(1)


class StoredPost(NamedTuple):
    """A post as stored on the server."""

    id: str
    text: str
    parent: str | None
    """The id of the post it replies to."""


class SendTarget(Protocol):
    """A server with accounts."""

    name: str
    over_network: bool
    """Requests go over the network and may arrive after their sender died."""

    def account(self) -> Account:
        """Return an account for the next case."""
        ...

    def secrets(self) -> dict[str, str]:
        """Return the secrets of the last account."""
        ...

    def make_order(self, home: Path) -> Order:
        """Return the order for a sender to this server."""
        ...

    def stored_posts(self, case: "SendCase") -> list[StoredPost]:
        """Return the account's posts, oldest first."""
        ...

    async def deliver_late(self, case: "SendCase") -> None:
        """Process late requests."""
        ...


class SendCase(NamedTuple):
    """A desk with a draft that is due."""

    home: Path
    account: Account
    texts: tuple[str, ...]
    target: SendTarget


class FakeTarget:
    """FakeServers, each in a file in its desk's folder."""

    over_network = False

    def __init__(self, *, keyed: bool) -> None:
        self.name = "fake with keys" if keyed else "fake without keys"
        self._keyed = keyed

    def account(self) -> Account:
        return Account(platform="fake", server="https://fake.example", id="me", name="me")

    def secrets(self) -> dict[str, str]:
        return {}

    def make_order(self, home: Path) -> Order:
        return Order(home=str(home), platform="fake", server=str(home / "server.jsonl"), keyed=self._keyed)

    def stored_posts(self, case: SendCase) -> list[StoredPost]:
        return [StoredPost(post.id, post.text, post.parent) for post in FakeServer(case.home / "server.jsonl").posts]

    async def deliver_late(self, case: SendCase) -> None:
        deliver_late(case.home / "server.jsonl", keyed=self._keyed)


class MastodonTarget:
    """Accounts on mastodon-mock at `url`: its own, or that of a proxy before it."""

    over_network = True

    def __init__(self, server: MockMastodon, names: Iterator[str], url: str, *, keyed: bool) -> None:
        self.name = "mastodon with keys" if keyed else "mastodon without keys"
        self._server = server
        self._names = names
        self._url = url
        self._software = "mastodon 4.6.0" if keyed else "gotosocial 0.20.1"
        self._client = httpx.Client(timeout=30)
        self._current_name = ""
        self.release_late: Callable[[], Awaitable[object]] | None = None

    def account(self) -> Account:
        self._current_name = name = next(self._names)
        account_id = self._get(name, "/api/v1/accounts/verify_credentials").json()["id"]
        return Account(
            platform="mastodon",
            server=self._url,
            id=account_id,
            name=f"{name}@mock.example",
            software=self._software,
            max_length=500,
        )

    def secrets(self) -> dict[str, str]:
        return {"token": MockMastodon.token(self._current_name)}

    def make_order(self, home: Path) -> Order:
        return Order(home=str(home), platform="mastodon")

    def stored_posts(self, case: SendCase) -> list[StoredPost]:
        name = case.account.name.partition("@")[0]
        statuses = self._get(name, f"/api/v1/accounts/{case.account.id}/statuses?limit=40").json()
        posts = sorted(statuses, key=lambda post: int(post["id"]))
        return [StoredPost(post["id"], HTML_TAG.sub("", post["content"]), post["in_reply_to_id"]) for post in posts]

    async def deliver_late(self, case: SendCase) -> None:
        if self.release_late is not None:
            await self.release_late()

    def close(self) -> None:
        self._client.close()

    def _get(self, name: str, path: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {MockMastodon.token(name)}"}
        return self._client.get(self._server.url + path, headers=headers).raise_for_status()


class PdsTarget:
    """Accounts on a PDS at `url`: its own, or that of a proxy before it."""

    name = "pds"
    over_network = True

    def __init__(self, pds: Pds, url: str) -> None:
        self._pds = pds
        self._url = url
        self._client = httpx.Client(timeout=30)
        self._account_count = 0
        self._account: PdsAccount | None = None
        self._refresh = ""
        self.release_late: Callable[[], Awaitable[object]] | None = None

    def account(self) -> Account:
        if self._account is None or self._account_count % DRAFTS_PER_ACCOUNT == 0:
            self._account = self._pds.create_account(f"sender{next(_numbers)}")
            credentials = {"identifier": self._account.handle, "password": self._account.app_password}
            session = self._client.post(f"{self._pds.url}/xrpc/com.atproto.server.createSession", json=credentials)
            self._refresh = session.raise_for_status().json()["refreshJwt"]
        self._account_count += 1
        return Account(platform="bluesky", server=self._url, id=self._account.did, name=self._account.handle)

    def secrets(self) -> dict[str, str]:
        assert self._account is not None
        return {"password": self._account.app_password, "refresh": self._refresh}

    def make_order(self, home: Path) -> Order:
        return Order(home=str(home), platform="bluesky")

    def stored_posts(self, case: SendCase) -> list[StoredPost]:
        params = {"repo": case.account.id, "collection": "app.bsky.feed.post", "limit": 100, "reverse": "true"}
        response = self._client.get(f"{self._pds.url}/xrpc/com.atproto.repo.listRecords", params=params)
        records = response.raise_for_status().json()["records"]
        parents = [record["value"].get("reply", {}).get("parent", {}).get("uri") for record in records]
        return [
            StoredPost(record["uri"], record["value"]["text"], parent)
            for record, parent in zip(records, parents, strict=True)
        ]

    async def deliver_late(self, case: SendCase) -> None:
        if self.release_late is not None:
            await self.release_late()

    def close(self) -> None:
        self._client.close()
