"""Decide which jobs are due, given what the database says."""

from datetime import datetime, timedelta

from copydesk.model.job import JobName, JobState
from copydesk.model.wire import Struct

DAY = timedelta(days=1)
ERROR_BACKOFF = timedelta(minutes=1)
"""Time a job is not started again after an error."""


class DueInputs(Struct, frozen=True):
    """Inputs of the decision."""

    now: datetime
    started: datetime
    """When this process started."""
    late: bool
    """A draft is late by more than its grace period."""
    due: bool
    """A draft's time has come, and an account is connected to which it can go."""
    to_send: bool
    """A delivery can be processed, and the wall clock can be trusted."""
    to_measure: bool
    """A post's metrics are due."""
    to_write: bool
    """A draft waits for its text."""
    to_fetch: bool
    """A source is due, and this process fetches sources."""
    pause: timedelta
    """Minimum time between the starts of two pipeline runs."""
    states: tuple[JobState, ...]


def due_jobs(inputs: DueInputs) -> tuple[JobName, ...]:
    """Return the jobs that are due, in the order in which to start them."""
    states = {state.name: state for state in inputs.states}
    is_due = {
        JobName.ZONES: _is_zone_check_due(inputs, states.get(JobName.ZONES)),
        JobName.MISSED: inputs.late,
        JobName.DUE: inputs.due,
        JobName.POSTING: inputs.to_send,
        JobName.METRICS: inputs.to_measure,
        JobName.GENERATION: inputs.to_write,
        JobName.PIPELINE: inputs.to_fetch and _is_interval_over(states.get(JobName.PIPELINE), inputs.now, inputs.pause),
    }
    return tuple(name for name in JobName if is_due[name] and not _is_backing_off(states.get(name), inputs.now))


def _is_zone_check_due(inputs: DueInputs, state: JobState | None) -> bool:
    """Return True once after each start, since updates bring a new time zone database, and then once a day."""
    if state is None or state.began_at is None or state.began_at < inputs.started:
        return True
    return _is_interval_over(state, inputs.now, DAY)


def _is_interval_over(state: JobState | None, now: datetime, minimum: timedelta) -> bool:
    if state is None or state.began_at is None:
        return True
    # The job is running, or its process was killed before it finished. Acquiring the lease finds out which.
    if state.owner is not None:
        return True
    # `abs`: if the clock was ahead, the job may have started in the future; do not wait for that time.
    return abs(now - state.began_at) >= minimum


def _is_backing_off(state: JobState | None, now: datetime) -> bool:
    return state is not None and state.failed_at is not None and abs(now - state.failed_at) < ERROR_BACKOFF
