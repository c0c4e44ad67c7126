"""Call the command line as a user does, in a process of its own or in this one."""

import json
import logging
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
from store_fixtures import database_variables

COMMAND = (sys.executable, "-m", "copydesk")


class CommandResult(NamedTuple):
    """Exit code and output of a call."""

    code: int
    out: str
    err: str


def make_environment(home: Path, **variables: str) -> dict[str, str]:
    """Return the environment for a call. Sources may be on this machine; `variables` are added in upper case."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("COPYDESK", "COV"))}
    defaults = {"COPYDESK_HOME": str(home), "COPYDESK_NETWORK__ALLOW_PRIVATE": "true"}
    return inherited | defaults | database_variables(home) | {name.upper(): value for name, value in variables.items()}


def run_command(
    home: Path, *args: str, stdin: str = "", limit: Callable[[], object] | None = None, **variables: str
) -> CommandResult:
    """Run `copydesk` in a process of its own. `limit` is called in it before the program starts."""
    completed = subprocess.run(
        [*COMMAND, *args],
        env=make_environment(home, **variables),
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=60,
        check=False,
        preexec_fn=limit,
    )
    return CommandResult(completed.returncode, completed.stdout, completed.stderr)


def run_in_process(home: Path, *args: str, stdin: str = "", **variables: str) -> CommandResult:
    """Run `copydesk` in this process, which is much faster. Not from within an event loop."""
    out, err = TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True), StringIO()
    code: object = 0
    with (
        patch.object(sys, "argv", ["copydesk", *args]),
        patch.object(sys, "stdin", TextIOWrapper(BytesIO(stdin.encode()))),
        patch.dict(os.environ, make_environment(home, **variables), clear=True),
        patch.object(logging.getLogger("copydesk"), "handlers", []),  # --debug adds one
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as exit_error:
            code = exit_error.code
    text = out.buffer.getvalue().decode()
    return CommandResult(code if isinstance(code, int) else 0 if code is None else 1, text, err.getvalue())


def assert_one_line_error(result: CommandResult, code: int) -> None:
    """Assert that the call failed with `code` and one line on stderr, with `--json` a problem details object."""
    assert (result.code, result.out) == (code, ""), result
    assert result.err.count("\n") == 1, result
    if result.err.startswith("{"):
        assert {"type", "title", "status", "detail"} <= json.loads(result.err).keys(), result
    else:
        assert result.err.startswith("Error: "), result


def error_text(result: CommandResult) -> str:
    """Return the message and hint of the error on stderr, which may be a problem details object."""
    if not result.err.startswith("{"):
        return result.err.removeprefix("Error: ").rstrip("\n")
    problem = json.loads(result.err)
    return f"{problem['detail']} {problem.get('hint', '')}".strip()
