"""Edit a draft's text, here or in the user's editor. Typed text is autosaved until it is stored in the draft."""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from copydesk.editor import (
    Autosave,
    UnsavedText,
    get_editor_command,
    read_edited_file,
    user_autosave,
    without_added_newline,
)
from copydesk.errors import ConflictError, CopydeskError, EditedByOtherError
from copydesk.model.transitions import status_after_edit
from copydesk.text import clean_lines
from copydesk.text.formatting import format_relative
from copydesk.tui import labels
from copydesk.tui.dialogs.base import WaitDialog
from copydesk.tui.review.action_runner import ActionResult, ActionRunner, Outcome, error_message
from copydesk.tui.review.local_changes import DraftState
from copydesk.tui.review.presence import EditLease
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.terminal.suspension import leave_terminal

if TYPE_CHECKING:
    from textual.timer import Timer

    from copydesk.desk import Desk
    from copydesk.model.draft import Draft, ListedDraft
    from copydesk.model.targets import TextLimit
    from copydesk.tui.review.dialogs import EditDialog, EditRequest

AUTOSAVE_FOLDER = "typed"
EDIT_SCREEN = "edit"
"""Name under which the one edit screen is installed."""


class _EditSession:
    """One text in the built-in editor: its autosave file, its lease, and how it is saved."""

    def __init__(
        self, editing: "EditActions", desk: "Desk", draft: "ListedDraft", version: int, dialog: "EditDialog"
    ) -> None:
        self._editing = editing
        self._app = editing.app
        self._desk = desk
        self._draft = draft
        self._version = version
        """The version that the text replaces."""
        self._dialog = dialog
        self._autosave = editing.texts(desk)
        self._write_lock = asyncio.Lock()
        self._lease = EditLease(desk, draft.id, lambda error: self._app.notify(error.message, severity="warning"))
        self._app.exit_work.add(self._end_lease)
        self._typed_text = ""
        """The text of the last autosave."""
        self._renewal: Timer | None = None
        """The renewal of the lease that is scheduled."""
        self._takes_over = False
        """True if the user agreed to end the edit of another reviewer."""

    def request(self, saved: UnsavedText | None, limits: Sequence["TextLimit"]) -> "EditRequest":
        """Return what the editor shows and calls."""
        from copydesk.tui.review.dialogs import EditRequest  # noqa: PLC0415 - as in `edit`

        draft = self._draft
        notice = labels.restored_edit(format_relative(saved.saved_at, self._app.clock())) if saved else ""
        return EditRequest(
            title=f"{labels.FORMAT_NAMES[draft.format]} · {labels.draft_name(draft.text)}",
            text=draft.text,
            format=draft.format,
            limits=limits,
            autosave=self._keep_text,
            save=self._save,
            discard_autosave=self._forget,
            check=lambda text: self._desk.drafts.check(text, draft_id=draft.id),
            unsaved_text=saved.text if saved else None,
            notice=notice,
        )

    async def _keep_text(self, text: str) -> None:
        async with self._write_lock:
            await asyncio.to_thread(self._autosave.save, self._draft.id, self._version, text)
        self._typed_text = text
        if self._renewal is None:
            self._renew_lease()

    def _renew_lease(self) -> None:
        """Renew the lease, now or as soon as it may be renewed."""
        self._renewal = None
        delay = self._lease.renewal_delay
        if delay == 0:
            # In the background: the text is safe in its file, and the form must not wait for the database as well.
            self._app.run_desk_task(lambda _: self._lease.renew(self._typed_text))
        elif delay < math.inf:
            # The text that is typed until then comes with it: the last letters must not be missing. Textual's timers
            # may fire a little early, and then this is called too soon.
            self._renewal = self._app.set_timer(delay, self._renew_lease)

    async def _forget(self) -> None:
        try:
            async with self._write_lock:
                await asyncio.to_thread(self._autosave.delete, self._draft.id)
        finally:
            self._app.exit_work.discard(self._end_lease)
            await self._lease.end()

    async def _end_lease(self, _: "Desk") -> None:
        await self._lease.end()

    async def _save(self, text: str) -> str:
        if text == clean_lines(self._draft.text):
            return ""
        try:
            if self._takes_over:
                self._takes_over = False
                await self._lease.take_over()
                self._editing.taken_over_id = self._draft.id
            await self._lease.end_by(lambda: self._editing.save(self._desk, self._draft, text, self._version))
            self._app.exit_work.discard(self._end_lease)
        except EditedByOtherError as error:
            self._dialog.call_later(self._confirm_takeover, error.message)
            return error.message
        except ConflictError as error:
            current = await self._desk.drafts.get(self._draft.id)
            if current.version == self._version:
                return error_message(error)
            # What is typed is compared with it from now on: the text that was opened may replace it, too.
            self._draft, self._version = current, current.version
            return labels.overwrite_hint(error.message)
        except Exception as error:
            return error_message(error)
        return ""

    def _confirm_takeover(self, message: str) -> None:
        from copydesk.tui.dialogs.prompt import ConfirmDialog  # noqa: PLC0415 - imported when first used

        question = ConfirmDialog(labels.takeover_question(message), yes=labels.TAKE_OVER, no=labels.KEEP_EDITING)
        self._app.push_screen(question, self._on_answer)

    def _on_answer(self, yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if yes:
            self._takes_over = True
            self._dialog.call_later(self._dialog.action_save)


class EditActions:
    """Editing here and in an external editor."""

    def __init__(self, runner: ActionRunner) -> None:
        self._runner = runner
        self.app = runner.app
        self._opened_ids: set[str] = set()
        """Drafts opened in this session: their autosaved text is not reported as left over."""
        self.taken_over_id = ""
        """The draft whose edit was taken over from another reviewer, until their text is shown."""

    def texts(self, desk: "Desk") -> Autosave:
        """Return the autosave files of edits."""
        return user_autosave(desk, AUTOSAVE_FOLDER)

    def offer_autosaved(self) -> None:
        """Notify about texts that were typed in an earlier session and not saved."""
        self.app.run_desk_task(self._offer_autosaved)

    async def _offer_autosaved(self, desk: "Desk") -> None:
        for saved in await asyncio.to_thread(self.texts(desk).list_all):
            if saved.draft_id in self._opened_ids:
                continue
            try:
                name = labels.draft_name((await desk.drafts.get(saved.draft_id)).text)
            except CopydeskError:
                self.app.notify(labels.unsaved_edit_of_deleted_draft(saved.path), severity="warning")
            else:
                self.app.notify(labels.unsaved_edit(name), severity="warning")

    def _refuses(self, key_id: str, draft: "ListedDraft") -> bool:
        """Say why the draft cannot be edited; return False if it can."""
        reason = self._runner.refusal(key_id, draft)
        if reason:
            self.app.notify(reason, severity="warning")
        return bool(reason)

    # Here.

    def edit(self) -> None:
        """Edit the draft under the cursor in the built-in editor."""
        from copydesk.tui.review.dialogs import EditDialog  # noqa: PLC0415 - imported when first used

        draft = self._runner.pane.current_or_notify()
        if draft is None or self._refuses("review.edit", draft):
            return
        if not self.app.is_screen_installed(EDIT_SCREEN):
            self.app.install_screen(EditDialog(), EDIT_SCREEN)
        screen = self.app.get_screen(EDIT_SCREEN)
        assert isinstance(screen, EditDialog)
        opening = screen.start_loading()
        self.app.enqueue_write(
            lambda desk: self._edit(desk, draft.id, screen, opening),
            hold_keys=Hold.SCREEN,
            on_finished=lambda: screen.call_later(screen.cancel_loading, opening),
        )
        # Push the screen before the draft is loaded: the user sees that the key was taken.
        self.app.push_screen(screen, self._show_other_text)

    def _show_other_text(self, saved: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        """After the edit of another reviewer was taken over: show how their text differs from the saved one."""
        draft_id, self.taken_over_id = self.taken_over_id, ""
        if saved and draft_id:
            self.app.run_desk_task(lambda desk: self._load_other_text(desk, draft_id), hold_keys=Hold.SCREEN)

    async def _load_other_text(self, desk: "Desk", draft_id: str) -> None:
        from copydesk.tui.dialogs.base import PageDialog  # noqa: PLC0415 - imported when first used
        from copydesk.tui.review.pages import unsaved_page  # noqa: PLC0415

        # None if nothing was typed in that edit.
        for edit in (await desk.drafts.activity.get(draft_id)).unsaved[-1:]:
            difference = await desk.drafts.activity.compare_unsaved(edit.id)
            page = unsaved_page(edit, difference, self.app.clock())
            self.app.push_if_current(self._runner.screen, PageDialog(labels.OTHER_TEXT_TITLE, page))

    async def _edit(self, desk: "Desk", draft_id: str, screen: "EditDialog", opening: int) -> None:
        self._opened_ids.add(draft_id)
        draft = await desk.drafts.get(draft_id)
        status_after_edit(draft.status, archived=draft.archived_at is not None)  # raises before anything is typed
        saved = await asyncio.to_thread(self.texts(desk).find, draft_id)
        limits = await desk.drafts.text_limits(draft_id)
        session = _EditSession(self, desk, draft, saved.version if saved else draft.version, screen)
        screen.call_later(screen.start, session.request(saved, limits), opening)

    async def save(self, desk: "Desk", draft: "ListedDraft", text: str, version: int) -> "Draft":
        """Store the text in the draft, and show that in its row."""
        changed = await desk.drafts.edit(draft.id, text, expected_version=version)
        self._runner.changes.record(draft, changed)
        outcome = Outcome("edit", (draft.id,), names={draft.id: labels.draft_name(changed.text)})
        self._runner.finish(ActionResult(outcome, {draft.id: DraftState.of(changed)}))
        self._runner.screen.call_later(self._runner.screen.refresh_data)
        return changed

    # In the user's editor.

    def edit_outside(self) -> None:
        """Edit the draft under the cursor in the user's editor, which cannot run in a browser."""
        if self.app.is_web:
            self.app.notify(labels.editor_needs_terminal(), severity="warning")
        elif (draft := self._runner.pane.current_or_notify()) and not self._refuses("review.edit_outside", draft):
            dialog = WaitDialog(labels.EDITOR_OPENING)
            self.app.push_screen(dialog)
            self.app.enqueue_write(lambda desk: self._edit_with_wait_dialog(desk, draft.id, dialog))

    async def _edit_with_wait_dialog(self, desk: "Desk", draft_id: str, dialog: WaitDialog) -> None:
        try:
            if not dialog.cancelled:
                await self._edit_outside(desk, draft_id, dialog)
        finally:
            dialog.call_later(dialog.finish)
            if dialog.typed_text:
                # The editor reads the terminal: what was typed before it started cannot be passed to it.
                self.app.notify(labels.keys_discarded(dialog.typed_text), severity="warning")

    async def _edit_outside(self, desk: "Desk", draft_id: str, dialog: WaitDialog) -> None:
        self._opened_ids.add(draft_id)
        draft = await desk.drafts.get(draft_id)
        status_after_edit(draft.status, archived=draft.archived_at is not None)
        editor_command = get_editor_command()
        autosave = self.texts(desk)
        saved = await asyncio.to_thread(autosave.find, draft_id)
        if dialog.cancelled:
            return
        version = saved.version if saved else draft.version
        lease = EditLease(desk, draft_id, lambda error: self.app.notify(error.message, severity="warning"))
        try:
            await lease.take()
        except EditedByOtherError as error:
            raise ConflictError(error.message, hint=labels.take_over_here_hint()) from None
        try:
            path = saved.path if saved else await asyncio.to_thread(autosave.save, draft_id, version, draft.text)
            await self._edit_file(desk, draft, version, path, editor_command, lease)
        finally:
            await lease.end()

    async def _edit_file(
        self,
        desk: "Desk",
        draft: "ListedDraft",
        version: int,
        path: Path,
        editor_command: tuple[str, ...],
        lease: EditLease,
    ) -> None:
        renewal = asyncio.create_task(lease.keep(lambda: read_edited_file(path)))
        try:
            await self._run_editor(editor_command, path)
        except SuspendNotSupported:
            await self._delete_autosaved(desk, draft.id)
            raise ConflictError(labels.NO_EDITOR, hint=labels.edit_here_hint()) from None
        finally:
            renewal.cancel()
        text = without_added_newline(await asyncio.to_thread(read_edited_file, path), draft.text)
        if text == draft.text:
            self.app.notify(labels.NO_CHANGES)
        else:
            try:
                await lease.end_by(lambda: self.save(desk, draft, text, version))
            except CopydeskError as error:
                raise ConflictError(str(error), hint=labels.text_saved_hint(path)) from error
        await self._delete_autosaved(desk, draft.id)

    async def _delete_autosaved(self, desk: "Desk", draft_id: str) -> None:
        try:
            await asyncio.to_thread(self.texts(desk).delete, draft_id)
        except OSError as error:
            self.app.warn_not_deleted(error)

    async def _run_editor(self, editor_command: tuple[str, ...], path: Path) -> None:
        """Give the terminal to the editor until it exits.

        Raise ConflictError if it cannot be started or fails; the file is kept.
        """
        with leave_terminal(self.app):
            try:
                self.app.editor = await asyncio.create_subprocess_exec(*editor_command, str(path))
                exit_code = await self.app.editor.wait()
            except OSError as error:
                message = labels.editor_not_started(editor_command[0], error.strerror)
                raise ConflictError(message, hint=labels.text_saved_hint(path)) from error
            finally:
                self.app.editor = None
        if exit_code:
            message = labels.editor_failed(editor_command[0], exit_code)
            raise ConflictError(message, hint=labels.text_saved_hint(path))
