"""The prompt for a time zone, on any screen."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from copydesk.errors import CopydeskError, InvalidError, UnknownTimeZoneError
from copydesk.tui import labels
from copydesk.tui.dialogs.prompt import PromptDialog

if TYPE_CHECKING:
    from copydesk.tui.desk_screen import DeskScreen


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
    reason = str(error) if error is not None else ""
    if isinstance(error, InvalidError):
        reason = f"{'; '.join(field_error.message for field_error in error.errors)}. {error.hint}".strip()
    has_suggestion = isinstance(error, UnknownTimeZoneError) and len(error.suggestions) == 1
    if isinstance(error, UnknownTimeZoneError) and has_suggestion:
        value = error.suggestions[0]
    hint = labels.zone_hint(zone, reason, is_prefilled=has_suggestion)
    return PromptDialog(labels.ZONE_PROMPT, value=value, hint=hint)
