"""Desk calls of the console: each runs in its own task, and writes run one after the other.

Textual's workers do the same, but each is a ring of a dozen objects that only the garbage collector can free, and posts
three state messages. With four workers per decision, every few dozen decisions that cost the time of a frame.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import TYPE_CHECKING, Protocol

from copydesk.errors import CopydeskError, DraftNotFoundError, NotFoundError, SourceNotFoundError
from copydesk.tui import labels
from copydesk.tui.runtime.key_buffer import MAX_WRITE_HOLD, Hold, TypeAhead

if TYPE_CHECKING:
    # Imported at run time only by the function that opens the desk: SQLAlchemy costs as much as Textual itself.
    from copydesk.desk import Desk

DeskWork = Callable[["Desk"], Awaitable[None]]
READ_TIMEOUT = 2.0
"""Seconds that an action waits for its screen to load."""
WRITE_PATIENCE = 0.5
"""Seconds that a new list waits for earlier decisions: one is stored by then, a bulk action takes longer."""
BULK_STOP_DELAY = 2.0
"""Seconds after which, on exit, no further draft of a bulk action is started."""
BACKGROUND_TASKS = frozenset({"run", "generate", "post"})
"""The names of tasks that take long, and that no action waits for."""
DRAFT_DELETED_MESSAGE = labels.DRAFT_DELETED
MAX_PAINT_WAIT = 0.05
"""Seconds that a write waits at most for the frame that shows what the user did."""
WRITE_TIMEOUT = 60.0
"""Seconds that the console waits on exit for pending writes."""


class DeskTask:
    """A handle to cancel a desk task.

    Not the task itself: Textual awaits an awaitable returned by a timer callback or a message handler.
    """

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def cancel(self) -> None:
        """Cancel the task; its result is no longer needed."""
        self._task.cancel()


REQUESTED_BY_USER: ContextVar[bool] = ContextVar("requested_by_user", default=False)
"""True in what the user started, False in background jobs."""


class DeskTasksApp(Protocol):
    """The app whose desk is called."""

    desk: "Desk | None"
    open_error: CopydeskError | None
    type_ahead: TypeAhead

    def notify_error(self, error: CopydeskError) -> None: ...
    def call_after_refresh(self, callback: Callable[[], object]) -> bool: ...


class DeskTasks:
    """Runs the desk calls of an app once its desk is open."""

    def __init__(self, app: DeskTasksApp) -> None:
        self._app = app
        self._app_context: Context | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        # Each write waits for the one before. A queue would need a task that reads it, and a place for its errors.
        self._last_write: asyncio.Task[None] | None = None
        self.shutting_down = asyncio.Event()
        """Set when the console exits: prompts are no longer answered."""
        self.stopping = False
        """True when, on exit, bulk actions should stop after the current draft."""

    def capture_context(self) -> None:
        """Remember the app's context: a widget that starts a task may be removed before the task finishes."""
        self._app_context = copy_context()

    def run(
        self,
        work: DeskWork,
        *,
        name: str | None = None,
        hold_keys: Hold | None = None,
        on_finished: Callable[[], object] | None = None,
    ) -> DeskTask:
        """Run `work` in a task of its own; see `DeskApp.run_desk_task`."""
        task: asyncio.Task[None]
        # Escape stops what opens a screen; loading data goes on without its keys.
        cancel = (lambda: task.cancel()) if hold_keys is Hold.SCREEN else None  # noqa: PLW0108 - assigned below
        exit_stack = self._app.type_ahead.start_hold(hold_keys, cancel=cancel)
        task = self._start_task(work, exit_stack, on_finished, name=name)
        return DeskTask(task)

    def _start_task(
        self,
        work: DeskWork,
        exit_stack: ExitStack,
        on_finished: Callable[[], object] | None,
        *,
        name: str | None = None,
        previous: asyncio.Task[None] | None = None,
    ) -> asyncio.Task[None]:
        if on_finished is not None:
            # Pushed last, so called first: the caller's state is up to date before held keys are released.
            exit_stack.callback(on_finished)
        # The app's context, not the widget's: the task may outlive the widget that started it.
        context = self._app_context.copy() if self._app_context is not None else copy_context()
        context.run(REQUESTED_BY_USER.set, True)  # noqa: FBT003 - ContextVar takes it by position
        coroutine = self._run_work(work, exit_stack, previous)
        task = asyncio.get_running_loop().create_task(coroutine, name=name, context=context)
        self._tasks.add(task)
        task.add_done_callback(partial(self._on_task_done, exit_stack))
        return task

    def _on_task_done(self, exit_stack: ExitStack, task: asyncio.Task[None]) -> None:
        """Release resources of a finished task, including one that was cancelled before it started."""
        self._tasks.discard(task)
        exit_stack.close()

    @property
    def pending(self) -> frozenset[asyncio.Task[None]]:
        """The unfinished tasks, reads and writes."""
        return frozenset(self._tasks)

    async def wait_for_reads(self) -> None:
        """Wait until the current reads have finished, at most READ_TIMEOUT seconds."""
        reads = [task for task in self._tasks if task.get_name() not in BACKGROUND_TASKS]
        if reads:
            await asyncio.wait(reads, timeout=READ_TIMEOUT)

    def enqueue_write(
        self, work: DeskWork, *, hold_keys: Hold | None = None, on_finished: Callable[[], object] | None = None
    ) -> None:
        """Run `work` like `run`, but after all earlier writes, and to its end even if the user quits.

        It is queued at once and starts after the next frame: a thread that writes would slow down the painting of it.
        """
        exit_stack = self._app.type_ahead.start_hold(hold_keys, MAX_WRITE_HOLD)
        painted = asyncio.Event()
        self._app.call_after_refresh(painted.set)
        # A screen that is being closed is not painted any more.
        asyncio.get_running_loop().call_later(MAX_PAINT_WAIT, painted.set)

        async def write(desk: "Desk") -> None:
            await painted.wait()
            await work(desk)

        # Bound to the write before at once, not when the frame is painted: two quick keys must not swap their order.
        self._last_write = self._start_task(write, exit_stack, on_finished, previous=self._last_write)

    @property
    def has_pending_writes(self) -> bool:
        """True while a write is queued or running."""
        return self._last_write is not None and not self._last_write.done()

    async def wait_for_writes(self) -> None:
        """Wait until the writes that are queued now are done, at most WRITE_PATIENCE seconds."""
        if self._last_write is not None and not self._last_write.done():
            await asyncio.wait([self._last_write], timeout=WRITE_PATIENCE)

    async def finish_writes(self) -> None:
        """Wait for pending writes, even if cancelled repeatedly, because the desk is closed afterwards.

        Prompts are no longer answered. Writes that have not finished after WRITE_TIMEOUT are cancelled, as if the
        console were killed: the desk commits each step completely or not at all.
        """
        self.shutting_down.set()
        loop = asyncio.get_running_loop()
        loop.call_later(BULK_STOP_DELAY, self._set_stopping)
        deadline = loop.time() + WRITE_TIMEOUT
        # Loop, because a finishing write may enqueue another one.
        while (write := self._last_write) is not None and not write.done():
            # The loop goes on until the cancelled write has ended: it still has to roll back.
            if loop.time() >= deadline:
                write.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([write], timeout=max(deadline - loop.time(), READ_TIMEOUT))

    def _set_stopping(self) -> None:
        self.stopping = True

    async def _run_work(self, work: DeskWork, exit_stack: ExitStack, previous: asyncio.Task[None] | None) -> None:
        try:
            with exit_stack:
                if previous is not None:
                    # Whatever became of it: a failed write has told the user so, and must not stop those that follow.
                    await _wait_for_task(previous)
                await work(self._require_desk())
        except Exception as error:
            self._app.notify_error(to_copydesk_error(error))

    def _require_desk(self) -> "Desk":
        """Return the desk, which may have been closed while a task waited for earlier writes."""
        if self._app.desk is None:
            raise self._app.open_error or CopydeskError(labels.DESK_NOT_OPEN)
        return self._app.desk

    async def cancel(self) -> None:
        """Cancel all unfinished tasks and wait for them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _wait_for_task(task: asyncio.Task[None]) -> None:
    """Wait for `task`; if the wait is cancelled, cancel the task and wait for it all the same."""
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task])
        raise


def to_copydesk_error(error: Exception) -> CopydeskError:
    """Return `error` as a CopydeskError with a message for a user who sees no ids."""
    if isinstance(error, DraftNotFoundError):
        return NotFoundError(labels.DRAFT_DELETED)
    if isinstance(error, SourceNotFoundError):
        return NotFoundError(labels.SOURCE_DELETED)
    if isinstance(error, CopydeskError):
        return error
    return CopydeskError(labels.unexpected_error(error))
