"""Draft rows: insert them, count them, and load what the pipeline needs to know of earlier ones.

Counts are read from a table that triggers maintain, so their cost does not grow with the drafts. A stored copy of a
draft's image is recorded once and used for every attempt to post the image.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
    text,
    type_coerce,
    union,
    update,
)

from copydesk.model.draft import (
    Draft,
    DraftImage,
    DraftSource,
    DraftVariant,
    Format,
    ImageSource,
    Status,
    Trace,
    stored_image_digest,
    stored_image_url,
)
from copydesk.model.filters import DraftCounts
from copydesk.model.serialization import Struct
from copydesk.model.transitions import CREATE, PIPELINE, SYSTEM, USER, EventKind, SystemEvent
from copydesk.store.column_types import UtcDateTime, to_microseconds
from copydesk.store.draft_rows import DRAFT_COLUMNS
from copydesk.store.ids import min_id, new_id
from copydesk.store.raw_sql import (
    BulkInsert,
    ColumnCodec,
    chunked,
    execute_sql,
    placeholders,
    send_query,
    to_sql,
    upsert,
)
from copydesk.store.search import ABOUT_SQL, about_parameters
from copydesk.store.tables import (
    DraftOrigin,
    draft,
    draft_count,
    draft_event,
    draft_image,
    draft_item,
    draft_tag,
    draft_variant,
    tag,
)

ACCEPTED_STATUSES: Final = frozenset((Status.APPROVED, Status.SCHEDULED, Status.POSTING, Status.POSTED, Status.MISSED))
"""States of drafts that the user approved once, whatever happened to them since."""

IS_HELD = and_(draft.c.status == Status.AWAITING_REVIEW, draft.c.last_error.is_not(None))
"""`is_held` in SQL."""
_HELD_REASONS = (
    select(draft.c.last_error)
    .where(draft.c.user_id == bindparam("user"), IS_HELD, draft.c.archived_at.is_(None))
    .order_by(draft.c.id.desc())
)

_APPROVED_TARGETS = (
    select(draft.c.id, draft.c.format, draft.c.target_platforms)
    .where(draft.c.user_id == bindparam("user"), draft.c.status == Status.APPROVED, draft.c.archived_at.is_(None))
    .order_by(draft.c.id.desc())
    .limit(bindparam("most"))
)
_NEWEST_APPROVED = _APPROVED_TARGETS.subquery()


def _select_kind(drafts: FromClause) -> Select[Any]:
    # As text: PostgreSQL compares no JSON.
    platforms = type_coerce(cast(drafts.c.target_platforms, Text), draft.c.target_platforms.type)
    return select(drafts.c.format, platforms.label("platforms"))


_WAITING_KINDS = union(
    _select_kind(_NEWEST_APPROVED),
    _select_kind(draft).where(
        draft.c.user_id == bindparam("user"),
        draft.c.status == Status.SCHEDULED,
        draft.c.scheduled_at <= bindparam("now", type_=UtcDateTime),
    ),
)

_COUNTS = draft_count.c
_BY_STATUS = to_sql(
    select(_COUNTS.status, _COUNTS.archived, func.sum(_COUNTS.drafts))
    .where(_COUNTS.user_id == bindparam("user"))
    .group_by(_COUNTS.status, _COUNTS.archived)
)
_APPROVED_VALUES = ", ".join(f"'{status.value}'" for status in sorted(ACCEPTED_STATUSES))
_REJECTED_VALUE = f"'{Status.REJECTED.value}'"
_BY_SOURCE = f"""SELECT source_id,
        coalesce(sum(drafts) FILTER (WHERE status IN ({_APPROVED_VALUES})), 0),
        coalesce(sum(drafts) FILTER (WHERE status = {_REJECTED_VALUE}), 0)
    FROM draft_count WHERE user_id = ? AND source_id <> '' AND status IN ({_APPROVED_VALUES}, {_REJECTED_VALUE})
    GROUP BY source_id"""  # noqa: S608 - words of our own

_NEW_DRAFT_FIELDS = ("source_id", "source_type", "story_id", "origin", "run_id")
_INSERTED = ColumnCodec(draft.c[name] for name in (*DRAFT_COLUMNS, *_NEW_DRAFT_FIELDS, "user_id", "total_score"))
_INSERT = f"""INSERT INTO draft ({", ".join(_INSERTED.names)}, about)
    VALUES ({placeholders(_INSERTED.names)}, {ABOUT_SQL})
    ON CONFLICT DO NOTHING"""  # noqa: S608 - names of our own
_IMAGES = BulkInsert(draft_image, ("user_id", "draft_id", "proposed", *DraftImage.__struct_fields__))
_ITEMS = BulkInsert(draft_item, ("user_id", "draft_id", "position", "item_id"))
_VARIANTS = BulkInsert(draft_variant, ("user_id", "draft_id", *DraftVariant.__struct_fields__))
_CREATED_EVENTS = BulkInsert(draft_event, ("user_id", "draft_id", "version", "at", "who", "kind", "action", "after"))

_DECIDED_STATUSES = (*sorted(ACCEPTED_STATUSES), Status.REJECTED)
# The newest of each state through its index: with IN all drafts in these states would be sorted.
NEWEST_DECIDED = " UNION ALL ".join(
    f"""SELECT id FROM (SELECT id FROM draft WHERE user_id = :user AND status = '{status.value}'
        ORDER BY id DESC LIMIT :limit) AS newest"""  # noqa: S608 - words of our own
    for status in _DECIDED_STATUSES
)
"""SQL of the ids of the user's newest decided drafts, with the parameters `user` and `limit`."""
_DECIDED_AT = """(SELECT max(at) FROM draft_event
        WHERE draft_event.draft_id = draft.id AND action IN ('approve', 'reject'))"""
_DECISIONS = f"""SELECT draft.source_id, item.title, item.summary, draft.status, draft.rejection_feedback
    FROM (SELECT id FROM ({NEWEST_DECIDED}) AS decided ORDER BY id DESC LIMIT :limit) AS newest
    CROSS JOIN draft ON draft.id = newest.id JOIN item ON item.id = draft.item_id
    WHERE CAST(:since AS BIGINT) IS NULL OR {_DECIDED_AT} > :since
    ORDER BY newest.id DESC"""  # noqa: S608 - the words above
# Two statements, one per index: with OR all drafts of the user would be read. As literals, because SQLite uses a
# partial index only if its condition appears in the statement.
_DRAFTED_CONDITIONS = (
    f"origin = '{DraftOrigin.PIPELINE.value}'",
    f"origin = '{DraftOrigin.GENERATE.value}' AND status <> '{Status.GENERATION_FAILED.value}'",
)

_ASSIGN_STORY: Final = f"""UPDATE draft SET story_id = :story WHERE user_id = :user AND id = :draft
    AND NOT (origin = '{DraftOrigin.PIPELINE.value}' AND EXISTS (
        SELECT 1 FROM draft AS other WHERE other.user_id = :user AND other.story_id = :story
            AND other.format = draft.format AND other.origin = '{DraftOrigin.PIPELINE.value}'))"""  # noqa: S608 - as above

POSTABLE_STATUSES = (Status.APPROVED, Status.SCHEDULED, Status.MISSED, Status.POSTING)
"""States of drafts that may still be posted."""


class DraftTargets(Struct, frozen=True):
    """To which accounts a draft can go."""

    id: str
    format: Format
    platforms: tuple[str, ...]
    """Names of platforms or accounts; empty for all that accept the format."""


def list_targets(conn: Connection, user_id: str, draft_ids: Sequence[str]) -> tuple[DraftTargets, ...]:
    """Return the targets of the drafts; unknown ids are left out."""
    columns = select(draft.c.id, draft.c.format, draft.c.target_platforms)
    return tuple(
        DraftTargets(*row)
        for chunk in chunked(draft_ids)
        for row in conn.execute(columns.where(draft.c.user_id == user_id, draft.c.id.in_(chunk)))
    )


def list_approved_targets(conn: Connection, user_id: str, limit: int) -> tuple[DraftTargets, ...]:
    """Return the targets of the newest approved drafts, newest first."""
    return tuple(DraftTargets(*row) for row in conn.execute(_APPROVED_TARGETS, {"user": user_id, "most": limit}))


def list_waiting_kinds(
    conn: Connection, user_id: str, now: datetime, limit: int
) -> tuple[tuple[Format, tuple[str, ...]], ...]:
    """Return the format and targets of the drafts due at `now` and the newest approved ones, each pair once."""
    values = {"user": user_id, "now": now, "most": limit}
    return tuple((draft_format, platforms) for draft_format, platforms in conn.execute(_WAITING_KINDS, values))


def list_held_reasons(conn: Connection, user_id: str) -> tuple[str, ...]:
    """Return the reason of each held draft that is not archived, newest draft first."""
    return tuple(conn.execute(_HELD_REASONS, {"user": user_id}).scalars())


def count_by_status(conn: Connection, user_id: str) -> DraftCounts:
    """Return the number of the user's drafts in each state, and the number of archived ones."""
    return query_counts(conn, user_id)()


def query_counts(conn: Connection, user_id: str) -> Callable[[], DraftCounts]:
    """Send the query for these numbers; return what waits for the answer, once."""
    rows = send_query(conn, _BY_STATUS, {"user": user_id})
    return lambda: _count(rows())


def _count(rows: Sequence[Sequence[Any]]) -> DraftCounts:
    counts = dict.fromkeys(Status, 0)
    archived_count = 0
    for status, archived, count in rows:
        if archived:
            archived_count += count
        else:
            counts[Status(status)] = count
    return DraftCounts(by_status=counts, archived=archived_count)


def count_decisions_by_source(conn: Connection, user_id: str) -> Mapping[str, tuple[int, int]]:
    """Return (approved, rejected) draft counts by source id, archived drafts included."""
    return {
        source_id: (approved, rejected) for source_id, approved, rejected in execute_sql(conn, _BY_SOURCE, (user_id,))
    }


class NewDraft(Struct, frozen=True):
    """A draft to insert, with the columns that the model does not have."""

    draft: Draft
    source_id: str | None
    source_type: str | None
    story_id: str
    origin: DraftOrigin
    run_id: str | None = None


class DraftDecision(Struct, frozen=True):
    """The user's decision on a draft: training data for the ranking."""

    source_id: str | None
    title: str
    summary: str
    approved: bool
    reason: str = ""
    """The reason given for a rejection."""


def add(conn: Connection, user_id: str, new: NewDraft) -> bool:
    """Insert a draft with its images, items, tags, variants and first event.

    Return False and insert nothing if a run has drafted this story in this format before.
    """
    new_draft = new.draft
    values = [getattr(new_draft, name) for name in DRAFT_COLUMNS] + [getattr(new, name) for name in _NEW_DRAFT_FIELDS]
    values += [user_id, new_draft.score.total if new_draft.score else None]
    # Relies on the unique partial index on (user_id, story_id, format) of pipeline drafts.
    if execute_sql(conn, _INSERT, [*_INSERTED.encode(values), *about_parameters(new_draft)]).rowcount == 0:
        return False
    add_images(conn, user_id, new_draft.id, new_draft.images, new_draft.proposed_images)
    add_items(conn, user_id, new_draft.id, new_draft.items)
    _insert_tags(conn, user_id, new_draft)
    _VARIANTS.insert(conn, [[user_id, new_draft.id, *msgspec.structs.astuple(row)] for row in new_draft.variants])
    _insert_created_event(conn, user_id, new_draft, new.origin)
    return True


def add_items(conn: Connection, user_id: str, draft_id: str, items: Sequence[DraftSource]) -> None:
    """Store the items of a draft that has several."""
    _ITEMS.insert(conn, [[user_id, draft_id, position, item.id] for position, item in enumerate(items)])


def add_images(
    conn: Connection,
    user_id: str,
    draft_id: str,
    attached: Sequence[DraftImage],
    proposed: Sequence[DraftImage],
) -> None:
    """Store the images of a draft, and those proposed for it."""
    images = [(False, image) for image in attached] + [(True, image) for image in proposed]
    rows = [[user_id, draft_id, is_proposed, *msgspec.structs.astuple(image)] for is_proposed, image in images]
    _IMAGES.insert(conn, rows)


def _insert_tags(conn: Connection, user_id: str, new_draft: Draft) -> None:
    if not new_draft.tags:
        return
    rows = [{"id": new_id(new_draft.created_at), "user_id": user_id, "name": name} for name in new_draft.tags]
    # Another draft, or another process, may have created the tag already.
    conn.execute(upsert(conn, tag).on_conflict_do_nothing(), rows)
    ids = select(tag.c.id, literal(new_draft.id), tag.c.user_id).where(
        tag.c.user_id == user_id, tag.c.name.in_(new_draft.tags)
    )
    conn.execute(insert(draft_tag).from_select(["tag_id", "draft_id", "user_id"], ids))


def _insert_created_event(conn: Connection, user_id: str, new_draft: Draft, origin: DraftOrigin) -> None:
    actor = {DraftOrigin.PIPELINE: PIPELINE, DraftOrigin.REGENERATE: SYSTEM}.get(origin, USER)
    event = [
        user_id,
        new_draft.id,
        new_draft.version,
        new_draft.created_at,
        actor,
        EventKind.PERMANENT,
        CREATE,
        {"status": new_draft.status},
    ]
    _CREATED_EVENTS.insert(conn, [event])


def list_titles_since(conn: Connection, user_id: str, since: datetime) -> tuple[str, ...]:
    """Return the titles of the items drafted since `since`, newest first."""
    query = """SELECT item.title FROM draft JOIN item ON item.id = draft.item_id
        WHERE draft.user_id = ? AND draft.id >= ? ORDER BY draft.id DESC"""
    return tuple(title for (title,) in execute_sql(conn, query, (user_id, min_id(since))))


def list_texts_since(
    conn: Connection, user_id: str, since: datetime, limit: int, *, except_story: str | None = None
) -> tuple[str, ...]:
    """Return the texts of at most `limit` drafts since `since`, newest first, except for drafts of one story."""
    query = """SELECT text FROM draft WHERE user_id = :user AND id >= :least
        AND (CAST(:without AS TEXT) IS NULL OR story_id <> :without) ORDER BY id DESC LIMIT :limit"""
    values = {"user": user_id, "least": min_id(since), "without": except_story, "limit": limit}
    return tuple(text for (text,) in execute_sql(conn, query, values))


def assign_story(conn: Connection, user_id: str, story_id: str, item_ids: Sequence[str]) -> None:
    """Assign the drafts of these items to a story, except where it has a draft of that format already."""
    for chunk in chunked(item_ids):
        query = f"SELECT id FROM draft WHERE user_id = ? AND item_id IN ({placeholders(chunk)})"  # noqa: S608 - words of our own
        for (draft_id,) in execute_sql(conn, query, (user_id, *chunk)).fetchall():
            execute_sql(conn, _ASSIGN_STORY, {"user": user_id, "draft": draft_id, "story": story_id})


def find_drafted_stories(conn: Connection, user_id: str, story_ids: Sequence[str]) -> frozenset[str]:
    """Return those of the stories that have a draft from a run or from the user's request."""
    found: set[str] = set()
    for chunk in chunked(story_ids):
        for is_drafted in _DRAFTED_CONDITIONS:
            where = f"user_id = ? AND story_id IN ({placeholders(chunk)}) AND {is_drafted}"
            query = f"SELECT story_id FROM draft WHERE {where}"  # noqa: S608 - words of our own
            found.update(story_id for (story_id,) in execute_sql(conn, query, (user_id, *chunk)))
    return frozenset(found)


def list_decisions(
    conn: Connection, user_id: str, limit: int, since: datetime | None = None
) -> tuple[DraftDecision, ...]:
    """Return the drafts the user approved or rejected, since `since` if given, newest draft first."""
    rows = execute_sql(conn, _DECISIONS, {"user": user_id, "limit": limit, "since": since and to_microseconds(since)})
    return tuple(
        DraftDecision(
            source_id=source_id,
            title=title,
            summary=summary,
            approved=status in ACCEPTED_STATUSES,
            reason=(reason or "") if status == Status.REJECTED else "",
        )
        for source_id, title, summary, status, reason in rows
    )


def list_approved_stories(
    conn: Connection, user_id: str, since: datetime, limit: int
) -> tuple[tuple[str, datetime], ...]:
    """Return the newest stories that a run drafted since `since` and the user approved, with the time of the draft."""
    chosen = select(draft.c.story_id, func.min(draft.c.created_at, type_=UtcDateTime).label("drafted_at")).where(
        draft.c.user_id == user_id,
        draft.c.status.in_(sorted(ACCEPTED_STATUSES)),
        draft.c.id >= min_id(since),
        # The plus keeps SQLite from walking all stories of runs through their index, in the order of the groups.
        text(f"+draft.origin = '{DraftOrigin.PIPELINE.value}'"),
    )
    newest = chosen.group_by(draft.c.story_id).order_by(func.max(draft.c.id).desc()).limit(limit)
    return tuple((row.story_id, row.drafted_at) for row in conn.execute(newest))


def list_by_story(conn: Connection, user_id: str, story_id: str) -> tuple[tuple[str, Status, bool], ...]:
    """Return id, status and True if archived, of each draft of a story, newest first."""
    archived = draft.c.archived_at.is_not(None).label("archived")
    query = select(draft.c.id, draft.c.status, archived).where(draft.c.user_id == user_id, draft.c.story_id == story_id)
    return tuple((row.id, row.status, bool(row.archived)) for row in conn.execute(query.order_by(draft.c.id.desc())))


class ApprovedDraft(Struct, frozen=True):
    """A draft that was approved, as far as a change of one of its items concerns it."""

    id: str
    item_id: str
    """The item that changed."""
    sentences: tuple[Trace, ...]
    was_held: bool
    """True if it was held before, and approved again."""
    is_lead: bool
    """True if the item is the draft's own, False if it is another one of its items."""


def list_approved(conn: Connection, user_id: str, item_ids: Iterable[str]) -> tuple[ApprovedDraft, ...]:
    """Return the items' drafts that are approved or scheduled, and not archived, by id; once for each of the items."""
    was_held = exists().where(draft_event.c.draft_id == draft.c.id, draft_event.c.action == SystemEvent.SOURCE_CHANGED)
    columns = (draft.c.id, draft.c.sentences, was_held.correlate(draft).label("was_held"))
    is_approved = (draft.c.status.in_((Status.APPROVED, Status.SCHEDULED)), draft.c.archived_at.is_(None))
    own = select(*columns, draft.c.item_id, literal(True).label("is_lead"))  # noqa: FBT003 - a value
    other = (
        select(*columns, draft_item.c.item_id, literal(False).label("is_lead"))  # noqa: FBT003 - as above
        .join(draft_item, draft_item.c.draft_id == draft.c.id)
        .where(draft_item.c.item_id != draft.c.item_id)
    )
    found: list[ApprovedDraft] = []
    for chunk in chunked(tuple(item_ids)):
        for query, column in ((own, draft.c.item_id), (other, draft_item.c.item_id)):
            rows = conn.execute(query.where(draft.c.user_id == user_id, column.in_(chunk), *is_approved))
            found += [ApprovedDraft(**row._mapping) for row in rows]
    return tuple(sorted(found, key=lambda approved: approved.id))


def list_roundups_since(conn: Connection, user_id: str, since: datetime) -> tuple[str, ...]:
    """Return the ids of the drafts of several items that runs created since `since`."""
    # Ids lead to the newest drafts, but may be later than the clock that was set back.
    query = """SELECT id FROM draft WHERE user_id = ? AND id >= ? AND created_at >= ? AND origin = 'pipeline'
        AND EXISTS (SELECT 1 FROM draft_item WHERE draft_id = draft.id) ORDER BY id"""
    values = (user_id, min_id(since), to_microseconds(since))
    return tuple(draft_id for (draft_id,) in execute_sql(conn, query, values))


def find_linked_items(conn: Connection, user_id: str, item_ids: Sequence[str]) -> frozenset[str]:
    """Return those of the items to which a draft of several items links."""
    found: set[str] = set()
    for chunk in chunked(item_ids):
        query = f"SELECT item_id FROM draft_item WHERE +user_id = ? AND item_id IN ({placeholders(chunk)})"  # noqa: S608
        found.update(item_id for (item_id,) in execute_sql(conn, query, (user_id, *chunk)))
    return frozenset(found)


def list_stored_image_urls(conn: Connection, user_id: str, image_ids: Sequence[str]) -> dict[str, str]:
    """Return the URLs of the stored copies by image id. Images that were not fetched yet are missing."""
    urls: dict[str, str] = {}
    for chunk in chunked(image_ids):
        conditions = (draft_image.c.user_id == user_id, draft_image.c.id.in_(chunk), draft_image.c.stored.is_not(None))
        urls |= {
            row.id: row.stored
            for row in conn.execute(select(draft_image.c.id, draft_image.c.stored).where(*conditions))
        }
    return urls


def save_stored_image_url(conn: Connection, user_id: str, image_id: str, url: str) -> str:
    """Record the URL of the stored copy of an image, unless one is recorded; return the recorded URL.

    Return `url` itself if the image row is gone because its draft was deleted.
    """
    conditions = (draft_image.c.user_id == user_id, draft_image.c.id == image_id)
    conn.execute(update(draft_image).where(*conditions, draft_image.c.stored.is_(None)).values(stored=url))
    # Two processes may store the same image at once: the first URL recorded wins.
    recorded = conn.execute(select(draft_image.c.stored).where(*conditions)).scalar()
    return str(recorded) if recorded is not None else url


def set_image_alt(conn: Connection, user_id: str, draft_id: str, number: int, alt: str) -> bool:
    """Set the alt text of the image at position `number` of the draft, counted from 1.

    Return False if the draft has no such image.
    """
    condition = _is_image(user_id, draft_id, number, proposed=False)
    return conn.execute(update(draft_image).where(condition).values(alt=alt)).rowcount == 1


def remove_image(conn: Connection, user_id: str, draft_id: str, number: int) -> bool:
    """Remove the image at position `number` of the draft; one of its source is proposed again.

    Return False if the draft has no such image.
    """
    condition = _is_image(user_id, draft_id, number, proposed=False)
    is_of_source = draft_image.c.source == ImageSource.OG
    if conn.execute(update(draft_image).where(condition, is_of_source).values(proposed=True)).rowcount == 1:
        return True
    return conn.execute(delete(draft_image).where(condition)).rowcount == 1


def attach_image(conn: Connection, user_id: str, draft_id: str, number: int, alt: str | None) -> bool:
    """Attach the proposed image at position `number`, after the draft's other images; `alt` replaces its alt text.

    Return False if no such image is proposed.
    """
    condition = _is_image(user_id, draft_id, number, proposed=True)
    last = select(func.coalesce(func.max(draft_image.c.position), -1) + 1)
    attached = (draft_image.c.draft_id == draft_id, draft_image.c.proposed.is_(False))
    values = {"proposed": False, "position": last.where(*attached).scalar_subquery()}
    if alt is not None:
        values["alt"] = alt
    return conn.execute(update(draft_image).where(condition).values(**values)).rowcount == 1


def _is_image(user_id: str, draft_id: str, number: int, *, proposed: bool) -> ColumnElement[bool]:
    """Return the condition for the image at position `number`, of the attached or the proposed ones."""
    image = draft_image.alias()
    ordered_ids = (
        select(image.c.id)
        .where(image.c.user_id == user_id, image.c.draft_id == draft_id, image.c.proposed.is_(proposed))
        .order_by(image.c.position, image.c.id)
    )
    return draft_image.c.id == ordered_ids.offset(number - 1).limit(1).scalar_subquery()


def list_stored_image_digests(conn: Connection) -> frozenset[str]:
    """Return the SHA-256 of every stored image that any draft of any user refers to."""
    digests: set[str] = set()
    for column in (draft_image.c.url, draft_image.c.stored):
        urls = conn.execute(select(column).where(column.startswith(stored_image_url(""))).distinct()).scalars()
        digests.update(filter(None, map(stored_image_digest, urls)))
    return frozenset(digests)


def has_postable_images(conn: Connection, user_id: str) -> bool:
    """Return True if a draft with an image may still be posted."""
    has_image = exists().where(draft_image.c.draft_id == draft.c.id, draft_image.c.proposed.is_(False))
    may_be_posted = (draft.c.user_id == user_id, draft.c.status.in_(POSTABLE_STATUSES), draft.c.archived_at.is_(None))
    return bool(conn.execute(select(exists().where(*may_be_posted, has_image))).scalar())
