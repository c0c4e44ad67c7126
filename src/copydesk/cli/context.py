"""The context that every command gets: settings, the desk, errors, confirmation of risky commands."""

import asyncio
import gc
import logging
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, TypeVar

import click
import msgspec

from copydesk import settings as settings_module
from copydesk.cli.commands import COMMANDS, CONFLICT, FAILED, INTERRUPTED, NOT_FOUND, TERMINATED, USAGE, fail
from copydesk.cli.json_output import wants_json
from copydesk.errors import (
    OUT_OF_MEMORY,
    ConflictError,
    CopydeskError,
    FieldError,
    InvalidError,
    NotFoundError,
    SettingsError,
)
from copydesk.settings import Settings
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk, Desks
    from copydesk.model.user import User
    from copydesk.problems import Problem


T = TypeVar("T")
_PREDICATES = ("is ", "takes ", "contains ", "cannot ", "needs ", "must ")
"""How messages begin that continue the name of a field or option."""
# Only real commands are rewritten: a title may contain the program's name too.
_COMMAND_PATTERN = rf"\bcopydesk (?=--run-pipeline|--user |(?:{'|'.join(COMMANDS)})\b)"
"""Matches a call of copydesk in a text that may contain words from outside."""


HOME_VARIABLE, USER_VARIABLE, SAMPLE_VARIABLE = "COPYDESK_HOME", "COPYDESK_USER", "COPYDESK_SAMPLE"
"""The variables that name a desk, as the options do."""
FOR_ALL_USERS = ("backup", "migrate", "restore", "serve", "worker")
"""Commands that refuse `--user`."""
EXIT_CODES = (
    ((SettingsError, InvalidError), USAGE),
    ((NotFoundError,), NOT_FOUND),
    ((ConflictError,), CONFLICT),
)
"""The exit codes of errors; FAILED for all others."""

MAX_FILE_SIZE = 20 * 2**20
"""Bytes of a file that an argument names; devices such as /dev/zero never end."""


class Context:
    """One call of the command line."""

    def __init__(self, *, home: Path | None, sample: bool, debug: bool, user: str | None = None) -> None:
        self.home = home
        self.sample = sample
        self.user = user
        """Name of the user; None for the owner."""
        self.debug = debug
        self.reports_interrupted = True
        """Print interrupted bulk actions once; not the command that finishes them."""
        self.failure_hint = ""
        """A sentence added to every error, such as where the text is that could not be stored."""
        self.adds_sample_history = False
        """Give a new sample desk posts, a schedule and experiments, too: to look around, not for a single command."""

    @classmethod
    def from_options(cls, *, home: Path | None, sample: bool, user: str | None, debug: bool = False) -> "Context":
        """Return the context that the options of `copydesk` name, or the variables in their place."""
        # Another folder named on the command line is another desk, which the variables say nothing about.
        if home is None:
            # An empty `--user` comes from a variable that a script left unset; it must not mean the owner.
            user = os.environ.get(USER_VARIABLE) or None if user is None else user
            sample = sample or bool(os.environ.get(SAMPLE_VARIABLE))
        return cls(home=home, sample=sample, debug=debug, user=user)

    def settings(self) -> Settings:
        """Load the settings; the sample desk has a folder of its own."""
        settings = settings_module.load(home=self._settings_home)
        if not self.sample:
            return settings
        from copydesk.sample.desk import sample_settings  # noqa: PLC0415

        return sample_settings(settings)

    def default_settings(self) -> Settings:
        """Return the default settings in the folders of this desk: for settings that cannot be loaded."""
        config, data = settings_module.get_directories(self._settings_home)
        return Settings(config_home=config, data_home=data)

    @property
    def _settings_home(self) -> Path | None:
        return settings_module.get_directories(self.home)[1] / "sample" if self.sample else self.home

    def run(self, work: Callable[["Desk"], Awaitable[T]]) -> T:
        """Open the desk, run `work` on it, close it. An error ends the program with one line."""
        return self.run_without_desk(lambda: self._run_on_desk(work))

    def run_on_desks(self, work: Callable[["Desks"], Awaitable[T]]) -> T:
        """Open the desks of all users, run `work` on them, close them. An error ends the program with one line."""

        async def open_and_work() -> T:
            async with self.desks() as desks:
                return await work(desks)

        return self.run_without_desk(open_and_work)

    def run_without_desk(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run `work`. An error ends the program with one line."""
        if self.debug:
            # Without --debug nothing is printed: errors are one line, and logs could break the JSON of a pipe.
            logging.getLogger("copydesk").addHandler(logging.StreamHandler())
        try:
            with asyncio.Runner() as runner:
                # Without a loop there is nothing to run, and no coroutine that would never be awaited.
                runner.get_loop()
                return runner.run(_run_until_signal(work))
        except CopydeskError as error:
            self.fail(error)
        except _TerminatedError:
            fail(self._with_failure_hint("Interrupted."), TERMINATED)
        except (KeyboardInterrupt, asyncio.CancelledError):
            fail(self._with_failure_hint("Interrupted."), INTERRUPTED)

    async def _run_on_desk(self, work: Callable[["Desk"], Awaitable[T]]) -> T:
        async with self.desk() as desk:
            # Everything imported by now lives until exit: keep it out of every garbage collection.
            gc.freeze()
            await self._print_interrupted(desk)
            return await work(desk)

    async def _print_interrupted(self, desk: "Desk") -> None:
        """Print the bulk actions whose process was killed."""
        if not self.reports_interrupted:
            return
        self.reports_interrupted = False
        # On stderr, since the command's own output may be read by a program.
        for bulk in await desk.drafts.interrupted_bulks():
            click.echo(self.with_desk_options(bulk.summary), err=True)

    @asynccontextmanager
    async def desk(self) -> AsyncIterator["Desk"]:
        """Open the desk of the user that `--user` names, by default the owner's. Raise NotFoundError."""
        async with self.desks() as desks:
            desk = await desks.get(await self.find_user(desks))
            if self.sample:
                from copydesk.sample.desk import populate  # noqa: PLC0415

                await populate(desk)
            yield desk

    def refuse_user(self, reason: str) -> None:
        """Raise UsageError with `reason` if a user is named, for a command that is for all users."""
        self.refuse_user_option(reason)
        if self.user is not None:
            raise click.UsageError(f"{reason} Unset {USER_VARIABLE}.")

    def refuse_user_option(self, reason: str) -> None:
        """Raise UsageError with `reason` if `--user` is given, for a command that ignores the variable."""
        if click.get_current_context().find_root().params["user"] is not None:
            raise click.UsageError(f"{reason} Leave out --user.")

    async def find_user(self, desks: "Desks") -> "User":
        """Return the user that `--user` names, by default the owner. Raise NotFoundError."""
        return desks.owner if self.user is None else await desks.users.get(self.user)

    def desks(self) -> "AbstractAsyncContextManager[Desks]":
        """Return the desks of all users, not opened yet. Raise NotFoundError if the command must not create them."""
        settings = self.settings()
        if not self.sample:
            running = click.get_current_context(silent=True)
            if self.home is not None and not settings.has_database and not _may_create_desk(running):
                hint = "Check --home, or create one: copydesk source add URL"
                raise NotFoundError(f"There is no desk in {settings.data_home}.", hint=hint)
            from copydesk.cli.prompts import prompt_passphrase  # noqa: PLC0415 - not for the first paint
            from copydesk.desk import open_desks  # noqa: PLC0415

            # A script cannot answer: it gets an error that names the environment variable instead of a prompt.
            return open_desks(settings, prompt_passphrase=prompt_passphrase if sys.stdin.isatty() else None)
        from copydesk.sample.desk import open_sample_desks  # noqa: PLC0415

        return open_sample_desks(settings, with_history=self.adds_sample_history)

    @property
    def desk_options(self) -> list[str]:
        """The options with which another call opens the same desk, from any folder."""
        return self._folder_options + (["--user", self.user] if self.user is not None else [])

    @property
    def _folder_options(self) -> list[str]:
        # Absolute, because the command may be pasted into a shell in another folder.
        home = ["--home", str(self.home.absolute())] if self.home is not None else []
        return home + ["--sample"] * self.sample

    @property
    def desk_environment(self) -> dict[str, str]:
        """The variables with which a call without options opens the same desk, and finds the program."""
        home = {HOME_VARIABLE: str(self.home.absolute())} if self.home is not None else {}
        user = {USER_VARIABLE: self.user} if self.user is not None else {}
        # Last, so that the programs of the user's own path stay what they are.
        path = os.pathsep.join(filter(None, (os.environ.get("PATH"), str(Path(sys.executable).parent))))
        return home | user | ({SAMPLE_VARIABLE: "1"} if self.sample else {}) | {"PATH": path}

    def with_desk_options(self, text: str) -> str:
        """Return `text` with its commands written as they are called for this desk."""
        import shlex  # noqa: PLC0415 - not for the first paint

        def qualify(command: re.Match[str]) -> str:
            # The users of a desk are the same for each of them, and this one may not exist. A command may name its own.
            is_for_any_user = text.startswith(("user ", "--user ", *FOR_ALL_USERS), command.end())
            options = self._folder_options if is_for_any_user else self.desk_options
            return f"{shlex.join(['copydesk', *options])} "

        return re.sub(_COMMAND_PATTERN, qualify, text)

    def fail(self, error: CopydeskError) -> NoReturn:
        """Print the error on one line and exit with its code."""
        if self.debug:
            raise error
        text = self._with_failure_hint(_describe_invalid(error) if isinstance(error, InvalidError) else str(error))
        code = next((code for error_type, code in EXIT_CODES if isinstance(error, error_type)), FAILED)
        fail(clean(self.with_desk_options(text)), code, self._to_problem(error) if wants_json() else None)

    def _to_problem(self, error: CopydeskError) -> "Problem":
        from copydesk.problems import to_problem  # noqa: PLC0415 - only for --json

        problem = to_problem(error)
        detail, hint = self.with_desk_options(problem.detail), self.with_desk_options(problem.hint)
        return msgspec.structs.replace(problem, detail=detail, hint=self._with_failure_hint(hint))

    def _with_failure_hint(self, text: str) -> str:
        return f"{text} {self.failure_hint}".strip()


def _may_create_desk(running: click.Context | None) -> bool:
    """Return True unless the command that is running needs a desk that exists."""
    if running is None:
        return True
    creates_desk = getattr(running.command, "creates_desk", False)
    return bool(creates_desk(running.params) if callable(creates_desk) else creates_desk)


def _describe_invalid(error: InvalidError) -> str:
    """Return the problems as sentences, in which fields have the names of the command's options."""
    names, sentences = _parameter_names(), []
    for field, message in rename_fields(error, names).errors:
        # A message that names its own subject needs no field, but the option that is meant.
        if message.startswith(("“", "already ")) and not field.startswith("--"):
            text = message[:1].upper() + message[1:]
        else:
            text = f"{field} {message}" if message.startswith(_PREDICATES) else f"{field}: {message}"
        sentences.append(text if text.endswith((".", "?")) else f"{text}.")
    return " ".join([*sentences, error.hint]).strip()


def _parameter_names() -> dict[str, str]:
    """Return the options and arguments of the running command by the fields that they set."""
    context = click.get_current_context(silent=True)
    parameters = context.command.params if context else ()
    return {
        to_field(parameter.name): parameter.opts[-1]
        if isinstance(parameter, click.Option)
        else parameter.human_readable_name.strip("[].")
        for parameter in parameters
        if parameter.name
    }


def to_field(name: str) -> str:
    """Return the field of a request that the parameter `name` of a command sets: `maxTokens` for `max_tokens`."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


async def _run_until_signal(work: Callable[[], Awaitable[T]]) -> T:
    task = asyncio.current_task()
    assert task is not None
    loop, received = asyncio.get_running_loop(), asyncio.Event()

    def terminate() -> None:
        received.set()
        task.cancel()

    # SIGTERM cancels the work like Ctrl-C does, so that the desk is closed properly.
    loop.add_signal_handler(signal.SIGTERM, terminate)
    loop.set_exception_handler(_exit_without_memory)
    try:
        return await work()
    except asyncio.CancelledError:
        if received.is_set():
            raise _TerminatedError from None
        raise


class _TerminatedError(Exception):
    """SIGTERM cancelled the work."""


def _exit_without_memory(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """End the process if a callback of the loop is lost for lack of memory: everything may wait for it, closing too."""
    if isinstance(context.get("exception"), MemoryError):
        click.echo(f"Error: {OUT_OF_MEMORY}", err=True)
        os._exit(1)
    loop.default_exception_handler(context)


pass_context = click.make_pass_decorator(Context)


def parse_config(text: str | None) -> dict[str, object] | None:
    """Parse the JSON object of `--config`. Raise BadParameter for anything else."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError) as error:
        raise click.BadParameter(f"not a JSON object: {error}", param_hint="--config") from None


def rename_fields(error: InvalidError, names: Mapping[str, str]) -> InvalidError:
    """Return the error with the names that the user knows: options, arguments and files instead of fields."""
    named = (FieldError(_rename_field(field, names), message) for field, message in error.errors)
    return InvalidError(*named, hint=error.hint)


def _rename_field(field: str, names: Mapping[str, str]) -> str:
    """Return the name for `tags` or one of its entries, `tags[0]`, and `--config: weight` for `config.weight`."""
    if field in names:
        return names[field]
    whole, separator, part = field.partition(".")
    if separator:
        return f"{names[whole]}: {part}" if whole in names else field
    entry = re.fullmatch(r"(\w+)\[\d+\]", field)
    return names.get(entry[1] if entry else field, field)


def read_limited(file: BinaryIO) -> bytes:
    """Return the content of a file that an argument names. Raise UsageError if it is too large."""
    name = getattr(file, "name", "Standard input")
    try:
        # One byte more than allowed tells a file that is too large without reading all of it.
        content = file.read(MAX_FILE_SIZE + 1)
    except OSError as error:
        raise click.UsageError(f"Cannot read {name}: {error.strerror}.") from None
    if len(content) > MAX_FILE_SIZE:
        raise click.UsageError(f"{name} is larger than {MAX_FILE_SIZE // 2**20} MiB.")
    return content


async def find(lookup: Awaitable[T]) -> T | None:
    """Return the result of a lookup, or None if it raises NotFoundError."""
    with suppress(NotFoundError):
        return await lookup
    return None


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
        _fail_unconfirmed(f"{declined} Use --yes to skip the confirmation.")
    _fail_unconfirmed(declined)


def _fail_unconfirmed(message: str) -> NoReturn:
    from copydesk.problems import Problem  # noqa: PLC0415 - only for --json

    problem = Problem(type="/problems/not-confirmed", title="Not confirmed", status=409, detail=message)
    fail(message, FAILED, problem)


def is_interactive() -> bool:
    """Return True if a user reads the output and can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()
