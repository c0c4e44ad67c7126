"""Drafts with a value in every field that a list shows."""

from datetime import timedelta

from sqlalchemy import Connection

from copydesk.desk import Desk
from copydesk.model.draft import (
    TO_REVIEW,
    Checks,
    DraftImage,
    Finding,
    Format,
    ImageSource,
    ScorePart,
    Severity,
    Status,
)
from copydesk.model.draft import Draft as Values
from copydesk.model.draft import Score as Total
from copydesk.store import drafts
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import new_id
from copydesk.store.tables import DraftOrigin
from store_fixtures import NOW, add_item, add_source, add_user

CREATED_AT = NOW.replace(microsecond=123_000)


def make_draft(number: int, item: str, **values: object) -> Values:
    """Return a draft with a value in every field that a list shows."""
    score = Total(
        total=number % 7 / 10,
        parts=(ScorePart(name="recency", value=0.5, weight=0.2, points=0.1, why="published 2 h ago"),),
    )
    fields: dict[str, object] = {
        "id": new_id(CREATED_AT),
        "text": f"Words “{number}” \u202e, \U0001f642\n\nand more.",
        "format": list(Format)[number % 3],
        "status": TO_REVIEW[number % 3],
        "confidence": number / 100,
        "feedback": "shorter" if number % 2 else None,
        "rejection_feedback": None,
        "scheduled_at": CREATED_AT + timedelta(days=1) if number % 4 == 0 else None,
        "posted_at": None,
        "post_id": None,
        "item_id": item,
        "regenerated_from_id": None,
        "created_at": CREATED_AT,
        "updated_at": CREATED_AT + timedelta(microseconds=1),
        "tags": ("b", "a", "ä") if number % 2 else (),
        "target_platforms": ("bluesky", "x") if number % 3 else (),
        "images": tuple(_image(at) for at in (1, 0)) if number % 5 == 0 else (),
        "checks": Checks(
            ran=3, findings=(Finding(rule="length", severity=Severity.INFO, message="“ok”", start=1, end=2),)
        ),
        "score": score if number % 6 else None,
        "writer": "offline",
    }
    return Values(**fields | values)  # type: ignore[arg-type]


def _image(position: int) -> DraftImage:
    return DraftImage(
        id=new_id(CREATED_AT), url="https://x.example/é.png", alt=None, position=position, source=ImageSource.OG
    )


async def add_drafts(desk: Desk, count: int) -> None:
    """Add drafts to review, and some that are not: archived, approved, another user's."""
    await desk._context.write(_add, count)


def _add(conn: Connection, user: str, count: int) -> None:
    source = add_source(conn, user)
    for number in range(count):
        item = add_item(conn, user, source, title=f"Title {number}")
        odd = {7: {"status": Status.APPROVED}, 8: {"archived_at": CREATED_AT}}.get(number % 10, {})
        _save(conn, user, make_draft(number, item, **odd), source)
    other = add_user(conn, "Bea")
    item = add_item(conn, other, add_source(conn, other))
    _save(conn, other, make_draft(1, item), source)


def _save(conn: Connection, user: str, draft: Values, source: str) -> None:
    new = NewDraft(
        draft=draft, source_id=source, source_type="rss", story_id=draft.item_id, origin=DraftOrigin.PIPELINE
    )
    assert drafts.add(conn, user, new)
