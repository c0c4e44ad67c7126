"""Base class of the forms with much text, and their autosave file.

A form is autosaved while the user types, saved by one key, and never lost by another. The file of a text that belongs
to no draft exists until the text is saved or discarded.
"""

import asyncio
from functools import partial
from typing import ClassVar

from textual import getters
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, TextArea

from copydesk.editor import Autosave, UnsavedText
from copydesk.text import clean
from copydesk.tui import labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.dialogs.prompt import discard_with_consent
from copydesk.tui.runtime.desk_tasks import to_copydesk_error
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.widgets.inputs import describe_refusal

AUTOSAVE_DELAY = 0.3
"""Seconds between a keystroke and the autosave: at most this much is lost in a crash."""


class AutosavedText:
    """One autosave file. Writes and deletes happen in the order of the calls."""

    def __init__(self, autosave: Autosave, name: str) -> None:
        self._texts = autosave
        self._name = name
        self._write_lock = asyncio.Lock()

    async def load(self) -> UnsavedText | None:
        """Return the text that was typed and not saved; None if there is none."""
        return await asyncio.to_thread(self._texts.find, self._name)

    async def save(self, text: str) -> None:
        """Write the text to the file. Raise OSError if that fails."""
        async with self._write_lock:
            await asyncio.to_thread(self._texts.save, self._name, 0, text)

    async def delete(self) -> None:
        """Delete the file: the text was saved or discarded. Raise OSError if that fails."""
        async with self._write_lock:
            await asyncio.to_thread(self._texts.delete, self._name)


class AutosavedForm(Dialog[bool], inherit_bindings=False):
    """A form that returns True if it was saved.

    Each form is created once per console and reused: Textual never frees a text area.
    """

    NOTICE_SELECTOR: ClassVar[str]
    """Selector of the line for notices and errors."""
    SAVE_ACTION: ClassVar[str]
    """The action in the key table that saves the form."""

    app = getters.app(DeskApp)

    _autosave_timer: Timer | None = None
    _saving = False
    _focus_before_save: Widget | None = None
    """The widget that had the focus when saving started."""

    @property
    def has_changes(self) -> bool:
        """Return True if leaving the form would lose something."""
        raise NotImplementedError

    async def autosave(self) -> None:
        """Write the fields to the autosave file. Raise OSError if that fails."""
        raise NotImplementedError

    async def discard_autosave(self) -> None:
        """Delete the autosave file. Raise OSError if that fails."""
        raise NotImplementedError

    async def save(self) -> str:
        """Save the fields. Return why they were refused, or an empty string."""
        raise NotImplementedError

    def label_of(self, field: str) -> str:
        """Return what the form calls a field of a request."""
        return field

    def show_notice(self, text: str) -> None:
        """Show `text` in the form, or hide the line if it is empty."""
        line = self.query_one(self.NOTICE_SELECTOR, Static)
        line.update(Content(clean(text)))
        line.display = bool(text)

    def schedule_autosave(self) -> None:
        """Schedule an autosave, unless one is scheduled already."""
        if self._autosave_timer is None:
            # A running timer is not restarted: a user who types without a pause is saved, too.
            self._autosave_timer = self.set_timer(AUTOSAVE_DELAY, self._autosave_now)

    async def _autosave_now(self) -> None:
        self.cancel_autosave()
        try:
            await self.autosave()
        except OSError as error:
            self.show_notice(labels.autosave_failed(error.strerror or str(error), self.SAVE_ACTION))

    def cancel_autosave(self) -> None:
        """Cancel the scheduled autosave."""
        if self._autosave_timer is not None:
            self._autosave_timer.stop()
            self._autosave_timer = None

    async def flush_autosave(self) -> None:
        """Autosave now what may not be autosaved yet: the console is about to exit."""
        # While an autosave is written, the form does not learn of later letters, and schedules none for them.
        # What is being saved is safe: the pending write is completed, and deletes the autosave.
        if self._autosave_timer is not None or (self.has_changes and not self._saving):
            await self._autosave_now()

    @property
    def is_waiting(self) -> bool:
        """Return True while the form is being saved."""
        return self._saving

    async def action_save(self) -> None:
        """Save in the background and close on success; the form is locked meanwhile."""
        if not self._saving and self.app.desk is not None:
            self.set_editable(editable=False)
            # As a queued write it is completed even if the console is closing.
            self.app.enqueue_write(lambda _: self._save(), hold_keys=Hold.FORM)

    def set_editable(self, *, editable: bool) -> None:
        """Unlock the fields, or lock them while saving: text typed then would be lost."""
        if self._saving is not editable:
            return
        self._saving = not editable
        if self._saving:
            self._focus_before_save = self.focused
        for area in self.query(TextArea):
            area.read_only = self._saving
        for field in self.query("Input, Choice"):
            field.disabled = self._saving
        if editable and self._focus_before_save is not None:
            self._focus_before_save.focus()

    async def _save(self) -> None:
        try:
            refusal = await self.save()
        except Exception as error:  # any error is shown in the form, and saving can be retried
            refusal = describe_refusal(to_copydesk_error(error), self.label_of)
        if not refusal:
            await self.finish(saved=True)
        elif self.is_attached:
            self.set_editable(editable=True)
            # The scheduled autosave may not have run before saving started.
            await self._autosave_now()
            # If the form is detached the console is closing, and nobody would read the refusal. It comes last: where
            # neither can be written, the failed autosave would hide why Ctrl+S did nothing.
            self.show_notice(refusal)

    def action_leave(self) -> None:
        """Close; ask first if something would be lost."""
        if self._saving:
            self.show_notice(labels.SAVING)
        else:
            discard_with_consent(self, partial(self.finish, saved=False))

    async def finish(self, *, saved: bool) -> None:
        """Close the form. The autosave is deleted first, so that it cannot be restored when the form is opened
        again."""
        self.cancel_autosave()
        try:
            await self.discard_autosave()
        except OSError as error:
            self.app.warn_not_deleted(error)
        finally:
            self.close(saved)

    def action_next_field(self, by: int) -> None:
        """Focus the next field (`by` 1) or the previous one (-1)."""
        if by > 0:
            self.focus_next()
        else:
            self.focus_previous()
