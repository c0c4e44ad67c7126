"""Tests for text widths: a real terminal advances by as many cells as the console counts."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len

import cursor_columns
from copydesk.tui.terminal.cells import fit, safe_line
from copydesk.tui.terminal.driver import correct_widths
from script_samples import sample_words
from tmux_terminal import open_terminal

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


def cursor_columns_after(texts: Sequence[str], folder: Path) -> list[int]:
    """Return the column of a real terminal's cursor after each text."""
    texts_file, columns_file = folder / "texts.json", folder / "answers.json"
    texts_file.write_text(json.dumps(list(texts)), encoding="utf-8")
    with open_terminal((120, 24)) as terminal:
        terminal.start(sys.executable, str(cursor_columns.__file__), str(texts_file), str(columns_file))
        terminal.wait_for("ended=0")
    result: list[int] = json.loads(columns_file.read_text(encoding="utf-8"))
    return result


def test_hostile_cell_has_counted_width(tmp_path: Path) -> None:
    cells = [safe_line(text) for text in TEXTS]
    columns_by_text = dict(zip(TEXTS, cursor_columns_after(cells, tmp_path), strict=True))
    assert columns_by_text == {text: cell_len(cell_text) for text, cell_text in zip(TEXTS, cells, strict=True)}


def test_hostile_column_has_requested_width(tmp_path: Path) -> None:
    widths = range(1, 24)
    fitted = [fit(safe_line(text), width) for text in TEXTS for width in widths]
    assert cursor_columns_after(fitted, tmp_path) == [width for _ in TEXTS for width in widths]


def test_no_word_exceeds_counted_width(tmp_path: Path) -> None:
    cells = [safe_line(word) for word in sample_words(40)]
    columns_found = cursor_columns_after(cells, tmp_path)
    assert [text for text, column in zip(cells, columns_found, strict=True) if column > cell_len(text)] == []


def test_cursor_position_is_correct_after_any_word(tmp_path: Path) -> None:
    """Joined scripts too: here no character is removed."""
    texts = sample_words(40)
    columns_found = cursor_columns_after([correct_widths("\x1b[1;1H" + text) for text in texts], tmp_path)
    assert columns_found == [cell_len(text) for text in texts]
