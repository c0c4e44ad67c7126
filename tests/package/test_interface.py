"""Tests that the operations, commands and tests named in the README's interface table exist."""

import ast
from functools import cache, reduce
from pathlib import Path

import click
import pytest

from copydesk.cli import copydesk
from copydesk.desk.context import DeskContext, utc_now
from copydesk.desk.desk import Desk
from interface_table import ROWS, Row

ROOT = Path(__file__).resolve().parents[2]


@cache
def desk() -> Desk:
    """Return a desk without a database, of which only the attributes are inspected."""
    context = DeskContext.__new__(DeskContext)
    context.clock = utc_now
    return Desk(context)


@cache
def function_names(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.description)
def test_row_operation_exists(row: Row) -> None:
    assert callable(reduce(getattr, row.operation.split("."), desk()))


@pytest.mark.parametrize("row", [row for row in ROWS if row.command], ids=lambda row: row.description)
def test_row_command_exists(row: Row) -> None:
    if row.command.startswith("--"):
        assert row.command in {name for option in copydesk.params for name in option.opts}
        return
    command: click.Command = copydesk
    for word in row.command.split():
        assert isinstance(command, click.Group)
        inner = command.get_command(click.Context(command), word)
        assert inner, word
        command = inner


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.description)
def test_row_tests_exist(row: Row) -> None:
    assert row.tests
    for test in row.tests:
        path, _, name = test.partition("::")
        assert name in function_names(path)


def test_endpoints_and_actions_have_rows() -> None:
    descriptions = " ".join(row.description for row in ROWS)
    actions = ("approve", "reject", "regenerate", "schedule", "archive", "unapprove", "reschedule", "cancel_schedule")
    paths = ("drafts", "drafts/bulk", "pipeline", "pipeline/runs", "pipeline/stats", "engagement", "experiments")
    assert [word for word in (*actions, "post", *(f"/{path}" for path in paths)) if word not in descriptions] == []
