"""The user's own ways of working with the console, from the settings file and from what they chose in the console."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from copydesk.settings import Command, Console, Settings
from copydesk.tui.custom_tabs import CustomTabs, configured_tabs, tabs_file
from copydesk.tui.keymap import apply_custom_keys
from copydesk.tui.keys import KEYS, Key
from copydesk.tui.themes import THEME_FILE, THEMES_FOLDER


class Preferences(msgspec.Struct, frozen=True):
    """How one user wants the console. The defaults store nothing."""

    keys: Sequence[Key] = KEYS
    """The key table including the user's own keys, and those of their commands."""
    commands: Mapping[str, Command] = {}
    tabs: CustomTabs = msgspec.field(default_factory=CustomTabs)
    display: Console = msgspec.field(default_factory=Console)
    """The columns of the review."""
    theme_file: Path | None = None
    """Stores the chosen theme."""
    themes_folder: Path | None = None
    """Has the user's own themes, if it exists."""


def load_preferences(settings: Settings, user: str | None = None) -> Preferences:
    """Return the preferences of a user; None is the owner. Raise SettingsError for settings that cannot be used."""
    return Preferences(
        keys=apply_custom_keys(settings.keys, settings.settings_file, settings.commands),
        commands=settings.commands,
        display=settings.console,
        tabs=CustomTabs(configured_tabs(settings), tabs_file(settings, user)),
        theme_file=settings.data_home / THEME_FILE,
        themes_folder=settings.config_home / THEMES_FOLDER,
    )
