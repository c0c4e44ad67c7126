"""The theme chosen in the console: its name in a file next to the database."""

import os
from pathlib import Path

THEME_FILE = "console-theme"
MAX_NAME_LENGTH = 100
"""Characters of a theme's name that are read; a longer one was not written here."""


def load_theme(path: Path) -> str:
    """Return the stored name; an empty string if there is none, or the file is unreadable."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(MAX_NAME_LENGTH).strip()
    except (OSError, ValueError):
        return ""


def save_theme(path: Path, name: str) -> None:
    """Write the name atomically. Raise OSError if that fails."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # The process id keeps two consoles from writing the same temporary file.
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    temporary.write_text(f"{name}\n", encoding="utf-8")
    temporary.replace(path)
