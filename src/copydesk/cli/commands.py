"""The table of commands, and the exit of one that fails."""

import sys
from typing import NoReturn

import click

COMMANDS = {
    "source": ("copydesk.cli.source", "The sources that Copydesk reads."),
    "draft": ("copydesk.cli.draft", "The drafts, and what is known of each."),
    "account": ("copydesk.cli.account", "The accounts that posts go to."),
    "delivery": ("copydesk.cli.delivery", "What became of posts on their way there."),
    "slot": ("copydesk.cli.slot", "The weekly times at which drafts go out."),
    "schedule": ("copydesk.cli.schedule", "When drafts go out, by the plan."),
    "run": ("copydesk.cli.run", "The runs of the pipeline."),
    "voice": ("copydesk.cli.voice", "How you write."),
    "experiment": ("copydesk.cli.experiment", "What you try out."),
    "engagement": ("copydesk.cli.engagement", "What came back of posts."),
    "daemon": ("copydesk.cli.daemon", "Do what is due by itself, without a screen."),
    "doctor": ("copydesk.cli.doctor", "Look for what is wrong, and say what to do."),
}
"""The module of every command, and its line in the help."""


INTERRUPTED = 130
"""Exit code of an interrupted command: 128 plus the number of SIGINT."""


def fail(message: str, code: int) -> NoReturn:
    """Print one line on stderr and exit."""
    click.echo(f"Error: {' '.join(message.split())}", err=True)
    sys.exit(code)
