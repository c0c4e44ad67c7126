"""Tests for missed drafts, and for the pace at which late ones go out."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.scheduling.missed import MIN_POST_INTERVAL, DueDraft, is_missed, select_due

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
