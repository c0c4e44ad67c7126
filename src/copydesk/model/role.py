"""Roles of the reviewers of a desk, and the scope that each change of a draft needs."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from copydesk.errors import RoleError
from copydesk.model.draft import APPROVED_STATUSES, Action, Status, is_held
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope
from copydesk.model.transitions import COUNTERSIGN

MAX_REVIEWERS: Final = 1_000
MAX_REVIEWER_NAME_LENGTH: Final = 100


class Role(StrEnum):
    """What a reviewer may do. Each role includes those before it."""

    WRITER = "writer"
    """Create, edit and comment on drafts, run the pipeline; never a decision."""
    REVIEWER = "reviewer"
    """Approve and reject; change sources, the voice profile and experiments."""
    PUBLISHER = "publisher"
    """Schedule and post, connect accounts, give roles."""

    @property
    def scope(self) -> Scope:
        """The scope of API tokens that allows the same."""
        return _SCOPES[self]


_SCOPES: Final = {Role.WRITER: Scope.DRAFT, Role.REVIEWER: Scope.REVIEW, Role.PUBLISHER: Scope.PUBLISH}
Roles = Mapping[str, Role]
"""The roles of a desk by the names of its reviewers. Without any, everybody may do everything."""


class Reviewer(Struct, frozen=True):
    """A reviewer who has a role."""

    name: str
    role: Role


class Caller(Struct, frozen=True):
    """Who calls an operation of a desk."""

    reviewer: str
    has_token: bool = False
    """True if a token identifies them, whose scope was checked before."""


def find_role(roles: Roles, caller: Caller) -> Role | None:
    """Return the caller's role, None for one who may do everything, or whom only the scope of their token limits.

    Once somebody has a role, a person without one is a writer.
    """
    return roles.get(caller.reviewer, None if caller.has_token or not roles else Role.WRITER)


def check_role(roles: Roles, caller: Caller, needed: Scope) -> None:
    """Raise RoleError unless the caller's role covers a scope."""
    if problem := role_problem(find_role(roles, caller), needed, "This"):
        raise RoleError(problem, hint="Ask a publisher: `copydesk reviewer list`.")


def role_problem(role: Role | None, needed: Scope, subject: str) -> str:
    """Return why a role does not cover a scope; empty if it does. `subject` is what needs it."""
    if role is None or role.scope.covers(needed):
        return ""
    required = next(role for role in Role if role.scope.covers(needed))
    return f"{subject} needs the role {required}; yours is {role}."


ACTION_SCOPES: Final[Mapping[Action, Scope]] = {
    Action.APPROVE: Scope.REVIEW,
    Action.REJECT: Scope.REVIEW,
    Action.REGENERATE: Scope.DRAFT,
    Action.ARCHIVE: Scope.REVIEW,
    Action.UNAPPROVE: Scope.REVIEW,
    Action.SCHEDULE: Scope.PUBLISH,
    Action.RESCHEDULE: Scope.PUBLISH,
    Action.CANCEL_SCHEDULE: Scope.PUBLISH,
    Action.POST: Scope.PUBLISH,
}
"""The scope that each action needs."""


def scope_of_edit(status: Status, last_error: str | None) -> Scope:
    """Return the scope that an edit of a draft needs: of an approved or a held one, it approves the new text."""
    return Scope.REVIEW if status in APPROVED_STATUSES or is_held(status, last_error) else Scope.DRAFT


def scope_of_change(action: Action | None, *, edits: bool, status: Status, last_error: str | None) -> Scope:
    """Return the scope that a change of a draft in this state needs."""
    needed = ACTION_SCOPES[action] if action is not None else Scope.DRAFT
    edit = scope_of_edit(status, last_error) if edits else Scope.DRAFT
    return edit if edit.covers(needed) else needed


def scope_of_undo(action: str, status: Status, restored: Status) -> Scope:
    """Return the scope that undoing or redoing an action needs: its own, and that of the state it restores."""
    scopes = [Scope.REVIEW if action == COUNTERSIGN else Scope.DRAFT]
    if action in set(Action):
        scopes.append(ACTION_SCOPES[Action(action)])
    if not APPROVED_STATUSES.isdisjoint((status, restored)):
        scopes.append(Scope.REVIEW)
    if status is not restored and Status.SCHEDULED in {status, restored}:
        scopes.append(Scope.PUBLISH)
    return max(scopes, key=lambda scope: scope.rank)
