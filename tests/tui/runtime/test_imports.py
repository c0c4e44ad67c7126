"""Tests for the modules imported at start: imports are most of the console's start time."""

import os
import subprocess
import sys
from pathlib import Path

from copydesk.desk import open_desk
from copydesk.settings import load
from schedule_fixtures import insert_draft

NEVER_IMPORTED = ("feedparser", "alembic", "litestar", "uvicorn", "http.server", "openai", "anthropic", "numpy")
SLOW_STANDARD_MODULES = ("importlib.metadata", "email", "zipfile")
"""Together they take a tenth as long as Textual."""
DESK_MODULES = ("sqlalchemy", "aiosqlite", "httpx", "copydesk.desk", "copydesk.store", "copydesk.ingest")
OPEN_DESK_MODULES = (
    "sqlalchemy",
    "aiosqlite",
    "httpx",
    "copydesk.desk.desk",
    "copydesk.desk.context",
    "copydesk.ingest.fetch_context",
    "copydesk.ingest.sources",
    "copydesk.posting.platform",
)
"""Modules of an open desk. The label of a source type needs only the registries, which import nothing but the model."""
DIALOG_WIDGETS = ("textual.widgets._text_area", "textual.document")
UNNEEDED_FOR_HELP = (
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

FAKE_DESK_PROGRAM = """
import asyncio, sys
from copydesk.tui.app import Console
from console_driver import FakeDesk, wait_until_idle

async def main():
    app = Console(FakeDesk(5).open)
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        assert app.screen.queue.rows
asyncio.run(main())
"""
REAL_DESK_PROGRAM = """
import asyncio, os
from pathlib import Path
from copydesk.tui.app import Console
from console_driver import wait_until_idle

def opening():
    from copydesk.desk import open_desk
    from copydesk.settings import load
    return open_desk(load({}, Path(os.environ["COPYDESK_HOME"])))

async def main():
    app = Console(opening)
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        assert [row.text for row in app.screen.queue.rows] == ["A draft"]
asyncio.run(main())
import sys
"""
HELP_PROGRAM = """
import sys
from copydesk.cli import main
sys.argv = ["copydesk", "--help"]
try:
    main()
except SystemExit:
    pass
"""
COMMAND_PROGRAM = """
import copydesk.__main__, gc, sys
sys.argv = ["copydesk", ARGUMENTS]
try:
    copydesk.__main__.main()
except SystemExit:
    pass
assert gc.isenabled()
"""


def imported_modules(program: str, **environ: str) -> set[str]:
    """Run a program; return the names of the modules that it imported."""
    # None is in the place of modules whose import is prevented.
    program += "\nprint('MODULES', *(name for name, module in sys.modules.items() if module))"
    environ = {"PYTHONPATH": os.environ["PYTHONPATH"]} | environ
    completed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environ, check=False
    )
    assert completed.returncode == 0, completed.stderr
    return set(completed.stdout.rpartition("MODULES ")[2].split())


def matching(modules: set[str], names: tuple[str, ...]) -> set[str]:
    """Return those of `names` of which the module or a submodule was imported."""
    return {name for name in names if any(module == name or module.startswith(name + ".") for module in modules)}


def test_importing_console_imports_no_desk() -> None:
    modules = imported_modules("import sys, copydesk.tui.app, copydesk.tui.review.screen")
    assert matching(modules, NEVER_IMPORTED + DESK_MODULES + SLOW_STANDARD_MODULES + DIALOG_WIDGETS) == set()


def test_importing_console_imports_only_models_of_drafts() -> None:
    models = ("run", "experiment", "engagement", "source", "requests", "validation", "schedule", "delivery")
    modules = imported_modules("import sys, copydesk.tui.app, copydesk.tui.review.screen")
    assert matching(modules, tuple(f"copydesk.model.{name}" for name in models)) == set()


def test_entry_point_imports_without_collecting_garbage() -> None:
    program = "import gc, copydesk.__main__\nassert not gc.isenabled()"
    assert "copydesk.cli" in imported_modules(program + "\nimport sys")


def test_command_collects_garbage() -> None:
    program = COMMAND_PROGRAM.replace("ARGUMENTS", "'--sample', 'draft', 'list'")
    assert "copydesk.cli.draft" in imported_modules(program)


def test_console_with_rows_imports_nothing_unneeded() -> None:
    assert matching(imported_modules(FAKE_DESK_PROGRAM), NEVER_IMPORTED + OPEN_DESK_MODULES) == set()


async def test_console_with_real_desk_imports_nothing_unneeded(tmp_path: Path) -> None:
    async with open_desk(load({}, tmp_path)) as desk:  # creates the database, which needs alembic
        await insert_draft(desk, text="A draft", status="pending_review")
    assert matching(imported_modules(REAL_DESK_PROGRAM, COPYDESK_HOME=str(tmp_path)), NEVER_IMPORTED) == set()


def test_help_imports_next_to_nothing() -> None:
    assert matching(imported_modules(HELP_PROGRAM), NEVER_IMPORTED + UNNEEDED_FOR_HELP) == set()


def test_http_client_imports_no_command_line() -> None:
    modules = imported_modules("import sys, copydesk.network.fetcher")
    assert "httpx" in modules
    assert matching(modules, ("click", "rich", "pygments")) == set()
