"""A real Bluesky PDS on loopback, started for a test run."""

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

import node_server
from node_server import UnavailableError

__all__ = ["Pds", "UnavailableError", "Writer", "running"]


class Writer(NamedTuple):
    """An account on a server, and what whoever made it knows."""

    did: str
    handle: str
    app_password: str
    token: str


class Pds(NamedTuple):
    """A running server."""

    url: str
    plc: str
    secret: str
    """What it signs its tokens with."""

    def writer(self, name: str) -> Writer:
        """Make the account `name`.test, with an app password."""
        asked = {"handle": f"{name}.test", "email": f"{name}@example.com", "password": "a password for everything"}
        made = self._post("server.createAccount", asked, "")
        app = self._post("server.createAppPassword", {"name": "copydesk"}, str(made["accessJwt"]))
        return Writer(str(made["did"]), f"{name}.test", str(app["password"]), str(made["accessJwt"]))

    def posts(self, did: str) -> list[dict[str, Any]]:
        """What an account holds, as the server has it: `uri`, `cid` and `value` of each, in the order of their keys."""
        asked = {"repo": did, "collection": "app.bsky.feed.post", "limit": 100, "reverse": True}
        records: list[dict[str, Any]] = self._get("repo.listRecords", asked).json()["records"]
        return records

    def blob(self, did: str, cid: str) -> bytes:
        """A file that an account has uploaded."""
        return self._get("sync.getBlob", {"did": did, "cid": cid}).content

    def edit(self, writer: Writer, key: str, text: str) -> None:
        """Replace the text of a post, as no app does."""
        value = {"$type": "app.bsky.feed.post", "text": text, "createdAt": "2026-02-10T09:00:00.000Z"}
        asked = {"repo": writer.did, "collection": "app.bsky.feed.post", "rkey": key, "record": value}
        self._post("repo.putRecord", asked, writer.token)

    def expired(self, token: str) -> str:
        """The same token, signed as one that ran out long ago."""
        head, payload, _ = token.split(".")
        said = json.loads(urlsafe_b64decode(payload + "=="))
        signed = f"{head}.{_base64(json.dumps({**said, 'iat': 1, 'exp': 2}).encode())}"
        return f"{signed}.{_base64(hmac.digest(self.secret.encode(), signed.encode(), 'sha256'))}"

    def _get(self, name: str, params: dict[str, Any]) -> httpx.Response:
        answer = httpx.get(f"{self.url}/xrpc/com.atproto.{name}", params=params, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer

    def _post(self, name: str, asked: dict[str, Any], token: str) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        answer = httpx.post(f"{self.url}/xrpc/com.atproto.{name}", json=asked, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        made: dict[str, Any] = answer.json()
        return made


def _base64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@contextmanager
def running(*options: str) -> Iterator[Pds]:
    """A server of its own, which ends with the block, or with this process; raises UnavailableError."""
    with node_server.running("pds", *options) as server:
        pds = Pds(**server.said)
        assert httpx.get(f"{pds.url}/xrpc/_health", timeout=30).status_code == 200
        yield pds
