"""Tests for what users are told if a connection cannot be opened."""

from pathlib import Path

import pytest

from copydesk.errors import StoreError
from copydesk.store.postgresql.connection import ConnectError
from copydesk.store.postgresql.database import open_postgresql, server_errors, server_name
from postgresql_server import PostgresqlServer

NAME = "postgresql://ada@db.example:5433/desk"
AT = 'connection failed: connection to server at "192.0.2.1", port 5433 failed: '


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://db.example/desk", "postgresql://db.example/desk"),
        ("postgres://ada:secret@db.example:5433/desk?sslmode=require&sslpassword=secret", NAME),
        ("postgresql://ada@/desk?host=/run/postgresql", "postgresql://ada@/run/postgresql/desk"),
        ("postgresql:///desk", "postgresql://localhost/desk"),
        ("postgresql://[::1]:5433/desk", "postgresql://[::1]:5433/desk"),
        ("postgresql://a:1,b:2/desk", "postgresql://a:1,b:2/desk"),
        ("postgresql:///desk?host=a,b&port=5433", "postgresql://a:5433,b:5433/desk"),
    ],
)
def test_server_is_named_without_password_and_options(url: str, name: str) -> None:
    assert server_name(url) == name


@pytest.mark.parametrize(
    ("reason", "message", "hint"),
    [
        (
            'FATAL:  password authentication failed for user "ada"',
            'password authentication failed for user "ada"',
            "Check the user in the URL, and COPYDESK_DATABASE__PASSWORD or ~/.pgpass.",
        ),
        (
            "Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?",
            "Connection refused",
            "Check that PostgreSQL runs, and the URL.",
        ),
        (
            'FATAL:  role "ada" does not exist',
            'role "ada" does not exist',
            "Check the user in the URL, and whom the server's pg_hba.conf lets in.",
        ),
        (
            'root certificate file "/root.crt" does not exist',
            'root certificate file "/root.crt" does not exist',
            "Check that PostgreSQL runs, and the URL.",
        ),
        (
            "FATAL:  the database system is starting up",
            "the database system is starting up",
            "Check that PostgreSQL runs, and the URL.",
        ),
    ],
)
def test_reason_has_a_hint_that_fits(reason: str, message: str, hint: str) -> None:
    with pytest.raises(StoreError) as caught, server_errors(NAME):
        raise ConnectError(AT + reason)

    assert (caught.value.message, caught.value.hint) == (f"Cannot reach {NAME}: {message}.", hint)


def test_missing_password_is_asked_for() -> None:
    error = ConnectError(f"{AT}fe_sendauth: no password supplied")
    error.needs_password = True
    with pytest.raises(StoreError) as caught, server_errors(NAME):
        raise error

    assert caught.value.message == f"Cannot reach {NAME}: no password supplied."
    assert caught.value.hint == "Set COPYDESK_DATABASE__PASSWORD, or add the password to ~/.pgpass."


async def test_missing_database_and_server_are_told_apart(server: PostgresqlServer, tmp_path: Path) -> None:
    missing = open_postgresql(server.url_pattern.format(database="none"), busy_timeout=1)
    with pytest.raises(StoreError, match=r'database "none" does not exist') as caught:
        await missing.prepare()
    assert caught.value.hint == "Check the URL, or create the database: createdb NAME"
    await missing.close()

    unreachable = open_postgresql("postgresql://127.0.0.1:1/desk", busy_timeout=1)
    with pytest.raises(
        StoreError, match=r"^Cannot reach postgresql://127\.0\.0\.1:1/desk: Connection refused\."
    ) as caught:
        await unreachable.prepare()
    assert caught.value.hint == "Check that PostgreSQL runs, and the URL."
    await unreachable.close()
