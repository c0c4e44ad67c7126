"""Tests for selecting due drafts and for detecting jumps of the clock."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.scheduling.due import (
    MIN_POST_INTERVAL,
    ClockReading,
    DueDraft,
    clock_jump,
    clock_lag,
    is_missed,
    select_due,
)

NOW = datetime(2026, 11, 30, 14, 30, tzinfo=UTC)
TICK = timedelta(microseconds=1)


def due(name, late_by, *accounts, format=Format.BLOG):
    return DueDraft(draft_id=name, format=format, at=NOW - timedelta(minutes=late_by), accounts=accounts or ("a",))


def due_ids(drafts, last_sent=None):
    return [draft.draft_id for draft in select_due(drafts, last_sent or {}, NOW)]


@pytest.mark.parametrize(("format", "minutes"), [(Format.SHORT, 30), (Format.THREAD, 30), (Format.BLOG, 24 * 60)])
def test_draft_is_missed_after_grace_period(format, minutes):
    at = NOW - timedelta(minutes=minutes)
    assert not is_missed(at, format, NOW)
    assert is_missed(at - TICK, format, NOW)


def test_grace_period_is_configurable():
    grace = dict.fromkeys(Format, timedelta(0))
    assert not is_missed(NOW, Format.BLOG, NOW, grace)
    assert is_missed(NOW - TICK, Format.BLOG, NOW, grace)


def test_only_oldest_goes_out_after_downtime():
    assert due_ids([due("new", 5), due("oldest", 25), due("old", 15)]) == ["oldest"]


def test_pace_is_per_account():
    assert due_ids([due("a1", 20, "a"), due("b1", 10, "b"), due("b2", 5, "b")]) == ["a1", "b1"]


def test_account_pauses_five_minutes():
    assert due_ids([due("d", 10)], {"a": NOW - MIN_POST_INTERVAL + TICK}) == []
    assert due_ids([due("d", 10)], {"a": NOW - MIN_POST_INTERVAL}) == ["d"]


def test_slot_five_minutes_after_the_last_post_is_on_time():
    """The last post went out a moment after its slot."""
    sent_at = NOW - timedelta(minutes=5) + timedelta(seconds=2)
    assert due_ids([due("d", 0)], {"a": sent_at}) == ["d"]


def test_draft_waits_for_all_its_accounts():
    """Later drafts do not overtake it on any of them."""
    assert due_ids([due("both", 20, "a", "b"), due("only-b", 10, "b")], {"a": NOW}) == []


def test_future_and_missed_drafts_are_not_due():
    assert due_ids([due("soon", -1), due("missed", 31, format=Format.SHORT), due("now", 0)]) == ["now"]


def test_missed_draft_does_not_block_account():
    assert due_ids([due("missed", 31, format=Format.SHORT), due("fresh", 1)]) == ["fresh"]


def test_post_from_future_does_not_block_account():
    """It was recorded while the system clock was ahead."""
    assert due_ids([due("d", 10)], {"a": NOW + timedelta(days=400)}) == ["d"]


@given(
    st.lists(st.tuples(st.integers(-5, 60), st.sets(st.sampled_from("abc"), min_size=1), st.sampled_from(Format))),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 10)),
)
def test_all_drafts_are_sent_or_missed(waiting, sent):
    """And no account sends twice within its pace."""
    drafts = {due(f"{count:02}", late, *on, format=kind) for count, (late, on, kind) in enumerate(waiting)}
    last = {account: NOW - timedelta(minutes=ago) for account, ago in sent.items()}
    now = NOW
    for _ in range(300):
        for draft in select_due(drafts, last, now):
            assert all(
                now - last.get(account, NOW - MIN_POST_INTERVAL) >= MIN_POST_INTERVAL for account in draft.accounts
            )
            last |= dict.fromkeys(draft.accounts, now)
            drafts.discard(draft)
        now += timedelta(minutes=1)
    assert all(is_missed(draft.at, draft.format, now) for draft in drafts)


START = datetime(2026, 11, 30, 14, 30, tzinfo=UTC)
HOUR, ZERO = timedelta(hours=1), timedelta(0)


def reading(wall, monotonic, *, counts_sleep=True):
    return ClockReading(wall=START + timedelta(seconds=wall), monotonic=1000.0 + monotonic, counts_sleep=counts_sleep)


@pytest.mark.parametrize("counts_sleep", [True, False])
def test_agreeing_clocks_have_not_jumped(counts_sleep):
    then, now = reading(0, 0, counts_sleep=counts_sleep), reading(3600, 3599.5, counts_sleep=counts_sleep)
    assert clock_jump(then, now) == ZERO


def test_sleep_is_not_a_jump():
    assert clock_jump(reading(0, 0), reading(8 * 3600, 8 * 3600)) == ZERO
    assert clock_jump(reading(0, 0, counts_sleep=False), reading(8 * 3600, 30, counts_sleep=False)) == ZERO


def test_forward_jump_is_detected():
    """Only a clock that counts sleep can tell a jump from sleep."""
    assert clock_jump(reading(0, 0), reading(3630, 30)) == HOUR


@pytest.mark.parametrize("counts_sleep", [True, False])
def test_backward_jump_is_detected(counts_sleep):
    then, now = reading(0, 0, counts_sleep=counts_sleep), reading(-3570, 30, counts_sleep=counts_sleep)
    assert clock_jump(then, now) == -HOUR


def test_jump_threshold_is_one_minute():
    assert clock_jump(reading(0, 0), reading(90, 30)) == ZERO
    assert clock_jump(reading(0, 0), reading(-30, 30)) == ZERO
    assert clock_jump(reading(0, 0), reading(91, 30)) == timedelta(seconds=61)
    assert clock_jump(reading(0, 0), reading(-31, 30)) == timedelta(seconds=-61)


def test_gradual_drift_is_detected():
    readings = [reading(80 * count, 30 * count) for count in range(4)]
    assert all(clock_jump(then, now) == ZERO for then, now in pairwise(readings))
    assert clock_jump(readings[0], readings[-1]) == timedelta(seconds=150)


def test_clock_before_last_event_is_behind():
    assert clock_lag(START - HOUR, START) == HOUR
    assert clock_lag(START - timedelta(seconds=60), START) == ZERO
    assert clock_lag(START + HOUR, START) == ZERO
