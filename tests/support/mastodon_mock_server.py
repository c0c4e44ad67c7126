"""Run mastodon-mock on loopback, in memory, with accounts of known tokens. It ends with the block or this process."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

START_TIMEOUT = 180.0


class MockMastodon(NamedTuple):
    """A running server."""

    url: str

    @staticmethod
    def token(name: str) -> str:
        """Return the access token of an account."""
        return f"token-of-{name}"

    def request(self, method: str, path: str, name: str, **more: object) -> httpx.Response:
        """Send a request as an account."""
        headers = {"authorization": f"Bearer {self.token(name)}"}
        return httpx.request(method, self.url + path, headers=headers, timeout=30, **more)  # type: ignore[arg-type]

    def authorize(self, query: dict[str, str], name: str) -> str:
        """Consent to an authorization as an account; return the URL the browser is redirected to."""
        response = httpx.post(f"{self.url}/oauth/authorize", data={**query, "username": name}, timeout=30)
        return response.headers["location"]

    def list_posts(self, name: str) -> list[dict[str, object]]:
        """Return the account's posts, oldest first."""
        account_id = self.request("GET", "/api/v1/accounts/verify_credentials", name).json()["id"]
        statuses = self.request("GET", f"/api/v1/accounts/{account_id}/statuses?limit=40", name).json()
        return sorted(statuses, key=lambda post: int(post["id"]))

    def posted_texts(self, name: str) -> list[tuple[str, str | None]]:
        """Return the account's texts in order, each with the text it replies to."""
        posts = self.list_posts(name)
        texts = {post["id"]: self._source_text(str(post["id"]), name) for post in posts}
        return [(texts[post["id"]], texts.get(post["in_reply_to_id"])) for post in posts]

    def _source_text(self, post_id: str, name: str) -> str:
        return str(self.request("GET", f"/api/v1/statuses/{post_id}/source", name).json()["text"])


@contextmanager
def run_mastodon_mock(folder: Path, names: list[str]) -> Iterator[MockMastodon]:
    """Run a server with these accounts. `folder` holds its settings and media."""
    settings = folder / "mastodon.toml"
    settings.write_text(_settings_toml(folder, names), encoding="utf-8")
    port = _free_port()
    command = [sys.executable, __file__, "serve", "--config", str(settings), "--in-memory", "--port", str(port)]
    with (folder / "mastodon.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=log, stderr=log)
    assert process.stdin is not None
    try:
        server = MockMastodon(f"http://127.0.0.1:{port}")
        _wait_for(server, process, folder / "mastodon.log")
        yield server
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _settings_toml(folder: Path, names: list[str]) -> str:
    lines = ['domain = "mock.example"', f"media_storage_path = {json.dumps(str(folder / 'media'))}"]
    for name in names:
        lines += ["[[seed.accounts]]", f'username = "{name}"', f'access_token = "{MockMastodon.token(name)}"']
    return "\n".join(lines) + "\n"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(server: MockMastodon, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        assert process.poll() is None, f"mastodon-mock did not start: {log.read_text(errors='replace')[-2000:]}"
        try:
            if httpx.get(f"{server.url}/api/v2/instance", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("mastodon-mock did not respond in time.")


def _exit_with_parent() -> None:
    """Exit when the pipe from the parent closes, however the parent ended."""
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    from mastodon_mock.cli import main

    threading.Thread(target=_exit_with_parent, daemon=True).start()
    main(sys.argv[1:])
