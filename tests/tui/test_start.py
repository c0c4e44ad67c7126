"""What the start of the console and of the command line may import: a start is felt every morning."""

import subprocess
import sys
from pathlib import Path

from copydesk.desk import open_desk
from copydesk.settings import load
from schedule_fixtures import put_one

NOT_AT_ALL = ("feedparser", "alembic", "litestar", "uvicorn", "http.server", "openai", "anthropic", "numpy")
NOT_BEFORE_THE_DESK = ("sqlalchemy", "aiosqlite", "httpx", "copydesk.desk", "copydesk.store", "copydesk.ingest")
NOT_FOR_HELP = (
    "textual",
    "rich",
    "sqlalchemy",
    "msgspec",
    "httpx",
    "regex",
    "asyncio",
    "copydesk.desk",
    "copydesk.tui",
)

SHOWS_ROWS = """
import asyncio, sys
from copydesk.tui.app import Console
from tui_fixtures import FakeDesk, settled

async def main():
    app = Console(FakeDesk(5).open)
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        assert app.screen.queue.rows
asyncio.run(main())
"""
SHOWS_REAL_ROWS = """
import asyncio, os
from pathlib import Path
from copydesk.tui.app import Console
from tui_fixtures import settled

def opening():
    from copydesk.desk import open_desk
    from copydesk.settings import load
    return open_desk(load({}, Path(os.environ["COPYDESK_HOME"])))

async def main():
    app = Console(opening)
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        assert [row.text for row in app.screen.queue.rows] == ["A draft"]
asyncio.run(main())
import sys
"""
HELP = """
import sys
from copydesk.cli import main
sys.argv = ["copydesk", "--help"]
try:
    main()
except SystemExit:
    pass
"""


def imported(program: str, **environ: str) -> set[str]:
    """The modules that a program has imported when it ends."""
    program += "\nprint('MODULES', *sys.modules)"
    shared_by_tests = str(Path(__file__).parents[1])
    environ = {"PYTHONPATH": shared_by_tests} | environ
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environ, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("MODULES ")[2].split())


def of(found: set[str], names: tuple[str, ...]) -> set[str]:
    """Those of `names` that were imported, whole or in part."""
    return {name for name in names if any(module == name or module.startswith(name + ".") for module in found)}


def test_importing_the_console_imports_no_desk() -> None:
    found = imported("import sys, copydesk.tui.app, copydesk.tui.screens.review")
    assert of(found, NOT_AT_ALL + NOT_BEFORE_THE_DESK) == set()


def test_a_console_that_shows_rows_imports_nothing_that_it_does_not_need() -> None:
    assert of(imported(SHOWS_ROWS), NOT_AT_ALL + NOT_BEFORE_THE_DESK) == set()


async def test_nor_does_one_before_the_real_desk(tmp_path: Path) -> None:
    async with open_desk(load({}, tmp_path)) as desk:  # the database is made: that is what alembic is for
        await put_one(desk, text="A draft", status="pending_review")
    assert of(imported(SHOWS_REAL_ROWS, COPYDESK_HOME=str(tmp_path)), NOT_AT_ALL) == set()


def test_the_help_imports_next_to_nothing() -> None:
    assert of(imported(HELP), NOT_AT_ALL + NOT_FOR_HELP) == set()
