"""Ask for values on the terminal, or read them from standard input, one per line."""

import asyncio
import sys
import termios
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import Thread

import click

from copydesk.cli.commands import fail


def prompt_secret(question: str, variable: str, *, optional: bool = False) -> str:
    """Return a value that is not shown while it is typed. `variable` is named to those who have no terminal."""
    if sys.stdin.isatty():
        import getpass  # noqa: PLC0415 - every command imports this module

        return getpass.getpass(f"{question}: ")
    return _read_stdin(question, f"set {variable}", optional=optional)


def prompt_line(question: str, alternative: str, *, optional: bool = False) -> str:
    """Return a line. `alternative` says what to do without a terminal."""
    if sys.stdin.isatty():
        answer: str = click.prompt(question, default="" if optional else None, show_default=False, err=True)
        return answer
    return _read_stdin(question, alternative, optional=optional)


async def prompt_passphrase(*, new: bool) -> str:
    """Prompt for the passphrase of the vault; twice for a new one."""
    question = "New passphrase for your account credentials" if new else "Passphrase of your account credentials"
    # On stderr, because stdout may be JSON that another program reads.
    prompt = partial(
        click.prompt, question, default="", hide_input=True, show_default=False, confirmation_prompt=new, err=True
    )
    return await _run_prompt_in_thread(prompt)


async def _run_prompt_in_thread(prompt: Callable[[], str]) -> str:
    """Return the answer to `prompt`, run in a daemon thread: asyncio would wait for an executor's thread after Ctrl-C.

    The terminal's settings are restored; nothing else does that if the prompt is left unanswered.
    """
    loop, terminal_settings = asyncio.get_running_loop(), termios.tcgetattr(sys.stdin)
    future: Future[str] = Future()
    # From here on it cannot be cancelled, so the thread can always set the answer.
    future.set_running_or_notify_cancel()

    def run_prompt() -> None:
        try:
            future.set_result(prompt())
        except click.Abort:  # the end of input; Ctrl-C arrives as a signal, in the main thread
            future.set_result("")
        except Exception as error:  # raised again where the answer is awaited
            future.set_exception(error)

    answer = asyncio.wrap_future(future, loop=loop)
    Thread(target=run_prompt, name="copydesk-question", daemon=True).start()
    try:
        return await answer
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, terminal_settings)


def _read_stdin(question: str, alternative: str, *, optional: bool) -> str:
    """Read a line of standard input; without a terminal nobody can be prompted."""
    line = sys.stdin.readline().rstrip("\r\n")
    if not line and not optional:
        fail(f"No value for: {question}. Pass it on standard input, or {alternative}.", 2)
    return line
