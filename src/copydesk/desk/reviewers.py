"""The reviewers of one desk who have a role."""

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.errors import ConflictError, NotFoundError
from copydesk.model.role import MAX_REVIEWER_NAME_LENGTH, MAX_REVIEWERS, Caller, Reviewer, Role, Roles
from copydesk.model.token import Scope
from copydesk.model.validation import parse_line
from copydesk.store import users
from copydesk.store.database import Transaction


class Reviewers:
    """The roles of the reviewers of one desk. Without any, everybody may do everything."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def list(self) -> tuple[Reviewer, ...]:
        """Return the reviewers who have a role, by name."""
        return _to_reviewers(await self._ctx.read(users.load_roles))

    @operation
    async def require(self, scope: Scope) -> None:
        """Raise RoleError unless the caller's role covers the scope."""
        await self._ctx.require(scope)

    @needs(Scope.PUBLISH)
    @operation
    async def set_role(self, name: str, role: Role) -> tuple[Reviewer, ...]:
        """Give a reviewer a role, in place of the one they have; return all who have one.

        Whoever gives the first one is a publisher from then on. Raise InvalidError for a name that is blank or too
        long, ConflictError if nobody would be a publisher.
        """
        name = parse_line("name", name, 1, MAX_REVIEWER_NAME_LENGTH)
        return await self._ctx.write_durable(_set_role, name, role, self._ctx.caller)

    @needs(Scope.PUBLISH)
    @operation
    async def remove(self, name: str) -> tuple[Reviewer, ...]:
        """Take a reviewer's role away; return all who have one still. Without any, everybody may do everything.

        Raise NotFoundError, or ConflictError if nobody would be a publisher.
        """
        return await self._ctx.write_durable(_remove, name)


def _set_role(conn: Transaction, user_id: str, name: str, role: Role, caller: Caller) -> tuple[Reviewer, ...]:
    roles = users.load_roles(conn, user_id)
    if not roles and not caller.has_token:
        # Else the first role given to somebody else would leave the owner without one.
        roles = {caller.reviewer: Role.PUBLISHER}
    if len(roles) >= MAX_REVIEWERS and name not in roles:
        raise ConflictError(f"{MAX_REVIEWERS:,} reviewers have a role already; nothing changed.")
    return _save(conn, user_id, {**roles, name: role})


def _remove(conn: Transaction, user_id: str, name: str) -> tuple[Reviewer, ...]:
    roles = users.load_roles(conn, user_id)
    if name not in roles:
        raise NotFoundError(f"{name[:200]!r} has no role.", hint="List all who have one: `copydesk reviewer list`.")
    return _save(conn, user_id, {other: role for other, role in roles.items() if other != name})


def _save(conn: Transaction, user_id: str, roles: Roles) -> tuple[Reviewer, ...]:
    if roles and Role.PUBLISHER not in roles.values():
        message = "Nobody would be a publisher, who can post and give roles; nothing changed."
        raise ConflictError(message, hint="Make somebody a publisher first: `copydesk reviewer role NAME publisher`.")
    users.save_roles(conn, user_id, roles)
    return _to_reviewers(roles)


def _to_reviewers(roles: Roles) -> tuple[Reviewer, ...]:
    return tuple(Reviewer(name, role) for name, role in sorted(roles.items()))
