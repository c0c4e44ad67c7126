"""When a draft goes out, and when and where it went."""

from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from textual.content import Content

from copydesk.model.draft import ListedDraft, Status
from copydesk.model.posting import DeliveryReport
from copydesk.tui.browser import is_link
from copydesk.tui.cells import cell
from copydesk.tui.layout import Block, Table
from copydesk.tui.week_clock import day_shown
from copydesk.tui.words import ago


class Outgoing(NamedTuple):
    """What has to be asked for to say it."""

    zone: tzinfo | None = None
    """The user's; None while it is not known."""
    reports: Sequence[DeliveryReport] = ()


def when(draft: ListedDraft, now: datetime, outgoing: Outgoing) -> str:
    """The time of a scheduled draft on the user's clock, how long ago a posted one went; empty for all others."""
    if draft.status is Status.POSTED:
        # A row that was posted a moment ago is read again later than what became of it.
        went = draft.posted_at or max((each.sent_at for each in outgoing.reports if each.sent_at), default=None)
        return ago(went, now) if went else ""
    zone = outgoing.zone
    if draft.status in (Status.SCHEDULED, Status.MISSED) and draft.scheduled_at is not None and zone is not None:
        here = draft.scheduled_at.astimezone(zone)
        year = f" {here.year}" if here.year != now.astimezone(zone).year else ""
        return f"{day_shown(here.date())}{year} {here:%H:%M}"
    return ""


def links(reports: Sequence[DeliveryReport]) -> Iterator[Block]:
    """Where the posts are, a line for each account: of a thread its first."""
    found = [(each.account, next((post.url for post in each.posts if post.url), None)) for each in reports]
    rows = [
        (Content.styled(cell(account), "dim"), Content.styled(cell(url), "link" * is_link(url)))
        for account, url in found
        if url
    ]
    if rows:
        yield Table(rows)
