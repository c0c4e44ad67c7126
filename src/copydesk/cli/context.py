"""What every command needs: the settings, the desk, and one way for errors to come out."""

import asyncio
import gc
import logging
import re
import shlex
import signal
import sys
import termios
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, NoReturn, TypeVar

import click
import msgspec

from copydesk import settings as settings_module
from copydesk.cli import COMMANDS, INTERRUPTED, fail
from copydesk.errors import CopydeskError, InvalidError, SettingsError
from copydesk.settings import Settings

if TYPE_CHECKING:
    # At run time imported when it is opened: the console paints before that.
    from copydesk.desk import Desk

T = TypeVar("T")
_COMMAND = re.compile(rf"\bcopydesk (?=--run-pipeline|(?:{'|'.join(COMMANDS)})\b)")
"""What calls Copydesk, in a text that may have words from outside in it."""


class Context:
    """One call of the command line."""

    def __init__(self, *, home: Path | None, sample: bool, debug: bool) -> None:
        self.home = home
        self.sample = sample
        self.debug = debug

    def settings(self) -> Settings:
        """The settings; the sample desk has a folder of its own."""
        if not self.sample:
            return settings_module.load(home=self.home)
        from copydesk.sample.desk import sample_settings  # noqa: PLC0415

        _, data = settings_module.homes(self.home)
        return sample_settings(settings_module.load(home=data / "sample"))

    def run(self, work: Callable[["Desk"], Awaitable[T]]) -> T:
        """Open the desk, do `work` on it, close it. An error ends the program with one line."""
        if self.debug:
            logging.getLogger("copydesk").addHandler(logging.StreamHandler())
        try:
            return asyncio.run(self._on_desk(work))
        except CopydeskError as error:
            self.fail(error)
        except (KeyboardInterrupt, asyncio.CancelledError):
            fail("Interrupted.", INTERRUPTED)

    async def _on_desk(self, work: Callable[["Desk"], Awaitable[T]]) -> T:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        async with self.desk() as desk:
            # What was imported by now lives to the end: the collector need not look through it again and again.
            gc.freeze()
            return await work(desk)

    def desk(self) -> "AbstractAsyncContextManager[Desk]":
        """The desk, not yet open."""
        settings = self.settings()
        if not self.sample:
            from copydesk.desk import open_desk  # noqa: PLC0415

            return open_desk(settings, ask=_ask_passphrase if sys.stdin.isatty() else None)
        from copydesk.sample.desk import open_sample  # noqa: PLC0415

        return open_sample(settings)

    @property
    def chosen_desk(self) -> list[str]:
        """The options that lead another call to the same desk, from any folder."""
        home = ["--home", str(self.home.absolute())] if self.home is not None else []
        return home + ["--sample"] * self.sample

    def advice(self, text: str) -> str:
        """`text` with the commands in it as they are called for this desk."""
        called = shlex.join(["copydesk", *self.chosen_desk])
        return _COMMAND.sub(lambda _: f"{called} ", text)

    def fail(self, error: CopydeskError) -> NoReturn:
        """Print the error on one line and end: 2 where the call was wrong, else 1."""
        if self.debug:
            raise error
        from copydesk.text import clean  # noqa: PLC0415 - nothing that is not needed stands before the console

        fail(clean(self.advice(str(error))), 2 if isinstance(error, SettingsError | InvalidError) else 1)


async def _ask_passphrase(*, new: bool) -> str:
    """The passphrase of the keys to accounts; a new one twice."""
    question = "New passphrase for the keys to your accounts" if new else "Passphrase of the keys to your accounts"
    ask = partial(
        click.prompt, question, default="", hide_input=True, show_default=False, confirmation_prompt=new, err=True
    )
    return await _asked(ask)


async def _asked(ask: Callable[[], str]) -> str:
    """What `ask` is answered, in a thread of its own: one of an executor would be waited for after a Ctrl-C.

    The terminal is left as it was found; nobody else does that where the question is left unanswered.
    """
    loop, before = asyncio.get_running_loop(), termios.tcgetattr(sys.stdin)
    found: Future[str] = Future()
    found.set_running_or_notify_cancel()

    def work() -> None:
        try:
            found.set_result(ask())
        except click.Abort:  # Ctrl-C comes as a signal: this is the end of the input
            found.set_result("")
        except Exception as error:  # it is raised where the answer is awaited
            found.set_exception(error)

    answer = asyncio.wrap_future(found, loop=loop)
    Thread(target=work, name="copydesk-question", daemon=True).start()
    try:
        return await answer
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, before)


def print_json(value: object) -> None:
    """Print a value in the interface's shape; what a terminal would take for a command stands in it as `\\u009b`."""
    from copydesk.model.wire import to_json  # noqa: PLC0415 - as above
    from copydesk.text import HIDDEN  # noqa: PLC0415

    click.echo(HIDDEN.sub(_escaped, to_json(value, indent=2 if sys.stdout.isatty() else 0)))


def _escaped(match: re.Match[str]) -> str:
    """A character as JSON writes it in ASCII: by its code units in UTF-16."""
    units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


pass_context = click.make_pass_decorator(Context)


def convert_config(text: str | None) -> dict[str, object] | None:
    """The object that `--config` holds; anything else is wrong usage."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.DecodeError as error:
        raise click.BadParameter(f"not a JSON object: {error}", param_hint="--config") from None
