"""Asking before something is done that is more than one meant to do, or other than one meant."""

import sys

import click

from copydesk.cli import fail


def ask(question: str, *, nothing: str, default: bool = False) -> None:
    """Go on with a yes only, or with the `default`; else end with `nothing`, which says that nothing was done."""
    try:
        if click.confirm(question, default=default, err=True):
            return
    except click.Abort as end:
        if isinstance(end.__context__, KeyboardInterrupt):
            raise
        click.echo(err=True)
        fail(f"{nothing} With --yes it is done without asking.", 1)
    fail(nothing, 1)


def on_terminal() -> bool:
    """Whether somebody is there who reads what is printed and can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()
