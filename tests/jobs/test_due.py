"""Which jobs are due, case by case."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from copydesk.jobs.due import DAY, REST, Situation, due_jobs
from copydesk.model.job import JobName, JobState
from desk_fixtures import NOW

PAUSE = timedelta(minutes=15)
SECOND = timedelta(seconds=1)
IDLE = Situation(
    now=NOW,
    started=NOW,
    late=False,
    due=False,
    to_send=False,
    to_measure=False,
    to_write=False,
    to_read=False,
    pause=PAUSE,
    states=(),
)


def state(name: JobName, **values: object) -> JobState:
    """What is kept of a job."""
    empty = dict.fromkeys(("owner", "lease_until", "began_at", "ended_at", "failed_at", "error"))
    return JobState(name=name, **(empty | values))


FOLLOWED = state(JobName.ZONES, began_at=NOW)


@pytest.mark.parametrize(
    ("field", "job"),
    [
        ("late", JobName.MISSED),
        ("due", JobName.DUE),
        ("to_send", JobName.POSTING),
        ("to_measure", JobName.FIGURES),
        ("to_write", JobName.GENERATION),
        ("to_read", JobName.PIPELINE),
    ],
)
def test_each_job_has_its_reason(field: str, job: JobName) -> None:
    quiet = replace(IDLE, states=(FOLLOWED,))
    assert due_jobs(quiet) == ()
    assert due_jobs(replace(quiet, **{field: True})) == (job,)


def test_several_are_begun_in_their_order() -> None:
    every = replace(IDLE, late=True, due=True, to_send=True, to_measure=True, to_write=True, to_read=True)
    assert due_jobs(every) == tuple(JobName)


def test_zones_are_followed_at_each_start_and_once_a_day() -> None:
    assert due_jobs(IDLE) == (JobName.ZONES,)
    seen = replace(IDLE, states=(FOLLOWED,))
    assert due_jobs(seen) == ()
    assert due_jobs(replace(seen, now=NOW + DAY - SECOND)) == ()
    assert due_jobs(replace(seen, now=NOW + DAY)) == (JobName.ZONES,)
    assert due_jobs(replace(seen, started=NOW + SECOND, now=NOW + SECOND)) == (JobName.ZONES,)


def test_between_two_runs_there_is_a_pause() -> None:
    began = state(JobName.PIPELINE, began_at=NOW)
    seen = replace(IDLE, to_read=True, states=(FOLLOWED, began))
    assert due_jobs(replace(seen, now=NOW + PAUSE - SECOND)) == ()
    assert due_jobs(replace(seen, now=NOW + PAUSE)) == (JobName.PIPELINE,)


def test_a_run_whose_process_may_have_been_killed_is_not_waited_for() -> None:
    began = state(JobName.PIPELINE, began_at=NOW, owner="host/1/1")
    assert due_jobs(replace(IDLE, to_read=True, states=(FOLLOWED, began))) == (JobName.PIPELINE,)


def test_what_began_in_the_future_is_not_waited_for() -> None:
    """A clock that was a year ahead would have kept the sources unread for a year."""
    began = state(JobName.PIPELINE, began_at=NOW + timedelta(days=365))
    assert due_jobs(replace(IDLE, to_read=True, states=(FOLLOWED, began))) == (JobName.PIPELINE,)


def test_after_an_error_a_job_rests_and_the_others_go_on() -> None:
    failed = state(JobName.MISSED, failed_at=NOW, error="no")
    seen = replace(IDLE, late=True, to_write=True, states=(FOLLOWED, failed))
    assert due_jobs(replace(seen, now=NOW + REST - SECOND)) == (JobName.GENERATION,)
    assert due_jobs(replace(seen, now=NOW + REST)) == (JobName.MISSED, JobName.GENERATION)
