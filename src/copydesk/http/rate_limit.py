"""The rate limit: a bucket of requests per token that fills up evenly."""

import math
from typing import NamedTuple

LIMIT = 600
"""Requests."""
PERIOD = 60.0
"""Seconds in which an empty bucket fills up."""
MAX_BUCKETS = 10_000


class Quota(NamedTuple):
    """The state of a bucket after a request."""

    allowed: bool
    remaining: int
    """Requests that are left now."""
    reset: int
    """Seconds until the bucket is full; for a refused request, until the next one is allowed."""

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of draft-ietf-httpapi-ratelimit-headers."""
        return {
            "RateLimit-Policy": f'"token";q={LIMIT};w={PERIOD:.0f}',
            "RateLimit": f'"token";r={self.remaining};t={self.reset}',
        }


class RateLimiter:
    """The buckets of all tokens."""

    def __init__(self) -> None:
        self._buckets: dict[str, tuple[float, float]] = {}
        """Requests left, and when that was."""

    def take(self, token_id: str, now: float) -> Quota:
        """Take one request from the token's bucket; `now` is of a monotonic clock, in seconds."""
        level, at = self._buckets.pop(token_id, (float(LIMIT), now))
        # A bucket instead of fixed windows: with those, twice the limit fits around the end of a minute.
        level = min(float(LIMIT), level + max(0.0, now - at) * LIMIT / PERIOD)
        allowed = level >= 1
        level -= allowed
        # Reinserted at the end, so the first entry is the one that was used least recently; it is full by then.
        self._buckets[token_id] = level, now
        if len(self._buckets) > MAX_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        # A refused client needs the moment of the next request; the time until the bucket is full would be too late.
        missing = LIMIT - level if allowed else 1 - level
        return Quota(allowed, math.floor(level), math.ceil(missing * PERIOD / LIMIT))
