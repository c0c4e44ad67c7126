"""Drafts as they are kept."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, insert, literal, select
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.draft import Draft, DraftImage, Status
from copydesk.model.filters import Filters
from copydesk.model.history import CREATE, PIPELINE, SYSTEM, USER, EventKind
from copydesk.model.source import SourceType
from copydesk.model.wire import Struct
from copydesk.store import lists
from copydesk.store.counts import APPROVED
from copydesk.store.ids import least_id, new_id
from copydesk.store.parts import in_parts
from copydesk.store.search import about
from copydesk.store.tables import Origin, draft, draft_event, draft_image, draft_tag, item, tag

_PLAIN = tuple(draft.c[name] for name in Draft.__struct_fields__ if name not in {"tags", "images"})
_BESIDE = ("source_id", "source_type", "story_id", "origin", "run_id", "experiment_id", "variant_id")

# Their values are given with them: a statement of thirty values of its own takes as long to make as to carry out.
_ADD = upsert(draft).on_conflict_do_nothing()
_ADD_EVENT = insert(draft_event)


class NewDraft(Struct, frozen=True):
    """A draft with what is kept beside it."""

    draft: Draft
    source_id: str | None
    source_type: SourceType | None
    story_id: str
    origin: Origin
    run_id: str | None = None
    experiment_id: str | None = None
    variant_id: str | None = None


class Decided(Struct, frozen=True):
    """What the user thought of a draft: the material that the ranking learns from."""

    source_id: str | None
    title: str
    summary: str
    approved: bool


def add(conn: Connection, user_id: str, new: NewDraft) -> bool:
    """Keep a new draft with its pictures, tags and first event.

    False, and nothing kept, where a run has drafted this story in this format before.
    """
    made = new.draft
    values = {column.name: getattr(made, column.name) for column in _PLAIN}
    beside = {name: getattr(new, name) for name in _BESIDE}
    total = made.score.total if made.score else None
    put = _ADD.values(about=about(made))
    if conn.execute(put, {"user_id": user_id, **values, **beside, "total_score": total}).rowcount == 0:
        return False
    if made.images:
        rows = [_image_row(user_id, made.id, image) for image in made.images]
        conn.execute(insert(draft_image), rows)
    _tag(conn, user_id, made)
    _note(conn, user_id, made, new.origin)
    return True


def _image_row(user_id: str, draft_id: str, image: DraftImage) -> dict[str, object]:
    values = {name: getattr(image, name) for name in DraftImage.__struct_fields__}
    return {"user_id": user_id, "draft_id": draft_id, **values}


def _tag(conn: Connection, user_id: str, made: Draft) -> None:
    if not made.tags:
        return
    rows = [{"id": new_id(made.created_at), "user_id": user_id, "name": name} for name in made.tags]
    conn.execute(upsert(tag).on_conflict_do_nothing(), rows)
    ids = select(tag.c.id, literal(made.id), tag.c.user_id).where(tag.c.user_id == user_id, tag.c.name.in_(made.tags))
    conn.execute(insert(draft_tag).from_select(["tag_id", "draft_id", "user_id"], ids))


def _note(conn: Connection, user_id: str, made: Draft, origin: Origin) -> None:
    who = {Origin.PIPELINE: PIPELINE, Origin.REGENERATE: SYSTEM}.get(origin, USER)
    event = {"user_id": user_id, "draft_id": made.id, "version": made.version, "at": made.created_at, "who": who}
    fixed = {"kind": EventKind.FIXED, "action": CREATE, "after": {"status": made.status}}
    conn.execute(_ADD_EVENT, {**event, **fixed})


def titles_since(conn: Connection, user_id: str, since: datetime) -> tuple[str, ...]:
    """The titles of the items that drafts were made of since, newest first."""
    query = select(item.c.title).join(draft, draft.c.item_id == item.c.id)
    query = query.where(draft.c.user_id == user_id, draft.c.id >= least_id(since)).order_by(draft.c.id.desc())
    return tuple(conn.execute(query).scalars())


def texts_since(
    conn: Connection, user_id: str, since: datetime, limit: int, *, without: str | None = None
) -> tuple[str, ...]:
    """The newest drafts' texts, but for those of the story `without`: a new draft must not repeat them."""
    query = select(draft.c.text).where(draft.c.user_id == user_id, draft.c.id >= least_id(since))
    if without is not None:
        query = query.where(draft.c.story_id != without)
    return tuple(conn.execute(query.order_by(draft.c.id.desc()).limit(limit)).scalars())


def drafted_among(conn: Connection, user_id: str, story_ids: Sequence[str]) -> frozenset[str]:
    """Which of these stories runs have drafted, or the user had written."""
    # Two statements, for each has its index: with an "or" all drafts of the user would be read.
    by_run = (draft.c.origin == Origin.PIPELINE,)
    on_request = (draft.c.origin == Origin.GENERATE, draft.c.status != Status.GENERATION_FAILED)
    found: set[str] = set()
    for some in in_parts(story_ids):
        for told in (by_run, on_request):
            mine = (draft.c.user_id == user_id, draft.c.story_id.in_(some))
            found.update(conn.execute(select(draft.c.story_id).where(*mine, *told)).scalars())
    return frozenset(found)


def decisions(conn: Connection, user_id: str, limit: int) -> tuple[Decided, ...]:
    """What the user decided, newest first."""
    wanted = Filters(status=(*APPROVED, Status.REJECTED))
    found: list[Decided] = []
    for some in in_parts(lists.ids(conn, user_id, wanted, limit=limit, before=None)):
        query = (
            select(draft.c.source_id, item.c.title, item.c.summary, draft.c.status)
            .join(item, item.c.id == draft.c.item_id)
            .where(draft.c.id.in_(some), lists.UNLED["user_id"] == user_id)
            .order_by(draft.c.id.desc())
        )
        found += [
            Decided(source_id=source_id, title=title, summary=summary, approved=status in APPROVED)
            for source_id, title, summary, status in conn.execute(query)
        ]
    return tuple(found)
