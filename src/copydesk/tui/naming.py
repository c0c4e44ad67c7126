"""Labels of keys in sentences, including the user's own key assignments."""

from collections.abc import Iterable

from textual._context import active_app

from copydesk.tui.keys import KEYS, Key, format_keys


def key_label(action_id: str) -> str:
    """Return the label of the first key of an action in the running console."""
    return first_key_label(getattr(active_app.get(None), "keys", KEYS), action_id)


def first_key_label(keys: Iterable[Key], action_id: str) -> str:
    """Return the label of the first key of an action in a key table."""
    return next(format_keys(action)[0] for action in keys if action.id == action_id)


def replace_commands_with_keys(text: str) -> str:
    """Replace a command mentioned in `text` by the keys that do the same in the console."""
    if "copydesk slot" not in text:
        return text
    from copydesk.model.schedule import SET_SLOTS_COMMAND  # noqa: PLC0415 - not for the first paint

    return text.replace(SET_SLOTS_COMMAND, f"{key_label('console.schedule')}, then {key_label('schedule.new_slot')}")
