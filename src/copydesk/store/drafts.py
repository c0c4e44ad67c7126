"""Drafts as they are kept."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from sqlalchemy import Connection, insert, literal, select
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.draft import Draft, DraftImage, Status
from copydesk.model.history import CREATE, PIPELINE, SYSTEM, USER, EventKind
from copydesk.model.source import SourceType
from copydesk.model.wire import Struct
from copydesk.store.counts import APPROVED
from copydesk.store.ids import least_id, new_id
from copydesk.store.parts import in_parts
from copydesk.store.search import ABOUT, about
from copydesk.store.statements import Columns, Rows, places, run
from copydesk.store.tables import Origin, draft, draft_event, draft_image, draft_tag, tag

_PLAIN = tuple(name for name in Draft.__struct_fields__ if name not in {"tags", "images"})
_BESIDE = ("source_id", "source_type", "story_id", "origin", "run_id", "experiment_id", "variant_id")
_NEW = Columns(draft.c[name] for name in (*_PLAIN, *_BESIDE, "user_id", "total_score"))
_ADD = f"""INSERT INTO draft ({", ".join(_NEW.names)}, about) VALUES ({places(_NEW.names)}, {ABOUT})
    ON CONFLICT DO NOTHING"""  # noqa: S608 - names of our own
_IMAGES = Rows(draft_image, ("user_id", "draft_id", *DraftImage.__struct_fields__))
_CREATED = Rows(draft_event, ("user_id", "draft_id", "version", "at", "who", "kind", "action", "after"))

_DECIDED = (*sorted(APPROVED), Status.REJECTED)
# Of each state its newest, for each has its index: with an IN all drafts of these states would be sorted.
_NEWEST = " UNION ALL ".join(
    f"""SELECT id FROM (SELECT id FROM draft WHERE user_id = :user AND status = '{status.value}'
        ORDER BY id DESC LIMIT :limit)"""  # noqa: S608 - words of our own
    for status in _DECIDED
)
_DECISIONS = f"""SELECT draft.source_id, item.title, item.summary, draft.status
    FROM (SELECT id FROM ({_NEWEST}) ORDER BY id DESC LIMIT :limit) AS newest
    CROSS JOIN draft ON draft.id = newest.id JOIN item ON item.id = draft.item_id
    ORDER BY newest.id DESC"""  # noqa: S608 - the words above
# Two statements, for each has its index: with an "or" all drafts of the user would be read. In words, for SQLite
# knows an index over some of the drafts by the very condition of its making.
_TOLD = (
    f"origin = '{Origin.PIPELINE.value}'",
    f"origin = '{Origin.GENERATE.value}' AND status <> '{Status.GENERATION_FAILED.value}'",
)


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
    values = [getattr(made, name) for name in _PLAIN] + [getattr(new, name) for name in _BESIDE]
    values += [user_id, made.score.total if made.score else None]
    if run(conn, _ADD, [*_NEW.keep(values), *about(made)]).rowcount == 0:
        return False
    _IMAGES.add(conn, [[user_id, made.id, *msgspec.structs.astuple(image)] for image in made.images])
    _tag(conn, user_id, made)
    _note(conn, user_id, made, new.origin)
    return True


def _tag(conn: Connection, user_id: str, made: Draft) -> None:
    if not made.tags:
        return
    rows = [{"id": new_id(made.created_at), "user_id": user_id, "name": name} for name in made.tags]
    conn.execute(upsert(tag).on_conflict_do_nothing(), rows)
    ids = select(tag.c.id, literal(made.id), tag.c.user_id).where(tag.c.user_id == user_id, tag.c.name.in_(made.tags))
    conn.execute(insert(draft_tag).from_select(["tag_id", "draft_id", "user_id"], ids))


def _note(conn: Connection, user_id: str, made: Draft, origin: Origin) -> None:
    who = {Origin.PIPELINE: PIPELINE, Origin.REGENERATE: SYSTEM}.get(origin, USER)
    created = [user_id, made.id, made.version, made.created_at, who, EventKind.FIXED, CREATE, {"status": made.status}]
    _CREATED.add(conn, [created])


def titles_since(conn: Connection, user_id: str, since: datetime) -> tuple[str, ...]:
    """The titles of the items that drafts were made of since, newest first."""
    query = """SELECT item.title FROM draft JOIN item ON item.id = draft.item_id
        WHERE draft.user_id = ? AND draft.id >= ? ORDER BY draft.id DESC"""
    return tuple(title for (title,) in run(conn, query, (user_id, least_id(since))))


def texts_since(
    conn: Connection, user_id: str, since: datetime, limit: int, *, without: str | None = None
) -> tuple[str, ...]:
    """The newest drafts' texts, but for those of the story `without`: a new draft must not repeat them."""
    query = """SELECT text FROM draft WHERE user_id = :user AND id >= :least
        AND (:without IS NULL OR story_id <> :without) ORDER BY id DESC LIMIT :limit"""
    values = {"user": user_id, "least": least_id(since), "without": without, "limit": limit}
    return tuple(text for (text,) in run(conn, query, values))


def drafted_among(conn: Connection, user_id: str, story_ids: Sequence[str]) -> frozenset[str]:
    """Which of these stories runs have drafted, or the user had written."""
    found: set[str] = set()
    for some in in_parts(story_ids):
        for told in _TOLD:
            mine = f"user_id = ? AND story_id IN ({places(some)}) AND {told}"
            found.update(each for (each,) in run(conn, f"SELECT story_id FROM draft WHERE {mine}", (user_id, *some)))  # noqa: S608
    return frozenset(found)


def decisions(conn: Connection, user_id: str, limit: int) -> tuple[Decided, ...]:
    """What the user decided, newest first."""
    rows = run(conn, _DECISIONS, {"user": user_id, "limit": limit})
    return tuple(
        Decided(source_id=source_id, title=title, summary=summary, approved=status in APPROVED)
        for source_id, title, summary, status in rows
    )
