"""Tests for private names of Textual and Rich: imported in one module only, and dispensable."""

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import copydesk
from copydesk.tui.keys import KEYS, first_key_label
from copydesk.tui.terminal import private_api

SOURCE = Path(copydesk.__file__).parent
LIBRARIES = {"textual", "rich"}


def private_imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (
            name
            for name in names
            if name.split(".")[0] in LIBRARIES and any(part.startswith("_") for part in name.split("."))
        )


def test_private_names_are_imported_in_one_module() -> None:
    importers = {
        path.relative_to(SOURCE).as_posix(): names
        for path in SOURCE.rglob("*.py")
        # Most modules import neither library, and are not parsed.
        if any(library in (text := path.read_text(encoding="utf-8")) for library in LIBRARIES)
        and (names := set(private_imports(ast.parse(text))))
    }
    assert importers == {
        "tui/terminal/private_api.py": {
            "textual._context.active_app",
            "textual._ansi_sequences.ANSI_SEQUENCES_KEYS",
            "textual._styles_cache.StylesCache",
            "rich._unicode_data.load",
        }
    }


@pytest.fixture
def no_private_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reload the module as if none of the private names existed."""
    for name in ("textual._context", "textual._ansi_sequences", "rich._unicode_data"):
        monkeypatch.setitem(sys.modules, name, None)
    importlib.reload(private_api)
    yield
    monkeypatch.undo()
    importlib.reload(private_api)


@pytest.mark.usefixtures("no_private_names")
def test_console_does_without_private_names() -> None:
    assert private_api.rich_width_table() == []
    private_api.forget_key_sequences(["\x1b1"])
    assert private_api.active_app.get(None) is None
    assert first_key_label(getattr(private_api.active_app.get(None), "keys", KEYS), "console.quit") == "q"


def test_active_app_is_textuals_own() -> None:
    from textual._context import active_app

    assert private_api.active_app is active_app


def test_width_table_is_richs_own() -> None:
    from rich._unicode_data import load

    assert private_api.rich_width_table() is load("auto").widths
