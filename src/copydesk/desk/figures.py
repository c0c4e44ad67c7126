"""Collect the metrics of published posts from the platforms: soon after publishing, then less and less often."""

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
"""Ages of a post at which metrics are read. X reports clicks for 30 days, so the last reading is on day 29."""
LATER = timedelta(minutes=15)
"""Delay before a failed reading is retried, unless the platform names a time."""


def next_reading(sent_at: datetime, now: datetime) -> datetime | None:
    """Return the time of a post's next metrics reading, or None after the last one."""
    return next((sent_at + after for after in READINGS if sent_at + after > now), None)


async def read_figures(ground: Ground) -> int:
    """Read all metrics that are due, in as few requests as each platform allows; return the number of posts."""
    due = await ground.read(deliveries.to_measure, ground.clock())
    count = 0
    for account_id, rows in groupby(due, key=lambda row: row.account_id):
        count += await _collect_account(ground, account_id, list(rows))
    return count


async def _collect_account(ctx: Ground, account_id: str | None, due: Sequence[KeptDelivery]) -> int:
    """Read the due posts of one account; posts without an id, or of a removed account, are not read again."""
    account = await ctx.read(accounts.one, account_id) if account_id else None
    by_post_id: dict[str, list[KeptDelivery]] = {}
    for row in due:
        if post_id := _post_id(row):
            by_post_id.setdefault(post_id, []).append(row)
    unreadable = [row for row in due if account is None or _post_id(row) is None]
    # Clear their next reading, or they would be due forever.
    await ctx.write(_set_next_reading, unreadable, None)
    if account is None or not by_post_id:
        return 0
    async with claimed(ctx, account.id) as claim_id:
        if claim_id is None:
            return 0  # the account is sending; the next tick comes soon
        return await _collect_posts(ctx, account, by_post_id)


async def _collect_posts(
    ctx: Ground, account: ConnectedAccount, by_post_id: Mapping[str, Sequence[KeptDelivery]]
) -> int:
    try:
        metrics = await ctx.platform(account.details.platform).figures(account.details, tuple(by_post_id))
    except Exception as error:
        if isinstance(error, StoreError):
            raise
        if isinstance(error, LoginError):
            await ctx.write(accounts.set_trouble, account, trouble_of(error, account.details))
        if not isinstance(error, CopydeskError):  # a bug in one platform must not stop the others
            log.exception("Reading the figures of %s ended in an unexpected way", account.label)
        retry_at = error.retry_after if isinstance(error, NotSentError) else None
        await ctx.write(
            _set_next_reading, tuple(chain.from_iterable(by_post_id.values())), retry_at or ctx.clock() + LATER
        )
        return 0
    await ctx.write(_store_metrics, by_post_id, metrics, ctx.clock())
    return len(by_post_id)


def _post_id(row: KeptDelivery) -> str | None:
    """Return the id of the post people react to: the first of a thread."""
    visible = row.progress.seen(row.intent)
    return visible[0].ids[0] if visible and visible[0].ids else None


def _store_metrics(
    conn: Connection,
    user_id: str,
    by_post_id: Mapping[str, Sequence[KeptDelivery]],
    metrics_by_post: Mapping[str, Figures | None],
    now: datetime,
) -> None:
    for post_id, row in ((post_id, row) for post_id, rows in by_post_id.items() for row in rows):
        metrics = metrics_by_post.get(post_id, Figures())
        # None: the platform no longer has the post.
        if metrics is None:
            delivery_changes.gone(conn, user_id, row.id, now)
            continue
        if metrics != Figures():
            engagement.measured(conn, user_id, row.id, metrics, now)
        delivery_changes.read_at(conn, user_id, row.id, next_reading(row.sent_at or now, now))


def _set_next_reading(conn: Connection, user_id: str, due: Sequence[KeptDelivery], at: datetime | None) -> None:
    for row in due:
        delivery_changes.read_at(conn, user_id, row.id, at)
