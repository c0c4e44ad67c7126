"""The keys, and what the letters mean."""

from collections.abc import Iterable, Iterator

from textual.content import Content

from copydesk.model.draft import Severity
from copydesk.tui.keys import KEYS, Key, Where, shown
from copydesk.tui.layout import Block, Table, plain
from copydesk.tui.words import SEVERITY, STATUS, Sign

WIDTH = 14
"""Cells of the first column, the same in every table."""


def help_page(keys: Iterable[Key] = KEYS) -> list[Block]:
    """Every key, place by place, then the letters."""
    keys = list(keys)
    blocks: list[Block] = []
    for where in Where:
        rows = [(_keys(" ".join(shown(key))), Content(key.description)) for key in keys if key.where is where]
        blocks += [plain(where.value, "strong"), Table(rows), plain()]
    return [*blocks, plain("Letters", "strong"), Table(list(_letters()))]


def _keys(text: str) -> Content:
    return Content.styled(f"{text:<{WIDTH}}", "key")


def _letters() -> Iterator[tuple[Content, ...]]:
    findings = [
        Sign("!", SEVERITY[Severity.ERROR].role, "a check found an error"),
        Sign("~", SEVERITY[Severity.WARNING].role, "a check warns"),
    ]
    formats = [
        Sign("s", "dim", "a short post"),
        Sign("t", "dim", "a thread"),
        Sign("b", "dim", "a blog post"),
    ]
    meanings: dict[tuple[str, str], list[str]] = {}
    for sign in (*STATUS.values(), *findings, *formats):
        meanings.setdefault((sign.letter, sign.role), []).append(sign.words)
    for (letter, role), words in meanings.items():
        yield Content.styled(f"{letter:<{WIDTH}}", role), Content(", ".join(words))
