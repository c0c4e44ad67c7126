"""Select due drafts: those that are too late to be sent automatically, and those that may be sent now."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from copydesk.model.draft import Format
from copydesk.model.serialization import Struct

MIN_POST_INTERVAL = timedelta(minutes=5)
"""Minimum time between two posts of one account."""
DEFAULT_GRACE: Mapping[Format, timedelta] = {
    Format.SHORT: timedelta(minutes=30),
    Format.THREAD: timedelta(minutes=30),
    Format.BLOG: timedelta(hours=24),
}
"""Default lateness up to which a draft is still sent automatically."""


class DueDraft(Struct, frozen=True):
    """A scheduled draft and its accounts."""

    draft_id: str
    format: Format
    at: datetime
    accounts: tuple[str, ...]


RETRY_WINDOW = timedelta(hours=1)
"""Time after the grace period during which a delivery that started in time is still retried."""


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

    `last_sent` maps accounts to the time of their last post. Drafts that are not due yet or missed are left out. A
    draft that waits for one of its accounts also blocks its other accounts for younger drafts, so that it is not
    overtaken for ever.
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
