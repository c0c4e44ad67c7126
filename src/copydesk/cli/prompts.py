"""Ask for values on the terminal, or read them from standard input, one per line."""

import getpass
import sys

import click

from copydesk.cli.commands import fail


def prompt_secret(question: str, variable: str, *, optional: bool = False) -> str:
    """Return a value that is not shown while it is typed. `variable` is named to those who have no terminal."""
    if sys.stdin.isatty():
        return getpass.getpass(f"{question}: ")
    return _read_stdin(question, f"set {variable}", optional=optional)


def prompt_line(question: str, alternative: str, *, optional: bool = False) -> str:
    """Return a line. `alternative` says what to do without a terminal."""
    if sys.stdin.isatty():
        answer: str = click.prompt(question, default="" if optional else None, show_default=False, err=True)
        return answer
    return _read_stdin(question, alternative, optional=optional)


def _read_stdin(question: str, alternative: str, *, optional: bool) -> str:
    """Read a line of standard input; without a terminal nobody can be prompted."""
    line = sys.stdin.readline().rstrip("\r\n")
    if not line and not optional:
        fail(f"No value for: {question}. Pass it on standard input, or {alternative}.", 2)
    return line
