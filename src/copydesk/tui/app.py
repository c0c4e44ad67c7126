"""The console: its screens, its looks, its keys."""

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from textual.app import App, SystemCommand
from textual.screen import Screen

from copydesk.tui import themes
from copydesk.tui.desk_app import DeskApp, Glance, OpenDesk
from copydesk.tui.keys import KEYS, Where, bindings
from copydesk.tui.styles import sheet


def _review() -> Screen[None]:
    from copydesk.tui.screens.review import ReviewScreen  # noqa: PLC0415 - a screen is imported when it is first seen

    return ReviewScreen()


def _sources() -> Screen[None]:
    from copydesk.tui.screens.sources import SourcesScreen  # noqa: PLC0415 - as above

    return SourcesScreen()


def _schedule() -> Screen[None]:
    from copydesk.tui.screens.schedule import ScheduleScreen  # noqa: PLC0415 - as above

    return ScheduleScreen()


def _experiments() -> Screen[None]:
    from copydesk.tui.screens.experiments import ExperimentsScreen  # noqa: PLC0415 - as above

    return ExperimentsScreen()


def _engagement() -> Screen[None]:
    from copydesk.tui.screens.engagement import EngagementScreen  # noqa: PLC0415 - as above

    return EngagementScreen()


def _setup() -> Screen[None]:
    from copydesk.tui.screens.setup import SetupScreen  # noqa: PLC0415 - as above

    return SetupScreen()


SCREENS: dict[str, Callable[[], Screen[Any]]] = {
    "review": _review,
    "schedule": _schedule,
    "sources": _sources,
    "experiments": _experiments,
    "engagement": _engagement,
    "setup": _setup,
}
"""Every screen, imported and made when it is first shown."""


class Console(DeskApp, inherit_bindings=False):
    """A person's desk, in a terminal.

    `open_desk` gives the desk, not yet open: the console opens it after the first paint and closes it at its end.
    `glance`, where there is one, gives the first rows before that. With `jobs` it does what is due by itself, as long
    as it is open. `name` is shown beside the title where there are
    several desks; `clock` gives the time in UTC.
    """

    CSS_PATH = [sheet("base.tcss"), sheet("review.tcss")]
    DEFAULT_MODE = "review"
    BINDINGS = bindings(Where.CONSOLE)
    COMMAND_PALETTE_BINDING = "ctrl+p"
    TITLE = "Copydesk"

    def __init__(
        self,
        open_desk: OpenDesk,
        *,
        glance: Glance | None = None,
        jobs: bool = False,
        name: str = "",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        super().__init__(open_desk, glance=glance, jobs=jobs, name=name, clock=clock)
        self.animation_level = "none"
        self.register_theme(themes.DARK)
        self.register_theme(themes.LIGHT)
        if theme := themes.preferred(os.environ):
            self._start_with(theme)

    def _start_with(self, theme: str) -> None:
        """Set the first theme without its watcher, which would parse every style sheet a second time."""
        self.set_reactive(App.theme, theme)
        dark = self.current_theme.dark
        self.set_class(dark, "-dark-mode", update=False).set_class(not dark, "-light-mode", update=False)
        self.stylesheet.set_variables(self.get_css_variables())

    def get_default_screen(self) -> Screen[Any]:
        """The first screen. As a mode of MODES it would make Textual parse every style sheet once more."""
        return SCREENS[self.DEFAULT_MODE]()

    def on_mount(self) -> None:
        """From now on each screen is a mode, which keeps its state while another one is shown."""
        for mode, screen in SCREENS.items():
            self.add_mode(mode, screen)

    def on_ready(self) -> None:
        """The first paint is out: now the desk."""
        self.open()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the palette offers: the actions of the key table, and the themes."""
        for key in KEYS:
            if key.where in {Where.REVIEW, Where.CONSOLE} and key.footer:
                yield SystemCommand(key.description.capitalize(), key.footer, self._action(screen, key.action))
        yield SystemCommand("Change the colours", "themes", self.action_change_theme)

    def _action(self, screen: Screen[Any], action: str) -> Callable[[], object]:
        async def act() -> None:
            owner = self if hasattr(self, f"action_{action.partition('(')[0]}") else screen
            await self.run_action(action, owner)

        return act

    def action_show_screen(self, name: str) -> None:
        """Another screen, as it was left."""
        if name in SCREENS and self.current_mode != name:
            self.switch_mode(name)

    def action_help(self) -> None:
        """Show the keys."""
        from copydesk.tui.screens.help import HelpScreen  # noqa: PLC0415

        self.push_screen(HelpScreen())

    def action_compose(self) -> None:
        """Compose a draft, or go on with one."""
        from copydesk.tui.composing import compose  # noqa: PLC0415

        compose(self)

    def action_leave(self) -> None:
        """Go back where there is something to go back to; else end the console."""
        back = getattr(self.screen, "go_back", None)
        if back is None or not back():
            self.exit(0)
