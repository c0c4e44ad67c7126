"""Several reviewers on one draft: presence, leases of edits, comments.

A lease keeps others from saving a text while somebody types. It is no lock on the draft: whoever decides on the draft,
or posts it, does not wait. Whatever was typed under a lease that somebody else took over is kept.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.approvals import list_lacking, required_approvals
from copydesk.desk.drafts.versions import Difference, compare_texts
from copydesk.desk.ids import shorten_id
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs, requiring
from copydesk.desk.platforms import Platforms
from copydesk.errors import ConflictError, EditedByOtherError, FieldError, InvalidError, NotFoundError
from copydesk.model.activity import (
    EDIT_DURATION,
    MAX_COMMENT_LENGTH,
    MAX_COMMENTS,
    MAX_QUOTE_LENGTH,
    VIEW_DURATION,
    Comment,
    DraftActivity,
    EditLease,
    ReviewedDraft,
    UnsavedEdit,
    Viewer,
    find_quote,
)
from copydesk.model.draft import APPROVED_STATUSES, STATUS_LABELS
from copydesk.model.ids import IdKind
from copydesk.model.requests import MAX_TEXT_LENGTH
from copydesk.model.token import Scope
from copydesk.model.transitions import COUNTERSIGN, EventKind, status_after_edit
from copydesk.model.validation import CONTROL_EXCEPT_BREAKS, control_character_problem, storage_problem
from copydesk.store import accounts, activity, draft_queries, draft_updates
from copydesk.store.activity import OpenEdit, StoredActivity
from copydesk.store.database import Transaction
from copydesk.store.draft_updates import DraftUpdate
from copydesk.store.ids import creation_time, new_id

FORGET_EMPTY_AFTER = timedelta(days=1)
"""After that nobody still types in an edit that has ended."""
TypedText = Annotated[str, msgspec.Meta(max_length=MAX_TEXT_LENGTH)]


_NO_ACTIVITY = DraftActivity(viewers=(), editing=None, unsaved=())


class CountersignedDrafts(NamedTuple):
    """The drafts that were countersigned, and why others were not, by id."""

    succeeded: tuple[str, ...]
    failed: Mapping[str, str]


class Activity:
    """Presence of reviewers on the drafts of one desk, and their edits."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def get(self, draft_id: str) -> DraftActivity:
        """Return who has the draft open and who edits it. Raise NotFoundError."""
        return await self._ctx.read(_load, draft_id, self._ctx.reviewer, self._ctx.clock())

    @operation
    async def overview(self, draft_id: str) -> ReviewedDraft:
        """Return `get`, the comments and the approvals that are asked for, in one read. Raise NotFoundError."""
        return await self._ctx.read(_overview, draft_id, self._ctx.reviewer, self._ctx.clock(), self._ctx.platforms)

    @operation
    async def view(self, draft_id: str, *, instead_of: str = "") -> DraftActivity:
        """Record that the caller has the draft open, for VIEW_DURATION; return who else is on it.

        `instead_of` is the draft that the caller had open before, and has closed. Raise NotFoundError.
        """
        return await self._ctx.write(_view, draft_id, instead_of, self._ctx.reviewer, self._ctx.clock())

    @operation
    async def leave(self, draft_id: str) -> None:
        """Record that the caller has closed the draft."""
        await self._ctx.write(activity.remove_viewer, draft_id, self._ctx.reviewer)

    @operation
    async def start_edit(self, draft_id: str, *, take_over: bool = False) -> EditLease:
        """Begin to edit the draft: until EDIT_DURATION after the last renewal nobody else can save a text.

        With `take_over` another reviewer's edit ends; the text that they have typed is kept. Raise ConflictError if
        another reviewer edits it, or if its status does not allow an edit; NotFoundError.
        """
        now = self._ctx.clock()
        with requiring(Scope.REVIEW if take_over else Scope.DRAFT):
            return await self._ctx.write(
                _start_edit, draft_id, self._ctx.reviewer, now, new_id(now), take_over=take_over
            )

    @operation
    async def renew_edit(self, draft_id: str, lease_id: str, text: TypedText | None = None) -> EditLease:
        """Renew the lease, and store the text as it is typed so far, which is not saved by that.

        Raise ConflictError if another reviewer took the edit over; the text is kept all the same. NotFoundError, and
        InvalidError for a text that no draft can have.
        """
        if text and (problem := storage_problem(text)):
            raise InvalidError(FieldError("text", problem))
        lease, taken_by = await self._ctx.write(_renew_edit, draft_id, lease_id, text, self._ctx.clock())
        if lease is None:
            short_id = await self._ctx.read(shorten_id, IdKind.DRAFT, draft_id)
            raise ConflictError(
                f"{taken_by} took over this edit; your text is kept." if taken_by else "This edit has ended.",
                hint=f"Compare both: copydesk draft activity {short_id}",
            )
        return lease

    @operation
    async def end_edit(self, draft_id: str) -> None:
        """End the caller's edit without saving; nothing happens if somebody else took it over."""
        await self._ctx.write(_end_edit, draft_id, self._ctx.reviewer)

    @needs(Scope.REVIEW)
    @operation
    async def countersign(self, draft_id: str) -> DraftActivity:
        """Add the caller's approval to those of an approved draft, for accounts that ask for several.

        It can be undone like an approval. Raise ConflictError if the draft is not approved, or the caller has approved
        it already; NotFoundError.
        """
        return await self._ctx.write_durable(_countersign, draft_id, self._ctx.reviewer, self._ctx.clock())

    @needs(Scope.REVIEW)
    @operation
    async def countersign_all(self, draft_ids: Sequence[str]) -> CountersignedDrafts:
        """Countersign those of the drafts that lack an approval, undone as one; return them, and the others with why.

        Drafts that are not approved, or have all approvals that they need, are in neither.
        """
        now, reviewer = self._ctx.clock(), self._ctx.reviewer
        lacking = await self._ctx.read(list_lacking, tuple(dict.fromkeys(draft_ids)), self._ctx.platforms)
        bulk_id = new_id(now)

        def sign(conn: Transaction, user_id: str, draft_id: str) -> None:
            _countersign(conn, user_id, draft_id, reviewer, now, bulk_id)

        results = await self._ctx.write_batch(sign, lacking)
        failed = {draft_id: str(error) for draft_id, error in zip(lacking, results, strict=True) if error is not None}
        return CountersignedDrafts(tuple(draft_id for draft_id in lacking if draft_id not in failed), failed)

    @operation
    async def compare_unsaved(self, edit_id: str) -> Difference:
        """Return the differences from the draft to a text that was typed and not saved. Raise NotFoundError."""
        edit, text = await self._ctx.read(_load_unsaved, edit_id)
        return await asyncio.to_thread(compare_texts, edit.draft_id, text, edit.text)

    @needs(Scope.REVIEW)
    @operation
    async def discard_unsaved(self, edit_id: str) -> None:
        """Delete a text that was typed and not saved. Raise NotFoundError."""
        if not await self._ctx.write_durable(activity.remove_unsaved, edit_id):
            raise _no_unsaved()


class Comments:
    """The comments on the drafts of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def list(self, draft_id: str) -> tuple[Comment, ...]:
        """Return the comments on the draft, oldest first, with the positions of their words in its text.

        Raise NotFoundError.
        """
        return await self._ctx.read(_load_comments, draft_id)

    @operation
    async def add(self, draft_id: str, text: str, quote: str = "", start: int = 0) -> Comment:
        """Comment on the draft, or on the words `quote` in its text, those closest to the position `start`.

        Raise InvalidError for a text that is blank, too long or has control characters, and for words that are not in
        the draft, ConflictError for a draft with MAX_COMMENTS comments, NotFoundError.
        """
        text = text.strip()
        _check_comment(text, quote)
        now = self._ctx.clock()
        comment = Comment(
            id=new_id(now), draft_id=draft_id, reviewer=self._ctx.reviewer, at=now, text=text, quote=quote, start=start
        )
        return await self._ctx.write_durable(_add_comment, comment)

    @needs(Scope.REVIEW)
    @operation
    async def resolve(self, comment_id: str, *, resolved: bool = True) -> Comment:
        """Mark a comment as resolved, or open it again. Raise NotFoundError."""
        now, reviewer = self._ctx.clock(), self._ctx.reviewer
        return await self._ctx.write_durable(
            _resolve, comment_id, now if resolved else None, reviewer if resolved else None
        )

    @needs(Scope.REVIEW)
    @operation
    async def remove(self, comment_id: str) -> None:
        """Delete a comment. Raise NotFoundError."""
        if not await self._ctx.write_durable(activity.remove_comment, comment_id):
            raise _no_comment()


def _load(conn: Transaction, user_id: str, draft_id: str, reviewer: str, now: datetime) -> DraftActivity:
    return _seen_by(reviewer, _load_stored(conn, user_id, draft_id, now), now)


def _load_stored(conn: Transaction, user_id: str, draft_id: str, now: datetime) -> StoredActivity:
    stored = activity.load(conn, user_id, draft_id, now)
    if stored is None:
        raise draft_updates.draft_not_found(draft_id)
    return stored


def _seen_by(reviewer: str, stored: StoredActivity, now: datetime) -> DraftActivity:
    """Return what a reviewer sees of it: not themselves, and no edit that was left behind."""
    edit = stored.edit
    return DraftActivity(
        viewers=tuple(viewer for viewer in stored.viewers if viewer.reviewer != reviewer),
        editing=_to_editor(edit) if edit and edit.until > now else None,
        unsaved=stored.unsaved,
        approvals=stored.approvals,
    )


def _to_editor(edit: OpenEdit) -> Viewer:
    # The lease was made when the edit began.
    return Viewer(reviewer=edit.reviewer, until=edit.until, since=creation_time(edit.lease_id))


def _overview(
    conn: Transaction, user_id: str, draft_id: str, reviewer: str, now: datetime, platforms: Platforms
) -> ReviewedDraft:
    traces = activity.find_traces(conn, user_id, draft_id, reviewer, now)
    if not traces.exists:
        raise draft_updates.draft_not_found(draft_id)
    several = traces.most_approvals > 1
    connected = accounts.list_all(conn, user_id) if several else ()
    required = required_approvals(conn, user_id, [draft_id], connected, platforms).get(draft_id, 1)
    if not traces.any and required == 1:
        return ReviewedDraft(reviewer, _NO_ACTIVITY, is_shared=traces.is_shared)
    stored = _load_stored(conn, user_id, draft_id, now)
    return ReviewedDraft(
        reviewer=reviewer,
        activity=_seen_by(reviewer, stored, now),
        comments=tuple(_anchored(comment, stored.text) for comment in stored.comments),
        required=required,
        is_shared=traces.is_shared,
    )


def _view(
    conn: Transaction, user_id: str, draft_id: str, instead_of: str, reviewer: str, now: datetime
) -> DraftActivity:
    if instead_of:
        activity.remove_viewer(conn, user_id, instead_of, reviewer)
    found = _load(conn, user_id, draft_id, reviewer, now)
    activity.save_viewer(conn, user_id, draft_id, Viewer(reviewer=reviewer, until=now + VIEW_DURATION), now)
    return found


def _countersign(
    conn: Transaction, user_id: str, draft_id: str, reviewer: str, now: datetime, bulk_id: str | None = None
) -> DraftActivity:
    snapshot = draft_updates.load_snapshot(conn, user_id, draft_id)
    if snapshot.status not in APPROVED_STATUSES or snapshot.archived:
        message = f"Cannot countersign a draft with the status “{STATUS_LABELS[snapshot.status]}”."
        short_id = shorten_id(conn, user_id, IdKind.DRAFT, draft_id)
        raise draft_updates.draft_conflict(snapshot, message, f"Approve it: copydesk draft approve {short_id}")
    if any(approval.reviewer == reviewer for approval in activity.list_approvals(conn, user_id, draft_id)):
        raise ConflictError(f"{reviewer} has approved this draft already; nothing changed.", hint="Ask somebody else.")
    change = DraftUpdate(
        kind=EventKind.CHANGE, action=COUNTERSIGN, after={}, at=now, bulk_id=bulk_id, approved_by=reviewer
    )
    draft_updates.apply_update(conn, user_id, snapshot, change)
    return _load(conn, user_id, draft_id, reviewer, now)


def _start_edit(
    conn: Transaction, user_id: str, draft_id: str, reviewer: str, now: datetime, lease_id: str, *, take_over: bool
) -> EditLease:
    snapshot = draft_updates.load_snapshot(conn, user_id, draft_id)
    status_after_edit(snapshot.status, archived=snapshot.archived)
    earlier = activity.get_edit(conn, user_id, draft_id)
    if earlier is not None:
        if not take_over:
            _refuse_if_held(conn, user_id, draft_id, earlier, reviewer, now)
        _keep_text(conn, user_id, draft_id, earlier, now)
    edit = OpenEdit(lease_id=lease_id, reviewer=reviewer, until=now + EDIT_DURATION, version=snapshot.version)
    activity.save_edit(conn, user_id, draft_id, edit)
    return _to_lease(draft_id, edit)


def _renew_edit(
    conn: Transaction, user_id: str, draft_id: str, lease_id: str, text: str | None, now: datetime
) -> tuple[EditLease | None, str]:
    """Return the renewed lease; if it is lost, None and who has it now if the text is kept."""
    draft_updates.load_snapshot(conn, user_id, draft_id)
    edit = activity.get_edit(conn, user_id, draft_id)
    if edit is not None and edit.lease_id == lease_id:
        # Also once it has expired: nobody else has begun an edit since.
        typed = edit.text if text is None else text
        edit = msgspec.structs.replace(edit, until=now + EDIT_DURATION, text=typed)
        activity.save_edit(conn, user_id, draft_id, edit)
        return _to_lease(draft_id, edit), ""
    # Typed after the takeover, before the reviewer learns of it.
    is_kept = bool(text) and activity.update_unsaved(conn, user_id, draft_id, lease_id, str(text))
    taken_by = edit.reviewer if edit is not None else "Another reviewer"
    return None, taken_by if is_kept else ""


def _to_lease(draft_id: str, edit: OpenEdit) -> EditLease:
    return EditLease(
        id=edit.lease_id, draft_id=draft_id, reviewer=edit.reviewer, until=edit.until, version=edit.version
    )


def _refuse_if_held(
    conn: Transaction, user_id: str, draft_id: str, edit: OpenEdit, reviewer: str, now: datetime
) -> None:
    if edit.reviewer != reviewer and edit.until > now:
        short_id = shorten_id(conn, user_id, IdKind.DRAFT, draft_id)
        raise EditedByOtherError(
            f"{edit.reviewer} is editing this draft; nothing changed.",
            hint=f"Wait until it is saved, or take it over: copydesk draft edit {short_id} --take-over",
        )


def _keep_text(conn: Transaction, user_id: str, draft_id: str, edit: OpenEdit, now: datetime) -> None:
    """Keep what was typed in an edit that ends without being saved; what is still typed will be added."""
    unsaved = UnsavedEdit(
        id=edit.lease_id,
        draft_id=draft_id,
        reviewer=edit.reviewer,
        at=now,
        version=edit.version,
        text=edit.text or "",
    )
    activity.add_unsaved(conn, user_id, unsaved, now - FORGET_EMPTY_AFTER)


def settle_edit(conn: Transaction, user_id: str, draft_id: str, reviewer: str, now: datetime) -> None:
    """Before a text is saved: end the reviewer's own edit. Raise ConflictError while somebody else edits the draft."""
    edit = activity.get_edit(conn, user_id, draft_id)
    # Usually nobody else is there.
    if edit is None:
        return
    _refuse_if_held(conn, user_id, draft_id, edit, reviewer, now)
    if edit.reviewer != reviewer:
        _keep_text(conn, user_id, draft_id, edit, now)
    activity.remove_edit(conn, user_id, draft_id, edit.lease_id)


def _end_edit(conn: Transaction, user_id: str, draft_id: str, reviewer: str) -> None:
    edit = activity.get_edit(conn, user_id, draft_id)
    if edit is not None and edit.reviewer == reviewer:
        activity.remove_edit(conn, user_id, draft_id, edit.lease_id)


def _load_unsaved(conn: Transaction, user_id: str, edit_id: str) -> tuple[UnsavedEdit, str]:
    edit = activity.get_unsaved(conn, user_id, edit_id)
    if edit is None:
        raise _no_unsaved()
    return edit, draft_queries.load(conn, user_id, edit.draft_id).text


def _no_unsaved() -> NotFoundError:
    return NotFoundError("No unsaved text with this id.")


def _check_comment(text: str, quote: str) -> None:
    problems = []
    if not 1 <= len(text) <= MAX_COMMENT_LENGTH:
        problems.append(FieldError("text", f"takes 1 to {MAX_COMMENT_LENGTH} characters"))
    elif problem := storage_problem(text) or control_character_problem(text, CONTROL_EXCEPT_BREAKS):
        problems.append(FieldError("text", problem))
    if len(quote) > MAX_QUOTE_LENGTH:
        problems.append(FieldError("quote", f"takes up to {MAX_QUOTE_LENGTH} characters"))
    if problems:
        raise InvalidError(*problems)


def _load_comments(conn: Transaction, user_id: str, draft_id: str) -> tuple[Comment, ...]:
    text = draft_queries.load(conn, user_id, draft_id).text
    return tuple(_anchored(comment, text) for comment in activity.list_comments(conn, user_id, draft_id))


def _anchored(comment: Comment, text: str) -> Comment:
    """Return the comment with the position of its words in the text as it is now."""
    # Computed for each text: an edit need not change the comments.
    start = find_quote(text, comment.quote, comment.start or 0)
    return msgspec.structs.replace(comment, start=start)


def _add_comment(conn: Transaction, user_id: str, comment: Comment) -> Comment:
    comment = _anchored(comment, draft_queries.load(conn, user_id, comment.draft_id).text)
    if comment.quote and comment.start is None:
        raise InvalidError(FieldError("quote", "is not in the text of the draft"))
    if len(activity.list_comments(conn, user_id, comment.draft_id)) >= MAX_COMMENTS:
        raise ConflictError(f"The draft has {MAX_COMMENTS} comments; nothing changed.", hint="Delete some first.")
    activity.add_comment(conn, user_id, comment)
    return comment


def _resolve(conn: Transaction, user_id: str, comment_id: str, at: datetime | None, reviewer: str | None) -> Comment:
    # Nothing is written if there is no such comment.
    activity.resolve_comment(conn, user_id, comment_id, at, reviewer)
    comment = activity.get_comment(conn, user_id, comment_id)
    if comment is None:
        raise _no_comment()
    return _anchored(comment, draft_queries.load(conn, user_id, comment.draft_id).text)


def _no_comment() -> NotFoundError:
    return NotFoundError("No comment with this id.")
