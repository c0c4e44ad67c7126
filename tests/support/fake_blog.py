"""Shared by the fake blogs: faults, late requests, and a sender that takes a delivery to its end."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from email.parser import BytesParser
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qs

import httpx
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.posting.delivery_states import (
    FINAL_STATES,
    Delivery,
    DeliveryState,
    NextAction,
    interrupted,
    is_final_lookup,
    lookup_failed,
    next_action,
    not_found,
    outcome_unknown,
    rejected,
    retry_later,
    send_started,
    step_guarantees,
    step_succeeded,
)
from copydesk.posting.platform import (
    Account,
    Intent,
    LoginError,
    NotSentError,
    Platform,
    Post,
    PostImage,
    RefusedPostError,
    UnknownOutcomeError,
)

SECOND = timedelta(seconds=1)
SEED = "019c465e-6f00-7000-8000-000000000000"
TEXT = "# Tea & *steam*\n\nFirst, `boil` it.\n\n<script>alert(1)</script>\n"
IMAGE = PostImage(content=b"\x89PNG\r\n\x00--picture", media_type="image/png", width=2, height=1, alt='A "cup"')

Json = dict[str, Any]


def make_post(at: datetime, text: str = TEXT, *, title: str = "", tags: tuple[str, ...] = ()) -> Post:
    """Return an article as approved."""
    return Post(format=Format.BLOG, parts=(text,), at=at, title=title, tags=tags)


class FakeClock:
    """A clock that stands still until it is set."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class InMemorySecrets:
    """Secrets in memory."""

    def __init__(self, **secrets: str) -> None:
        self.secrets: Mapping[str, str] = secrets

    async def read(self, account: Account) -> Mapping[str, str]:
        return self.secrets

    async def save(self, account: Account, secrets: Mapping[str, str]) -> None:
        self.secrets = secrets


class Fault(StrEnum):
    """A fault of one request."""

    NO_CONNECTION = "no connection"
    THROTTLED = "throttled"
    REFUSED = "refused"
    CUT_BEFORE = "cut before"
    CUT_AFTER = "cut after"
    LATE = "late"
    BROKEN_AFTER = "500 after"
    GARBAGE_AFTER = "garbage after"
    KILLED_AFTER = "killed after"


LOST_ANSWERS = frozenset(Fault) - {Fault.NO_CONNECTION, Fault.THROTTLED, Fault.REFUSED}
"""Faults after which the sender does not know whether its request succeeded."""


class KilledError(Exception):
    """The sender was killed in the middle of a request."""


class FakeBlog(httpx.AsyncBaseTransport):
    """Applies faults and delays to requests; subclasses implement the platform's rules in `respond`."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.posts: list[Json] = []
        self.faults: deque[Fault | None] = deque()
        self.requests: list[httpx.Request] = []
        self._late: list[tuple[datetime, httpx.Request]] = []

    @property
    def published(self) -> list[Json]:
        """The posts that are public."""
        return [post for post in self.posts if post["status"] == "publish"]

    def respond(self, request: httpx.Request) -> httpx.Response:
        """Apply the platform's rules to a request and return the response."""
        raise NotImplementedError

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.deliver_late()
        self.requests.append(request)
        fault = self.faults.popleft() if self.faults else None
        if fault is Fault.NO_CONNECTION:
            raise httpx.ConnectError("refused")
        if fault is Fault.THROTTLED:
            return httpx.Response(429, headers={"retry-after": "60"})
        if fault is Fault.REFUSED:
            return error_response(422, "It does not please.")
        if fault is Fault.LATE:
            self._late.append((self.clock.now + 70 * SECOND, request))
        if fault in (Fault.LATE, Fault.CUT_BEFORE):
            raise httpx.ReadTimeout("no answer")
        response = self.respond(request)
        if fault is Fault.CUT_AFTER:
            raise httpx.ReadError("cut")
        if fault is Fault.KILLED_AFTER:
            raise KilledError
        if fault is Fault.BROKEN_AFTER:
            return error_response(500, "Something broke.")
        return httpx.Response(200, text="<html>") if fault is Fault.GARBAGE_AFTER else response

    def deliver_late(self) -> None:
        """Process the late requests that are due."""
        for due, request in list(self._late):
            if due <= self.clock.now:
                self._late.remove((due, request))
                self.respond(request)

    def unique_slug(self, requested: str) -> str:
        """Return the requested slug, with the next free number if it is taken."""
        taken, number, slug = {post["slug"] for post in self.posts}, 2, requested
        while slug in taken:
            slug, number = f"{requested}-{number}", number + 1
        return slug


def error_response(status: int, message: str, **more: object) -> httpx.Response:
    """Return an error response that holds the message in every platform's field."""
    return httpx.Response(status, json={"message": message, "error": message, **more})


def query_params(request: httpx.Request) -> dict[str, str]:
    """Return the query parameters of a request."""
    return {name: values[0] for name, values in parse_qs(request.url.query.decode()).items()}


def form_fields(request: httpx.Request) -> Json:
    """Return the fields of a multipart form, parsed with the standard library."""
    headers = f"content-type: {request.headers['content-type']}\r\n\r\n".encode()
    parts = BytesParser().parsebytes(headers + request.content).get_payload()
    assert isinstance(parts, list)
    fields: Json = {}
    for part in parts:
        content = part.get_payload(decode=True)
        name = part.get_param("name", header="content-disposition")
        fields[name] = content if part.get_filename() else content.decode()
        if part.get_filename():
            fields["filename"] = part.get_filename()
    return fields


fault_sequences = st.lists(st.sampled_from([None, None, *Fault]), max_size=14)
"""The faults of a delivery's requests, in order; None is a request without one."""


async def deliver(
    platform: Platform,
    account: Account,
    intent: Intent,
    clock: FakeClock,
    check: Callable[[], None],
    delivery: Delivery | None = None,
) -> Delivery:
    """Take a delivery to its end as a sender would. `check` is called after each action."""
    delivery = delivery or Delivery(steps=len(intent.steps))
    for _ in range(80):
        guarantees = step_guarantees(platform.guarantees(account), delivery, intent)
        action = next_action(delivery, guarantees, clock.now)
        if action is NextAction.SEND:
            delivery = await _send(platform, account, intent, send_started(delivery, clock.now), clock.now)
        elif action is NextAction.FIND:
            delivery = await _look_up(platform, account, intent, delivery, clock.now)
        check()
        if delivery.state in FINAL_STATES or delivery.state is DeliveryState.NEEDS_USER:
            return delivery
        clock.now = max(clock.now + SECOND, delivery.not_before or clock.now)
    raise AssertionError(delivery)


def assert_outcome_is_known(delivery: Delivery, faults: Sequence[Fault | None], *, published: bool) -> None:
    """Assert that the delivery is sent exactly if its post is published; only a lost answer may leave that open."""
    if delivery.state is DeliveryState.NEEDS_USER:
        assert LOST_ANSWERS & set(faults)
    else:
        assert (delivery.state is DeliveryState.SENT) == published


async def _send(platform: Platform, account: Account, intent: Intent, delivery: Delivery, now: datetime) -> Delivery:
    try:
        return step_succeeded(delivery, await platform.send(account, intent, delivery.results))
    except KilledError:
        return interrupted(delivery)
    except RefusedPostError as error:
        return rejected(delivery, error.message)
    except (NotSentError, LoginError) as error:
        retry_after = error.retry_after if isinstance(error, NotSentError) else None
        return retry_later(delivery, error.message, now, jitter=0.5, retry_after=retry_after)
    except UnknownOutcomeError as error:
        return outcome_unknown(delivery, error.message)


async def _look_up(platform: Platform, account: Account, intent: Intent, delivery: Delivery, now: datetime) -> Delivery:
    trust = step_guarantees(platform.guarantees(account), delivery, intent)
    assert delivery.first_sent_at is not None
    try:
        found = await platform.find_post(account, intent, delivery.results, delivery.first_sent_at)
    except KilledError:
        return delivery
    except (NotSentError, LoginError, UnknownOutcomeError) as error:
        is_final = is_final_lookup(delivery, error, error.message)
        return lookup_failed(delivery, trust, error.message, now, jitter=0.5, is_final=is_final)
    return step_succeeded(delivery, found) if found else not_found(delivery, trust, now, jitter=0.5)
