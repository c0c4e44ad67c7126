"""The Bluesky network on loopback: a PDS, the AppView that counts, and their own PostgreSQL.

    with run_network() as network:
        ann, ben = network.pds.create_account("ann"), network.pds.create_account("ben")
        post = ...  # ann posts
        network.like(ben, post)
        network.wait_for_appview()  # the like is counted from here on

Both servers are installed from npm. PostgreSQL is the machine's: its programs are looked up on the PATH and in
Debian's folders.
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
from pds_server import Pds, PdsAccount

__all__ = ["Network", "Ref", "UnavailableError", "run_network"]

PROGRAMS = ("initdb", "pg_isready", "postgres")
DEBIAN_POSTGRES = Path("/usr/lib/postgresql")
CREATED_AT = "2026-02-10T09:30:00.000Z"


class Ref(NamedTuple):
    """A strong reference to a record."""

    uri: str
    cid: str


class Network(NamedTuple):
    """A running network."""

    pds: Pds
    server: NodeServer

    def wait_for_appview(self) -> None:
        """Wait until the AppView has indexed everything in the PDS."""
        assert self.server.send_line() == "settled"

    def get_ref(self, uri: str) -> Ref:
        """Return the reference to a post in the PDS."""
        (match,) = [post for post in self.pds.list_posts(uri.split("/")[2]) if post["uri"] == uri]
        return Ref(uri, str(match["cid"]))

    def like(self, account: PdsAccount, uri: str) -> Ref:
        """Like a post and return the like's reference."""
        return self._create_record(account, "app.bsky.feed.like", subject=self.get_ref(uri)._asdict())

    def repost(self, account: PdsAccount, uri: str) -> Ref:
        """Repost a post and return the repost's reference."""
        return self._create_record(account, "app.bsky.feed.repost", subject=self.get_ref(uri)._asdict())

    def reply(self, account: PdsAccount, uri: str, root: str = "") -> Ref:
        """Reply to a post in the thread that starts with `root`; return the reply's reference."""
        reply = {"root": self.get_ref(root or uri)._asdict(), "parent": self.get_ref(uri)._asdict()}
        return self._create_record(account, "app.bsky.feed.post", text="A reply.", reply=reply)

    def quote(self, account: PdsAccount, uri: str) -> Ref:
        """Quote a post and return the new post's reference."""
        embed = {"$type": "app.bsky.embed.record", "record": self.get_ref(uri)._asdict()}
        return self._create_record(account, "app.bsky.feed.post", text="Look at this.", embed=embed)

    def delete(self, account: PdsAccount, uri: str) -> None:
        """Delete a record of the account."""
        collection, key = uri.split("/")[3:]
        self._call(account, "deleteRecord", {"repo": account.did, "collection": collection, "rkey": key})

    def _create_record(self, account: PdsAccount, collection: str, **value: object) -> Ref:
        record = {"$type": collection, "createdAt": CREATED_AT, **value}
        response = self._call(
            account, "createRecord", {"repo": account.did, "collection": collection, "record": record}
        )
        return Ref(response["uri"], response["cid"])

    def _call(self, account: PdsAccount, name: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {account.token}"}
        response = httpx.post(f"{self.pds.url}/xrpc/com.atproto.repo.{name}", json=body, headers=headers, timeout=30)
        assert response.status_code == 200, response.text
        result: dict[str, Any] = response.json()
        return result


@contextmanager
def run_network() -> Iterator[Network]:
    """Run a network of its own for the block, or until this process ends.

    Raise UnavailableError if it cannot run here.
    """
    with node_server.run_node_server("bsky_network", str(_find_postgres()), *_unprivileged_ids()) as server:
        yield Network(Pds(**server.info), server)


def _find_postgres() -> Path:
    """Return the folder with PostgreSQL's programs: the one on the PATH, else Debian's newest."""
    on_path = shutil.which("postgres")
    candidates = DEBIAN_POSTGRES.glob("*/bin") if DEBIAN_POSTGRES.is_dir() else ()
    newest_first = sorted(candidates, key=lambda folder: float(folder.parent.name), reverse=True)
    for folder in [*([Path(on_path).resolve().parent] if on_path else []), *newest_first]:
        if all(os.access(folder / name, os.X_OK) for name in PROGRAMS):
            return folder
    raise UnavailableError(f"there is no PostgreSQL: {', '.join(PROGRAMS)} on the PATH or in {DEBIAN_POSTGRES}/*/bin")


def _unprivileged_ids() -> tuple[str, ...]:
    """Return user and group id for PostgreSQL, which refuses to run as root; empty for other users."""
    if os.geteuid() != 0:
        return ()
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return str(user.pw_uid), str(user.pw_gid)
    raise UnavailableError("PostgreSQL does not run as root, and there is no user `postgres` or `nobody`")
