"""The part of the console that has the desk: opens it, asks it, runs the pipeline, closes it. It knows no screen."""

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from textual.events import Event, InputEvent, Paste
from textual.events import Key as KeyPress
from textual.message import Message
from textual.worker import Worker

from copydesk.tui.asking import AskingApp, known
from copydesk.tui.failing import Failing
from copydesk.tui.keys import KEYS, Key
from copydesk.tui.messages import DeskChanged, DeskClosed, DeskOpened, Glanced, JobDone, RunChanged
from copydesk.tui.naming import first_key
from copydesk.tui.responsive import Responsive, give_back
from copydesk.tui.type_ahead import TypeAhead
from copydesk.turns import short_turns

if TYPE_CHECKING:
    # At run time whoever opens the desk imports it: SQLAlchemy costs as much as Textual itself.
    from copydesk.desk import Desk
    from copydesk.jobs import Said
    from copydesk.model.draft import ListedDraft
    from copydesk.model.run import Run
    from copydesk.tui.gallery import Gallery
    from copydesk.tui.run_view import RunView
    from copydesk.tui.running import Running

OpenDesk = Callable[[], "AbstractAsyncContextManager[Desk]"]
"""Gives the desk, not yet open; called in a thread, after the first paint."""
Glance = Callable[[], "Sequence[ListedDraft]"]
"""Gives what waits for review faster than the desk can be opened, or nothing; called in a thread, too."""
_HOLDING = "holding"
JOBS_AFTER = 2.0
"""Seconds after which the jobs begin: what is due may wait that long, the first rows may not."""
MISSED = "missed"
"""The job whose every word is of something that went wrong."""
LOOK = 0.5
"""Seconds between two looks whether something was written."""
REST = 2.0
"""Seconds between two times that unused connections are closed: a run that waits for the network writes each second."""
LAST_PATIENCE = 0.5
"""Seconds that a job has left when the user quits."""


class DeskApp(AskingApp, inherit_bindings=False):
    """An app at whose back there is a desk. Screens ask it with `ask`, and hear from it in messages."""

    def __init__(
        self,
        open_desk: OpenDesk,
        *,
        glance: Glance | None = None,
        jobs: bool = False,
        name: str = "",
        clock: Callable[[], datetime] | None = None,
        keys: Sequence[Key] = KEYS,
        advice: Callable[[str], str] = str,
    ) -> None:
        super().__init__(clock, advice)
        self.keys = tuple(keys)
        """The key table, with the user's own keys in it."""
        self._with_jobs = jobs
        self.desk_name = name
        self.gallery: Gallery | None = None
        """The pictures that were drawn, once there are any."""
        self._open_desk = open_desk
        self._glance = glance
        self.changes = 0
        """Grows when something was written to the desk."""
        self._last_run: Running | None = None
        self._holder: Worker[None] | None = None
        self.type_ahead = TypeAhead(self)
        self._responsive = Responsive()
        self._rested = -math.inf
        self.editor: asyncio.subprocess.Process | None = None
        """The user's own, which has the terminal for now."""
        self.glimpsed = False
        """Whether there are rows to move through before the desk is open."""

    def open(self) -> None:
        """Open the desk, or try again where that failed."""
        if self._holder is None or self._holder.is_finished:
            self.trouble = None
            self._holder = self.run_worker(self._hold(), group=_HOLDING, exit_on_error=False)

    async def _hold(self) -> None:
        """Keep the desk open until the console ends, and close it when nobody asks it any more."""
        self.ends.clear()
        try:
            if self._glance is not None:
                await self._look(self._glance)
            # In a thread: this is where SQLAlchemy is imported, and the keys are to be answered meanwhile.
            opening = await asyncio.to_thread(self._open_desk)
            async with opening as desk:
                self.desk = desk
                self.type_ahead.came()
                desk.ground.ask = self._ask_passphrase
                desk.ground.attended = True
                self._tell(DeskOpened())
                watching = asyncio.create_task(self._watch(desk))
                try:
                    with short_turns():
                        await self._do_what_is_due(desk)
                finally:
                    watching.cancel()
                    await self.finish_writing()
                    self.desk = None
                    await self.stop_asking()
        except Exception as error:
            self.trouble = known(error)
            self.type_ahead.came()
            self.note(str(self.trouble))
            self._tell(DeskClosed(self.trouble))

    async def _ask_passphrase(self, *, new: bool) -> str:
        """Whatever asks for the keys to accounts, it is asked here."""
        from copydesk.tui.passphrase import passphrase  # noqa: PLC0415 - seldom needed

        return await passphrase(self, new=new)

    async def _watch(self, desk: "Desk") -> None:
        """Notice what is written, by whichever process, and tell the screen; and what goes wrong meanwhile."""
        before = None
        failing = Failing()
        trouble = ""
        while True:
            try:
                now = await desk.changes()
                if now != before:
                    for problem in await failing.since(desk):
                        self.note(problem)
                    if before is not None:
                        self.changes += 1
                        self._tell(DeskChanged())
                before, trouble = now, ""
                if self._responsive.calm:
                    await self._rest(desk)
            except Exception as error:  # whoever asks for something hears of it, too
                if str(known(error)) != trouble:
                    trouble = str(known(error))
                    self.note(trouble)
            await asyncio.sleep(LOOK)

    async def _rest(self, desk: "Desk") -> None:
        """Nobody waits: look for garbage, and give back what is held only to be quick."""
        self._responsive.look()
        now = asyncio.get_running_loop().time()
        if now - self._rested >= REST:
            self._rested = now
            if await desk.rest():
                await asyncio.to_thread(give_back)

    async def _do_what_is_due(self, desk: "Desk") -> None:
        """Let the jobs run, where there are any, until the console ends."""
        self._responsive.begin()
        if self._with_jobs:
            await asyncio.sleep(JOBS_AFTER)
            running = await asyncio.to_thread(_jobs)
            self._responsive.begin()
            async with running(desk, listener=self._hear, patience=LAST_PATIENCE):
                await asyncio.Event().wait()
        await asyncio.Event().wait()

    def _hear(self, said: "Said") -> None:
        """Something was done without having been asked: the screen counts anew, and what went wrong is told."""
        if said.failed or said.job == MISSED:
            self.notify(said.text[:1].upper() + said.text[1:], severity="error")
        if not said.failed:
            self._tell(JobDone())

    async def _look(self, glance: Glance) -> None:
        """Show the first rows, and let them be painted before the imports take the processor."""
        drafts = await asyncio.to_thread(glance)
        if drafts:
            self.glimpsed = True
            shown = asyncio.Event()
            self._tell(Glanced(drafts, shown.set))
            with suppress(TimeoutError):
                await asyncio.wait_for(shown.wait(), 1)

    def send(self, sequence: str) -> None:
        """Write to the terminal itself, after what was drawn before."""
        if self._driver is not None:
            self._driver.write(sequence)

    async def on_unmount(self) -> None:
        """Wait until the desk is closed: a run that is under way is marked as cancelled first."""
        if self.gallery is not None:
            self.gallery.close()
        self.type_ahead.stop()
        self._responsive.end()
        if self._holder is not None:
            self._holder.cancel()
            await asyncio.gather(self._holder.wait(), return_exceptions=True)

    async def on_event(self, event: Event) -> None:
        """What is typed or pasted before what the last key asked for waits until that is there."""
        if isinstance(event, InputEvent):
            self._responsive.pressed()
        if isinstance(event, KeyPress | Paste) and not event.is_forwarded and self.type_ahead.holds(event):
            return
        await super().on_event(event)

    def key(self, action_id: str) -> str:
        """The first key of an action, as people write it."""
        return first_key(self.keys, action_id)

    def show_draft(self, draft_id: str) -> None:
        """Show a draft on the review; the console, which has the screens, says how."""
        raise NotImplementedError

    @property
    def run_view(self) -> "RunView | None":
        """How far the last run is that was started here."""
        return self._last_run.view if self._last_run else None

    def start_run(self) -> None:
        """Run the pipeline, unless it runs already."""
        from copydesk.tui.running import Running  # noqa: PLC0415 - as above

        if self._last_run is None or self._last_run.over:
            self._last_run = Running(lambda view: self._tell(RunChanged(view)))
            self.ask(self._last_run.carry_out, name="run", ended=self._last_run.end)

    def cancel_run(self) -> None:
        """Cancel the run that is under way."""
        if self._last_run is not None and not self._last_run.over:
            self.ask(self._last_run.cancel)

    def say_ended(self, run: "Run") -> None:
        """Say in toasts what came of a run, where nothing on the screen does."""
        from copydesk.tui.run_view import failures, summary  # noqa: PLC0415 - as above

        self.notify(summary(run), severity="error" if run.error else "information")
        if failed := failures(run):
            self.notify(failed, severity="warning")

    def _tell(self, message: Message) -> None:
        """Tell the screen, which may lie below the help."""
        if self.screen_stack:
            self.screen_stack[0].post_message(message)


def _jobs() -> "Callable[..., AbstractAsyncContextManager[object]]":
    """What runs the jobs; imported in a thread, for APScheduler takes a while."""
    from copydesk.jobs import running  # noqa: PLC0415

    return running
