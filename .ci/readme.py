"""Fill the parts of README.md that are made from the code: `readme.py`, or `readme.py --check` to see that they are."""

import re
import sys
from pathlib import Path

import click
import msgspec

from copydesk.cli import COMMANDS, copydesk
from copydesk.settings import SECTIONS, documentation
from copydesk.tui.keys import KEYS, Where, shown

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
sys.path.insert(0, str(ROOT / "tests" / "support"))


def settings() -> str:
    """Every setting with its default and what it is for."""
    lines = ["| setting | default | |", "|---|---|---|"]
    docs = documentation()
    for section, kind in SECTIONS.items():
        for field in msgspec.structs.fields(kind):
            secret = docs[section, field.name].startswith("From the environment only")
            default = "" if secret else f"`{msgspec.json.encode(field.default).decode()}`"
            lines.append(f"| `{section}.{field.name}` | {default} | {docs[section, field.name]} |")
    return "\n".join(lines)


def keys() -> str:
    """Every key of the console, place by place, and the id under which the settings give it others."""
    lines = ["| where | key | | id |", "|---|---|---|---|"]
    for where in Where:
        for key in KEYS:
            if key.where is where:
                names = " ".join(f"`{name}`" for name in shown(key))
                lines.append(f"| {where.value} | {names} | {key.description} | `{key.id}` |")
    return "\n".join(lines)


def commands() -> str:
    """Every command, with its arguments and the first line of its help."""
    lines = ["| command | does |", "|---|---|"]
    for name in COMMANDS:
        command = copydesk.get_command(click.Context(copydesk), name)
        inner = command.commands.values() if isinstance(command, click.Group) else ()
        for path, each in [((name, one.name), one) for one in inner] or [((name,), command)]:
            asked = [part for option in each.params for part in option.get_usage_pieces(click.Context(each))]
            line = " ".join(["copydesk", *path, *asked])
            lines.append(f"| `{line}` | {each.get_short_help_str(200)} |")
    return "\n".join(lines)


def interface() -> str:
    """Every row of the interface: the desk's operation, the command, and the test that covers it."""
    from interface_table import ROWS  # noqa: PLC0415 - it lives with the tests

    lines = ["| row of the interface | operation | command | covered by |", "|---|---|---|---|"]
    for row in ROWS:
        command = f"`{row.command}`" if row.command else "none yet"
        tests = "<br>".join(_linked(test) for test in row.tests)
        lines.append(f"| {row.description} | `{row.operation}` | {command} | {tests} |")
    return "\n".join(lines)


def _linked(test: str) -> str:
    """A test's name in words, with a link to its file."""
    path, _, name = test.partition("::")
    return f"[{name.removeprefix('test_').replace('_', ' ')}]({path})"


def filled(text: str) -> str:
    """`text` with the made parts as the code has them now."""
    made_parts = {"settings": settings(), "keys": keys(), "commands": commands(), "interface": interface()}
    for name, made in made_parts.items():
        part = f"<!-- {name} -->\n{made}\n<!-- /{name} -->"
        text = re.sub(f"<!-- {name} -->.*<!-- /{name} -->", lambda _, part=part: part, text, flags=re.DOTALL)
    return text


def main() -> None:
    """Write the README, or say that it is out of date."""
    text = README.read_text(encoding="utf-8")
    if filled(text) == text:
        return
    if "--check" in sys.argv:
        sys.exit("README.md is out of date: make readme")
    README.write_text(filled(text), encoding="utf-8")


if __name__ == "__main__":
    main()
