"""Edit a draft's text, here or in the user's editor. Typed text is autosaved until it is stored in the draft."""

import asyncio
import signal
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from copydesk.editor import Typed, TypedTexts, command, read_back
from copydesk.errors import ConflictError, CopydeskError
from copydesk.model.change import ChangeDraft
from copydesk.model.transitions import after_edit
from copydesk.text import clean_lines
from copydesk.tui.deciding.acting import Acts
from copydesk.tui.deciding.outcomes import Outcome, name_of, words_of
from copydesk.tui.messages import Decided
from copydesk.tui.modals.hold import HoldScreen
from copydesk.tui.naming import key
from copydesk.tui.pages.lengths import platforms_of
from copydesk.tui.words import ago

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import Draft, ListedDraft
    from copydesk.tui.modals.edit import EditScreen, ToEdit
    from copydesk.tui.screens.deciding import Decides

FOLDER = "typed"
EDITOR = "edit"
"""Name under which the one edit screen is installed."""


class Edits(Acts):
    """Editing here and in an external editor."""

    def __init__(self, screen: "Decides") -> None:
        super().__init__(screen)
        self._opened_ids: set[str] = set()
        """Drafts opened in this session: their autosaved text is not reported as left over."""

    def _texts(self, desk: "Desk") -> TypedTexts:
        return TypedTexts(desk.settings.data_home / FOLDER)

    def offer_typed(self) -> None:
        """Notify about texts that were typed in an earlier session and not saved."""
        self.app.ask(self._offer_autosaved)

    async def _offer_autosaved(self, desk: "Desk") -> None:
        for saved in await asyncio.to_thread(self._texts(desk).every):
            if saved.draft_id in self._opened_ids:
                continue
            try:
                name = name_of((await desk.drafts.get(saved.draft_id)).text)
            except CopydeskError:
                self.app.notify(f"What you typed for a draft that is gone is in {saved.path}.", severity="warning")
            else:
                self.app.notify(
                    f"What you typed for {name} was not saved: {key('review.edit')} on it goes on.", severity="warning"
                )

    # Here.

    def edit(self) -> None:
        """Edit the draft under the cursor in the built-in editor."""
        from copydesk.tui.modals.edit import EditScreen  # noqa: PLC0415 - imported when first used

        draft = self.rows.current
        if draft is None:
            return
        if not self.app.is_screen_installed(EDITOR):
            self.app.install_screen(EditScreen(), EDITOR)
        screen = self.app.get_screen(EDITOR)
        assert isinstance(screen, EditScreen)
        # Push the screen before the draft is loaded: keys typed ahead must not be taken for review actions.
        self.app.push_screen(screen)
        opening = screen.expect()
        self.app.carry_out(lambda desk: self._edit(desk, draft.id, screen, opening), keys_wait=True)

    async def _edit(self, desk: "Desk", draft_id: str, screen: "EditScreen", opening: int) -> None:
        self._opened_ids.add(draft_id)
        try:
            draft = await desk.drafts.get(draft_id)
            after_edit(draft.status, archived=draft.archived_at is not None)  # raises before anything is typed
            saved = await asyncio.to_thread(self._texts(desk).find, draft_id)
            connected = [account.details.platform for account in await desk.accounts.list()]
        except BaseException:
            screen.call_later(screen.give_up, opening)
            raise
        screen.call_later(screen.begin, self._edit_session(desk, draft, saved, connected), opening)

    def _edit_session(
        self, desk: "Desk", draft: "ListedDraft", saved: Typed | None, connected: Sequence[str]
    ) -> "ToEdit":
        from copydesk.tui.modals.edit import ToEdit  # noqa: PLC0415 - as above

        autosave, write_lock = self._texts(desk), asyncio.Lock()
        version = saved.version if saved else draft.version

        async def keep_text(text: str) -> None:
            async with write_lock:
                await asyncio.to_thread(autosave.keep, draft.id, version, text)

        async def forget() -> None:
            async with write_lock:
                await asyncio.to_thread(autosave.forget, draft.id)

        async def save(text: str) -> str:
            nonlocal version
            if text.strip() == clean_lines(draft.text).strip():
                return ""
            try:
                await self._save(desk, draft, text, version)
            except ConflictError as error:
                current = await desk.drafts.get(draft.id)
                if current.version == version:
                    return words_of(error)
                version = current.version
                return f"{error.message} {key('edit.save')} again puts your text in the place of what is there now."
            except Exception as error:
                return words_of(error)
            return ""

        notice = f"You typed this {ago(saved.at, self.app.clock())} and did not save it." if saved else ""
        return ToEdit(
            title=f"{draft.format.value} · {name_of(draft.text)}",
            text=draft.text,
            format=draft.format,
            platforms=platforms_of(draft.target_platforms, connected),
            keep=keep_text,
            save=save,
            forget=forget,
            typed=saved.text if saved else None,
            notice=notice,
        )

    async def _save(self, desk: "Desk", draft: "ListedDraft", text: str, version: int) -> "Draft":
        changed = await desk.drafts.change(draft.id, ChangeDraft(text=text), expected_version=version)
        self.remember(draft, changed)
        outcome = Outcome("edit", (draft.id,), names={draft.id: name_of(changed.text)})
        self.screen.post_message(Decided(outcome, {draft.id: changed.status}))
        self.screen.call_later(self.screen.read)
        return changed

    # In the user's editor.

    def edit_outside(self) -> None:
        """Edit the draft under the cursor in the user's editor, which cannot run in a browser."""
        if self.app.is_web:
            edit_here = self.app.key("review.edit")
            self.app.notify(
                f"Your editor cannot open in a browser. Press {edit_here} to edit here.", severity="warning"
            )
        elif draft := self.rows.current:
            dialog = HoldScreen("Opening your editor …")
            self.app.push_screen(dialog)
            self.app.carry_out(lambda desk: self._edit_with_wait_dialog(desk, draft.id, dialog))

    async def _edit_with_wait_dialog(self, desk: "Desk", draft_id: str, dialog: HoldScreen) -> None:
        try:
            if not dialog.left:
                await self._edit_outside(desk, draft_id, dialog)
        finally:
            dialog.call_later(dialog.let_go)

    async def _edit_outside(self, desk: "Desk", draft_id: str, dialog: HoldScreen) -> None:
        self._opened_ids.add(draft_id)
        draft = await desk.drafts.get(draft_id)
        after_edit(draft.status, archived=draft.archived_at is not None)
        editor_command = command()
        autosave = self._texts(desk)
        saved = await asyncio.to_thread(autosave.find, draft_id)
        if dialog.left:
            return
        version = saved.version if saved else draft.version
        path = saved.path if saved else await asyncio.to_thread(autosave.keep, draft_id, version, draft.text)
        try:
            await self._run_editor(editor_command, path)
        except SuspendNotSupported:
            await asyncio.to_thread(autosave.forget, draft_id)
            raise ConflictError(
                "No editor can be opened in this terminal.", hint=f"Edit here: {key('review.edit')}."
            ) from None
        text = await asyncio.to_thread(read_back, path)
        if text.strip() == draft.text.strip():
            self.app.notify("Nothing was changed.")
        else:
            try:
                await self._save(desk, draft, text, version)
            except CopydeskError as error:
                raise ConflictError(str(error), hint=_autosave_hint(path)) from error
        await asyncio.to_thread(autosave.forget, draft_id)

    async def _run_editor(self, editor_command: tuple[str, ...], path: Path) -> None:
        """Give the terminal to the editor until it exits.

        Raise ConflictError if it cannot be started or fails; the file is kept.
        """
        with self.app.suspend(), _ignore_interrupts():
            try:
                self.app.editor = await asyncio.create_subprocess_exec(*editor_command, str(path))
                exit_code = await self.app.editor.wait()
            except OSError as error:
                raise ConflictError(
                    f"{editor_command[0]} cannot be started: {error.strerror}.", hint=_autosave_hint(path)
                ) from error
            finally:
                self.app.editor = None
        if exit_code:
            reason = f"was ended by signal {-exit_code}" if exit_code < 0 else f"ended with {exit_code}"
            raise ConflictError(f"{editor_command[0]} {reason}.", hint=_autosave_hint(path))


def _autosave_hint(path: Path) -> str:
    return f"Your text is kept: {key('review.edit')} and {key('review.edit_outside')} go on with it. It is in {path}."


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Leave Ctrl+C to the editor, and discard keys that it did not read: an `a` would approve a draft."""

    def ignore(number: int, frame: FrameType | None) -> None:
        """Do nothing. Not SIG_IGN, which the editor would inherit."""

    handlers = {
        signal_number: signal.signal(signal_number, ignore) for signal_number in (signal.SIGINT, signal.SIGQUIT)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        with suppress(termios.error, OSError, ValueError):
            termios.tcflush(sys.__stdin__ or 0, termios.TCIFLUSH)
