"""The user's editor, and what was typed and not saved."""

import stat
from pathlib import Path

import pytest

from copydesk.editor import TypedTexts, command, read_back
from copydesk.errors import ConflictError


def test_visual_goes_before_editor_and_may_have_arguments() -> None:
    assert command({"VISUAL": "code --wait", "EDITOR": "vi"}) == ("code", "--wait")
    assert command({"VISUAL": " ", "EDITOR": "'my editor' -n"}) == ("my editor", "-n")


def test_an_editor_that_cannot_be_read_is_passed_over() -> None:
    assert command({"VISUAL": "vi '", "EDITOR": "ed"}) == ("ed",)


def test_without_any_editor_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.editor.shutil.which", lambda name: None)
    with pytest.raises(ConflictError, match="Set EDITOR"):
        command({})


def test_what_is_typed_is_found_again_until_it_is_forgotten(tmp_path: Path) -> None:
    typed = TypedTexts(tmp_path / "typed")
    assert typed.find("one") is None
    typed.keep("one", 3, "First")
    typed.keep("one", 3, "First words.")
    typed.keep("two", 1, "Others.")
    found = typed.find("one")
    assert found is not None
    assert (found.version, found.text, len(typed.every())) == (3, "First words.", 2)
    assert stat.S_IMODE(found.path.stat().st_mode) == 0o600
    typed.forget("one")
    assert [each.draft_id for each in typed.every()] == ["two"]


def test_what_else_lies_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine")
    (tmp_path / "one.v1.md").mkdir()
    TypedTexts(tmp_path).forget("notes")
    assert TypedTexts(tmp_path).every() == []
    assert (tmp_path / "notes.md").exists()


def test_what_is_no_text_is_read_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_bytes(b"caf\xe9 \xff")
    assert read_back(path) == "caf\ufffd \ufffd"
