"""What becomes of a draft whose text was written, or could not be: each in one transaction, with its events."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from copydesk.errors import CopydeskError
from copydesk.model.draft import Checks, Draft, DraftImage, ListedDraft, Status, Trace
from copydesk.model.history import SYSTEM, EventKind
from copydesk.model.transitions import NEW_VERSION, Happening, after_happening
from copydesk.model.wire import Struct
from copydesk.store import changes, drafts, generation
from copydesk.store.changes import Seen, Step
from copydesk.store.drafts import NewDraft
from copydesk.store.generation import Waiting
from copydesk.store.ids import new_id
from copydesk.store.tables import Origin
from copydesk.text import clean

LONGEST_ERROR = 1_000
AGAIN = "Regenerate it to try again."
"""What to do about an error that does not say it."""


class Made(Struct, frozen=True):
    """A text, written and checked."""

    draft: ListedDraft
    """The draft that it was written for."""
    text: str
    checks: Checks
    confidence: float
    sentences: tuple[Trace, ...]
    writer: str
    pictures: tuple[DraftImage, ...] = ()
    """What the draft gets where it has none."""


def keep_text(conn: Connection, user_id: str, claim_id: str, made: Made, now: datetime) -> bool:
    """Keep a text: the draft's own where it had none yet, else that of a new draft, which takes the old one's place.

    False, and nothing kept, where the claim is no longer there, or where the request is another one by now.
    """
    if not generation.end(conn, user_id, made.draft.id, claim_id):
        return False
    seen = changes.one_seen(conn, user_id, made.draft.id, whole=True)
    if _asked_anew(seen, made.draft.version):
        return False
    if seen.status is Status.PENDING_GENERATION:
        values = {name: getattr(made, name) for name in ("text", "checks", "confidence", "sentences")}
        _happen(conn, user_id, seen, Happening.TEXT_WRITTEN, now, values | {"last_error": None})
        generation.sign(conn, user_id, seen.id, made.writer, made.pictures)
    elif seen.status is Status.PENDING_REGENERATION:
        values = {"archived_at": now, "last_error": None}
        _happen(conn, user_id, seen, Happening.NEW_VERSION_WRITTEN, now, values)
        drafts.add(conn, user_id, _new_version(conn, user_id, made, now))
    # In any other state the user took the request back meanwhile: there is nothing to keep.
    return True


def keep_failure(
    conn: Connection, user_id: str, claim_id: str, text: Waiting, error: CopydeskError, now: datetime
) -> bool:
    """Keep why there is no text; the one that there was stays. False as of `keep_text`."""
    if not generation.end(conn, user_id, text.draft_id, claim_id):
        return False
    seen = changes.one_seen(conn, user_id, text.draft_id, whole=True)
    if _asked_anew(seen, text.version):
        return False
    if seen.status in generation.PENDING:
        says = clean(f"{error.message} {error.hint or AGAIN}")[:LONGEST_ERROR]
        _happen(conn, user_id, seen, Happening.WRITING_FAILED, now, {"last_error": says})
    return True


def _asked_anew(seen: Seen, version: int) -> bool:
    """Whether a request was taken back, and made again, with other words it may be: it is written once more."""
    return seen.status in generation.PENDING and seen.version != version


def _happen(conn: Connection, user_id: str, seen: Seen, what: Happening, now: datetime, values: dict[str, Any]) -> None:
    after = changes.stored({**values, "status": after_happening(what, seen.status)})
    changes.put(conn, user_id, seen, Step(kind=EventKind.FIXED, action=what.value, after=after, at=now, who=SYSTEM))


def _new_version(conn: Connection, user_id: str, made: Made, now: datetime) -> NewDraft:
    """The draft that stands for the old one from now on, in the same variant of the same experiment."""
    old, kept = made.draft, generation.beside(conn, user_id, made.draft.id)
    draft = Draft(
        id=new_id(now),
        text=made.text,
        format=old.format,
        status=NEW_VERSION,
        confidence=made.confidence,
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
        images=tuple(_again(image, now) for image in (*old.images, *made.pictures)),
        checks=made.checks,
        sentences=made.sentences,
        score=old.score,
        writer=made.writer,
    )
    return NewDraft(
        draft=draft,
        source_id=kept.source_id,
        source_type=kept.source_type,
        story_id=kept.story_id,
        origin=Origin.REGENERATE,
        experiment_id=kept.experiment_id,
        variant_id=kept.variant_id,
    )


def _again(image: DraftImage, now: datetime) -> DraftImage:
    return DraftImage(id=new_id(now), url=image.url, alt=image.alt, position=image.position, source=image.source)
