"""Autosave for a text that belongs to no draft: one file, which exists until the text is saved or discarded."""

import asyncio

from copydesk.editor import Typed, TypedTexts


class KeptText:
    """One autosave file. Writes and deletes happen in the order of the calls."""

    def __init__(self, texts: TypedTexts, name: str) -> None:
        self._texts = texts
        self._name = name
        self._write_lock = asyncio.Lock()

    async def find(self) -> Typed | None:
        """Return the text that was typed and not saved; None if there is none."""
        return await asyncio.to_thread(self._texts.find, self._name)

    async def keep(self, text: str) -> None:
        """Write the text to the file. Raise OSError if that fails."""
        async with self._write_lock:
            await asyncio.to_thread(self._texts.keep, self._name, 0, text)

    async def forget(self) -> None:
        """Delete the file: the text was saved or discarded. Raise OSError if that fails."""
        async with self._write_lock:
            await asyncio.to_thread(self._texts.forget, self._name)
