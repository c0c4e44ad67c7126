"""Desks with one draft each that is due, on accounts of several servers, and what the servers hold at the end.

Time is the senders' own: it begins at DUE and is moved when nothing can be done before that. What a server does takes
real time; so before the time is moved after a kill, a request that is still on its way may arrive.
"""

import asyncio
import itertools
import json
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from sqlite3 import connect as open_sqlite
from typing import NamedTuple, Protocol

import httpx
import msgspec
from msgspec.structs import replace

from copydesk.desk import open_desk
from copydesk.model.delivery import Account, Delivery
from copydesk.posting.fake import FakeServer
from copydesk.store import accounts
from copydesk.store.ids import new_id
from copydesk.store.types import microseconds
from copydesk.text.thread import join_parts
from desk_fixtures import NOW, settings_at
from doomed_sender import DUE, KILLED, NO_STORE, Doom, Ended, Order, arrive_late
from mastodon_server import MockMastodon
from pds_server import Pds, Writer

MOST_RUNS = 60
ON_ITS_WAY = 0.2
"""Seconds of real time that a request whose sender was killed gets to arrive."""
LATE = 70.0
"""Seconds of the senders' time after which a late request arrives; the quiet period is 90."""
PER_MASTODON, PER_PDS = 10, 25
"""Drafts to one account: a server lists 40 statuses, or 100 records, at once."""
TAG = re.compile(r"<[^>]+>")
_KNOWN = """
SELECT draft.status, draft.post_id, engagement.status, engagement.post_id, delivery.progress
FROM draft JOIN delivery ON delivery.draft_id = draft.id JOIN engagement ON engagement.id = delivery.id
"""
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


class Story(NamedTuple):
    """What came of a case."""

    runs: tuple[Ended, ...]
    wrong: tuple[str, ...]
    """What is not as it should be; empty where all is well."""

    @property
    def passed(self) -> list[str]:
        """The boundaries that were reached, in order, until all was over."""
        return [name for run in self.runs[:-1] for name in run.passed]

    @property
    def after_kill(self) -> int:
        """How many of them came after the first process was killed."""
        return len(self.passed) - len(self.runs[0].passed)

    @property
    def kills(self) -> int:
        """How often somebody was killed."""
        return sum(run.code == KILLED for run in self.runs)


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
        self._names = (name for name in names for _ in range(PER_MASTODON))
        self._url = url
        self._software = "mastodon 4.6.0" if keyed else "gotosocial 0.20.1"
        self._client = httpx.Client(timeout=30)
        self._now = ""
        self._ids: dict[str, str] = {}
        self.late: Callable[[], Awaitable[object]] | None = None

    def account(self) -> Account:
        self._now = name = next(self._names)
        if name not in self._ids:
            self._ids[name] = self._ask(name, "/api/v1/accounts/verify_credentials").json()["id"]
        whole = f"{name}@mock.example"
        known = {"id": self._ids[name], "name": whole, "software": self._software, "longest": 500}
        return Account(platform="mastodon", server=self._url, **known)

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


class Desks:
    """Makes cases in a folder, and takes them to their end."""

    def __init__(self, folder: Path, doomed: Doom) -> None:
        self._folder = folder
        self._doomed = doomed
        self._empty: Path | None = None

    async def case(self, place: Place, parts: int, now: datetime = NOW) -> Case:
        """A desk made at `now` whose draft, of so many posts, is due a minute later: at DUE, if that is not said."""
        number = next(_numbers)
        home = await self._home(number)
        texts = tuple(f"Story {number}, post {part} of {parts}." for part in range(1, parts + 1))
        account = place.account()
        (home / "secrets.json").write_text(json.dumps(place.secrets()), encoding="utf-8")
        asked = {"text": join_parts(list(texts)), "format": "THREAD" if parts > 1 else "SHORT"}
        async with open_desk(settings_at(home), clock=lambda: now) as desk:
            await desk.ground.write(accounts.connect, new_id(now), account, now)
            made = await desk.drafts.create(asked)
            await desk.drafts.approve(made.drafts[0].id)
            await desk.drafts.schedule(made.drafts[0].id, now + (DUE - NOW))
        return Case(home, account, texts, place)

    async def send_once(self, case: Case, **how: object) -> list[Ended]:
        """Send once, at DUE."""
        return await self._doomed.send(replace(case.place.order(case.home), **how))

    async def _home(self, number: int) -> Path:
        if self._empty is None:
            self._empty = self._folder / "empty"
            async with open_desk(settings_at(self._empty), clock=lambda: NOW):
                pass
        return Path(shutil.copytree(self._empty, self._folder / f"desk{number}"))

    async def to_the_end(
        self,
        case: Case,
        *,
        kills: Sequence[int] = (),
        kill_after: Sequence[float] = (),
        wrong: str = "",
        **first: object,
    ) -> Story:
        """Send until nothing is left to do, and see what the server holds; `first` is for the first run alone.

        `kills` are counts of boundaries: of the first one from the beginning on, of the others from the kill before.
        """
        runs: list[Ended] = []
        counts, delays = list(kills), list(kill_after)
        count, ahead = (counts.pop(0) if counts else 0), 0.0
        order = replace(case.place.order(case.home), wrong=wrong)
        while len(runs) < MOST_RUNS:
            more = first if not runs else {}
            delay = delays.pop(0) if delays else 0.0
            asked = replace(order, ahead=ahead, kill_at=count, kill_after=delay, **more)
            ended = await self._doomed.send(asked)
            runs += ended
            assert {each.code for each in ended} <= {0, KILLED, NO_STORE}, ended
            if ended[0].code == KILLED:
                count = counts.pop(0) if counts and not delay else 0
            elif count:
                count -= len(ended[0].passed)
            if is_over(case.home):
                break
            waits = next_after(case.home, ahead)
            if ended[0].code == 0 and waits is None and not ended[0].passed:
                break
            if ended[0].code == 0 and waits is not None:
                await self._let_pass(case, waits, in_between=bool(kill_after))
                ahead = waits
        await case.place.arrive(case)
        # A day later nothing is sent again.
        runs += await self._doomed.send(replace(order, ahead=ahead + 86400))
        found = tuple(wrong_with(case))
        shutil.rmtree(case.home)
        return Story(tuple(runs), found)

    async def _let_pass(self, case: Case, until: float, *, in_between: bool) -> None:
        """What is on its way gets there while time passes; at a boundary nothing is."""
        if case.place.real and in_between:
            await asyncio.sleep(ON_ITS_WAY)
        if until >= LATE:
            await case.place.arrive(case)


def is_over(home: Path) -> bool:
    """Whether the draft is not on its way any more."""
    return _rows(home, "SELECT status FROM draft") in ([("posted",)], [("approved",)], [("missed",)])


def next_after(home: Path, ahead: float) -> float | None:
    """When something can be done next, in seconds after DUE; None where that is now, or never."""
    [(moment,)] = _rows(home, "SELECT min(not_before) FROM delivery WHERE state IN ('planned', 'unknown')")
    if moment is None:
        return None
    seconds = (int(str(moment)) - microseconds(DUE)) / 1e6
    return seconds if seconds > ahead else None


def wrong_with(case: Case) -> Iterator[str]:
    """What is not as it should be: on the server, which is what counts, and in the database."""
    everything = case.place.held(case)
    ours = [post for post in everything if post.text in case.texts]
    for text in case.texts:
        times = [post.text for post in ours].count(text)
        if times != 1:
            yield f"{'lost' if times == 0 else f'{times} times'}: {text}"
    ids = [post.id for text in case.texts for post in ours if post.text == text][: len(case.texts)]
    by_text = {post.text: post for post in ours}
    parents = [by_text[text].parent for text in case.texts if text in by_text]
    if parents != [None, *ids[:-1]]:
        yield "not in order"
    known = _rows(case.home, _KNOWN)
    for status, post_id, record, recorded, progress in known:
        delivery = msgspec.json.decode(str(progress), type=Delivery)
        if (status, record) != ("posted", "posted") or delivery.state != "sent":
            yield f"told as {status}, {record}, {delivery.state}: {delivery.error}"
        if [each for made in delivery.made for each in made.ids] != ids or {post_id, recorded} != set(ids[:1]):
            yield "its own ids are not in the database"
    if len(known) != 1:
        yield f"{len(known)} deliveries"


def _rows(home: Path, query: str) -> list[tuple[object, ...]]:
    with closing(open_sqlite(home / "copydesk.db")) as connection:
        return connection.execute(query).fetchall()
