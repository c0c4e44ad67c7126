"""Asking before something is done that is more than one meant to do."""

import click

from copydesk.cli import fail


def ask(question: str, *, nothing: str) -> None:
    """Go on with a yes only; else end with `nothing`, which says that nothing was done."""
    try:
        if click.confirm(question, err=True):
            return
    except click.Abort as end:
        if isinstance(end.__context__, KeyboardInterrupt):
            raise
        click.echo(err=True)
        fail(f"{nothing} With --yes it is done without asking.", 1)
    fail(nothing, 1)
