"""A fixed clock and a fetcher that may reach the local test server."""

from datetime import UTC, datetime, timedelta

import httpx

from copydesk.network.fetcher import Fetcher, FetchLimits

NOW = datetime(2026, 2, 10, 12, 0, tzinfo=UTC)
ANY_TYPE = "*/*"


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        """Move the clock by `seconds`."""
        self.now += timedelta(seconds=seconds)


def make_fetcher(
    clock: FakeClock | None = None, *, transport: httpx.AsyncBaseTransport | None = None, **limits: object
) -> Fetcher:
    """Return a fetcher that may reach this machine, with `limits` in place of the defaults."""
    return Fetcher(FetchLimits(**{"allow_private": True, **limits}), clock=clock or FakeClock(), transport=transport)
