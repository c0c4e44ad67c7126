"""Short ids: the ends of ids. UUIDv7 begin with their time, so those of one day begin alike and end differently."""

import re
from collections.abc import Collection, Iterable
from enum import StrEnum
from itertools import pairwise, takewhile
from typing import Final

from copydesk.model.serialization import Struct

MIN_END_LENGTH: Final = 4
"""Characters of the shortest end that is accepted for an id."""
SHORT_ID_LENGTH: Final = 6
"""Characters of a short id, or more where ids end alike. With fewer it would soon be the end of a newer id too."""
ID_LENGTH: Final = 36
_END = re.compile(f"[0-9a-f-]{{1,{ID_LENGTH}}}")


class IdKind(StrEnum):
    """The kind of record that an id belongs to."""

    SOURCE = "source"
    ITEM = "item"
    DRAFT = "draft"
    DELIVERY = "delivery"
    RUN = "run"
    EXPERIMENT = "experiment"
    WEBHOOK = "webhook"
    TOKEN = "token"  # noqa: S105 - a kind, not a secret


class IdMatch(Struct, frozen=True):
    """An id, and what a user recognizes it by."""

    id: str
    short_id: str
    status: str
    text: str


def parse_end(text: str) -> str | None:
    """Return the end of an id in its canonical form; None if no id ends like this, or it is a whole id."""
    end = text.strip().lower()
    return end if len(end) < ID_LENGTH and _END.fullmatch(end) else None


def short_id_length(ids: Collection[str], similar: Iterable[str]) -> int:
    """Return the number of last characters that tell each of `ids` from all others and from those in `similar`."""
    # In this order, the id with the longest common end is beside it.
    by_end = sorted(one_id[::-1] for one_id in {*ids, *similar})
    shared = [_count_shared(*pair) for pair in pairwise(by_end) if any(end[::-1] in ids for end in pair)]
    return max((SHORT_ID_LENGTH, *(length + 1 for length in shared)))


def _count_shared(one: str, other: str) -> int:
    """Return the number of characters that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=True)))
