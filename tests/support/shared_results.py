"""Results that are the same for every desk and console of a process, computed once.

A user's process computes them once, too; a process of tests opens thousands of desks and consoles.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from typing import Any
from unittest.mock import patch

from sqlalchemy import URL, Engine, StaticPool, create_engine
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

from copydesk.store import connection_pool, database, database_file, migrate
from copydesk.store.migrate import _create_tables

parse_rules: Callable[..., list[RuleSet]] = Stylesheet._parse_rules
"""The original method."""
_parsed: dict[tuple[object, ...], list[RuleSet]] = {}


def share_results() -> None:
    """Parse each style sheet, compile each statement, and create the tables once in this process."""
    patch.object(Stylesheet, "_parse_rules", _share_rules).start()
    # Textual's own is `id` too, called from Python ten thousand times for each console.
    patch.object(RuleSet, "__hash__", object.__hash__).start()
    for name in ("table_statements", "index_statements"):
        patch.object(migrate, name, cache(getattr(migrate, name))).start()
    patch.object(connection_pool, "_empty_database", database_with_tables).start()
    patch.object(database, "create_engine", _create_engine).start()
    patch.object(database_file, "normalize_sql", cache(database_file.normalize_sql)).start()


def _share_rules(self: Stylesheet, css: str, *args: Any, **values: Any) -> list[RuleSet]:
    """Parse `css`, unless it was parsed with the same colours before."""
    key = (css, *args, *sorted(values.items()), *self._variables.items())
    if key not in _parsed:
        _parsed[key] = parse_rules(self, css, *args, **values)
    return _parsed[key]


def _create_engine(url: str | URL, **options: Any) -> Engine:
    """Create an engine that compiles only statements which no engine like it has compiled before."""
    engine, shared = create_engine(url, **options), _shared_engine(options.get("isolation_level"))
    if engine.dialect.name == shared.dialect.name:
        # Compiled statements are looked up by their dialect.
        engine.dialect, engine._compiled_cache = shared.dialect, shared._compiled_cache
    return engine


@cache
def _shared_engine(isolation_level: Any) -> Engine:
    engine = create_engine("sqlite://", poolclass=StaticPool, isolation_level=isolation_level, query_cache_size=5_000)
    with engine.connect():
        pass  # the dialect learns the version of SQLite
    engine.dispose()
    return engine


empty_database: Callable[[], bytes] = connection_pool._empty_database
"""The original function."""


@cache
def database_with_tables() -> bytes:
    """Return the content of a database with all tables, as the first start leaves it before it adds the owner."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as content:
        content.deserialize(empty_database())
        with create_engine("sqlite://", creator=lambda: content, poolclass=StaticPool).connect() as connection:
            _create_tables(connection)
            connection.commit()
            return content.serialize()
