"""The part of the console that asks the desk: in tasks of their own, in turn where something is written.

Textual's workers do the same, but each is a ring of a dozen objects that only the garbage collector takes apart, and
tells the console three times how it gets on. With four for each decision that was the time of a frame every few dozen.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from contextvars import Context, copy_context
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from textual.screen import Screen

from copydesk.errors import CopydeskError, NoDraftError, NotFoundError
from copydesk.tui.saying import SayingApp
from copydesk.tui.type_ahead import BRIEF

if TYPE_CHECKING:
    # At run time whoever opens the desk imports it: SQLAlchemy costs as much as Textual itself.
    from copydesk.desk import Desk
    from copydesk.tui.type_ahead import TypeAhead

Result = TypeVar("Result")
Work = Callable[["Desk"], Awaitable[None]]
ANSWERED_WITHIN = 2.0
"""Seconds that an action waits for its screen to be read."""
LAST_BULKS = 2.0
"""Seconds after which at its end nothing more is begun of what is done to many drafts."""
GONE = "This draft is gone: its source was deleted."
LAST_WRITES = 60.0
"""Seconds that the console waits at its end for what is still to be carried out."""


class Asked:
    """What was asked. Not its task: Textual would wait for one that a timer's or a message's function gives."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def cancel(self) -> None:
        """The answer is not wanted any more."""
        self._task.cancel()


class AskingApp(SayingApp, inherit_bindings=False):
    """An app whose screens ask the desk, once it is open."""

    type_ahead: "TypeAhead"

    def __init__(self, clock: Callable[[], datetime] | None = None, advice: Callable[[str], str] = str) -> None:
        super().__init__(clock, advice)
        self.desk: Desk | None = None
        self.trouble: CopydeskError | None = None
        """Why the desk is not open, where it could not be opened."""
        self._own_context: Context | None = None
        self._asking: set[asyncio.Task[None]] = set()
        self._last_write: asyncio.Task[None] | None = None
        self.ends = asyncio.Event()
        """The console ends: nobody answers a question any more."""
        self.hurries = False
        """Whether it has waited for that long enough: what is done to many is stopped where that can be."""
        self.last_words = ""
        """Said on the terminal when the console is gone."""

    def on_load(self) -> None:
        """What is asked belongs to the console: a widget that asks may be gone before the answer is there."""
        self._own_context = copy_context()

    @property
    def is_opening(self) -> bool:
        """Whether the desk will be open, or it will be known why not."""
        return self.desk is None and self.trouble is None

    def ask(
        self,
        work: Work,
        *,
        name: str | None = None,
        keys_wait: bool = False,
        opens: bool = False,
        ended: Callable[[], None] | None = None,
    ) -> Asked:
        """Do `work` with the desk in a task of its own; what goes wrong is one line in a toast.

        With `keys_wait` the keys that are typed next are for what it brings: they wait for it, but for those that do
        the same whatever it is, as to quit. With `opens` they are for what it opens, by `open_over`, and all wait.
        `ended` is called in every case, also where the desk was closed meanwhile and nothing was done.
        """
        return Asked(self._begin(work, self.type_ahead.waiting(keys_wait, opens=opens), ended, name=name))

    def _begin(
        self,
        work: Work,
        ending: ExitStack,
        ended: Callable[[], None] | None,
        *,
        name: str | None = None,
        after: asyncio.Task[None] | None = None,
    ) -> asyncio.Task[None]:
        if ended is not None:
            ending.callback(ended)
        context = self._own_context.copy() if self._own_context is not None else None
        asked = self._asked(work, ending, after)
        task = asyncio.get_running_loop().create_task(asked, name=name, context=context)
        self._asking.add(task)
        task.add_done_callback(partial(self._over, ending))
        return task

    def _over(self, ending: ExitStack, task: asyncio.Task[None]) -> None:
        """What was cancelled before it began has ended nothing by itself."""
        self._asking.discard(task)
        ending.close()

    def open_over(
        self, below: Screen[Any], opened: Screen[Result], then: Callable[[Result | None], object] | None = None
    ) -> bool:
        """Open what was asked for on the screen `below`; False, and nothing, where the user is elsewhere by now."""
        if self.screen is not below:
            return False
        self.push_screen(opened, then)
        return True

    @property
    def asking(self) -> frozenset[asyncio.Task[None]]:
        """What was asked and is not answered yet; what is to be carried out, too."""
        return frozenset(self._asking)

    async def answered(self) -> None:
        """Wait until the screens know what they have asked, for a little while; a run is not waited for."""
        waiting = [task for task in self._asking if task.get_name() != "run"]
        if waiting:
            await asyncio.wait(waiting, timeout=ANSWERED_WITHIN)

    def carry_out(self, work: Work, *, keys_wait: bool = False, ended: Callable[[], None] | None = None) -> None:
        """As `ask`, after what was to be carried out before it, and to its end even where the user quits."""
        ending = self.type_ahead.waiting(keys_wait, BRIEF)
        self._last_write = self._begin(work, ending, ended, after=self._last_write)

    @property
    def is_writing(self) -> bool:
        """Whether something is still to be carried out."""
        return self._last_write is not None and not self._last_write.done()

    async def finish_writing(self) -> None:
        """Wait for what is to be carried out, however often this is cancelled: the desk is closed behind it.

        Questions are not answered any more. What is not done after LAST_WRITES is cancelled, as if the console were
        killed: the desk writes every step wholly or not at all.
        """
        self.ends.set()
        loop = asyncio.get_running_loop()
        loop.call_later(LAST_BULKS, self._hurry)
        until = loop.time() + LAST_WRITES
        while (write := self._last_write) is not None and not write.done():
            if loop.time() >= until:
                write.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([write], timeout=max(until - loop.time(), ANSWERED_WITHIN))

    def _hurry(self) -> None:
        self.hurries = True

    async def _asked(self, work: Work, ending: ExitStack, after: asyncio.Task[None] | None) -> None:
        with ending:
            if after is not None:
                await _end_of(after)
            if self.desk is None:
                self.complain(self.trouble or CopydeskError("The desk is not open yet."))
                return
            try:
                await work(self.desk)
            except Exception as error:
                self.complain(known(error))

    async def stop_asking(self) -> None:
        """Nobody hears any more what was asked."""
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)


async def _end_of(task: asyncio.Task[None]) -> None:
    """Wait for a task, and where that is cancelled, cancel the task and wait all the same."""
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task])
        raise


def known(error: Exception) -> CopydeskError:
    """The error as one of ours, for somebody who names no ids."""
    if isinstance(error, NoDraftError):
        return NotFoundError(GONE)
    if isinstance(error, CopydeskError):
        return error
    return CopydeskError(f"Copydesk did not expect this: {error!r}.")
