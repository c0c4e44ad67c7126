"""A server with faults before a platform's own rules, its clock, secrets in memory, and a driver of deliveries."""

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import httpx

from copydesk.posting.client import PlatformClient
from copydesk.posting.delivery_states import (
    Delivery,
    NextAction,
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
from copydesk.posting.platform import Account, LoginError, NotSentError, RefusedPostError, UnknownOutcomeError

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
SEED = "019c465e-6f00-7000-8000-000000000000"
FAULTS = ("refused", "cut_before", "cut_after", "late", "500", "500_after", "429", "garbage", "none", "none")


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


class RecordingSecrets:
    """Secrets in memory; `saved` has every saved version that differs from the one before."""

    def __init__(self, **held: str) -> None:
        self.secrets = dict(held)
        self.saved: list[dict[str, str]] = []
        self.full: deque[bool] = deque()
        """For each of the next saves, True if the disk is full."""

    async def read(self, account: Account) -> Mapping[str, str]:
        if not self.secrets:
            raise LoginError("There is no key.")
        return dict(self.secrets)

    async def save(self, account: Account, secrets: Mapping[str, str]) -> None:
        if self.full and self.full.popleft():
            raise NotSentError("No space left on device.")
        if self.secrets != secrets:
            self.saved.append(dict(secrets))
        self.secrets = dict(secrets)


class FaultyServer:
    """Applies `faults` to the next requests, one each. `respond` implements the platform's rules."""

    LATE_DELAY = 80
    """Seconds until a late request arrives."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.faults: deque[str] = deque()
        self.requests: list[httpx.Request] = []
        self.late_requests: list[tuple[datetime, httpx.Request]] = []

    @property
    def client(self) -> PlatformClient:
        return PlatformClient(httpx.MockTransport(self.handle), timeout=5)

    def respond(self, request: httpx.Request) -> httpx.Response:
        raise NotImplementedError

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.deliver_late()
        self.requests.append(request)
        fault = self.faults.popleft() if self.faults else "none"
        if fault == "refused":
            raise httpx.ConnectError("refused")
        if fault == "late" and request.method == "POST":
            self.late_requests.append((self.clock.now + timedelta(seconds=self.LATE_DELAY), request))
        if fault in ("late", "cut_before"):
            raise httpx.ReadError("cut")
        if fault == "429":
            return httpx.Response(429, headers={"retry-after": "60"})
        if fault == "500":
            return httpx.Response(500)
        response = self.respond(request)
        if fault == "cut_after":
            raise httpx.ReadError("cut")
        if fault == "500_after":
            return httpx.Response(502, content=b"<html>")
        return httpx.Response(200, content=b"<html>") if fault == "garbage" else response

    def deliver_late(self, *, everything: bool = False) -> None:
        """Process the late requests that are due, or all of them."""
        for due, request in list(self.late_requests):
            if everything or due <= self.clock.now:
                self.late_requests.remove((due, request))
                self.respond(request)


async def run_delivery(platform, account, intent, clock, *, max_actions=60, jitter=0.5, make_platform=None) -> Delivery:
    """Take a delivery to its end, or until it waits for the user, as the desk does.

    `make_platform` creates the platform anew for each action, as after a crash.
    """
    delivery = Delivery(steps=len(intent.steps))
    for _ in range(max_actions):
        platform = make_platform() if make_platform else platform
        guarantees = step_guarantees(platform.guarantees(account), delivery, intent)
        action = next_action(delivery, guarantees, clock.now)
        if action is NextAction.WAIT:
            if delivery.not_before is None:
                break
            clock.now = delivery.not_before
        elif action is NextAction.SEND:
            delivery = await _send(platform, account, intent, send_started(delivery, clock.now), clock, jitter)
        else:
            delivery = await _look_up(platform, account, intent, delivery, guarantees, clock, jitter)
    return delivery


async def _send(platform, account, intent, delivery, clock, jitter) -> Delivery:
    try:
        result = await platform.send(account, intent, delivery.results)
    except RefusedPostError as error:
        return rejected(delivery, error.message)
    except (LoginError, NotSentError) as error:
        retry_after = getattr(error, "retry_after", None)
        return retry_later(delivery, error.message, clock.now, jitter=jitter, retry_after=retry_after)
    except UnknownOutcomeError as error:
        return outcome_unknown(delivery, error.message)
    return step_succeeded(delivery, result)


async def _look_up(platform, account, intent, delivery, guarantees, clock, jitter) -> Delivery:
    try:
        found = await platform.find_post(account, intent, delivery.results, delivery.first_sent_at)
    except (LoginError, NotSentError, UnknownOutcomeError) as error:
        retry_after = getattr(error, "retry_after", None)
        return lookup_failed(delivery, guarantees, error.message, clock.now, jitter=jitter, retry_after=retry_after)
    return step_succeeded(delivery, found) if found else not_found(delivery, guarantees, clock.now, jitter=jitter)
