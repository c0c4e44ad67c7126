"""Drafts whose time has come: which are too late to be sent by themselves, and which of the others may go now."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from copydesk.model.draft import Format
from copydesk.model.wire import Struct

PACE = timedelta(minutes=5)
"""Between two posts of one account."""
GRACE: Mapping[Format, timedelta] = {
    Format.SHORT: timedelta(minutes=30),
    Format.THREAD: timedelta(minutes=30),
    Format.BLOG: timedelta(hours=24),
}
"""How late a draft may be and still be sent by itself, where the settings say nothing else."""


class Due(Struct, frozen=True):
    """A scheduled draft, and the accounts that it goes to."""

    draft_id: str
    format: Format
    at: datetime
    accounts: tuple[str, ...]


RETRYING = timedelta(hours=1)
"""For so long after its grace period something that was begun in time is tried again."""


def is_missed(at: datetime, format: Format, now: datetime, grace: Mapping[Format, timedelta] = GRACE) -> bool:
    """Whether a draft for `at` is late by more than the grace period of its format."""
    return now - at > grace[format]


def due_now(
    drafts: Iterable[Due],
    last_sent: Mapping[str, datetime],
    now: datetime,
    grace: Mapping[Format, timedelta] = GRACE,
) -> tuple[Due, ...]:
    """The drafts that may be sent now, oldest first: on each account at most one in five minutes.

    `last_sent` has the instant of each account's last post. Nothing whose time is still to come or that is missed is
    among them. A draft that must wait for one of its accounts keeps the others free of younger drafts, so that it
    is not overtaken for ever.
    """
    resting = {account for account, sent in last_sent.items() if _just_sent(sent, now)}
    going = []
    for draft in sorted(drafts, key=lambda draft: (draft.at, draft.draft_id)):
        if draft.at > now or is_missed(draft.at, draft.format, now, grace):
            continue
        if resting.isdisjoint(draft.accounts):
            going.append(draft)
        resting.update(draft.accounts)
    return tuple(going)


def _just_sent(sent: datetime, now: datetime) -> bool:
    # A post from the future is a clock that was wrong: it is asked about elsewhere, and must not hold back for years.
    return abs(now - sent) < PACE
