"""What an action's key is called in a sentence: the user's own key, where he has given it another one."""

from collections.abc import Iterable

from textual._context import active_app

from copydesk.tui.keys import KEYS, Key, shown


def key(action_id: str) -> str:
    """The first key of an action, as people write it, in the console that is running."""
    return first_key(getattr(active_app.get(None), "keys", KEYS), action_id)


def first_key(keys: Iterable[Key], action_id: str) -> str:
    """The first key of an action in a table, as people write it."""
    return next(shown(each)[0] for each in keys if each.id == action_id)


def in_keys(text: str) -> str:
    """A text for a toast with keys in the place of a command that the console has keys for."""
    if "copydesk slot" not in text:
        return text
    from copydesk.model.schedule import SET_SLOTS  # noqa: PLC0415 - not for the first paint

    return text.replace(SET_SLOTS, f"{key('console.schedule')}, then {key('schedule.new_slot')}")
