"""The users of a desk: list, add and remove them."""

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from copydesk.desk.context import SharedContext
from copydesk.desk.desk import Desk
from copydesk.desk.operation import operation
from copydesk.errors import ConflictError, CredentialsError, NotFoundError
from copydesk.model.token import Scope
from copydesk.model.user import MAX_USER_NAME_LENGTH, User
from copydesk.model.validation import parse_line
from copydesk.store import deliveries, drafts, runs, stored_images, users
from copydesk.store.database import Transaction

BATCH_SIZE = 100
"""Drafts, items or events that are deleted in one transaction."""
PAUSE = 0.01
"""Seconds between two of these transactions, in which others write."""

_MACHINE_ZONES = frozenset({"localtime", "posixrules"})
"""Names in the zone database whose meaning differs from machine to machine."""


class Users:
    """The users of one database. `remove_desk` deletes what belongs to a user and closes their desk."""

    def __init__(self, ctx: SharedContext, remove_desk: Callable[[User], Awaitable[None]]) -> None:
        self._ctx = ctx
        self._remove_desk = remove_desk

    @operation
    async def list(self) -> tuple[User, ...]:
        """Return the users, the owner first, then in the order in which they were added."""
        return await self._ctx.database.read(users.list_all)

    @operation
    async def get(self, name: str) -> User:
        """Return the user with this name or id. Raise NotFoundError, with similar names if there are any."""
        everyone = await self.list()
        found = next((user for user in everyone if name in {user.id, user.name}), None)
        if found is None:
            similar = get_close_matches(name[:MAX_USER_NAME_LENGTH], [user.name for user in everyone])
            hint = f"Did you mean {' or '.join(similar)}?" if similar else "List all users: `copydesk user list`."
            raise NotFoundError(f"No user {name[:200]!r}.", hint=hint)
        return found

    @operation
    async def add(self, name: str) -> User:
        """Add a user, who gets an empty desk in the machine's time zone, and return it.

        Raise InvalidError for a name that is blank or too long, ConflictError if there is a user with this name.
        """
        name = parse_line("name", name, 1, MAX_USER_NAME_LENGTH)
        return await self._ctx.database.write_durable(_add, name, self._ctx)

    @operation
    async def get_or_create(self, name: str) -> User:
        """Return the user with this name, added if there is none. Raise InvalidError as `add` does."""
        name = parse_line("name", name, 1, MAX_USER_NAME_LENGTH)
        # Reading first: a write would wait for another process that holds the lock.
        found = await self._ctx.database.read(users.get_by_name, name)
        if found is not None:
            return found
        return await self._ctx.database.write(users.get_or_create, name, self._ctx.clock(), local_zone())

    @operation
    async def remove(self, user: str | User) -> User:
        """Delete a user, by name or id, with everything that belongs to them, and return it.

        Images that other users' drafts have too stay, and so do backups. Raise NotFoundError, or ConflictError for the
        owner, while something is being posted, and while a run is in progress in another process.
        """
        found = await self.get(user if isinstance(user, str) else user.id)
        if found.is_owner:
            raise ConflictError("The owner cannot be removed.", hint="To start over, move the data folder away.")
        await self._remove_desk(found)
        return found


def _add(conn: Transaction, name: str, ctx: SharedContext) -> User:
    now, time_zone = ctx.clock(), local_zone()
    users.get_or_create_owner(conn, now, time_zone)
    # Names that differ in case only would be mistaken for each other.
    if any(user.name.casefold() == name.casefold() for user in users.list_all(conn)):
        raise ConflictError(f"There is already a user “{name}”.", hint="List all users: `copydesk user list`.")
    return users.add(conn, name, now, time_zone)


async def delete_user(desk: Desk, ctx: SharedContext) -> None:
    """Delete the user whose desk this is, with accounts, credentials, rows and images. Raise ConflictError.

    If the process is killed, a part is deleted; the next call deletes the rest.
    """
    # The time protects images that are stored while this runs: only files that are older are deleted.
    user, database, started_at = desk.user, ctx.database.of_user(desk.user.id), ctx.clock()
    await desk.reviewers.require(Scope.PUBLISH)
    await database.read(_raise_if_posting, user)
    await desk.pipeline.stop()
    # A run of a process that died would otherwise count as in progress, and block the removal for ever.
    await desk.pipeline.recover()
    await database.read(_raise_if_running, user)
    # The credentials first: once the rows are gone, nothing would name them. Without accounts nothing can be sent, so
    # from here on no delivery starts.
    for account in await desk.accounts.list():
        await desk.accounts.remove(account.id)
    for writer in (await desk.writers.list()).writers:
        if writer.endpoint is not None:
            await desk.writers.remove(writer.name)
    # Those that a call before this one may have left. Without accounts and keys the vault need not be accessible.
    with suppress(CredentialsError):
        await desk.accounts.delete_unused_credentials()
        await desk.writers.delete_unused_keys()
    for webhook in await desk.webhooks.list():
        await desk.webhooks.remove(webhook.id)
    digests = await database.read(_list_image_digests)
    # In small transactions, so that other users wait for one of them at most.
    has_more = True
    while has_more:
        has_more = await database.write(users.remove_some_rows, user.id, BATCH_SIZE)
        await asyncio.sleep(PAUSE)
    await database.write_durable(users.remove, user.id)
    # Images are stored once for all users: what another user still has must stay.
    digests -= await database.read(_list_image_digests)
    if digests:
        from copydesk.images.storage import delete_files  # noqa: PLC0415 - seldom needed

        await asyncio.to_thread(delete_files, ctx.settings.images_folder, digests, started_at)


def _list_image_digests(conn: Transaction) -> frozenset[str]:
    """Return the SHA-256 of every image that any user stored or has in a draft."""
    return drafts.list_stored_image_digests(conn) | stored_images.list_digests(conn)


def _raise_if_posting(conn: Transaction, user: User) -> None:
    if deliveries.has_unfinished(conn, user.id):
        hint = f"Wait until it is posted, or give it up: `copydesk --user {shlex.quote(user.name)} delivery list`."
        raise ConflictError(f"A draft of {user.name} is being posted; the user was not removed.", hint=hint)


def _raise_if_running(conn: Transaction, user: User) -> None:
    if runs.get_running(conn, user.id) is not None:
        hint = "Wait until it has ended."
        raise ConflictError(f"A run of {user.name} is in progress; the user was not removed.", hint=hint)


def local_zone() -> str:
    """Return the IANA name of the machine's time zone: from TZ, /etc/timezone or /etc/localtime, else `UTC`."""
    # Debian has /etc/timezone; elsewhere /etc/localtime links into the zone database.
    candidates = [os.environ.get("TZ", "").lstrip(":"), _read_text("/etc/timezone"), _zone_of_link("/etc/localtime")]
    return next((name for name in candidates if _is_valid_zone(name)), "UTC")


def _is_valid_zone(name: str) -> bool:
    # Looked up by name: `available_timezones` reads the whole zone database, which takes longer than opening the desk.
    if not name or name in _MACHINE_ZONES or name.startswith(("posix/", "right/")):
        return False
    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return False
    return True


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _zone_of_link(path: str) -> str:
    target = os.path.realpath(path)
    return target.partition("/zoneinfo/")[2]
