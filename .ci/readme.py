"""Fill the parts of README.md that are made from the code: `readme.py`, or `readme.py --check` to see that they are."""

import re
import sys
from pathlib import Path

import msgspec

from copydesk.settings import SECTIONS, documentation
from copydesk.tui.keys import KEYS, Where, shown

README = Path(__file__).resolve().parents[1] / "README.md"


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
    """Every key of the console, place by place."""
    lines = ["| where | key | |", "|---|---|---|"]
    for where in Where:
        for key in KEYS:
            if key.where is where:
                names = " ".join(f"`{name}`" for name in shown(key))
                lines.append(f"| {where.value} | {names} | {key.description} |")
    return "\n".join(lines)


def filled(text: str) -> str:
    """`text` with the made parts as the code has them now."""
    for name, made in (("settings", settings()), ("keys", keys())):
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
