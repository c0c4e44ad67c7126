"""Write each text of a JSON list to the terminal and ask the terminal for its cursor column after each.

`python cursor_columns.py TEXTS ANSWERS`: two files. The columns, counted from 0, are written as a JSON list.
"""

import json
import os
import re
import sys
import termios
import tty
from pathlib import Path


def column_after(text: str) -> int:
    """Return the cursor's column after `text` on a cleared line, as reported by the terminal."""
    os.write(1, b"\r\x1b[2K" + text.encode() + b"\x1b[6n")
    answer = b""
    while not answer.endswith(b"R"):
        answer += os.read(0, 1)
    found = re.search(rb"\x1b\[\d+;(\d+)R", answer)
    assert found, answer
    return int(found[1]) - 1


def main(texts: Path, answers: Path) -> None:
    """Write the columns of all texts in `texts` to `answers`."""
    saved_mode = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        columns = [column_after(text) for text in json.loads(texts.read_text(encoding="utf-8"))]
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, saved_mode)
    answers.write_text(json.dumps(columns), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
