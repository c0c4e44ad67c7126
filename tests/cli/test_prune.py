"""Tests for `copydesk prune`."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from cli_runner import run_in_process


def test_counts_of_deleted_data_are_printed(tmp_path: Path) -> None:
    result = run_in_process(tmp_path, "prune")
    deleted = "content of 0 items, 0 runs, 0 readings, 0 events of undone changes, 0 images, 0 idempotency keys"
    assert result.out == f"Deleted: {deleted}.\n"


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
