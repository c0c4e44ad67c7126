"""The table of commands, and the exit of one that fails."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

import click

from copydesk.text import reveal

COMMANDS = {
    "source": ("copydesk.cli.source", "Manage sources."),
    "draft": ("copydesk.cli.draft", "Create, review and schedule drafts."),
    "account": ("copydesk.cli.account", "Connect, check and remove accounts."),
    "delivery": ("copydesk.cli.delivery", "Show deliveries to accounts and resolve uncertain ones."),
    "needs-you": ("copydesk.cli.delivery", "List deliveries that need your answer."),
    "slot": ("copydesk.cli.slot", "Manage weekly posting slots and the time zone."),
    "schedule": ("copydesk.cli.schedule", "Plan the schedule and check for conflicts."),
    "story": ("copydesk.cli.story", "Merge and split stories."),
    "run": ("copydesk.cli.run", "Show pipeline runs."),
    "voice": ("copydesk.cli.voice", "Show or change your voice profile."),
    "experiment": ("copydesk.cli.experiment", "Run experiments."),
    "engagement": ("copydesk.cli.engagement", "Show and record how posts perform."),
    "daemon": ("copydesk.cli.daemon", "Run scheduled jobs without the console."),
    "prove": ("copydesk.cli.prove", "Kill senders, and count what is posted twice or lost."),
    "backup": ("copydesk.cli.backup", "Back up the database."),
    "restore": ("copydesk.cli.backup", "Replace the database by a backup."),
    "prune": ("copydesk.cli.prune", "Delete old data now."),
    "doctor": ("copydesk.cli.doctor", "Check the installation and suggest fixes."),
}
"""The module of every command, and its line in the help."""


INTERRUPTED = 130
"""Exit code of an interrupted command: 128 plus the number of SIGINT."""


TERMINATED = 143
"""Exit code of a terminated command: 128 plus the number of SIGTERM."""


def fail(message: str, code: int) -> NoReturn:
    """Print one line on stderr and exit. Control characters in it, such as those of an argument, are shown as codes."""
    # If stderr is closed or its disk is full, the code still tells.
    with suppress(OSError):
        click.echo(f"Error: {reveal(' '.join(message.split()))}", err=True)
    sys.exit(code)


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
