"""Test that the benchmarks, which no other test runs, import what exists."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest


def copydesk_imports(script: Path) -> Iterator[tuple[str, str]]:
    """Yield each module of ours that the script imports, and each name from it; "" for the module itself."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("copydesk"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("copydesk"):
            yield from ((node.module or "", alias.name) for alias in node.names)


@pytest.mark.parametrize("script", sorted(Path(__file__).parent.glob("bench_*.py")), ids=lambda script: script.stem)
def test_imports_exist(script: Path) -> None:
    for module, name in copydesk_imports(script):
        imported = import_module(module)
        # A submodule is an attribute of its package only once it is imported.
        assert not name or hasattr(imported, name) or import_module(f"{module}.{name}")
