"""The endpoints of language models, the order in which writers are asked, their requests, and what they cost."""

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, Text, cast, delete, func, insert, literal, select, update

from copydesk.model.serialization import Struct
from copydesk.model.writer import Endpoint, ModelRequest, Spending
from copydesk.store.raw_sql import upsert
from copydesk.store.tables import model_request, model_spending, user, writer

_COLUMNS = (writer.c.endpoint, writer.c.tested_at, writer.c.error)


class StoredEndpoint(Struct, frozen=True):
    """An endpoint, and the outcome of its last test."""

    endpoint: Endpoint
    tested_at: datetime | None
    error: str | None


def list_all(conn: Connection, user_id: str) -> tuple[StoredEndpoint, ...]:
    """Return the user's endpoints, by name."""
    rows = conn.execute(select(*_COLUMNS).where(writer.c.user_id == user_id).order_by(writer.c.name))
    return tuple(StoredEndpoint(**row._mapping) for row in rows)


def save(conn: Connection, user_id: str, endpoint: Endpoint, now: datetime) -> None:
    """Store an endpoint, in place of one with the same name."""
    values = {"endpoint": endpoint, "created_at": now, "tested_at": None, "error": None}
    statement = upsert(conn, writer).values(user_id=user_id, name=endpoint.name, **values)
    conn.execute(statement.on_conflict_do_update(index_elements=["user_id", "name"], set_=values))


def save_test(conn: Connection, user_id: str, endpoint: Endpoint, now: datetime, error: str | None) -> None:
    """Store the outcome of a test, unless the endpoint was replaced meanwhile."""
    # As text: PostgreSQL does not compare JSON.
    is_unchanged = cast(writer.c.endpoint, Text) == cast(literal(endpoint, type_=writer.c.endpoint.type), Text)
    is_same = (writer.c.user_id == user_id, writer.c.name == endpoint.name, is_unchanged)
    conn.execute(update(writer).where(*is_same).values(tested_at=now, error=error))


def remove(conn: Connection, user_id: str, name: str) -> bool:
    """Delete an endpoint; return False if there is none."""
    return conn.execute(delete(writer).where(writer.c.user_id == user_id, writer.c.name == name)).rowcount == 1


def load_order(conn: Connection, user_id: str) -> tuple[str, ...]:
    """Return the names of the writers that are asked, in order."""
    order: tuple[str, ...] = conn.execute(select(user.c.writers).where(user.c.id == user_id)).scalar_one()
    return order


def save_order(conn: Connection, user_id: str, names: Sequence[str]) -> None:
    """Store the names of the writers that are asked, in order."""
    conn.execute(update(user).where(user.c.id == user_id).values(writers=tuple(names)))


def add_spending(conn: Connection, user_id: str, requests: Sequence[ModelRequest]) -> None:
    """Add the costs of requests to those of their months."""
    for request in requests:
        if not request.attempts:
            continue  # the server could not be reached
        is_unpriced = request.cost is None
        values = {"requests": 1, "unpriced": int(is_unpriced), "cost": request.cost or 0.0}
        statement = upsert(conn, model_spending).values(user_id=user_id, month=_month(request.created_at), **values)
        sums = {name: model_spending.c[name] + values[name] for name in values}
        conn.execute(statement.on_conflict_do_update(index_elements=["user_id", "month"], set_=sums))


def load_spending(conn: Connection, user_id: str, now: datetime) -> Spending:
    """Return what requests cost in the current month."""
    columns = (model_spending.c.month, model_spending.c.requests, model_spending.c.unpriced, model_spending.c.cost)
    month = _month(now)
    conditions = (model_spending.c.user_id == user_id, model_spending.c.month == month)
    row = conn.execute(select(*columns).where(*conditions)).first()
    return Spending(**row._mapping) if row else Spending(month=month)


def add_requests(conn: Connection, user_id: str, draft_id: str, requests: Sequence[ModelRequest]) -> None:
    """Store the requests that led to a draft, after those that are stored already."""
    conditions = (model_request.c.user_id == user_id, model_request.c.draft_id == draft_id)
    start = conn.execute(select(func.max(model_request.c.position)).where(*conditions)).scalar()
    first = 0 if start is None else start + 1
    rows = [
        {"user_id": user_id, "draft_id": draft_id, "position": position, "request": request}
        for position, request in enumerate(requests, first)
    ]
    if rows:
        conn.execute(insert(model_request), rows)


def list_requests(conn: Connection, user_id: str, draft_id: str) -> tuple[ModelRequest, ...]:
    """Return the requests that led to a draft, in order."""
    conditions = (model_request.c.user_id == user_id, model_request.c.draft_id == draft_id)
    rows = conn.execute(select(model_request.c.request).where(*conditions).order_by(model_request.c.position))
    return tuple(rows.scalars())


def _month(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m}"
