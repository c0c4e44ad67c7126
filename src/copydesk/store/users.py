"""The users that everything in the database belongs to: their voice profiles and last trusted clock readings."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import Connection, delete, func, insert, select, update

from copydesk.model.ranking import ChangeRanking
from copydesk.model.role import Roles
from copydesk.model.rule import RuleKind
from copydesk.model.serialization import Struct
from copydesk.model.user import User
from copydesk.model.voice import Voice, VoiceProfile
from copydesk.store import rules
from copydesk.store.ids import new_id
from copydesk.store.raw_sql import ColumnCodec, execute_sql, send_query, upsert
from copydesk.store.tables import clock_reading, user, voice

OWNER_NAME = "owner"
_ROLES = ColumnCodec([user.c.roles])


_FIRST = select(func.min(user.c.id)).scalar_subquery()
_COLUMNS = (user.c.id, user.c.name, user.c.time_zone, user.c.created_at, (user.c.id == _FIRST).label("is_owner"))

_LARGE_TABLES = {"draft": "rid", "item": "rid", "event": "id", "idempotency_key": "id"}
"""Tables in which a user may have very many rows, with the column that tells these apart."""
_DELETE_SOME = (
    "DELETE FROM {0} WHERE user_id = :user AND {1} IN (SELECT {1} FROM {0} WHERE user_id = :user LIMIT :limit)"
)

_VOICE_COLUMNS = ColumnCodec(voice.c[name] for name in VoiceProfile.__struct_fields__)


def get_owner(conn: Connection) -> User | None:
    """Return the owner of the desk on this machine: the first user, or None before there is one."""
    row = conn.execute(select(*_COLUMNS).order_by(user.c.id).limit(1)).first()
    return User(**row._mapping) if row else None


def get(conn: Connection, user_id: str) -> User | None:
    """Return the user with that id."""
    row = conn.execute(select(*_COLUMNS).where(user.c.id == user_id)).first()
    return User(**row._mapping) if row else None


def query_roles(conn: Connection, user_id: str) -> Callable[[], Roles | None]:
    """Send the query for the roles of the reviewers of a user's desk; return what waits for the answer.

    It returns None if there is no such user.
    """
    # A cursor has its rows once, and whoever gets an error asks again.
    rows = cache(send_query(conn, 'SELECT roles FROM "user" WHERE id = ?', (user_id,)))
    return lambda: _decode_roles(rows())


def _decode_roles(rows: Sequence[Sequence[Any]]) -> Roles | None:
    if not rows:
        return None
    # With each write of a desk, most of which have no roles.
    return {} if rows[0][0] == "{}" else next(_ROLES.decode(rows))[0]


def load_roles(conn: Connection, user_id: str) -> Roles:
    """Return the roles of the reviewers of a user's desk."""
    return query_roles(conn, user_id)() or {}


def save_roles(conn: Connection, user_id: str, roles: Roles) -> None:
    """Store the roles of the reviewers, in place of those stored."""
    conn.execute(update(user).where(user.c.id == user_id).values(roles=dict(roles)))


def get_by_name(conn: Connection, name: str) -> User | None:
    """Return the user with that name."""
    row = conn.execute(select(*_COLUMNS).where(user.c.name == name).order_by(user.c.id).limit(1)).first()
    return User(**row._mapping) if row else None


def list_all(conn: Connection) -> tuple[User, ...]:
    """Return all users, the owner first, then in the order of their creation."""
    return tuple(User(**row._mapping) for row in conn.execute(select(*_COLUMNS).order_by(user.c.id)))


def get_or_create_owner(conn: Connection, now: datetime, time_zone: str) -> User:
    """Create the owner and return it; return the existing one if another process just created it."""
    return get_owner(conn) or _create(conn, OWNER_NAME, now, time_zone, is_owner=True)


def get_or_create(conn: Connection, name: str, now: datetime, time_zone: str) -> User:
    """Return the user with that name, created if there is none. The owner is always created first."""
    owner = get_or_create_owner(conn, now, time_zone)
    if name == owner.name:
        return owner
    return get_by_name(conn, name) or add(conn, name, now, time_zone)


def add(conn: Connection, name: str, now: datetime, time_zone: str) -> User:
    """Insert a user. There must be an owner."""
    return _create(conn, name, now, time_zone, is_owner=False)


def _create(conn: Connection, name: str, now: datetime, time_zone: str, *, is_owner: bool) -> User:
    created = User(id=new_id(now), name=name, time_zone=time_zone, created_at=now, is_owner=is_owner)
    conn.execute(insert(user).values(id=created.id, name=name, time_zone=time_zone, created_at=now))
    return created


def remove_some_rows(conn: Connection, user_id: str, limit: int) -> bool:
    """Delete at most `limit` of the user's rows in one of the large tables; return False if all of these are empty.

    With a draft or an item go its rows in other tables.
    """
    values = {"user": user_id, "limit": limit}
    return any(execute_sql(conn, _DELETE_SOME.format(*names), values).rowcount for names in _LARGE_TABLES.items())


def remove(conn: Connection, user_id: str) -> None:
    """Delete the user with all rows that belong to them."""
    conn.execute(delete(user).where(user.c.id == user_id))


def set_time_zone(conn: Connection, user_id: str, name: str) -> None:
    conn.execute(update(user).where(user.c.id == user_id).values(time_zone=name))


def load_ranking(conn: Connection, user_id: str) -> ChangeRanking:
    """Return the interests, filters and weights that the user saved."""
    saved: ChangeRanking = conn.execute(select(user.c.ranking).where(user.c.id == user_id)).scalar_one()
    return saved


def save_ranking(conn: Connection, user_id: str, saved: ChangeRanking) -> None:
    """Store interests, filters and weights, in place of those stored."""
    conn.execute(update(user).where(user.c.id == user_id).values(ranking=saved))


def load_voice(conn: Connection, user_id: str) -> VoiceProfile | None:
    """Return the user's voice profile, or None if there is none."""
    query = f"SELECT {_VOICE_COLUMNS.column_list} FROM voice WHERE user_id = ?"  # noqa: S608 - names of our own
    row = next(_VOICE_COLUMNS.decode(execute_sql(conn, query, (user_id,))), None)
    return VoiceProfile(**dict(zip(_VOICE_COLUMNS.names, row, strict=True))) if row else None


def load_writing_voice(conn: Connection, user_id: str) -> Voice:
    """Return the voice to write with: the profile's, avoiding the words of the user's rules, too."""
    profile = load_voice(conn, user_id)
    voice = Voice(**{name: getattr(profile, name) for name in Voice.__struct_fields__}) if profile else Voice()
    terms = rules.list_terms(conn, user_id, RuleKind.AVOID)
    return msgspec.structs.replace(voice, avoid=tuple(dict.fromkeys((*voice.avoid, *terms)))) if terms else voice


def save_voice(conn: Connection, user_id: str, profile: VoiceProfile) -> None:
    """Create or replace the user's voice profile."""
    values = {name: getattr(profile, name) for name in _VOICE_COLUMNS.names}
    statement = upsert(conn, voice).values(user_id=user_id, **values)
    conn.execute(statement.on_conflict_do_update(index_elements=["user_id"], set_=values))


class SavedClockReading(Struct, frozen=True):
    """The reference reading of both clocks, and the result of the last check."""

    boot: str
    """Identifies the system start from which the monotonic clock counts."""
    machine: str
    wall: datetime
    steady: float | None
    """Seconds on the monotonic clock; None if it was read before this boot."""
    counts_sleep: bool
    """True if the monotonic clock goes on while the machine sleeps."""
    seen: datetime
    """The last time the wall clock was known to be right."""
    doubt_since: datetime | None = None
    doubt_by: float | None = None
    """Seconds."""
    number: int = 0
    """Higher in each reading that is stored for the user."""


_CLOCK_COLUMNS = tuple(clock_reading.c[name] for name in SavedClockReading.__struct_fields__)


def load_clock_readings(conn: Connection, user_id: str) -> tuple[SavedClockReading, ...]:
    """Return the reference readings that later ones are checked against, at most one of each boot of a machine."""
    rows = conn.execute(select(*_CLOCK_COLUMNS).where(clock_reading.c.user_id == user_id))
    return tuple(SavedClockReading(**row._mapping) for row in rows)


def save_clock_reading(conn: Connection, user_id: str, reading: SavedClockReading) -> None:
    """Store `reading` as the last, in place of the previous one of its boot."""
    values = {name: getattr(reading, name) for name in SavedClockReading.__struct_fields__ if name != "number"}
    next_number = select(func.coalesce(func.max(clock_reading.c.number), 0) + 1).where(
        clock_reading.c.user_id == user_id
    )
    statement = upsert(conn, clock_reading).values(user_id=user_id, number=next_number.scalar_subquery(), **values)
    changes = values | {"number": statement.excluded.number}
    conn.execute(statement.on_conflict_do_update(index_elements=["user_id", "boot"], set_=changes))


def prune_clock_readings(conn: Connection, user_id: str, count: int) -> None:
    """Delete the readings but for the last `count`, and those in doubt, which pause their machine."""
    numbers = select(clock_reading.c.number).where(clock_reading.c.user_id == user_id)
    first = numbers.order_by(clock_reading.c.number.desc()).offset(count - 1).limit(1).scalar_subquery()
    is_old = (clock_reading.c.number < first) & clock_reading.c.doubt_since.is_(None)
    conn.execute(delete(clock_reading).where(clock_reading.c.user_id == user_id, is_old))


def delete_clock_readings_without_machine(conn: Connection, user_id: str) -> None:
    """Delete the readings of unknown machines."""
    conn.execute(delete(clock_reading).where(clock_reading.c.user_id == user_id, clock_reading.c.machine == ""))
