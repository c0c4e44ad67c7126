"""When a draft goes out, or when and where it was posted."""

from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from textual.content import Content

from copydesk.model.draft import ListedDraft, Status
from copydesk.model.posting import DeliveryReport
from copydesk.tui.browser import is_link
from copydesk.tui.cells import safe_line
from copydesk.tui.layout import Block, Table
from copydesk.tui.week_clock import format_day
from copydesk.tui.words import format_ago


class DeliveryInfo(NamedTuple):
    """Data about a draft's delivery that its row does not hold."""

    zone: tzinfo | None = None
    """The user's time zone; None until it is loaded."""
    reports: Sequence[DeliveryReport] = ()


def format_delivery_time(draft: ListedDraft, now: datetime, delivery: DeliveryInfo) -> str:
    """Return the time of a scheduled draft in the user's zone, or how long ago a posted one was sent.

    Empty for all other drafts, and while the zone is not loaded.
    """
    if draft.status is Status.POSTED:
        # Right after posting the reports are newer than the row, which has no `posted_at` yet.
        sent_at = draft.posted_at or max(
            (report.sent_at for report in delivery.reports if report.sent_at), default=None
        )
        return format_ago(sent_at, now) if sent_at else ""
    zone = delivery.zone
    if draft.status in (Status.SCHEDULED, Status.MISSED) and draft.scheduled_at is not None and zone is not None:
        local = draft.scheduled_at.astimezone(zone)
        year = f" {local.year}" if local.year != now.astimezone(zone).year else ""
        return f"{format_day(local.date())}{year} {local:%H:%M}"
    return ""


def post_links(reports: Sequence[DeliveryReport]) -> Iterator[Block]:
    """Yield a table with the link of the first post per account."""
    urls = [(report.account, next((post.url for post in report.posts if post.url), None)) for report in reports]
    rows = [
        (Content.styled(safe_line(account), "dim"), Content.styled(safe_line(url), "link" * is_link(url)))
        for account, url in urls
        if url
    ]
    if rows:
        yield Table(rows)
