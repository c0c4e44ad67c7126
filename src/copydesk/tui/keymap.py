"""The key table with the user's own keys in it, checked before the console opens."""

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from pathlib import Path

from textual.keys import KEY_NAME_REPLACEMENTS, Keys

from copydesk.errors import SettingsError
from copydesk.tui.keys import KEYS, Key, Where

BESIDE = {Where.LIST, Where.PAGE, Where.SCHEDULE}
"""Places of which only one can have the focus."""
SCREENS = (Where.REVIEW, Where.SCHEDULE, Where.SOURCES, Where.EXPERIMENTS, Where.ENGAGEMENT, Where.SETUP)
"""The places that are screens."""
_MODIFIERS = {"ctrl", "shift", "alt", "super", "meta", "hyper"}
_NAMES = {key.value for key in Keys} | set(KEY_NAME_REPLACEMENTS.values()) | {"space"}


def with_own_keys(own: Mapping[str, str], file: Path, keys: Iterable[Key] = KEYS) -> tuple[Key, ...]:
    """The table with the user's keys in the place of those that it came with.

    `own` maps an action's id to its keys, separated by commas. Raises SettingsError, one line, for an id that does not
    exist, a key that no keyboard has, and two actions on one key where both can be meant.
    """
    before = tuple(keys)
    if not own:
        return before
    for name, text in own.items():
        _check(name, text, file, before)
    after = tuple(key._replace(keys=_tidy(own[key.id])) if key.id in own else key for key in before)
    new = {name for old, key in zip(before, after, strict=True) for name in _new(old, key)}
    for name, one, other in clashes(after, new):
        raise SettingsError(
            f"{file}: [keys] {name} is both {one.id} ({one.description}) and {other.id} ({other.description}).",
            hint="Give one of them another key.",
        )
    return after


def own_keys(keys: Iterable[Key]) -> dict[str, str]:
    """Id -> keys of those that are not as the table has them."""
    usual = {key.id: key.keys for key in KEYS}
    return {key.id: key.keys for key in keys if usual.get(key.id) != key.keys}


def _check(name: str, text: str, file: Path, keys: tuple[Key, ...]) -> None:
    if name not in {key.id for key in keys}:
        raise SettingsError(f"{file}: [keys] there is no action {name!r}.", hint=_nearest(name, keys))
    for each in text.split(","):
        if not _is_key(each.strip()):
            raise SettingsError(
                f"{file}: [keys] {name}: {each.strip()!r} is no key.",
                hint='Keys are written like "a", "A", "ctrl+a", "f5", "space", "comma"; several with commas between.',
            )


def _nearest(name: str, keys: tuple[Key, ...]) -> str:
    import difflib  # noqa: PLC0415 - only where something is wrong

    near = difflib.get_close_matches(name, [key.id for key in keys], n=1, cutoff=0.5)
    return f"Did you mean {near[0]}?" if near else "The ids are in the README's table of keys."


def _is_key(name: str) -> bool:
    *modifiers, key = name.split("+") if len(name) > 1 else [name]
    return bool(key) and set(modifiers) <= _MODIFIERS and (textual_name(key) in _NAMES or _is_character(key))


def _is_character(key: str) -> bool:
    """Whether it is one, or the name of one: `comma`, `question_mark`."""
    if len(key) == 1:
        return key.isprintable() and key != " "
    try:
        return bool(unicodedata.lookup(key.replace("_", " ")))
    except KeyError:
        return False


def textual_name(key: str) -> str:
    """As Textual names it: `?` is `question_mark`."""
    if len(key) != 1 or key.isalnum():
        return key
    name = unicodedata.name(key, key).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


def _tidy(text: str) -> str:
    return ",".join(dict.fromkeys(each.strip() for each in text.split(",")))


def _new(old: Key, key: Key) -> Iterable[tuple[str, str]]:
    """(id, key) of the keys that it did not have before."""
    return ((key.id, textual_name(name)) for name in set(key.keys.split(",")) - set(old.keys.split(",")))


def clashes(keys: Iterable[Key], new: Collection[tuple[str, str]] = ()) -> Iterable[tuple[str, Key, Key]]:
    """(key, action, other action) where one key is for two actions: in one place; or, where one of them has it by the
    user's will, as `new` says with (id, key), on one screen.

    Where the table itself has a key twice on a screen, the place that has the focus is meant to win.
    """
    by_name: dict[str, list[Key]] = {}
    for key in keys:
        for name in dict.fromkeys(map(textual_name, key.keys.split(","))):
            by_name.setdefault(name, []).append(key)
    for name, sharing in by_name.items():
        for one, other in combinations(sharing, 2):
            chosen = (one.id, name) in new or (other.id, name) in new
            if one.where is other.where or (chosen and _meet(one.where, other.where)):
                yield name, one, other


def _meet(one: Where, other: Where) -> bool:
    """Whether a key could be meant for both places, which are different ones."""
    on_screens = {*SCREENS, Where.LIST, Where.PAGE, Where.CONSOLE}
    two_screens = one in SCREENS and other in SCREENS
    return {one, other} <= on_screens and not two_screens and not {one, other} <= BESIDE
