"""The table of commands, and the exit of one that fails."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import click

from copydesk.cli.json_output import format_problem, wants_json
from copydesk.text import reveal

if TYPE_CHECKING:
    from copydesk.problems import Problem

COMMANDS = {
    "try": ("copydesk.cli.try_sources", "Read sources and show three drafts, without touching your desk."),
    "source": ("copydesk.cli.source", "Manage sources."),
    "draft": ("copydesk.cli.draft", "Create, review and schedule drafts."),
    "account": ("copydesk.cli.account", "Connect, check and remove accounts."),
    "delivery": ("copydesk.cli.delivery", "Show deliveries to accounts and resolve uncertain ones."),
    "needs-you": ("copydesk.cli.delivery", "List what needs your answer."),
    "slot": ("copydesk.cli.slot", "Manage weekly posting slots and the time zone."),
    "schedule": ("copydesk.cli.schedule", "Plan the schedule and check for conflicts."),
    "story": ("copydesk.cli.story", "Merge and split stories."),
    "run": ("copydesk.cli.run", "Start, show and cancel pipeline runs."),
    "why": ("copydesk.cli.ranking", "Explain why an item is not among the drafts."),
    "ranking": ("copydesk.cli.ranking", "Show, preview, change or reset interests, filters and weights."),
    "writer": ("copydesk.cli.writer", "Choose who writes drafts."),
    "rule": ("copydesk.cli.rule", "Make rules of the reasons of rejections."),
    "voice": ("copydesk.cli.voice", "Show or change your voice profile."),
    "experiment": ("copydesk.cli.experiment", "Run experiments."),
    "engagement": ("copydesk.cli.engagement", "Show and record how posts perform."),
    "user": ("copydesk.cli.user", "List, add and remove users of the desk."),
    "reviewer": ("copydesk.cli.reviewer", "Show and change the roles of the reviewers of your desk."),
    "token": ("copydesk.cli.token", "Create, list and revoke API tokens."),
    "webhook": ("copydesk.cli.webhook", "Send events to other servers."),
    "daemon": ("copydesk.cli.daemon", "Run scheduled jobs without the console."),
    "worker": ("copydesk.cli.worker", "Run scheduled jobs next to other workers, on PostgreSQL."),
    "serve": ("copydesk.cli.serve", "Serve every operation over HTTP."),
    "mcp": ("copydesk.cli.mcp", "Offer the operations as tools to an agent (MCP)."),
    "prove": ("copydesk.cli.prove", "Kill senders, and count what is posted twice or lost."),
    "backup": ("copydesk.cli.backup", "Back up the database."),
    "restore": ("copydesk.cli.backup", "Replace the database with a backup."),
    "migrate": ("copydesk.cli.migrate", "Copy the desk to PostgreSQL, or back to a file."),
    "prune": ("copydesk.cli.prune", "Delete old data now."),
    "doctor": ("copydesk.cli.doctor", "Check the installation and suggest fixes."),
    "completion": ("copydesk.cli.completion", "Print the completion script for a shell."),
    "help": ("copydesk.cli.help", "Show the help of a command, or a topic."),
}
"""The module of every command, and its line in the help."""

FAILED, USAGE, NOT_FOUND, CONFLICT = 1, 2, 3, 4
"""Exit codes: any other failure, wrong usage or settings, unknown id, not allowed in the current state."""

INTERRUPTED = 130
"""Exit code of an interrupted command: 128 plus the number of SIGINT."""

TERMINATED = 143
"""Exit code of a terminated command: 128 plus the number of SIGTERM."""

EXIT_CODE_SUMMARY = (
    "0 success, 1 failure, 2 wrong usage, 3 not found, 4 not allowed in the current state,"
    " 130 interrupted, 143 terminated"
)
_PROBLEMS = {
    USAGE: ("usage", "Wrong usage", 400),
    INTERRUPTED: ("interrupted", "Interrupted", 503),
    TERMINATED: ("interrupted", "Interrupted", 503),
}
"""Problem type, title and status of exit codes for failures that are not errors of the desk."""


def fail(message: str, code: int, problem: "Problem | None" = None) -> NoReturn:
    """Print one line on stderr and exit. Control characters in it, such as those of an argument, are shown as codes.

    If the arguments ask for JSON, print the problem details instead, by default those of the message and the code.
    """
    # If stderr is closed or its disk is full, the code still tells.
    with suppress(OSError):
        if wants_json():
            click.echo(format_problem(problem or _describe_problem(message, code)), err=True)
        else:
            click.echo(f"Error: {reveal(' '.join(message.split()))}", err=True)
    sys.exit(code)


def _describe_problem(message: str, code: int) -> "Problem":
    from copydesk.problems import Problem  # noqa: PLC0415 - only for --json

    name, title, status = _PROBLEMS.get(code, ("error", "Error", 500))
    return Problem(type=f"/problems/{name}", title=title, status=status, detail=message)


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Let SIGTERM raise SystemExit, so that a prompt for a secret leaves the terminal with echo."""

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(TERMINATED)

    previous = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
