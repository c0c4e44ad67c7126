"""As wide as the console counts a text, so wide a terminal makes it."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len

import cursor_columns
from copydesk.tui.cells import cell, fit
from copydesk.tui.steady import steady
from real_terminal import real_terminal
from scripts_sample import words

TEXTS = (
    "plain words",
    "日本語の見出し、全角",
    "ｈａｌｆ ﾊﾝｶｸ Ｆｕｌｌ",
    "한국어 제목",
    "🇨🇿 🇯🇵 🇺🇳 flags",
    "e\u0301a\u0308o\u0302 combining",
    "e" + "\u0301" * 60 + " heap",
    "👩\u200d👩\u200d👧\u200d👦 family",
    "🏳\ufe0f\u200d🌈 🏴\u200d☠\ufe0f flags that are joined",
    "👍🏽 👋🏿 skin",
    "❤\ufe0f ⚠\ufe0f ☎\ufe0e 1\ufe0f\u20e3 #\ufe0f\u20e3 signs",
    "🧑🏻\u200d🤝\u200d🧑🏾 hands",
    "😀😃🚀🎉 faces",
    "עברית ومرحبا",
    "zero\u200bwidth\ufeff\u2060x",
    "pay \u202egnp.exe",
    "\x1b[2J\x1b[31mred\x07",
    "▌●✓▇⠿━╌ drawn",
    "tab\there\nand there",
    "ﬁ ㎏ ℃ Ⅷ ½ €",
    "\U000e0067\U000e0062 tags",
    "中" * 30,
)


def columns(texts: Sequence[str], folder: Path) -> list[int]:
    """Where a terminal's cursor is after each."""
    given, answers = folder / "texts.json", folder / "answers.json"
    given.write_text(json.dumps(list(texts)), encoding="utf-8")
    with real_terminal((120, 24)) as terminal:
        terminal.start(sys.executable, str(cursor_columns.__file__), str(given), str(answers))
        terminal.wait_for("ended=0")
    found: list[int] = json.loads(answers.read_text(encoding="utf-8"))
    return found


def test_a_hostile_cell_is_as_wide_as_it_is_counted(tmp_path: Path) -> None:
    cells = [cell(text) for text in TEXTS]
    found = dict(zip(TEXTS, columns(cells, tmp_path), strict=True))
    assert found == {text: cell_len(shown) for text, shown in zip(TEXTS, cells, strict=True)}


def test_a_column_of_hostile_cells_ends_where_it_should(tmp_path: Path) -> None:
    widths = range(1, 24)
    fitted = [fit(cell(text), width) for text in TEXTS for width in widths]
    assert columns(fitted, tmp_path) == [width for _ in TEXTS for width in widths]


def test_in_no_script_a_word_is_wider_than_it_is_counted(tmp_path: Path) -> None:
    cells = [cell(word) for word in words(40)]
    found = columns(cells, tmp_path)
    assert [text for text, column in zip(cells, found, strict=True) if column > cell_len(text)] == []


def test_behind_a_word_of_any_script_the_cursor_is_where_the_next_column_begins(tmp_path: Path) -> None:
    """Of any, joined ones too: here nothing is taken out of them."""
    texts = words(40)
    found = columns([steady("\x1b[1;1H" + text) for text in texts], tmp_path)
    assert found == [cell_len(text) for text in texts]
