"""Tests for loading the first page of the review queue without SQLAlchemy."""

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert

from copydesk.desk import load_first_page, open_desk
from copydesk.settings import Settings, load
from copydesk.store import tables
from copydesk.store.ids import new_id
from desk_fixtures import settings_at
from listed_drafts import CREATED_AT, add_drafts

FILE_ONLY = pytest.mark.sqlite("damage of a file")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a desk in its own folder."""
    return settings_at(tmp_path)


@pytest.mark.parametrize("limit", [1, 10, 1000])
async def test_page_equals_queue(settings: Settings, limit: int) -> None:
    async with open_desk(settings) as desk:
        await add_drafts(desk, 60)
        queue = await desk.drafts.queue(limit)
        assert len(queue) == min(limit, 48)
        assert load_first_page(settings, limit) == queue


async def test_page_loads_while_desk_is_closed(settings: Settings) -> None:
    async with open_desk(settings) as desk:
        await add_drafts(desk, 3)
        queue = await desk.drafts.queue()
    assert load_first_page(settings, 100) == queue


async def test_page_loads_during_write(settings: Settings) -> None:
    async with open_desk(settings) as desk:
        await add_drafts(desk, 3)

        def read_page(conn: Connection, user: str) -> int:
            conn.execute(insert(tables.tag).values(id=new_id(CREATED_AT), user_id=user, name="new"))
            return len(load_first_page(settings, 100))

        assert await desk._context.write(read_page) == 3


@FILE_ONLY
def test_missing_database_yields_empty_page(tmp_path: Path) -> None:
    assert load_first_page(settings_at(tmp_path), 10) == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["postgresql://127.0.0.1:1/desk", "postgresql://127.0.0.1:1/desk?none=1"])
def test_unreachable_server_yields_empty_page(tmp_path: Path, url: str) -> None:
    assert load_first_page(load({"COPYDESK_DATABASE__URL": url}, tmp_path), 10) == ()


def test_missing_driver_yields_empty_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert load_first_page(load({"COPYDESK_DATABASE__URL": "postgresql://127.0.0.1:1/desk"}, tmp_path), 10) == ()


@FILE_ONLY
@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + b"\xff" * 4096])
def test_invalid_file_yields_empty_page(tmp_path: Path, content: bytes) -> None:
    home = tmp_path / "odd # ?"
    home.mkdir()
    settings = settings_at(home)
    file = settings.database_file
    file.write_bytes(content)
    assert load_first_page(settings, 10) == ()
    assert file.read_bytes() == content


@FILE_ONLY
@pytest.mark.parametrize(
    "damage",
    ["update draft set checks = '{'", "update draft set status = 'odd'", "alter table draft drop column writer"],
)
async def test_incompatible_database_yields_empty_page(settings: Settings, damage: str) -> None:
    async with open_desk(settings) as desk:
        await add_drafts(desk, 1)

        def spoil(conn: Connection) -> None:
            conn.exec_driver_sql("pragma ignore_check_constraints = on")
            conn.exec_driver_sql(damage)

        await desk._context.database.write(spoil)
    assert load_first_page(settings, 10) == ()


def test_first_page_imports_no_sqlalchemy() -> None:
    program = "import sys, copydesk.desk; print(*(name for name in sys.modules if name.startswith('sqlalchemy')))"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.split() == []
