"""A server that misbehaves in front of a platform's own rules, the clock that both live by, and a place for secrets."""

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
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


class KeptSecrets:
    """Secrets in memory, and every time that they were kept."""

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
    """What happens to the next requests is in `faults`, one each; `answer` is what the platform does with them."""

    LATEST = 80
    """Seconds until a late request arrives, at most."""

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
        answer = self.answer(request)
        if fault == "cut_after":
            raise httpx.ReadError("cut")
        if fault == "500_after":
            return httpx.Response(502, content=b"<html>")
        return httpx.Response(200, content=b"<html>") if fault == "garbage" else answer

    def arrive(self, *, everything: bool = False) -> None:
        """What was on its way is there now."""
        for due, request in list(self.late):
            if everything or due <= self.clock.now:
                self.late.remove((due, request))
                self.answer(request)


async def delivered(platform, account, intent, clock, *, moves=60, jitter=0.5, fresh=None) -> Delivery:
    """Drive a delivery as the desk does, until it ends, or waits for the user. `fresh` makes the platform anew for each
    move, as after a crash."""
    delivery = Delivery(steps=len(intent.steps))
    for _ in range(moves):
        platform = fresh() if fresh else platform
        trust = platform.trust(account)
        move = next_move(delivery, trust, clock.now)
        if move is Move.WAIT:
            if delivery.not_before is None:
                break
            clock.now = delivery.not_before
        elif move is Move.SEND:
            delivery = await _sent(platform, account, intent, sent_now(delivery, clock.now), clock, jitter)
        else:
            delivery = await _looked(platform, account, intent, delivery, trust, clock, jitter)
    return delivery


async def _sent(platform, account, intent, delivery, clock, jitter) -> Delivery:
    try:
        made = await platform.send(account, intent, delivery.made)
    except RefusedPostError as error:
        return refused(delivery, error.message)
    except (LoginError, NotSentError) as error:
        after = getattr(error, "retry_after", None)
        return not_sent(delivery, error.message, clock.now, jitter=jitter, retry_after=after)
    except UnknownOutcomeError as error:
        return lost(delivery, error.message)
    return made_step(delivery, made)


async def _looked(platform, account, intent, delivery, trust, clock, jitter) -> Delivery:
    try:
        found = await platform.look_up(account, intent, delivery.made, delivery.first_sent_at)
    except (LoginError, NotSentError, UnknownOutcomeError) as error:
        after = getattr(error, "retry_after", None)
        return not_found_out(delivery, trust, error.message, clock.now, jitter=jitter, retry_after=after)
    return made_step(delivery, found) if found else absent(delivery, trust, clock.now, jitter=jitter)
