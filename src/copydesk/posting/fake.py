"""An in-process platform, for trying Copydesk without an account and for tests that need one to fail."""

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

from copydesk.model.platform import PlatformInfo
from copydesk.model.serialization import Struct
from copydesk.posting.platform import (
    Account,
    ConnectResult,
    DeliveryGuarantees,
    DeliveryStep,
    Evidence,
    Intent,
    LoginError,
    NotSentError,
    Post,
    PostImage,
    PostingError,
    PostMetrics,
    Problem,
    RefusedPostError,
    StepResult,
    UnknownOutcomeError,
    uuid_key,
)
from copydesk.posting.registry import SAMPLE_PLATFORM

MAX_LENGTH = 500
"""Characters of a post."""


class Fault(StrEnum):
    """Ways in which a request can fail."""

    NO_CONNECTION = "no_connection"
    THROTTLED = "throttled"
    REFUSED = "refused"
    LOGIN = "login"
    CUT_BEFORE = "cut_before"
    """The connection breaks and the request never arrives."""
    CUT_AFTER = "cut_after"
    """The request arrives and the response is lost."""
    LATE = "late"
    """The response is lost and the request arrives later, with `deliver_late_requests`."""


class FakePost(Struct, frozen=True):
    """A post as the server stores it."""

    id: str
    account: str
    key: str
    text: str
    parent: str | None = None


class FakeServer:
    """The platform's posts, in memory or in a file, which outlives the process that posts.

    `faults` are applied to the next requests, one each; None is a request that succeeds.
    """

    def __init__(self, path: Path | None = None, *, knows_keys: bool = False) -> None:
        self.knows_keys = knows_keys
        self.faults: deque[Fault | None] = deque()
        self.metrics: dict[str, PostMetrics] = {}
        self._path = path
        self._in_transit: list[FakePost] = []
        self._posts: list[FakePost] = []

    @property
    def posts(self) -> tuple[FakePost, ...]:
        """All posts in the order of their arrival."""
        if self._path is None:
            return tuple(self._posts)
        # Read the file every time: another process may have posted meanwhile.
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        return tuple(msgspec.json.decode(line, type=FakePost) for line in lines)

    def accept(self, account: str, key: str, text: str, parent: str | None) -> FakePost:
        """Store a post and return it; with `knows_keys`, return the existing post with this key instead."""
        existing = [post for post in self.posts if post.key == key and post.account == account]
        if self.knows_keys and existing:
            return existing[0]
        post = FakePost(id=f"{len(self.posts) + 1}", account=account, key=key, text=text, parent=parent)
        self._append(post)
        return post

    def delay(self, account: str, key: str, text: str, parent: str | None) -> None:
        """Keep a request in transit until `deliver_late_requests` is called."""
        self._in_transit.append(FakePost(id="", account=account, key=key, text=text, parent=parent))

    def deliver_late_requests(self) -> None:
        """Process all requests in transit."""
        while self._in_transit:
            post = self._in_transit.pop(0)
            self.accept(post.account, post.key, post.text, post.parent)

    def remove(self, post_id: str) -> None:
        """Delete a post, as its author would; an unknown id is no error."""
        remaining = [post for post in self.posts if post.id != post_id]
        self._posts = remaining
        if self._path is not None:
            self._path.write_text("".join(_to_json_line(post) for post in remaining), encoding="utf-8")

    def _append(self, post: FakePost) -> None:
        if self._path is None:
            self._posts.append(post)
            return
        # A single write per line: the process may be killed at any time, and the post is then stored or absent.
        with self._path.open("ab", buffering=0) as file:
            file.write(_to_json_line(post).encode())
            os.fsync(file.fileno())


class FakePlatform:
    """A platform over a `FakeServer`. Each request takes `latency` seconds."""

    info: ClassVar[PlatformInfo] = SAMPLE_PLATFORM

    def __init__(
        self,
        server: FakeServer,
        *,
        guarantees: DeliveryGuarantees = DeliveryGuarantees(),  # noqa: B008 - frozen
        latency: float = 0.0,
        fault_tags: Mapping[str, Fault] | None = None,
    ) -> None:
        self.server = server
        self._fault_tags = fault_tags or {}
        """Requests about a post that contains one of these texts fail in this way."""
        self._guarantees = guarantees
        self.latency = latency

    def guarantees(self, account: Account) -> DeliveryGuarantees:
        """Return the guarantees given to the constructor."""
        return self._guarantees

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return a problem for each part that is too long."""
        too_long = [index for index, text in enumerate(post.parts) if len(text) > MAX_LENGTH]
        return [Problem(message=f"Longer than {MAX_LENGTH} characters.", part=index) for index in too_long]

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return one step per post."""
        parts = enumerate(post.parts)
        steps = tuple(DeliveryStep(keys=(uuid_key(seed, index),), body={"text": text}) for index, text in parts)
        return Intent(steps=steps, at=post.at)

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        """Return an account with any name; no credentials are needed."""
        await self._apply_fault(None)
        account = Account(platform=self.info.name, server=server, id=credentials["name"], name=credentials["name"])
        return ConnectResult(account=account, credentials={})

    async def check(self, account: Account) -> Account:
        """Return the account unchanged, unless the next fault is `LOGIN`."""
        await self._apply_fault(None)
        return account

    async def send(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], images: Sequence[PostImage] = ()
    ) -> StepResult:
        """Create the next post of the thread."""
        step = intent.steps[len(completed)]
        request = (account.id, step.keys[0], str(step.body["text"]), completed[-1].ids[0] if completed else None)
        await self._apply_fault(request, request[2])
        return _step_result(self.server.accept(*request))

    async def find_post(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], since: datetime
    ) -> StepResult | None:
        """Return the post with the step's key."""
        step = intent.steps[len(completed)]
        await self._apply_fault(None, str(step.body["text"]))
        key = step.keys[0]
        matches = [post for post in self.server.posts if post.key == key and post.account == account.id]
        return msgspec.structs.replace(_step_result(matches[0]), evidence=Evidence.READ_BACK) if matches else None

    async def delete(self, account: Account, result: StepResult) -> None:
        """Delete the step's posts."""
        await self._apply_fault(None)
        for post_id in result.ids:
            self.server.remove(post_id)

    async def metrics(self, account: Account, ids: Sequence[str]) -> Mapping[str, PostMetrics | None]:
        """Return the metrics set on the server; None for deleted posts."""
        await self._apply_fault(None)
        existing_ids = {post.id for post in self.server.posts}
        return {
            post_id: self.server.metrics.get(post_id, PostMetrics()) if post_id in existing_ids else None
            for post_id in ids
        }

    async def _apply_fault(self, request: tuple[str, str, str, str | None] | None, text: str = "") -> None:
        """Apply the next fault to this request; return if there is none.

        `request` is the post of a write request, `text` that of the post that is written or looked up.
        """
        await asyncio.sleep(self.latency)
        tagged = next((fault for tag, fault in self._fault_tags.items() if tag in text), None)
        fault = self.server.faults.popleft() if self.server.faults else tagged
        if fault is None:
            return
        if fault in _NOT_CREATED:
            error_class, message = _NOT_CREATED[fault]
            raise error_class(message)
        # The request takes effect before the connection breaks.
        if request is not None and fault is Fault.CUT_AFTER:
            self.server.accept(*request)
        if request is not None and fault is Fault.LATE:
            self.server.delay(*request)
        raise UnknownOutcomeError("The connection was interrupted.")


_NOT_CREATED: Mapping[Fault, tuple[type[PostingError], str]] = {
    Fault.NO_CONNECTION: (NotSentError, "Cannot connect to the platform."),
    Fault.THROTTLED: (NotSentError, "The platform limits the rate of requests."),
    Fault.REFUSED: (RefusedPostError, "The platform rejected the post."),
    Fault.LOGIN: (LoginError, "The platform no longer recognizes the account."),
}


def _step_result(post: FakePost) -> StepResult:
    return StepResult(ids=(post.id,), urls=(f"https://fake.example/{post.account}/{post.id}",))


def _to_json_line(post: FakePost) -> str:
    return json.dumps(msgspec.to_builtins(post)) + "\n"
