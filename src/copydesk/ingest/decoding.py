"""An answer in JSON, read with distrust: typed, capped, and one bad row never costs the others."""

import codecs
import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from copydesk.errors import NotAFeedError
from copydesk.ingest.dates import EARLIEST
from copydesk.ingest.entry import MAX_COUNT

T = TypeVar("T")


def decode(body: bytes, kind: type[T], whose: str) -> T:
    """`body` as `kind`. Numbers may come as strings; fields that are not known are passed over.

    Raises NotAFeedError, which names `whose` answer it is.
    """
    try:
        return msgspec.json.decode(body.removeprefix(codecs.BOM_UTF8), type=kind, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotAFeedError(f"{whose} answered with something else than expected ({_reason(error)}).") from None


def rows(raws: Sequence[msgspec.Raw], kind: type[T], whose: str) -> list[T]:
    """Those of `raws` that are of `kind`. Raises NotAFeedError where there are some, but none is."""
    good: list[T] = []
    for raw in raws:
        with contextlib.suppress(NotAFeedError):
            good.append(decode(bytes(raw), kind, whose))
    if raws and not good:
        raise NotAFeedError(f"{whose} answered with a list in which nothing is as expected.")
    return good


def count(value: int | None) -> int | None:
    """A figure, kept within what a database stores."""
    return None if value is None else max(-MAX_COUNT, min(value, MAX_COUNT))


def moment(seconds: float | None) -> datetime | None:
    """The time so many seconds after 1970; None for one that cannot be, as in the dates of feeds."""
    try:
        found = datetime.fromtimestamp(seconds or 0, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return found if found.year >= EARLIEST else None


def _reason(error: Exception) -> str:
    return "it nests too deep" if isinstance(error, RecursionError) else str(error)[:100]
