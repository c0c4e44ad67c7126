"""Decisions that the confidence of drafts is learnt from, and the stored confidences."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection

from copydesk.model.draft import Checks, Draft, Status, Trace
from copydesk.model.serialization import Struct
from copydesk.store import learning
from copydesk.store.column_types import to_microseconds
from copydesk.store.draft_rows import DRAFT_COLUMNS, hydrate
from copydesk.store.drafts import ACCEPTED_STATUSES, NEWEST_DECIDED
from copydesk.store.raw_sql import chunked, dbapi_connection, execute_many, execute_sql, placeholders
from copydesk.store.tables import DraftOrigin

_DECIDED_VALUES = ", ".join(f"'{status.value}'" for status in sorted({*ACCEPTED_STATUSES, Status.REJECTED}))
_COLUMNS = ", ".join(f"draft.{name}" for name in DRAFT_COLUMNS)
# Texts that the user wrote say nothing about drafts that were proposed to them.
_IS_PROPOSED = f"(draft.origin <> '{DraftOrigin.DIRECT.value}' OR draft.agent IS NOT NULL)"
# Of each column: the first edit may leave the checks as they were, and a later one change them.
_ORIGINALS = ", ".join(
    f"""(SELECT before ->> '{name}' FROM draft_event
        WHERE draft_id = draft.id AND kind = 'change' AND before ->> '{name}' IS NOT NULL
        ORDER BY version LIMIT 1)"""  # noqa: S608 - names of our own
    for name in ("text", "checks", "sentences")
)
_LAST_DECISION = """(SELECT {0} FROM draft_event
        WHERE draft_id = draft.id AND action IN ('approve', 'reject') ORDER BY version DESC LIMIT 1)"""
_SINCE = "(SELECT since FROM learning WHERE user_id = :user)"
_DECIDED = f"""SELECT {_COLUMNS}, item.title, draft.source_type, item.published,
        {_ORIGINALS}, {_LAST_DECISION.format("rid")} AS decision
    FROM (SELECT id FROM ({NEWEST_DECIDED}) AS decided ORDER BY id DESC LIMIT :limit) AS newest
    CROSS JOIN draft ON draft.id = newest.id JOIN item ON item.id = draft.item_id
    WHERE {_IS_PROPOSED} AND (CAST(:since AS BIGINT) IS NULL OR {_LAST_DECISION.format("at")} > :since)
    ORDER BY decision, draft.id"""  # noqa: S608 - words of our own
# The same decisions as in _DECIDED, without reading the drafts.
_COUNT_LEARNT = f"""SELECT count(*) FROM (SELECT draft.id
    FROM (SELECT id FROM ({NEWEST_DECIDED}) AS decided ORDER BY id DESC LIMIT :limit) AS newest
    CROSS JOIN draft ON draft.id = newest.id
    WHERE {_IS_PROPOSED} AND ({_SINCE} IS NULL OR {_LAST_DECISION.format("at")} > {_SINCE})
    LIMIT :needed) AS counted"""  # noqa: S608 - words of our own
_COUNT = f"SELECT coalesce(sum(drafts), 0) FROM draft_count WHERE user_id = ? AND status IN ({_DECIDED_VALUES})"  # noqa: S608
_ESTIMATED = (Status.PENDING_REVIEW, Status.AWAITING_REVIEW, Status.CHANGES_REQUESTED, Status.APPROVED)
"""States of drafts whose stored confidence is kept up to date: the others are not shown by it."""
_SAVE = "UPDATE draft SET confidence = ?, confidence_known = ? WHERE id = ? AND user_id = ? AND version = ?"

_checks = msgspec.json.Decoder(Checks).decode
_sentences = msgspec.json.Decoder(tuple[Trace, ...]).decode


class DecidedDraft(Struct, frozen=True):
    """A draft as it was proposed, and the user's decision on it."""

    draft: Draft
    approved: bool
    """Approved, and not edited."""
    edited_text: str | None = None
    """The text that was approved, if it was edited."""


class StoredConfidence(Struct, frozen=True):
    """A confidence to store, unless the draft has changed since."""

    draft_id: str
    version: int
    confidence: float
    known: bool


def count_decided(conn: Connection, user_id: str) -> int:
    """Return the number of drafts that the user approved or rejected. Its cost does not grow with the drafts."""
    return int(execute_sql(conn, _COUNT, (user_id,)).fetchone()[0])


def is_refresh_due(conn: Connection, user_id: str, every: int) -> bool:
    """Return True if the number of decisions has passed a multiple of `every` since the last refresh."""
    return count_decided(conn, user_id) // every != learning.load(conn, user_id).confidence_decisions // every


def count_learnt(conn: Connection, user_id: str, limit: int, needed: int) -> int:
    """Return the number of decisions that the confidence is learnt from, counting no further than `needed`."""
    values = {"user": user_id, "limit": limit, "needed": needed}
    return int(execute_sql(conn, _COUNT_LEARNT, values).fetchone()[0])


def list_decided(conn: Connection, user_id: str, limit: int, since: datetime | None) -> tuple[DecidedDraft, ...]:
    """Return the newest drafts that were proposed and decided, since `since` if given, oldest decision first."""
    values = {"user": user_id, "limit": limit, "since": since and to_microseconds(since)}
    rows = execute_sql(conn, _DECIDED, values).fetchall()
    proposed = hydrate(dbapi_connection(conn), user_id, [row[:-4] for row in rows])
    return tuple(_decided(draft, *row[-4:-1]) for draft, row in zip(proposed, rows, strict=True))


def _decided(stored: Draft, text: str | None, checks: str | None, sentences: str | None) -> DecidedDraft:
    """Return the decision on a draft, with what its columns had before the first edit that changed them."""
    approved = stored.status in ACCEPTED_STATUSES
    if text is None:
        return DecidedDraft(draft=stored, approved=approved)
    draft = msgspec.structs.replace(
        stored,
        text=text,
        checks=_checks(checks) if checks else stored.checks,
        sentences=_sentences(sentences) if sentences else stored.sentences,
    )
    # An edit that was undone is none.
    is_edited = stored.text != text
    return DecidedDraft(
        draft=draft, approved=approved and not is_edited, edited_text=stored.text if approved and is_edited else None
    )


def list_ids_to_estimate(conn: Connection, user_id: str, limit: int) -> tuple[str, ...]:
    """Return the ids of the drafts whose confidence is kept up to date, at most the newest `limit` of each state."""
    found: list[str] = []
    for status in _ESTIMATED:
        query = f"""SELECT id FROM draft WHERE user_id = ? AND status = '{status.value}' AND archived_at IS NULL
            ORDER BY id DESC LIMIT ?"""  # noqa: S608 - words of our own
        found += (draft_id for (draft_id,) in execute_sql(conn, query, (user_id, limit)))
    return tuple(found)


def load_drafts(conn: Connection, user_id: str, ids: Sequence[str]) -> tuple[Draft, ...]:
    """Return those of the drafts that exist."""
    found: list[Draft] = []
    for chunk in chunked(ids):
        query = f"""SELECT {_COLUMNS}, item.title, draft.source_type, item.published
            FROM draft JOIN item ON item.id = draft.item_id
            WHERE draft.user_id = ? AND draft.id IN ({placeholders(chunk)})"""  # noqa: S608 - words of our own
        found += hydrate(dbapi_connection(conn), user_id, execute_sql(conn, query, (user_id, *chunk)).fetchall())
    return tuple(found)


def save(conn: Connection, user_id: str, confidences: Sequence[StoredConfidence]) -> None:
    """Store confidences without an event: they follow from decisions on other drafts, and are no change of a draft."""
    rows: list[tuple[Any, ...]] = [
        (stored.confidence, stored.known, stored.draft_id, user_id, stored.version) for stored in confidences
    ]
    execute_many(conn, _SAVE, rows)
