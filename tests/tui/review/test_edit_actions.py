"""Tests for editing drafts in the form and in the user's editor: no typed text is lost."""

import asyncio
import errno
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.timer import Timer

from copydesk.desk import Desk
from copydesk.editor import Autosave
from copydesk.errors import ConflictError, EditedByOtherError, InvalidError
from copydesk.tui.app import Console
from copydesk.tui.dialogs import autosaved_form
from copydesk.tui.review import presence
from copydesk.tui.review.dialogs import EditDialog, text_end
from copydesk.tui.review.presence import EDIT_RENEWAL, EditLease
from copydesk.tui.widgets.inputs import SafeTextArea
from delayed_responses import DelayedResponse, wait_until
from desk_fixtures import open_desk_at, query_db
from posting_fixtures import connect_account
from review_driver import open_review


async def test_inline_edit_updates_draft_and_row(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("e", "ctrl+end", *" Really.", "ctrl+s")
        assert (await review.desk.drafts.get(first.id)).text == f"{first.text} Really."
        assert review.toasts == ["Edited · u undo"]
        await review.press("u")
        assert (await review.desk.drafts.get(first.id)).text == first.text


async def test_cursor_goes_to_start_and_end_of_text(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=("One\ntwo\nthree",)) as review:
        await review.press("e", "ctrl+home", "<", "ctrl+end", ">")
        area = review.app.screen.query_one(SafeTextArea)
        assert area.text == "<One\ntwo\nthree>"
        await review.press("ctrl+shift+home", "x")
        assert area.text == "x"
        await review.press(*"yz", "ctrl+home", "ctrl+shift+end", "a")
        assert area.text == "a"


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("One.", (0, 4)),
        ("One.\n\nTwo. \n", (3, 0)),
        ("One.\n\nhttps://example.org", (0, 4)),
        ("One. \nTwo.\n\nhttps://example.org #a\n#b #c\n", (1, 4)),
        ("See https://example.org", (0, 23)),
        ("# Heading", (0, 9)),
        ("https://example.org", (0, 19)),
        ("", (0, 0)),
    ],
)
async def test_cursor_starts_where_the_text_ends(tmp_path: Path, text: str, location: tuple[int, int]) -> None:
    assert text_end(text) == location
    if text.startswith("One."):
        async with open_review(tmp_path, texts=(text,)) as review:
            await review.press("e", "X")
            area = review.app.screen.query_one(SafeTextArea)
            assert area.cursor_location == (location[0], location[1] + 1)
            assert area.text.count("X") == 1


async def test_counts_follow_typing(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=("Ten signs.",)) as review:
        await review.press("e")
        assert "X 10/280  Bluesky 10/300" in review.text
        await review.press("ctrl+end", "!")
        assert "X 11/280" in review.text


async def test_only_connected_platforms_are_counted(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=("Ten signs.",)) as review:
        await connect_account(review.desk, platform="mastodon", max_length=5000)
        await review.press("e")
        assert "Mastodon 10/5000" in review.text
        assert "/280" not in review.text


async def test_leaving_confirms_only_after_changes(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("e", "escape")
        assert "Ctrl+S save" not in review.text
        await review.press("e", "z", "escape")
        assert "Discard your changes?" in review.text
        await review.press("n")
        assert "Ctrl+S save" in review.text
        await review.press("escape", "y")
        assert "Ctrl+S save" not in review.text
        assert (await review.desk.drafts.get(first.id)).text == first.text
        assert Autosave(tmp_path / "typed").list_all() == []


async def test_unsaved_text_is_restored_after_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autosaved_form, "AUTOSAVE_DELAY", 0.01)
    monkeypatch.setattr("copydesk.tui.review.screen.PRELOAD_DELAY", 0.01)
    typed = Autosave(tmp_path / "typed")
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("e", "ctrl+end", *" Unsaved")
        await review.wait_for(lambda: (saved := typed.find(first.id)) and saved.text.endswith("Unsaved"))
    async with open_review(tmp_path) as review:
        await review.wait_for(lambda: any("Press e on it to continue." in message for message in review.toasts))
        await review.press("e")
        assert f"{first.text} Unsaved" in review.text
        assert "Restored unsaved text from " in review.text
        await review.press("ctrl+s")
        assert (await review.desk.drafts.get(first.id)).text == f"{first.text} Unsaved"
        await review.wait_for(lambda: typed.list_all() == [])


async def test_letters_typed_during_an_autosave_are_saved_at_exit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autosaved_form, "AUTOSAVE_DELAY", 0.01)
    typed = Autosave(tmp_path / "typed")
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("e", "ctrl+end")
        form = review.app.screen
        assert isinstance(form, EditDialog)
        writing = DelayedResponse(form, "autosave")
        area = form.query_one(SafeTextArea)
        review.app.simulate_key("x")
        await writing.wait_until_called()
        review.app.simulate_key("y")
        await wait_until(lambda: area.text.endswith("xy"), lambda: asyncio.sleep(0))
        leaving = asyncio.create_task(form.flush_autosave())
        writing.released.set()
        await leaving
        saved = typed.find(first.id)
        assert saved is not None
        assert saved.text == f"{first.text}xy"


async def test_refusal_is_shown_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Autosave, "save", fail)
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("e", "ctrl+end", "z")
        async with open_desk_at(tmp_path) as other:
            await other.drafts.edit(first.id, "Other words.")
        await review.press("ctrl+s")
        assert "Ctrl+S again overwrites it with your text." in " ".join(review.text.split())


async def test_overwriting_newer_text_requires_confirmation(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("e", "ctrl+end", "z")
        async with open_desk_at(tmp_path) as other:
            await other.drafts.edit(first.id, "Other words.")
        await review.press("ctrl+s")
        assert "Ctrl+S again overwrites it with your text." in " ".join(review.text.split())
        await review.press("ctrl+s")
        assert (await review.desk.drafts.get(first.id)).text == f"{first.text}z"


async def test_newer_text_is_overwritten_with_the_one_that_was_opened(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("e", "ctrl+end", "z")
        async with open_desk_at(tmp_path) as other:
            await other.drafts.edit(first.id, "Other words.")
        await review.press("ctrl+s", "backspace", "ctrl+s")
        assert (await review.desk.drafts.get(first.id)).text == first.text


async def test_typing_keeps_other_reviewers_from_saving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autosaved_form, "AUTOSAVE_DELAY", 0.01)
    async with open_review(tmp_path) as review, open_desk_at(tmp_path, console__reviewer="ben") as ben:
        first = review.current
        await review.press("e")
        # Who only looks at the text has no lease.
        assert (await ben.drafts.activity.get(first.id)).editing is None
        await review.press("ctrl+end", "z")
        await wait_for_editor(ben, first.id, present=True)
        with pytest.raises(EditedByOtherError):
            await ben.drafts.edit(first.id, "By Ben.")
        await review.press("escape", "y")
        await wait_for_editor(ben, first.id, present=False)
        assert (await ben.drafts.edit(first.id, "By Ben.")).text == "By Ben."


@pytest.mark.parametrize("end", ["saved", "discarded"])
async def test_lease_ends_with_the_edit_also_during_a_renewal(tmp_path: Path, end: str) -> None:
    """The first renewal, which takes the lease, is held up until the end of the edit has been asked for."""
    async with open_desk_at(tmp_path) as desk, open_desk_at(tmp_path, console__reviewer="ben") as ben:
        draft = (await desk.drafts.create({"text": "The ferry sails."})).drafts[0]
        conflicts: list[ConflictError] = []
        lease = EditLease(desk, draft.id, conflicts.append)
        entered, go_on = asyncio.Event(), asyncio.Event()
        start_edit = desk.drafts.activity.start_edit

        async def start_late(draft_id: str) -> object:
            entered.set()
            await go_on.wait()
            return await start_edit(draft_id)

        desk.drafts.activity.start_edit = start_late  # type: ignore[assignment, method-assign]
        renewal = asyncio.create_task(lease.renew("The ferry sails late."))
        await entered.wait()
        if end == "saved":
            ending = asyncio.create_task(lease.end_by(lambda: desk.drafts.edit(draft.id, "The ferry sails late.")))
        else:
            ending = asyncio.create_task(lease.end())
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(renewal, ending)
        # A renewal that was waiting all along, or comes after the end.
        await lease.renew("The ferry sails late.")

        assert (await ben.drafts.activity.get(draft.id)).editing is None
        await ben.drafts.edit(draft.id, "By Ben.")
        assert conflicts == []


async def test_edit_goes_on_if_saving_failed(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        draft = (await desk.drafts.create({"text": "The ferry sails."})).drafts[0]
        lease = EditLease(desk, draft.id, lambda _: None)
        with pytest.raises(InvalidError):
            await lease.end_by(lambda: desk.drafts.edit(draft.id, ""))
        await lease.renew("The ferry sails late.")
        assert (await desk.drafts.activity.get(draft.id)).editing is not None


async def test_lease_that_was_taken_over_is_renewed(tmp_path: Path) -> None:
    """The text may be refused after the takeover, and the edit goes on."""
    async with open_desk_at(tmp_path) as desk, open_desk_at(tmp_path, console__reviewer="ben") as ben:
        draft = (await desk.drafts.create({"text": "The ferry sails."})).drafts[0]
        await ben.drafts.activity.start_edit(draft.id)
        conflicts: list[ConflictError] = []
        lease = EditLease(desk, draft.id, conflicts.append)
        await lease.renew("The ferry sails late.")
        assert len(conflicts) == 1
        assert lease.renewal_delay == math.inf
        await lease.take_over()
        assert lease.renewal_delay <= EDIT_RENEWAL


async def test_quitting_ends_the_lease_of_an_open_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autosaved_form, "AUTOSAVE_DELAY", 0.01)
    async with open_desk_at(tmp_path, console__reviewer="ben") as ben:
        async with open_review(tmp_path) as review:
            first = review.current
            await review.press("e", "ctrl+end", "z")
            await wait_for_editor(ben, first.id, present=True)
        assert (await ben.drafts.activity.get(first.id)).editing is None


async def wait_for_editor(desk: Desk, draft_id: str, *, present: bool) -> None:
    """Wait until somebody edits the draft, or nobody does any more."""
    async with asyncio.timeout(10):
        while ((await desk.drafts.activity.get(draft_id)).editing is not None) is not present:
            pass


async def test_edit_of_another_reviewer_is_taken_over_after_a_question(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review, open_desk_at(tmp_path, console__reviewer="ben") as ben:
        first = review.current
        lease = await ben.drafts.activity.start_edit(first.id)
        await ben.drafts.activity.renew_edit(first.id, lease.id, "Typed by Ben.")
        await review.press("e", "ctrl+end", "z", "ctrl+s")
        assert "ben is editing this draft; nothing changed. Take the edit over?" in " ".join(review.text.split())
        await review.press("n")
        assert (await review.desk.drafts.get(first.id)).text == first.text

        await review.press("ctrl+s", "y")

        assert (await review.desk.drafts.get(first.id)).text == f"{first.text}z"
        (kept,) = (await ben.drafts.activity.get(first.id)).unsaved
        assert (kept.reviewer, kept.text) == ("ben", "Typed by Ben.")
        # Both texts are seen as a diff, and later among the comments.
        assert "Typed by ben, not saved" in review.text
        assert "{+Typed by Ben." in review.text
        await review.press("q", "at")
        assert "{+Typed by Ben." in review.text


async def test_takeover_is_reported_while_typing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autosaved_form, "AUTOSAVE_DELAY", 0.01)
    monkeypatch.setattr(presence, "EDIT_RENEWAL", 0.0)
    async with open_review(tmp_path) as review, open_desk_at(tmp_path, console__reviewer="ben") as ben:
        first = review.current
        await review.press("e", "ctrl+end", "y")
        await wait_for_editor(ben, first.id, present=True)
        await ben.drafts.activity.start_edit(first.id, take_over=True)
        await review.press("z")
        await review.wait_for(lambda: "ben took over this edit; your text is kept." in review.toasts)
        (kept,) = (await ben.drafts.activity.get(first.id)).unsaved
        assert kept.text == f"{first.text}yz"


@pytest.mark.parametrize("early", [0, 0.2])
async def test_last_letters_are_stored_with_the_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, early: float
) -> None:
    set_timer = Console.set_timer

    def set_early_timer(console: Console, delay: float, *args: Any, **options: Any) -> Timer:
        return set_timer(console, delay * (1 - early), *args, **options)

    monkeypatch.setattr(Console, "set_timer", set_early_timer)
    monkeypatch.setattr(autosaved_form, "AUTOSAVE_DELAY", 0.01)
    monkeypatch.setattr(presence, "EDIT_RENEWAL", 0.5)
    async with open_review(tmp_path) as review, open_desk_at(tmp_path, console__reviewer="ben") as ben:
        first = review.current
        await review.press("e", "ctrl+end", "y")
        await wait_for_editor(ben, first.id, present=True)
        # Typed after the renewal, and no key follows.
        await review.press("z")
        await review.wait_for(lambda: query_db(tmp_path, "SELECT text FROM draft_edit") == [(f"{first.text}yz",)])


async def test_pasted_escape_sequences_are_removed(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("e")
        area = review.app.screen.query_one(SafeTextArea)
        area.insert("a\x1b]0;title\x07b\u202ec")
        assert "abc" in area.text


async def test_posted_or_rejected_draft_is_not_editable(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("r", "enter", "K", "e")
        assert "Cannot edit a draft with the status " in review.toasts[-1]


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set VISUAL to a script and let the console suspend; return the script's path."""
    script = tmp_path / "editor.py"
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")

    @contextmanager
    def suspend(self: Console) -> Iterator[None]:
        yield

    monkeypatch.setattr(Console, "suspend", suspend)
    return script


def write_editor_script(editor: Path, body: str) -> None:
    """Write the editor's script: `body` is Python code with the file's path in `path`."""
    editor.write_text(f"import os, sys, pathlib\npath = pathlib.Path(sys.argv[1])\n{body}")


async def test_external_editor_edits_draft(tmp_path: Path, editor: Path) -> None:
    write_editor_script(editor, "path.write_text(path.read_text() + ' More.\\n')")
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("E")
        assert (await review.desk.drafts.get(first.id)).text == f"{first.text} More."
        assert Autosave(tmp_path / "typed").list_all() == []


async def test_unchanged_editor_text_saves_nothing(tmp_path: Path, editor: Path) -> None:
    write_editor_script(editor, "")
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("E")
        assert review.toasts == ["No changes"]
        assert (await review.desk.drafts.get(first.id)).version == first.version


def fail_to_delete(*_: object) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


NOT_DELETED = "Autosave not deleted: Permission denied. Its text is offered again."


async def test_autosave_of_external_editor_that_cannot_be_deleted_is_reported(
    tmp_path: Path, editor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_editor_script(editor, "path.write_text('Mine.')")
    monkeypatch.setattr(Autosave, "delete", fail_to_delete)
    async with open_review(tmp_path) as review:
        await review.press("E")
        assert review.toasts[-1] == NOT_DELETED


@pytest.mark.parametrize(
    ("exit_code", "message"),
    [("sys.exit(3)", "was closed with exit code 3"), ("os.kill(os.getpid(), 9)", "was killed by signal 9")],
)
async def test_text_of_failed_editor_can_be_saved(tmp_path: Path, editor: Path, exit_code: str, message: str) -> None:
    write_editor_script(editor, f"path.write_text('My words.')\n{exit_code}")
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("E")
        assert message in review.toasts[-1]
        assert "Your text is saved in" in review.toasts[-1]
        assert (await review.desk.drafts.get(first.id)).text == first.text
        await review.press("e")
        assert "My words." in review.text
        await review.press("ctrl+s")
        assert (await review.desk.drafts.get(first.id)).text == "My words."


async def test_missing_editor_shows_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("copydesk.editor.shutil.which", lambda name: None)
    async with open_review(tmp_path) as review:
        await review.press("E")
        assert review.toasts == ["No editor found. Set the environment variable EDITOR."]


TAKEN_OVER = "ben took over this edit; your text is kept."


async def test_external_editor_renews_the_lease_with_its_text(
    tmp_path: Path, editor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "EDIT_RENEWAL", 0.05)
    written, closed = tmp_path / "written", tmp_path / "closed"
    wait = f"import time\nwhile not os.path.exists({str(closed)!r}): time.sleep(0.01)"
    write_editor_script(editor, f"path.write_text('Typed outside.')\nopen({str(written)!r}, 'w')\n{wait}")
    async with open_review(tmp_path) as review, open_desk_at(tmp_path, console__reviewer="ben") as ben:
        first = review.current
        review.app.simulate_key("E")
        await wait_for_editor(ben, first.id, present=True)
        with pytest.raises(EditedByOtherError):
            await ben.drafts.edit(first.id, "By Ben.")

        await review.wait_for(written.exists)
        await ben.drafts.activity.start_edit(first.id, take_over=True)
        async with asyncio.timeout(20):
            while [edit.text for edit in (await ben.drafts.activity.get(first.id)).unsaved] != ["Typed outside."]:
                pass
        # The renewal that has stored the text may not have returned yet.
        await review.wait_for(lambda: any(toast.startswith(TAKEN_OVER) for toast in review.toasts))
        closed.touch()
        await review.wait()
        assert "ben is editing this draft; nothing changed." in review.toasts[-1]
        assert "Your text is saved in" in review.toasts[-1]
        assert (await review.desk.drafts.get(first.id)).text == first.text


async def test_external_editor_does_not_open_while_another_reviewer_edits(tmp_path: Path, editor: Path) -> None:
    write_editor_script(editor, "path.write_text('Typed outside.')")
    async with open_review(tmp_path) as review, open_desk_at(tmp_path, console__reviewer="ben") as ben:
        first = review.current
        await ben.drafts.activity.start_edit(first.id)
        await review.press("E")
        assert review.toasts == ["ben is editing this draft; nothing changed. e edits here, and can take it over."]
        await ben.drafts.activity.end_edit(first.id)
        await review.press("E")
        assert (await review.desk.drafts.get(first.id)).text == "Typed outside."
        assert (await ben.drafts.activity.get(first.id)).editing is None


async def test_editor_needs_suspendable_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "vi")
    async with open_review(tmp_path) as review:
        await review.press("E")
        assert review.toasts == ["This terminal cannot open an editor. Press e to edit here."]
        assert Autosave(tmp_path / "typed").list_all() == []


async def test_autosave_that_cannot_be_deleted_hides_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "vi")
    monkeypatch.setattr(Autosave, "delete", fail_to_delete)
    async with open_review(tmp_path) as review:
        await review.press("E")
        assert review.toasts == [NOT_DELETED, "This terminal cannot open an editor. Press e to edit here."]


async def test_keys_typed_ahead_of_form_decide_nothing(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        for key in ("e", "a", "x"):
            review.app.simulate_key(key)
        await review.wait()
        await review.press("escape", "y")
        drafts = (await review.desk.drafts.list()).items
        assert all(draft.version == 1 and draft.archived_at is None for draft in drafts)


async def test_keys_typed_ahead_of_editor_decide_nothing(tmp_path: Path, editor: Path) -> None:
    write_editor_script(editor, "path.write_text('Mine.')")
    async with open_review(tmp_path) as review:
        for key in ("E", "a", "x"):
            review.app.simulate_key(key)
        await review.wait()
        drafts = (await review.desk.drafts.list()).items
        assert sorted(draft.version for draft in drafts) == [1, 1, 1, 1, 2]


async def test_text_is_checked_as_it_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.review.dialogs.CHECK_DELAY", 0.01)
    async with open_review(tmp_path, texts=("Ten signs.",)) as review:
        first = review.current
        await review.press("e")
        assert "entity" not in review.text
        await review.press("ctrl+end", *" &amp; http://localhost/")
        await review.wait_for(lambda: "Readers cannot open localhost." in review.text)
        assert "HTML entity: &amp;" in review.text
        await review.press(*["backspace"] * 24)
        await review.wait_for(lambda: "HTML entity" not in review.text)
        assert (await review.desk.drafts.get(first.id)).text == first.text


async def test_narrow_terminal_shows_edited_text_in_the_open_draft(tmp_path: Path) -> None:
    async with open_review(tmp_path, size=(80, 24)) as review:
        await review.press("enter", "e", "ctrl+end", *" Really.", "ctrl+s")
        await review.wait_for(lambda: " Really." in review.text)
        assert "Draft · J next" in review.text
        await review.press("u")
        await review.wait_for(lambda: " Really." not in review.text)


async def test_narrow_terminal_shows_changes_made_while_a_draft_was_open(tmp_path: Path) -> None:
    async with open_review(tmp_path, size=(80, 24)) as review:
        row = review.screen.queue.window.rows[-1]
        await review.press("enter")
        await review.desk.drafts.edit(row.id, "Changed meanwhile.")
        assert "Changed meanwhile." not in review.text
        await review.press("q")
        await review.wait_for(lambda: "Changed meanwhile." in review.text)
