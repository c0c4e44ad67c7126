"""Autosave for prompts: text typed into a prompt when the console exited is offered there the next time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from copydesk.editor import Autosave
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk

PROMPT_FOLDER = "answers"


class PromptAutosave:
    """One autosaved line per kind of prompt."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}
        self._autosave: Autosave | None = None
        self._write_lock = asyncio.Lock()
        self._typed_names: set[str] = set()
        """The prompts into which something was typed in this session."""

    def attach(self, desk: "Desk") -> None:
        """Set the folder, which a prompt needs even before `load` has found anything."""
        self._autosave = self._autosave or Autosave(desk.settings.data_home / PROMPT_FOLDER)

    async def load(self, desk: "Desk") -> Sequence[str]:
        """Load the lines of earlier sessions; return the names of their prompts."""
        self.attach(desk)
        assert self._autosave is not None
        saved = await asyncio.to_thread(self._autosave.list_all)
        unchanged = [line for line in saved if line.draft_id not in self._typed_names]
        self._lines = {line.draft_id: clean(line.text) for line in unchanged if line.text.strip()}
        return tuple(self._lines)

    def suggestions(self, name: str) -> tuple[str, ...]:
        """Return the line of an earlier session, if any."""
        return (self._lines[name],) if name in self._lines else ()

    def autosave_for(self, name: str) -> Callable[[str], Awaitable[None]]:
        """Return a function that autosaves the prompt's text; it raises OSError."""

        async def save(text: str) -> None:
            self._typed_names.add(name)
            async with self._write_lock:
                if self._autosave is not None and text.strip():
                    await asyncio.to_thread(self._autosave.save, name, 0, text)

        return save

    async def delete(self, name: str) -> None:
        """Delete the prompt's autosaved line: it was answered or cancelled."""
        self._lines.pop(name, None)
        async with self._write_lock:
            if self._autosave is not None:
                await asyncio.to_thread(self._autosave.delete, name)
