"""Hydrate `ListedDraft` from raw rows, and load the review queue, without SQLAlchemy.

SQLAlchemy's result processing takes far longer, and importing it takes longer than drawing the whole console.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec

from copydesk.errors import StoreCorruptError
from copydesk.model.draft import (
    MANUAL,
    Agent,
    Checks,
    Draft,
    DraftImage,
    DraftItem,
    DraftSource,
    DraftVariant,
    Format,
    ImageSource,
    ListedDraft,
    Score,
    Status,
    Trace,
)

D = TypeVar("D")


class Driver(Protocol):
    """A connection of sqlite3, or one to a server with the same method."""

    def execute(self, sql: str, parameters: Any, /) -> Iterable[Sequence[Any]]:
        """Execute a statement; return its rows."""


_FROM_OTHER_TABLES = {"tags", "images", "proposed_images", "variants", "items"}
DRAFT_COLUMNS: Final = tuple(name for name in Draft.__struct_fields__ if name not in _FROM_OTHER_TABLES)
"""The columns with a draft's own fields. In a list its row goes on with the item's title, its source's type and when it
was published."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# Dicts, because calling an enum class takes ten times as long.
_IMAGE_SOURCES = {kind.value: kind for kind in ImageSource}
FORMATS = {kind.value: kind for kind in Format}
STATUSES = {status.value: status for status in Status}
_platforms = msgspec.json.Decoder(tuple[str, ...]).decode
_checks = msgspec.json.Decoder(Checks).decode
_sentences = msgspec.json.Decoder(tuple[Trace, ...]).decode
_score = msgspec.json.Decoder(Score).decode
_agent = msgspec.json.Decoder(Agent).decode

_UNREADABLE = (ValueError, LookupError, TypeError, msgspec.MsgspecError)


def hydrate(driver: Driver, user_id: str, rows: Sequence[Sequence[Any]]) -> tuple[ListedDraft, ...]:
    """Return the drafts for the rows of a list, with what other tables hold of them.

    Raise StoreCorruptError for an invalid value.
    """
    return build_drafts(driver, user_id, rows, _draft)


def query_by_ids(driver: Driver, user_id: str, ids: Sequence[str]) -> Callable[[], tuple[ListedDraft, ...]]:
    """Send the queries for drafts; return what waits for those of them that exist, once, and raises as `hydrate`."""
    among, values = _among(driver, ids)
    with in_one_round_trip(driver):
        rows = driver.execute(_drafts_sql(among), (user_id, *values))
        others = _select_others(driver, user_id, ids)
    return lambda: _combine(list(rows), others, _draft)


def build_drafts(driver: Driver, user_id: str, rows: Sequence[Sequence[Any]], build: Callable[..., D]) -> tuple[D, ...]:
    """Return `build(row, images, tags, items, variants)` of each row of a list. Raise as `hydrate` does."""
    if not rows:
        return ()
    with in_one_round_trip(driver):
        # Only a BLOG has several items.
        has_items = any(row[2] == Format.BLOG.value for row in rows)
        others = _select_others(driver, user_id, [row[0] for row in rows], has_items=has_items)
    return _combine(rows, others, build)


def in_one_round_trip(driver: Driver) -> AbstractContextManager[object]:
    """Send what is executed in the block to a server at once; its rows can be read after the block."""
    batch: Callable[[], AbstractContextManager[object]] = getattr(driver, "batch", nullcontext)
    return batch()


class _OtherRows(NamedTuple):
    """Rows of other tables that belong to drafts."""

    images: Iterable[Sequence[Any]]
    tags: Iterable[Sequence[Any]]
    items: Iterable[Sequence[Any]]
    variants: Iterable[Sequence[Any]]


def _select_others(driver: Driver, user_id: str, ids: Sequence[str], *, has_items: bool = True) -> _OtherRows:
    among, values = _among(driver, ids)
    parameters = (user_id, *values)
    return _OtherRows(
        driver.execute(_images_sql(among), parameters),
        driver.execute(_tags_sql(among), parameters),
        driver.execute(_items_sql(among), parameters) if has_items else (),
        driver.execute(_variants_sql(among), parameters),
    )


def _among(driver: Driver, ids: Sequence[str]) -> tuple[str, Sequence[object]]:
    """Return the condition that a column has one of the ids, and its parameters."""
    if getattr(driver, "takes_lists", False):
        # One statement for any number: the driver and the server read it once. A hundred parameters take them longer
        # than the rows.
        return "= ANY(?)", [list(ids)]
    return f"IN ({', '.join('?' * len(ids))})", ids


def _combine(rows: Sequence[Sequence[Any]], others: _OtherRows, build: Callable[..., D]) -> tuple[D, ...]:
    try:
        images, tags = _images(others.images), _tags(others.tags)
        items, variants = _items(others.items), _variants(others.variants)
        return tuple(
            build(
                row,
                images.get(row[0], _NO_IMAGES),
                tags.get(row[0], ()),
                items.get(row[0], ()),
                variants.get(row[0], ()),
            )
            for row in rows
        )
    except _UNREADABLE as error:
        raise StoreCorruptError(
            f"The database contains an unreadable draft{_unreadable_id(rows, build)}: {error!r}"
        ) from error


def _unreadable_id(rows: Sequence[Sequence[Any]], build: Callable[..., object]) -> str:
    """Return the id of the first row that is no draft, after a space; empty if the error is in an image or a tag."""
    for row in rows:
        try:
            build(row, _NO_IMAGES, (), (), ())
        except _UNREADABLE:
            return f" {row[0]}"
    return ""


def list_queue(driver: Driver, user_id: str, statuses: Sequence[Status], limit: int) -> tuple[ListedDraft, ...]:
    """Return the drafts in these states that are not archived, highest score first: the review queue."""
    status_values = {f"status{index}": status.value for index, status in enumerate(statuses)}
    rows = driver.execute(_queue_sql(len(statuses)), {"user": user_id, "limit": limit, **status_values})
    return hydrate(driver, user_id, list(rows))


class Images(NamedTuple):
    """A draft's images, and those proposed for it."""

    attached: tuple[DraftImage, ...] = ()
    proposed: tuple[DraftImage, ...] = ()


_NO_IMAGES = Images()


def _draft(
    row: Sequence[Any],
    images: Images,
    tags: tuple[str, ...],
    items: tuple[DraftSource, ...],
    variants: tuple[DraftVariant, ...],
) -> ListedDraft:
    # Unpacked field by field, in the order of DRAFT_COLUMNS: a loop takes half as long again.
    (
        draft_id,
        text,
        format_,
        status,
        confidence,
        feedback,
        rejection_feedback,
        scheduled_at,
        posted_at,
        post_id,
        item_id,
        regenerated_from_id,
        created_at,
        updated_at,
        archived_at,
        last_error,
        target_platforms,
        checks,
        sentences,
        score,
        writer,
        version,
        agent,
        confidence_known,
        title,
        source_type,
        published,
    ) = row
    return ListedDraft(
        id=draft_id,
        text=text,
        format=FORMATS[format_],
        status=STATUSES[status],
        confidence=confidence,
        feedback=feedback,
        rejection_feedback=rejection_feedback,
        scheduled_at=_instant(scheduled_at),
        posted_at=_instant(posted_at),
        post_id=post_id,
        item_id=item_id,
        regenerated_from_id=regenerated_from_id,
        created_at=_EPOCH + created_at * _MICROSECOND,
        updated_at=_EPOCH + updated_at * _MICROSECOND,
        archived_at=_instant(archived_at),
        last_error=last_error,
        tags=tags,
        target_platforms=_platforms(target_platforms),
        images=images.attached,
        proposed_images=images.proposed,
        checks=_checks(checks),
        sentences=_sentences(sentences),
        score=None if score is None else _score(score),
        writer=writer,
        version=version,
        agent=None if agent is None else _agent(agent),
        confidence_known=bool(confidence_known),
        variants=variants,
        items=items,
        item=DraftItem(
            id=item_id,
            title=title,
            source_type=source_type or MANUAL,
            published=_EPOCH + published * _MICROSECOND,
        ),
    )


def _images(rows: Iterable[Sequence[Any]]) -> dict[str, Images]:
    images: dict[str, Images] = {}
    for draft_id, proposed, id, url, alt, position, source, agency in rows:  # noqa: A001 - the field's name
        image = DraftImage(id=id, url=url, alt=alt, position=position, source=_IMAGE_SOURCES[source], agency=agency)
        attached, proposals = images.get(draft_id, _NO_IMAGES)
        images[draft_id] = Images(attached, (*proposals, image)) if proposed else Images((*attached, image), proposals)
    return images


def _items(rows: Iterable[Sequence[Any]]) -> dict[str, tuple[DraftSource, ...]]:
    items: dict[str, tuple[DraftSource, ...]] = {}
    for draft_id, item_id, title, url, source_name, source_type in rows:
        item = DraftSource(id=item_id, title=title, url=url, source_name=source_name, source_type=source_type)
        items[draft_id] = (*items.get(draft_id, ()), item)
    return items


def _variants(rows: Iterable[Sequence[Any]]) -> dict[str, tuple[DraftVariant, ...]]:
    variants: dict[str, tuple[DraftVariant, ...]] = {}
    for draft_id, experiment_id, variant_id in rows:
        variant = DraftVariant(experiment_id=experiment_id, variant_id=variant_id)
        variants[draft_id] = (*variants.get(draft_id, ()), variant)
    return variants


def _tags(rows: Iterable[Sequence[Any]]) -> dict[str, tuple[str, ...]]:
    tags: dict[str, tuple[str, ...]] = {}
    for draft_id, name in rows:
        tags[draft_id] = (*tags.get(draft_id, ()), name)
    return tags


# Only names from this module are formatted into the statements. A plus before a column keeps SQLite from using its
# index, which would read all rows of the user.


@lru_cache
def _drafts_sql(among: str) -> str:
    columns = ", ".join(f"draft.{name}" for name in DRAFT_COLUMNS)
    return f"""SELECT {columns}, item.title, draft.source_type, item.published
        FROM draft JOIN item ON item.id = draft.item_id
        WHERE +draft.user_id = ? AND draft.id {among}"""  # noqa: S608


@lru_cache
def _images_sql(among: str) -> str:
    return f"""SELECT draft_id, proposed, id, url, alt, position, source, agency FROM draft_image
        WHERE +user_id = ? AND draft_id {among} ORDER BY position"""  # noqa: S608


@lru_cache
def _items_sql(among: str) -> str:
    # An item that the user gave has no source.
    return f"""SELECT draft_id, item.id, item.title, item.url, coalesce(source.name, ''),
            coalesce(source.type, '{MANUAL}')
        FROM draft_item JOIN item ON item.id = draft_item.item_id LEFT JOIN source ON source.id = item.source_id
        WHERE +draft_item.user_id = ? AND draft_id {among} ORDER BY draft_id, position"""  # noqa: S608


@lru_cache
def _tags_sql(among: str) -> str:
    return f"""SELECT draft_tag.draft_id, tag.name FROM draft_tag JOIN tag ON tag.id = draft_tag.tag_id
        WHERE +draft_tag.user_id = ? AND draft_tag.draft_id {among} ORDER BY tag.name"""  # noqa: S608


@lru_cache
def _variants_sql(among: str) -> str:
    return f"""SELECT draft_id, experiment_id, variant_id FROM draft_variant
        WHERE +user_id = ? AND draft_id {among} ORDER BY experiment_id"""  # noqa: S608


@lru_cache
def _queue_sql(statuses: int) -> str:
    # The best of each state through its index: with IN all drafts in these states would be sorted.
    order = "total_score DESC NULLS LAST, id DESC LIMIT :limit"
    best_ids = " UNION ALL ".join(
        f"""SELECT id FROM (SELECT id FROM draft
            WHERE user_id = :user AND status = :status{index} AND archived_at IS NULL ORDER BY {order}) AS best"""  # noqa: S608
        for index in range(statuses)
    )
    columns = ", ".join(f"draft.{name}" for name in DRAFT_COLUMNS)
    return f"""SELECT {columns}, item.title, draft.source_type, item.published
        FROM draft JOIN item ON item.id = draft.item_id
        WHERE draft.id IN ({best_ids or "NULL"}) ORDER BY draft.total_score DESC NULLS LAST,
            draft.id DESC LIMIT :limit"""  # noqa: S608


def _instant(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else _EPOCH + microseconds * _MICROSECOND
