"""Add, test and choose the writers of one desk."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.desk.writers.open_writer import (
    KEY,
    load_prices,
    open_endpoint,
    secret_name,
    secret_prefix,
    write_recorded,
)
from copydesk.errors import ConflictError, CopydeskError, CredentialsError, FieldError, InvalidError, NotFoundError
from copydesk.model.token import Scope
from copydesk.model.writer import (
    MAX_WRITERS,
    OFFLINE,
    Endpoint,
    ModelRequest,
    NewEndpoint,
    Spending,
    WriterInfo,
    Writers,
    WriterTest,
    validate_new_endpoint,
)
from copydesk.store import draft_queries
from copydesk.store import writers as stored
from copydesk.store.database import Transaction
from copydesk.store.writers import StoredEndpoint
from copydesk.text.redaction import DEFAULT_REDACTION

MAX_KEY_LENGTH = 4_000


class WriterSettings:
    """The writers of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def list(self) -> Writers:
        """Return the writers, in the order in which they are asked and then by name, and what they cost this month."""
        order, found, spending = await self._ctx.read(_load_all, self._ctx.clock())
        infos = [
            WriterInfo(name=OFFLINE, position=_position(OFFLINE, order)),
            *(self._info(entry, order) for entry in found),
        ]
        infos.sort(key=lambda info: (info.position is None, info.position or 0))
        return Writers(
            writers=tuple(infos), spending=spending, monthly_budget=self._ctx.settings.writing.monthly_budget
        )

    @needs(Scope.REVIEW)
    @operation
    async def add(self, values: NewEndpoint | Mapping[str, object], key: str = "") -> WriterInfo:
        """Add an endpoint, or replace the one of the same name, and return it. It is not asked before it is chosen.

        The key is stored in the vault. Raise InvalidError with every invalid field, ConflictError if there are
        MAX_WRITERS already, or CredentialsError; nothing is added then.
        """
        from copydesk.drafting.model_writer.endpoints import normalize_url  # noqa: PLC0415 - brings in httpx

        request = validate_new_endpoint(values)
        base_url = normalize_url(request.base_url, request.protocol)
        key = key.strip()
        if len(key) > MAX_KEY_LENGTH or not (key.isascii() and key.isprintable()):
            raise InvalidError(FieldError("key", "has a character that no key has; copy it again"))
        endpoint = Endpoint(**msgspec.structs.asdict(request) | {"base_url": base_url, "has_key": bool(key)})
        # Before the key is stored, so that a refused endpoint leaves none.
        old = await self._ctx.read(_find_replaced, endpoint.name)
        if key:
            # First: without its key the endpoint could only fail.
            await self._ctx.vault.save(secret_name(endpoint, self._ctx.user), {KEY: key})
        await self._ctx.write_durable(_save, endpoint, self._ctx.clock())
        if old is not None and old.has_key and (not key or old.base_url != endpoint.base_url):
            await self._ctx.vault.remove(secret_name(old, self._ctx.user))
        return await self.get(endpoint.name)

    @needs(Scope.REVIEW)
    @operation
    async def remove(self, name: str) -> WriterInfo:
        """Delete an endpoint and its key, and return it. It is asked no more.

        If `add` stored a key and was killed before the endpoint, the same call deletes the key, and raises
        NotFoundError.
        """
        try:
            info = await self.get(name)
        except NotFoundError as error:
            deleted = 0
            # A mistyped name is unknown also where the keys cannot be read.
            with suppress(CredentialsError):
                deleted = await self.delete_unused_keys(name)
            if not deleted:
                raise
            raise NotFoundError(error.message, hint="The key that an interrupted call had left is deleted.") from None
        assert info.endpoint is not None
        if info.endpoint.has_key:
            # First: once the row is gone, nothing could name the key to delete it.
            await self._ctx.vault.remove(secret_name(info.endpoint, self._ctx.user))
        await self._ctx.write_durable(_remove, name)
        return info

    @needs(Scope.REVIEW)
    @operation
    async def delete_unused_keys(self, name: str = "") -> int:
        """Delete stored keys of endpoints, of one name if given, that are not there; return their number.

        A call that was interrupted has left them. Do not add an endpoint meanwhile.
        """
        stored_names = await self._ctx.vault.names()
        found = await self._ctx.read(stored.list_all)
        used = {secret_name(entry.endpoint, self._ctx.user) for entry in found if entry.endpoint.has_key}
        unused = [
            key for key in stored_names if key.startswith(secret_prefix(self._ctx.user, name)) and key not in used
        ]
        for key in unused:
            await self._ctx.vault.remove(key)
        return len(unused)

    @needs(Scope.REVIEW)
    @operation
    async def use(self, names: Sequence[str]) -> Writers:
        """Let the named writers be asked for each draft, in this order until one has written it.

        `offline` can only be the last. Raise InvalidError.
        """
        await self._ctx.write_durable(_use, tuple(names))
        return await self.list()

    @operation
    async def test(self, name: str) -> WriterTest:
        """Let an endpoint write a post about an invented text, and return what it wrote. It costs what a draft costs.

        Raise WriterError if it writes none.
        """
        from copydesk.drafting.model_writer.sample import SAMPLE_BRIEF  # noqa: PLC0415 - as above

        info = await self.get(name)
        assert info.endpoint is not None
        writer = await open_endpoint(self._ctx, info.endpoint, seconds=self._ctx.settings.generation.deadline)
        try:
            result = await write_recorded(self._ctx, writer, SAMPLE_BRIEF)
        except CopydeskError as error:
            message = DEFAULT_REDACTION.redact(str(error))
            await self._ctx.write(stored.save_test, info.endpoint, self._ctx.clock(), message)
            raise
        await self._ctx.write(stored.save_test, info.endpoint, self._ctx.clock(), None)
        request = result.requests[-1]
        return WriterTest(
            name=name,
            answered_by=request.answered_by or request.model,
            is_structured=bool(request.parameters.get("structured")),
            seconds=request.seconds,
            text=result.text,
            usage=request.usage,
            cost=request.cost,
        )

    @operation
    async def requests(self, draft_id: str) -> tuple[ModelRequest, ...]:
        """Return the requests to language models that led to a draft, in order; none for other writers.

        Raise DraftNotFoundError.
        """
        return await self._ctx.read(_list_requests, draft_id)

    @operation
    async def get(self, name: str) -> WriterInfo:
        """Return the endpoint of this name. Raise NotFoundError, or ConflictError for the offline writer."""
        if name == OFFLINE:
            raise ConflictError("The offline writer needs no endpoint: it cannot be tested or removed.")
        for info in (await self.list()).writers:
            if info.name == name:
                return info
        raise NotFoundError(f"No writer {name[:200]!r}.", hint="List all writers: `copydesk writer list`.")

    def _info(self, entry: StoredEndpoint, order: Sequence[str]) -> WriterInfo:
        from copydesk.drafting.model_writer.prices import find_price  # noqa: PLC0415 - as above

        endpoint = entry.endpoint
        return WriterInfo(
            name=endpoint.name,
            position=_position(endpoint.name, order),
            endpoint=endpoint,
            has_price=find_price(load_prices(self._ctx), "", endpoint.model) is not None,
            tested_at=entry.tested_at,
            error=entry.error,
        )


def _position(name: str, order: Sequence[str]) -> int | None:
    return order.index(name) + 1 if name in order else None


def _load_all(
    conn: Transaction, user_id: str, now: datetime
) -> tuple[tuple[str, ...], tuple[StoredEndpoint, ...], Spending]:
    return (
        stored.load_order(conn, user_id),
        stored.list_all(conn, user_id),
        stored.load_spending(conn, user_id, now),
    )


def _find_replaced(conn: Transaction, user_id: str, name: str) -> Endpoint | None:
    """Return the endpoint that a new one of this name replaces. Raise ConflictError if there is no room for another."""
    found = {entry.endpoint.name: entry.endpoint for entry in stored.list_all(conn, user_id)}
    if name not in found and len(found) >= MAX_WRITERS:
        raise ConflictError(f"There are {MAX_WRITERS} writers already; nothing changed.")
    return found.get(name)


def _save(conn: Transaction, user_id: str, endpoint: Endpoint, now: datetime) -> None:
    # Another one may have been added meanwhile.
    _find_replaced(conn, user_id, endpoint.name)
    stored.save(conn, user_id, endpoint, now)


def _remove(conn: Transaction, user_id: str, name: str) -> None:
    stored.remove(conn, user_id, name)
    rest = tuple(other for other in stored.load_order(conn, user_id) if other != name)
    stored.save_order(conn, user_id, rest or (OFFLINE,))


def _use(conn: Transaction, user_id: str, names: tuple[str, ...]) -> None:
    available = {OFFLINE, *(entry.endpoint.name for entry in stored.list_all(conn, user_id))}
    if not names:
        raise InvalidError(FieldError("names", "needs at least one writer"))
    unknown = next((name for name in names if name not in available), None)
    if unknown is not None:
        raise InvalidError(
            FieldError("names", f"“{unknown[:100]}” is not a writer; choose from {', '.join(sorted(available))}")
        )
    if len(set(names)) < len(names):
        raise InvalidError(FieldError("names", "has a writer twice"))
    if OFFLINE in names[:-1]:
        raise InvalidError(FieldError("names", "has writers after the offline writer, who would never be asked"))
    stored.save_order(conn, user_id, names)


def _list_requests(conn: Transaction, user_id: str, draft_id: str) -> tuple[ModelRequest, ...]:
    draft_queries.load(conn, user_id, draft_id)  # raises NotFoundError
    return stored.list_requests(conn, user_id, draft_id)
