"""Tests for the removal of what killed test runs left in memory."""

import subprocess
import sys
import tempfile
from pathlib import Path

from memory_folders import folder_prefix, remove_leftovers

PROGRAM = """
import tempfile
from memory_folders import folder_prefix
print(tempfile.mkdtemp(prefix=folder_prefix(), dir={folder!r}))
"""


def test_folders_of_ended_processes_are_removed(tmp_path: Path) -> None:
    support = Path(__file__).parent / "support"
    program = PROGRAM.format(folder=str(tmp_path))
    result = subprocess.run([sys.executable, "-c", program], cwd=support, capture_output=True, text=True, check=True)
    left = Path(result.stdout.strip())
    (left / "file").touch()
    own, other = Path(tempfile.mkdtemp(prefix=folder_prefix(), dir=tmp_path)), tmp_path / "copydesk-tests-else"
    other.mkdir()

    remove_leftovers(tmp_path)

    assert set(tmp_path.iterdir()) == {own, other}
