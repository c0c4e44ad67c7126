"""The command line for tests: called as a user calls it, in a process of its own or in this one."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from copydesk.cli import main

COMMAND = (sys.executable, "-m", "copydesk")


class Said(NamedTuple):
    """What a call printed, and how it ended."""

    code: int
    out: str
    err: str


def environment(home: Path, **named: str) -> dict[str, str]:
    """The environment of a call: sources may be on this machine; `named` are further variables."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("COPYDESK", "COV"))}
    ours = {"COPYDESK_HOME": str(home), "COPYDESK_NETWORK__ALLOW_PRIVATE": "true"}
    return plain | ours | {key.upper(): value for key, value in named.items()}


def call(home: Path, *args: str, stdin: str = "", limit: Callable[[], object] | None = None, **named: str) -> Said:
    """Call `copydesk` in a process of its own."""
    ran = subprocess.run(
        [*COMMAND, *args],
        env=environment(home, **named),
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=60,
        check=False,
        preexec_fn=limit,
    )
    return Said(ran.returncode, ran.stdout, ran.stderr)


def call_here(home: Path, *args: str, stdin: str = "", **named: str) -> Said:
    """Call `copydesk` in this process, which is much faster. Not from within an event loop."""
    out, err = StringIO(), StringIO()
    code: object = 0
    with (
        patch.object(sys, "argv", ["copydesk", *args]),
        patch.object(sys, "stdin", TextIOWrapper(BytesIO(stdin.encode()))),
        patch.dict(os.environ, environment(home, **named), clear=True),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return Said(code if isinstance(code, int) else 0 if code is None else 1, out.getvalue(), err.getvalue())


def assert_one_line(said: Said, code: int) -> None:
    """The call failed with `code`, and with one line that says why."""
    assert (said.code, said.out) == (code, ""), said
    assert said.err.startswith("Error: "), said
    assert said.err.count("\n") == 1, said
