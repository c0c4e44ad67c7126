"""Drafts that would go out too close to each other."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from copydesk.model.wire import Struct

WINDOW = timedelta(minutes=30)
"""Either side, the ends included."""


class Standing(Struct, frozen=True):
    """A draft that is scheduled or being posted."""

    draft_id: str
    at: datetime


def bounds(at: datetime) -> tuple[datetime, datetime]:
    """The first and the last instant that conflict with `at`, both included."""
    return at - WINDOW, at + WINDOW


def conflicts(at: datetime, standing: Iterable[Standing], *, without: str | None = None) -> tuple[Standing, ...]:
    """The drafts within 30 minutes of `at`, in order of time; never the draft `without` itself."""
    first, last = bounds(at)
    close = [draft for draft in standing if draft.draft_id != without and first <= draft.at <= last]
    return tuple(sorted(close, key=lambda draft: (draft.at, draft.draft_id)))
