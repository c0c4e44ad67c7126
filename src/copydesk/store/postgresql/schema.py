"""The schema on PostgreSQL: the tables of SQLite with PostgreSQL's types, the full text index, and the triggers."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Computed,
    Connection,
    DDLElement,
    DefaultClause,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    create_mock_engine,
    literal_column,
    text,
)
from sqlalchemy.schema import AddConstraint, CreateIndex, CreateTable

from copydesk.errors import StoreError, StoreSchemaError, StoreTooNewError
from copydesk.store import tables
from copydesk.store.column_types import Choice, JsonText
from copydesk.store.database_file import HEAD_REVISION, fingerprint
from copydesk.store.postgresql.connection import PostgresConnection
from copydesk.store.postgresql.triggers import CREATE_TRIGGERS
from copydesk.store.raw_sql import dbapi_connection, execute_sql
from copydesk.store.row_copy import STATE_TABLE

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
MIN_SERVER_VERSION: Final = 15
_DIALECT: Final = create_mock_engine("postgresql+psycopg://", lambda *_: None).dialect
FINGERPRINTS: Final = {
    "0018": "20d09d7ca4341644",
    "0019": "ec02813581617d99",
    "0020": "546bec1b05651e95",
    "0021": "60580fc39dd602a0",
    "0022": "500fc2f8d8d60ca7",
    "0023": "ecdab63876233702",
    "0024": "b38d558d324c4a84",
    "0025": "765e92a93d316301",
    "0026": "d20065fb7497db52",
}
"""The revisions that this version can read, oldest first, with the fingerprint of the statements that create them.

A revision is frozen: databases of it exist. A change of the schema is a new one, with its statements in UPGRADES.
"""
UPGRADES: Final = {
    "0019": """
CREATE TABLE draft_comment (
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    draft_id TEXT COLLATE "C" NOT NULL,
    reviewer TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    resolved_at BIGINT,
    resolved_by TEXT COLLATE "C",
    position BIGINT,
    quote TEXT COLLATE "C" DEFAULT '' NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    CONSTRAINT pk_draft_comment PRIMARY KEY (id),
    CONSTRAINT fk_draft_comment_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE,
    CONSTRAINT fk_draft_comment_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE
);
CREATE INDEX ix_draft_comment_user_id ON draft_comment (user_id);
CREATE INDEX ix_draft_comment_draft_id_id ON draft_comment (draft_id, id);
CREATE TABLE draft_edit (
    draft_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    lease_id TEXT COLLATE "C" NOT NULL,
    reviewer TEXT COLLATE "C" NOT NULL,
    lease_until BIGINT NOT NULL,
    version BIGINT NOT NULL,
    text TEXT COLLATE "C",
    CONSTRAINT pk_draft_edit PRIMARY KEY (draft_id),
    CONSTRAINT fk_draft_edit_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE,
    CONSTRAINT fk_draft_edit_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_draft_edit_user_id ON draft_edit (user_id);
CREATE TABLE draft_viewer (
    draft_id TEXT COLLATE "C" NOT NULL,
    reviewer TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    until BIGINT NOT NULL,
    CONSTRAINT pk_draft_viewer PRIMARY KEY (draft_id, reviewer),
    CONSTRAINT fk_draft_viewer_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE,
    CONSTRAINT fk_draft_viewer_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_draft_viewer_user_id_until ON draft_viewer (user_id, until);
CREATE TABLE unsaved_edit (
    id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    draft_id TEXT COLLATE "C" NOT NULL,
    reviewer TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    CONSTRAINT pk_unsaved_edit PRIMARY KEY (id),
    CONSTRAINT fk_unsaved_edit_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE,
    CONSTRAINT fk_unsaved_edit_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE
);
CREATE INDEX ix_unsaved_edit_user_id ON unsaved_edit (user_id);
CREATE INDEX ix_unsaved_edit_draft_id_id ON unsaved_edit (draft_id, id);
""",
    "0020": """
ALTER TABLE account ADD COLUMN approvals BIGINT DEFAULT 1 NOT NULL;
CREATE TABLE draft_approval (
    draft_id TEXT COLLATE "C" NOT NULL,
    reviewer TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_draft_approval PRIMARY KEY (draft_id, reviewer),
    CONSTRAINT fk_draft_approval_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE,
    CONSTRAINT fk_draft_approval_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_draft_approval_user_id ON draft_approval (user_id);
""",
    "0021": """
CREATE INDEX ix_source_enabled_next_at_user_id ON source (enabled, next_at NULLS FIRST, user_id);
CREATE INDEX ix_draft_scheduled_at_scheduled ON draft (scheduled_at NULLS FIRST, user_id) WHERE status = 'scheduled';
CREATE INDEX ix_delivery_not_before_open ON delivery (not_before NULLS FIRST, user_id)
    WHERE state IN ('planned', 'sending', 'unknown');
CREATE INDEX ix_delivery_due_at_planned ON delivery (due_at, user_id) WHERE state = 'planned';
CREATE INDEX ix_delivery_figures_at ON delivery (figures_at NULLS FIRST, user_id) WHERE figures_at IS NOT NULL;
CREATE INDEX ix_webhook_delivery_next_at ON webhook_delivery (next_at NULLS FIRST, user_id) WHERE next_at IS NOT NULL;
""",
    "0022": """
ALTER TABLE "user" ADD COLUMN roles JSON DEFAULT '{}' NOT NULL;
""",
    "0023": """
CREATE INDEX ix_draft_user_id_status_id_archived_at_agent ON draft (user_id, status, id, archived_at NULLS FIRST)
    WHERE agent IS NOT NULL;
CREATE INDEX ix_draft_user_id_status_scheduled_at_id_archived_at ON draft (user_id, status,
    scheduled_at NULLS FIRST, id, archived_at NULLS FIRST) WHERE scheduled_at IS NOT NULL;
DROP INDEX ix_draft_user_id_status_scheduled_at_id;
""",
    "0024": """
ALTER TABLE delivery ADD COLUMN identity TEXT COLLATE "C";
UPDATE delivery SET identity = account.platform || ':' || account.remote_id || '@' || account.server
    FROM account WHERE account.id = delivery.account_id;
""",
    "0025": """
ALTER TABLE source ADD COLUMN named_by_user BOOLEAN DEFAULT FALSE NOT NULL;
""",
    "0026": """
CREATE TABLE clock_reading (
    user_id TEXT COLLATE "C" NOT NULL,
    boot TEXT COLLATE "C" NOT NULL,
    machine TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    wall BIGINT NOT NULL,
    steady FLOAT,
    counts_sleep BOOLEAN NOT NULL,
    seen BIGINT NOT NULL,
    doubt_since BIGINT,
    doubt_by FLOAT,
    CONSTRAINT pk_clock_reading PRIMARY KEY (user_id, boot),
    CONSTRAINT fk_clock_reading_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
INSERT INTO clock_reading (user_id, boot, machine, number, wall, steady, counts_sleep, seen, doubt_since, doubt_by)
    SELECT user_id, boot, '', 1, wall, steady, counts_sleep, seen, doubt_since, doubt_by FROM clock_check;
""",
}
"""By revision: the statements that make it from the one before, without those of triggers, which are created anew."""
_CREATE_STATE: Final = """
CREATE TABLE desk (sends_marked BOOLEAN NOT NULL, fingerprint TEXT NOT NULL);
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL CONSTRAINT alembic_version_pkc PRIMARY KEY);
"""


def create_schema(connection: Connection) -> None:
    """Create everything in an empty database, in the current transaction."""
    driver = _driver(connection)
    # In one round trip; the server may be far away.
    _create(driver, creation_script())
    _save_state(driver, sends_marked=False)


def create_tables(driver: PostgresConnection) -> None:
    """Create the tables alone, for rows that are copied, in the current transaction."""
    _create(
        driver,
        _script([CreateTable(table, include_foreign_key_constraints=[]) for table in derive_metadata().sorted_tables]),
    )


def complete_schema(driver: PostgresConnection, *, sends_marked: bool) -> None:
    """Add what `create_tables` left out: foreign keys, indexes, the full text index, triggers, the revision."""
    indexes = [CreateIndex(index) for table in derive_metadata().sorted_tables for index in table.indexes]
    # Of other tables: creating a constraint alone takes it out of its table.
    keys = [AddConstraint(key) for table in derive_metadata().sorted_tables for key in table.foreign_key_constraints]
    # The column of words first: adding it writes the table again, with all of its indexes.
    _create(driver, _script([_CREATE_SEARCH, *indexes, *keys, *CREATE_TRIGGERS, _CREATE_STATE]))
    _save_state(driver, sends_marked=sends_marked)


def drop_schema(driver: PostgresConnection) -> None:
    """Drop everything that `create_schema` creates, as far as it is there, in the current transaction."""
    names = [*(table.name for table in tables.metadata.sorted_tables), "desk", "alembic_version"]
    functions = """SELECT DISTINCT tgfoid::regprocedure::text FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace AND relname = ANY (?)"""
    found = [name for (name,) in driver.execute(functions, (names,)).fetchall()]
    # With the view and the column that use the functions.
    tables_to_drop = ", ".join(f'"{name}"' for name in names)
    driver.control(f"DROP TABLE IF EXISTS {tables_to_drop} CASCADE")
    for function in [*found, "draft_search_words(text, text, text)", "fold_words(text)"]:
        driver.control(f"DROP FUNCTION IF EXISTS {function}")


def _create(driver: PostgresConnection, script: str) -> None:
    found = driver.execute(_FIND_COLLATION).fetchone()
    driver.control(script.replace("{collation}", f'"{found[0] if found else "default"}"'))


def _save_state(driver: PostgresConnection, *, sends_marked: bool) -> None:
    driver.execute("INSERT INTO desk VALUES (?, ?)", (sends_marked, FINGERPRINTS[HEAD_REVISION]))
    driver.execute("INSERT INTO alembic_version VALUES (?)", (HEAD_REVISION,))


def upgrade_schema(connection: Connection, revision: str) -> None:
    """Upgrade the tables from `revision`, in the current transaction."""
    driver = _driver(connection)
    # The functions of triggers, and with them the triggers; not those of the workers' queue, see `work_queue`.
    functions = """SELECT oid::regprocedure FROM pg_proc
        WHERE pronamespace = current_schema()::regnamespace AND prorettype = 'trigger'::regtype
        AND NOT starts_with(proname, 'procrastinate_') AND NOT starts_with(proname, 'worker_')"""
    for (function,) in connection.exec_driver_sql(functions).all():
        driver.control(f"DROP FUNCTION {function} CASCADE")
    for script in (UPGRADES[later] for later in FINGERPRINTS if later > revision):
        driver.control(script)
    for script in CREATE_TRIGGERS:
        driver.control(script)
    execute_sql(connection, "UPDATE desk SET fingerprint = ?", (FINGERPRINTS[HEAD_REVISION],))
    execute_sql(connection, "UPDATE alembic_version SET version_num = ?", (HEAD_REVISION,))


def read_revision(connection: Connection) -> str | None:
    """Return the revision of the tables, None if there are none.

    Raise StoreTooNewError if a newer version of Copydesk created them, StoreSchemaError if a development version did,
    StoreError if the server is too old or the tables are those of another program.
    """
    version = _driver(connection).info.server_version
    if version < MIN_SERVER_VERSION * 10_000:
        raise StoreError(
            f"The server is PostgreSQL {version // 10_000}; Copydesk needs {MIN_SERVER_VERSION} or newer.",
            hint="Upgrade the server.",
        )
    names = ("alembic_version", "desk", STATE_TABLE)
    tables_exist = "SELECT " + ", ".join(f"to_regclass('{name}') IS NOT NULL" for name in names)
    has_revision, is_ours, is_unfinished = connection.exec_driver_sql(tables_exist).one()
    if is_unfinished:
        raise StoreError(
            "The database has an unfinished copy of a desk; nothing changed.",
            hint="Run the same `copydesk migrate` again to finish it, with the settings that it was started with.",
        )
    if not has_revision:
        return None
    if not is_ours:
        raise StoreError(
            "The database belongs to another program; nothing changed.",
            hint="Create one for Copydesk alone, with createdb, and name it in database.url.",
        )
    found = connection.exec_driver_sql("SELECT version_num, fingerprint FROM alembic_version, desk").one()
    revision, created_by = str(found[0]), str(found[1])
    if revision not in FINGERPRINTS:
        raise StoreTooNewError(
            f"A newer version of Copydesk created the tables (revision {revision}); nothing changed.",
            hint="Install that version.",
        )
    if created_by != FINGERPRINTS[revision]:
        raise StoreSchemaError(
            "A development version of Copydesk created the tables, and they differ from this version's;"
            " nothing changed.",
            hint="Open the database with that version, or name an empty one in database.url.",
        )
    return revision


def creation_script() -> str:
    """Return the statements that create everything, with `{collation}` for the name of the collation of words."""
    return _script(_statements())


def _script(statements: Iterable[str | DDLElement]) -> str:
    """Return the statements as one script."""
    texts = [text if isinstance(text, str) else str(text.compile(dialect=_DIALECT)) for text in statements]
    return "".join(f"{text.strip().removesuffix(';')};\n" for text in texts)


def compute_fingerprint() -> str:
    """Return the fingerprint of the schema that `create_schema` creates."""
    return fingerprint({statement: statement for statement in _statements()})


def _statements() -> list[str]:
    statements: list[str] = []

    def add(element: DDLElement, *_: Any, **__: Any) -> None:
        statements.append(str(element.compile(dialect=_DIALECT)))

    derive_metadata().create_all(create_mock_engine("postgresql+psycopg://", add), checkfirst=False)
    return [*statements, _CREATE_SEARCH, *CREATE_TRIGGERS, _CREATE_STATE]


def _driver(connection: Connection) -> PostgresConnection:
    return cast("PostgresConnection", dbapi_connection(connection))


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
