"""The part of the console that owns the desk: opens it, watches it for changes, runs jobs and the pipeline, closes it.

It knows no screens.
"""

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
    # Imported at run time only by the function that opens the desk: SQLAlchemy costs as much as Textual itself.
    from copydesk.desk import Desk
    from copydesk.jobs import Said
    from copydesk.model.draft import ListedDraft
    from copydesk.model.run import Run
    from copydesk.tui.gallery import Gallery
    from copydesk.tui.run_view import RunView
    from copydesk.tui.running import Running

OpenDesk = Callable[[], "AbstractAsyncContextManager[Desk]"]
"""Returns the unopened desk; called in a thread after the first paint."""
Glance = Callable[[], "Sequence[ListedDraft]"]
"""Loads the first drafts awaiting review, faster than the desk can be opened; called in a thread."""
_DESK_GROUP = "holding"
JOBS_AFTER = 2.0
"""Seconds before jobs start: due work can wait that long, the first rows cannot."""
MISSED = "missed"
"""The job whose messages always report a problem."""
LOOK = 0.5
"""Seconds between two checks for changes in the database."""
REST = 2.0
"""Seconds between two attempts to close idle connections; longer than the second between a run's progress writes."""
LAST_PATIENCE = 0.5
"""Seconds that a running job has to finish when the user quits."""


class DeskApp(AskingApp, inherit_bindings=False):
    """An app with a desk. Screens call it with `run_desk_task` and receive messages about changes."""

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
        """The key table including the user's own keys."""
        self._runs_jobs = jobs
        self.desk_name = name
        self.gallery: Gallery | None = None
        """The rendered images; None until the first one."""
        self._open_desk = open_desk
        self._load_first_page = glance
        self.changes = 0
        """Incremented when something was written to the desk."""
        self._last_run: Running | None = None
        self._desk_worker: Worker[None] | None = None
        self.type_ahead = TypeAhead(self)
        self._responsive = Responsive()
        self._idle_closed_at = -math.inf
        self.editor: asyncio.subprocess.Process | None = None
        """The external editor's process while it owns the terminal."""
        self.glimpsed = False
        """True if rows can be navigated before the desk is open."""

    def open(self) -> None:
        """Open the desk; also retries after a failure."""
        if self._desk_worker is None or self._desk_worker.is_finished:
            self.trouble = None
            self._desk_worker = self.run_worker(self._keep_desk_open(), group=_DESK_GROUP, exit_on_error=False)

    async def _keep_desk_open(self) -> None:
        """Keep the desk open until the console exits; close it after all tasks have ended."""
        self.ends.clear()
        try:
            if self._load_first_page is not None:
                await self._show_first_page(self._load_first_page)
            # In a thread, so that keys are handled while SQLAlchemy is imported.
            opening = await asyncio.to_thread(self._open_desk)
            async with opening as desk:
                self.desk = desk
                self.type_ahead.came()
                desk.ground.ask = self._prompt_passphrase
                desk.ground.attended = True
                self._tell(DeskOpened())
                watcher = asyncio.create_task(self._poll_changes(desk))
                try:
                    with short_turns():
                        await self._run_jobs(desk)
                finally:
                    watcher.cancel()
                    # Order matters: writes need the open desk, reads must not start another call once it is None.
                    await self.finish_writing()
                    self.desk = None
                    await self.stop_asking()
        except Exception as error:
            self.trouble = known(error)
            self.type_ahead.came()
            self.note(str(self.trouble))
            self._tell(DeskClosed(self.trouble))

    async def _prompt_passphrase(self, *, new: bool) -> str:
        """Prompt for the passphrase of the stored credentials, whatever needs them."""
        from copydesk.tui.passphrase import passphrase  # noqa: PLC0415 - rarely needed

        return await passphrase(self, new=new)

    async def _poll_changes(self, desk: "Desk") -> None:
        """Poll for changes made by any process and post them to the screen; log sources that begin to fail."""
        previous = None
        source_failures = Failing()
        last_error = ""
        while True:
            try:
                current = await desk.changes()
                if current != previous:
                    for message in await source_failures.since(desk):
                        self.note(message)
                    if previous is not None:
                        self.changes += 1
                        self._tell(DeskChanged())
                previous, last_error = current, ""
                # Only while no key is pressed: collecting garbage and closing connections take longer than a frame.
                if self._responsive.calm:
                    await self._release_idle(desk)
            except Exception as error:  # a user action that fails for the same reason reports it, too
                if str(known(error)) != last_error:
                    last_error = str(known(error))
                    self.note(last_error)
            await asyncio.sleep(LOOK)

    async def _release_idle(self, desk: "Desk") -> None:
        """Collect garbage and release idle resources while the user is not typing."""
        self._responsive.look()
        now = asyncio.get_running_loop().time()
        if now - self._idle_closed_at >= REST:
            self._idle_closed_at = now
            if await desk.rest():
                await asyncio.to_thread(give_back)

    async def _run_jobs(self, desk: "Desk") -> None:
        """Run due jobs, if enabled, until the console exits."""
        self._responsive.begin()
        if self._runs_jobs:
            await asyncio.sleep(JOBS_AFTER)
            # Freeze again afterwards: what the import created lives as long as the process.
            run_jobs = await asyncio.to_thread(_import_jobs)
            self._responsive.begin()
            async with run_jobs(desk, listener=self._hear, patience=LAST_PATIENCE):
                await asyncio.Event().wait()
        await asyncio.Event().wait()

    def _hear(self, message: "Said") -> None:
        """Report a job's message: notify about failures, and have the screen reload."""
        if message.failed or message.job == MISSED:
            self.notify(message.text[:1].upper() + message.text[1:], severity="error")
        if not message.failed:
            self._tell(JobDone())

    async def _show_first_page(self, load: Glance) -> None:
        """Show the first rows and let them be painted before the imports take the CPU."""
        drafts = await asyncio.to_thread(load)
        if drafts:
            self.glimpsed = True
            displayed = asyncio.Event()
            self._tell(Glanced(drafts, displayed.set))
            with suppress(TimeoutError):
                await asyncio.wait_for(displayed.wait(), 1)

    def send(self, sequence: str) -> None:
        """Write an escape sequence to the terminal, after everything drawn so far."""
        if self._driver is not None:
            self._driver.write(sequence)

    async def on_unmount(self) -> None:
        """Wait until the desk is closed; an active run is first marked as cancelled."""
        if self.gallery is not None:
            self.gallery.close()
        self.type_ahead.stop()
        self._responsive.end()
        if self._desk_worker is not None:
            self._desk_worker.cancel()
            await asyncio.gather(self._desk_worker.wait(), return_exceptions=True)

    async def on_event(self, event: Event) -> None:
        """Delay typed or pasted input until the result of the previous key is available."""
        if isinstance(event, InputEvent):
            self._responsive.pressed()
        if isinstance(event, KeyPress | Paste) and not event.is_forwarded and self.type_ahead.holds(event):
            return
        await super().on_event(event)

    def key(self, action_id: str) -> str:
        """Return the label of the first key of an action."""
        return first_key(self.keys, action_id)

    def show_draft(self, draft_id: str) -> None:
        """Show a draft on the review; implemented by the console, which knows the screens."""
        raise NotImplementedError

    @property
    def run_view(self) -> "RunView | None":
        """Progress of the last pipeline run started here; None if there was none."""
        return self._last_run.view if self._last_run else None

    def start_run(self) -> None:
        """Start a pipeline run unless one is active."""
        from copydesk.tui.running import Running  # noqa: PLC0415 - as above

        if self._last_run is None or self._last_run.over:
            self._last_run = Running(lambda view: self._tell(RunChanged(view)))
            self.ask(self._last_run.carry_out, name="run", ended=self._last_run.end)

    def cancel_run(self) -> None:
        """Cancel the active pipeline run."""
        if self._last_run is not None and not self._last_run.over:
            self.ask(self._last_run.cancel)

    def say_ended(self, run: "Run") -> None:
        """Notify about the result of a run that no visible widget shows."""
        from copydesk.tui.run_view import failures, summary  # noqa: PLC0415 - as above

        self.notify(summary(run), severity="error" if run.error else "information")
        if failures_text := failures(run):
            self.notify(failures_text, severity="warning")

    def _tell(self, message: Message) -> None:
        """Post `message` to the base screen, which may be covered by a dialog."""
        if self.screen_stack:
            self.screen_stack[0].post_message(message)


def _import_jobs() -> "Callable[..., AbstractAsyncContextManager[object]]":
    """Import the job runner; called in a thread, because importing APScheduler takes a while."""
    from copydesk.jobs import running  # noqa: PLC0415

    return running
