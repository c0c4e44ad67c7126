"""Keys that are typed ahead: each waits until what the key before it asked for is there, then acts on that.

Without this a key goes to whatever has the focus when it comes: one that is typed right after Enter still goes to the
question that is about to close, and is lost.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from textual.events import Key, Paste
from textual.message_pump import MessagePump

from copydesk.tui.keymap import textual_name
from copydesk.tui.keys import Where

if TYPE_CHECKING:
    from copydesk.tui.desk_app import DeskApp

PATIENCE = 2.0
"""Seconds that keys wait at most for what one before them asked for, from then on and all of them together."""
BRIEF = 0.5
"""The same for what is written: that may be much, and whoever moves on meanwhile is not to feel it."""
ASKS = "console.compose"
"""The one among the keys of the console that the desk is asked for: it waits until that is open."""
_HOP = 0.5
"""Seconds that a widget has to go through its messages; one that is going away may never do it."""
_QUIET = 2
"""Rounds in which nothing changed: what a key leads to in the first is dealt with in the second."""


Typed = Key | Paste
"""What is pasted counts as one key."""


class TypeAhead:
    """Lets the keys of a console through, one after the other."""

    def __init__(self, app: "DeskApp") -> None:
        self._app = app
        self._held: deque[Typed] = deque()
        self._released: Typed | None = None
        self._settling: asyncio.Task[None] | None = None
        self._under_way: set[object] = set()
        """What was asked for that keys were to wait for."""
        self._awaited: set[object] = set()
        """Those among them that keys wait for still."""
        self._opening: set[object] = set()
        """Those among these that open something: what is typed is for that, and nothing else."""
        self._all = False
        self._came = asyncio.Event()

    # What is waited for.

    @property
    def awaited(self) -> bool:
        """Whether the keys that are typed next are for something that is still being read."""
        return bool(self._awaited) or self._app.is_opening

    @contextmanager
    def awaits(self, patience: float | None = None, *, opens: bool = False) -> Iterator[None]:
        """The keys that are typed meanwhile act on what comes of this, unless it takes too long."""
        this = object()
        self._under_way.add(this)
        self._awaited.add(this)
        if opens:
            self._opening.add(this)
        seconds = PATIENCE if patience is None else patience
        giving_up = asyncio.get_running_loop().call_later(seconds, self._give_up, this)
        try:
            yield
        finally:
            giving_up.cancel()
            self._under_way.discard(this)
            self._drop(this)

    def _give_up(self, this: object) -> None:
        if this in self._opening:
            # They were typed for something that is not there: a `q` among them would end the console.
            self._held.clear()
        self._drop(this)

    def _drop(self, this: object) -> None:
        self._awaited.discard(this)
        self._opening.discard(this)
        self.came()

    def waiting(
        self,
        wait: bool = True,  # noqa: FBT001, FBT002 - as whoever asks was told
        patience: float | None = None,
        *,
        opens: bool = False,
    ) -> ExitStack:
        """Ends the waiting that begins now, where the keys are to wait."""
        ending = ExitStack()
        if wait or opens or self._all:
            ending.enter_context(self.awaits(patience, opens=opens))
        return ending

    @contextmanager
    def for_keys(self) -> Iterator[None]:
        """What is asked for in here is waited for."""
        self._all = True
        try:
            yield
        finally:
            self._all = False

    @contextmanager
    def meanwhile(self) -> Iterator[None]:
        """What is waited for asks a question itself: the keys are for that, and wait for nothing."""
        asking, self._awaited = self._awaited, set()
        self.came()
        try:
            yield
        finally:
            self._awaited |= asking & self._under_way

    def came(self) -> None:
        """Something is there that may have been waited for."""
        self._came.set()

    async def _until(self, there: Callable[[], bool]) -> None:
        while not there():
            self._came.clear()
            await self._came.wait()

    # The keys.

    @property
    def busy(self) -> bool:
        """Whether a key waits, or it is not known yet that what the last one asked for is there."""
        return self._settling is not None

    def holds(self, key: Typed) -> bool:
        """Whether this key has to wait; it comes again when it is its turn. Those after it wait for this one."""
        waits = key is not self._released and not self._may_pass(key)
        if waits:
            self._held.append(key)
            self.came()
        self._released = None if key is self._released else self._released
        if self._settling is None:
            self._settling = asyncio.create_task(self._let_through())
        return waits

    def stop(self) -> None:
        """The console ends: what is typed ahead is for nobody."""
        self._held.clear()
        if self._settling is not None:
            self._settling.cancel()

    def _may_pass(self, key: Typed) -> bool:
        if self._held or self._released is not None:
            return False
        if not self._opening.isdisjoint(self._awaited):
            return False
        if self.awaited:
            return self._is_typed(key) or self._is_for_the_console(key)
        return self._settling is None

    def _is_typed(self, key: Typed) -> bool:
        """Whether it is a letter for the search: what is found while one types does not hold up the typing."""
        name, letter = (key.key, key.character) if isinstance(key, Key) else ("a", "a")
        stack = self._app.screen_stack
        focused = stack[0].focused if len(stack) == 1 else None
        return focused is not None and focused.check_consume_key(name, letter)

    def _is_there(self) -> bool:
        return not self.awaited or bool(self._held and self._is_typed(self._held[0]))

    def _is_for_the_console(self, key: Typed) -> bool:
        """Whether it does the same whatever is still being read: another screen, the help, the end."""
        if len(self._app.screen_stack) > 1 or isinstance(key, Paste):
            return False
        here = {*getattr(self._app.screen, "WHERE", ()), Where.CONSOLE}
        found = [
            each for each in self._app.keys if each.where in here and key.key in map(textual_name, each.keys.split(","))
        ]
        if self._app.is_opening and any(each.id == ASKS for each in found):
            return False
        moves = {Where.LIST, Where.PAGE} if self._app.glimpsed and self._app.is_opening else set()
        return bool(found) and {each.where for each in found} <= {Where.CONSOLE, *moves}

    async def _let_through(self) -> None:
        try:
            while True:
                await self._settled()
                if not self._held:
                    return
                self._released = self._held.popleft()
                self._app.post_message(self._released)
                await _gone_through(self._app)
        finally:
            self._settling = None

    async def _settled(self) -> None:
        """Wait until the last key has done what it does, and what it asked for is there."""
        await self._until(lambda: not self._app.is_opening)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                quiet, before = 0, self._where()
                while quiet < _QUIET:
                    await self._until(self._is_there)
                    await self._round()
                    here = self._where()
                    quiet = quiet + 1 if here == before and self._is_there() else 0
                    before = here

    def _where(self) -> tuple[object, object]:
        stack = self._app.screen_stack
        return (stack[-1], stack[-1].focused) if stack else (None, None)

    async def _round(self) -> None:
        """Everything that a key goes through, from what has the focus up to the console, goes through its messages."""
        screen, focused = self._where()
        start = focused or screen
        if isinstance(start, MessagePump):
            for pump in getattr(start, "ancestors_with_self", ()):
                await _gone_through(pump)


async def _gone_through(pump: MessagePump) -> None:
    """Wait until it has dealt with the messages that it has now."""
    done = asyncio.Event()
    if pump.call_later(done.set):
        with suppress(TimeoutError):
            async with asyncio.timeout(_HOP):
                await done.wait()
