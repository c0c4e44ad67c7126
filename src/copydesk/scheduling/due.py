"""Select due drafts: those that are too late to be sent automatically, and those that may be sent now.

Jumps of the wall clock are detected too, so that nothing is sent by a wrong clock before the user has been asked. Two
readings of the wall clock are compared with a monotonic clock. That should count the time that the machine sleeps:
CLOCK_BOOTTIME on Linux, CLOCK_MONOTONIC on macOS. Then every difference is a jump. Linux's CLOCK_MONOTONIC, which
`time.monotonic` reads, stops during sleep: by such a clock a wall clock that ran ahead is most likely a laptop that was
closed, which is no reason to ask. It does not count as a jump, and the grace period alone decides what is still sent. A
wall clock that went back is a jump by either clock.

A reboot resets the monotonic clock. Then only `clock_lag` can tell: the wall clock is before the last recorded event.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from copydesk.model.draft import Format
from copydesk.model.serialization import Struct

MIN_POST_INTERVAL = timedelta(minutes=4, seconds=50)
"""Minimum time between two posts of one account: five minutes, less the time by which the first may be late, so that a
draft due five minutes after another goes out on time.
"""
DEFAULT_GRACE: Mapping[Format, timedelta] = {
    Format.SHORT: timedelta(minutes=30),
    Format.THREAD: timedelta(minutes=30),
    Format.BLOG: timedelta(hours=24),
}
"""Default lateness up to which a draft is still sent automatically."""

RETRY_WINDOW = timedelta(hours=1)
"""Time after the grace period during which a delivery that started in time is still retried."""

CLOCK_TOLERANCE = timedelta(seconds=60)
"""More than a running clock is ever corrected by, less than would send a draft at a wrong time."""
ZERO = timedelta(0)


class DueDraft(Struct, frozen=True):
    """A scheduled draft and its accounts."""

    draft_id: str
    format: Format
    at: datetime
    accounts: tuple[str, ...]
    lacks_approvals: bool = False
    """An account asks for more approvals than the draft has; it has no accounts until then."""


def is_missed(at: datetime, format: Format, now: datetime, grace: Mapping[Format, timedelta] = DEFAULT_GRACE) -> bool:
    """Return True if a draft scheduled for `at` is later than its format's grace period."""
    return now - at > grace[format]


def select_due(
    drafts: Iterable[DueDraft],
    last_sent: Mapping[str, datetime],
    now: datetime,
    grace: Mapping[Format, timedelta] = DEFAULT_GRACE,
) -> tuple[DueDraft, ...]:
    """Return the drafts that may be sent now, oldest first: at most one per account in five minutes.

    `last_sent` maps accounts to the time of their last post, or of a retry to come. Drafts that are not due yet or
    missed are left out. A draft that waits for one of its accounts also blocks its other accounts for younger drafts,
    so that it is not overtaken for ever.
    """
    busy_accounts = {account for account, sent_at in last_sent.items() if _is_paced(sent_at, now)}
    selected = []
    # The id breaks ties, so that two processes select the same drafts.
    for draft in sorted(drafts, key=lambda draft: (draft.at, draft.draft_id)):
        if draft.at > now or is_missed(draft.at, draft.format, now, grace):
            continue
        if busy_accounts.isdisjoint(draft.accounts):
            selected.append(draft)
        # Also for a draft that waits: otherwise younger drafts could pass it again and again.
        busy_accounts.update(draft.accounts)
    return tuple(selected)


def _is_paced(sent_at: datetime, now: datetime) -> bool:
    # abs(): a post in the future comes from a wrong clock, which is handled elsewhere; it must not block the account
    # for years.
    return abs(now - sent_at) < MIN_POST_INTERVAL


class ClockReading(Struct, frozen=True):
    """Both clocks, read together."""

    wall: datetime
    monotonic: float
    """Seconds since an instant that is fixed while the machine runs."""
    counts_sleep: bool
    """True if the monotonic clock runs while the machine sleeps."""


def clock_jump(then: ClockReading, now: ClockReading) -> timedelta:
    """Return how far the wall clock jumped between two readings of one boot; zero if it did not. Positive is forward.

    Pass as `then` the first reading, or the one that the user last confirmed: compared with the previous reading, many
    small shifts would go unnoticed.
    """
    elapsed = timedelta(seconds=now.monotonic - then.monotonic)
    difference = (now.wall - then.wall) - elapsed
    if abs(difference) <= CLOCK_TOLERANCE:
        return ZERO
    may_have_slept = difference > ZERO and not (then.counts_sleep and now.counts_sleep)
    return ZERO if may_have_slept else difference


def clock_lag(wall: datetime, last_event: datetime) -> timedelta:
    """Return how far the wall clock is before the last recorded event; zero if it is not."""
    lag = last_event - wall
    return lag if lag > CLOCK_TOLERANCE else ZERO
