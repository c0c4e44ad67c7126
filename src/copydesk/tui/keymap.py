"""The key table with the user's own keys, validated before the console opens."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from textual.keys import KEY_NAME_REPLACEMENTS, Keys

from copydesk.errors import SettingsError
from copydesk.tui.keys import KEYS, Key, KeyContext, parse_key

if TYPE_CHECKING:
    from copydesk.settings import Command

EXCLUSIVE_CONTEXTS = {KeyContext.LIST, KeyContext.PAGE, KeyContext.SCHEDULE}
"""Contexts of which only one can have the focus at a time."""
SCREEN_CONTEXTS = (
    KeyContext.REVIEW,
    KeyContext.NEEDS_YOU,
    KeyContext.SCHEDULE,
    KeyContext.SOURCES,
    KeyContext.EXPERIMENTS,
    KeyContext.ENGAGEMENT,
    KeyContext.SETUP,
)
"""The contexts that are screens."""
_COMMAND_PREFIX = "commands."
"""Begins the ids of the user's own commands."""
_MODIFIERS = {"ctrl", "shift", "alt", "super", "meta", "hyper"}
_KEY_NAMES = {key.value for key in Keys} | set(KEY_NAME_REPLACEMENTS.values()) | {"space"}


def apply_custom_keys(
    custom: Mapping[str, str], file: Path, commands: "Mapping[str, Command] | None" = None
) -> tuple[Key, ...]:
    """Return the key table with the user's keys in place of the defaults, and those of their own commands.

    `custom` maps an action's id to its keys, separated by commas. Raise SettingsError with a one-line message for an
    unknown id, a key that no keyboard has, and one key for two actions that can be active at the same time.
    """
    if not custom and not commands:
        return KEYS
    for action_id, text in custom.items():
        _validate(action_id, text, file, KEYS)
    after = tuple(key._replace(keys=_normalize(custom[key.id])) if key.id in custom else key for key in KEYS)
    new = {key_name for old, key in zip(KEYS, after, strict=True) for key_name in _added_keys(old, key)}
    added = tuple(key for name, command in (commands or {}).items() for key in _command_keys(name, command, file))
    new |= {(key.id, textual_key_name(name)) for key in added for name in key.keys.split(",")}
    after += added
    texts = (*custom.values(), *(command.key for command in (commands or {}).values()))
    written = {textual_key_name(parse_key(name)): name.strip() for text in texts for name in text.split(",")}
    for key_name, left, right in find_conflicts(after, new):
        raise SettingsError(
            f"{file}: {written[key_name]} is both {left.id} ({left.description}) and {right.id} ({right.description}).",
            hint="Give one of them another key.",
        )
    return after


def custom_keys(keys: Iterable[Key]) -> dict[str, str]:
    """Return id -> keys of the actions whose keys differ from the defaults."""
    usual = {key.id: key.keys for key in KEYS}
    return {key.id: key.keys for key in keys if usual.get(key.id, key.keys) != key.keys}


def command_keys(keys: Iterable[Key]) -> list[Key]:
    """Return the keys of the user's own commands, once for each screen of a command."""
    return [key for key in keys if key.id.startswith(_COMMAND_PREFIX)]


def _command_keys(name: str, command: "Command", file: Path) -> list[Key]:
    """Return the keys of a command, one for each of its screens. Raise SettingsError."""
    if not re.fullmatch(r"[a-z0-9_-]{1,40}", name):
        raise SettingsError(
            f"{file}: [commands] {name!r} is no name of a command.",
            hint="Names have lower-case letters, digits, - and _; the label may be any text.",
        )
    _validate_keys(f"[commands] {name}", command.key, file)
    action = f"app.run_command('{name}')"
    return [
        Key(f"{_COMMAND_PREFIX}{name}", KeyContext[screen.upper()], _normalize(command.key), action, command.label)
        for screen in dict.fromkeys(command.screens)
    ]


def _validate(action_id: str, text: str, file: Path, keys: tuple[Key, ...]) -> None:
    if action_id not in {key.id for key in keys}:
        raise SettingsError(f"{file}: [keys] there is no action {action_id!r}.", hint=_suggestion(action_id, keys))
    _validate_keys(f"[keys] {action_id}", text, file)


def _validate_keys(where: str, text: str, file: Path) -> None:
    for key_name in text.split(","):
        if not _is_key(parse_key(key_name)):
            raise SettingsError(
                f"{file}: {where}: {key_name.strip()!r} is no key.",
                hint='Keys are written like "a", "A", "ctrl+a", "f5", "space", "comma"; several with commas between.',
            )


def _suggestion(action_id: str, keys: tuple[Key, ...]) -> str:
    import difflib  # noqa: PLC0415 - only for an error message

    similar = difflib.get_close_matches(action_id, [key.id for key in keys], n=1, cutoff=0.5)
    return f"Did you mean {similar[0]}?" if similar else "The ids are in docs/keys.md."


def _is_key(name: str) -> bool:
    # A single `+` is a key, not a separator.
    *modifiers, key = name.split("+") if len(name) > 1 else [name]
    return bool(key) and set(modifiers) <= _MODIFIERS and (textual_key_name(key) in _KEY_NAMES or _is_character(key))


def _is_character(key: str) -> bool:
    """Return True for a character or a character's Unicode name: `comma`, `question_mark`."""
    if len(key) == 1:
        return key.isprintable() and key != " "
    try:
        return bool(unicodedata.lookup(key.replace("_", " ")))
    except KeyError:
        return False


def textual_key_name(key: str) -> str:
    """Return Textual's name of a key: `?` is `question_mark`."""
    if len(key) != 1 or key.isalnum():
        return key
    name = unicodedata.name(key, key).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


def _normalize(text: str) -> str:
    return ",".join(dict.fromkeys(map(parse_key, text.split(","))))


def _added_keys(old: Key, key: Key) -> Iterable[tuple[str, str]]:
    """Return (id, key) of the keys that `old` does not have."""
    return ((key.id, textual_key_name(name)) for name in set(key.keys.split(",")) - set(old.keys.split(",")))


def find_conflicts(keys: Iterable[Key], new: Collection[tuple[str, str]] = ()) -> Iterable[tuple[str, Key, Key]]:
    """Yield (key, action, other action) for each key with two actions in one context.

    Keys in `new`, given as (id, key), were set by the user; for these, two contexts on the same screen conflict, too.
    The default table may use a key twice on a screen: there the focused context is meant to win.
    """
    by_name: dict[str, list[Key]] = {}
    for key in keys:
        for name in dict.fromkeys(map(textual_key_name, key.keys.split(","))):
            by_name.setdefault(name, []).append(key)
    for name, actions in by_name.items():
        for first, second in combinations(actions, 2):
            is_custom = (first.id, name) in new or (second.id, name) in new
            if first.context is second.context or (is_custom and _can_coincide(first.context, second.context)):
                yield name, first, second


def _can_coincide(first: KeyContext, second: KeyContext) -> bool:
    """Return True if a key press could be meant for both contexts, which are different ones."""
    on_screens = {*SCREEN_CONTEXTS, KeyContext.LIST, KeyContext.PAGE, KeyContext.CONSOLE}
    two_screens = first in SCREEN_CONTEXTS and second in SCREEN_CONTEXTS
    return {first, second} <= on_screens and not two_screens and not {first, second} <= EXCLUSIVE_CONTEXTS
