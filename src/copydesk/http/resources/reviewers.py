"""Several reviewers on one draft: presence, the lease of an edit, comments."""

from collections.abc import Mapping
from typing import Any

from copydesk.errors import FieldError, InvalidError
from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.http.resources.drafts import EXAMPLE_ID
from copydesk.http.resources.sources import Deleted
from copydesk.model.activity import Comment, DraftActivity, EditLease
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope

operations = Operations("Reviewers")


class StartEdit(Struct, frozen=True):
    """The beginning of an edit."""

    take_over: bool = False
    """End the edit of another reviewer; the text that they have typed is kept."""


class RenewEdit(Struct, frozen=True):
    """The renewal of an edit."""

    lease_id: str
    text: str | None = None
    """The text as it is typed so far. It is kept if somebody else takes the edit over, and is not saved."""


class NewComment(Struct, frozen=True):
    """A comment on a draft, or on some words of it."""

    text: str
    quote: str = ""
    """The words."""
    start: int = 0
    """About where the words are in the text, in characters, if they are in it several times."""


class ChangeComment(Struct, frozen=True):
    """A change of a comment."""

    resolved: bool


class CommentList(Struct, frozen=True):
    """The comments on a draft, oldest first."""

    comments: tuple[Comment, ...]


def _required(fields: Mapping[str, Any], name: str) -> Any:
    if fields.get(name) is None:
        raise InvalidError(FieldError(name, "is missing"))
    return fields[name]


def _scope_to_start(fields: Mapping[str, object]) -> Scope:
    # An agent waits for people; people need not wait for agents.
    return Scope.REVIEW if fields.get("takeOver") else Scope.DRAFT


@operations.add("GET", "/drafts/{id}/activity", scope=Scope.READ, response=DraftActivity, errors=(404,))
async def get_activity(call: Call) -> DraftActivity:
    """Return who else has a draft open, who edits it, and the texts of edits that were taken over."""
    return await call.desk.drafts.activity.get(call.id)


@operations.add("PUT", "/drafts/{id}/viewer", scope=Scope.DRAFT, response=DraftActivity, errors=(404,))
async def view_draft(call: Call) -> DraftActivity:
    """Show the other reviewers for a minute that the holder of this token has the draft open; return who else is on it.

    Send it again while the draft is open.
    """
    return await call.desk.drafts.activity.view(call.id)


@operations.add("DELETE", "/drafts/{id}/viewer", scope=Scope.DRAFT, response=Deleted)
async def leave_draft(call: Call) -> Deleted:
    """Show the other reviewers that the holder of this token has closed the draft."""
    await call.desk.drafts.activity.leave(call.id)
    return Deleted(ok=True)


@operations.add(
    "POST",
    "/drafts/{id}/edit",
    scope=Scope.DRAFT,
    body=StartEdit,
    body_required=False,
    body_scope=_scope_to_start,
    response=EditLease,
    errors=(404, 409),
    example={"takeOver": False},
)
async def start_edit(call: Call) -> EditLease:
    """Begin to edit a draft. For three minutes nobody else can save a text of it; renew the lease while typing.

    Saving the text (`PATCH /drafts/{id}`) ends the edit. Decisions on the draft do not wait for it. To take over the
    edit of another reviewer needs the scope `review`.
    """
    take_over = call.body.get("takeOver")
    return await call.desk.drafts.activity.start_edit(call.id, take_over=False if take_over is None else take_over)


@operations.add(
    "PUT",
    "/drafts/{id}/edit",
    scope=Scope.DRAFT,
    body=RenewEdit,
    response=EditLease,
    errors=(404, 409),
    example={"leaseId": EXAMPLE_ID, "text": "SQLite turns 25 this"},
)
async def renew_edit(call: Call) -> EditLease:
    """Renew the lease of an edit, with the text as it is typed so far.

    The status is 409 once another reviewer has taken the edit over. The text is kept then, and listed in the activity.
    """
    lease_id = _required(call.body, "leaseId")
    return await call.desk.drafts.activity.renew_edit(call.id, lease_id, call.body.get("text"))


@operations.add("DELETE", "/drafts/{id}/edit", scope=Scope.DRAFT, response=Deleted)
async def end_edit(call: Call) -> Deleted:
    """End the edit of the holder of this token without saving."""
    await call.desk.drafts.activity.end_edit(call.id)
    return Deleted(ok=True)


@operations.add("DELETE", "/unsaved-edits/{id}", scope=Scope.REVIEW, response=Deleted, errors=(404,))
async def discard_unsaved_edit(call: Call) -> Deleted:
    """Delete the text of an edit that was taken over."""
    await call.desk.drafts.activity.discard_unsaved(call.id)
    return Deleted(ok=True)


@operations.add("POST", "/drafts/{id}/approvals", scope=Scope.REVIEW, response=DraftActivity, errors=(404, 409))
async def countersign_draft(call: Call) -> DraftActivity:
    """Approve a draft that another reviewer has approved, for accounts that ask for two approvals."""
    return await call.desk.drafts.activity.countersign(call.id)


@operations.add("GET", "/drafts/{id}/comments", scope=Scope.READ, response=CommentList, errors=(404,))
async def list_comments(call: Call) -> CommentList:
    """List the comments on a draft, with the positions of their words in its text as it is now."""
    return CommentList(comments=await call.desk.drafts.comments.list(call.id))


@operations.add(
    "POST",
    "/drafts/{id}/comments",
    scope=Scope.DRAFT,
    body=NewComment,
    response=Comment,
    status=201,
    errors=(404, 409),
    example={"text": "26, by now?", "quote": "25"},
)
async def add_comment(call: Call) -> Comment:
    """Comment on a draft, or on some words of it."""
    text = _required(call.body, "text")
    return await call.desk.drafts.comments.add(call.id, text, call.body.get("quote", ""), call.body.get("start", 0))


@operations.add(
    "PATCH",
    "/comments/{id}",
    scope=Scope.REVIEW,
    body=ChangeComment,
    response=Comment,
    errors=(404,),
    example={"resolved": True},
)
async def resolve_comment(call: Call) -> Comment:
    """Mark a comment as resolved, or open it again."""
    return await call.desk.drafts.comments.resolve(call.id, resolved=_required(call.body, "resolved"))


@operations.add("DELETE", "/comments/{id}", scope=Scope.REVIEW, response=Deleted, errors=(404,))
async def delete_comment(call: Call) -> Deleted:
    """Delete a comment."""
    await call.desk.drafts.comments.remove(call.id)
    return Deleted(ok=True)
