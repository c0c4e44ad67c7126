"""Drafts: list, create, read, change, bulk, undo."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from copydesk.errors import FieldError, InvalidError, StaleVersionError
from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.model.delivery import NeedsYou, PostResult
from copydesk.model.draft import (
    Action,
    Checks,
    Draft,
    Format,
    ListedDraft,
    Status,
    without_item,
)
from copydesk.model.filters import Archived
from copydesk.model.page import PageSize
from copydesk.model.requests import (
    AttachImage,
    BulkChange,
    BulkOutcome,
    ChangeDraft,
    CreatedDrafts,
    CreateDraft,
    CreationMode,
)
from copydesk.model.role import ACTION_SCOPES, scope_of_edit
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope
from copydesk.model.transitions import BulkFailure

operations = Operations("Drafts")
log = logging.getLogger("copydesk.http")
STORE_FAILED: Final = "The database could not be written. The reason is in the server's log."

EXAMPLE_ID = "019a5b2e-6c1f-7d3a-9b47-3f0c2a91e5d8"


def scope_of_action(fields: Mapping[str, object]) -> Scope:
    """Return the scope that the action of a request needs. Without one, and with an unknown one, it needs no more."""
    action = fields.get("action")
    return ACTION_SCOPES[Action(action)] if isinstance(action, str) and action in ACTION_SCOPES else Scope.DRAFT


class DraftsQuery(Struct, frozen=True):
    """Parameters of the list of drafts; all filters that are given must match."""

    status: Status | None = None
    format: Format | None = None
    limit: PageSize = 25
    """Drafts of a page."""
    cursor: str | None = None
    """The `nextCursor` of the previous page."""
    source_id: str | None = None
    source_type: str | None = None
    tags: str | None = None
    """Comma-separated; a tag with a comma is quoted."""
    scheduled_after: datetime | None = None
    """Inclusive."""
    scheduled_before: datetime | None = None
    """Exclusive."""
    archived: Archived = Archived.INCLUDE


class DraftList(Struct, frozen=True):
    """A page of drafts, newest first."""

    drafts: tuple[ListedDraft, ...]
    next_cursor: str | None


class EncodedDraftList(Struct, frozen=True):
    """A DraftList whose drafts are JSON already."""

    drafts: msgspec.Raw
    next_cursor: str | None


@operations.add("GET", "/drafts", scope=Scope.READ, query=DraftsQuery, response=DraftList)
async def list_drafts(call: Call) -> EncodedDraftList:
    """List drafts, newest first.

    Following `nextCursor` until it is null visits every draft that existed at the start.
    """
    drafts, cursor = await call.desk.drafts.list_json(**call.query)  # type: ignore[arg-type] # the desk validates them
    return EncodedDraftList(drafts=msgspec.Raw(drafts), next_cursor=cursor)


@operations.add(
    "POST",
    "/drafts",
    scope=Scope.DRAFT,
    body=CreateDraft,
    response=CreatedDrafts,
    status=201,
    example={"text": "SQLite turns 25 this year. Nothing else on my disk is as old and as boring.", "tags": ["sqlite"]},
)
async def create_drafts(call: Call) -> CreatedDrafts:
    """Create a draft from a text, or generate drafts from a URL, a prompt or both.

    Generated drafts are returned with the status `pending_generation`; their text is written afterwards.
    """
    # A token that may only propose is an agent's, whatever it says about itself.
    is_agent = call.access.scope is Scope.DRAFT or (
        isinstance(call.body, Mapping) and call.body.get("agent") is not None
    )
    created = await call.desk.drafts.create(call.body, token_name=call.access.token_name if is_agent else "")
    if created.mode is CreationMode.GENERATE:
        ids = [draft.id for draft in created.drafts]
        call.run_in_background(lambda: call.desk.generation.drain(ids))
    return created


@operations.add("GET", "/needs-you", scope=Scope.READ, response=NeedsYou)
async def list_needing_user(call: Call) -> NeedsYou:
    """List what needs the user's answer.

    Deliveries whose outcome is unknown, that wait for a login, or that failed; the accounts that approved and due
    drafts wait for, as no connected one would post them; and the scheduled drafts that lack an approval.
    """
    return await call.desk.posting.needs_you()


@operations.add("GET", "/drafts/{id}", scope=Scope.READ, response=ListedDraft, errors=(404,), headers=("ETag",))
async def get_draft(call: Call) -> ListedDraft:
    """Return a draft with its item. The header ETag is its version."""
    draft = await call.desk.drafts.get(call.id)
    call.set_version(draft.version)
    return draft


@operations.add(
    "PATCH",
    "/drafts/{id}",
    scope=Scope.DRAFT,
    body=ChangeDraft,
    body_scope=scope_of_action,
    response=Draft | PostResult,
    errors=(404, 409, 412),
    headers=("ETag",),
    example={"action": "approve"},
)
async def change_draft(call: Call) -> Draft | PostResult:
    """Edit a draft, apply an action to it, or both; the edit is made first, and both or neither.

    With the header If-Match the draft is only changed in that version. The action `post` returns when every delivery
    has ended, at the latest after 30 seconds; a platform that is still under way then is in neither list.

    A token with the scope `draft` may edit and regenerate what nobody has approved. `review` may also approve, reject,
    unapprove and archive, and edit approved drafts. The other actions need `publish`.
    """
    fields, version = call.body, await _expected_version(call)
    if "text" in fields and not call.access.scope.covers(Scope.REVIEW):
        current = await call.desk.drafts.get(call.id)
        call.require(scope_of_edit(current.status, current.last_error))
        if version not in {None, current.version}:
            raise StaleVersionError
        # If somebody approves it before the edit, nothing is written.
        version = current.version
    changed = await call.desk.drafts.change(call.id, fields, expected_version=version)
    if isinstance(changed, Draft):
        call.set_version(changed.version)
        if fields.get("action") == Action.REGENERATE:
            call.run_in_background(lambda: call.desk.generation.drain([call.id]))
    return changed


async def _expected_version(call: Call) -> int | None:
    """Return the version that the draft must have; None for any, and 0, which no draft has, if none will do."""
    versions = call.expected_versions
    if versions is None or len(versions) == 1:
        return next(iter(versions)) if versions else None
    current = (await call.desk.drafts.get(call.id)).version
    return current if current in versions else 0


@operations.add(
    "POST",
    "/drafts/{id}/images",
    scope=Scope.REVIEW,
    body=AttachImage,
    response=Draft,
    errors=(404, 409),
    example={"image": 1, "alt": "A ferry at the pier"},
)
async def attach_image(call: Call) -> Draft:
    """Attach an image of the source that is proposed for a draft, so that it is posted with it."""
    return await call.desk.drafts.images.attach(call.id, call.body)


@operations.add(
    "POST",
    "/drafts/bulk",
    scope=Scope.REVIEW,
    body=BulkChange,
    body_scope=scope_of_action,
    response=BulkOutcome,
    example={"action": "approve", "ids": [EXAMPLE_ID]},
)
async def change_drafts(call: Call) -> BulkOutcome:
    """Apply one action to 1 to 100 drafts, and return the outcome of each.

    Approve, reject and archive need the scope `review`, the other actions `publish`.
    """
    outcome = await call.desk.drafts.bulk(call.body)
    if outcome.stopped_by is not None:
        log.error("%s", outcome.stopped_by)
    failed = tuple(_public_failure(failure, outcome.stopped_by) for failure in outcome.results.failed)
    stopped_by = outcome.stopped_by and STORE_FAILED
    return replace(outcome, results=replace(outcome.results, failed=failed), stopped_by=stopped_by)


def _public_failure(failure: BulkFailure, stopped_by: str | None) -> BulkFailure:
    """Return the failure without its hint, which names commands and keys, and without what names files."""
    return replace(failure, hint="", error=STORE_FAILED if failure.text == stopped_by else failure.error)


@operations.add(
    "POST", "/drafts/{id}/undo", scope=Scope.PUBLISH, response=Draft, errors=(404, 409, 412), headers=("ETag",)
)
async def undo_change(call: Call) -> Draft:
    """Undo the last change of a draft, and return the draft. With the header If-Match, only if the draft has
    that version.

    Undoing may restore an approval or a scheduled time, so it needs the scope `publish`.
    """
    await call.desk.drafts.undo(call.id, expected_version=await _expected_version(call))
    draft = await call.desk.drafts.get(call.id)
    call.set_version(draft.version)
    return without_item(draft)


class CheckText(Struct, frozen=True):
    """A text for a draft."""

    text: str


@operations.add(
    "POST",
    "/drafts/{id}/checks",
    scope=Scope.READ,
    body=CheckText,
    response=Checks,
    errors=(404,),
    example={"text": "SQLite turns 25 this year."},
)
async def check_text(call: Call) -> Checks:
    """Return what the checks find in a text for a draft, with its claims beside the source; nothing is stored."""
    if call.body.get("text") is None:
        raise InvalidError(FieldError("text", "is missing"))
    return await call.desk.drafts.check(call.body["text"], draft_id=call.id)
