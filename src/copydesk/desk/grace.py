"""How late a scheduled draft may be, as the settings say."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from copydesk.model.draft import Format
from copydesk.settings import Schedule
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
