"""The console: its screens, its looks, its keys."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from textual import constants, events
from textual.app import App
from textual.screen import Screen

from copydesk.tui import kept_theme, themes
from copydesk.tui.desk_app import LAST_PATIENCE, DeskApp, Glance, OpenDesk
from copydesk.tui.keymap import own_keys
from copydesk.tui.keys import KEYS, SCREEN_NAMES, Key, Where, bindings
from copydesk.tui.styles import sheet

if TYPE_CHECKING:
    from pathlib import Path

    from textual.command import Provider
    from textual.driver import Driver

    from copydesk.tui.screens.review import ReviewScreen
    from copydesk.tui.screens.sources import SourcesScreen


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


def _commands() -> "type[Provider]":
    from copydesk.tui.palette import Commands  # noqa: PLC0415 - as above

    return Commands


class Console(DeskApp, inherit_bindings=False):
    """A person's desk, in a terminal.

    `open_desk` gives the desk, not yet open: the console opens it after the first paint and closes it at its end.
    `glance`, where there is one, gives the first rows before that. With `jobs` it does what is due by itself, as long
    as it is open. `name` is shown beside the title where there are several desks; `clock` gives the time in UTC; `keys`
    is the key table with the user's own keys in it; `advice` names the commands of a text as they are called for this
    desk; `theme_file` keeps the theme that is chosen.
    """

    CSS_PATH = [sheet("base.tcss"), sheet("review.tcss")]
    DEFAULT_MODE = "review"
    BINDINGS = bindings(Where.CONSOLE)
    COMMANDS = {_commands}
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
        keys: Sequence[Key] = KEYS,
        advice: Callable[[str], str] = str,
        theme_file: "Path | None" = None,
    ) -> None:
        super().__init__(open_desk, glance=glance, jobs=jobs, name=name, clock=clock, keys=keys, advice=advice)
        if own := own_keys(keys):
            self.set_keymap(own)
        self.animation_level = "none"
        self.register_theme(themes.DARK)
        self.register_theme(themes.LIGHT)
        # Without colours a theme is nothing that anybody chose.
        self._theme_file = None if self.no_color else theme_file
        if theme := themes.preferred(os.environ):
            kept = kept_theme.read(self._theme_file) if self._theme_file else ""
            self._start_with(kept if kept in self.available_themes else theme)
        self._theme_kept = self.theme

    def get_driver_class(self) -> "type[Driver]":
        """The terminal's own, unless somebody chose another: the server of the web console does."""
        if constants.DRIVER is not None:
            return super().get_driver_class()
        from copydesk.tui.terminal_driver import TerminalDriver  # noqa: PLC0415 - a browser has no terminal

        return TerminalDriver

    def _start_with(self, theme: str) -> None:
        """Set the first theme without its watcher, which would parse every style sheet a second time."""
        self.set_reactive(App.theme, theme)
        dark = self.current_theme.dark
        self.set_class(dark, "-dark-mode", update=False).set_class(not dark, "-light-mode", update=False)
        self.stylesheet.set_variables(self.get_css_variables())
        self._refresh_truecolor_filter(self.ansi_theme)

    def watch_theme(self, theme: str) -> None:
        """Keep the theme that was chosen for the next time."""
        if self._theme_file is None or theme == self._theme_kept:
            return
        self._theme_kept = theme
        try:
            kept_theme.keep(self._theme_file, theme)
        except OSError as error:
            self.notify(f"The colours could not be kept for the next time: {error.strerror}.", severity="warning")

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

    def on_click(self, event: events.Click) -> None:
        """What lies over the screen takes every click, those on its keys in the line below, too."""
        from copydesk.tui.widgets.key_line import KeyLine  # noqa: PLC0415 - as above

        below = self.screen_stack[0]
        if event.widget is self.screen is not below:
            line = below.query_one(KeyLine).content_region
            if line.contains(event.screen_x, event.screen_y):
                below.query_one(KeyLine).press_at(event.screen_x - line.x)

    # From anywhere to a screen.

    def do(self, key: Key) -> None:
        """Do an action of the key table, on its screen."""
        self.run_worker(self._do(key), exit_on_error=False)

    async def _do(self, key: Key) -> None:
        name = key.where.name.lower()
        if name in SCREEN_NAMES:
            if screen := await self._go_to(name):
                await self.run_action(key.action, screen)
        else:
            await self.run_action(key.action, self)

    async def _go_to(self, name: str) -> Screen[Any] | None:
        """Switch to a screen; it, when it has read what it shows. None where the user has gone on by then."""
        await self.switch_mode(name)
        screen = self.screen_stack[0]
        await self.answered()
        return screen if self.screen_stack[0] is screen else None

    def show_draft(self, draft_id: str) -> None:
        """Show a draft on the review, with the cursor on it."""
        self.run_worker(self._show_draft(draft_id), exit_on_error=False)

    async def _show_draft(self, draft_id: str) -> None:
        if screen := await self._go_to("review"):
            cast("ReviewScreen", screen).show_draft(draft_id)

    def show_source(self, source_id: str) -> None:
        """Show a source on its screen, with the cursor on it."""
        self.run_worker(self._show_source(source_id), exit_on_error=False)

    async def _show_source(self, source_id: str) -> None:
        if there := await self._go_to("sources"):
            screen = cast("SourcesScreen", there)
            screen.to_find = source_id
            screen.read()
            screen.sources.focus()

    def action_show_screen(self, name: str) -> None:
        """Another screen, as it was left."""
        if name in SCREENS and self.current_mode != name:
            self.switch_mode(name)

    def action_help(self) -> None:
        """Show the keys of this screen."""
        from copydesk.tui.screens.help import HelpScreen, places_of  # noqa: PLC0415

        self.push_screen(HelpScreen(places_of(self.screen), self.keys))

    def action_log(self) -> None:
        """Show what went wrong, in full."""
        from copydesk.tui.modals.reading import ReadingScreen  # noqa: PLC0415
        from copydesk.tui.pages.log import log_page  # noqa: PLC0415

        self.push_screen(ReadingScreen("What was said", log_page(self.read_log(), self.clock())))

    def action_compose(self) -> None:
        """Compose a draft, or go on with one."""
        from copydesk.tui.composing import compose  # noqa: PLC0415

        compose(self)

    def end(self, code: int) -> None:
        """End as somebody else wants it: what is being written is finished, what is typed is kept."""
        self.run_worker(self._end(code), exit_on_error=False)

    async def _end(self, code: int) -> None:
        try:
            if self.editor is not None:
                await self._end_editor(self.editor)
            for screen in self.screen_stack:
                if keep := getattr(screen, "keep_typed", None):
                    await keep()
        finally:
            self.exit(code)

    async def _end_editor(self, editor: asyncio.subprocess.Process) -> None:
        """End the editor, and have the terminal back."""
        with suppress(ProcessLookupError):
            editor.terminate()
            try:
                await asyncio.wait_for(editor.wait(), LAST_PATIENCE)
            except TimeoutError:
                editor.kill()
        await self.finish_writing()

    def action_leave(self) -> None:
        """Go back where there is something to go back to; else end the console."""
        back = getattr(self.screen, "go_back", None)
        if back is None or not back():
            self._leave()

    def _leave(self) -> None:
        """End the console; what is still being written is waited for, and nothing is decided meanwhile."""
        if not self.is_writing:
            self.exit(0)
            return
        from copydesk.tui.modals.hold import LastScreen  # noqa: PLC0415 - seldom needed

        self.push_screen(LastScreen("Finishing what you decided …"))
        self.run_worker(self._leave_finished(), exit_on_error=False)

    async def _leave_finished(self) -> None:
        await self.finish_writing()
        self.exit(0, message=self.last_words or None)
