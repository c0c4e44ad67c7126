"""When to look at a source again, and how it is doing. Pure: state, outcome and time in, state out."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from math import isfinite

from msgspec.structs import replace

from copydesk.errors import FetchError, GoneError, MissingError, NeedsLoginError, ThrottledError, UnreachableError
from copydesk.ingest.answer import USUAL_WAIT
from copydesk.model.source import FetchState, Health
from copydesk.model.wire import Struct
from copydesk.network.headers import LONGEST_WAIT

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
WEEK = 7 * DAY

SHORTEST = 15 * MINUTE
LONGEST = DAY
"""Seconds between which the learnt interval stays."""
FIRST = HOUR
"""The interval of a source whose habit is not known yet."""
SLOWER = 1.5
"""What each fetch that brings nothing new does to the interval."""
JITTER = 0.1
"""Share by which an interval is varied, so that sources that began together drift apart."""
GAP_WEIGHT = 0.3
"""Of the newest observation in the running mean of the gap."""
LONGEST_GAP = 365 * DAY
NEEDS_LOGIN = 6 * HOUR
OFFLINE_RETRY = 15 * MINUTE
OFFLINE_HOSTS = 3
OFFLINE_SHARE = 0.8
MOVED_TIMES = 3
"""So many equal permanent redirects in a row change the address; a single one may be a mistake (Feedbin's rule)."""
ERROR_FAILS = 3
STALE_GAPS = 4
STALE_AFTER = 14 * DAY
MISSING_AFTER, MISSING_TIMES = 14 * DAY, 10


class Fetched(Struct, frozen=True):
    """What a fetch that worked brought. Spans are seconds."""

    published: tuple[datetime, ...] = ()
    """One for each new entry: when it was published, or the time of this fetch where it does not say."""
    etag: str | None = None
    last_modified: str | None = None
    body_hash: bytes | None = None
    """These three are kept as they are, None as well; after a 304 the caller hands on the ones it has."""
    fresh_for: float | None = None
    ttl: float | None = None
    """What the feed itself asks for; not read where the body is the same again."""
    retry_after: float | None = None
    moved_to: str | None = None
    cursor: dict[str, str] = {}


def after_fetch(
    state: FetchState, outcome: Fetched, config_interval_minutes: int | None, now: datetime, jitter: float
) -> FetchState:
    """The state after a fetch that worked. `jitter` is -1 to 1."""
    gap = _gap(state, outcome, now)
    interval = _interval(state, outcome, gap)
    same_body = outcome.body_hash is not None and outcome.body_hash == state.body_hash
    ttl = state.ttl if same_body else outcome.ttl
    base = _configured(config_interval_minutes) or interval
    asked = min(max(_span(ttl), _span(outcome.fresh_for)), WEEK)
    delay = max(min(_vary(max(base, asked), jitter), WEEK), asked, min(_span(outcome.retry_after), LONGEST_WAIT))
    return replace(
        state,
        etag=outcome.etag,
        last_modified=outcome.last_modified,
        body_hash=outcome.body_hash,
        last_fetch=now,
        last_ok=now,
        last_new=now if outcome.published else state.last_new,
        next_at=now + timedelta(seconds=delay),
        not_before=None,
        interval=interval,
        gap=gap,
        ttl=ttl,
        fails=0,
        error_category=None,
        error=None,
        gone=False,
        moved_to=outcome.moved_to,
        moved_seen=_moved_seen(state, outcome),
        missing_since=None,
        cursor=outcome.cursor,
    )


def after_failure(
    state: FetchState, error: FetchError, now: datetime, jitter: float, config_interval_minutes: int | None = None
) -> FetchState:
    """The state after a fetch that failed. It is tried again and again, more and more rarely, unless it is gone."""
    if isinstance(error, ThrottledError):
        return _after_throttling(state, error, now, jitter)
    fails = state.fails + 1
    missing_since = (state.missing_since or now) if isinstance(error, MissingError) else None
    failed = replace(
        state,
        last_fetch=now,
        fails=fails,
        error_category=error.category,
        error=_words(error, fails, missing_since, now),
        missing_since=missing_since,
    )
    if isinstance(error, GoneError):
        return replace(failed, gone=True, next_at=None)
    interval = _configured(config_interval_minutes) or state.interval or FIRST
    # 2 ** 20 intervals of a minute are longer than a day in any case.
    wait = NEEDS_LOGIN if isinstance(error, NeedsLoginError) else min(DAY, interval * 2 ** min(fails, 20))
    delay = max(_vary(wait, jitter), min(_span(error.retry_after), LONGEST_WAIT))
    return replace(failed, next_at=now + timedelta(seconds=delay))


def after_offline(state: FetchState, error: FetchError, now: datetime, jitter: float = 0.0) -> FetchState:
    """The state after a failure that is our own network's: told, but not counted against the source."""
    return replace(
        state,
        last_fetch=now,
        next_at=now + timedelta(seconds=_vary(OFFLINE_RETRY, jitter)),
        error_category=error.category,
        error=str(error),
    )


def offline(outcomes: Iterable[tuple[str, FetchError | None]]) -> bool:
    """Whether it was our own network that failed: of at least 3 hosts more than 80 % could not be reached at all.

    `outcomes` are the hosts of a run, each with how its fetch ended; None is well.
    """
    reached: dict[str, bool] = {}
    for host, error in outcomes:
        reached[host] = reached.get(host, False) or not isinstance(error, UnreachableError)
    dark = sum(not seen for seen in reached.values())
    return len(reached) >= OFFLINE_HOSTS and dark > OFFLINE_SHARE * len(reached)


def is_due(state: FetchState, now: datetime) -> bool:
    """Whether it is time to fetch."""
    return not state.gone and _passed(state.next_at, now) and _passed(state.not_before, now)


def may_fetch(state: FetchState, now: datetime, *, by_hand: bool) -> bool:
    """Whether a run may fetch. The user need not wait for the next time, but for what the other side asked for."""
    return is_due(replace(state, next_at=None) if by_hand else state, now)


def new_address(state: FetchState) -> str | None:
    """Where the source is to be read from now on; None where it stays."""
    return state.moved_to if state.moved_seen >= MOVED_TIMES else None


def health(state: FetchState, median_gap: float | None, now: datetime) -> Health:
    """How the source is doing; `median_gap` is the median of the seconds between its entries, None if unknown."""
    if state.gone or state.fails >= ERROR_FAILS or (state.fails and state.error_category == MissingError.category):
        return Health.ERROR
    if state.fails or state.error_category == ThrottledError.category:
        return Health.DEGRADED
    if state.last_ok is None:
        return Health.UNKNOWN
    return Health.STALE if _stale(state, median_gap, now) else Health.HEALTHY


def eligible(published: datetime | None, seen: datetime, first_fetch: bool, first_fetch_hours: float) -> bool:  # noqa: FBT001 - as in every call
    """Whether an entry may become a draft: of a first fetch only those of the last hours, the others are history."""
    return not first_fetch or published is None or seen - published <= timedelta(hours=first_fetch_hours)


def _after_throttling(state: FetchState, error: FetchError, now: datetime, jitter: float) -> FetchState:
    """Not a failure: the source works, and only wants to be asked less often."""
    wait = min(max(_span(error.retry_after) or USUAL_WAIT, 1.0), LONGEST_WAIT)
    later = min(_vary(wait, abs(jitter)), LONGEST_WAIT)
    return replace(
        state,
        last_fetch=now,
        next_at=now + timedelta(seconds=later),
        not_before=now + timedelta(seconds=wait),
        error_category=error.category,
        error=str(error),
    )


def _gap(state: FetchState, outcome: Fetched, now: datetime) -> float | None:
    """The running mean with what this fetch shows of the time between two entries."""
    seen = _observed_gap(state, outcome, now)
    if seen is None:
        return state.gap
    seen = min(max(seen, 0.0), LONGEST_GAP)
    return seen if state.gap is None else state.gap + GAP_WEIGHT * (seen - state.gap)


def _observed_gap(state: FetchState, outcome: Fetched, now: datetime) -> float | None:
    if outcome.published and state.last_new is not None:
        return (now - state.last_new).total_seconds() / len(outcome.published)
    # At the first fetch there is only what the entries say. The time of the fetch, or one after it, says nothing.
    dates = sorted(date for date in outcome.published if date < now)
    return (dates[-1] - dates[0]).total_seconds() / (len(dates) - 1) if len(dates) > 1 else None


def _interval(state: FetchState, outcome: Fetched, gap: float | None) -> float:
    """Half the gap, longer with every fetch that brings nothing, and back to half the gap with one that does."""
    if not outcome.published:
        return min((state.interval or FIRST) * SLOWER, LONGEST)
    return FIRST if gap is None else min(max(gap / 2, SHORTEST), LONGEST)


def _moved_seen(state: FetchState, outcome: Fetched) -> int:
    if outcome.moved_to is None:
        return 0
    return state.moved_seen + 1 if outcome.moved_to == state.moved_to else 1


def _words(error: FetchError, fails: int, missing_since: datetime | None, now: datetime) -> str:
    if missing_since is None or fails < MISSING_TIMES or (now - missing_since).total_seconds() < MISSING_AFTER:
        return str(error)
    days = (now - missing_since).days
    return f"{error.message} It has been so for {days} days: look for the feed's new address on the site."


def _stale(state: FetchState, median_gap: float | None, now: datetime) -> bool:
    if state.last_new is None:
        return False
    patience = max(STALE_GAPS * _span(median_gap), STALE_AFTER)
    return (now - state.last_new).total_seconds() > patience


def _passed(moment: datetime | None, now: datetime) -> bool:
    """Whether `moment` has passed. One that is farther off than we ever wait was written by a wrong clock."""
    return moment is None or moment <= now or (moment - now).total_seconds() > LONGEST_WAIT


def _configured(minutes: int | None) -> float | None:
    """The seconds between two fetches as the user set them."""
    return None if minutes is None else min(max(minutes, 1) * 60, WEEK)


def _span(seconds: float | None) -> float:
    """A span that somebody else named: none, negative and endless ones are 0."""
    return seconds if seconds is not None and isfinite(seconds) and seconds > 0 else 0.0


def _vary(seconds: float, jitter: float) -> float:
    return seconds * (1 + JITTER * min(max(jitter, -1.0), 1.0))
