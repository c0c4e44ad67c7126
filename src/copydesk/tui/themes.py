"""The two built-in themes, quiet with one accent colour, the theme that the user chose, and the style sheets.

Textual's own themes work, too. The name of the chosen one is stored in a file next to the database.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from textual.theme import Theme

DARK = Theme(
    name="copydesk-dark",
    primary="#6fb3c8",
    secondary="#9aa7b0",
    accent="#6fb3c8",
    foreground="#d6dbde",
    background="#14181b",
    surface="#14181b",
    panel="#1e2428",
    success="#8fbf8a",
    warning="#d9ab63",
    error="#e0807a",
    dark=True,
    variables={
        "foreground-muted": "#97a2a9",
        "block-cursor-background": "#26353c",
        "block-cursor-blurred-background": "#1e2428",
        "block-cursor-foreground": "#ffffff",
        "border": "#6fb3c8",
        "border-blurred": "#323b41",
        "scrollbar": "#3a454c",
        "scrollbar-background": "#14181b",
    },
)
LIGHT = Theme(
    name="copydesk-light",
    primary="#1f6480",
    secondary="#5a656c",
    accent="#1f6480",
    foreground="#22282c",
    background="#fbfaf8",
    surface="#fbfaf8",
    panel="#efede9",
    success="#2f6f3a",
    warning="#8a5a00",
    error="#b0342c",
    dark=False,
    variables={
        "foreground-muted": "#576167",
        "block-cursor-background": "#e0ebf0",
        "block-cursor-blurred-background": "#efede9",
        "block-cursor-foreground": "#000000",
        "border": "#1f6480",
        "border-blurred": "#d3d0ca",
        "scrollbar": "#c3c0b9",
        "scrollbar-background": "#fbfaf8",
    },
)
THEME_FILE = "console-theme"
MAX_NAME_LENGTH = 100
"""Characters of a theme's name that are read; a longer one was not written here."""
_LIGHT_BACKGROUNDS = frozenset({"7", "15"})


def initial_theme(environ: Mapping[str, str]) -> str | None:
    """Return the name of the initial theme; None if the user set one of Textual's in TEXTUAL_THEME.

    Some terminals describe their colours in COLORFGBG as `foreground;background`, numbers of the 16 ANSI colours.
    """
    if environ.get("TEXTUAL_THEME"):
        return None
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if background in _LIGHT_BACKGROUNDS else DARK.name


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


def stylesheet_path(name: str) -> Path:
    """Return the path of the style sheet `name`.

    It is in the package if installed from a wheel, else at the top of the checkout.
    """
    package = Path(__file__).parent.parent
    installed = package / "styles"
    folder = installed if installed.is_dir() else package.parent.parent / "styles"
    return folder / name
