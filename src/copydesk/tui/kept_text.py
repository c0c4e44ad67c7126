"""A text that is being typed and belongs to no draft: one file, in which it waits until it is saved or left."""

import asyncio

from copydesk.editor import Typed, TypedTexts


class KeptText:
    """It is written down and forgotten in the order of asking."""

    def __init__(self, texts: TypedTexts, name: str) -> None:
        self._texts = texts
        self._name = name
        self._writing = asyncio.Lock()

    async def find(self) -> Typed | None:
        """What was typed last and not saved."""
        return await asyncio.to_thread(self._texts.find, self._name)

    async def keep(self, text: str) -> None:
        """Write it down; OSError where it cannot be."""
        async with self._writing:
            await asyncio.to_thread(self._texts.keep, self._name, 0, text)

    async def forget(self) -> None:
        """It was saved, or nobody wants it; OSError."""
        async with self._writing:
            await asyncio.to_thread(self._texts.forget, self._name)
