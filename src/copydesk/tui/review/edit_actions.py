"""Edit a draft's text, here or in the user's editor. Typed text is autosaved until it is stored in the draft."""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from copydesk.editor import Autosave, UnsavedText, get_editor_command, read_edited_file, without_added_newline
from copydesk.errors import ConflictError, CopydeskError, EditedByOtherError
from copydesk.model.transitions import status_after_edit
from copydesk.text import clean_lines
from copydesk.text.formatting import format_relative
from copydesk.tui import labels
from copydesk.tui.dialogs.base import WaitDialog
from copydesk.tui.review.action_runner import ActionResult, ActionRunner, Outcome, error_message
from copydesk.tui.review.dialogs import relevant_platforms
from copydesk.tui.review.local_changes import DraftState
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.terminal.suspension import ignore_interrupts

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import Draft, ListedDraft
    from copydesk.tui.review.dialogs import EditDialog, EditRequest

AUTOSAVE_FOLDER = "typed"
EDIT_SCREEN = "edit"
"""Name under which the one edit screen is installed."""
RENEWAL_INTERVAL = 20.0
"""Seconds between two renewals of a lease while the user types: each is a change that all consoles look at."""


class _EditLease:
    """The lease of one edit: taken with the first key, renewed while others follow, ended with the edit."""

    def __init__(self, desk: "Desk", draft_id: str, on_conflict: Callable[[ConflictError], object]) -> None:
        self._desk = desk
        self._draft_id = draft_id
        self._on_conflict = on_conflict
        self._id: str | None = None
        self._renewed_at: float | None = None

    async def renew(self, text: str) -> None:
        """Take or renew the lease, unless that was done just now. Report once that somebody else has it."""
        now = time.monotonic()
        if self._renewed_at is not None and now - self._renewed_at < RENEWAL_INTERVAL:
            return
        # Before the first await: the next autosave may come while this one waits for the database.
        self._renewed_at = now
        try:
            if self._id is None:
                self._id = (await self._desk.drafts.activity.start_edit(self._draft_id)).id
            await self._desk.drafts.activity.renew_edit(self._draft_id, self._id, text)
        except ConflictError as error:
            self._id, self._renewed_at = None, math.inf
            self._on_conflict(error)
        except CopydeskError:
            pass  # saving the text fails for the same reason, and reports it

    async def take_over(self) -> None:
        """End the edit of another reviewer, whose text is kept."""
        self._id = (await self._desk.drafts.activity.start_edit(self._draft_id, take_over=True)).id

    async def end(self, *, saved: bool = False) -> None:
        """End the edit, if it has the lease; saving has ended it already."""
        lease, self._id = self._id, None
        if lease is not None and not saved:
            # It expires anyway.
            with suppress(CopydeskError):
                await self._desk.drafts.activity.end_edit(self._draft_id)


class EditActions:
    """Editing here and in an external editor."""

    def __init__(self, runner: ActionRunner) -> None:
        self._runner = runner
        self.app = runner.app
        self._opened_ids: set[str] = set()
        """Drafts opened in this session: their autosaved text is not reported as left over."""

    def _texts(self, desk: "Desk") -> Autosave:
        return Autosave(desk.settings.data_home / AUTOSAVE_FOLDER)

    def offer_autosaved(self) -> None:
        """Notify about texts that were typed in an earlier session and not saved."""
        self.app.run_desk_task(self._offer_autosaved)

    async def _offer_autosaved(self, desk: "Desk") -> None:
        for saved in await asyncio.to_thread(self._texts(desk).list_all):
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

        draft = self._runner.queue.current
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
        self.app.push_screen(screen)

    async def _edit(self, desk: "Desk", draft_id: str, screen: "EditDialog", opening: int) -> None:
        self._opened_ids.add(draft_id)
        draft = await desk.drafts.get(draft_id)
        status_after_edit(draft.status, archived=draft.archived_at is not None)  # raises before anything is typed
        saved = await asyncio.to_thread(self._texts(desk).find, draft_id)
        connected = [account.details.platform for account in await desk.accounts.list()]
        screen.call_later(screen.start, self._edit_session(desk, draft, saved, connected), opening)

    def _edit_session(
        self, desk: "Desk", draft: "ListedDraft", saved: UnsavedText | None, connected: Sequence[str]
    ) -> "EditRequest":
        from copydesk.tui.review.dialogs import EditRequest  # noqa: PLC0415 - as above

        autosave, write_lock = self._texts(desk), asyncio.Lock()
        version = saved.version if saved else draft.version
        lease = _EditLease(desk, draft.id, lambda error: self.app.notify(error.message, severity="warning"))
        takes_over = False

        async def keep_text(text: str) -> None:
            async with write_lock:
                await asyncio.to_thread(autosave.save, draft.id, version, text)
            # After the file, which does not wait for the database.
            await lease.renew(text)

        async def forget() -> None:
            async with write_lock:
                await asyncio.to_thread(autosave.delete, draft.id)
            await lease.end()

        async def save(text: str) -> str:
            nonlocal version, takes_over
            if text == clean_lines(draft.text):
                return ""
            try:
                if takes_over:
                    await lease.take_over()
                await self._save(desk, draft, text, version)
                await lease.end(saved=True)
            except EditedByOtherError as error:
                takes_over = True
                return labels.takeover_hint(error.message)
            except ConflictError as error:
                current = await desk.drafts.get(draft.id)
                if current.version == version:
                    return error_message(error)
                version = current.version
                return labels.overwrite_hint(error.message)
            except Exception as error:
                return error_message(error)
            return ""

        notice = labels.restored_edit(format_relative(saved.saved_at, self.app.clock())) if saved else ""
        return EditRequest(
            title=f"{draft.format.value} · {labels.draft_name(draft.text)}",
            text=draft.text,
            format=draft.format,
            platforms=relevant_platforms(draft.target_platforms, connected),
            autosave=keep_text,
            save=save,
            discard_autosave=forget,
            check=lambda text: desk.drafts.check(text, draft_id=draft.id),
            unsaved_text=saved.text if saved else None,
            notice=notice,
        )

    async def _save(self, desk: "Desk", draft: "ListedDraft", text: str, version: int) -> "Draft":
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
        elif (draft := self._runner.queue.current) and not self._refuses("review.edit_outside", draft):
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
        autosave = self._texts(desk)
        saved = await asyncio.to_thread(autosave.find, draft_id)
        if dialog.cancelled:
            return
        version = saved.version if saved else draft.version
        path = saved.path if saved else await asyncio.to_thread(autosave.save, draft_id, version, draft.text)
        try:
            await self._run_editor(editor_command, path)
        except SuspendNotSupported:
            await asyncio.to_thread(autosave.delete, draft_id)
            raise ConflictError(labels.NO_EDITOR, hint=labels.edit_here_hint()) from None
        text = without_added_newline(await asyncio.to_thread(read_edited_file, path), draft.text)
        if text == draft.text:
            self.app.notify(labels.NO_CHANGES)
        else:
            try:
                await self._save(desk, draft, text, version)
            except CopydeskError as error:
                raise ConflictError(str(error), hint=labels.text_saved_hint(path)) from error
        await asyncio.to_thread(autosave.delete, draft_id)

    async def _run_editor(self, editor_command: tuple[str, ...], path: Path) -> None:
        """Give the terminal to the editor until it exits.

        Raise ConflictError if it cannot be started or fails; the file is kept.
        """
        with self.app.suspend(), ignore_interrupts():
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
