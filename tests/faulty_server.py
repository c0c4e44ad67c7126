"""A server with faults before a platform's own rules, its clock, secrets in memory, and a driver of deliveries."""

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import httpx

from copydesk.posting.delivery import (
    Delivery,
    Move,
    absent,
    lost,
    made_step,
    next_move,
    not_found_out,
    not_sent,
    refused,
    sent_now,
)
from copydesk.posting.http import Caller
from copydesk.posting.platform import Account, LoginError, NotSentError, RefusedPostError, UnknownOutcomeError

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
SEED = "019c465e-6f00-7000-8000-000000000000"
FAULTS = ("refused", "cut_before", "cut_after", "late", "500", "500_after", "429", "garbage", "none", "none")


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


class KeptSecrets:
    """Secrets in memory; `saved` has every saved version."""

    def __init__(self, **held: str) -> None:
        self.held = dict(held)
        self.kept: list[dict[str, str]] = []

    async def read(self, account: Account) -> Mapping[str, str]:
        if not self.held:
            raise LoginError("There is no key.")
        return dict(self.held)

    async def keep(self, account: Account, secrets: Mapping[str, str]) -> None:
        self.held = dict(secrets)
        self.kept.append(dict(secrets))


class FaultyServer:
    """Applies `faults` to the next requests, one each. `respond` implements the platform's rules."""

    LATEST = 80
    """Seconds until a late request arrives."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.faults: deque[str] = deque()
        self.requests: list[httpx.Request] = []
        self.late: list[tuple[datetime, httpx.Request]] = []

    @property
    def caller(self) -> Caller:
        return Caller(httpx.MockTransport(self.take), asking=5)

    def answer(self, request: httpx.Request) -> httpx.Response:
        raise NotImplementedError

    def take(self, request: httpx.Request) -> httpx.Response:
        self.arrive()
        self.requests.append(request)
        fault = self.faults.popleft() if self.faults else "none"
        if fault == "refused":
            raise httpx.ConnectError("refused")
        if fault == "late" and request.method == "POST":
            self.late.append((self.clock.now + timedelta(seconds=self.LATEST), request))
        if fault in ("late", "cut_before"):
            raise httpx.ReadError("cut")
        if fault == "429":
            return httpx.Response(429, headers={"retry-after": "60"})
        if fault == "500":
            return httpx.Response(500)
        response = self.answer(request)
        if fault == "cut_after":
            raise httpx.ReadError("cut")
        if fault == "500_after":
            return httpx.Response(502, content=b"<html>")
        return httpx.Response(200, content=b"<html>") if fault == "garbage" else response

    def arrive(self, *, everything: bool = False) -> None:
        """Process the late requests that are due, or all of them."""
        for due, request in list(self.late):
            if everything or due <= self.clock.now:
                self.late.remove((due, request))
                self.answer(request)


async def delivered(platform, account, intent, clock, *, moves=60, jitter=0.5, fresh=None) -> Delivery:
    """Take a delivery to its end, or until it waits for the user, as the desk does.

    `make_platform` creates the platform anew for each action, as after a crash.
    """
    delivery = Delivery(steps=len(intent.steps))
    for _ in range(moves):
        platform = fresh() if fresh else platform
        guarantees = platform.trust(account)
        action = next_move(delivery, guarantees, clock.now)
        if action is Move.WAIT:
            if delivery.not_before is None:
                break
            clock.now = delivery.not_before
        elif action is Move.SEND:
            delivery = await _send(platform, account, intent, sent_now(delivery, clock.now), clock, jitter)
        else:
            delivery = await _look_up(platform, account, intent, delivery, guarantees, clock, jitter)
    return delivery


async def _send(platform, account, intent, delivery, clock, jitter) -> Delivery:
    try:
        result = await platform.send(account, intent, delivery.made)
    except RefusedPostError as error:
        return refused(delivery, error.message)
    except (LoginError, NotSentError) as error:
        retry_after = getattr(error, "retry_after", None)
        return not_sent(delivery, error.message, clock.now, jitter=jitter, retry_after=retry_after)
    except UnknownOutcomeError as error:
        return lost(delivery, error.message)
    return made_step(delivery, result)


async def _look_up(platform, account, intent, delivery, guarantees, clock, jitter) -> Delivery:
    try:
        found = await platform.look_up(account, intent, delivery.made, delivery.first_sent_at)
    except (LoginError, NotSentError, UnknownOutcomeError) as error:
        retry_after = getattr(error, "retry_after", None)
        return not_found_out(delivery, guarantees, error.message, clock.now, jitter=jitter, retry_after=retry_after)
    return made_step(delivery, found) if found else absent(delivery, guarantees, clock.now, jitter=jitter)
