"""What the tests of fetching share: a clock that stands still, and a client that may reach the test server."""

from datetime import UTC, datetime, timedelta

import httpx

from copydesk.ingest.fetch import Fetcher, Limits

NOW = datetime(2026, 2, 10, 12, 0, tzinfo=UTC)
ANY = "*/*"


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        """Let `seconds` pass."""
        self.now += timedelta(seconds=seconds)


def client(
    clock: Clock | None = None, *, transport: httpx.AsyncBaseTransport | None = None, **limits: object
) -> Fetcher:
    """A fetcher that may reach this machine, with `limits` other than the usual ones."""
    return Fetcher(Limits(**{"allow_private": True, **limits}), clock=clock or Clock(), transport=transport)
