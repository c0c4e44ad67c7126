"""Fill the parts of docs/ that are made from the code: `docs.py`, or `docs.py --check` to fail if one is out of date.

Each part stands between two comments, `<!-- keys -->` and `<!-- /keys -->`. docs/benchmarks.md is written by
tests/benchmarks/run.py instead, because its figures have to be measured.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import msgspec

from copydesk.cli import copydesk
from copydesk.cli.commands import COMMANDS
from copydesk.desk.catalog import PLATFORMS, SOURCE_TYPES
from copydesk.http.openapi import ERRORS
from copydesk.http.resources.drafts import ACTION_SCOPES
from copydesk.http.table import OPERATIONS
from copydesk.model.source import SourceConfig
from copydesk.model.token import Scope
from copydesk.problems import PROBLEM_TYPES
from copydesk.settings import SECTIONS, setting_descriptions
from copydesk.tui.keys import KEYS, KeyContext, format_keys
from copydesk.tui.labels import ARCHIVED, FORMAT, SEVERITY, STATUS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "tests" / "support"))
MAX_HELP_LENGTH = 200


def commands() -> str:
    """Return the table of all commands, with their arguments and the first sentence of their help."""
    lines = ["| command | |", "|---|---|"]
    for name in COMMANDS:
        command = copydesk.get_command(click.Context(copydesk), name)
        assert command is not None
        lines += [f"| `{_cell(usage)}` | {_cell(summary)} |" for usage, summary in _command_rows((name,), command)]
    return "\n".join(lines)


def _command_rows(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, str]]:
    """Yield usage and summary of a command, or of each command of a group."""
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            yield from _command_rows((*path, subcommand.name or ""), subcommand)
        return
    context = click.Context(command)
    arguments = [piece for parameter in command.params for piece in parameter.get_usage_pieces(context)]
    yield " ".join(["copydesk", *path, *arguments]), command.get_short_help_str(MAX_HELP_LENGTH)


def options() -> str:
    """Return the table of the options of `copydesk` itself."""
    context = click.Context(copydesk)
    records = [parameter.get_help_record(context) for parameter in copydesk.params]
    rows = [f"| `{_cell(record[0])}` | {_cell(record[1])} |" for record in records if record]
    return "\n".join(["| option | |", "|---|---|", *rows])


def _cell(text: str) -> str:
    """Return `text` for a cell of a table, on one line and with its vertical bars escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def keys() -> str:
    """Return the table of all keys by context, with the ids under which other keys can be set."""
    lines = ["| where | key | does | id |", "|---|---|---|---|"]
    for context in KeyContext:
        for key in KEYS:
            if key.context is context:
                names = " ".join(f"`{name}`" for name in format_keys(key))
                lines.append(f"| {context.value} | {names} | {key.description} | `{key.id}` |")
    return "\n".join(lines)


def letters() -> str:
    """Return the table of the letters and signs of drafts, with their meanings."""
    meanings: dict[str, list[str]] = {}
    for badge in (*STATUS.values(), ARCHIVED, *SEVERITY.values(), *FORMAT.values()):
        meanings.setdefault(badge.letter, []).append(badge.text)
    rows = [f"| `{letter}` | {', '.join(texts)} |" for letter, texts in meanings.items()]
    return "\n".join(["| letter | meaning |", "|---|---|", *rows])


def settings() -> str:
    """Return the table of all settings with their defaults."""
    lines = ["| setting | default | |", "|---|---|---|"]
    descriptions = setting_descriptions()
    for section, struct in SECTIONS.items():
        for field in msgspec.structs.fields(struct):
            description = descriptions[section, field.name]
            is_secret = description.startswith("From the environment only")
            default = "" if is_secret else f"`{msgspec.json.encode(field.default).decode()}`"
            lines.append(f"| `{section}.{field.name}` | {default} | {description} |")
    return "\n".join(lines)


def source_types() -> str:
    """Return the table of all source types with the settings that only they have."""
    lines = ["| type | | settings of its own |", "|---|---|---|"]
    for info in SOURCE_TYPES.values():
        own = "<br>".join(f"`{_config_path(field.name)}`: {_cell(field.hint)}" for field in info.config_fields)
        lines.append(f"| `{info.name}` | {info.label} | {own} |")
    return "\n".join(lines)


def _config_path(name: str) -> str:
    """Return the place of a source type's setting in `--config`."""
    return name if name in SourceConfig.__struct_fields__ else f"options.{name}"


def platforms() -> str:
    """Return the table of all platforms with what they accept and what they ask for."""
    lines = ["| platform | | formats | longest post | images | asks for |", "|---|---|---|---|---|---|"]
    for info in PLATFORMS.values():
        formats = ", ".join(sorted(info.limits.formats))
        length = f"{info.limits.max_length:,}" if info.limits.max_length else ""
        images = str(info.limits.max_images or "none")
        questions = "<br>".join(f"`{field.name}`: {_cell(field.question)}" for field in info.credential_fields)
        lines.append(f"| `{info.name}` | {info.label} | {formats} | {length} | {images} | {questions} |")
    return "\n".join(lines)


def interface() -> str:
    """Return the table of the interface's rows: the desk's operation, the command, and the tests that cover it."""
    from interface_table import ROWS  # noqa: PLC0415 - it lives with the tests

    lines = ["| request | operation | command | covered by |", "|---|---|---|---|"]
    for row in ROWS:
        command = f"`{row.command}`" if row.command else "none yet"
        tests = "<br>".join(_link_test(test) for test in row.tests)
        lines.append(f"| {row.description} | `{row.operation}` | {command} | {tests} |")
    return "\n".join(lines)


def _link_test(test: str) -> str:
    """Return a link to the test's file, labelled with its name in words."""
    path, _, name = test.partition("::")
    return f"[{name.removeprefix('test_').replace('_', ' ')}](../{path})"


def problem_types() -> str:
    """Return the table of the problem types of errors."""
    lines = ["| type | title | status |", "|---|---|---|"]
    lines += [f"| `{kind.uri}` | {kind.title} | {kind.status} |" for kind in PROBLEM_TYPES.values()]
    return "\n".join(lines)


def statuses() -> str:
    """Return the table of the statuses of the service's errors."""
    lines = ["| status | means |", "|---|---|"]
    lines += [f"| {status} | {text} |" for status, text in ERRORS.items()]
    return "\n".join(lines)


def scopes() -> str:
    """Return the table of scopes with the operations of the service that each adds."""
    lines = ["| scope | adds |", "|---|---|"]
    for scope in Scope:
        names = [f"`{operation.method} {operation.path}`" for operation in OPERATIONS if operation.scope is scope]
        actions = [f"`{action.value}`" for action, needed in ACTION_SCOPES.items() if needed is scope]
        actions = [f"actions: {', '.join(actions)}"] if actions else []
        lines.append(f"| `{scope.value}` | {'<br>'.join([*actions, *names])} |")
    return "\n".join(lines)


PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "options": options,
    "keys": keys,
    "letters": letters,
    "settings": settings,
    "interface": interface,
    "source-types": source_types,
    "platforms": platforms,
    "problem-types": problem_types,
    "statuses": statuses,
    "scopes": scopes,
}


def fill(text: str) -> str:
    """Return `text` with each generated part replaced by its current content."""
    for name, generate in PARTS.items():
        opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
        if opening in text:
            part = f"{opening}\n{generate()}\n{closing}"
            # A function, because backslashes in a replacement string would be interpreted.
            text = re.sub(f"{opening}.*{closing}", lambda _, part=part: part, text, flags=re.DOTALL)
    return text


def main() -> None:
    """Write the pages, or with --check exit with the names of those that are out of date."""
    outdated = []
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (filled := fill(text)) != text:
            outdated.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(filled, encoding="utf-8")
    if outdated and "--check" in sys.argv:
        sys.exit(f"Out of date in docs/: {', '.join(outdated)}. Run: make docs")


if __name__ == "__main__":
    main()
