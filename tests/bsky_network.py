"""The Bluesky network on loopback, from npm and with a PostgreSQL of its own: a PDS, and the AppView that counts.

    with running() as network:
        ann, ben = network.pds.writer("ann"), network.pds.writer("ben")
        post = ...  # ann posts
        network.like(ben, post)
        network.settle()  # now the AppView knows

PostgreSQL is the machine's: its programs are looked for on the PATH and where Debian puts them.
"""

import os
import pwd
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

import node_server
from node_server import NodeServer, UnavailableError
from pds_server import Pds, Writer

__all__ = ["Network", "Ref", "UnavailableError", "running"]

PROGRAMS = ("initdb", "pg_isready", "postgres")
DEBIAN = Path("/usr/lib/postgresql")
WRITTEN = "2026-02-10T09:30:00.000Z"


class Ref(NamedTuple):
    """A record, as others name it."""

    uri: str
    cid: str


class Network(NamedTuple):
    """A running network."""

    pds: Pds
    server: NodeServer

    def settle(self) -> None:
        """Wait until the AppView knows everything that the PDS holds."""
        assert self.server.ask() == "settled"

    def ref(self, uri: str) -> Ref:
        """A post that the PDS holds."""
        (found,) = [each for each in self.pds.posts(uri.split("/")[2]) if each["uri"] == uri]
        return Ref(uri, str(found["cid"]))

    def like(self, who: Writer, uri: str) -> Ref:
        """Somebody likes a post."""
        return self._record(who, "app.bsky.feed.like", subject=self.ref(uri)._asdict())

    def repost(self, who: Writer, uri: str) -> Ref:
        """Somebody reposts a post."""
        return self._record(who, "app.bsky.feed.repost", subject=self.ref(uri)._asdict())

    def reply(self, who: Writer, uri: str, root: str = "") -> Ref:
        """Somebody replies to a post, in the thread that begins with `root`."""
        about = {"root": self.ref(root or uri)._asdict(), "parent": self.ref(uri)._asdict()}
        return self._record(who, "app.bsky.feed.post", text="A reply.", reply=about)

    def quote(self, who: Writer, uri: str) -> Ref:
        """Somebody posts something about a post."""
        embed = {"$type": "app.bsky.embed.record", "record": self.ref(uri)._asdict()}
        return self._record(who, "app.bsky.feed.post", text="Look at this.", embed=embed)

    def delete(self, who: Writer, uri: str) -> None:
        """Somebody takes something back."""
        collection, key = uri.split("/")[3:]
        self._ask(who, "deleteRecord", {"repo": who.did, "collection": collection, "rkey": key})

    def _record(self, who: Writer, collection: str, **value: object) -> Ref:
        record = {"$type": collection, "createdAt": WRITTEN, **value}
        made = self._ask(who, "createRecord", {"repo": who.did, "collection": collection, "record": record})
        return Ref(made["uri"], made["cid"])

    def _ask(self, who: Writer, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {who.token}"}
        answer = httpx.post(f"{self.pds.url}/xrpc/com.atproto.repo.{name}", json=asked, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        made: dict[str, Any] = answer.json()
        return made


@contextmanager
def running() -> Iterator[Network]:
    """A network of its own, which ends with the block, or with this process; raises UnavailableError."""
    with node_server.running("bsky_network", str(_postgres()), *_ids()) as server:
        yield Network(Pds(**server.said), server)


def _postgres() -> Path:
    """The folder of PostgreSQL's programs: that on the PATH, else Debian's newest."""
    on_path = shutil.which("postgres")
    debian = DEBIAN.glob("*/bin") if DEBIAN.is_dir() else ()
    newest_first = sorted(debian, key=lambda folder: float(folder.parent.name), reverse=True)
    for folder in [*([Path(on_path).resolve().parent] if on_path else []), *newest_first]:
        if all(os.access(folder / name, os.X_OK) for name in PROGRAMS):
            return folder
    raise UnavailableError(f"there is no PostgreSQL: {', '.join(PROGRAMS)} on the PATH or in {DEBIAN}/*/bin")


def _ids() -> tuple[str, ...]:
    """Whom PostgreSQL runs as where this is root, which it refuses: its own user, else nobody."""
    if os.geteuid() != 0:
        return ()
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return str(user.pw_uid), str(user.pw_gid)
    raise UnavailableError("PostgreSQL does not run as root, and there is no user `postgres` or `nobody`")
