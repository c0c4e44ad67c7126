"""The question for a time zone, on whichever screen it is asked."""

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
    """Ask for another zone than `zone`; again, where `value` was `wrong`. That is said where the user is elsewhere."""
    if not below.app.open_over(below, _question(zone, value, wrong), then) and wrong is not None:
        below.app.complain(wrong)


def _question(zone: str, value: str, wrong: CopydeskError | None) -> LineScreen:
    """The only name that is like a wrong one stands there then."""
    hint = f"A name such as Europe/Prague. {MOMENT} {key('line.leave')} leaves."
    if wrong is not None:
        hint = str(wrong)
    if isinstance(wrong, InvalidError):
        hint = f"{'; '.join(each.message for each in wrong.errors)}. {wrong.hint}".strip()
    if isinstance(wrong, NoZoneError) and len(wrong.like) == 1:
        value, hint = wrong.like[0], f"{hint} Enter takes it, {key('line.leave')} leaves."
    return LineScreen(f"Which time zone in the place of {zone}?", value=value, hint=hint)
