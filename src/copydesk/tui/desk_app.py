"""The part of the console that owns the desk: opens it, watches it for changes, runs jobs and the pipeline, closes it.

It knows no screens.
"""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, TypeVar

from textual.actions import ActionParseResult
from textual.binding import Binding
from textual.dom import DOMNode
from textual.events import Event, InputEvent, Paste
from textual.events import Key as KeyPress
from textual.message import Message
from textual.reactive import var
from textual.screen import Screen
from textual.worker import Worker

from copydesk.errors import CopydeskError
from copydesk.switch_interval import short_switch_interval
from copydesk.tui import labels
from copydesk.tui.keys import first_key_label
from copydesk.tui.messages import DeskChanged, DeskClosed, DeskOpened, FirstPageLoaded, JobFinished, RunChanged
from copydesk.tui.preferences import Preferences
from copydesk.tui.runtime.desk_tasks import DeskTask, DeskTasks, DeskWork, to_copydesk_error
from copydesk.tui.runtime.gc_tuning import GcTuning, trim_memory
from copydesk.tui.runtime.key_buffer import Hold, TypeAhead, as_input
from copydesk.tui.runtime.notifications import NotifyingApp

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.jobs import JobMessage
    from copydesk.model.desk_status import DeskStatus, FailingSource
    from copydesk.model.draft import ListedDraft
    from copydesk.model.role import Role
    from copydesk.model.run import Run
    from copydesk.model.token import Scope
    from copydesk.tui.runtime.pipeline_run import PipelineRun, RunView
    from copydesk.tui.terminal.images import ImageCache


class SourceFailures:
    """Detects new failures. Sources that already failed at the first check are not reported."""

    def __init__(self) -> None:
        self._failing_ids: frozenset[str] | None = None

    def find_new(self, failing: "Sequence[FailingSource]") -> list[str]:
        """Return a sentence for each of these failing sources that did not fail at the last call."""
        previous, self._failing_ids = self._failing_ids, frozenset(source.id for source in failing)
        if previous is None:
            return []
        return [labels.source_failing(source.name, source.error) for source in failing if source.id not in previous]


Result = TypeVar("Result")
OpenDesk = Callable[[], "AbstractAsyncContextManager[Desk]"]
"""Returns the unopened desk; called in a thread after the first paint."""
LoadFirstPage = Callable[[], "Sequence[ListedDraft]"]
"""Loads the first drafts awaiting review, faster than the desk can be opened; called in a thread."""
EXIT_WORK_TIMEOUT = 5.0
"""Seconds that the console waits on exit for a database that does not respond."""
_DESK_GROUP = "holding"
JOBS_START_DELAY = 2.0
"""Seconds before jobs start: due work can wait that long, the first rows cannot."""
MISSED_JOB = "missed"
"""The job whose messages always report a problem."""
CHECK_INTERVAL = 0.25
"""Seconds between two checks for changes in the database at least: commits that follow each other closely need one."""
KEY_PAUSE, MAX_CHECK_DELAY = 0.25, 0.3
"""Seconds after a key until such a check, which takes longer than a frame, and seconds that fast keys can delay it.

However fast they are, a change by somebody else is seen within a second.
"""
IDLE_INTERVAL = 2.0
"""Seconds between two attempts to close idle connections; longer than the second between a run's progress writes."""
SHUTDOWN_TIMEOUT = 0.5
"""Seconds that a running job has to finish when the user quits."""


class DeskApp(NotifyingApp, inherit_bindings=False):
    """An app with a desk. Screens call it with `run_desk_task` and receive messages about changes."""

    posting_paused: var[bool] = var(False)  # noqa: FBT003 - the initial value
    """True while the clock is in doubt, so that nothing is posted."""

    needs_user: var[int] = var(0)
    """Number of deliveries that need the user."""

    has_account: var[bool] = var(True)  # noqa: FBT003 - the initial value
    """False if it is known that no account is connected, so that nothing can be posted."""

    def __init__(
        self,
        open_desk: OpenDesk,
        *,
        load_first_page: LoadFirstPage | None = None,
        jobs: bool = False,
        name: str = "",
        clock: Callable[[], datetime] | None = None,
        preferences: Preferences | None = None,
        qualify_commands: Callable[[str], str] = str,
    ) -> None:
        super().__init__(clock, qualify_commands)
        self.preferences = preferences or Preferences()
        self.notice = ""
        """What the user should know about this desk, shown when it is open."""
        self.opening_text = labels.LOADING
        """Shown in place of data that is loading; says more while that takes longer, because the desk is created."""
        self.desk_environment: Mapping[str, str] = {}
        """Variables with which a call of Copydesk in a command of the user's own opens this desk."""
        self.start_warnings: list[str] = []
        """What is wrong with the user's own files, shown when the desk is open."""
        self.desk: Desk | None = None
        self.open_error: CopydeskError | None = None
        """The reason why the desk could not be opened; None while it is opening or open."""
        self.desk_tasks = DeskTasks(self)
        self.exit_work: set[DeskWork] = set()
        """What is done with the desk last, when the console exits."""
        self.exit_message = ""
        """Printed on the terminal after the console has exited."""
        self.keys = tuple(self.preferences.keys)
        """The key table including the user's own keys."""
        self._runs_jobs = jobs
        self.desk_name = name
        self.image_cache: ImageCache | None = None
        """The rendered images; None until the first one."""
        self._open_desk = open_desk
        self._load_first_page = load_first_page
        self.zone: tzinfo = UTC
        """The user's time zone."""
        self.has_declined_passphrase = False
        """True once the user cancelled the passphrase prompt: background jobs then do not ask again."""
        self.status: DeskStatus | None = None
        """The desk's state when it was last read; None until then."""
        self.change_count = 0
        """Incremented when something was written to the desk."""
        self._last_run: PipelineRun | None = None
        self._desk_worker: Worker[None] | None = None
        self.type_ahead = TypeAhead(self)
        self._gc_tuning = GcTuning()
        # The loop's clock may start anywhere, so 0 could delay the first release.
        self._idle_closed_at = -math.inf
        self.editor: asyncio.subprocess.Process | None = None
        """The external editor's process while it owns the terminal."""
        self.has_first_page = False
        """True if rows can be navigated before the desk is open."""

    def on_load(self) -> None:
        """Let desk tasks run in the app's context."""
        self.desk_tasks.capture_context()

    def run_desk_task(
        self,
        work: DeskWork,
        *,
        name: str | None = None,
        hold_keys: Hold | None = None,
        on_finished: Callable[[], object] | None = None,
    ) -> DeskTask:
        """Run `work` with the desk in a task of its own; show errors as a one-line notification.

        With `hold_keys`, keys typed from now on wait for the task. `on_finished` is called in every case, also if the
        desk was closed and nothing was done.
        """
        return self.desk_tasks.run(work, name=name, hold_keys=hold_keys, on_finished=on_finished)

    def enqueue_write(
        self, work: DeskWork, *, hold_keys: Hold | None = None, on_finished: Callable[[], object] | None = None
    ) -> None:
        """Run `work` like `run_desk_task`, but after all earlier writes, and to its end even if the user quits."""
        self.desk_tasks.enqueue_write(work, hold_keys=hold_keys, on_finished=on_finished)

    def local_now(self) -> datetime:
        """Return the current time in the user's time zone."""
        return self.clock().astimezone(self.zone)

    @property
    def needs_approvals(self) -> bool:
        """True if an account asks for the approvals of several reviewers."""
        return self.status is not None and self.status.most_approvals > 1

    @property
    def role(self) -> "Role | None":
        """The user's role; None for one who may do everything."""
        return self.status.role if self.status else None

    @property
    def idle_time(self) -> float:
        """Seconds since the last key."""
        return self._gc_tuning.idle_time

    @property
    def stopping(self) -> bool:
        """True when, on exit, bulk actions should stop after the current draft."""
        return self.desk_tasks.stopping

    @property
    def is_opening(self) -> bool:
        """True until the desk is open or failed to open."""
        return self.desk is None and self.open_error is None

    def push_if_current(
        self,
        base: Screen[Any],
        screen: Screen[Result],
        callback: Callable[[Result | None], object] | None = None,
        *,
        otherwise: str = "",
    ) -> bool:
        """Push `screen` if `base` is still the current screen.

        Return False if the user has moved elsewhere; only the warning `otherwise` is shown then, if there is one.
        """
        if self.screen is not base:
            if otherwise:
                self.notify(otherwise, severity="warning")
            return False
        self.push_screen(screen, callback)
        return True

    def warn_not_deleted(self, error: OSError) -> None:
        """Warn that an autosave file could not be deleted."""
        self.notify(labels.autosave_not_deleted(error.strerror or str(error)), severity="warning")

    def open(self) -> None:
        """Open the desk; also retries after a failure."""
        if self._desk_worker is None or self._desk_worker.is_finished:
            self.open_error = None
            self._desk_worker = self.run_worker(self._run_desk(), group=_DESK_GROUP, exit_on_error=False)

    async def _run_desk(self) -> None:
        # From the start: a thread writes the frames, and others load rows and import what opens the desk.
        with short_switch_interval():
            await self._keep_desk_open()

    async def _keep_desk_open(self) -> None:
        """Keep the desk open until the console exits; close it after all tasks have ended."""
        self.desk_tasks.shutting_down.clear()
        try:
            if self._load_first_page is not None:
                await self._show_first_page(self._load_first_page)
            # In a thread, so that keys are handled while SQLAlchemy is imported.
            opening = await asyncio.to_thread(self._open_desk)
            async with opening as desk:
                # Before anything is loaded: what others write from then on is noticed.
                counter = await self._read_counter(desk)
                self.desk, self.zone = desk, _load_zone(desk.user.time_zone)
                self.opening_text = labels.LOADING
                self.type_ahead.wake()
                desk.set_interactive(self.prompt_passphrase)
                self._post_to_screen(DeskOpened())
                try:
                    await self._notify_interrupted(desk)
                    for warning in self.start_warnings:
                        self.notify(warning, severity="warning")
                    if self.notice:
                        # As it is: its commands are meant for another desk.
                        self.notify(self.notice, qualified=True)
                    watcher = asyncio.create_task(self._watch_changes(desk, counter))
                    try:
                        await self._run_jobs(desk)
                    finally:
                        watcher.cancel()
                finally:
                    # Order matters: writes need the open desk, reads must not start another call once it is None.
                    await self.desk_tasks.finish_writes()
                    self.desk = None
                    await self.desk_tasks.cancel()
                    exit_work = asyncio.create_task(self._run_exit_work(desk))
                    # Textual cancels this task again while it shuts down.
                    while not exit_work.done():
                        with suppress(asyncio.CancelledError):
                            await asyncio.wait([exit_work])
        except Exception as error:
            self.open_error = to_copydesk_error(error)
            self.type_ahead.wake()
            self.log_problem(str(self.open_error))
            self._post_to_screen(DeskClosed(self.open_error))

    async def _run_exit_work(self, desk: "Desk") -> None:
        """Let the other reviewers see at once that this console has closed. Leases expire in any case."""
        with suppress(CopydeskError, TimeoutError):
            async with asyncio.timeout(EXIT_WORK_TIMEOUT):
                for work in self.exit_work:
                    await work(desk)

    async def _notify_interrupted(self, desk: "Desk") -> None:
        """Notify about bulk actions whose process was killed."""
        # A failing database is reported by whatever the user does next.
        with suppress(CopydeskError):
            for bulk in await desk.drafts.interrupted_bulks():
                self.notify(bulk.summary, severity="warning")

    async def prompt_passphrase(self, *, new: bool) -> str:
        """Prompt for the passphrase of the stored credentials; implemented by the console, which knows the dialogs."""
        raise NotImplementedError

    async def _read_counter(self, desk: "Desk") -> int | None:
        """Return the desk's change counter; None if it cannot be read, which the watcher reports."""
        with suppress(Exception):
            return await desk.change_counter()
        return None

    async def _watch_changes(self, desk: "Desk", previous: int | None) -> None:
        """Post changes made by any process since the counter was `previous`; log sources that begin to fail."""
        is_status_known = False
        source_failures = SourceFailures()
        last_error = ""
        while True:
            try:
                if is_status_known and previous is not None:
                    await self._wait_for_change(desk, previous)
                current = await desk.change_counter()
                if current != previous or not is_status_known:
                    status = await desk.status()
                    for message in source_failures.find_new(status.failing_sources):
                        self.log_problem(message)
                    # A jump is a change: the jobs store it when they notice it, and its end.
                    self.posting_paused = status.is_posting_paused
                    self.needs_user = status.needing_user
                    self.has_account = status.most_approvals > 0
                    self.zone = _load_zone(status.time_zone)
                    self.status, is_status_known = status, True
                    if current != previous:
                        self.change_count += 1
                        self._post_to_screen(DeskChanged())
                previous, last_error = current, ""
                # Only while no key is pressed: collecting garbage and closing connections take longer than a frame.
                if self._gc_tuning.is_idle:
                    await self._release_idle(desk)
            except Exception as error:  # a user action that fails for the same reason reports it, too
                # Log a lasting error once, not several times a second.
                if str(to_copydesk_error(error)) != last_error:
                    last_error = str(to_copydesk_error(error))
                    self.log_problem(last_error)
            await asyncio.sleep(CHECK_INTERVAL)

    async def _wait_for_change(self, desk: "Desk", counter: int) -> None:
        """Wait until somebody may have written to the desk, then while the user types, at most MAX_CHECK_DELAY."""
        with suppress(TimeoutError):
            # What is unused is released even if nobody writes.
            async with asyncio.timeout(IDLE_INTERVAL):
                await desk.wait_for_change(counter)
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_CHECK_DELAY):
                while (idle_time := self._gc_tuning.idle_time) < KEY_PAUSE:  # noqa: ASYNC110 - a pause is no event
                    await asyncio.sleep(KEY_PAUSE - idle_time)

    async def _release_idle(self, desk: "Desk") -> None:
        """Collect garbage and release idle resources while the user is not typing."""
        self._gc_tuning.collect()
        now = asyncio.get_running_loop().time()
        if now - self._idle_closed_at >= IDLE_INTERVAL:
            self._idle_closed_at = now
            if await desk.release_memory():
                await asyncio.to_thread(trim_memory)

    async def _run_jobs(self, desk: "Desk") -> None:
        """Run due jobs, if enabled, until the console exits."""
        self._gc_tuning.start()
        if self._runs_jobs:
            await asyncio.sleep(JOBS_START_DELAY)
            # Freeze again afterwards: what the import created lives as long as the process.
            run_jobs = await asyncio.to_thread(_import_jobs)
            self._gc_tuning.start()
            async with run_jobs(desk, listener=self._handle_job_message, shutdown_timeout=SHUTDOWN_TIMEOUT):
                await asyncio.Event().wait()
        await asyncio.Event().wait()

    def _handle_job_message(self, message: "JobMessage") -> None:
        """Report a job's message: notify about failures, and have the screen reload."""
        if message.failed or message.job == MISSED_JOB:
            self.notify(message.text[:1].upper() + message.text[1:], severity="error")
        if not message.failed:
            self._post_to_screen(JobFinished())

    async def _show_first_page(self, load: LoadFirstPage) -> None:
        """Show the first rows and let them be painted before the imports take the CPU."""
        drafts = await asyncio.to_thread(load)
        if drafts:
            self.has_first_page = True
            displayed = asyncio.Event()
            self._post_to_screen(FirstPageLoaded(drafts, displayed.set))
            with suppress(TimeoutError):
                await asyncio.wait_for(displayed.wait(), 1)

    def write_terminal(self, sequence: str) -> None:
        """Write an escape sequence to the terminal, after everything drawn so far."""
        if self._driver is not None:
            self._driver.write(sequence)

    async def on_unmount(self) -> None:
        """Wait until the desk is closed; an active run is first marked as cancelled."""
        if self.image_cache is not None:
            self.image_cache.close()
        self.type_ahead.stop()
        self._gc_tuning.stop()
        if self._desk_worker is not None:
            # Cancelling the worker ends the wait for jobs; what follows it still saves pending writes and closes the
            # desk.
            self._desk_worker.cancel()
            # A cancelled worker raises WorkerCancelled here, which is expected.
            await asyncio.gather(self._desk_worker.wait(), return_exceptions=True)

    async def on_event(self, event: Event) -> None:
        """Delay typed or pasted input until the result of the previous key is available."""
        if isinstance(event, InputEvent):
            self._gc_tuning.record_key()
        if isinstance(event, KeyPress | Paste) and not event.is_forwarded:
            event = as_input(event)
            # Without a screen the console exits, and Textual would fail on the key.
            if not self.screen_stack or self.type_ahead.intercept(event):
                return
        await super().on_event(event)

    async def run_action(
        self,
        action: "str | ActionParseResult",
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run the action of a key; say so instead if the user's role does not allow it."""
        if self.role is not None and default_namespace is not None:
            bound = [binding for binding in default_namespace.BINDINGS if isinstance(binding, Binding)]
            key_id = next((binding.id for binding in bound if binding.action == action), None)
            if key_id and (reason := self.role_refusal(key_id)):
                self.notify(reason, severity="warning")
                return True
        return await super().run_action(action, default_namespace, namespaces)

    def role_refusal(self, key_id: str, needed: "Scope | None" = None) -> str:
        """Return why the user's role does not allow a key; empty if it does. `needed` is the scope if that varies."""
        if self.role is None:
            return ""
        from copydesk.tui.key_scopes import key_problem  # noqa: PLC0415 - most desks have no roles

        return key_problem(key_id, self.role, needed)

    def key_label(self, action_id: str) -> str:
        """Return the label of the first key of an action."""
        return first_key_label(self.keys, action_id)

    def show_draft(self, draft_id: str) -> None:
        """Show a draft on the review; implemented by the console, which knows the screens."""
        raise NotImplementedError

    def offer_unsaved_draft(self) -> None:
        """Notify about a draft that was typed and not created; implemented by the console."""
        raise NotImplementedError

    def show_tab(self, tab: str) -> None:
        """Show a tab of the review, or the last one if empty; implemented by the console."""
        raise NotImplementedError

    def sign_in(self, platform: str, account_id: str = "") -> None:
        """Open the form to connect an account of `platform`, or this one again; implemented by the console."""
        raise NotImplementedError

    @property
    def run_view(self) -> "RunView | None":
        """Progress of the last pipeline run started here; None if there was none."""
        return self._last_run.view if self._last_run else None

    def start_run(self) -> None:
        """Start a pipeline run unless one is active."""
        from copydesk.tui.runtime.pipeline_run import PipelineRun  # noqa: PLC0415 - as above

        if self._last_run is None or self._last_run.is_finished:
            self._last_run = PipelineRun(lambda view: self._post_to_screen(RunChanged(view)))
            self.run_desk_task(self._last_run.run, name="run", on_finished=self._last_run.mark_finished)

    def cancel_run(self) -> None:
        """Cancel the active pipeline run."""
        if self._last_run is not None and not self._last_run.is_finished:
            self.run_desk_task(self._last_run.cancel)

    def notify_run_finished(self, run: "Run") -> None:
        """Notify about the result of a run that no visible widget shows."""
        from copydesk.tui.runtime.pipeline_run import format_failures, format_summary  # noqa: PLC0415 - as above

        self.notify(format_summary(run), severity="error" if run.error else "information")
        if failures_text := format_failures(run):
            self.notify(failures_text, severity="warning")

    def _post_to_screen(self, message: Message) -> None:
        """Post `message` to the base screen, which may be covered by a dialog."""
        # The stack is empty while the app starts and exits.
        if self.screen_stack:
            self.screen_stack[0].post_message(message)


def _load_zone(name: str) -> tzinfo:
    """Return the user's time zone; UTC if this machine does not know it."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415 - not for the first paint

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return UTC


def _import_jobs() -> "Callable[..., AbstractAsyncContextManager[object]]":
    """Import the job runner; called in a thread, because importing APScheduler takes a while."""
    from copydesk.jobs import run_jobs  # noqa: PLC0415

    return run_jobs
