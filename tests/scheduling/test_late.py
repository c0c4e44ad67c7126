"""What may still go out after its time, and how fast."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.draft import Format
from copydesk.scheduling.late import PACE, Due, due_now, is_missed

NOW = datetime(2026, 11, 30, 14, 30, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)


def due(name, late_by, *accounts, format=Format.BLOG):
    return Due(draft_id=name, format=format, at=NOW - timedelta(minutes=late_by), accounts=accounts or ("a",))


def going(drafts, last_sent=None):
    return [draft.draft_id for draft in due_now(drafts, last_sent or {}, NOW)]


@pytest.mark.parametrize(("format", "minutes"), [(Format.SHORT, 30), (Format.THREAD, 30), (Format.BLOG, 24 * 60)])
def test_a_draft_is_missed_when_it_is_late_by_more_than_its_grace(format, minutes):
    at = NOW - timedelta(minutes=minutes)
    assert not is_missed(at, format, NOW)
    assert is_missed(at - MOMENT, format, NOW)


def test_the_grace_is_the_users_to_set():
    grace = dict.fromkeys(Format, timedelta(0))
    assert not is_missed(NOW, Format.BLOG, NOW, grace)
    assert is_missed(NOW - MOMENT, Format.BLOG, NOW, grace)


def test_after_downtime_one_draft_goes_out_and_it_is_the_oldest():
    assert going([due("new", 5), due("oldest", 25), due("old", 15)]) == ["oldest"]


def test_each_account_has_its_own_pace():
    assert going([due("a1", 20, "a"), due("b1", 10, "b"), due("b2", 5, "b")]) == ["a1", "b1"]


def test_an_account_rests_for_five_minutes():
    assert going([due("d", 10)], {"a": NOW - PACE + MOMENT}) == []
    assert going([due("d", 10)], {"a": NOW - PACE}) == ["d"]


def test_a_draft_waits_for_all_of_its_accounts_and_is_not_overtaken_on_any():
    assert going([due("both", 20, "a", "b"), due("only-b", 10, "b")], {"a": NOW}) == []


def test_what_is_to_come_and_what_is_missed_stays():
    assert going([due("soon", -1), due("missed", 31, format=Format.SHORT), due("now", 0)]) == ["now"]


def test_a_missed_draft_holds_no_account():
    assert going([due("missed", 31, format=Format.SHORT), due("fresh", 1)]) == ["fresh"]


def test_a_post_from_the_future_does_not_silence_an_account_for_years():
    assert going([due("d", 10)], {"a": NOW + timedelta(days=400)}) == ["d"]


@given(
    st.lists(st.tuples(st.integers(-5, 60), st.sets(st.sampled_from("abc"), min_size=1), st.sampled_from(Format))),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 10)),
)
def test_whatever_waits_no_account_sends_twice_and_in_the_end_all_is_sent_or_missed(waiting, sent):
    drafts = {due(f"{count:02}", late, *on, format=kind) for count, (late, on, kind) in enumerate(waiting)}
    last = {account: NOW - timedelta(minutes=ago) for account, ago in sent.items()}
    now = NOW
    for _ in range(300):
        for draft in due_now(drafts, last, now):
            assert all(now - last.get(account, NOW - PACE) >= PACE for account in draft.accounts)
            last |= dict.fromkeys(draft.accounts, now)
            drafts.discard(draft)
        now += timedelta(minutes=1)
    assert all(is_missed(draft.at, draft.format, now) for draft in drafts)
