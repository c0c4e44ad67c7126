"""Rules made from the reasons of rejections."""

import msgspec
from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from copydesk.model.rule import Rule, RuleKind
from copydesk.store.tables import rejection_rule

_COLUMNS = tuple(rejection_rule.c[name] for name in Rule.__struct_fields__)


def list_all(conn: Connection, user_id: str) -> tuple[Rule, ...]:
    """Return the user's rules, newest first."""
    query = select(*_COLUMNS).where(rejection_rule.c.user_id == user_id).order_by(rejection_rule.c.id.desc())
    return tuple(Rule(**row._mapping) for row in conn.execute(query))


def list_terms(conn: Connection, user_id: str, kind: RuleKind) -> tuple[str, ...]:
    """Return the terms of the enabled rules of a kind, oldest first."""
    conditions = (rejection_rule.c.user_id == user_id, rejection_rule.c.kind == kind, rejection_rule.c.enabled)
    return tuple(conn.execute(select(rejection_rule.c.term).where(*conditions).order_by(rejection_rule.c.id)).scalars())


def get(conn: Connection, user_id: str, rule_id: str) -> Rule | None:
    """Return a rule, or None if the user has none with this id."""
    row = conn.execute(select(*_COLUMNS).where(*_own(user_id, rule_id))).first()
    return Rule(**row._mapping) if row else None


def add(conn: Connection, user_id: str, new: Rule) -> None:
    """Insert a rule."""
    conn.execute(insert(rejection_rule).values(user_id=user_id, **msgspec.structs.asdict(new)))


def save(conn: Connection, user_id: str, changed: Rule) -> None:
    """Store a changed rule."""
    conn.execute(update(rejection_rule).where(*_own(user_id, changed.id)).values(**msgspec.structs.asdict(changed)))


def remove(conn: Connection, user_id: str, rule_id: str) -> bool:
    """Delete a rule; return False if there is none."""
    return conn.execute(delete(rejection_rule).where(*_own(user_id, rule_id))).rowcount == 1


def _own(user_id: str, rule_id: str) -> tuple[ColumnElement[bool], ...]:
    return rejection_rule.c.user_id == user_id, rejection_rule.c.id == rule_id
