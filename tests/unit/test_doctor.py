"""What the doctor says of a desk."""

import sqlite3
from contextlib import closing
from pathlib import Path

from copydesk.desk.doctor import Verdict, _database


def test_a_home_whose_name_means_something_in_an_address_is_examined_itself(tmp_path: Path) -> None:
    """Another file was made and found whole, while nobody looked at the database."""
    home = tmp_path / "a#b?c%41"
    home.mkdir()
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        connection.execute("CREATE TABLE t (c)")

    assert _database(home / "copydesk.db").verdict is Verdict.OK
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a#b?c%41"]
    (home / "copydesk.db").write_bytes(b"no database" * 1000)
    assert _database(home / "copydesk.db").verdict is Verdict.ERROR
