"""The versions of a draft: drafts that were regenerated from one another."""

from sqlalchemy import Connection, bindparam, select

from copydesk.model.draft import ListedDraft
from copydesk.store import lists
from copydesk.store.tables import draft

_IS_OWNED = draft.c.user_id == bindparam("user")
_VERSION_ROW = select(draft.c.id, draft.c.regenerated_from_id)
# UNION, not UNION ALL: it terminates even if a damaged chain has a cycle.
_ancestors = _VERSION_ROW.where(_IS_OWNED, draft.c.id == bindparam("draft")).cte("up", recursive=True)
_ancestors = _ancestors.union(_VERSION_ROW.where(_IS_OWNED, draft.c.id == _ancestors.c.regenerated_from_id))
_family = select(_ancestors.c.id).cte("versions", recursive=True)
_family = _family.union(select(draft.c.id).where(_IS_OWNED, draft.c.regenerated_from_id == _family.c.id))
_VERSIONS = select(_family.c.id).order_by(_family.c.id)
_EARLIER_TEXTS = select(draft.c.text).where(
    _IS_OWNED, draft.c.id.in_(select(_ancestors.c.id)), draft.c.id != bindparam("draft"), draft.c.text != ""
)
_EARLIER_TEXTS = _EARLIER_TEXTS.order_by(draft.c.id.desc())


def list_versions(conn: Connection, user_id: str, draft_id: str) -> tuple[ListedDraft, ...]:
    """Return all versions of the draft, oldest first: its ancestors, itself, and all descendants of these."""
    ids = conn.execute(_VERSIONS, {"user": user_id, "draft": draft_id}).scalars().all()
    versions = (lists.get(conn, user_id, version) for version in ids)
    return tuple(version for version in versions if version is not None)


def list_earlier_texts(conn: Connection, user_id: str, draft_id: str) -> tuple[str, ...]:
    """Return the texts of the versions that the draft was made from, newest first, without empty ones."""
    return tuple(conn.execute(_EARLIER_TEXTS, {"user": user_id, "draft": draft_id}).scalars())
