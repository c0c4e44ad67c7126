"""A form in which much is typed: it is kept in a file meanwhile, saved by one key, and not lost by another."""

from typing import ClassVar

from textual import getters
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, TextArea

from copydesk.text import clean
from copydesk.tui.asking import known
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.modals.ask import YesScreen
from copydesk.tui.modals.over import Over
from copydesk.tui.naming import key

KEEP_AFTER = 0.3
"""Seconds after which what was typed is in its file: no more is lost in a crash."""


class TypedForm(Over[bool], inherit_bindings=False):
    """Answers True where it was saved. There is one of each for the whole console, for Textual keeps every text area
    that there ever was."""

    NOTICE: ClassVar[str]
    """Where it says what is to be known."""
    SAVE: ClassVar[str]
    """The action of the key table that saves it."""
    LEAVING: ClassVar[str] = "Leave, and lose what you typed?"

    app = getters.app(DeskApp)

    _keeping: Timer | None = None
    _saving = False
    _typed_in: Widget | None = None
    """What had the focus when saving began."""

    # What each form says of itself.

    @property
    def changed(self) -> bool:
        """Whether there is anything to lose."""
        raise NotImplementedError

    async def keep(self) -> None:
        """Keep what stands there in its file; OSError."""
        raise NotImplementedError

    async def forget(self) -> None:
        """What was kept is not wanted; OSError."""
        raise NotImplementedError

    async def save(self) -> str:
        """Save what stands there; why not, or nothing."""
        raise NotImplementedError

    # What is said.

    def notice(self, words: str) -> None:
        """Say this in the form, or nothing."""
        line = self.query_one(self.NOTICE, Static)
        line.update(Content(clean(words)))
        line.display = bool(words)

    # What is typed.

    def keep_later(self) -> None:
        """Keep what stands there, soon."""
        if self._keeping is None:
            self._keeping = self.set_timer(KEEP_AFTER, self._keep)

    async def _keep(self) -> None:
        self.stop_keeping()
        try:
            await self.keep()
        except OSError as error:
            saves = f"{key(self.SAVE)} saves it."
            self.notice(f"What you type cannot be kept in a file: {error.strerror or error}. {saves}")

    def stop_keeping(self) -> None:
        """What was to be kept soon is not."""
        if self._keeping is not None:
            self._keeping.stop()
            self._keeping = None

    async def keep_typed(self) -> None:
        """Keep now what was typed; the console ends."""
        if self._keeping is not None:
            await self._keep()

    # The end.

    @property
    def idle(self) -> bool:
        """While it is saved nothing is typed."""
        return self._saving

    async def action_save(self) -> None:
        """Save it, and go back where that succeeds."""
        if not self._saving and self.app.desk is not None:
            self.take_in(typing=False)
            self.app.carry_out(lambda _: self._save(), keys_wait=True)

    def take_in(self, *, typing: bool) -> None:
        """Whether anything can be typed: not while it is saved, for that would be lost."""
        if self._saving is not typing:
            return
        self._saving = not typing
        if self._saving:
            self._typed_in = self.focused
        for area in self.query(TextArea):
            area.read_only = self._saving
        for field in self.query("Input, Choice"):
            field.disabled = self._saving
        if typing and self._typed_in is not None:
            self._typed_in.focus()

    async def _save(self) -> None:
        try:
            refused = await self.save()
        except Exception as error:  # whatever it is: it is said, and saving can be tried again
            refused = str(known(error))
        if not refused:
            await self.end(saved=True)
        elif self.is_attached:
            self.take_in(typing=True)
            self.notice(refused)
            await self._keep()

    async def action_leave(self) -> None:
        """Leave it; where something would be lost, ask."""
        if self._saving:
            self.notice("It is being saved …")
        elif not self.changed:
            await self.end(saved=False)
        else:
            self.app.push_screen(YesScreen(self.LEAVING), self._left)

    async def _left(self, yes: bool | None) -> None:  # noqa: FBT001 - Textual hands it over so
        if yes:
            await self.end(saved=False)

    async def end(self, *, saved: bool) -> None:
        """Go back; what was kept is gone before anybody can come here again."""
        self.stop_keeping()
        try:
            await self.forget()
        except OSError as error:
            self.app.complain(known(error))
        finally:
            self.close(saved)

    def action_next_field(self, by: int) -> None:
        """The next field, or the one before."""
        if by > 0:
            self.focus_next()
        else:
            self.focus_previous()
