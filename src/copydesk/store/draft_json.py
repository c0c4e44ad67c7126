"""Encode drafts as the JSON of the interface from their rows, without making drafts of them.

A page takes half the time: what is stored as JSON is not decoded into its type, only so far that it is known to be
well-formed and complete.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import msgspec

from copydesk.model.draft import MANUAL, Checks, DraftItem, DraftSource, DraftVariant, ListedDraft, Score
from copydesk.model.serialization import untyped_struct
from copydesk.store.draft_rows import FORMATS, STATUSES, Driver, Images, build_drafts

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_EncodableDraft: Final[Any] = untyped_struct(ListedDraft)
_EncodableItem: Final[Any] = untyped_struct(DraftItem)
_json = msgspec.json.Decoder(msgspec.Raw).decode


def encode_drafts(driver: Driver, user_id: str, rows: Sequence[Sequence[Any]]) -> bytes:
    """Return the drafts for the rows of a list as a JSON array, as `encode_json` would encode those of `hydrate`.

    Raise StoreCorruptError for an invalid value.
    """
    return msgspec.json.encode(build_drafts(driver, user_id, rows, _encodable))


def _shallow_struct(struct: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return a struct with the same fields that takes their JSON as it is; a missing field has its default."""
    fields = msgspec.structs.fields(struct)
    defaults = [() if field.required else (msgspec.Raw(msgspec.json.encode(field.default)),) for field in fields]
    return msgspec.defstruct(
        struct.__name__,
        [(field.name, msgspec.Raw, *default) for field, default in zip(fields, defaults, strict=True)],
        rename={field.name: field.encode_name for field in fields},
        gc=False,
    )


_checks = msgspec.json.Decoder(_shallow_struct(Checks)).decode
_score = msgspec.json.Decoder(_shallow_struct(Score)).decode


def _encodable(
    row: Sequence[Any],
    images: Images,
    tags: tuple[str, ...],
    items: tuple[DraftSource, ...],
    variants: tuple[DraftVariant, ...],
) -> object:
    # Unpacked in the order of DRAFT_COLUMNS, as in `draft_rows`.
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
    # In the order of the fields of ListedDraft: by name it takes twice as long.
    return _EncodableDraft(
        draft_id,
        text,
        FORMATS[format_],
        STATUSES[status],
        confidence,
        feedback,
        rejection_feedback,
        None if scheduled_at is None else _format_time(scheduled_at),
        None if posted_at is None else _format_time(posted_at),
        post_id,
        item_id,
        regenerated_from_id,
        _format_time(created_at),
        _format_time(updated_at),
        None if archived_at is None else _format_time(archived_at),
        last_error,
        tags,
        _json(target_platforms),
        images.attached,
        images.proposed,
        _checks(checks),
        _json(sentences),
        None if score is None else _score(score),
        writer,
        version,
        variants,
        None if agent is None else _json(agent),
        items,
        bool(confidence_known),
        _EncodableItem(item_id, title, source_type or MANUAL, _format_time(published)),
    )


@lru_cache(maxsize=1_000)
def _format_time(microseconds: int) -> str:
    """Return a stored time as `format_iso` writes it. Most times of a page occur in several fields and drafts."""
    time = _EPOCH + timedelta(microseconds=microseconds)
    return f"{time.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
