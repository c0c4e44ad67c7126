"""Background jobs: the database says what is due, and one process at a time does it.

Each process finds what is due, acquires its lease, runs its handler and reports the outcomes. APScheduler provides the
timer only. No jobs are stored in it: what is due is in the database, so nothing is lost when a process ends and nothing
runs twice in two processes.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from msgspec.structs import replace

from copydesk.desk import Desk, Desks
from copydesk.errors import CopydeskError, DeskClosedError, StoreError
from copydesk.model.delivery import DeliveryReport, NextBy
from copydesk.model.job import ClockWarning, DueDraftsCheck, DueWork, JobLease, JobName, JobState
from copydesk.model.run import RunRequest, RunStatus
from copydesk.model.serialization import Struct
from copydesk.model.user import User
from copydesk.store.connection_pool import shield_to_completion
from copydesk.text.formatting import plural
from copydesk.text.redaction import describe_error

log = logging.getLogger(__name__)
INTERVAL = timedelta(seconds=30)
"""Upper bound for noticing work that no commit announces, such as the deliveries of a killed process."""
WATCH_INTERVAL = timedelta(seconds=0.5)
"""Interval of the check for new work: a commit by any process, or a draft whose time has passed."""
_JOB_ID = "poll"
# Without a handler Python prints APScheduler's warnings to stderr, which is the console's screen.
logging.getLogger("apscheduler").addHandler(logging.NullHandler())


class JobOutcome(NamedTuple):
    """A message about something a job did."""

    message: str
    """Empty if there is nothing to tell about it."""
    failed: bool = False


JobHandler = Callable[[Desk], Awaitable[Sequence[JobOutcome]]]


async def _apply_zone_changes(desk: Desk) -> Sequence[JobOutcome]:
    draft_ids = await desk.schedule.due_drafts.apply_zone_changes()
    return _single_outcome(f"{plural(len(draft_ids), 'draft')} moved: time zone rules changed") if draft_ids else ()


async def _mark_missed(desk: Desk) -> Sequence[JobOutcome]:
    draft_ids = await desk.schedule.due_drafts.mark_missed()
    missed = _single_outcome(f"{plural(len(draft_ids), 'draft')} missed: nothing was sent") if draft_ids else ()
    return [*missed, *_delivery_outcomes(await desk.posting.give_up_late())]


async def _dispatch_due(desk: Desk) -> Sequence[JobOutcome]:
    dispatched = await desk.schedule.due_drafts.dispatch_due()
    return _single_outcome(f"{plural(len(dispatched), 'draft')} picked up") if dispatched else ()


async def _send_due(desk: Desk) -> Sequence[JobOutcome]:
    return _delivery_outcomes(await desk.posting.send_due())


def _delivery_outcomes(reports: Sequence[DeliveryReport]) -> Sequence[JobOutcome]:
    """Return an outcome for each delivery; one for which the user has to act counts as failed."""
    return [
        JobOutcome(f"{report.draft_id} to {report.account}: {report.says}", report.next_by is NextBy.USER)
        for report in reports
    ]


async def _send_events(desk: Desk) -> Sequence[JobOutcome]:
    report = await desk.webhooks.send_due()
    disabled = [
        JobOutcome(f"webhook {webhook.url} disabled after days of failed attempts", failed=True)
        for webhook in report.disabled
    ]
    # After an outcome without a message the jobs are polled again: the next event may be due by now.
    return disabled or ([JobOutcome("")] if report.attempts else ())


async def _collect_metrics(desk: Desk) -> Sequence[JobOutcome]:
    count = await desk.posting.collect_metrics()
    return _single_outcome(f"metrics of {plural(count, 'post')} updated") if count else ()


async def _run_pipeline(desk: Desk) -> Sequence[JobOutcome]:
    # Only sources that are due: each has its own interval, and asking more often gets a reader blocked.
    run = await desk.pipeline.run(RunRequest(due=True))
    if run.status is RunStatus.FAILED:
        # Fail the job too, so that it is not started again before the error backoff is over.
        raise CopydeskError(run.error or "The run failed.")
    stats = run.stats
    failed = stats.sources_failed
    failures = f", {plural(failed, 'source')} failed" if failed else ""
    return _single_outcome(
        f"{run.status}: {plural(stats.drafts_created, 'draft')} from {plural(stats.items_considered, 'item')}{failures}"
    )


async def _generate_texts(desk: Desk) -> Sequence[JobOutcome]:
    outcomes = await desk.generation.drain()
    written = sum(outcomes)
    failed = len(outcomes) - written
    failures = f", {failed} failed" if failed else ""
    return _single_outcome(f"{plural(written, 'draft')} generated{failures}") if outcomes else ()


async def _estimate_confidence(desk: Desk) -> Sequence[JobOutcome]:
    await desk.learning.refresh_confidence()
    return ()


async def _back_up(desk: Desk) -> Sequence[JobOutcome]:
    await desk.backups.create_automatic()
    return ()


async def _prune(desk: Desk) -> Sequence[JobOutcome]:
    await desk.retention.prune()
    return ()


HANDLERS: Mapping[JobName, JobHandler] = {
    JobName.ZONES: _apply_zone_changes,
    JobName.MISSED: _mark_missed,
    JobName.DUE: _dispatch_due,
    JobName.POSTING: _send_due,
    JobName.WEBHOOKS: _send_events,
    JobName.METRICS: _collect_metrics,
    JobName.GENERATION: _generate_texts,
    JobName.CONFIDENCE: _estimate_confidence,
    JobName.PIPELINE: _run_pipeline,
    JobName.BACKUP: _back_up,
    JobName.RETENTION: _prune,
}


def _single_outcome(message: str) -> Sequence[JobOutcome]:
    return (JobOutcome(message),)


DAY = timedelta(days=1)
ERROR_BACKOFF = timedelta(minutes=1)
"""Time a job is not started again after an error, or after its process died twice while it ran."""
BACKUP_RETRY = timedelta(hours=1)
"""Minimum time between the starts of two automatic backups, also after one that failed or was cancelled."""
CONSOLE_BACKUP_DELAY = timedelta(minutes=1)
"""Time after the start of a console before which it makes no backup: the user waits for its screens."""
HEARTBEAT_INTERVAL = 15.0
"""Seconds between heartbeats of a job; a quarter of its lease."""
SHUTDOWN_TIMEOUT = 5.0
"""Seconds that jobs get to finish when the process exits. Then they are cancelled; what they committed stays."""


class DueInputs(Struct, frozen=True):
    """Inputs of the decision which jobs are due."""

    now: datetime
    started: datetime
    """When this process started."""
    late: bool
    """A draft is late by more than its grace period."""
    due: bool
    """A draft's time has come, and it can be dispatched now."""
    to_send: bool
    """A delivery can be processed, and the wall clock can be trusted."""
    to_notify: bool
    """An event can be sent to a webhook."""
    to_measure: bool
    """A post's metrics are due, and the wall clock can be trusted."""
    to_write: bool
    """A draft waits for its text."""
    to_estimate: bool
    """The confidences of drafts are out of date."""
    posts: bool
    """This process posts and reads metrics."""
    fetches_sources: bool
    """This process fetches sources."""
    to_fetch: bool
    """A source is due."""
    to_back_up: bool
    """The newest automatic backup is too old, and this process may make one by now."""
    to_prune: bool
    """This process may delete old data by now."""
    pause: timedelta
    """Minimum time between the starts of two pipeline runs."""
    states: tuple[JobState, ...]
    running: frozenset[str]
    """Names of the jobs whose leases live processes hold."""


def due_jobs(inputs: DueInputs) -> tuple[JobName, ...]:
    """Return the jobs that are due, in the order in which to start them."""
    states = {state.name: state for state in inputs.states}
    is_due = {
        JobName.ZONES: _is_zone_check_due(inputs, states.get(JobName.ZONES)),
        JobName.MISSED: inputs.late,
        JobName.DUE: inputs.posts and inputs.due,
        JobName.POSTING: inputs.posts and inputs.to_send,
        JobName.WEBHOOKS: inputs.to_notify,
        # Metrics are read whole days after a post, so often in the minute of the next one, which cannot be sent while
        # they are read: both need the account's lease.
        JobName.METRICS: inputs.posts and inputs.to_measure and not inputs.due,
        JobName.GENERATION: inputs.to_write,
        JobName.CONFIDENCE: inputs.to_estimate,
        JobName.PIPELINE: inputs.fetches_sources and _is_run_due(states.get(JobName.PIPELINE), inputs),
        JobName.BACKUP: inputs.to_back_up and _is_interval_over(states.get(JobName.BACKUP), inputs.now, BACKUP_RETRY),
        JobName.RETENTION: inputs.to_prune and _is_interval_over(states.get(JobName.RETENTION), inputs.now, DAY),
    }
    # The order of `JobName` matters: drafts that are too late are marked before due ones are dispatched.
    return tuple(name for name in JobName if is_due[name] and not _is_backing_off(states.get(name), inputs.now))


def _is_zone_check_due(inputs: DueInputs, state: JobState | None) -> bool:
    """Return True once after each start, since updates bring a new time zone database, once a day, and after errors."""
    if state is None or state.began_at is None or state.began_at < inputs.started:
        return True
    # Not a day later: until then drafts would go out by the old rules.
    return _has_failed(state) or _is_interval_over(state, inputs.now, DAY)


def _is_interval_over(state: JobState | None, now: datetime, minimum: timedelta) -> bool:
    if state is None or state.began_at is None:
        return True
    # The job is running, or its process was killed before it finished. Acquiring the lease finds out which.
    if state.owner is not None:
        return True
    # `abs`: if the clock was ahead, the job may have started in the future; do not wait for that time.
    return abs(now - state.began_at) >= minimum


def _is_run_due(state: JobState | None, inputs: DueInputs) -> bool:
    """Return True if a source is due and the pause after a run is over, or the last run failed or was interrupted."""
    if state is None or state.began_at is None:
        return inputs.to_fetch
    if state.name in inputs.running:
        return False
    # `abs` as above.
    is_pause_over = abs(inputs.now - state.began_at) >= inputs.pause
    has_failed = _has_failed(state)
    # It may have left items without drafts although no source is due: stored by a process that was killed since.
    if state.is_unfinished:
        # At once, but only once: a run that exhausts the memory would kill each process that repeats it.
        return is_pause_over or not has_failed
    # Only the sources that it left are due: each has its own interval.
    return inputs.to_fetch and (is_pause_over or has_failed)


def _has_failed(state: JobState) -> bool:
    return state.failed_at is not None and state.began_at is not None and state.failed_at >= state.began_at


def _is_backing_off(state: JobState | None, now: datetime) -> bool:
    # `abs` as above: a failure in the future must not stop the job until that time.
    return state is not None and state.failed_at is not None and abs(now - state.failed_at) < ERROR_BACKOFF


def _without_jobs(due_work: DueWork) -> DueWork:
    """Return the due work without the jobs' states, which change whenever a job runs."""
    return replace(due_work, jobs=(), running=frozenset())


class JobMessage(Struct, frozen=True):
    """A message about a finished job or an error."""

    at: datetime
    job: str
    """Name of a job; `clock` for the wall clock, `poll` for the check for due jobs, `queue` for that of workers."""
    text: str
    failed: bool = False


Listener = Callable[[JobMessage], None]
UserListener = Callable[[User, JobMessage], None]


class Jobs:
    """The jobs that this process runs, as long as no other process holds their leases.

    It posts only with `posts`, and fetches sources only with `fetches_sources`. With a `backup_delay` it makes backups
    and deletes old data, this long after its start; without `makes_backups` it only deletes. Time zones are checked
    daily, and after each start unless many processes start.
    """

    def __init__(
        self,
        desk: Desk,
        *,
        posts: bool = True,
        fetches_sources: bool = False,
        backup_delay: timedelta | None = None,
        makes_backups: bool = True,
        checks_zones_at_start: bool = True,
        listener: Listener | None = None,
    ) -> None:
        self._desk = desk
        self._checks_zones_at_start = checks_zones_at_start
        self._posts = posts
        self._fetches_sources = fetches_sources
        self._backup_delay = backup_delay
        self._makes_backups = makes_backups
        self._listener = listener
        self._clock = desk.clock
        self._started = self._clock()
        self._running: set[JobName] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        """Running jobs, including their follow-up check for due jobs."""
        self._clock_warning: ClockWarning | None = None
        self._last_error = ""
        self._waiting_for_account: frozenset[str] = frozenset()
        """Due drafts that were reported already."""
        self._change_counter: int | None = None
        self._due_work: DueWork | None = None
        """The result of the last poll for due work."""
        self._stopping = False
        self.next_draft: datetime | None = None
        """When the next scheduled draft is due, as of the last poll."""

    async def tick(self) -> timedelta | None:
        """Start jobs that are due and not running; return the time until the next scheduled draft, or None."""
        # Started without waiting: a pipeline run takes minutes, and a due draft must not wait for it.
        for name in await self.find_due():
            self._start(name)
        return self.next_draft - self._clock() if self.next_draft else None

    async def find_due(self, *, settled: bool = False) -> tuple[JobName, ...]:
        """Return the jobs that are due, in the order in which to start them; `settled` as for `JobLeases.due_work`.

        Errors are reported to the listener once, and the check is repeated at the next tick. Returns nothing once the
        desk is closed.
        """
        self.next_draft = None
        if self._stopping:
            return ()
        try:
            # One read for all jobs. A query per job would take longer than the check, which runs twice a second.
            self._due_work = due_work = await self._desk.job_leases.due_work(settled=settled)
            await self._check_clock()
            can_dispatch = await self._check_due_drafts(due_work)
            to_back_up = self._makes_backups and self._may_clean_up() and await self._desk.backups.is_due()
        except Exception as error:
            self._report_error(error)
            return ()
        self._last_error = ""
        self.next_draft = due_work.next_draft
        return due_jobs(self._due_inputs(due_work, can_dispatch=can_dispatch, to_back_up=to_back_up))

    async def run(self, name: JobName) -> bool:
        """Run a job if its lease is free; return True if there was something to do. Errors are reported."""
        try:
            return await self._run_leased(name)
        except Exception as error:
            # Errors of the job itself are stored with it; this one comes from the database.
            self._report_error(error)
            return False

    async def send_account(self, account_id: str, limit: int) -> int:
        """Process at most `limit` deliveries to one account, as the job POSTING does for all; return their number.

        Errors are reported. The lease of the account takes the place of that of the job.
        """
        try:
            outcomes = _delivery_outcomes(await self._desk.posting.send_account(account_id, limit))
        except Exception as error:
            self._report_error(error)
            return 0
        for outcome in outcomes:
            self._notify(JobName.POSTING, outcome.message, failed=outcome.failed)
        return len(outcomes)

    async def has_new_work(self) -> bool:
        """Return True if something is due, or due sooner, that the last tick did not know of.

        Cheap enough for twice a second: the due work is read only after a commit by any connection or process. Work
        that was due at the last tick already is not new; its job may have nothing to do yet.
        """
        previous = self._due_work
        if self._stopping or previous is None:
            return False
        # Timers stand still while the machine is suspended.
        if previous.next_draft is not None and self._clock() >= previous.next_draft:
            return True
        try:
            counter = await self._desk.change_counter()
            if counter != self._change_counter:
                if _without_jobs(await self._desk.job_leases.due_work()) != _without_jobs(previous):
                    return True  # until a tick has seen it
                # Stored only if nothing is new, so that the check answers True until a tick has seen the work.
                self._change_counter = counter
        except Exception as error:  # the watch goes on, as the ticks do
            log.debug("The check for new work failed; the next tick reports it", exc_info=error)
        return False

    async def drain(self) -> None:
        """Wait for running jobs, and for jobs that become due when they end."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop(self, max_wait: float = SHUTDOWN_TIMEOUT) -> None:
        """Start no more jobs, wait up to `max_wait` seconds for running ones, then cancel them."""
        self._stopping = True
        tasks = tuple(self._tasks)
        try:
            if tasks and max_wait > 0:
                await asyncio.wait(tasks, timeout=max_wait)
        finally:
            # Also if this coroutine is cancelled while it waits.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _due_inputs(self, due_work: DueWork, *, can_dispatch: bool, to_back_up: bool) -> DueInputs:
        return DueInputs(
            now=self._clock(),
            started=self._started if self._checks_zones_at_start else datetime.min.replace(tzinfo=UTC),
            late=due_work.late and self._clock_warning is None,
            due=can_dispatch and self._clock_warning is None,
            to_send=due_work.to_send and self._clock_warning is None,
            to_notify=due_work.to_notify,
            # Ages of posts decide about the next reading: a clock that is ahead would make it the last one.
            to_measure=due_work.to_measure and self._clock_warning is None,
            to_write=due_work.to_write,
            to_estimate=due_work.to_estimate,
            posts=self._posts,
            fetches_sources=self._fetches_sources,
            to_fetch=due_work.to_fetch,
            to_back_up=to_back_up,
            # Like a backup: not while the user waits for the first screens. A clock that is ahead makes everything old.
            to_prune=self._may_clean_up() and self._clock_warning is None,
            pause=timedelta(minutes=self._desk.settings.jobs.pipeline_minutes),
            states=due_work.jobs,
            running=due_work.running,
        )

    def _may_clean_up(self) -> bool:
        # Also if the clock has been set back since: that is no reason to wait for the time to come again.
        return self._backup_delay is not None and abs(self._clock() - self._started) >= self._backup_delay

    async def _check_clock(self) -> None:
        """Check the wall clock; report a jump once."""
        warning = await self._desk.schedule.clock_warning()
        # Not before the check: others may have reported it meanwhile.
        before, self._clock_warning = self._clock_warning, warning
        if self._clock_warning is not None and before is None:
            message = "the clock jumped; posting is paused. Accept the time: copydesk schedule clock --accept"
            self._notify("clock", message, failed=True)

    async def _check_due_drafts(self, due_work: DueWork) -> bool:
        """Return True if a due draft can be dispatched now; report those that no account would post, each once."""
        if self._clock_warning is not None:
            return False
        found = await self._desk.schedule.due_drafts.check() if due_work.due else DueDraftsCheck()
        waiting = frozenset(found.waiting_for_account)
        if new := waiting - self._waiting_for_account:
            verb = "waits" if len(new) == 1 else "wait"
            self._notify(
                JobName.DUE,
                f"{plural(len(new), 'due draft')} {verb} for an account. Connect one: copydesk account connect bluesky",
                failed=True,
            )
        self._waiting_for_account = waiting
        return found.can_dispatch

    def _start(self, name: JobName) -> None:
        if not self._stopping and name not in self._running:
            self._running.add(name)
            task = asyncio.create_task(self._run_job(name), name=f"job {name}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run_job(self, name: JobName) -> None:
        """Run a job if its lease is free, and check again for due jobs if it did something."""
        try:
            has_run = await self.run(name)
        finally:
            self._running.discard(name)
        # What it did may have made another job due, e.g. a dispatched draft must be sent now.
        if has_run and not self._stopping:
            await self.tick()

    async def _run_leased(self, name: JobName) -> bool:
        """Run a job under its lease; return True if there was something to do. A failing job does not
        affect the others.
        """
        # The lease, not `self._running`, decides: the daemon, a console and the service may run on one database.
        lease = await self._acquire(name)
        if lease is None:
            return False
        outcomes: Sequence[JobOutcome] = ()
        failure, finished = None, False
        try:
            async with self._heartbeat(lease):
                outcomes = await HANDLERS[name](self._desk)
            finished = True
        except DeskClosedError:
            raise
        except Exception as error:
            failure, finished = error, True
            log.exception("The job %s failed", name)
        finally:
            # Also when cancelled, before or only now: with its lease held, the job would be blocked for the next
            # process until the lease runs out, and would look like one that was killed.
            await shield_to_completion(self._desk.job_leases.release(lease, finished=finished, error=failure))
        if failure is not None:
            self._notify(name, describe_error(failure), failed=True)
        for outcome in filter(lambda outcome: outcome.message, outcomes):
            self._notify(name, outcome.message, failed=outcome.failed)
        return bool(outcomes)

    async def _acquire(self, name: JobName) -> JobLease | None:
        """Acquire the lease of a job if it is still due."""
        # Another process may have run it, or died of it, since it was found to be due, or was put into the queue.
        due_work = await self._desk.job_leases.due_work()
        # Another worker may have found it due since the last poll of this one, which saw a clock in doubt.
        await self._check_clock()
        # Loads the due drafts, on which no other job depends.
        can_dispatch = name in {JobName.DUE, JobName.METRICS} and await self._check_due_drafts(due_work)
        inputs = self._due_inputs(due_work, can_dispatch=can_dispatch, to_back_up=name is JobName.BACKUP)
        if name not in due_jobs(inputs):
            return None
        return await self._desk.job_leases.acquire(name, due_work.jobs)

    @asynccontextmanager
    async def _heartbeat(self, lease: JobLease) -> AsyncIterator[None]:
        """Send heartbeats while the job runs; cancel it if another process has taken the lease."""
        task = asyncio.current_task()
        assert task is not None

        async def send_heartbeats() -> None:
            while True:
                await asyncio.sleep(HEARTBEAT_INTERVAL)
                with suppress(StoreError):  # the next heartbeat may succeed, and the job reports its own errors
                    # This process was suspended for longer than the lease, and another one runs the job now.
                    if not await self._desk.job_leases.renew(lease):
                        task.cancel()

        heartbeats = asyncio.create_task(send_heartbeats())
        try:
            yield
        finally:
            heartbeats.cancel()
            with suppress(asyncio.CancelledError):
                await heartbeats

    def _report_error(self, error: Exception) -> None:
        """Report an error of the check for due jobs, but not the same one twice in a row, and not a closed desk."""
        if isinstance(error, DeskClosedError):
            # Whoever closed the desk knows; there is nothing to run jobs for any more.
            self._stopping = True
            return
        log.warning("Polling for due jobs failed", exc_info=error)
        if (message := describe_error(error)) != self._last_error:
            self._last_error = message
            self._notify("poll", message, failed=True)

    def _notify(self, job: str, text: str, *, failed: bool = False) -> None:
        if self._listener is not None:
            self._listener(JobMessage(at=self._clock(), job=job, text=text, failed=failed))


@asynccontextmanager
async def run_jobs(
    desk: Desk,
    *,
    daemon: bool = False,
    listener: Listener | None = None,
    interval: timedelta = INTERVAL,
    shutdown_timeout: float = SHUTDOWN_TIMEOUT,
) -> AsyncIterator[Jobs]:
    """Run due jobs until the block exits. Set `daemon` in a process that exists for nothing else.

    Jobs still running at exit get `shutdown_timeout` seconds to finish.
    """
    jobs = _create_jobs(desk, daemon=daemon, listener=listener)
    async with _running(jobs, shutdown_timeout, interval):
        yield jobs


def _create_jobs(desk: Desk, *, daemon: bool, listener: Listener | None, makes_backups: bool = True) -> Jobs:
    settings = desk.settings.jobs
    return Jobs(
        desk,
        posts=daemon or settings.posting == "always",
        fetches_sources=settings.pipeline == "always" or (daemon and settings.pipeline == "daemon"),
        backup_delay=timedelta(0) if daemon else CONSOLE_BACKUP_DELAY,
        makes_backups=makes_backups,
        listener=listener,
    )


class AllJobs:
    """The jobs of all users of a database; those of a user who is added later start with the next tick."""

    def __init__(self, desks: Desks, listener: UserListener | None = None) -> None:
        self._desks = desks
        self._listener = listener
        self._jobs: dict[str, Jobs] = {}
        """By user id."""

    async def tick(self) -> timedelta | None:
        """Start what is due for each user; return the time until the next scheduled draft of any of them, or None."""
        try:
            await self._update_users()
        except CopydeskError as error:
            log.warning("The users cannot be read; jobs of those that are known go on", exc_info=error)
        # One user after the other: a tick only reads and starts, and all of them read through the same connections.
        waits = [await jobs.tick() for jobs in tuple(self._jobs.values())]
        return min((wait for wait in waits if wait is not None), default=None)

    async def has_new_work(self) -> bool:
        """Return True if the jobs of any user have some."""
        for jobs in tuple(self._jobs.values()):
            if await jobs.has_new_work():
                return True
        return False

    async def stop(self, max_wait: float = SHUTDOWN_TIMEOUT) -> None:
        """Stop the jobs of all users, as `Jobs.stop` does."""
        await asyncio.gather(*(jobs.stop(max_wait) for jobs in self._jobs.values()))

    async def _update_users(self) -> None:
        users = {user.id: user for user in await self._desks.users.list()}
        for user_id in self._jobs.keys() - users.keys():
            # The data of a removed user is gone, so there is nothing to finish.
            await self._jobs.pop(user_id).stop(0)
        for user in users.values():
            if user.id not in self._jobs:
                # The owner's make the backups: of two that begin at once one would be superfluous.
                self._jobs[user.id] = _create_jobs(
                    await self._desks.get(user),
                    daemon=True,
                    listener=partial(self._listener, user) if self._listener else None,
                    makes_backups=user.is_owner,
                )


@asynccontextmanager
async def run_all_jobs(
    desks: Desks,
    *,
    listener: UserListener | None = None,
    shutdown_timeout: float = SHUTDOWN_TIMEOUT,
) -> AsyncIterator[AllJobs]:
    """Run due jobs of all users until the block exits, as `run_jobs` does for one."""
    jobs = AllJobs(desks, listener)
    async with _running(jobs, shutdown_timeout):
        yield jobs


@asynccontextmanager
async def _running(
    jobs: Jobs | AllJobs, shutdown_timeout: float, interval: timedelta = INTERVAL
) -> AsyncIterator[None]:
    ticker = Ticker(jobs.tick, interval, has_new_work=jobs.has_new_work)
    ticker.start()
    try:
        yield
    finally:
        await ticker.stop()
        await jobs.stop(shutdown_timeout)


class Ticker:
    """Call `callback` periodically, never concurrently. It returns the longest time until it should be
    called again, or None. Between two calls ask `has_new_work`, and call it at once if there is some.
    """

    def __init__(
        self,
        callback: Callable[[], Awaitable[timedelta | None]],
        interval: timedelta = INTERVAL,
        *,
        has_new_work: Callable[[], Awaitable[bool]] | None = None,
        watch_interval: timedelta = WATCH_INTERVAL,
    ) -> None:
        self._callback = callback
        self._interval = interval
        self._has_new_work = has_new_work
        self._watch_interval = watch_interval
        self._tasks: set[asyncio.Task[None]] = set()
        self._watchdog: asyncio.TimerHandle | None = None
        self._watcher: asyncio.Task[None] | None = None
        # After a suspend run once instead of dropping the missed runs or running each.
        defaults = {"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        self._scheduler = AsyncIOScheduler(timezone=UTC, job_defaults=defaults)

    def start(self) -> None:
        """Start the timer, with a first call at once."""
        seconds = self._interval.total_seconds()
        self._scheduler.add_job(self._tick, "interval", seconds=seconds, id=_JOB_ID, next_run_time=datetime.now(UTC))
        self._scheduler.start()
        self._check_next_run()
        if self._has_new_work is not None:
            self._watcher = asyncio.create_task(self._watch(self._has_new_work), name="watch for new work")

    def _call_sooner(self, wait: timedelta) -> None:
        """Schedule the next call after `wait`, if that is sooner than the interval."""
        if self._scheduler.running and wait < self._interval:
            # The interval stays the upper bound: it notices the work of killed processes.
            self._scheduler.modify_job(_JOB_ID, next_run_time=datetime.now(UTC) + wait)

    async def stop(self) -> None:
        """Stop the timer and cancel a running call, which is safe because it only reads."""
        if self._watchdog is not None:
            self._watchdog.cancel()
        # Without waiting: a running call is cancelled below, and it would wait for the loop that waits for it.
        self._scheduler.shutdown(wait=False)
        await asyncio.sleep(0)  # shutdown() only schedules its work in the loop; let it run
        tasks = set(self._tasks)
        if self._watcher is not None:
            self._watcher.cancel()
            tasks.add(self._watcher)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _tick(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            wait = await self._callback()
            if wait is not None:
                self._call_sooner(wait)
        finally:
            self._tasks.discard(task)

    async def _watch(self, has_new_work: Callable[[], Awaitable[bool]]) -> None:
        while True:
            await asyncio.sleep(self._watch_interval.total_seconds())
            if await has_new_work():
                self._call_sooner(timedelta(0))

    def _check_next_run(self) -> None:
        """Bring the next call forward if it is too far away, as after the wall clock was set back."""
        now = datetime.now(UTC)
        job = self._scheduler.get_job(_JOB_ID)
        if job is not None and job.next_run_time is not None and job.next_run_time > now + self._interval:
            self._scheduler.modify_job(_JOB_ID, next_run_time=now)
        self._watchdog = asyncio.get_running_loop().call_later(self._interval.total_seconds(), self._check_next_run)


__all__ = ["AllJobs", "JobMessage", "Jobs", "Listener", "UserListener", "run_all_jobs", "run_jobs"]
