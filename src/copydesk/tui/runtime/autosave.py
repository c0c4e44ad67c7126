"""Autosave for a text that belongs to no draft: one file, which exists until the text is saved or discarded."""

import asyncio

from copydesk.editor import Autosave, UnsavedText


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
