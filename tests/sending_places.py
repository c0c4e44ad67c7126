"""The servers that drafts are sent to in the proof of sending, and what each of them holds."""

import itertools
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import httpx

from copydesk.model.delivery import Account
from copydesk.posting.fake import FakeServer
from mastodon_server import MockMastodon
from pds_server import Pds, Writer
from sending_boundaries import Order, arrive_late

PER_PDS = 25
"""Drafts to one account: a server lists 100 records at once. A look at Mastodon reads all statuses of an account since
DUE, so there each draft has an account of its own."""
TAG = re.compile(r"<[^>]+>")
_numbers = itertools.count(1)


class Held(NamedTuple):
    """A post as a server holds it."""

    id: str
    text: str
    parent: str | None
    """The id of what it answers."""


class Place(Protocol):
    """A server, and accounts on it."""

    name: str
    real: bool
    """Whether requests travel, and may arrive after their sender died."""

    def account(self) -> Account:
        """Somebody there."""
        ...

    def secrets(self) -> dict[str, str]:
        """The keys to the account that was asked for last."""
        ...

    def order(self, home: Path) -> Order:
        """What a sender does there."""
        ...

    def held(self, case: "Case") -> list[Held]:
        """What the account holds, the first one first."""
        ...

    async def arrive(self, case: "Case") -> None:
        """What is still on its way gets there."""
        ...


class Case(NamedTuple):
    """A desk with a draft that is due."""

    home: Path
    account: Account
    texts: tuple[str, ...]
    place: Place


class FakePlace:
    """FakeServers, each in a file of its desk's folder."""

    real = False

    def __init__(self, *, keyed: bool) -> None:
        self.name = "fake with keys" if keyed else "fake without keys"
        self._keyed = keyed

    def account(self) -> Account:
        return Account(platform="fake", server="https://fake.example", id="me", name="me")

    def secrets(self) -> dict[str, str]:
        return {}

    def order(self, home: Path) -> Order:
        return Order(home=str(home), platform="fake", server=str(home / "server.jsonl"), keyed=self._keyed)

    def held(self, case: Case) -> list[Held]:
        return [Held(post.id, post.text, post.parent) for post in FakeServer(case.home / "server.jsonl").posts]

    async def arrive(self, case: Case) -> None:
        arrive_late(case.home / "server.jsonl", keyed=self._keyed)


class MastodonPlace:
    """Accounts on mastodon-mock, at `url`: its own, or that of a proxy before it."""

    real = True

    def __init__(self, server: MockMastodon, names: Iterator[str], url: str, *, keyed: bool) -> None:
        self.name = "mastodon with keys" if keyed else "mastodon without keys"
        self._server = server
        self._names = names
        self._url = url
        self._software = "mastodon 4.6.0" if keyed else "gotosocial 0.20.1"
        self._client = httpx.Client(timeout=30)
        self._now = ""
        self.late: Callable[[], Awaitable[object]] | None = None

    def account(self) -> Account:
        self._now = name = next(self._names)
        number = self._ask(name, "/api/v1/accounts/verify_credentials").json()["id"]
        return Account(
            platform="mastodon",
            server=self._url,
            id=number,
            name=f"{name}@mock.example",
            software=self._software,
            longest=500,
        )

    def secrets(self) -> dict[str, str]:
        return {"token": MockMastodon.token(self._now)}

    def order(self, home: Path) -> Order:
        return Order(home=str(home), platform="mastodon")

    def held(self, case: Case) -> list[Held]:
        name = case.account.name.partition("@")[0]
        found = self._ask(name, f"/api/v1/accounts/{case.account.id}/statuses?limit=40").json()
        posts = sorted(found, key=lambda post: int(post["id"]))
        return [Held(post["id"], TAG.sub("", post["content"]), post["in_reply_to_id"]) for post in posts]

    async def arrive(self, case: Case) -> None:
        if self.late is not None:
            await self.late()

    def close(self) -> None:
        self._client.close()

    def _ask(self, name: str, path: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {MockMastodon.token(name)}"}
        return self._client.get(self._server.url + path, headers=headers).raise_for_status()


class PdsPlace:
    """Accounts on a PDS, at `url`: its own, or that of a proxy before it."""

    name = "pds"
    real = True

    def __init__(self, pds: Pds, url: str) -> None:
        self._pds = pds
        self._url = url
        self._client = httpx.Client(timeout=30)
        self._used = 0
        self._writer: Writer | None = None
        self._refresh = ""
        self.late: Callable[[], Awaitable[object]] | None = None

    def account(self) -> Account:
        if self._writer is None or self._used % PER_PDS == 0:
            self._writer = self._pds.writer(f"sender{next(_numbers)}")
            asked = {"identifier": self._writer.handle, "password": self._writer.app_password}
            made = self._client.post(f"{self._pds.url}/xrpc/com.atproto.server.createSession", json=asked)
            self._refresh = made.raise_for_status().json()["refreshJwt"]
        self._used += 1
        return Account(platform="bluesky", server=self._url, id=self._writer.did, name=self._writer.handle)

    def secrets(self) -> dict[str, str]:
        assert self._writer is not None
        return {"password": self._writer.app_password, "refresh": self._refresh}

    def order(self, home: Path) -> Order:
        return Order(home=str(home), platform="bluesky")

    def held(self, case: Case) -> list[Held]:
        asked = {"repo": case.account.id, "collection": "app.bsky.feed.post", "limit": 100, "reverse": "true"}
        answer = self._client.get(f"{self._pds.url}/xrpc/com.atproto.repo.listRecords", params=asked)
        records = answer.raise_for_status().json()["records"]
        parents = [each["value"].get("reply", {}).get("parent", {}).get("uri") for each in records]
        return [Held(each["uri"], each["value"]["text"], parent) for each, parent in zip(records, parents, strict=True)]

    async def arrive(self, case: Case) -> None:
        if self.late is not None:
            await self.late()

    def close(self) -> None:
        self._client.close()
