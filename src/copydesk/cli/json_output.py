"""JSON output: the options `--json [FIELDS]` and `--jq EXPRESSION`, and errors as problem details.

`--json` alone prints everything, as the HTTP service returns it. With fields, each row has only these; a page of rows
keeps its `nextCursor`.
"""

import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    import msgspec

    from copydesk.problems import Problem

    Shape = type[msgspec.Struct] | str
    """A struct whose fields can be selected, or the name of one field."""

Command = TypeVar("Command", bound=Callable[..., Any])
ALL_FIELDS: Final = ","
"""The value of `--json` without fields; not the name of any."""
# Keys of the options' values in the metadata of click's context.
_FIELDS, _ROWS, _JQ = "copydesk.json.fields", "copydesk.json.rows", "copydesk.json.jq"


def json_options(
    *shapes: "Shape", rows: str = "", help: str = "Print JSON: everything, or only these fields."
) -> Callable[[Command], Command]:
    """Return a decorator that adds `--json`, which the command gets as the flag `as_json`, and `--jq`.

    The fields of `shapes` can be selected. `rows` is the key under which a page has its rows.
    """

    def on_json(ctx: click.Context, _: click.Parameter, value: str | None) -> bool:
        ctx.meta[_ROWS] = rows
        if value is not None and value != ALL_FIELDS:
            ctx.meta[_FIELDS] = tuple(field.strip() for field in value.split(","))
            _validate_fields(ctx, shapes)
        return value is not None or _JQ in ctx.meta

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        given = incomplete.split(",")[:-1]
        offered = [",".join([*given, name]) for name in _all_field_names(shapes) if name not in given]
        return [fields for fields in offered if fields.startswith(incomplete)]

    json_option = click.option(
        "--json",
        "as_json",
        is_flag=False,
        flag_value=ALL_FIELDS,
        metavar="[FIELDS]",
        callback=on_json,
        shell_complete=complete,
        help=help,
    )
    jq_option = click.option(
        "--jq",
        metavar="EXPRESSION",
        help="Filter the JSON with a jq expression.",
        is_eager=True,  # before --json, which it implies
        expose_value=False,
        callback=_compile_jq,
    )
    return lambda command: json_option(jq_option(command))


def require_fields(*shapes: "Shape") -> None:
    """Raise BadParameter if a selected field is in none of `shapes`.

    For a command whose arguments decide what it prints; call it before anything is changed.
    """
    _validate_fields(click.get_current_context(), shapes)


def print_json(value: object) -> None:
    r"""Print a value as the interface's JSON, the way the options of the command ask for it.

    Control characters in it are escaped as `\u009b`: a terminal might act on them.
    """
    from copydesk.model.serialization import to_json, to_json_value  # noqa: PLC0415 - keeps the start of the console fast

    meta = click.get_current_context().meta
    if _FIELDS in meta:
        value = _select(to_json_value(value), meta[_FIELDS], meta[_ROWS])
    if _JQ in meta:
        for text in _filter(meta[_JQ], to_json(value)):
            click.echo(text)
    else:
        click.echo(_escape(to_json(value, indent=2 if sys.stdout.isatty() else 0)))


def wants_json() -> bool:
    """Return True if the arguments of the program ask for JSON, even if they cannot be parsed."""
    options = takewhile(lambda argument: argument != "--", sys.argv[1:])
    return any(option.partition("=")[0] in ("--json", "--jq") for option in options)


def format_problem(problem: "Problem") -> str:
    """Return a problem details object on one line."""
    from copydesk.model.serialization import to_json  # noqa: PLC0415 - as above

    return _escape(to_json(problem))


def _validate_fields(ctx: click.Context, shapes: "Sequence[Shape]") -> None:
    names = _all_field_names(shapes)
    unknown = [field for field in ctx.meta.get(_FIELDS, ()) if field not in names]
    if unknown:
        message = f"there is no field {unknown[0]!r}. There are: {', '.join(names)}."
        raise click.BadParameter(f"{message} Without fields, put --json last.", ctx, param_hint="'--json'")


def _all_field_names(shapes: "Sequence[Shape]") -> list[str]:
    return list(dict.fromkeys(name for shape in shapes for name in _field_names(shape)))


def _field_names(shape: "Shape") -> tuple[str, ...]:
    return (shape,) if isinstance(shape, str) else shape.__struct_encode_fields__


def _select(value: Any, fields: Sequence[str], rows: str) -> object:
    """Return the JSON value with these fields of its rows: a list, the list under `rows`, or the value itself."""
    if isinstance(value, list):
        return [_select(row, fields, "") for row in value]
    if rows:
        return {**value, rows: _select(value[rows], fields, "")}
    # A command with two shapes has the fields of both.
    return {field: value[field] for field in fields if field in value}


def _compile_jq(ctx: click.Context, param: click.Parameter, expression: str | None) -> None:
    if expression is None:
        return
    import jq  # noqa: PLC0415 - only for this option

    try:
        ctx.meta[_JQ] = jq.compile(expression)
    except ValueError as error:
        message = str(error).splitlines()[0].removeprefix("jq: error: ").rstrip(":")
        raise click.BadParameter(message, ctx, param) from None


def _filter(program: Any, text: str) -> Iterator[str]:
    """Yield the results of a jq program for a JSON text; strings without quotation marks, as `jq --raw-output`."""
    from copydesk.model.serialization import to_json  # noqa: PLC0415 - as above
    from copydesk.text import reveal  # noqa: PLC0415 - as above

    try:
        with _default_interrupt():
            results = program.input_text(text).all()
    except ValueError as error:
        # The user must not run `draft new` again because of it.
        raise click.BadParameter(f"{error}. The command itself succeeded.", param_hint="'--jq'") from None
    for result in results:
        if not isinstance(result, str):
            yield _escape(to_json(result))
        else:
            # A file or a program gets the exact text.
            yield reveal(result) if sys.stdout.isatty() else result


@contextmanager
def _default_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process at once: a jq program runs outside of Python, which would handle it afterwards."""
    previous = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _escape(text: str) -> str:
    from copydesk.text import HIDDEN_CHARACTERS  # noqa: PLC0415 - as above

    return re.sub(HIDDEN_CHARACTERS, _escape_character, text)


def _escape_character(match: re.Match[str]) -> str:
    """Return a character as JSON escapes it in ASCII: its UTF-16 code units."""
    units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
