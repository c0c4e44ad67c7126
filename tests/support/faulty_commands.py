"""Commands of the command line for the proof of failing calls: a desk for each, and the state that each leads to."""

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from desk_fixtures import entry, feed
from faulty_calls import CommandRunner, FaultyCall
from feed_server import FeedServer, Request

VARIABLES = {"copydesk_secrets__keyring": "false", "copydesk_secrets__plain": "true"}
SECRET = "s" * 20


class FaultyWorld:
    """A template of a desk, and a server with a feed and a receiver of posts."""

    def __init__(self, folder: Path, server: FeedServer, runner: CommandRunner) -> None:
        self.folder = folder
        self.runner = runner
        self.server = server
        self.posted: list[str] = []
        """The id of each post that arrived; a request that is repeated has the same."""
        now = datetime.now(UTC)
        server.serve("/feed", feed(*(entry(number, now=now) for number in range(1, 4))))
        server.serve("/other", feed(entry(9, now=now)))
        server.route("/hook", self._receive)
        self.template = folder / "template"
        self.ids: dict[str, str] = {}
        self._fill()

    async def _receive(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        fields = json.loads(request.body)
        if fields["event"] == "post":
            self.posted.append(fields["id"])
        body = json.dumps({"id": fields.get("id", "none"), "url": self.server.url("/post")}).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        return True

    def _run(self, *args: str, stdin: str = "") -> str:
        call = FaultyCall(str(self.template), args, stdin=stdin, variables=VARIABLES, is_warm_up=True)
        result = self.runner.run(call)
        assert result.code == 0, result
        return result.out

    def _fill(self) -> None:
        self.template.mkdir()
        self._run("source", "add", "rss", self.server.url("/feed"), "--name", "Feed")
        self._run(*self.connect, stdin=f"{SECRET}\n")
        self._run("slot", "set", "mon 09:00", "tue 10:00")
        for name in ("new", "other", "approved", "scheduled"):
            created = json.loads(self._run("draft", "new", f"This is about {name}.", "--json"))
            self.ids[name] = created["drafts"][0]["id"]
        self._run("draft", "approve", self.ids["approved"], self.ids["scheduled"])
        self._run("draft", "schedule", self.ids["scheduled"])
        self._run("backup", str(self.folder / "backup.db"))
        (self.folder / "feeds.opml").write_text(
            f'<opml version="2.0"><body><outline text="Other" xmlUrl="{self.server.url("/other")}"/></body></opml>'
        )
        with closing(sqlite3.connect(self.template / "copydesk.db")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (self.ids["source"],) = connection.execute("SELECT id FROM source").fetchone()

    @property
    def connect(self) -> tuple[str, ...]:
        """The command that connects the receiver."""
        return ("account", "connect", "webhook", "--url", self.server.url("/hook"))

    def call(self, home: Path, case: "CommandCase") -> FaultyCall:
        """Return the call of a command on the desk in `home`."""
        names = {
            **self.ids,
            "url": self.server.url("").rstrip("/"),
            "opml": str(self.folder / "feeds.opml"),
            "backup": str(self.folder / "backup.db"),
            "target": str(home.with_suffix(".copy")),
        }
        args = tuple(argument.format(**names) for argument in case.args)
        return FaultyCall(str(home), args, stdin=case.stdin, variables=VARIABLES)

    def copy(self, home: Path) -> Path:
        """Return a new desk in `home`."""
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(self.template, home)
        self.posted.clear()
        return home


def query(home: Path, text: str, *values: object) -> list[tuple[object, ...]]:
    """Query the desk's database."""
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        return connection.execute(text, values).fetchall()


@dataclass(frozen=True)
class CommandCase:
    """A command, and how it is seen that it took effect."""

    args: tuple[str, ...]
    """With `{name}` for an id or a file of the world."""
    is_done: Callable[[FaultyWorld, Path], bool] = lambda _world, _home: True
    stdin: str = ""
    once: bool = False
    """True if the command does more when it is repeated although it took effect."""


def has_status(name: str, status: str) -> Callable[[FaultyWorld, Path], bool]:
    """Return a check of a draft's status."""
    return lambda world, home: query(home, "SELECT status FROM draft WHERE id = ?", world.ids[name]) == [(status,)]


def is_posted_or_waits(world: "FaultyWorld", home: Path) -> bool:
    """Return whether the draft was posted once, or not at all and the daemon will try again."""
    if has_status("approved", "posted")(world, home):
        return len(set(world.posted)) == 1
    waiting = "SELECT 1 FROM delivery WHERE state IN ('planned', 'unknown') AND not_before IS NOT NULL"
    return bool(query(home, waiting)) and len(set(world.posted)) <= 1


def has_rows(text: str, *values: object) -> Callable[[FaultyWorld, Path], bool]:
    """Return a check that a query has results."""
    return lambda _world, home: bool(query(home, text, *values))


def lacks_rows(text: str) -> Callable[[FaultyWorld, Path], bool]:
    """Return a check that a query has no results."""
    return lambda _world, home: not query(home, text)


COMMANDS: dict[str, CommandCase] = {
    "draft new": CommandCase(
        ("draft", "new", "A new thing."), has_rows("SELECT 1 FROM draft WHERE text = 'A new thing.'")
    ),
    "draft edit": CommandCase(
        ("draft", "edit", "{new}", "--text", "Other words."),
        has_rows("SELECT 1 FROM draft WHERE text = 'Other words.'"),
    ),
    "draft approve": CommandCase(("draft", "approve", "{new}", "{other}"), has_status("other", "approved")),
    "draft reject": CommandCase(("draft", "reject", "{new}"), has_status("new", "rejected")),
    "draft schedule": CommandCase(("draft", "schedule", "{approved}"), has_status("approved", "scheduled")),
    "draft post": CommandCase(("draft", "post", "{approved}"), is_posted_or_waits),
    "draft undo": CommandCase(("draft", "undo", "{scheduled}"), has_status("scheduled", "approved"), once=True),
    "schedule auto": CommandCase(("schedule", "auto", "--yes"), has_status("approved", "scheduled")),
    "slot set": CommandCase(
        ("slot", "set", "fri 12:00"), has_rows("SELECT 1 FROM schedule_slot WHERE day_of_week = 5")
    ),
    "source add": CommandCase(
        ("source", "add", "rss", "{url}/other", "--name", "Other"),
        has_rows("SELECT 1 FROM source WHERE name = 'Other'"),
    ),
    "source import": CommandCase(("source", "import", "{opml}"), has_rows("SELECT 1 FROM source WHERE name = 'Other'")),
    "source remove": CommandCase(("source", "remove", "{source}", "--yes"), lacks_rows("SELECT 1 FROM source")),
    "run-pipeline": CommandCase(("--run-pipeline",), has_rows("SELECT 1 FROM draft WHERE origin = 'pipeline'")),
    # A job that failed is not started again within a minute. What an interrupted one has fetched waits for the next
    # source that is due.
    "daemon": CommandCase(
        ("daemon", "--once"),
        has_rows(
            "SELECT 1 FROM draft WHERE origin = 'pipeline'"
            " UNION SELECT 1 FROM job WHERE name = 'pipeline'"
            " AND (ended_at IS NOT NULL OR EXISTS (SELECT 1 FROM item WHERE state = 'new'))"
            " AND NOT EXISTS (SELECT 1 FROM run WHERE status = 'succeeded')"
        ),
    ),
    "account connect": CommandCase(
        ("account", "connect", "webhook", "--url", "{url}/hook"),
        has_rows("SELECT 1 FROM account"),
        stdin=f"{SECRET}\n",
    ),
    "account remove": CommandCase(("account", "remove", "webhook", "--yes"), lacks_rows("SELECT 1 FROM account")),
    "voice set": CommandCase(("voice", "set", "--style", "Plain."), has_rows("SELECT 1 FROM voice")),
    "engagement record": CommandCase(
        ("engagement", "record", "{approved}", "x", "--likes", "3"), has_rows("SELECT 1 FROM engagement")
    ),
    "backup": CommandCase(("backup", "{target}", "--force"), lambda _world, home: home.with_suffix(".copy").exists()),
    "restore": CommandCase(("restore", "{backup}", "--yes"), has_status("new", "awaiting_review")),
    "draft list": CommandCase(("draft", "list")),
    "doctor": CommandCase(("doctor",)),
}
