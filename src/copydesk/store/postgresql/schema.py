"""The schema on PostgreSQL: the tables of SQLite with PostgreSQL's types, the full text index, and the triggers."""

from collections.abc import Iterator
from typing import Any, Final, cast

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Computed,
    Connection,
    DefaultClause,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    literal_column,
    text,
)

from copydesk.store import tables
from copydesk.store.column_types import Choice, JsonText
from copydesk.store.database_file import HEAD_REVISION
from copydesk.store.postgresql.connection import PostgresConnection
from copydesk.store.postgresql.triggers import CREATE_TRIGGERS
from copydesk.store.raw_sql import dbapi_connection

_ENGAGEMENT_RATE: Final = """CASE WHEN impressions > 0 AND coalesce(likes, replies, reposts, clicks) IS NOT NULL
    THEN least(1.0, CAST(coalesce(likes, 0) + coalesce(replies, 0) + coalesce(reposts, 0) + coalesce(clicks, 0)
        AS double precision) / impressions) END"""

# Words as FTS5 divides a text: letters and digits, without accents, in lower case. Everything else separates.
_FIND_COLLATION: Final = """SELECT collname FROM pg_collation WHERE collname IN ('pg_c_utf8', 'und-x-icu')
    AND collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding())) ORDER BY collname LIMIT 1"""
"""Which characters are letters must not depend on the locale of the database."""
_CREATE_SEARCH: Final = r"""
CREATE FUNCTION fold_words(content text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    regexp_replace(
        regexp_replace(lower(normalize(content, NFKD) COLLATE {collation}), '[\u0300-\u036f]+', '', 'g')
        COLLATE {collation}, '[^[:alnum:]]+', ' ', 'g');
CREATE FUNCTION draft_search_words(content text, about text, source_id text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    to_tsvector('simple', fold_words(content)) || to_tsvector('simple', fold_words(about))
    || array_to_tsvector(ARRAY['source:' || coalesce(source_id, '')]);
ALTER TABLE draft ADD COLUMN words tsvector GENERATED ALWAYS AS (draft_search_words(text, about, source_id)) STORED;
CREATE INDEX ix_draft_words ON draft USING gin (words);
CREATE VIEW draft_words AS SELECT rid AS rowid, words AS draft_words FROM draft;
"""
_CREATE_STATE: Final = f"""
CREATE TABLE desk (sends_marked BOOLEAN NOT NULL);
INSERT INTO desk VALUES (FALSE);
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL CONSTRAINT alembic_version_pkc PRIMARY KEY);
INSERT INTO alembic_version VALUES ('{HEAD_REVISION}');
"""  # noqa: S608 - a constant


def create_schema(connection: Connection) -> None:
    """Create everything in an empty database, in the current transaction."""
    derive_metadata().create_all(connection, checkfirst=False)
    driver = cast("PostgresConnection", dbapi_connection(connection))
    collation = connection.exec_driver_sql(_FIND_COLLATION).scalar() or "default"
    create_search = _CREATE_SEARCH.replace("{collation}", f'"{collation}"')
    for script in (create_search, *CREATE_TRIGGERS, _CREATE_STATE):
        driver.control(script)


def derive_metadata() -> MetaData:
    """Return the tables for PostgreSQL, derived from those of SQLite."""
    metadata = MetaData(naming_convention=tables.metadata.naming_convention)
    for source in tables.metadata.sorted_tables:
        table = source.to_metadata(metadata)
        for column in table.columns:
            _adapt_column(column)
        for index in list(table.indexes):
            table.indexes.remove(index)
            _add_index(table, index)
    return metadata


def _adapt_column(column: Column[Any]) -> None:
    if isinstance(column.type, Boolean) and isinstance(column.server_default, DefaultClause):
        column.server_default = DefaultClause(text("TRUE" if str(column.server_default.arg) == "1" else "FALSE"))
    elif isinstance(column.type, JsonText):
        pass
    elif isinstance(column.type, Text | Choice):
        # Compares bytes, as SQLite does.
        column.type = Text(collation="C")
    elif isinstance(column.type, Integer):
        # SQLite's have 64 bits.
        column.type = BigInteger()
    if isinstance(column.server_default, Computed) and column.name == "engagement_rate":
        column.server_default.sqltext = text(_ENGAGEMENT_RATE)


def _add_index(table: Table, index: Index) -> None:
    where = index.dialect_options["sqlite"]["where"]
    Index(
        index.name,
        *_index_expressions(table, index),
        unique=index.unique,
        postgresql_where=None if where is None else text(str(where)),
    )


def _index_expressions(table: Table, index: Index) -> Iterator[ColumnElement[Any] | Column[Any]]:
    for expression in index.expressions:
        name = getattr(expression, "name", None)
        column = table.columns.get(name) if name else None
        if column is None:
            # The ends of ids, the only expression there is.
            yield literal_column("right(id, 4)")
        else:
            # As in SQLite: NULL sorts before everything else.
            yield column.nulls_first() if column.nullable else column
