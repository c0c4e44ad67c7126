"""A Mastodon platform on a fake server with a fixed clock."""

from datetime import UTC, datetime

from copydesk.model.draft import Format
from copydesk.posting.client import PlatformClient
from copydesk.posting.mastodon import Mastodon
from copydesk.posting.platform import Account, Intent, Post, PostImage
from delivery_runner import ShiftedClock
from fake_mastodon import MASTODON, ME, FakeMastodon, InMemorySecrets, Software

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
SEED = "019c465e-6f00-7000-8000-000000000000"
URL = "https://social.example"


class MastodonSetup:
    """A platform, its fake server, its account and its secrets."""

    def __init__(self, software: Software = MASTODON) -> None:
        self.clock = ShiftedClock(NOW)
        self.server = FakeMastodon(self.clock, software)
        self.secrets = InMemorySecrets()
        self.pauses: list[float] = []
        self.platform = Mastodon(PlatformClient(self.server), self.secrets, clock=self.clock, sleep=self._pause)
        software_name = f"{software.name.lower()} {software.version}"
        self.account = Account(
            platform="mastodon", server=URL, id=ME, name="me@social.example", software=software_name, max_length=500
        )

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def render(self, *parts: str) -> Intent:
        return self.platform.render(make_thread(*parts), self.account, SEED)


def make_thread(*parts: str, alts: tuple[str, ...] = ()) -> Post:
    return Post(format=Format.THREAD, parts=parts, at=NOW, alts=alts)


def make_image(alt: str = "A cat") -> PostImage:
    return PostImage(content=b"\x89PNG\r\n\x00bytes", media_type="image/png", width=1, height=1, alt=alt)
