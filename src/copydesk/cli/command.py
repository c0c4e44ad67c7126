"""The classes of all commands and groups: examples in the help, whole summaries, suggestions for mistyped names."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click

NUMBERS = (click.types.IntParamType, click.types.FloatParamType)
SIMILARITY = 0.7
"""How alike two names must be for one to be suggested for the other, from 0 to 1."""
MAX_LISTED = 12
"""Names that an error lists; of more, the help is easier to read."""
SYNONYMS = {
    "create": ("new", "add"),
    "new": ("create", "add"),
    "add": ("new", "create", "connect"),
    "delete": ("remove", "revoke", "archive"),
    "rm": ("remove", "revoke", "archive"),
    "disconnect": ("remove",),
    "ls": ("list",),
    "view": ("show",),
    "get": ("show",),
    "info": ("show",),
    "update": ("edit", "set"),
    "change": ("edit", "set"),
}
"""What other programs call commands, with our names for them."""


class _DocumentedCommand(click.Command):
    """A command or group with examples in its help."""

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        creates_desk: bool | Callable[[Mapping[str, Any]], bool] = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        """Calls of the command, as they are typed."""
        self.creates_desk = creates_desk
        """True if it creates a desk in the folder that `--home` names. False for what needs a desk that exists: the
        folder may be mistyped. A function tells by the values of its parameters."""
        for parameter in self.params:
            # Click would write `INTEGER RANGE` in the help, and "not a valid integer range" in an error.
            if isinstance(parameter, click.Option) and isinstance(parameter.type, NUMBERS):
                parameter.metavar = parameter.metavar or "N"
            if isinstance(parameter.type, (click.IntRange, click.FloatRange)):
                parameter.type.name = "whole number" if isinstance(parameter.type, click.IntRange) else "number"

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the first sentence of the help, however long: what lists it can wrap it."""
        return first_sentence(self.help or "")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, one to a line because a shell could not read a wrapped one, then the epilog."""
        if self.examples:
            with formatter.section("Examples" if len(self.examples) > 1 else "Example"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        super().format_epilog(ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. If an option is of `copydesk` itself, say where it goes."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise _misplaced_option(ctx, error.option_name) or _unknown_option(ctx, error) from None
        except click.BadOptionUsage as error:
            # For an option without its value click does not name the command.
            error.ctx = error.ctx or ctx
            raise


class Command(_DocumentedCommand):
    """A command, which gets whole ids where ends of ids are given."""

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command. An error of the desk ends the program with one line."""
        # Imported here, because the root group needs click only.
        from copydesk.cli.ids import resolve_ids  # noqa: PLC0415
        from copydesk.errors import CopydeskError  # noqa: PLC0415

        resolve_ids(ctx)
        try:
            return super().invoke(ctx)
        except CopydeskError as error:
            ctx.obj.fail(error)


class Group(_DocumentedCommand, click.Group):
    """A group, which names its commands if one is mistyped."""

    command_class = Command
    group_class = type

    def __init__(self, *args: Any, aliases: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._aliases = dict(aliases or {})
        """Earlier names of commands, which scripts may still use."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names. Suggest others if there is none."""
        args = [self._aliases.get(args[0], args[0]), *args[1:]]
        names = self.list_commands(ctx)
        if args[0] not in names and not ctx.resilient_parsing:
            ctx.fail(f"There is no command {args[0]!r}. {suggest(args[0], names)}".rstrip())
        return super().resolve_command(ctx, args)


def command(
    name: str | None = None, *, examples: Sequence[str] = (), **attributes: Any
) -> Callable[[Callable[..., Any]], Command]:
    """Return a decorator that makes a command of a function."""
    return click.command(name, cls=Command, examples=examples, **attributes)


def group(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., Any]], Group]:
    """Return a decorator that makes a group of a function."""
    return click.group(name, cls=Group, **attributes)


def suggest(name: str, existing: Iterable[str], spellings: Mapping[str, str] | None = None) -> str:
    """Return a sentence that names what is spelled like `name` or means the same; all of a few if nothing is.

    `spellings` are other things that may be meant, with what to type for them.
    """
    typed = {name: name for name in existing}
    candidates = typed | dict(spellings or {})
    matches = [*SYNONYMS.get(name, ()), *get_close_matches(name, candidates, cutoff=SIMILARITY)]
    similar = [candidates[match] for match in dict.fromkeys(matches) if match in candidates]
    if similar:
        return _did_you_mean(similar)
    return f"There are: {', '.join(typed)}." if len(typed) <= MAX_LISTED else ""


def _did_you_mean(names: Iterable[str]) -> str:
    from copydesk.text.formatting import join_with_or  # noqa: PLC0415 - only for an error

    return f"Did you mean {join_with_or([repr(name) for name in names])}?"


def first_sentence(text: str) -> str:
    """Return the first sentence of a help text, on one line."""
    words = inspect.cleandoc(text).partition("\n\n")[0].split()
    end = next((index for index, word in enumerate(words, 1) if word.endswith(".")), len(words))
    return " ".join(words[:end])


def _misplaced_option(ctx: click.Context, name: str) -> click.UsageError | None:
    """Return the error for an option of `copydesk` itself that was given after a command; None for any other."""
    root = ctx.find_root()
    if root is ctx or not any(name in parameter.opts for parameter in root.command.params):
        return None
    return click.UsageError(f"{name} goes before the command: `{root.command_path} {name}`.", ctx)


def _unknown_option(ctx: click.Context, error: click.NoSuchOption) -> click.UsageError:
    """Return the error for an unknown option, in the words of those for commands."""
    similar = get_close_matches(error.option_name, error.possibilities or (), cutoff=SIMILARITY)
    advice = _did_you_mean(similar) if similar else ""
    return click.UsageError(f"No such option {error.option_name!r}. {advice}".rstrip(), ctx)
