"""How late a scheduled draft may be, as the settings say."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from copydesk.model.delivery import State
from copydesk.model.draft import Format
from copydesk.scheduling.late import RETRYING
from copydesk.settings import Schedule
from copydesk.store.deliveries import KeptDelivery
from copydesk.store.jobs import Limits


def grace(settings: Schedule) -> Mapping[Format, timedelta]:
    """For each format, how late a draft may be and still go out by itself."""
    return {
        Format.SHORT: timedelta(minutes=settings.grace_short_minutes),
        Format.THREAD: timedelta(minutes=settings.grace_thread_minutes),
        Format.BLOG: timedelta(hours=settings.grace_blog_hours),
    }


def late_before(settings: Schedule, now: datetime) -> Limits:
    """For each format, the instant before which a draft that still stands as scheduled is missed."""
    each = grace(settings)
    return Limits(short=now - each[Format.SHORT], thread=now - each[Format.THREAD], blog=now - each[Format.BLOG])


def too_late(kept: KeptDelivery, now: datetime, settings: Schedule) -> str:
    """Why a delivery of which nothing is there, nor can be, does not go out any more; empty where it still may."""
    progress = kept.progress
    if progress.state is not State.PLANNED or progress.made or progress.doubt:
        return ""
    late = grace(settings)[kept.format]
    begun = RETRYING if progress.first_sent_at else timedelta(0)
    if now - kept.due_at <= late + begun:
        return ""
    return f"It was late by more than {in_words(late)}; nothing was sent. {progress.error}".strip()


def in_words(span: timedelta) -> str:
    """A span of whole minutes: `30 minutes`, `24 hours`."""
    minutes = span // timedelta(minutes=1)
    amount, unit = (minutes // 60, "hour") if minutes % 60 == 0 and minutes > 60 else (minutes, "minute")
    return f"{amount} {unit}" if amount == 1 else f"{amount} {unit}s"
