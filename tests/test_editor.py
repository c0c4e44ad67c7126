"""Tests for the user's editor and the autosave of unsaved text."""

import stat
from pathlib import Path

import pytest

from copydesk.editor import Autosave, get_editor_command, read_edited_file, without_added_newline
from copydesk.errors import ConflictError


def test_visual_precedes_editor_and_may_have_arguments() -> None:
    assert get_editor_command({"VISUAL": "code --wait", "EDITOR": "vi"}) == ("code", "--wait")
    assert get_editor_command({"VISUAL": " ", "EDITOR": "'my editor' -n"}) == ("my editor", "-n")


def test_unparsable_editor_is_skipped() -> None:
    assert get_editor_command({"VISUAL": "vi '", "EDITOR": "ed"}) == ("ed",)


def test_missing_editor_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.editor.shutil.which", lambda name: None)
    with pytest.raises(ConflictError, match="Set the environment variable EDITOR"):
        get_editor_command({})


def test_autosaved_text_is_found_until_deleted(tmp_path: Path) -> None:
    autosave = Autosave(tmp_path / "typed")
    assert autosave.find("one") is None
    autosave.save("one", 3, "First")
    autosave.save("one", 3, "First words.")
    autosave.save("two", 1, "Others.")
    found = autosave.find("one")
    assert found is not None
    assert (found.version, found.text, len(autosave.list_all())) == (3, "First words.", 2)
    assert stat.S_IMODE(found.path.stat().st_mode) == 0o600
    autosave.delete("one")
    assert [text.draft_id for text in autosave.list_all()] == ["two"]


def test_autosaved_text_may_have_a_lone_surrogate(tmp_path: Path) -> None:
    assert Autosave(tmp_path).save("one", 1, "a\ud800b").read_text() == "a?b"


def test_other_files_in_folder_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine")
    (tmp_path / "one.v1.md").mkdir()
    Autosave(tmp_path).delete("notes")
    assert Autosave(tmp_path).list_all() == []
    assert (tmp_path / "notes.md").exists()


def test_invalid_utf8_is_read_with_replacement(tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_bytes(b"caf\xe9 \xff")
    assert read_edited_file(path) == "caf\ufffd \ufffd"


def test_byte_order_mark_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "marked"
    path.write_text("\ufeffWords.", "utf-8")
    assert read_edited_file(path) == "Words."


@pytest.mark.parametrize(
    ("text", "original", "edited"),
    [
        ("New.\n", "Old.", "New."),
        ("New.\r\n", "", "New."),
        ("New.\n\n", "Old.", "New.\n"),
        ("New.\n", "Old.\n", "New.\n"),
    ],
)
def test_newline_of_the_editor_is_removed(text: str, original: str, edited: str) -> None:
    assert without_added_newline(text, original) == edited
