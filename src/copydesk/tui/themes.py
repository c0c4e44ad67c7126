"""The two built-in themes, quiet with one accent colour, those of the user, the chosen one, and the style sheets.

Textual's own themes work, too. The name of the chosen one is stored in a file next to the database.
"""

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from textual.theme import Theme

from copydesk.settings import Settings
from copydesk.text import clean
from copydesk.tui import labels

DARK = Theme(
    name="copydesk-dark",
    primary="#86c5d8",
    secondary="#aab5bc",
    accent="#86c5d8",
    foreground="#dde2e5",
    background="#12161a",
    surface="#12161a",
    panel="#1e252a",
    success="#9ccb96",
    warning="#e0b674",
    error="#f0a099",
    dark=True,
    variables={
        "foreground-muted": "#aab5bc",
        "foreground-disabled": "#89949b",
        "block-cursor-background": "#274a5a",
        "block-cursor-blurred-background": "#27323a",
        "block-cursor-foreground": "#ffffff",
        "border": "#86c5d8",
        "border-blurred": "#657078",
        "scrollbar": "#647078",
        "scrollbar-background": "#12161a",
    },
)
LIGHT = Theme(
    name="copydesk-light",
    primary="#185a75",
    secondary="#4c565c",
    accent="#185a75",
    foreground="#1c2226",
    background="#fbfaf8",
    surface="#fbfaf8",
    panel="#efede9",
    success="#235e2e",
    warning="#744a00",
    error="#a02a23",
    dark=False,
    variables={
        "foreground-muted": "#4c565c",
        "foreground-disabled": "#6c7377",
        "block-cursor-background": "#b2d3e1",
        "block-cursor-blurred-background": "#e2e4e4",
        "block-cursor-foreground": "#000000",
        "border": "#185a75",
        "border-blurred": "#8b8780",
        "scrollbar": "#8b877f",
        "scrollbar-background": "#fbfaf8",
    },
)
THEME_FILE = "console-theme"
MAX_NAME_LENGTH = 100
"""Characters of a theme's name that are read; a longer one was not written here."""
THEMES_FOLDER = "themes"
"""The folder beside the settings file with the user's own themes."""
MAX_THEMES, MAX_THEME_BYTES = 50, 65_536
THEME_COLOURS = (
    "primary",
    "secondary",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "success",
    "warning",
    "error",
)
"""The colours of a theme."""
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
    from copydesk.file_replacement import replace_file  # noqa: PLC0415 - not needed for the first paint

    replace_file(path, f"{name}\n".encode())


def load_user_themes(folder: Path, taken: Collection[str]) -> tuple[list[Theme], list[str]]:
    """Return the themes in the TOML files of `folder`, and what is wrong with each file that is left out.

    `taken` are the names of other themes. A folder that does not exist has none.
    """
    user_themes, problems = [], []
    try:
        files = sorted(folder.glob("*.toml"))
    except OSError:
        files = []
    for file in files[:MAX_THEMES]:
        try:
            user_themes.append(_read_theme(file, taken))
        except _ThemeError as error:
            problems.append(labels.theme_invalid(file.name, str(error)))
    return user_themes, problems


def check_themes(settings: Settings) -> list[str]:
    """Return what is wrong with the user's own themes, and with the theme that was chosen in the console."""
    from textual.theme import BUILTIN_THEMES  # noqa: PLC0415 - the console has them from its app

    taken = {*BUILTIN_THEMES, DARK.name, LIGHT.name}
    user_themes, problems = load_user_themes(settings.config_home / THEMES_FOLDER, taken)
    chosen = load_theme(settings.data_home / THEME_FILE)
    if chosen and chosen not in {*taken, *(theme.name for theme in user_themes)}:
        problems.append(labels.chosen_theme_missing(clean(chosen)))
    return problems


class _ThemeError(Exception):
    """A file is no theme; the message says why."""


def _read_theme(file: Path, taken: Collection[str]) -> Theme:
    """Return the theme of a file. Raise _ThemeError."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,39}", file.stem):
        raise _ThemeError(labels.THEME_NAME_INVALID)
    if file.stem in taken:
        raise _ThemeError(labels.THEME_NAME_TAKEN)
    values = _read_toml(file)
    variables = values.pop("variables", {})
    if not isinstance(variables, dict):
        raise _ThemeError(labels.theme_not_table("variables"))
    dark = values.pop("dark", True)
    if not isinstance(dark, bool):
        raise _ThemeError(labels.THEME_DARK_INVALID)
    for section, colours, allowed in (("", values, THEME_COLOURS), ("variables.", variables, tuple(DARK.variables))):
        for name, colour in colours.items():
            if name not in allowed:
                raise _ThemeError(labels.theme_unknown_name(f"{section}{name}", allowed))
            # Nothing but a colour: the values end up in a style sheet.
            if not isinstance(colour, str) or not re.fullmatch(r"#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", colour):
                raise _ThemeError(labels.theme_not_colour(f"{section}{name}", repr(colour)[:40]))
    if missing := [name for name in ("primary", "background", "foreground") if name not in values]:
        raise _ThemeError(labels.theme_missing(missing[0]))
    return Theme(name=file.stem, dark=dark, variables=variables, **values)


def _read_toml(file: Path) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - most users have no theme of their own

    try:
        # Not blocking on a FIFO, and not reading more than any theme has.
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as stream:
            return tomllib.loads(stream.read(MAX_THEME_BYTES).decode("utf-8-sig"))
    except OSError as error:
        raise _ThemeError(error.strerror or str(error)) from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise _ThemeError(labels.theme_not_toml(str(error))) from None


def stylesheet_path(name: str) -> Path:
    """Return the path of the style sheet `name`.

    It is in the package if installed from a wheel, else at the top of the checkout.
    """
    package = Path(__file__).parent.parent
    installed = package / "styles"
    folder = installed if installed.is_dir() else package.parent.parent / "styles"
    return folder / name
