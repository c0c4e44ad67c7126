"""What was typed into a question that the console ended before it was answered: it is offered there again."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from copydesk.editor import TypedTexts
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk

FOLDER = "answers"


class TypedLines:
    """A line for each kind of question."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}
        self._texts: TypedTexts | None = None
        self._writing = asyncio.Lock()
        self._typed: set[str] = set()
        """The questions into which something was typed by now."""

    def open(self, desk: "Desk") -> None:
        """Know where it is kept, which a question that is asked at once needs before anything was found."""
        self._texts = self._texts or TypedTexts(desk.settings.data_home / FOLDER)

    async def begin(self, desk: "Desk") -> Sequence[str]:
        """Find what was typed before; the names of those questions."""
        self.open(desk)
        assert self._texts is not None
        every = await asyncio.to_thread(self._texts.every)
        old = [each for each in every if each.draft_id not in self._typed]
        self._found = {each.draft_id: clean(each.text) for each in old if each.text.strip()}
        return tuple(self._found)

    def offered(self, name: str) -> tuple[str, ...]:
        """What was typed before, if there is anything."""
        return (self._found[name],) if name in self._found else ()

    def keep(self, name: str) -> Callable[[str], Awaitable[None]]:
        """Keeps what is typed now; raises OSError."""

        async def kept(text: str) -> None:
            self._typed.add(name)
            async with self._writing:
                if self._texts is not None and text.strip():
                    await asyncio.to_thread(self._texts.keep, name, 0, text)

        return kept

    async def forget(self, name: str) -> None:
        """It was answered, or is not to be."""
        self._found.pop(name, None)
        async with self._writing:
            if self._texts is not None:
                await asyncio.to_thread(self._texts.forget, name)
