"""The command line: parse arguments, call the desk, print. No logic.

Command modules are imported when they are called, so that `copydesk --help` is as fast as click itself.
"""

import atexit
import errno
import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from copydesk.cli.command import Group, suggest
from copydesk.cli.commands import COMMANDS, EXIT_CODE_SUMMARY, INTERRUPTED, fail
from copydesk.cli.help_topics import TOPICS
from copydesk.cli.json_output import json_options
from copydesk.version import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""A full or broken disk, or a closed output. The database reports its own errors, so only the output is left."""

FORMATS = ("SHORT", "THREAD", "BLOG")
RUN_FIELDS = ("id", "status", "stage", "startedAt", "endedAt", "duration", "stats", "error")
"""The formats, and the fields of a run. By name: their classes would be imported for `--help`, too."""

OPTIONS_AS_COMMANDS = {
    "run-pipeline": "--run-pipeline",
    "sample": "--sample",
    "version": "--version",
    "web": "--web",
    "login": "account connect",
}
EXAMPLES = (
    "copydesk --sample",
    "copydesk --run-pipeline",
    "copydesk draft list",
    "copydesk help draft approve",
)


class LazyGroup(Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """Import and return a command."""
        if name not in COMMANDS:
            return None
        attribute = name.replace("-", "_")
        # `try` is a word of the language.
        attribute += "_" * iskeyword(attribute)
        command = getattr(import_module(COMMANDS[name][0]), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest a command of a group, and the options that stand for a command, too."""
        name = args[0]
        # While a shell completes, a word that is not finished yet is no error.
        if name not in COMMANDS and not ctx.resilient_parsing:
            group = self._find_group(ctx, name)
            advice = f"Did you mean '{group} {name}'?" if group else suggest(name, COMMANDS, OPTIONS_AS_COMMANDS)
            ctx.fail(f"There is no command {name!r}. {advice}".rstrip())
        return super().resolve_command(ctx, args)

    def _find_group(self, ctx: click.Context, name: str) -> str | None:
        """Return the only group that has a command of this name."""
        groups = [(group, self.get_command(ctx, group)) for group in COMMANDS]
        found = [group for group, command in groups if isinstance(command, click.Group) and name in command.commands]
        return found[0] if len(found) == 1 else None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the topics, too."""
        with formatter.section("Topics (copydesk help TOPIC)"):
            formatter.write_dl([(name, summary) for name, (summary, _) in TOPICS.items()])
        super().format_epilog(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete commands without importing them, and options."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only a shell that completes needs it

        commands = [
            CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]


def _complete_sources(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    from copydesk.cli.ids import SOURCE  # noqa: PLC0415 - as for the commands

    return SOURCE.shell_complete(ctx, param, incomplete)


def _complete_users(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    from copydesk.cli.user import complete_users  # noqa: PLC0415 - as for the commands

    return complete_users(ctx, param, incomplete)


class _HomeFolder(click.Path):
    """A folder. An empty name, of a variable that a script did not set, would be the current folder: it is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Fail if it is empty or a file."""
        if not value:
            self.fail("it is empty.", param, ctx)
        return super().convert(value, param, ctx)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=EXAMPLES,
    creates_desk=True,
    epilog=f"Exit codes: {EXIT_CODE_SUMMARY}.",
)
@click.option(
    "--home", type=_HomeFolder(path_type=Path, file_okay=False), help="Keep settings and data in this folder."
)
@click.option("--sample", is_flag=True, help="Open the sample desk: no account, key or network needed.")
@click.option(
    "--user",
    metavar="NAME",
    shell_complete=_complete_users,
    help="Work as this user instead of the owner; see `copydesk user`.",
)
@click.option("--run-pipeline", is_flag=True, help="Run the pipeline once, without the console.")
@click.option(
    "--source",
    "source_ids",
    multiple=True,
    metavar="ID",
    shell_complete=_complete_sources,
    help="With --run-pipeline: read only this source.",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(FORMATS, case_sensitive=False),
    help="With --run-pipeline: draft only this format; may be repeated.",
)
@click.option(
    "--max-drafts", type=click.IntRange(min=0), metavar="N", help="With --run-pipeline: create at most N drafts."
)
@click.option("--due", is_flag=True, help="With --run-pipeline: read only the sources that are due; for a timer.")
@json_options(*RUN_FIELDS, help="With --run-pipeline: print only the finished run, as JSON.")
@click.option("--web", is_flag=True, help="Open the console in a browser on this machine; needs copydesk[web].")
@click.option("--port", type=click.IntRange(1, 65_535), metavar="N", help="With --web: the port, 8321 by default.")
@click.option("--debug", is_flag=True, help="Show the traceback if an error occurs.")
@click.version_option(__version__, prog_name="copydesk")
@click.pass_context
def copydesk(  # noqa: PLR0913 - one argument an option
    ctx: click.Context,
    *,
    home: Path | None,
    sample: bool,
    user: str | None,
    run_pipeline: bool,
    source_ids: tuple[str, ...],
    formats: tuple[str, ...],
    max_drafts: int | None,
    due: bool,
    as_json: bool,
    web: bool,
    port: int | None,
    debug: bool,
) -> None:
    """Turn your sources into posts: read, draft, review, schedule and post from the terminal.

    Without a command, Copydesk opens its console. With --sample and without a terminal, it runs the sample desk's
    pipeline and prints the drafts.
    """
    # Imported here, not at the top: --help and --version need click only.
    from copydesk.cli.context import Context  # noqa: PLC0415

    ctx.obj = Context.from_options(home=home, sample=sample, user=user, debug=debug)
    has_run_options = bool(source_ids or formats or max_drafts is not None or due or as_json)
    _validate_options(
        ctx.invoked_subcommand, run_pipeline=run_pipeline, has_run_options=has_run_options, web=web, port=port
    )
    in_browser = "web_driver" in os.environ.get("TEXTUAL_DRIVER", "")  # set by textual-serve
    if ctx.invoked_subcommand is None and not web and not run_pipeline and (in_browser or _is_terminal()):
        from copydesk.cli.console import run_console  # noqa: PLC0415

        run_console(ctx.obj)
    # `copydesk.__main__` disables it; the console enables it after its first rows.
    gc.enable()
    if ctx.invoked_subcommand is not None:
        return
    if web:
        from copydesk.cli.console import serve_console  # noqa: PLC0415

        serve_console(ctx.obj, port)
        return
    from copydesk.cli import run  # noqa: PLC0415

    if run_pipeline:
        run.run_pipeline(
            ctx.obj, as_json=as_json, source_ids=source_ids, formats=formats, max_drafts=max_drafts, due=due
        )
    elif ctx.obj.sample:
        run.run_sample(ctx.obj)
    else:
        reason = ' (TERM is "dumb": it cannot move the cursor)' if os.environ.get("TERM") == "dumb" else ""
        raise click.UsageError(f"The console needs a terminal{reason}. Use --run-pipeline or a command instead.")


def _is_terminal() -> bool:
    """Return True if the console can be drawn; a dumb terminal cannot move the cursor."""
    return sys.stdout.isatty() and sys.stdin.isatty() and os.environ.get("TERM") != "dumb"


def _validate_options(
    command: str | None, *, run_pipeline: bool, has_run_options: bool, web: bool, port: int | None
) -> None:
    """Raise UsageError for options that do not go together."""
    if command is not None and (run_pipeline or has_run_options):
        raise click.UsageError(f"--run-pipeline and its options cannot be used with `{command}`.")
    if command is not None and (web or port is not None):
        raise click.UsageError(f"--web cannot be used with `{command}`.")
    if has_run_options and not run_pipeline:
        raise click.UsageError("--source, --format, --max-drafts, --due and --json need --run-pipeline.")
    if port is not None and not web:
        raise click.UsageError("--port needs --web.")
    if web and run_pipeline:
        raise click.UsageError("--web and --run-pipeline cannot be used together.")


def main() -> None:
    """Run the command line. An error is one line on stderr; `--debug` shows the traceback."""
    # The interpreter collects garbage when it ends, which would visit every object.
    atexit.register(gc.freeze)
    # Ubuntu's Python has a hook of its own, which would not redact secrets in crashes.
    sys.excepthook = sys.__excepthook__
    _open_missing_streams()
    _run()


def _open_missing_streams() -> None:
    """Replace closed standard streams: a file opened later would get their descriptors, and what is printed to them."""
    for name, flags in (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            # Writing to stdout fails as on a closed descriptor. Errors on stderr are only lost.
            descriptor = os.open(os.devnull, flags)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - until exit


def _run() -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a character the encoding lacks must not fail a command
            stream.reconfigure(errors="backslashreplace")
    try:
        # Not standalone: click would print errors its own way, with a usage line, and exit with its own codes.
        sys.exit(copydesk(prog_name="copydesk", standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(error.exit_code)
    except click.UsageError as error:
        hint = f" See `{error.ctx.command_path} --help`." if error.ctx else ""
        message = error.format_message()
        # Click ends a suggestion with a question mark, in brackets if there are several.
        stop = "" if message.endswith(("?", "?)", ".")) else "."
        fail(f"{message}{stop}{hint}", error.exit_code)
    except click.ClickException as error:
        fail(error.format_message(), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        fail("Interrupted.", INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has closed the pipe.
        _discard_output()
        sys.exit(1)
    except Exception as error:
        # The context may not exist yet: parsing the command line can fail, too.
        if "--debug" in sys.argv:
            raise
        message = _describe_unexpected(error)
        _discard_output()
        fail(message, 1)


def _discard_output() -> None:
    """Redirect stdout to the null device: at exit Python would report the error again."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _describe_unexpected(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in OUTPUT_ERRORS:
        return f"Cannot write the output: {os.strerror(error.errno).lower()}."
    from copydesk.errors import describe_system_error  # noqa: PLC0415 - only for a message that nobody expects

    if message := describe_system_error(error):
        return message
    from copydesk.desk import redact  # noqa: PLC0415 - as above

    return f"Unexpected error: {redact(repr(error))}. Run it again with --debug for the traceback."
