"""The versions of a draft, and what changed from one to another."""

import asyncio
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from copydesk.desk.ground import Ground
from copydesk.model.draft import Draft, Finding, ListedDraft
from copydesk.model.wire import Struct
from copydesk.store import changes, lists, versions

if TYPE_CHECKING:
    from copydesk.drafting.difference import Piece


class Difference(Struct, frozen=True):
    """What changed from one draft to another."""

    old: str
    new: str
    """The drafts' ids."""
    pieces: tuple["Piece", ...]
    """Both texts, word by word: what is the same, removed or added."""
    better: tuple[Finding, ...]
    """What the checks said of the old one, and do not say, or not so strongly, of the new one."""
    worse: tuple[Finding, ...]


class Versions:
    """Looking back from a version of a draft to the ones before it."""

    _ground: Ground

    async def versions(self, draft_id: str) -> tuple[ListedDraft, ...]:
        """Every version of a draft, the oldest first, whichever of them is named. Raises NotFoundError."""
        found = await self._ground.read(versions.of, draft_id)
        if not found:
            raise changes.no_draft(draft_id)
        return found

    async def difference(self, old_id: str, new_id: str) -> Difference:
        """What changed from one draft to another, mostly two versions of one. Raises NotFoundError."""
        old, new = await self._ground.read(_both, old_id, new_id)
        return await asyncio.to_thread(_difference, old, new)


def _both(conn: Connection, user_id: str, old_id: str, new_id: str) -> tuple[Draft, Draft]:
    return _known(conn, user_id, old_id), _known(conn, user_id, new_id)


def _known(conn: Connection, user_id: str, draft_id: str) -> Draft:
    found = lists.one(conn, user_id, draft_id)
    if found is None:
        raise changes.no_draft(draft_id)
    return found


def _difference(old: Draft, new: Draft) -> Difference:
    from copydesk.drafting.difference import checks_changed, difference  # noqa: PLC0415 - only for those who compare

    better, worse = checks_changed(old.checks, new.checks)
    return Difference(old=old.id, new=new.id, pieces=difference(old.text, new.text), better=better, worse=worse)
