"""The theme that the user chose in the console, in a file beside the database: only its name, and no secret."""

import os
from pathlib import Path

FILE = "console-theme"
LONGEST = 100
"""Characters of a name; a longer one was not written here."""


def read(path: Path) -> str:
    """The name that was kept; empty where there is none, and where the file cannot be read."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(LONGEST).strip()
    except (OSError, ValueError):
        return ""


def keep(path: Path, name: str) -> None:
    """Write the name down, wholly or not at all; OSError where it cannot be."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.write_text(f"{name}\n", encoding="utf-8")
    new.replace(path)
