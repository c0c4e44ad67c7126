"""A platform that is all here: for trying Copydesk out without an account, and for tests that need one to misbehave."""

import asyncio
import json
import os
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

import msgspec

from copydesk.model.draft import Format
from copydesk.model.wire import Struct
from copydesk.posting.keys import uuid_key
from copydesk.posting.platform import (
    Account,
    Connected,
    Evidence,
    Figures,
    Intent,
    Limits,
    LoginError,
    Made,
    NotSentError,
    Picture,
    Post,
    PostingError,
    Problem,
    RefusedPostError,
    Step,
    Trust,
    UnknownOutcomeError,
    Wanted,
)

LONGEST = 500
"""Characters of a post."""


class Fault(StrEnum):
    """What may go wrong with one request."""

    NO_CONNECTION = "no_connection"
    THROTTLED = "throttled"
    REFUSED = "refused"
    LOGIN = "login"
    CUT_BEFORE = "cut_before"
    """The connection breaks, and the request never arrives."""
    CUT_AFTER = "cut_after"
    """It arrives, and the answer is lost."""
    LATE = "late"
    """The answer is lost, and the request arrives later: with `arrive`."""


class FakePost(Struct, frozen=True):
    """A post as the server keeps it."""

    id: str
    account: str
    key: str
    text: str
    parent: str | None = None


class FakeServer:
    """What the platform holds: in memory, or in a file, so that it outlives whoever posts.

    `faults` are what happens to the next requests, one each; None is a request that ends well.
    """

    def __init__(self, path: Path | None = None, *, knows_keys: bool = False) -> None:
        self.knows_keys = knows_keys
        self.faults: deque[Fault | None] = deque()
        self.figures: dict[str, Figures] = {}
        self._path = path
        self._late: list[FakePost] = []
        self._held: list[FakePost] = []

    @property
    def posts(self) -> tuple[FakePost, ...]:
        """Everything that is there, in the order in which it came."""
        if self._path is None:
            return tuple(self._held)
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        return tuple(msgspec.json.decode(line, type=FakePost) for line in lines)

    def take(self, account: str, key: str, text: str, parent: str | None) -> FakePost:
        """Keep a post, or find the one that has this key where keys are known."""
        known = [post for post in self.posts if post.key == key and post.account == account]
        if self.knows_keys and known:
            return known[0]
        post = FakePost(id=f"{len(self.posts) + 1}", account=account, key=key, text=text, parent=parent)
        self._keep(post)
        return post

    def hold_back(self, account: str, key: str, text: str, parent: str | None) -> None:
        """A request that is still on its way."""
        self._late.append(FakePost(id="", account=account, key=key, text=text, parent=parent))

    def arrive(self) -> None:
        """What was on its way is there now."""
        while self._late:
            late = self._late.pop(0)
            self.take(late.account, late.key, late.text, late.parent)

    def remove(self, post_id: str) -> None:
        """Somebody deletes a post; what is not there is no error."""
        left = [post for post in self.posts if post.id != post_id]
        self._held = left
        if self._path is not None:
            self._path.write_text("".join(_line(post) for post in left), encoding="utf-8")

    def _keep(self, post: FakePost) -> None:
        if self._path is None:
            self._held.append(post)
            return
        # One write of one line: whoever posts may be killed beside it, and then it is there or not.
        with self._path.open("ab", buffering=0) as file:
            file.write(_line(post).encode())
            os.fsync(file.fileno())


class FakePlatform:
    """A Platform over a FakeServer; each request takes `latency` seconds."""

    name: ClassVar[str] = "fake"
    limits: ClassVar[Limits] = Limits(
        formats=frozenset(Format), pictures=4, picture_bytes=1_000_000, alt_characters=1000
    )
    home: ClassVar[str] = "https://fake.example"
    wants: ClassVar[tuple[Wanted, ...]] = (Wanted(name="name", question="Name of the account"),)

    def __init__(self, server: FakeServer, *, trust: Trust = Trust(), latency: float = 0.0) -> None:  # noqa: B008
        self.server = server
        self._trust = trust
        self._latency = latency

    def trust(self, account: Account) -> Trust:
        """As it was made."""
        return self._trust

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """Posts that are too long."""
        over = [place for place, text in enumerate(post.parts) if len(text) > LONGEST]
        return [Problem(message=f"It is longer than {LONGEST} characters.", part=place) for place in over]

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """A step for each post."""
        parts = enumerate(post.parts)
        steps = tuple(Step(keys=(uuid_key(seed, place),), body={"text": text}) for place, text in parts)
        return Intent(steps=steps, at=post.at)

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """An account by any name; it takes no key."""
        await self._meet_fault(None)
        account = Account(platform=self.name, server=server, id=given["name"], name=given["name"])
        return Connected(account=account, secrets={})

    async def check(self, account: Account) -> Account:
        """The account, unless the next fault is a login."""
        await self._meet_fault(None)
        return account

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """The next post of the thread."""
        step = intent.steps[len(made)]
        asked = (account.id, step.keys[0], str(step.body["text"]), made[-1].ids[0] if made else None)
        await self._meet_fault(asked)
        return _made(self.server.take(*asked))

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """The post with the step's key."""
        await self._meet_fault(None)
        key = intent.steps[len(made)].keys[0]
        found = [post for post in self.server.posts if post.key == key and post.account == account.id]
        return msgspec.structs.replace(_made(found[0]), evidence=Evidence.READ_BACK) if found else None

    async def delete(self, account: Account, made: Made) -> None:
        """Take the posts back."""
        await self._meet_fault(None)
        for post_id in made.ids:
            self.server.remove(post_id)

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """What the server was given for them."""
        await self._meet_fault(None)
        there = {post.id for post in self.server.posts}
        return {each: self.server.figures.get(each, Figures()) if each in there else None for each in ids}

    async def _meet_fault(self, asked: tuple[str, str, str, str | None] | None) -> None:
        """What happens to this request instead of an answer; nothing where it ends well."""
        await asyncio.sleep(self._latency)
        fault = self.server.faults.popleft() if self.server.faults else None
        if fault is None:
            return
        if fault in _MADE_NOTHING:
            kind, says = _MADE_NOTHING[fault]
            raise kind(says)
        if asked is not None and fault is Fault.CUT_AFTER:
            self.server.take(*asked)
        if asked is not None and fault is Fault.LATE:
            self.server.hold_back(*asked)
        raise UnknownOutcomeError("The connection broke before an answer came.")


_MADE_NOTHING: Mapping[Fault, tuple[type[PostingError], str]] = {
    Fault.NO_CONNECTION: (NotSentError, "There was no connection to the platform."),
    Fault.THROTTLED: (NotSentError, "The platform wants fewer requests."),
    Fault.REFUSED: (RefusedPostError, "The platform does not take this post."),
    Fault.LOGIN: (LoginError, "The platform does not know the account any more."),
}


def _made(post: FakePost) -> Made:
    return Made(ids=(post.id,), urls=(f"https://fake.example/{post.account}/{post.id}",))


def _line(post: FakePost) -> str:
    return json.dumps(msgspec.to_builtins(post)) + "\n"
