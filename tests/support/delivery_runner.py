"""Take a delivery from its first request to its end, as a desk does, without real waiting."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from copydesk.posting.delivery_states import (
    FINAL_STATES,
    Delivery,
    DeliveryState,
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
from copydesk.posting.platform import (
    Account,
    Intent,
    LoginError,
    NotSentError,
    Platform,
    RefusedPostError,
    UnknownOutcomeError,
)

MAX_ACTIONS = 100


class ShiftedClock:
    """A clock that moves when told: `offset` from real time, or from `start`."""

    def __init__(self, start: datetime | None = None) -> None:
        self._start = start
        self.offset = timedelta(0)

    def __call__(self) -> datetime:
        return (self._start or datetime.now(UTC)) + self.offset

    def advance_to(self, until: datetime) -> None:
        """Move the clock to `until` unless that has passed."""
        self.offset += max(until - self(), timedelta(0))

    def to_server_time(self, time: datetime) -> datetime:
        """Convert `time` to the clock of a server on real time, or slightly earlier."""
        return time if self._start else time - self.offset


async def run_delivery(
    platform: Platform,
    account: Account,
    intent: Intent,
    clock: ShiftedClock,
    *,
    on_wait: Callable[[], object] = lambda: None,
) -> Delivery:
    """Return the delivery at its end. `on_wait` is called, and awaited, before the clock moves."""
    delivery = Delivery(steps=len(intent.steps))
    for _ in range(MAX_ACTIONS):
        if delivery.state in FINAL_STATES or delivery.state is DeliveryState.NEEDS_USER:
            return delivery
        action = next_action(delivery, step_guarantees(platform.guarantees(account), delivery, intent), clock())
        if action is NextAction.SEND:
            delivery = await _send(platform, account, intent, send_started(delivery, clock()), clock)
        elif action is NextAction.FIND:
            delivery = await _look_up(platform, account, intent, delivery, clock)
        else:
            awaitable = on_wait()
            if hasattr(awaitable, "__await__"):
                await awaitable
            assert delivery.not_before is not None
            clock.advance_to(delivery.not_before)
    raise AssertionError("It does not come to an end.")


async def _send(
    platform: Platform, account: Account, intent: Intent, delivery: Delivery, clock: ShiftedClock
) -> Delivery:
    try:
        return step_succeeded(delivery, await platform.send(account, intent, delivery.results))
    except RefusedPostError as error:
        return rejected(delivery, error.message)
    except NotSentError as error:
        return retry_later(delivery, error.message, clock(), jitter=0.5, retry_after=error.retry_after)
    except UnknownOutcomeError as error:
        return outcome_unknown(delivery, error.message)


async def _look_up(
    platform: Platform, account: Account, intent: Intent, delivery: Delivery, clock: ShiftedClock
) -> Delivery:
    guarantees = step_guarantees(platform.guarantees(account), delivery, intent)
    assert delivery.first_sent_at is not None
    since = clock.to_server_time(delivery.first_sent_at)
    try:
        found = await platform.find_post(account, intent, delivery.results, since)
    except (LoginError, NotSentError, UnknownOutcomeError) as error:
        return lookup_failed(delivery, guarantees, error.message, clock(), jitter=0.5)
    return step_succeeded(delivery, found) if found else not_found(delivery, guarantees, clock(), jitter=0.5)
