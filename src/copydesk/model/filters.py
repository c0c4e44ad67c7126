"""Filters of draft lists with their validation, the counts of drafts, the tabs of the review queue, and search queries.

In a search query, `ferry "new line" harb* -strike`, all words must occur. Words in quotation marks must be adjacent, a
trailing star matches any ending, a leading minus excludes. Everything else is plain text and never reaches the database
as syntax.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict

import msgspec
from msgspec.structs import replace

from copydesk.errors import FieldError, InvalidError
from copydesk.model.draft import MANUAL, TO_REVIEW, Format, ListedDraft, Status
from copydesk.model.serialization import Struct
from copydesk.model.validation import FieldReader, storage_problem

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

MAX_TAGS, MAX_TAG_LENGTH, MAX_ID_LENGTH = 20, 50, 100

# A quoted tag, or everything up to the next comma.
_TAG = re.compile(r'\s*(?:"((?:[^"]|"")*)"(?=\s*(?:,|\Z))|([^,]*))\s*(?:,|\Z)')

MAX_SORTED: Final = 10_000
"""Drafts of a tab up to which it can be put in an order that no index gives; these are sorted for each page of rows."""

MAX_QUERY_LENGTH: Final = 500
MAX_QUERY_WORDS: Final = 32
MIN_PREFIX_LENGTH: Final = 2
"""Characters required before a star: a single one would match a large part of the index."""

_TERM = re.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))(?P<star>\*?)')
_QUERY_FIELD = "query"


class Archived(StrEnum):
    """Treatment of archived drafts in a list."""

    EXCLUDE = "exclude"
    ONLY = "only"
    INCLUDE = "include"


class Filters(Struct, frozen=True):
    """Filters of a draft list; all that are given must match."""

    status: tuple[Status, ...] = ()
    """In one of these states."""
    format: Format | None = None
    source_id: str | None = None
    source_type: str | None = None
    """Name of a source type, or `manual` for drafts without a source."""
    tags: tuple[str, ...] = ()
    """With all of these tags."""
    scheduled_after: datetime | None = None
    """Inclusive."""
    scheduled_before: datetime | None = None
    """Exclusive, so that adjacent windows share no draft."""
    archived: Archived = Archived.INCLUDE


_WIRE_NAMES = {field.name: field.encode_name for field in msgspec.structs.fields(Filters)}


class DraftCounts(Struct, frozen=True):
    """Numbers of drafts."""

    by_status: dict[Status, int]
    """Drafts that are not archived; contains every status."""
    archived: int
    """In any status."""

    def total_in(self, statuses: Iterable[Status]) -> int:
        """Return the number of drafts in these states that are not archived."""
        return sum(self.by_status[status] for status in statuses)


class FilterParams(TypedDict, total=False):
    """Filters as keyword arguments, by their Python names: `list(status="approved", tags=["sea"])`.

    Strings are accepted for enumerations. A single status or tag needs no sequence; a string of tags is split at
    commas, as on the wire, where a tag that contains one is quoted. None is no filter.
    """

    status: str | Sequence[str] | None
    format: str | None
    source_id: str | None
    source_type: str | None
    tags: str | Sequence[str] | None
    scheduled_after: datetime | str | None
    scheduled_before: datetime | str | None
    archived: str | None


def validate_filters(params: FilterParams, source_types: Iterable[str]) -> Filters:
    """Return the validated filters. Raise InvalidError with every invalid field.

    `source_types` are the names that `source_type` may have besides MANUAL.
    """
    if not params:
        return Filters()
    reader = FieldReader(Filters, _wire_fields(params))
    values = {
        "status": _statuses(reader, params.get("status")),
        "format": reader.choice("format", Format),
        "source_id": reader.text("sourceId", MAX_ID_LENGTH),
        "source_type": reader.option("sourceType", (*source_types, MANUAL)),
        "tags": reader.texts("tags", MAX_TAGS, MAX_TAG_LENGTH),
        "scheduled_after": _time(reader, "scheduledAfter", params.get("scheduled_after")),
        "scheduled_before": _time(reader, "scheduledBefore", params.get("scheduled_before")),
        "archived": reader.choice("archived", Archived) or Archived.INCLUDE,
    }
    reader.raise_if_invalid()
    return msgspec.structs.replace(Filters(), **values)


def _wire_fields(narrowed: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters by their names on the wire, under which `FieldReader` reads and reports them."""
    fields = {_WIRE_NAMES.get(name, name): value for name, value in narrowed.items()}
    if isinstance(tags := fields.get("tags"), str):
        fields["tags"] = split_tags(tags)
    return fields


def split_tags(line: str) -> list[str]:
    """Split at commas, except inside quotes: `sea,"Smith, John"`. A quote in quotes is doubled."""
    tags = (match[2] if match[1] is None else match[1].replace('""', '"') for match in _TAG.finditer(line))
    return [tag for tag in map(str.strip, tags) if tag]


def _statuses(reader: FieldReader, value: object) -> tuple[Status, ...]:
    if isinstance(value, str):
        status = reader.choice("status", Status)
        return (status,) if status else ()
    return reader.choices("status", Status, len(Status)) if value else ()


def _time(reader: FieldReader, name: str, value: object) -> datetime | None:
    """Return a time in UTC, or None. Unlike in scheduling, past times are allowed."""
    if value is None:
        return None
    try:
        time = msgspec.convert(value, datetime)
    except msgspec.ValidationError:
        reader.add_problem(name, "takes a time like 2026-11-20T15:04:05Z")
        return None
    if time.utcoffset() is None:
        reader.add_problem(name, "needs a UTC offset, such as Z or +01:00")
        return None
    try:
        return time.astimezone(UTC)
    # The first and last hours of the calendar may have no equivalent in UTC.
    except OverflowError:
        reader.add_problem(name, "is outside the supported date range")
        return None


class Tab(StrEnum):
    """The tabs, in order."""

    TO_REVIEW = "to_review"
    APPROVED = "approved"
    SCHEDULED = "scheduled"
    POSTED = "posted"
    MISSED = "missed"
    REJECTED = "rejected"
    FAILED = "failed"
    ALL = "all"
    """Drafts in any state that are not archived."""
    ARCHIVED = "archived"
    """Archived drafts in any state, which no other tab contains."""


class Order(StrEnum):
    """Order of a tab's drafts. Ties are resolved by id."""

    BEST = "best"
    """Highest score first; drafts without a score last."""
    NEWEST = "newest"
    OLDEST = "oldest"
    CONFIDENT = "confident"
    """Highest confidence first."""
    SOURCE = "source"
    """By source, in the order in which the sources were added; drafts without a source come first."""
    SOONEST = "soonest"
    """By scheduled time; drafts being posted without one come first."""


TAB_STATUSES: Final[Mapping[Tab, tuple[Status, ...]]] = {
    Tab.TO_REVIEW: TO_REVIEW,
    Tab.APPROVED: (Status.APPROVED,),
    # Being posted is the end of being scheduled: the draft stays in sight until it is done.
    Tab.SCHEDULED: (Status.SCHEDULED, Status.POSTING),
    Tab.POSTED: (Status.POSTED,),
    Tab.MISSED: (Status.MISSED,),
    Tab.REJECTED: (Status.REJECTED,),
    Tab.FAILED: (Status.GENERATION_FAILED,),
    Tab.ALL: (),
    Tab.ARCHIVED: (),
}
"""Statuses of a tab's drafts; an empty tuple means any."""
_ORDERS: Final = {Tab.TO_REVIEW: Order.BEST, Tab.SCHEDULED: Order.SOONEST}


ASCENDING: Final = frozenset({Order.OLDEST, Order.SOURCE, Order.SOONEST})
"""The orders in which the lowest key or id comes first."""


def get_order(tab: Tab) -> Order:
    """Return the usual order of the tab's drafts."""
    return _ORDERS.get(tab, Order.NEWEST)


def list_orders(tab: Tab, count: int = 0) -> tuple[Order, ...]:
    """Return the orders of the tab's drafts, the usual one first; with more than MAX_SORTED those that an index gives.

    `count` is the number of its drafts.
    """
    orders = dict.fromkeys((get_order(tab), Order.BEST, Order.NEWEST, Order.OLDEST, Order.CONFIDENT, Order.SOURCE))
    return tuple(order for order in orders if count <= MAX_SORTED or has_index(tab, order))


def has_index(tab: Tab, order: Order) -> bool:
    """Return True if an index gives the tab's drafts in this order."""
    match order:
        case Order.CONFIDENT | Order.SOURCE:
            return tab is Tab.TO_REVIEW
        case Order.BEST:
            return bool(TAB_STATUSES[tab])
    return True


def tab_contains(tab: Tab, draft: ListedDraft) -> bool:
    """Return True if the tab contains the draft."""
    if (draft.archived_at is not None) is not (tab is Tab.ARCHIVED):
        return False
    return not TAB_STATUSES[tab] or draft.status in TAB_STATUSES[tab]


def count_in_tab(tab: Tab, counts: DraftCounts) -> int:
    """Return the number of drafts in the tab."""
    if tab is Tab.ARCHIVED:
        return counts.archived
    return counts.total_in(TAB_STATUSES[tab] or Status)


class DraftView(Struct, frozen=True, forbid_unknown_fields=True):
    """A tab with filters; all that are given must match."""

    tab: Tab = Tab.TO_REVIEW
    format: Format | None = None
    source_id: str | None = None
    tags: tuple[str, ...] = ()
    """With all of these tags."""
    by_agent: bool = False
    """Only drafts that agents proposed."""
    query: str = ""
    """A search that is being typed, see `copydesk.model.filters`; "" for none."""
    sort: Order | None = None
    """One of `list_orders`; None for the usual order of the tab."""

    @property
    def order(self) -> Order:
        """The order of the drafts; search results are newest first."""
        return Order.NEWEST if self.query else self.sort or get_order(self.tab)

    @property
    def is_filtered(self) -> bool:
        """True if a filter or search is set."""
        return bool(self.format or self.source_id or self.tags or self.by_agent or self.query)


class DraftPosition(NamedTuple):
    """Position of a draft in its tab's order."""

    key: float | str | None
    """The value sorted by, or None if the draft has none or the order is by id alone.

    Depending on the order: the score, the confidence, the id of the source, the scheduled time in microseconds since
    1970, or for a search in a file the number of the draft's row.
    """
    id: str


class DraftSlice(NamedTuple):
    """Consecutive drafts of a view, in its order."""

    drafts: tuple[ListedDraft, ...]
    positions: tuple[DraftPosition, ...]
    """Position of each draft."""
    has_more: bool
    """True if there are more in the direction of reading."""


class SliceAround(NamedTuple):
    """A view's drafts around a position."""

    slice: DraftSlice
    before: int
    """Number of drafts before the first one of the slice."""


TIMED_TABS = frozenset({Tab.SCHEDULED, Tab.MISSED, Tab.POSTED})
"""Tabs whose rows show the time at which a draft is or was published; the others show its age."""


class LoadedView(NamedTuple):
    """The first drafts of a view or those around a position, and what is known about all drafts at that time."""

    event_number: int
    """Number of draft events so far."""
    newest_id: str
    """The newest draft; empty without drafts."""
    counts: DraftCounts
    rows: SliceAround
    zone: "ZoneInfo | None"
    """The user's time zone, for the tabs of TIMED_TABS."""


class RefreshedDrafts(NamedTuple):
    """Drafts as they are now, and what is known about the others."""

    drafts: tuple[ListedDraft, ...]
    counts: DraftCounts
    new_count: int
    """Number of drafts of the view that are newer than the one that was the newest."""
    zone: "ZoneInfo | None"
    """The user's time zone, for the tabs of TIMED_TABS."""


def precedes(order: Order, one: DraftPosition, other: DraftPosition) -> bool:
    """Return True if a draft at `one` comes before one at `other`."""
    # A missing key sorts last in the descending orders and first in the ascending ones.
    missing = "" if order is Order.SOURCE else 0
    key, other_key = (
        (position.key is not None, missing if position.key is None else position.key, position.id)
        for position in (one, other)
    )
    return key < other_key if order in ASCENDING else key > other_key


class Term(Struct, frozen=True):
    """Adjacent words to search for."""

    text: str
    """As typed, without operators. The database folds it in the same way as the indexed text."""
    tokens: tuple[str, ...]
    """Folded here, for matching outside the database."""
    is_prefix: bool = False
    """True if the last word is a prefix."""
    excluded: bool = False


class Query(Struct, frozen=True):
    """The terms of a search; at least one of them is not excluded."""

    terms: tuple[Term, ...]


def parse_query(text: object, *, incomplete: bool = False) -> Query:
    """Parse the query. With `incomplete`, the last word is a prefix, unless it is quoted or excluded.

    Use `incomplete` while the query is being typed. Raise InvalidError (`query`) if `text` is not a string or has no
    word to search for, for more than MAX_QUERY_LENGTH characters or MAX_QUERY_WORDS words, and for a prefix of fewer
    than MIN_PREFIX_LENGTH characters.
    """
    if not isinstance(text, str):
        raise _invalid_query("takes text")
    if len(text) > MAX_QUERY_LENGTH:
        raise _invalid_query(f"takes at most {MAX_QUERY_LENGTH} characters, not {len(text):,}")
    if problem := storage_problem(text):
        raise _invalid_query(problem)
    # Drop terms without letters and digits, such as a lone dash.
    terms = tuple(term for match in _TERM.finditer(text) if (term := _term(match)).tokens)
    if all(term.excluded for term in terms):
        raise _invalid_query("needs a search word" + (" besides the excluded ones" if terms else ""))
    if sum(len(term.tokens) for term in terms) > MAX_QUERY_WORDS:
        raise _invalid_query(f"takes at most {MAX_QUERY_WORDS} words")
    for term in terms:
        if term.is_prefix and len(term.tokens[-1]) < MIN_PREFIX_LENGTH:
            raise _invalid_query(f"takes at least {MIN_PREFIX_LENGTH} characters before a star")
    if incomplete and not text.rstrip().endswith('"'):
        terms = (*terms[:-1], _as_prefix(terms[-1]))
    return Query(terms=terms)


def tokenize(text: str) -> tuple[str, ...]:
    """Return the words of `text`, case-folded: runs of letters and digits, without case and accents."""
    decomposed = unicodedata.normalize("NFD", text.casefold())
    base = "".join(char for char in decomposed if not unicodedata.combining(char))
    return tuple("".join(char if char.isalnum() else " " for char in base).split())


def contains_term(tokens: tuple[str, ...], term: Term) -> bool:
    """Return True if the term's words occur in `tokens` next to each other."""
    size = len(term.tokens)
    *whole, last = term.tokens
    for start in range(len(tokens) - size + 1):
        *leading, final = tokens[start : start + size]
        if leading == whole and (final.startswith(last) if term.is_prefix else final == last):
            return True
    return False


def _term(match: re.Match[str]) -> Term:
    word = match["word"]
    text = match["phrase"] if word is None else word
    # The pattern of a bare word consumes its star; `tokenize` drops any other star.
    open_end = bool(match["star"]) or (word is not None and word.endswith("*"))
    return Term(text=text, tokens=tokenize(text), is_prefix=open_end, excluded=bool(match["minus"]))


def _as_prefix(term: Term) -> Term:
    # Excluding a prefix while it is being typed would hide results that the complete word does not exclude.
    if term.excluded or len(term.tokens[-1]) < MIN_PREFIX_LENGTH:
        return term
    return replace(term, is_prefix=True)


def _invalid_query(message: str) -> InvalidError:
    return InvalidError(FieldError(_QUERY_FIELD, message))
