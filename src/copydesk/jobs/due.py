"""Which jobs are due. Pure: what the database says comes in."""

from datetime import datetime, timedelta

from copydesk.model.job import JobName, JobState
from copydesk.model.wire import Struct

DAY = timedelta(days=1)
REST = timedelta(minutes=1)
"""After an error a job is left alone for so long."""


class Situation(Struct, frozen=True):
    """What is known at a look."""

    now: datetime
    started: datetime
    """When this process began to look."""
    late: bool
    """Whether a draft is late by more than its grace period."""
    due: bool
    """Whether a draft's time has come, and there is an account that it can go to."""
    to_send: bool
    """Whether something can be done about a delivery, and the clock can be trusted."""
    to_measure: bool
    """Whether the figures of a post are to be read."""
    to_write: bool
    """Whether a draft waits for its text."""
    to_read: bool
    """Whether a source's time has come, and this process reads sources."""
    pause: timedelta
    """Between two runs of the pipeline, at least."""
    states: tuple[JobState, ...]


def due_jobs(seen: Situation) -> tuple[JobName, ...]:
    """The jobs that are due, in the order in which they are begun."""
    states = {state.name: state for state in seen.states}
    wanted = {
        JobName.ZONES: _zones(seen, states.get(JobName.ZONES)),
        JobName.MISSED: seen.late,
        JobName.DUE: seen.due,
        JobName.POSTING: seen.to_send,
        JobName.FIGURES: seen.to_measure,
        JobName.GENERATION: seen.to_write,
        JobName.PIPELINE: seen.to_read and _began_before(states.get(JobName.PIPELINE), seen.now, seen.pause),
    }
    return tuple(name for name in JobName if wanted[name] and not _rests(states.get(name), seen.now))


def _zones(seen: Situation, state: JobState | None) -> bool:
    """At every start, for the time zone database comes with an update, and once a day."""
    if state is None or state.began_at is None or state.began_at < seen.started:
        return True
    return _began_before(state, seen.now, DAY)


def _began_before(state: JobState | None, now: datetime, span: timedelta) -> bool:
    if state is None or state.began_at is None:
        return True
    # Somebody is at it, or was when he was killed, and then it was not done: whoever claims it finds out which.
    if state.owner is not None:
        return True
    # By a clock that was wrong it may have begun in the future: then it is not waited for.
    return abs(now - state.began_at) >= span


def _rests(state: JobState | None, now: datetime) -> bool:
    return state is not None and state.failed_at is not None and abs(now - state.failed_at) < REST
