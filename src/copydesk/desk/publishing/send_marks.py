"""Marks of the newest requests, kept outside the database: by them an older copy of the database is noticed.

    commit "sending" -> write the mark -> send

A mark names the "sending" event of one request. A mark without its event in the database means that the database was
restored or copied: requests have left of which it knows nothing, up to the time of the mark.

The commit comes first. A process that is killed before it writes the mark has sent nothing, and leaves a database that
is ahead of its marks, as it is while requests are in progress. Marks are therefore compared by their events, not by a
number: only one that the database does not know raises the alarm. It stays in the file for good, so that a draft of
that time is checked whenever it is posted, and is ignored while a database that knows it is in place.

The file is in the data folder. Where the credentials are in the system keyring, a copy of the marks is there as well,
in case the folder is lost or restored as a whole.
"""

import logging
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

import msgspec

from copydesk.credentials.private_folder import PrivateFolder
from copydesk.desk.context import DeskContext
from copydesk.errors import CredentialsError, StoreError
from copydesk.model.serialization import Struct
from copydesk.store import deliveries, users
from copydesk.store.database import Transaction
from copydesk.store.raw_sql import lock_name

log = logging.getLogger(__name__)
FILE_NAME = "sends.json"
NOTE = "The newest posts that left this machine. Copydesk compares them with its database; leave this file where it is."
MAX_MARKS = 32
"""Marks that are kept: accounts are served concurrently, and each may be sending."""
MAX_KEYRING_MARKS = 8


class SendMark(Struct, frozen=True, order=True):
    """A request that was about to leave."""

    at: datetime
    delivery_id: str


class Rollback(Struct, frozen=True):
    """The time of the requests that are missing in the database."""

    since: datetime | None
    """The last request before it; None if the database knows of no request."""
    until: datetime
    without_marks: bool = False
    """True if this machine has no record of its own: it may be new beside others, and the database no copy."""


class _MarksFile(Struct, frozen=True):
    note: str = NOTE
    desks: dict[str, tuple[SendMark, ...]] = {}
    """Marks by the id of the desk's owner: another database may be put in this folder."""


def trim_marks(marks: Collection[SendMark], committed: Collection[SendMark]) -> tuple[SendMark, ...]:
    """Return the marks to keep, oldest first: the newest `committed` ones, and the first and last of the others."""
    unknown = sorted(set(marks) - set(committed))
    return tuple(sorted({*unknown[:1], *unknown[-1:], *sorted(set(marks) & set(committed))[-MAX_MARKS:]}))


class SendMarks:
    """The marks of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx
        self._from_keyring: tuple[SendMark, ...] | None = None
        """Read once: it matters when the file is missing or was restored, which is before this process started."""

    @property
    def _folder(self) -> PrivateFolder:
        return PrivateFolder(self._ctx.settings.data_home)

    @property
    def _path(self) -> Path:
        return self._folder.path / FILE_NAME

    async def find_rollback(self) -> Rollback | None:
        """Compare the marks with the database; return the time that is missing in it, or None.

        Raise StoreError if the marks cannot be read or written.
        """
        if self._from_keyring is None:
            self._from_keyring = await self._load_from_keyring()
        rollback, is_stored = await self._ctx.read(self._compare)
        # From the first check on a missing file means that it was lost.
        return rollback if is_stored else await self._ctx.write(self._start_marks)

    async def peek_rollback(self) -> Rollback | None:
        """Return as `find_rollback` by the file alone; store nothing, and ask for no passphrase."""
        return (await self._ctx.read(self._compare))[0]

    def record(self, conn: Transaction, *marks: SendMark) -> Rollback | None:
        """Store the marks of requests that were committed; return as `find_rollback`.

        In a write transaction, so that other processes do not replace the file at the same time.
        """
        # On PostgreSQL, transactions of different users do not wait for each other.
        lock_name(conn, str(self._path))
        desk_id, content = self._desk_id(conn), self._read_file()
        stored = {*self._stored_marks(conn, content.desks.get(desk_id)), *marks}
        committed = deliveries.find_sends(conn, stored)
        trimmed = trim_marks(stored, committed)
        if trimmed != content.desks.get(desk_id):
            self._write_file(_MarksFile(desks={**content.desks, desk_id: trimmed}))
        return _to_rollback(conn, stored - committed)

    def _start_marks(self, conn: Transaction, _user_id: str) -> Rollback | None:
        return self.record(conn)

    def _compare(self, conn: Transaction, _user_id: str) -> tuple[Rollback | None, bool]:
        # The file first: whatever is in it was committed before.
        marks = self._read_file().desks.get(self._desk_id(conn))
        stored = self._stored_marks(conn, marks)
        return _to_rollback(conn, stored - deliveries.find_sends(conn, stored)), marks is not None

    def _stored_marks(self, conn: Transaction, in_file: Collection[SendMark] | None) -> set[SendMark]:
        stored = {*(in_file or ()), *(self._from_keyring or ())}
        # No mark at all of a database whose requests were marked: it was copied to this folder, perhaps from a backup.
        if in_file is None and not stored and deliveries.are_sends_marked(conn):
            stored.add(SendMark(at=self._ctx.clock(), delivery_id=""))
        return stored

    def _desk_id(self, conn: Transaction) -> str:
        owner = users.get_owner(conn)
        return owner.id if owner else ""

    def _read_file(self) -> _MarksFile:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_MarksFile)
        except FileNotFoundError:
            return _MarksFile()
        except (msgspec.MsgspecError, UnicodeDecodeError):
            log.warning("%s is damaged and counts as missing", self._path)
            return _MarksFile()
        except OSError as error:
            raise StoreError(
                f"Cannot read {self._path}: {error.strerror}; nothing was sent.", hint="Check its owner."
            ) from error

    def _write_file(self, content: _MarksFile) -> None:
        try:
            self._folder.replace(FILE_NAME, msgspec.json.format(msgspec.json.encode(content), indent=1))
        except CredentialsError as error:
            raise StoreError(f"{error.message} Nothing was sent.", hint=error.hint) from error

    async def save_to_keyring(self, mark: SendMark) -> None:
        """Add the mark to those in the keyring, if that is in use. An error is logged: there is also the file."""
        marks = tuple(sorted({*(self._from_keyring or ()), mark})[-MAX_KEYRING_MARKS:])
        try:
            await self._ctx.vault.save_note(await self._note_name(), msgspec.json.encode(marks).decode())
        except CredentialsError as error:
            log.warning("The mark of a post was not stored in the keyring: %s", error.message)
        self._from_keyring = marks

    async def _load_from_keyring(self) -> tuple[SendMark, ...]:
        try:
            text = await self._ctx.vault.load_note(await self._note_name())
            return msgspec.json.decode(text, type=tuple[SendMark, ...]) if text else ()
        except (CredentialsError, msgspec.MsgspecError) as error:
            log.warning("The marks of posts were not read from the keyring: %s", error)
            return ()

    async def _note_name(self) -> str:
        return f"newest posts of {await self._ctx.read(lambda conn, _user_id: self._desk_id(conn))}"


def _to_rollback(conn: Transaction, unknown: Collection[SendMark]) -> Rollback | None:
    if not unknown:
        return None
    since = deliveries.last_send_before(conn, min(unknown).at)
    without_marks = not any(mark.delivery_id for mark in unknown)
    return Rollback(since=since, until=max(unknown).at, without_marks=without_marks)
