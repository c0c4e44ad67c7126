"""Store the outcome of text generation: the new text or the error, with the history events, in one transaction."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from copydesk.errors import CopydeskError
from copydesk.model.draft import Checks, Draft, DraftImage, ListedDraft, Status, Trace
from copydesk.model.history import SYSTEM, EventKind
from copydesk.model.transitions import NEW_VERSION, SystemEvent, status_after_event
from copydesk.model.wire import Struct
from copydesk.store import changes, drafts, generation
from copydesk.store.changes import DraftChange, DraftSnapshot
from copydesk.store.drafts import NewDraft
from copydesk.store.generation import PendingGeneration
from copydesk.store.ids import new_id
from copydesk.store.tables import DraftOrigin
from copydesk.text import clean

MAX_ERROR_LENGTH = 1_000
RETRY_HINT = "Regenerate it to try again."
"""Hint for errors that have none of their own."""


class GeneratedText(Struct, frozen=True):
    """A generated and checked text."""

    draft: ListedDraft
    """The draft for which it was written."""
    text: str
    checks: Checks
    confidence: float
    sentences: tuple[Trace, ...]
    writer: str
    images: tuple[DraftImage, ...] = ()
    """Images for a draft that has none."""


def save_text(conn: Connection, user_id: str, lease_id: str, result: GeneratedText, now: datetime) -> bool:
    """Store a generated text and return True.

    It becomes the text of a draft that has none yet; otherwise a new draft supersedes the old one, which is archived.
    Return False, with nothing stored, if the lease was lost or the request has changed since.
    """
    if not generation.finish(conn, user_id, result.draft.id, lease_id):
        return False
    snapshot = changes.load_snapshot(conn, user_id, result.draft.id, include_text=True)
    # The lease is released by now, so the next worker generates the text for the current request.
    if _is_newer_request(snapshot, result.draft.version):
        return False
    if snapshot.get_status is Status.PENDING_GENERATION:
        values = {name: getattr(result, name) for name in ("text", "checks", "confidence", "sentences")}
        _apply_event(conn, user_id, snapshot, SystemEvent.TEXT_GENERATED, now, values | {"last_error": None})
        generation.save_writer(conn, user_id, snapshot.id, result.writer, result.images)
    elif snapshot.get_status is Status.PENDING_REGENERATION:
        values = {"archived_at": now, "last_error": None}
        _apply_event(conn, user_id, snapshot, SystemEvent.NEW_VERSION_GENERATED, now, values)
        drafts.add(conn, user_id, _new_version(conn, user_id, result, now))
    # In any other state the user has withdrawn the request: nothing to store.
    return True


def save_failure(
    conn: Connection, user_id: str, lease_id: str, job: PendingGeneration, error: CopydeskError, now: datetime
) -> bool:
    """Store why generation failed; an existing text stays. Return False as `save_text` does."""
    if not generation.finish(conn, user_id, job.draft_id, lease_id):
        return False
    snapshot = changes.load_snapshot(conn, user_id, job.draft_id, include_text=True)
    if _is_newer_request(snapshot, job.version):
        return False
    if snapshot.get_status in generation.PENDING_STATUSES:
        message = clean(f"{error.message} {error.hint or RETRY_HINT}")[:MAX_ERROR_LENGTH]
        _apply_event(conn, user_id, snapshot, SystemEvent.GENERATION_FAILED, now, {"last_error": message})
    return True


def _is_newer_request(snapshot: DraftSnapshot, version: int) -> bool:
    """Return True if the request was withdrawn and repeated, perhaps with other feedback. It must be
    generated again.
    """
    return snapshot.get_status in generation.PENDING_STATUSES and snapshot.version != version


def _apply_event(
    conn: Connection, user_id: str, snapshot: DraftSnapshot, event: SystemEvent, now: datetime, values: dict[str, Any]
) -> None:
    new_values = changes.to_column_values({**values, "status": status_after_event(event, snapshot.get_status)})
    changes.apply_change(
        conn,
        user_id,
        snapshot,
        DraftChange(kind=EventKind.PERMANENT, action=event.value, after=new_values, at=now, actor=SYSTEM),
    )


def _new_version(conn: Connection, user_id: str, result: GeneratedText, now: datetime) -> NewDraft:
    """Return the draft that supersedes the old one, in the same variant of the same experiment."""
    old, lineage = result.draft, generation.load_provenance(conn, user_id, result.draft.id)
    draft = Draft(
        id=new_id(now),
        text=result.text,
        format=old.format,
        status=NEW_VERSION,
        confidence=result.confidence,
        feedback=None,
        rejection_feedback=None,
        scheduled_at=None,
        posted_at=None,
        post_id=None,
        item_id=old.item_id,
        regenerated_from_id=old.id,
        created_at=now,
        updated_at=now,
        tags=old.tags,
        target_platforms=old.target_platforms,
        images=tuple(_copy_image(image, now) for image in (*old.images, *result.images)),
        checks=result.checks,
        sentences=result.sentences,
        score=old.score,
        writer=result.writer,
    )
    return NewDraft(
        draft=draft,
        source_id=lineage.source_id,
        source_type=lineage.source_type,
        story_id=lineage.story_id,
        origin=DraftOrigin.REGENERATE,
        experiment_id=lineage.experiment_id,
        variant_id=lineage.variant_id,
    )


def _copy_image(image: DraftImage, now: datetime) -> DraftImage:
    return DraftImage(id=new_id(now), url=image.url, alt=image.alt, position=image.position, source=image.source)
