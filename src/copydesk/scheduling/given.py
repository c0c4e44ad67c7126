"""The rules for a time that somebody gives for a draft to go out."""

from datetime import UTC, datetime, timedelta

from copydesk.errors import FieldError, InvalidError
from copydesk.model.wire import iso

FARTHEST = timedelta(days=5 * 366)
"""Nobody plans a post for the year 9999; a slip of the finger does."""


def given_time(at: datetime, now: datetime, *, field: str = "scheduledAt") -> datetime:
    """`at` in UTC. Raises InvalidError where it has no offset, is not in the future, or is over five years ahead."""
    if at.utcoffset() is None:
        raise InvalidError(FieldError(field, "needs an offset from UTC, as in 2026-11-30T14:30:00+01:00 or with a Z"))
    # Compared before it is converted: the last hours of the year 9999 have no UTC.
    if at > now + FARTHEST:
        raise InvalidError(FieldError(field, "is more than five years ahead"))
    if at <= now:
        raise InvalidError(FieldError(field, f"is not in the future: it is {iso(now)} now"))
    return at.astimezone(UTC)
