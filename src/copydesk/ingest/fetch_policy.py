"""Polling policy: when a source is fetched next, and its health. Pure: state, result and time in, state out."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING

from msgspec.structs import replace

from copydesk.errors import (
    FetchError,
    GoneError,
    LoginRequiredError,
    PageNotFoundError,
    RateLimitedError,
    UnreachableError,
)
from copydesk.model.source import FetchState, Health
from copydesk.network.response import DEFAULT_RETRY_AFTER, MAX_WAIT

if TYPE_CHECKING:
    from copydesk.ingest.fetch_context import FetchResult

MINUTE_SECONDS, HOUR_SECONDS, DAY_SECONDS = 60.0, 3600.0, 86_400.0
WEEK_SECONDS = 7 * DAY_SECONDS

MIN_INTERVAL = 15 * MINUTE_SECONDS
MAX_INTERVAL = DAY_SECONDS
"""Bounds in seconds of the interval that is learnt from the source's activity."""
DEFAULT_INTERVAL = HOUR_SECONDS
"""Interval before anything is known about the source."""
BACKOFF_FACTOR = 1.5
"""The interval grows by this factor after each fetch without new entries."""
JITTER_SHARE = 0.1
"""Share by which an interval varies at most, so that sources added together do not stay in step."""
GAP_WEIGHT = 0.3
"""Weight of the newest observation in the moving average of the gap between entries."""
MAX_GAP = 365 * DAY_SECONDS
LOGIN_RETRY = 6 * HOUR_SECONDS
"""Seconds. Credentials rarely fix themselves."""
OFFLINE_RETRY = 15 * MINUTE_SECONDS
OFFLINE_HOSTS = 3
OFFLINE_SHARE = 0.8
"""Our own network is down if more than this share of at least `OFFLINE_HOSTS` hosts is unreachable."""
REDIRECTS_TO_MOVE = 3
"""Equal permanent redirects in a row that change the source's URL. One alone may be a mistake (Feedbin's rule)."""
FAILURES_TO_ERROR = 3
STALE_GAPS = 4
STALE_AFTER = 14 * DAY_SECONDS
"""A source is stale after `STALE_GAPS` median gaps without an entry, but not before this many seconds."""
MISSING_AFTER, MISSING_FAILURES = 14 * DAY_SECONDS, 10
"""After this many seconds and failures, a 404 is reported as permanent."""


def after_fetch(
    state: FetchState,
    result: "FetchResult",
    published: Collection[datetime],
    config_interval_minutes: int | None,
    now: datetime,
    jitter: float,
) -> FetchState:
    """Return the state after a successful fetch. `jitter` is from -1 to 1.

    `published` has one time for each new entry: that of its publication, or of this fetch if it has none.
    """
    gap = _updated_gap(state, published, now)
    interval = _updated_interval(state, gap, has_new=bool(published))
    same_body = result.body_hash is not None and result.body_hash == state.body_hash
    # An unchanged body was not parsed: its ttl is the stored one.
    ttl = state.ttl if same_body else result.ttl
    base = _configured(config_interval_minutes) or interval
    requested = min(max(_safe_duration(ttl), _safe_duration(result.fresh_for)), WEEK_SECONDS)
    # What the source asks for wins over jitter and the user's interval, but only up to a week.
    delay = max(
        min(_vary(max(base, requested), jitter), WEEK_SECONDS),
        requested,
        min(_safe_duration(result.retry_after), MAX_WAIT),
    )
    return replace(
        state,
        etag=result.etag,
        last_modified=result.last_modified,
        body_hash=result.body_hash,
        last_fetch=now,
        last_ok=now,
        last_new=now if published else state.last_new,
        next_at=now + timedelta(seconds=delay),
        not_before=None,
        interval=interval,
        gap=gap,
        ttl=ttl,
        fails=0,
        error_category=None,
        error=None,
        gone=False,
        moved_to=result.moved_to,
        moved_seen=_redirect_count(state, result),
        missing_since=None,
        cursor=result.cursor,
    )


def after_failure(
    state: FetchState, error: FetchError, now: datetime, jitter: float, config_interval_minutes: int | None = None
) -> FetchState:
    """Return the state after a failed fetch.

    Retries back off exponentially, up to a day. Only 410 Gone stops them, until somebody asks.
    Throttling does not count as a failure.
    """
    if isinstance(error, RateLimitedError):
        return _after_throttling(state, error, now, jitter)
    fails = state.fails + 1
    missing_since = (state.missing_since or now) if isinstance(error, PageNotFoundError) else None
    failed = replace(
        state,
        last_fetch=now,
        fails=fails,
        error_category=error.category,
        error=_error_message(error, fails, missing_since, now),
        missing_since=missing_since,
    )
    # 410 is the site's own word that the feed will not return.
    if isinstance(error, GoneError):
        return replace(failed, gone=True, next_at=None)
    # The failures lengthen the wait, but the learnt interval stays for the time after.
    interval = _configured(config_interval_minutes) or state.interval or DEFAULT_INTERVAL
    # Bounded so that the power stays small: 2 ** 20 minutes exceed a day anyway.
    wait = LOGIN_RETRY if isinstance(error, LoginRequiredError) else min(DAY_SECONDS, interval * 2 ** min(fails, 20))
    delay = max(_vary(wait, jitter), min(_safe_duration(error.retry_after), MAX_WAIT))
    return replace(failed, next_at=now + timedelta(seconds=delay))


def after_offline(state: FetchState, error: FetchError, now: datetime, jitter: float = 0.0) -> FetchState:
    """Return the state after a failure of our own network: reported, but not counted against the source."""
    return replace(
        state,
        last_fetch=now,
        next_at=now + timedelta(seconds=_vary(OFFLINE_RETRY, jitter)),
        error_category=error.category,
        error=str(error),
    )


def is_offline(outcomes: Iterable[tuple[str, FetchError | None]]) -> bool:
    """Return True if our own network failed: more than 80% of at least 3 hosts were unreachable.

    `outcomes` are the hosts of one run with the error of each fetch; None is success.
    """
    reachable: dict[str, bool] = {}
    for host, error in outcomes:
        # One answer of any kind shows that the host could be reached.
        reachable[host] = reachable.get(host, False) or not isinstance(error, UnreachableError)
    unreachable_count = sum(not is_reachable for is_reachable in reachable.values())
    # One or two hosts prove nothing: they may be down themselves.
    return len(reachable) >= OFFLINE_HOSTS and unreachable_count > OFFLINE_SHARE * len(reachable)


def is_due(state: FetchState, now: datetime) -> bool:
    """Return True if the next fetch is due and no cooldown is in force."""
    return not state.gone and _is_past(state.next_at, now) and _is_past(state.not_before, now)


def may_fetch(state: FetchState, now: datetime, *, manual: bool, named: bool = False) -> bool:
    """Return True if a run may fetch. A manual run ignores the schedule but not the server's Retry-After.

    A source that answered 410 is fetched only by a run that names it.
    """
    if named:
        state = replace(state, gone=False)
    return is_due(replace(state, next_at=None) if manual else state, now)


def confirmed_new_url(state: FetchState) -> str | None:
    """Return the URL that replaces the source's, or None if it stays."""
    return state.moved_to if state.moved_seen >= REDIRECTS_TO_MOVE else None


def source_health(state: FetchState, median_gap: float | None, now: datetime) -> Health:
    """Return the source's health. `median_gap` is the median number of seconds between its entries, None if unknown."""
    # A 404 counts at once: unlike other failures it rarely fixes itself.
    if (
        state.gone
        or state.fails >= FAILURES_TO_ERROR
        or (state.fails and state.error_category == PageNotFoundError.category)
    ):
        return Health.ERROR
    if state.fails or state.error_category == RateLimitedError.category:
        return Health.DEGRADED
    if state.last_ok is None:
        return Health.UNKNOWN
    return Health.STALE if _is_stale(state, median_gap, now) else Health.HEALTHY


def is_eligible(published: datetime | None, fetched_at: datetime, first_fetch: bool, first_fetch_hours: float) -> bool:  # noqa: FBT001 - as in every call
    """Return True if an entry may become a draft. A first fetch counts only recent entries; the rest is history."""
    return not first_fetch or published is None or fetched_at - published <= timedelta(hours=first_fetch_hours)


def _after_throttling(state: FetchState, error: FetchError, now: datetime, jitter: float) -> FetchState:
    """Return the state after a 429: not a failure, only a request to poll less often."""
    wait = min(max(_safe_duration(error.retry_after) or DEFAULT_RETRY_AFTER, 1.0), MAX_WAIT)
    # Only later, never earlier than asked: hence the absolute value.
    later = min(_vary(wait, abs(jitter)), MAX_WAIT)
    return replace(
        state,
        last_fetch=now,
        next_at=now + timedelta(seconds=later),
        not_before=now + timedelta(seconds=wait),
        error_category=error.category,
        error=str(error),
    )


def _updated_gap(state: FetchState, published: Collection[datetime], now: datetime) -> float | None:
    """Return the moving average of the time between entries, updated by this fetch."""
    observed = _observed_gap(state, published, now)
    if observed is None:
        return state.gap
    observed = min(max(observed, 0.0), MAX_GAP)
    return observed if state.gap is None else state.gap + GAP_WEIGHT * (observed - state.gap)


def _observed_gap(state: FetchState, published: Collection[datetime], now: datetime) -> float | None:
    """Return the mean seconds between the new entries, None if this fetch does not tell."""
    if published and state.last_new is not None:
        return (now - state.last_new).total_seconds() / len(published)
    # At the first fetch only the entries' own dates tell. Dates that are missing were set to the time of the fetch.
    dates = sorted(date for date in published if date < now)
    return (dates[-1] - dates[0]).total_seconds() / (len(dates) - 1) if len(dates) > 1 else None


def _updated_interval(state: FetchState, gap: float | None, *, has_new: bool) -> float:
    """Return half the gap after a fetch with new entries, else the previous interval times the backoff."""
    if not has_new:
        return min((state.interval or DEFAULT_INTERVAL) * BACKOFF_FACTOR, MAX_INTERVAL)
    return DEFAULT_INTERVAL if gap is None else min(max(gap / 2, MIN_INTERVAL), MAX_INTERVAL)


def _redirect_count(state: FetchState, result: "FetchResult") -> int:
    if result.moved_to is None:
        return 0
    return state.moved_seen + 1 if result.moved_to == state.moved_to else 1


def _error_message(error: FetchError, fails: int, missing_since: datetime | None, now: datetime) -> str:
    """Return the error to store; a 404 that has lasted gets advice of its own."""
    if missing_since is None or fails < MISSING_FAILURES or (now - missing_since).total_seconds() < MISSING_AFTER:
        return str(error)
    days = (now - missing_since).days
    return f"{error.message} It has failed for {days} days: find the feed's new address on the site."


def _is_stale(state: FetchState, median_gap: float | None, now: datetime) -> bool:
    if state.last_new is None:
        return False
    limit = max(STALE_GAPS * _safe_duration(median_gap), STALE_AFTER)
    return (now - state.last_new).total_seconds() > limit


def _is_past(instant: datetime | None, now: datetime) -> bool:
    """Return True if `instant` is None or past.

    One further ahead than the maximum wait was written while the clock was wrong; it must not block the source for
    years.
    """
    return instant is None or instant <= now or (instant - now).total_seconds() > MAX_WAIT


def _configured(minutes: int | None) -> float | None:
    """Return the user's interval in seconds, between a minute and a week; None if not set."""
    return None if minutes is None else min(max(minutes, 1) * 60, WEEK_SECONDS)


def _safe_duration(seconds: float | None) -> float:
    """Return a duration from an untrusted source; None, negative and infinite values become 0."""
    return seconds if seconds is not None and isfinite(seconds) and seconds > 0 else 0.0


def _vary(seconds: float, jitter: float) -> float:
    return seconds * (1 + JITTER_SHARE * min(max(jitter, -1.0), 1.0))
