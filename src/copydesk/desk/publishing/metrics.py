"""Read the metrics of published posts from their platforms: soon after publishing, then less and less often."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain, groupby

from copydesk.desk.accounts.credentials import login_error_hint
from copydesk.desk.context import DeskContext
from copydesk.desk.leases import account_lease
from copydesk.errors import CopydeskError, StoreError
from copydesk.model.delivery import ConnectedAccount, PostMetrics
from copydesk.model.experiment import METRICS_AGE_HOURS
from copydesk.posting.platform import LoginError, NotSentError
from copydesk.store import accounts, deliveries, engagement
from copydesk.store.database import Transaction
from copydesk.store.deliveries import DeliveryRow

log = logging.getLogger(__name__)
METRIC_READ_DELAYS = tuple(timedelta(hours=hours) for hours in (1, 6, 24, METRICS_AGE_HOURS, 7 * 24, 29 * 24))
"""Ages of a post at which metrics are read. X reports clicks for 30 days, so the last reading is on day 29."""
METRIC_RETRY_DELAY = timedelta(minutes=15)
"""Delay before a failed reading is retried, unless the platform names a time."""


def next_metrics_time(sent_at: datetime, now: datetime) -> datetime | None:
    """Return the time of a post's next metrics reading, or None after the last one."""
    return next((sent_at + after for after in METRIC_READ_DELAYS if sent_at + after > now), None)


async def collect_metrics(ctx: DeskContext) -> int:
    """Read all metrics that are due, in as few requests as each platform allows; return the number of posts."""
    due = await ctx.read(deliveries.list_due_for_metrics, ctx.clock())
    count = 0
    for account_id, rows in groupby(due, key=lambda row: row.account_id):
        count += await _collect_account(ctx, account_id, list(rows))
    return count


async def _collect_account(ctx: DeskContext, account_id: str | None, due: Sequence[DeliveryRow]) -> int:
    """Read the due posts of one account; posts without an id, or of a removed account, are not read again."""
    account = await ctx.read(accounts.get, account_id) if account_id else None
    by_post_id: dict[str, list[DeliveryRow]] = {}
    for row in due:
        if post_id := row.post_id:
            by_post_id.setdefault(post_id, []).append(row)
    unreadable = [row for row in due if account is None or row.post_id is None]
    # Clear their next reading, or they would be due forever.
    await ctx.write(_set_next_reading, unreadable, None)
    if account is None or not by_post_id:
        return 0
    async with account_lease(ctx, account.id) as claim_id:
        if claim_id is None:
            return 0  # the account is sending; the end of that job is followed by a tick
        return await _collect_posts(ctx, account, by_post_id)


async def _collect_posts(
    ctx: DeskContext, account: ConnectedAccount, by_post_id: Mapping[str, Sequence[DeliveryRow]]
) -> int:
    try:
        metrics = await ctx.platforms.get(account.details.platform).metrics(account.details, tuple(by_post_id))
    except Exception as error:
        if isinstance(error, StoreError):
            raise
        if isinstance(error, LoginError):
            await ctx.write(accounts.set_error, account, login_error_hint(error, account.details))
        if not isinstance(error, CopydeskError):  # a bug in one platform must not stop the others
            log.exception("Reading the figures of %s ended in an unexpected way", account.label)
        retry_at = error.retry_after if isinstance(error, NotSentError) else None
        await ctx.write(
            _set_next_reading,
            tuple(chain.from_iterable(by_post_id.values())),
            retry_at or ctx.clock() + METRIC_RETRY_DELAY,
        )
        return 0
    await ctx.write(_store_metrics, by_post_id, metrics, ctx.clock())
    return len(by_post_id)


def _store_metrics(
    conn: Transaction,
    user_id: str,
    by_post_id: Mapping[str, Sequence[DeliveryRow]],
    metrics_by_post: Mapping[str, PostMetrics | None],
    now: datetime,
) -> None:
    for post_id, row in ((post_id, row) for post_id, rows in by_post_id.items() for row in rows):
        metrics = metrics_by_post.get(post_id, PostMetrics())
        # None: the platform no longer has the post.
        if metrics is None:
            deliveries.mark_deleted_remotely(conn, user_id, row.id, now)
            continue
        if metrics != PostMetrics():
            engagement.save_metrics(conn, user_id, row.id, metrics, now)
        deliveries.schedule_metrics(conn, user_id, row.id, next_metrics_time(row.sent_at or now, now))


def _set_next_reading(conn: Transaction, user_id: str, due: Sequence[DeliveryRow], at: datetime | None) -> None:
    for row in due:
        deliveries.schedule_metrics(conn, user_id, row.id, at)
