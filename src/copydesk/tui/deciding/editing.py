"""Editing a draft's text: here, and in the user's own editor. What was typed is kept until the draft has it."""

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
"""The name of the one screen to edit on."""


class Edits(Acts):
    """The two ways to edit."""

    def __init__(self, screen: "Decides") -> None:
        super().__init__(screen)
        self._opened: set[str] = set()
        """Drafts that were opened here: what is typed of these is no surprise."""

    def _texts(self, desk: "Desk") -> TypedTexts:
        return TypedTexts(desk.settings.data_home / FOLDER)

    def offer_typed(self) -> None:
        """Say what was typed and not saved when the console last ended."""
        self.app.ask(self._offer)

    async def _offer(self, desk: "Desk") -> None:
        for typed in await asyncio.to_thread(self._texts(desk).every):
            if typed.draft_id in self._opened:
                continue
            try:
                name = name_of((await desk.drafts.get(typed.draft_id)).text)
            except CopydeskError:
                self.app.notify(f"What you typed for a draft that is gone is in {typed.path}.", severity="warning")
            else:
                self.app.notify(
                    f"What you typed for {name} was not saved: {key('review.edit')} on it goes on.", severity="warning"
                )

    # Here.

    def edit(self) -> None:
        """Edit the draft under the cursor here."""
        from copydesk.tui.modals.edit import EditScreen  # noqa: PLC0415 - for those who edit

        draft = self.rows.current
        if draft is None:
            return
        if not self.app.is_screen_installed(EDITOR):
            self.app.install_screen(EditScreen(), EDITOR)
        screen = self.app.get_screen(EDITOR)
        assert isinstance(screen, EditScreen)
        # At once: what is typed ahead must not be taken for decisions.
        self.app.push_screen(screen)
        opening = screen.expect()
        self.app.carry_out(lambda desk: self._edit(desk, draft.id, screen, opening), keys_wait=True)

    async def _edit(self, desk: "Desk", draft_id: str, screen: "EditScreen", opening: int) -> None:
        self._opened.add(draft_id)
        try:
            draft = await desk.drafts.get(draft_id)
            after_edit(draft.status, archived=draft.archived_at is not None)  # refused before anything is typed
            typed = await asyncio.to_thread(self._texts(desk).find, draft_id)
            connected = [each.details.platform for each in await desk.accounts.list()]
        except BaseException:
            screen.call_later(screen.give_up, opening)
            raise
        screen.call_later(screen.begin, self._to_edit(desk, draft, typed, connected), opening)

    def _to_edit(self, desk: "Desk", draft: "ListedDraft", typed: Typed | None, connected: Sequence[str]) -> "ToEdit":
        from copydesk.tui.modals.edit import ToEdit  # noqa: PLC0415 - as above

        texts, writing = self._texts(desk), asyncio.Lock()
        version = typed.version if typed else draft.version

        async def keep(text: str) -> None:
            async with writing:
                await asyncio.to_thread(texts.keep, draft.id, version, text)

        async def forget() -> None:
            async with writing:
                await asyncio.to_thread(texts.forget, draft.id)

        async def save(text: str) -> str:
            nonlocal version
            if text.strip() == clean_lines(draft.text).strip():
                return ""
            try:
                await self._save(desk, draft, text, version)
            except ConflictError as error:
                now = await desk.drafts.get(draft.id)
                if now.version == version:
                    return words_of(error)
                version = now.version
                return f"{error.message} {key('edit.save')} again puts your text in the place of what is there now."
            except Exception as error:
                return words_of(error)
            return ""

        notice = f"You typed this {ago(typed.at, self.app.clock())} and did not save it." if typed else ""
        return ToEdit(
            title=f"{draft.format.value} · {name_of(draft.text)}",
            text=draft.text,
            format=draft.format,
            platforms=platforms_of(draft.target_platforms, connected),
            keep=keep,
            save=save,
            forget=forget,
            typed=typed.text if typed else None,
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
        """Edit the draft under the cursor in the user's editor. There is none in a browser, which is no terminal."""
        if self.app.is_web:
            edit_here = self.app.key("review.edit")
            self.app.notify(
                f"Your editor cannot open in a browser. Press {edit_here} to edit here.", severity="warning"
            )
        elif draft := self.rows.current:
            hold = HoldScreen("Opening your editor …")
            self.app.push_screen(hold)
            self.app.carry_out(lambda desk: self._edit_held(desk, draft.id, hold))

    async def _edit_held(self, desk: "Desk", draft_id: str, hold: HoldScreen) -> None:
        try:
            if not hold.left:
                await self._edit_outside(desk, draft_id, hold)
        finally:
            hold.call_later(hold.let_go)

    async def _edit_outside(self, desk: "Desk", draft_id: str, hold: HoldScreen) -> None:
        self._opened.add(draft_id)
        draft = await desk.drafts.get(draft_id)
        after_edit(draft.status, archived=draft.archived_at is not None)
        words = command()
        texts = self._texts(desk)
        typed = await asyncio.to_thread(texts.find, draft_id)
        if hold.left:
            return
        version = typed.version if typed else draft.version
        path = typed.path if typed else await asyncio.to_thread(texts.keep, draft_id, version, draft.text)
        try:
            await self._open(words, path)
        except SuspendNotSupported:
            await asyncio.to_thread(texts.forget, draft_id)
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
                raise ConflictError(str(error), hint=_kept(path)) from error
        await asyncio.to_thread(texts.forget, draft_id)

    async def _open(self, words: tuple[str, ...], path: Path) -> None:
        """Give the terminal to the editor until it ends. ConflictError where it did not end well; the file is kept."""
        with self.app.suspend(), _undisturbed():
            try:
                self.app.editor = await asyncio.create_subprocess_exec(*words, str(path))
                ended = await self.app.editor.wait()
            except OSError as error:
                raise ConflictError(f"{words[0]} cannot be started: {error.strerror}.", hint=_kept(path)) from error
            finally:
                self.app.editor = None
        if ended:
            how = f"was ended by signal {-ended}" if ended < 0 else f"ended with {ended}"
            raise ConflictError(f"{words[0]} {how}.", hint=_kept(path))


def _kept(path: Path) -> str:
    return f"Your text is kept: {key('review.edit')} and {key('review.edit_outside')} go on with it. It is in {path}."


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl+C is the editor's meanwhile, and keys that it did not read are nobody's: `a` would approve a draft."""

    def ignore(number: int, frame: FrameType | None) -> None:
        """Not SIG_IGN, which the editor would inherit."""

    before = {number: signal.signal(number, ignore) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        with suppress(termios.error, OSError, ValueError):
            termios.tcflush(sys.__stdin__ or 0, termios.TCIFLUSH)
