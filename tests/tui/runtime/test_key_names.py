"""Tests for key names in texts: they come from the key table and follow the user's own keys."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import copydesk.tui
from console_driver import NOW, ConsoleDriver, FakeDesk, wait_until_idle
from copydesk.tui.app import Console
from copydesk.tui.keymap import apply_custom_keys
from copydesk.tui.keys import KEYS, SCREEN_NAMES, key_label
from copydesk.tui.preferences import Preferences
from copydesk.tui.widgets.key_hints import key_hints

FILE = Path("settings.toml")
KEY_TABLES = {"keys.py", "keymap.py"}
KEY_NAME = re.compile(r"\b(Esc|PgDn|PgUp)\b|\b(Tab|[Ss]pace) [a-z]|(Ctrl|Alt|Shift)\+")
"""Keys with names. Enter is not among them: in an input it is fixed and cannot be remapped."""
LETTER_KEY = re.compile(
    r"(?:^|[·:.,] |[Pp]ress |with )([a-zA-Z\d.?*/+\[\]]) (undo|redo|none|yes|no|accept|on|[a-z]{2,}s)\b"
    r"|\b(" + "|".join(name.capitalize() for name in SCREEN_NAMES) + r"), \d"
)
"""A letter and what it does, or a screen and its number."""


@cache
def string_literals() -> list[tuple[str, str]]:
    """Return (file, text) for every string in the console's sources except docstrings."""
    found = []
    for path in sorted(Path(copydesk.tui.__file__).parent.rglob("*.py")):
        if path.name in KEY_TABLES:
            continue
        nodes = list(ast.walk(ast.parse(path.read_text())))
        bare_expressions = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare_expressions:
                found.append((path.name, node.value))
            if isinstance(node, ast.Tuple) and node.elts and ast.unparse(node.elts[-1]) == "'key'":
                found.append((path.name, f"a key: {ast.unparse(node.elts[0])}"))
    return found


def test_no_text_hardcodes_key_name() -> None:
    found = [(file, text) for file, text in string_literals() if KEY_NAME.search(text) or LETTER_KEY.search(text)]
    assert found == []


def test_no_rendered_key_is_hardcoded() -> None:
    assert [(file, text) for file, text in string_literals() if re.match(r"a key: ['\"]", text)] == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (LETTER_KEY, "Done · u undo"),
        (KEY_NAME, "Esc cancel"),
        (KEY_NAME, "Ctrl+S save"),
        (LETTER_KEY, "5 new. d shows what changed"),
        (LETTER_KEY, "None: m records it"),
        (LETTER_KEY, "See Setup, 6."),
    ],
)
def test_hardcoded_key_is_detected(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)


def test_default_key_names_come_from_table() -> None:
    assert key_label("review.undo") == "u"
    assert key_hints("edit", {"save": "save", "leave": "cancel"}).plain == "Ctrl+S save · Esc cancel"


def replacement_keys() -> dict[str, str]:
    """Return another key for every action: letters that occur in no text of the console."""
    keys = {}
    for index, binding in enumerate(KEYS):
        if binding.id not in {f"console.{name}" for name in SCREEN_NAMES}:
            keys[binding.id] = chr(0x3B1 + index) if index < 24 else chr(0x4E00 + index)
    assert len(set(keys.values())) == len(keys)
    return keys


@pytest.mark.parametrize("count", [0, 3])
async def test_custom_keys_replace_all_key_names(count: int) -> None:
    keys = replacement_keys()
    preferences = Preferences(keys=apply_custom_keys(keys, FILE))
    app = Console(FakeDesk(count).open, clock=lambda: NOW, preferences=preferences)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 60)) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        screens = [ui.text]
        for action in ("review.reject", "review.history", "console.help", "review.archive", "review.undo"):
            await ui.press(keys[action])
            screens.append(ui.text)
            await ui.press(keys["line.leave"], keys["help.close"])
        screens.append("\n".join(ui.toasts))
        for text in screens:
            assert not re.search(r"\bEsc\b|Ctrl\+|\bu undo|\bq close|\bq quit|\ba approve|\bP run", text), text
        assert f"{keys['console.quit']} quit" in screens[0]
