"""Grace periods: the delay with which a scheduled draft may still go out, from the settings."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from copydesk.model.delivery import DeliveryState
from copydesk.model.draft import Format
from copydesk.scheduling.due import RETRY_WINDOW
from copydesk.settings import Schedule
from copydesk.store.deliveries import DeliveryRow
from copydesk.store.jobs import MissedCutoffs
from copydesk.text.formatting import format_duration


def grace_periods(settings: Schedule) -> Mapping[Format, timedelta]:
    """Return for each format how late a draft may be and still go out automatically."""
    return {
        Format.SHORT: timedelta(minutes=settings.grace_short_minutes),
        Format.THREAD: timedelta(minutes=settings.grace_thread_minutes),
        Format.BLOG: timedelta(hours=settings.grace_blog_hours),
    }


def missed_cutoffs(settings: Schedule, now: datetime) -> MissedCutoffs:
    """Return for each format the time before which a draft that is still scheduled counts as missed."""
    periods = grace_periods(settings)
    return MissedCutoffs(
        short=now - periods[Format.SHORT],
        thread=now - periods[Format.THREAD],
        blog=now - periods[Format.BLOG],
        retry_window=RETRY_WINDOW,
    )


def expires_at(row: DeliveryRow, settings: Schedule) -> datetime | None:
    """Return the time after which a delivery is given up instead of sent; None if it never is.

    A delivery with a result, or one that may have arrived, never expires: it has to be completed.
    """
    progress = row.progress
    if progress.state is not DeliveryState.PLANNED or progress.results or progress.doubt:
        return None
    # Once the first request was sent, retries get extra time on top of the grace period.
    retry_allowance = RETRY_WINDOW if progress.first_sent_at else timedelta(0)
    return row.due_at + grace_periods(settings)[row.format] + retry_allowance


def expiry_reason(row: DeliveryRow, now: datetime, settings: Schedule) -> str:
    """Return the reason why a delivery may no longer be sent, or whose next attempt will be too late; else ""."""
    progress, until = row.progress, expires_at(row, settings)
    if until is None or max(now, progress.not_before or now) <= until:
        return ""
    grace = format_duration(grace_periods(settings)[row.format])
    if now > until:
        return f"Missed: more than {grace} late. Nothing was posted. {progress.error}".strip()
    assert progress.not_before is not None
    wait = format_duration(progress.not_before - now)
    return (
        f"{progress.error} The next attempt would be in {wait}, after the grace period of {grace}. Nothing was posted."
    )
