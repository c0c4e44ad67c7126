"""Tests for `copydesk prune`."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli_runner import run_in_process
from copydesk.desk.retention import Retention
from copydesk.model.job import Pruned


def test_counts_of_deleted_data_are_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_in_process(tmp_path, "prune").out == "Nothing to delete.\n"

    async def prune(_: Retention) -> Pruned:
        return Pruned(items=3, runs=1, readings=0, undone=0, images=2, idempotency_keys=0, events=1204)

    monkeypatch.setattr(Retention, "prune", prune)
    assert run_in_process(tmp_path, "prune").out == "Deleted: content of 3 items, 1 run, 2 images, 1,204 events.\n"


def test_compacted_database_can_return_space(tmp_path: Path) -> None:
    assert run_in_process(tmp_path, "run", "list").code == 0
    with closing(sqlite3.connect(tmp_path / "copydesk.db")) as connection:
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("VACUUM")

    result = run_in_process(tmp_path, "prune", "--compact", "--json")

    assert json.loads(result.out) == {
        "items": 0,
        "runs": 0,
        "readings": 0,
        "undone": 0,
        "images": 0,
        "idempotencyKeys": 0,
        "events": 0,
    }
    with closing(sqlite3.connect(tmp_path / "copydesk.db")) as connection:
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    assert run_in_process(tmp_path, "prune", "--compact").out == "Nothing to delete.\nCompacted the database.\n"
