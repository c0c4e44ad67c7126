"""Take a delivery from its first request to its end, as a desk does, without real waiting."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from copydesk.posting.delivery import (
    ENDED,
    Delivery,
    Move,
    State,
    absent,
    lost,
    made_step,
    next_move,
    not_found_out,
    not_sent,
    refused,
    sent_now,
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

MOST_MOVES = 100


class Clock:
    """A clock that moves when told: `offset` from real time, or from `start`."""

    def __init__(self, start: datetime | None = None) -> None:
        self._start = start
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        return (self._start or datetime.now(UTC)) + self.ahead

    def wait(self, until: datetime) -> None:
        """Move the clock to `until` unless that has passed."""
        self.ahead += max(until - self(), timedelta(0))

    def in_the_world(self, moment: datetime) -> datetime:
        """Convert `time` to the clock of a server on real time, or slightly earlier."""
        return moment if self._start else moment - self.ahead


async def run(
    platform: Platform, account: Account, intent: Intent, clock: Clock, *, waiting: Callable[[], object] = lambda: None
) -> Delivery:
    """Return the delivery at its end. `on_wait` is called, and awaited, before the clock moves."""
    delivery = Delivery(steps=len(intent.steps))
    for _ in range(MOST_MOVES):
        if delivery.state in ENDED or delivery.state is State.NEEDS_USER:
            return delivery
        action = next_move(delivery, platform.trust(account), clock())
        if action is Move.SEND:
            delivery = await _send(platform, account, intent, sent_now(delivery, clock()), clock)
        elif action is Move.LOOK:
            delivery = await _look_up(platform, account, intent, delivery, clock)
        else:
            awaitable = waiting()
            if hasattr(awaitable, "__await__"):
                await awaitable
            assert delivery.not_before is not None
            clock.wait(delivery.not_before)
    raise AssertionError("It does not come to an end.")


async def _send(platform: Platform, account: Account, intent: Intent, delivery: Delivery, clock: Clock) -> Delivery:
    try:
        return made_step(delivery, await platform.send(account, intent, delivery.made))
    except RefusedPostError as error:
        return refused(delivery, error.message)
    except NotSentError as error:
        return not_sent(delivery, error.message, clock(), jitter=0.5, retry_after=error.retry_after)
    except UnknownOutcomeError as error:
        return lost(delivery, error.message)


async def _look_up(platform: Platform, account: Account, intent: Intent, delivery: Delivery, clock: Clock) -> Delivery:
    guarantees = platform.trust(account)
    assert delivery.first_sent_at is not None
    since = clock.in_the_world(delivery.first_sent_at)
    try:
        found = await platform.look_up(account, intent, delivery.made, since)
    except (LoginError, NotSentError, UnknownOutcomeError) as error:
        return not_found_out(delivery, guarantees, error.message, clock(), jitter=0.5)
    return made_step(delivery, found) if found else absent(delivery, guarantees, clock(), jitter=0.5)
