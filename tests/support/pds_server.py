"""Run a real Bluesky PDS on loopback."""

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

import node_server
from node_server import UnavailableError

__all__ = ["Pds", "PdsAccount", "UnavailableError", "run_pds"]


class PdsAccount(NamedTuple):
    """An account on the server, with its credentials."""

    did: str
    handle: str
    app_password: str
    token: str


class Pds(NamedTuple):
    """A running server."""

    url: str
    plc: str
    secret: str
    """Key of its token signatures."""

    def create_account(self, name: str) -> PdsAccount:
        """Create the account `name`.test with an app password."""
        body = {"handle": f"{name}.test", "email": f"{name}@example.com", "password": "a password for everything"}
        account = self._post("server.createAccount", body, "")
        app_password = self._post("server.createAppPassword", {"name": "copydesk"}, str(account["accessJwt"]))
        return PdsAccount(str(account["did"]), f"{name}.test", str(app_password["password"]), str(account["accessJwt"]))

    def list_posts(self, did: str) -> list[dict[str, Any]]:
        """Return the account's records with `uri`, `cid` and `value`, in the order of their keys."""
        params = {"repo": did, "collection": "app.bsky.feed.post", "limit": 100, "reverse": True}
        records: list[dict[str, Any]] = self._get("repo.listRecords", params).json()["records"]
        return records

    def get_blob(self, did: str, cid: str) -> bytes:
        """Return the content of an uploaded blob."""
        return self._get("sync.getBlob", {"did": did, "cid": cid}).content

    def replace_post(self, account: PdsAccount, key: str, text: str) -> None:
        """Replace a post's text, which no app does."""
        value = {"$type": "app.bsky.feed.post", "text": text, "createdAt": "2026-02-10T09:00:00.000Z"}
        body = {"repo": account.did, "collection": "app.bsky.feed.post", "rkey": key, "record": value}
        self._post("repo.putRecord", body, account.token)

    def expire_token(self, token: str) -> str:
        """Return the token with an expiry in the past, validly signed."""
        header, payload, _ = token.split(".")
        claims = json.loads(urlsafe_b64decode(payload + "=="))
        signing_input = f"{header}.{_base64(json.dumps({**claims, 'iat': 1, 'exp': 2}).encode())}"
        return f"{signing_input}.{_base64(hmac.digest(self.secret.encode(), signing_input.encode(), 'sha256'))}"

    def _get(self, name: str, params: dict[str, Any]) -> httpx.Response:
        response = httpx.get(f"{self.url}/xrpc/com.atproto.{name}", params=params, timeout=30)
        assert response.status_code == 200, response.text
        return response

    def _post(self, name: str, body: dict[str, Any], token: str) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        response = httpx.post(f"{self.url}/xrpc/com.atproto.{name}", json=body, headers=headers, timeout=30)
        assert response.status_code == 200, response.text
        result: dict[str, Any] = response.json()
        return result


def _base64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@contextmanager
def run_pds(*options: str) -> Iterator[Pds]:
    """Run a server of its own for the block, or until this process ends.

    Raise UnavailableError if it cannot run here.
    """
    with node_server.run_node_server("pds", *options) as server:
        pds = Pds(**server.info)
        assert httpx.get(f"{pds.url}/xrpc/_health", timeout=30).status_code == 200
        yield pds
