"""Where a text names a key it is the user's own one, whatever that is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import copydesk.tui
from copydesk.tui.app import Console
from copydesk.tui.keymap import with_own_keys
from copydesk.tui.keys import KEYS, SCREEN_NAMES
from copydesk.tui.naming import key
from copydesk.tui.widgets.said_keys import said
from tui_fixtures import NOW, FakeDesk, Seen, settled

FILE = Path("settings.toml")
TABLES = {"keys.py", "keymap.py"}
NAMED = re.compile(r"\b(Esc|PgDn|PgUp)\b|\b(Tab|[Ss]pace) [a-z]|(Ctrl|Alt|Shift)\+")
"""Keys with names. Enter is not among them: in a line it is the line's own, and nobody can change it."""
LETTER = re.compile(
    r"(?:^|[·:.,] |[Pp]ress |with )([a-zA-Z\d.?*/+\[\]]) (undo|redo|none|yes|no|accept|on|[a-z]{2,}s)\b"
    r"|\b(" + "|".join(name.capitalize() for name in SCREEN_NAMES) + r"), \d"
)
"""A letter and what it does, or a screen and its number."""


def sentences() -> Iterator[tuple[str, str]]:
    """(file, text) of every text in the console's sources that is not a docstring."""
    for path in sorted(Path(copydesk.tui.__file__).parent.rglob("*.py")):
        if path.name in TABLES:
            continue
        tree = ast.parse(path.read_text())
        about = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in about:
                yield path.name, node.value
            if isinstance(node, ast.Tuple) and node.elts and ast.unparse(node.elts[-1]) == "'key'":
                yield path.name, f"a key: {ast.unparse(node.elts[0])}"


def test_no_text_names_a_key_itself() -> None:
    found = [(file, text) for file, text in sentences() if NAMED.search(text) or LETTER.search(text)]
    assert found == []


def test_no_drawn_key_is_a_letter_of_its_own() -> None:
    assert [(file, text) for file, text in sentences() if re.match(r"a key: ['\"]", text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "Done · u undo",
        "Esc leaves",
        "Ctrl+s saves",
        "5 new. d shows what changed",
        "None: m records it",
        "See Setup, 6.",
    ],
)
def test_such_a_text_would_be_noticed(text: str) -> None:
    assert NAMED.search(text) or LETTER.search(text)


def test_without_a_console_keys_are_called_as_the_table_has_them() -> None:
    assert key("review.undo") == "u"
    assert said("edit", {"save": "saves", "leave": "leaves"}).plain == "Ctrl+s saves · Esc leaves"


def others() -> dict[str, str]:
    """Every action on another key: letters that no text of ours has in it."""
    own = {}
    for at, each in enumerate(KEYS):
        if each.id not in {f"console.{name}" for name in SCREEN_NAMES}:
            own[each.id] = chr(0x3B1 + at) if at < 24 else chr(0x4E00 + at)
    assert len(set(own.values())) == len(own)
    return own


@pytest.mark.parametrize("count", [0, 3])
async def test_with_every_key_another_one_no_screen_shows_the_old_ones(count: int) -> None:
    own = others()
    app = Console(FakeDesk(count).open, clock=lambda: NOW, keys=with_own_keys(own, FILE))  # type: ignore[arg-type]
    async with app.run_test(size=(120, 60)) as pilot:
        await settled(pilot)
        seen = Seen(app, pilot)
        shown = [seen.text]
        for opens in ("review.reject", "review.history", "console.help", "review.archive", "review.undo"):
            await seen.press(own[opens])
            shown.append(seen.text)
            await seen.press(own["line.leave"], own["help.close"])
        shown.append("\n".join(seen.toasts))
        for text in shown:
            assert not re.search(r"\bEsc\b|Ctrl\+|\bu undo|\bq closes|\bq quit|\ba approve|\bP runs", text), text
        assert f"{own['console.quit']} quit" in shown[0]
