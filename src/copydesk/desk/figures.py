"""Reads what the platforms report of posts: soon after they are out, and then less and less often."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain, groupby

from sqlalchemy import Connection

from copydesk.desk.claiming import claimed
from copydesk.desk.ground import Ground
from copydesk.desk.keys import trouble_of
from copydesk.errors import CopydeskError, StoreError
from copydesk.model.account import ConnectedAccount
from copydesk.model.delivery import Figures
from copydesk.posting.platform import LoginError, NotSentError
from copydesk.store import accounts, deliveries, delivery_changes, engagement
from copydesk.store.deliveries import KeptDelivery

log = logging.getLogger(__name__)
READINGS = tuple(timedelta(hours=hours) for hours in (1, 6, 24, 3 * 24, 7 * 24, 29 * 24))
"""After a post is out. X tells of clicks for 30 days, so the last reading is on the 29th."""
LATER = timedelta(minutes=15)
"""Until the next try, where the platform does not say when."""


def next_reading(sent_at: datetime, now: datetime) -> datetime | None:
    """When the figures of a post are read next; None after the last reading."""
    return next((sent_at + after for after in READINGS if sent_at + after > now), None)


async def read_figures(ground: Ground) -> int:
    """Read the figures that are due, in as few requests as each platform allows; of how many posts."""
    due = await ground.read(deliveries.to_measure, ground.clock())
    read = 0
    for account_id, some in groupby(due, key=lambda kept: kept.account_id):
        read += await _of_account(ground, account_id, list(some))
    return read


async def _of_account(ground: Ground, account_id: str | None, due: Sequence[KeptDelivery]) -> int:
    """The posts of one account: a removed one, or one without ids, is asked for nothing again."""
    account = await ground.read(accounts.one, account_id) if account_id else None
    named: dict[str, list[KeptDelivery]] = {}
    for kept in due:
        if post_id := _post_id(kept):
            named.setdefault(post_id, []).append(kept)
    others = [kept for kept in due if account is None or _post_id(kept) is None]
    await ground.write(_asked_later, others, None)
    if account is None or not named:
        return 0
    async with claimed(ground, account.id) as claim_id:
        if claim_id is None:
            return 0  # something is being sent there; the next look comes soon
        return await _read(ground, account, named)


async def _read(ground: Ground, account: ConnectedAccount, named: Mapping[str, Sequence[KeptDelivery]]) -> int:
    try:
        found = await ground.platform(account.details.platform).figures(account.details, tuple(named))
    except Exception as error:
        if isinstance(error, StoreError):
            raise
        if isinstance(error, LoginError):
            await ground.write(accounts.set_trouble, account, trouble_of(error, account.details))
        if not isinstance(error, CopydeskError):  # one platform's fault keeps no other one from being read
            log.exception("Reading the figures of %s ended in an unexpected way", account.label)
        later = error.retry_after if isinstance(error, NotSentError) else None
        await ground.write(_asked_later, tuple(chain.from_iterable(named.values())), later or ground.clock() + LATER)
        return 0
    await ground.write(_kept, named, found, ground.clock())
    return len(named)


def _post_id(kept: KeptDelivery) -> str | None:
    """The post that people answer to: the first one of a thread."""
    visible = kept.progress.seen(kept.intent)
    return visible[0].ids[0] if visible and visible[0].ids else None


def _kept(
    conn: Connection,
    user_id: str,
    named: Mapping[str, Sequence[KeptDelivery]],
    found: Mapping[str, Figures | None],
    now: datetime,
) -> None:
    for post_id, kept in ((post_id, kept) for post_id, some in named.items() for kept in some):
        figures = found.get(post_id, Figures())
        if figures is None:
            delivery_changes.gone(conn, user_id, kept.id, now)
            continue
        if figures != Figures():
            engagement.measured(conn, user_id, kept.id, figures, now)
        delivery_changes.read_at(conn, user_id, kept.id, next_reading(kept.sent_at or now, now))


def _asked_later(conn: Connection, user_id: str, due: Sequence[KeptDelivery], at: datetime | None) -> None:
    for kept in due:
        delivery_changes.read_at(conn, user_id, kept.id, at)
