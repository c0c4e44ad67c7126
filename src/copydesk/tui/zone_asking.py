"""The prompt for a time zone, on any screen."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from copydesk.errors import CopydeskError, InvalidError, NoZoneError
from copydesk.tui.modals.ask import LineScreen
from copydesk.tui.naming import key

if TYPE_CHECKING:
    from copydesk.tui.screens.desk_screen import DeskScreen

MOMENT = "What is scheduled keeps its moment: 09:00 here may be 10:00 there."


def ask_zone(
    below: "DeskScreen",
    zone: str,
    then: Callable[[str | None], None],
    value: str = "",
    wrong: CopydeskError | None = None,
) -> None:
    """Prompt for a zone to replace `zone`, prefilled with `value` if that was refused with `error`.

    If the user is on another screen by now, only show the error.
    """
    if not below.app.open_over(below, _prompt(zone, value, wrong), then) and wrong is not None:
        below.app.complain(wrong)


def _prompt(zone: str, value: str, error: CopydeskError | None) -> LineScreen:
    """Build the prompt; if the invalid name resembles exactly one zone, that is prefilled."""
    hint = f"A name such as Europe/Prague. {MOMENT} {key('line.leave')} leaves."
    if error is not None:
        hint = str(error)
    if isinstance(error, InvalidError):
        hint = f"{'; '.join(field_error.message for field_error in error.errors)}. {error.hint}".strip()
    if isinstance(error, NoZoneError) and len(error.like) == 1:
        value, hint = error.like[0], f"{hint} Enter takes it, {key('line.leave')} leaves."
    return LineScreen(f"Which time zone in the place of {zone}?", value=value, hint=hint)
