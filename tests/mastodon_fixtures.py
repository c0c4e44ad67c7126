"""A Mastodon platform on a fake server with a fixed clock."""

from datetime import UTC, datetime

from copydesk.model.draft import Format
from copydesk.posting.http import Caller
from copydesk.posting.mastodon import Mastodon
from copydesk.posting.platform import Account, Intent, Picture, Post
from fake_mastodon import MASTODON, ME, FakeMastodon, Keys, Software
from mastodon_runs import Clock

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
SEED = "019c465e-6f00-7000-8000-000000000000"
URL = "https://social.example"


class Here:
    """A platform, its fake server, its account and its secrets."""

    def __init__(self, software: Software = MASTODON) -> None:
        self.clock = Clock(NOW)
        self.server = FakeMastodon(self.clock, software)
        self.keys = Keys()
        self.paused: list[float] = []
        self.platform = Mastodon(Caller(self.server), self.keys, clock=self.clock, pause=self._pause)
        software_name = f"{software.name.lower()} {software.version}"
        self.me = Account(
            platform="mastodon", server=URL, id=ME, name="me@social.example", software=software_name, longest=500
        )

    async def _pause(self, seconds: float) -> None:
        self.paused.append(seconds)

    def intent(self, *parts: str) -> Intent:
        return self.platform.render(thread(*parts), self.me, SEED)


def thread(*parts: str, alts: tuple[str, ...] = ()) -> Post:
    return Post(format=Format.THREAD, parts=parts, at=NOW, alts=alts)


def picture(alt: str = "A cat") -> Picture:
    return Picture(content=b"\x89PNG\r\n\x00bytes", media_type="image/png", width=1, height=1, alt=alt)
