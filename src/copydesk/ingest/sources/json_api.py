"""JSON responses of web APIs, decoded defensively: typed and bounded, and one bad row never costs the others."""

import codecs
import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from copydesk.errors import NotAFeedError
from copydesk.ingest.dates import EARLIEST_YEAR
from copydesk.ingest.entries import MAX_COUNT

T = TypeVar("T")


def decode(body: bytes, kind: type[T], service: str) -> T:
    """Decode `body` as `kind`. Numbers may be strings; unknown fields are ignored.

    `service` names the sender in the error. Raise NotAFeedError if it does not match.
    """
    try:
        # msgspec refuses a byte order mark.
        return msgspec.json.decode(body.removeprefix(codecs.BOM_UTF8), type=kind, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotAFeedError(f"{service} returned an unexpected response ({_reason(error)}).") from None


def decode_list(items: Sequence[msgspec.Raw], kind: type[T], service: str) -> list[T]:
    """Return the items that match `kind`, decoded. Raise NotAFeedError if there are items but none matches."""
    decoded: list[T] = []
    for raw in items:
        with contextlib.suppress(NotAFeedError):
            decoded.append(decode(bytes(raw), kind, service))
    if items and not decoded:
        raise NotAFeedError(f"{service} returned a list without valid entries.")
    return decoded


def clamp_count(value: int | None) -> int | None:
    """Return a count limited to ±`MAX_COUNT`, so that any database column holds it."""
    return None if value is None else max(-MAX_COUNT, min(value, MAX_COUNT))


def parse_timestamp(seconds: float | None) -> datetime | None:
    """Return the UTC time of a Unix timestamp, None if it is missing or implausible (see `parse_date`)."""
    try:
        parsed = datetime.fromtimestamp(seconds or 0, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return parsed if parsed.year >= EARLIEST_YEAR else None


def _reason(error: Exception) -> str:
    return "it nests too deep" if isinstance(error, RecursionError) else str(error)[:100]
