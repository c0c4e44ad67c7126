"""Tests for files that are replaced in one step."""

from pathlib import Path
from stat import S_IMODE

import pytest

from copydesk.file_replacement import replace_file


def test_new_file_is_private(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "file"
    replace_file(file, b"new")
    assert (file.read_bytes(), S_IMODE(file.stat().st_mode)) == (b"new", 0o600)
    assert S_IMODE(file.parent.stat().st_mode) == 0o700


def test_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("before")
    file.chmod(0o640)
    with file.open() as reader:
        replace_file(file, b"after")
        assert reader.read() == "before"
    assert (file.read_bytes(), S_IMODE(file.stat().st_mode)) == (b"after", 0o640)


def test_failed_replacement_leaves_the_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("before")

    def fail(self: Path, target: Path) -> Path:
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        replace_file(file, b"after")
    assert (file.read_text(), list(tmp_path.iterdir())) == ("before", [file])
