"""Desks whose database is restored from a backup, and the fake platforms they post to."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, closing
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from copydesk.desk import Desk
from copydesk.model.delivery import Account, DeliveryReport, DeliveryState
from copydesk.posting.blogs.devto import DevTo
from copydesk.posting.blogs.ghost import Ghost
from copydesk.posting.blogs.micropub import Micropub
from copydesk.posting.blogs.wordpress import WordPress
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.client import PlatformClient
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.linkedin import LinkedIn
from copydesk.posting.mastodon import Mastodon
from copydesk.posting.platform import DeliveryGuarantees, Platform
from copydesk.posting.threads import Threads
from copydesk.posting.webhook import Webhook
from copydesk.posting.x import X
from copydesk.store import accounts
from copydesk.store.ids import new_id
from desk_fixtures import Watch
from fake_blog import InMemorySecrets
from fake_forem import FakeForem
from fake_ghost import FakeGhost
from fake_linkedin import FakeLinkedIn
from fake_mastodon import GOTOSOCIAL, MASTODON, TOKEN, FakeMastodon, Software
from fake_mastodon import ME as MASTODON_ID
from fake_micropub import FakeMicropub
from fake_pds import DID, PASSWORD, FakePds
from fake_threads import FakeThreads
from fake_webhook_receiver import FakeReceiver
from fake_wordpress import FakeWordPress
from fake_x import FakeX
from faulty_server import RecordingSecrets
from posting_fixtures import open_posting_desk

MAX_ROUNDS = 20
DATABASE, MARKS = "copydesk.db", "sends.json"


class Target(NamedTuple):
    """An account on a fake platform."""

    platform: Platform
    account: Account
    list_texts: Callable[[], list[str]]
    """Returns the texts of all public posts; of articles their titles."""
    server: object


def _fake(watch: Watch, *, keyed: bool) -> Target:
    server = FakeServer(knows_keys=keyed)
    platform = FakePlatform(server, guarantees=DeliveryGuarantees(idempotent=keyed))
    account = Account(platform="fake", server="https://fake.example", id="me", name="me")
    return Target(platform, account, lambda: [post.text for post in server.posts], server)


def _bluesky(watch: Watch) -> Target:
    server = FakePds()
    secrets = RecordingSecrets(password=PASSWORD, refresh="refresh-1")
    platform = Bluesky(PlatformClient(server.transport), secrets, clock=watch)
    account = Account(platform="bluesky", server="https://pds.example", id=DID, name="me.example")
    return Target(
        platform, account, lambda: [str(record["value"]["text"]) for record in server.records.values()], server
    )


def _mastodon(watch: Watch, software: Software) -> Target:
    server = FakeMastodon(watch, software)
    secrets = InMemorySecrets(token=TOKEN)
    platform = Mastodon(PlatformClient(server), secrets, clock=watch)
    version = f"{software.name.lower()} {software.version}"
    account = Account("mastodon", "https://social.example", MASTODON_ID, "me@social.example", version, 500)
    return Target(platform, account, lambda: [text for text, _ in server.posted_texts()], server)


def _x(watch: Watch) -> Target:
    # X's own check for duplicates is undocumented, so it is switched off here.
    server = FakeX(watch, refuses_duplicates=False)
    ends = (watch.now + timedelta(days=9)).isoformat()
    held = {"access_token": "access-0", "refresh_token": "refresh-0", "expires_at": ends, "client_id": "app"}
    account = Account(platform="x", server="https://api.x.com", id="12", name="me")
    platform = X(server.client, RecordingSecrets(**held), clock=watch)
    return Target(platform, account, lambda: [post["source"] for post in server.posts], server)


def _linkedin(watch: Watch) -> Target:
    server = FakeLinkedIn(watch)
    secrets = RecordingSecrets(access_token="token", expires_at=(watch.now + timedelta(days=60)).isoformat())
    account = Account(platform="linkedin", server="https://api.linkedin.com", id="abc-1", name="Jo Doe")
    return Target(
        LinkedIn(server.client, secrets, clock=watch), account, lambda: [post["text"] for post in server.posts], server
    )


def _threads(watch: Watch) -> Target:
    server = FakeThreads(watch)
    secrets = RecordingSecrets(access_token="token", expires_at=(watch.now + timedelta(days=60)).isoformat())
    account = Account(platform="threads", server="https://graph.threads.net", id="77", name="me.too")
    return Target(
        Threads(server.client, secrets, clock=watch), account, lambda: [post["text"] for post in server.posts], server
    )


def _wordpress(watch: Watch) -> Target:
    server = FakeWordPress(watch)
    secrets = InMemorySecrets(user="me", password="abcd efgh")
    account = Account(platform="wordpress", server="https://blog.example", id="3", name="me@blog.example")
    platform = WordPress(PlatformClient(server), secrets, clock=watch)
    return Target(platform, account, lambda: [post["title"] for post in server.published], server)


def _ghost(watch: Watch) -> Target:
    server = FakeGhost(watch)
    secrets = InMemorySecrets(key=f"{FakeGhost.name}:{FakeGhost.secret}")
    account = Account(platform="ghost", server="https://blog.example", id="https://blog.example", name="blog.example")
    platform = Ghost(PlatformClient(server), secrets, clock=watch)
    return Target(platform, account, lambda: [post["title"] for post in server.published], server)


def _devto(watch: Watch) -> Target:
    server = FakeForem(watch)
    secrets = InMemorySecrets(key="k3y", disclosure="some_ai")
    account = Account(platform="devto", server="https://dev.to", id="7", name="me")
    platform = DevTo(PlatformClient(server), secrets, clock=watch)
    return Target(platform, account, lambda: [post["title"] for post in server.published], server)


def _micropub(watch: Watch, *, honors_slugs: bool) -> Target:
    server = FakeMicropub(watch)
    server.add_post({"name": ["Old"], "content": [{"html": "<p>x</p>"}], "mp-slug": ["old"]})
    server.posts[0]["properties"]["published"] = [(watch.now - timedelta(days=7)).isoformat()]
    server.honors_slugs = honors_slugs
    secrets = InMemorySecrets(token="t0ken", endpoint="https://me.example/micropub?site=1")
    account = Account(platform="micropub", server="https://me.example", id="https://me.example", name="me.example")
    platform = Micropub(PlatformClient(server), secrets, clock=watch)
    return Target(platform, account, lambda: [post["properties"]["name"][0] for post in server.posts[1:]], server)


def _webhook(watch: Watch) -> Target:
    server = FakeReceiver(watch)
    account = Account(platform="webhook", server="https://me.example/in", id="https://me.example/in", name="me.example")
    platform = Webhook(PlatformClient(server), InMemorySecrets(secret=FakeReceiver.secret), clock=watch)
    return Target(platform, account, lambda: [text for post in server.posts for text in post["parts"]], server)


TARGETS: Mapping[str, Callable[[Watch], Target]] = {
    "fake with keys": lambda watch: _fake(watch, keyed=True),
    "fake without keys": lambda watch: _fake(watch, keyed=False),
    "bluesky": _bluesky,
    "mastodon": lambda watch: _mastodon(watch, MASTODON),
    "gotosocial": lambda watch: _mastodon(watch, GOTOSOCIAL),
    "x": _x,
    "linkedin": _linkedin,
    "threads": _threads,
    "wordpress": _wordpress,
    "ghost": _ghost,
    "devto": _devto,
    "micropub": lambda watch: _micropub(watch, honors_slugs=True),
    "micropub without slugs": lambda watch: _micropub(watch, honors_slugs=False),
    "webhook": _webhook,
}
ARTICLES = ("wordpress", "ghost", "devto", "micropub", "micropub without slugs")
UNREADABLE = ("linkedin", "webhook")
"""Platforms whose posts cannot be read: the user decides."""


class RestoredDesk:
    """A desk in `home` with one account, opened anew for each step."""

    def __init__(self, home: Path, name: str) -> None:
        self.home, self.watch = home, Watch()
        self.target = TARGETS[name](self.watch)

    def open(self) -> AbstractAsyncContextManager[Desk]:
        """Open the desk."""
        return open_posting_desk(self.home, {self.target.account.platform: self.target.platform}, clock=self.watch)

    async def connect(self, desk: Desk) -> str:
        """Store the account; return its id."""
        return await desk._context.write(accounts.save, new_id(self.watch.now), self.target.account, self.watch.now)

    def back_up(self) -> Path:
        """Copy the database with SQLite's backup API; return the copy."""
        copy = self.home / f"backup-{len(list(self.home.glob('backup-*')))}.db"
        with closing(sqlite3.connect(self.home / DATABASE)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        return copy

    def restore(self, copy: Path) -> None:
        """Put a copy in the place of the closed database."""
        for path in self.home.glob(f"{DATABASE}*"):
            path.unlink()
        (self.home / DATABASE).write_bytes(copy.read_bytes())

    async def finish(self, desk: Desk) -> tuple[DeliveryReport, ...]:
        """Send until nothing can be done any more; return the reports of unsettled deliveries."""
        for _ in range(MAX_ROUNDS):
            await desk.schedule.due_drafts.dispatch_due()
            await desk.posting.send_due()
            waiting = [report for report in await desk.posting.list_unsettled() if report.retry_after]
            if not waiting:
                break
            self.watch.now = max(self.watch.now, *(report.retry_after for report in waiting if report.retry_after))
        return await desk.posting.list_unsettled()


def states(reports: tuple[DeliveryReport, ...]) -> list[DeliveryState]:
    """Return the states of deliveries."""
    return [report.state for report in reports]
