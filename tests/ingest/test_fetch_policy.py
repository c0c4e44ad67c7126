"""Tests for the fetch policy: the next fetch time, failures and health of a source."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from copydesk import errors
from copydesk.ingest.fetch_context import FetchResult
from copydesk.ingest.fetch_policy import (
    after_failure,
    after_fetch,
    after_offline,
    confirmed_new_url,
    is_due,
    is_eligible,
    is_offline,
    may_fetch,
    source_health,
)
from copydesk.model.source import FetchState, Health
from fetcher_fixtures import NOW

MINUTE, HOUR, DAY = 60, 3600, 86_400
WEEK, MONTH = 7 * DAY, 31 * DAY
NEW = FetchState()


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def ahead(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def seconds_until_due(state: FetchState) -> float:
    """Return the seconds until the source is due."""
    assert state.next_at is not None
    return (state.next_at - NOW).total_seconds()


def entry_times(span: float, count: int = 10) -> tuple[datetime, ...]:
    """Return `count` publication times, `span` seconds apart, the newest an hour ago."""
    return tuple(ago(HOUR + span * n) for n in range(count))


def fetched(
    state: FetchState = NEW, interval: int | None = None, published: tuple[datetime, ...] = (), **result: object
) -> FetchState:
    return after_fetch(state, FetchResult(**result), published, interval, NOW, 0.0)


def failed(error: errors.FetchError, state: FetchState = NEW) -> FetchState:
    return after_failure(state, error, NOW, 0.0)


# Successful fetches.


@pytest.mark.parametrize(
    ("gap", "interval"),
    [
        (MINUTE, 15 * MINUTE),
        (30 * MINUTE, 15 * MINUTE),
        (HOUR, 30 * MINUTE),
        (12 * HOUR, 6 * HOUR),
        (2 * DAY, DAY),
        (300 * DAY, DAY),
    ],
)
def test_fetch_interval_is_half_the_publishing_gap(gap: float, interval: float) -> None:
    """Within the bounds of 15 minutes and a day."""
    state = fetched(published=entry_times(gap))
    assert (state.gap, state.interval, seconds_until_due(state)) == (gap, interval, interval)


@pytest.mark.parametrize(
    "published",
    [(), (ago(HOUR),), (NOW, NOW, NOW), (ahead(DAY), ahead(2 * DAY))],
    ids=["empty", "one entry", "without dates", "in the future"],
)
def test_unlearned_source_is_fetched_about_hourly(published: tuple[datetime, ...]) -> None:
    assert HOUR <= seconds_until_due(fetched(published=published)) <= 1.5 * HOUR


def test_gap_is_smoothed_with_new_entries() -> None:
    """A new gap is the time since the last new entry, divided by the number of new entries."""
    state = FetchState(gap=10 * HOUR, last_new=ago(8 * HOUR), interval=5 * HOUR)
    state = fetched(state, published=(ago(60), ago(50)))
    assert state.gap == pytest.approx(10 * HOUR + 0.3 * (4 * HOUR - 10 * HOUR))
    assert state.interval == state.gap / 2
    assert state.last_new == NOW


def test_year_one_dates_are_bounded() -> None:
    state = fetched(published=(datetime(1, 1, 1, tzinfo=UTC), ago(60)))
    assert (state.gap, state.interval) == (365 * DAY, DAY)


def test_interval_grows_without_new_entries() -> None:
    state = fetched(published=entry_times(4 * HOUR))
    waits = [seconds_until_due(state)]
    for _ in range(7):
        state = fetched(state)
        waits.append(seconds_until_due(state))
    assert waits == [2 * HOUR, 3 * HOUR, 4.5 * HOUR, 6.75 * HOUR, 10.125 * HOUR, 15.1875 * HOUR, 22.78125 * HOUR, DAY]
    state = fetched(replace(state, last_new=ago(4 * HOUR)), published=(ago(60),))
    assert seconds_until_due(state) == 2 * HOUR


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({"ttl": 3 * HOUR}, 3 * HOUR),
        ({"fresh_for": 3 * HOUR}, 3 * HOUR),
        ({"retry_after": 3 * HOUR}, 3 * HOUR),
        ({"ttl": 2 * HOUR, "fresh_for": 4 * HOUR, "retry_after": 3 * HOUR}, 4 * HOUR),
        ({"ttl": MINUTE, "fresh_for": MINUTE}, HOUR),
        ({"ttl": -5.0, "fresh_for": float("nan"), "retry_after": float("inf")}, HOUR),
        ({"ttl": 400 * DAY}, WEEK),
        ({"fresh_for": 400 * DAY}, WEEK),
        ({"retry_after": 20 * DAY}, 20 * DAY),
        ({"retry_after": 400 * DAY}, MONTH),
    ],
)
def test_server_hints_override_learned_interval(hints: dict[str, float], expected: float) -> None:
    assert seconds_until_due(fetched(published=entry_times(2 * HOUR), **hints)) == expected


@pytest.mark.parametrize(
    ("minutes", "hints", "expected"),
    [
        (5, {}, 5 * MINUTE),
        (600, {}, 10 * HOUR),
        (5, {"fresh_for": HOUR}, HOUR),
        (5, {"ttl": HOUR}, HOUR),
        (10**30, {}, WEEK),
    ],
)
def test_user_interval_replaces_learned_interval(minutes: int, hints: dict[str, float], expected: float) -> None:
    """Server hints still take precedence."""
    state = fetched(published=entry_times(2 * HOUR), interval=minutes, **hints)
    assert seconds_until_due(state) == expected
    assert state.interval == HOUR, "what was learnt is kept for the day when the setting goes"


def test_ttl_is_remembered_across_304() -> None:
    """A 304 has no body that could repeat it."""
    state = fetched(published=entry_times(2 * HOUR), body_hash=b"1", ttl=12 * HOUR)
    state = fetched(state, body_hash=b"1")
    assert (state.ttl, seconds_until_due(state)) == (12 * HOUR, 12 * HOUR)
    state = fetched(state, published=(ago(9),), body_hash=b"2")
    assert (state.ttl, seconds_until_due(state)) == (None, state.interval)


@pytest.mark.parametrize(("jitter", "expected"), [(-1.0, 0.9), (0.5, 1.05), (1.0, 1.1), (99.0, 1.1)])
def test_jitter_spreads_fetch_times(jitter: float, expected: float) -> None:
    state = after_fetch(FetchState(), FetchResult(), entry_times(2 * HOUR), None, NOW, jitter)
    assert seconds_until_due(state) == pytest.approx(HOUR * expected)


def test_jitter_never_shortens_server_interval() -> None:
    state = after_fetch(FetchState(), FetchResult(fresh_for=3 * HOUR), (), None, NOW, -1.0)
    assert seconds_until_due(state) == 3 * HOUR


def test_validators_are_replaced_together() -> None:
    state = FetchState(etag='"1"', last_modified="yesterday", body_hash=b"1")
    assert fetched(state, etag='"2"').etag == '"2"'
    assert fetched(state, etag='"2"').last_modified is None


def test_success_clears_failures() -> None:
    state = FetchState(
        fails=7,
        error="no",
        error_category="missing",
        missing_since=ago(DAY),
        not_before=ago(1),
        next_at=ago(1),
        gone=True,
        cursor={"a": "1"},
    )
    state = fetched(state, cursor={"b": "2"})
    assert (state.fails, state.error, state.error_category, state.missing_since) == (0, None, None, None)
    assert (state.not_before, state.gone, state.cursor) == (None, False, {"b": "2"})
    assert (state.last_fetch, state.last_ok, state.last_new) == (NOW, NOW, None)


def test_third_equal_redirect_moves_source() -> None:
    state, addresses = FetchState(), []
    for to in ("http://b/", "http://b/", "http://c/", "http://c/", None, "http://c/", "http://c/", "http://c/"):
        state = fetched(state, moved_to=to)
        addresses.append(confirmed_new_url(state))
    assert addresses == [None] * 7 + ["http://c/"]


# Failed fetches.


@pytest.mark.parametrize(
    "error",
    [
        errors.UnreachableError(),
        errors.FetchTimeoutError(),
        errors.ResponseTooLargeError(),
        errors.ResponseStatusError(),
        errors.NotAFeedError(),
        errors.PrivateAddressError(),
        errors.PageNotFoundError(),
    ],
)
def test_failures_back_off_up_to_a_day(error: errors.FetchError) -> None:
    state, waits = FetchState(interval=HOUR), []
    for _ in range(200):
        state = failed(error, state)
        waits.append(seconds_until_due(state) / HOUR)
    assert waits[:6] == [2, 4, 8, 16, 24, 24]
    assert set(waits[6:]) == {24}
    assert (state.fails, state.error_category, state.gone) == (200, error.category, False)
    assert seconds_until_due(failed(error, replace(state, fails=5000))) == DAY


def test_failure_preserves_fetch_state() -> None:
    state = FetchState(etag='"1"', body_hash=b"1", last_ok=ago(DAY), last_new=ago(DAY), gap=5.0, cursor={"a": "1"})
    failed_state = failed(errors.ResponseStatusError("No.", hint="Wait."), state)
    for name in ("etag", "body_hash", "last_ok", "last_new", "gap", "cursor"):
        assert getattr(failed_state, name) == getattr(state, name)
    assert (failed_state.last_fetch, failed_state.error) == (NOW, "No. Wait.")


def test_back_off_starts_from_user_interval() -> None:
    state = after_failure(FetchState(interval=DAY), errors.ResponseStatusError(), NOW, 0.0, 10)
    assert seconds_until_due(state) == 20 * MINUTE


def test_retry_after_of_failure_is_honoured() -> None:
    assert seconds_until_due(failed(errors.ResponseStatusError(retry_after=3 * DAY))) == 3 * DAY


def test_login_failure_retries_after_six_hours() -> None:
    state = failed(errors.LoginRequiredError(), failed(errors.LoginRequiredError()))
    assert (seconds_until_due(state), state.fails) == (6 * HOUR, 2)


def test_410_stops_fetching() -> None:
    state = failed(errors.GoneError())
    assert (state.gone, state.next_at) == (True, None)
    assert not is_due(state, ahead(1000 * DAY))
    assert not may_fetch(state, ahead(1000 * DAY), manual=True)


def test_missing_source_is_retried_with_hint() -> None:
    """After two weeks the error tells the user to enter a new address."""
    state = FetchState()
    for day in range(20):
        state = after_failure(state, errors.PageNotFoundError("Nothing (404)."), NOW + timedelta(days=day), 0.0)
        assert ("new address" in (state.error or "")) == (day >= 14)
        assert not state.gone
    assert state.missing_since == NOW
    assert "for 19 days" in (state.error or "")
    assert failed(errors.ResponseStatusError(), state).missing_since is None


@pytest.mark.parametrize(
    ("retry_after", "expected"), [(HOUR, HOUR), (None, 15 * MINUTE), (0.0, 15 * MINUTE), (99 * DAY, MONTH)]
)
def test_throttling_is_not_a_failure(retry_after: float | None, expected: float) -> None:
    state = failed(errors.RateLimitedError(retry_after=retry_after), FetchState(fails=2))
    assert (seconds_until_due(state), state.not_before, state.fails) == (expected, ahead(expected), 2)
    assert not may_fetch(state, ahead(expected - 1), manual=True)
    assert may_fetch(state, ahead(expected), manual=True)
    assert after_failure(FetchState(), errors.RateLimitedError(retry_after=HOUR), NOW, -1.0).next_at >= ahead(HOUR)


# Offline detection.


def test_offline_when_most_hosts_are_unreachable() -> None:
    dark = errors.UnreachableError()
    assert is_offline([("a", dark), ("b", dark), ("c", dark)])
    assert is_offline([(str(n), dark) for n in range(9)] + [("z", None)])
    assert not is_offline([])
    assert not is_offline([("a", dark), ("b", dark)])
    assert not is_offline([("a", dark), ("a", dark), ("a", dark), ("b", dark)]), "two hosts are not three"
    assert not is_offline([("a", dark), ("b", dark), ("c", None)])
    assert not is_offline([("a", dark), ("b", dark), ("c", dark), ("d", dark), ("e", None)]), (
        "80 % is not more than 80 %"
    )
    assert not is_offline([("a", dark), ("b", dark), ("c", errors.FetchTimeoutError())])
    for c in ([("c", dark), ("c", None)], [("c", None), ("c", dark)]):
        assert not is_offline([("a", dark), ("b", dark), *c]), "c was reached by another source"


def test_offline_is_not_counted_as_failure() -> None:
    before = FetchState(fails=1, interval=DAY, last_ok=ago(DAY))
    after = after_offline(before, errors.UnreachableError("No way."), NOW)
    assert (after.fails, after.error, after.interval, seconds_until_due(after)) == (1, "No way.", DAY, 15 * MINUTE)
    assert (
        source_health(after_offline(FetchState(last_ok=ago(1)), errors.UnreachableError(), NOW), None, NOW)
        is Health.HEALTHY
    )
    assert source_health(after_offline(FetchState(), errors.UnreachableError(), NOW), None, NOW) is Health.UNKNOWN


# Due times.


@pytest.mark.parametrize(
    ("state", "due", "by_hand"),
    [
        (FetchState(), True, True),
        (FetchState(next_at=NOW), True, True),
        (FetchState(next_at=ahead(1)), False, True),
        (FetchState(not_before=ahead(1)), False, False),
        (FetchState(next_at=ago(1), not_before=ahead(1)), False, False),
        (FetchState(gone=True), False, False),
        (FetchState(next_at=ahead(10_000 * DAY), not_before=ahead(10_000 * DAY)), True, True),
    ],
    ids=["new", "due", "too early", "forbidden", "due but forbidden", "gone", "written by a wrong clock"],
)
def test_manual_fetch_ignores_own_schedule(state: FetchState, due: bool, by_hand: bool) -> None:
    """It still respects the server's `not_before`."""
    assert is_due(state, NOW) is may_fetch(state, NOW, manual=False) is due
    assert may_fetch(state, NOW, manual=True) is by_hand


def test_source_with_410_is_fetched_only_by_name() -> None:
    gone = FetchState(gone=True)
    assert [may_fetch(gone, NOW, manual=manual) for manual in (False, True)] == [False, False]
    assert may_fetch(gone, NOW, manual=True, named=True)
    assert not may_fetch(FetchState(gone=True, not_before=ahead(1)), NOW, manual=True, named=True)


# Health.


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (FetchState(), Health.UNKNOWN),
        (FetchState(last_ok=NOW), Health.HEALTHY),
        (FetchState(last_ok=NOW, last_new=ago(13 * DAY)), Health.HEALTHY),
        (FetchState(last_ok=NOW, last_new=ago(15 * DAY)), Health.STALE),
        (FetchState(fails=1, error_category="answer"), Health.DEGRADED),
        (FetchState(fails=2, error_category="answer", last_ok=NOW), Health.DEGRADED),
        (FetchState(fails=3, error_category="answer", last_ok=NOW), Health.ERROR),
        (FetchState(error_category="throttled"), Health.DEGRADED),
        (FetchState(error_category="throttled", last_ok=NOW, last_new=ago(99 * DAY)), Health.DEGRADED),
        (FetchState(fails=1, error_category="missing"), Health.ERROR),
        (FetchState(fails=1, error_category="gone", gone=True), Health.ERROR),
        (FetchState(fails=1, error_category="needs-login"), Health.DEGRADED),
    ],
)
def test_health_follows_fetch_state(state: FetchState, expected: Health) -> None:
    assert source_health(state, None, NOW) is expected


@pytest.mark.parametrize(
    ("median_gap", "silent", "expected"),
    [
        (HOUR, 14 * DAY, Health.HEALTHY),
        (HOUR, 14 * DAY + 1, Health.STALE),
        (5 * DAY, 20 * DAY, Health.HEALTHY),
        (5 * DAY, 20 * DAY + 1, Health.STALE),
        (None, 15 * DAY, Health.STALE),
    ],
)
def test_staleness_depends_on_median_gap(median_gap: float | None, silent: float, expected: Health) -> None:
    state = FetchState(last_ok=NOW, last_new=ago(silent))
    assert source_health(state, median_gap, NOW) is expected


# Eligibility for drafts.


@pytest.mark.parametrize(
    ("age", "first", "expected"),
    [
        (47 * HOUR, True, True),
        (48 * HOUR, True, True),
        (48 * HOUR + 1, True, False),
        (1000 * DAY, True, False),
        (1000 * DAY, False, True),
        (-DAY, True, True),
        (None, True, True),
    ],
)
def test_first_fetch_drafts_only_recent_entries(age: float | None, first: bool, expected: bool) -> None:
    published = None if age is None else ago(age)
    assert is_eligible(published, NOW, first, 48) is expected


# Invariants.

spans = st.none() | st.floats(allow_nan=True, allow_infinity=True)
datetimes = st.datetimes(timezones=st.just(UTC))
published_times = st.lists(datetimes, max_size=5).map(tuple)
results = st.builds(
    FetchResult,
    body_hash=st.none() | st.binary(max_size=1),
    fresh_for=spans,
    ttl=spans,
    retry_after=spans,
    moved_to=st.none() | st.sampled_from(["http://a/", "http://b/"]),
)
error_types = [
    errors.UnreachableError,
    errors.FetchTimeoutError,
    errors.LoginRequiredError,
    errors.PageNotFoundError,
    errors.RateLimitedError,
    errors.GoneError,
    errors.NotAFeedError,
]
failures = st.builds(lambda kind, span: kind(retry_after=span), st.sampled_from(error_types), spans)
histories = st.lists(
    st.tuples(
        st.tuples(results, published_times) | failures,
        st.floats(-1, 1),
        st.none() | st.integers(1, 10**9),
        st.integers(0, 100 * DAY),
    ),
    max_size=20,
)


@given(histories)
def test_next_fetch_is_bounded_in_any_history(
    history: list[tuple[tuple[FetchResult, tuple[datetime, ...]] | errors.FetchError, float, int | None, int]],
) -> None:
    """Only a source that answered 410 is given up."""
    state, now = FetchState(), NOW
    for event, jitter, minutes, pause in history:
        before = state
        if isinstance(event, tuple):
            result, published = event
            state = after_fetch(before, result, published, minutes, now, jitter)
            max_wait = MONTH if result.retry_after else WEEK
            assert state.fails == 0
        else:
            state = after_failure(before, event, now, jitter, minutes)
            max_wait = MONTH if event.retry_after else WEEK
            assert state.fails == before.fails + (not isinstance(event, errors.RateLimitedError))
        if isinstance(event, errors.GoneError):
            assert state.gone
            assert state.next_at is None
            assert not is_due(state, now + timedelta(days=400))
        else:
            assert state.next_at is not None
            assert 0 < (state.next_at - now).total_seconds() <= max_wait
            assert state.gone == (before.gone and not isinstance(event, tuple))
            assert state.gone or is_due(state, now + timedelta(seconds=MONTH))
        assert isinstance(source_health(state, None, now), Health)
        now += timedelta(seconds=pause)
