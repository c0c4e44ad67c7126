"""The prompt for a time zone, on any screen."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from copydesk.errors import CopydeskError, InvalidError, UnknownTimeZoneError
from copydesk.tui.dialogs.prompt import PromptDialog
from copydesk.tui.keys import key_label

if TYPE_CHECKING:
    from copydesk.tui.desk_screen import DeskScreen

ZONE_CHANGE_NOTE = "What is scheduled keeps its moment: 09:00 here may be 10:00 there."


def prompt_time_zone(
    base: "DeskScreen",
    zone: str,
    callback: Callable[[str | None], None],
    value: str = "",
    error: CopydeskError | None = None,
) -> None:
    """Prompt for a zone to replace `zone`, prefilled with `value` if that was refused with `error`.

    If the user is on another screen by now, only show the error.
    """
    if not base.app.push_if_current(base, _prompt(zone, value, error), callback) and error is not None:
        base.app.notify_error(error)


def _prompt(zone: str, value: str, error: CopydeskError | None) -> PromptDialog:
    """Build the prompt; if the invalid name resembles exactly one zone, that is prefilled."""
    hint = f"A name such as Europe/Prague. {ZONE_CHANGE_NOTE} {key_label('line.leave')} leaves."
    if error is not None:
        hint = str(error)
    if isinstance(error, InvalidError):
        hint = f"{'; '.join(field_error.message for field_error in error.errors)}. {error.hint}".strip()
    if isinstance(error, UnknownTimeZoneError) and len(error.suggestions) == 1:
        value, hint = error.suggestions[0], f"{hint} Enter takes it, {key_label('line.leave')} leaves."
    return PromptDialog(f"Which time zone in the place of {zone}?", value=value, hint=hint)
