"""The part of the console that asks the desk: in workers, in turn where something is written."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from textual.screen import Screen
from textual.worker import Worker

from copydesk.errors import CopydeskError, NoDraftError, NotFoundError
from copydesk.tui.saying import SayingApp
from copydesk.tui.type_ahead import BRIEF

if TYPE_CHECKING:
    # At run time whoever opens the desk imports it: SQLAlchemy costs as much as Textual itself.
    from copydesk.desk import Desk
    from copydesk.tui.type_ahead import TypeAhead

Result = TypeVar("Result")
Work = Callable[["Desk"], Awaitable[None]]
_ASKING = "asking"
ANSWERED_WITHIN = 2.0
"""Seconds that an action waits for its screen to be read."""
LAST_BULKS = 2.0
"""Seconds after which at its end nothing more is begun of what is done to many drafts."""
GONE = "This draft is gone: its source was deleted."
LAST_WRITES = 60.0
"""Seconds that the console waits at its end for what is still to be carried out."""


class AskingApp(SayingApp, inherit_bindings=False):
    """An app whose screens ask the desk, once it is open."""

    type_ahead: "TypeAhead"

    def __init__(self, clock: Callable[[], datetime] | None = None, advice: Callable[[str], str] = str) -> None:
        super().__init__(clock, advice)
        self.desk: Desk | None = None
        self.trouble: CopydeskError | None = None
        """Why the desk is not open, where it could not be opened."""
        self._last_write: asyncio.Task[None] | None = None
        self.ends = asyncio.Event()
        """The console ends: nobody answers a question any more."""
        self.hurries = False
        """Whether it has waited for that long enough: what is done to many is stopped where that can be."""
        self.last_words = ""
        """Said on the terminal when the console is gone."""

    @property
    def is_opening(self) -> bool:
        """Whether the desk will be open, or it will be known why not."""
        return self.desk is None and self.trouble is None

    def ask(
        self,
        work: Work,
        *,
        name: str = "",
        keys_wait: bool = False,
        opens: bool = False,
        ended: Callable[[], None] | None = None,
    ) -> Worker[None]:
        """Do `work` with the desk in a worker, which is returned; what goes wrong is one line in a toast.

        With `keys_wait` the keys that are typed next are for what it brings: they wait for it, but for those that do
        the same whatever it is, as to quit. With `opens` they are for what it opens, by `open_over`, and all wait.
        `ended` is called in every case, also where the desk was closed meanwhile and nothing was done.
        """
        ending = self.type_ahead.waiting(keys_wait, opens=opens)
        if ended is not None:
            ending.callback(ended)
        return self._begin(partial(self._asked, work, ending), name)

    def _begin(self, work: Callable[[], Coroutine[None, None, None]], name: str = "") -> Worker[None]:
        return self.run_worker(work, name=name, group=_ASKING, exit_on_error=False)

    def open_over(
        self, below: Screen[Any], opened: Screen[Result], then: Callable[[Result | None], object] | None = None
    ) -> bool:
        """Open what was asked for on the screen `below`; False, and nothing, where the user is elsewhere by now."""
        if self.screen is not below:
            return False
        self.push_screen(opened, then)
        return True

    async def answered(self) -> None:
        """Wait until the screens know what they have asked, for a little while; a run is not waited for."""
        asking = [worker for worker in self.workers if worker.group == _ASKING and worker.name != "run"]
        waiting = [asyncio.ensure_future(worker.wait()) for worker in asking if not worker.is_finished]
        if waiting:
            await asyncio.wait(waiting, timeout=ANSWERED_WITHIN)

    def carry_out(self, work: Work, *, keys_wait: bool = False, ended: Callable[[], None] | None = None) -> None:
        """As `ask`, after what was to be carried out before it, and to its end even where the user quits."""
        ending = self.type_ahead.waiting(keys_wait, BRIEF)
        if ended is not None:
            ending.callback(ended)
        write = asyncio.create_task(self._in_turn(self._last_write, work, ending))
        self._last_write = write

        async def wait() -> None:
            await asyncio.shield(write)

        self._begin(wait)

    @property
    def is_writing(self) -> bool:
        """Whether something is still to be carried out."""
        return self._last_write is not None and not self._last_write.done()

    async def _in_turn(
        self, before: "asyncio.Task[None] | None", work: Work, ending: AbstractContextManager[object]
    ) -> None:
        with ending:
            if before is not None:
                try:
                    await asyncio.wait([before])
                except asyncio.CancelledError:
                    before.cancel()
                    await asyncio.wait([before])
                    raise
            await self._asked(work)

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

    async def _asked(self, work: Work, waiting: AbstractContextManager[object] | None = None) -> None:
        with waiting or nullcontext():
            if self.desk is None:
                self.complain(self.trouble or CopydeskError("The desk is not open yet."))
                return
            try:
                await work(self.desk)
            except Exception as error:
                self.complain(known(error))

    async def stop_asking(self) -> None:
        """Nobody hears any more what was asked."""
        asking = [worker for worker in self.workers if worker.group == _ASKING]
        for worker in asking:
            worker.cancel()
        await asyncio.gather(*(worker.wait() for worker in asking), return_exceptions=True)


def known(error: Exception) -> CopydeskError:
    """The error as one of ours, for somebody who names no ids."""
    if isinstance(error, NoDraftError):
        return NotFoundError(GONE)
    if isinstance(error, CopydeskError):
        return error
    return CopydeskError(f"Copydesk did not expect this: {error!r}.")
