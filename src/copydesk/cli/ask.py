"""Ask for confirmation before a command does more than the user may have intended."""

import sys

import click

from copydesk.cli import fail


def confirm(question: str, *, declined: str, default: bool = False) -> None:
    """Return if the user answers yes; otherwise exit with `declined`, which says that nothing was done."""
    try:
        if click.confirm(question, default=default, err=True):
            return
    except click.Abort as end:
        # click.confirm raises Abort for Ctrl-C and for the end of input alike.
        if isinstance(end.__context__, KeyboardInterrupt):
            raise
        click.echo(err=True)
        fail(f"{declined} With --yes it is done without asking.", 1)
    fail(declined, 1)


def is_interactive() -> bool:
    """Return True if a user reads the output and can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()
