"""The versions of a text: drafts that were made anew, one from the other."""

from sqlalchemy import Connection, bindparam, select

from copydesk.model.draft import ListedDraft
from copydesk.store import lists
from copydesk.store.tables import draft

_MINE = draft.c.user_id == bindparam("user")
_ROW = select(draft.c.id, draft.c.regenerated_from_id)
# UNION, and not UNION ALL, ends even where a damaged chain bites its own tail.
_up = _ROW.where(_MINE, draft.c.id == bindparam("draft")).cte("up", recursive=True)
_up = _up.union(_ROW.where(_MINE, draft.c.id == _up.c.regenerated_from_id))
_all = select(_up.c.id).cte("versions", recursive=True)
_all = _all.union(select(draft.c.id).where(_MINE, draft.c.regenerated_from_id == _all.c.id))
_VERSIONS = select(_all.c.id).order_by(_all.c.id)
_BEFORE = select(draft.c.text).where(
    _MINE, draft.c.id.in_(select(_up.c.id)), draft.c.id != bindparam("draft"), draft.c.text != ""
)
_BEFORE = _BEFORE.order_by(draft.c.id.desc())


def of(conn: Connection, user_id: str, draft_id: str) -> tuple[ListedDraft, ...]:
    """Every version that a draft comes from, the draft, and every one that comes from them, the oldest first."""
    ids = conn.execute(_VERSIONS, {"user": user_id, "draft": draft_id}).scalars().all()
    found = (lists.one(conn, user_id, each) for each in ids)
    return tuple(each for each in found if each is not None)


def texts_before(conn: Connection, user_id: str, draft_id: str) -> tuple[str, ...]:
    """The texts of the versions that a draft was made from, the newest first; those that have one."""
    return tuple(conn.execute(_BEFORE, {"user": user_id, "draft": draft_id}).scalars())
