"""Tests for which jobs are due."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from copydesk.jobs import BACKUP_RETRY, DAY, ERROR_BACKOFF, DueInputs, due_jobs
from copydesk.model.job import JobName, JobState
from desk_fixtures import NOW

PIPELINE_PAUSE = timedelta(minutes=15)
SECOND = timedelta(seconds=1)
IDLE = DueInputs(
    now=NOW,
    started=NOW,
    late=False,
    due=False,
    to_send=False,
    to_notify=False,
    to_measure=False,
    to_write=False,
    to_estimate=False,
    posts=True,
    fetches_sources=True,
    to_fetch=False,
    to_back_up=False,
    to_prune=False,
    pause=PIPELINE_PAUSE,
    states=(),
    running=frozenset(),
)


def make_state(name: JobName, **values: object) -> JobState:
    """Return a job's stored state, empty but for `values`."""
    empty = dict.fromkeys(("owner", "lease_until", "began_at", "ended_at", "failed_at", "error"))
    return JobState(name=name, **(empty | values))


ZONES_CHECKED = make_state(JobName.ZONES, began_at=NOW)


@pytest.mark.parametrize(
    ("field", "job"),
    [
        ("late", JobName.MISSED),
        ("due", JobName.DUE),
        ("to_send", JobName.POSTING),
        ("to_notify", JobName.WEBHOOKS),
        ("to_measure", JobName.METRICS),
        ("to_write", JobName.GENERATION),
        ("to_estimate", JobName.CONFIDENCE),
        ("to_fetch", JobName.PIPELINE),
        ("to_back_up", JobName.BACKUP),
        ("to_prune", JobName.RETENTION),
    ],
)
def test_field_makes_job_due(field: str, job: JobName) -> None:
    idle = replace(IDLE, states=(ZONES_CHECKED,))
    assert due_jobs(idle) == ()
    assert due_jobs(replace(idle, **{field: True})) == (job,)


def test_several_due_jobs_keep_order() -> None:
    inputs = {
        "late",
        "due",
        "to_send",
        "to_notify",
        "to_measure",
        "to_write",
        "to_estimate",
        "to_fetch",
        "to_back_up",
        "to_prune",
    }
    situation = replace(IDLE, **dict.fromkeys(inputs, True))
    assert due_jobs(situation) == tuple(name for name in JobName if name is not JobName.METRICS)


def test_metrics_wait_for_due_drafts() -> None:
    situation = replace(IDLE, to_measure=True, states=(ZONES_CHECKED,))
    assert due_jobs(replace(situation, due=True)) == (JobName.DUE,)
    assert due_jobs(replace(situation, to_send=True)) == (JobName.POSTING, JobName.METRICS)


def test_zones_are_checked_at_start_and_daily() -> None:
    assert due_jobs(IDLE) == (JobName.ZONES,)
    situation = replace(IDLE, states=(ZONES_CHECKED,))
    assert due_jobs(situation) == ()
    assert due_jobs(replace(situation, now=NOW + DAY - SECOND)) == ()
    assert due_jobs(replace(situation, now=NOW + DAY)) == (JobName.ZONES,)
    assert due_jobs(replace(situation, started=NOW + SECOND, now=NOW + SECOND)) == (JobName.ZONES,)


def test_zones_are_checked_again_after_an_error() -> None:
    failed = make_state(JobName.ZONES, began_at=NOW, ended_at=NOW, failed_at=NOW, error="no")
    situation = replace(IDLE, states=(failed,))
    assert due_jobs(replace(situation, now=NOW + ERROR_BACKOFF - SECOND)) == ()
    assert due_jobs(replace(situation, now=NOW + ERROR_BACKOFF)) == (JobName.ZONES,)


def test_pause_between_pipeline_runs() -> None:
    ended = make_state(JobName.PIPELINE, began_at=NOW, ended_at=NOW + SECOND, failed_at=NOW - SECOND)
    situation = replace(IDLE, to_fetch=True, states=(ZONES_CHECKED, ended))
    assert due_jobs(replace(situation, now=NOW + PIPELINE_PAUSE - SECOND)) == ()
    assert due_jobs(replace(situation, now=NOW + PIPELINE_PAUSE)) == (JobName.PIPELINE,)


def test_no_pause_after_a_run_that_failed_or_was_interrupted() -> None:
    failed = make_state(JobName.PIPELINE, began_at=NOW, ended_at=NOW, failed_at=NOW, error="no")
    situation = replace(IDLE, to_fetch=True, states=(ZONES_CHECKED, failed))
    assert due_jobs(replace(situation, now=NOW + ERROR_BACKOFF - SECOND)) == ()
    assert due_jobs(replace(situation, now=NOW + ERROR_BACKOFF)) == (JobName.PIPELINE,)
    interrupted = make_state(JobName.PIPELINE, began_at=NOW, ended_at=NOW - SECOND)
    assert due_jobs(replace(situation, states=(ZONES_CHECKED, interrupted))) == (JobName.PIPELINE,)


@pytest.mark.parametrize("ended_at", [None, NOW - SECOND])
def test_interrupted_run_is_repeated_before_a_source_is_due(ended_at: datetime | None) -> None:
    interrupted = make_state(JobName.PIPELINE, began_at=NOW, ended_at=ended_at)
    situation = replace(IDLE, states=(ZONES_CHECKED, interrupted))
    assert due_jobs(situation) == (JobName.PIPELINE,)
    assert due_jobs(replace(situation, fetches_sources=False)) == ()


def test_run_is_not_due_while_it_is_running() -> None:
    began = make_state(JobName.PIPELINE, began_at=NOW, owner="host/1/1")
    situation = replace(IDLE, to_fetch=True, states=(ZONES_CHECKED, began))
    assert due_jobs(replace(situation, running=frozenset((JobName.PIPELINE,)))) == ()
    assert due_jobs(situation) == (JobName.PIPELINE,)


def test_pause_after_two_interrupted_runs() -> None:
    repeated = make_state(JobName.PIPELINE, began_at=NOW, ended_at=NOW - SECOND, failed_at=NOW)
    situation = replace(IDLE, states=(ZONES_CHECKED, repeated))
    assert due_jobs(replace(situation, now=NOW + PIPELINE_PAUSE - SECOND)) == ()
    assert due_jobs(replace(situation, now=NOW + PIPELINE_PAUSE)) == (JobName.PIPELINE,)


def test_nothing_is_posted_where_posting_is_off() -> None:
    situation = replace(IDLE, late=True, due=True, to_send=True, states=(ZONES_CHECKED,))
    assert due_jobs(situation) == (JobName.MISSED, JobName.DUE, JobName.POSTING)
    # What nobody has posted in time is told all the same.
    assert due_jobs(replace(situation, posts=False)) == (JobName.MISSED,)
    assert due_jobs(replace(IDLE, posts=False, to_measure=True, states=(ZONES_CHECKED,))) == ()


def test_nothing_is_fetched_where_fetching_is_off() -> None:
    assert due_jobs(replace(IDLE, fetches_sources=False, to_fetch=True, states=(ZONES_CHECKED,))) == ()


def test_pause_after_a_backup_that_failed_or_was_cancelled() -> None:
    began = make_state(JobName.BACKUP, began_at=NOW)
    situation = replace(IDLE, to_back_up=True, states=(ZONES_CHECKED, began))
    assert due_jobs(replace(situation, now=NOW + BACKUP_RETRY - SECOND)) == ()
    assert due_jobs(replace(situation, now=NOW + BACKUP_RETRY)) == (JobName.BACKUP,)


def test_abandoned_run_is_not_waited_for() -> None:
    running = make_state(JobName.PIPELINE, began_at=NOW, owner="host/1/1")
    assert due_jobs(replace(IDLE, to_fetch=True, states=(ZONES_CHECKED, running))) == (JobName.PIPELINE,)


def test_run_started_in_future_is_ignored() -> None:
    """A clock that was a year ahead would have kept the sources unfetched for a year."""
    future = NOW + timedelta(days=365)
    ended = make_state(JobName.PIPELINE, began_at=future, ended_at=future)
    assert due_jobs(replace(IDLE, to_fetch=True, states=(ZONES_CHECKED, ended))) == (JobName.PIPELINE,)


def test_failed_job_pauses_while_the_rest_continue() -> None:
    failed = make_state(JobName.MISSED, failed_at=NOW, error="no")
    situation = replace(IDLE, late=True, to_write=True, states=(ZONES_CHECKED, failed))
    assert due_jobs(replace(situation, now=NOW + ERROR_BACKOFF - SECOND)) == (JobName.GENERATION,)
    assert due_jobs(replace(situation, now=NOW + ERROR_BACKOFF)) == (JobName.MISSED, JobName.GENERATION)
