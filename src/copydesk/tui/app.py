"""The console application: its screens, themes and global actions."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from textual import constants, events
from textual.app import App
from textual.screen import Screen

from copydesk.tui import labels, themes
from copydesk.tui.desk_app import SHUTDOWN_TIMEOUT, DeskApp, LoadFirstPage, OpenDesk
from copydesk.tui.keymap import command_keys, custom_keys, textual_key_name
from copydesk.tui.keys import Key, KeyContext, bindings, replace_commands_with_keys
from copydesk.tui.preferences import Preferences
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.themes import stylesheet_path

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.driver import Driver

    from copydesk.tui.review.screen import ReviewScreen
    from copydesk.tui.setup.pages import Section
    from copydesk.tui.setup.screen import SetupScreen
    from copydesk.tui.sources.screen import SourcesScreen


def _review() -> Screen[None]:
    from copydesk.tui.review.screen import ReviewScreen  # noqa: PLC0415 - a screen is imported when it is first shown

    return ReviewScreen()


def _sources() -> Screen[None]:
    from copydesk.tui.sources.screen import SourcesScreen  # noqa: PLC0415 - as above

    return SourcesScreen()


def _schedule() -> Screen[None]:
    from copydesk.tui.schedule.screen import ScheduleScreen  # noqa: PLC0415 - as above

    return ScheduleScreen()


def _experiments() -> Screen[None]:
    from copydesk.tui.experiments.screen import ExperimentsScreen  # noqa: PLC0415 - as above

    return ExperimentsScreen()


def _engagement() -> Screen[None]:
    from copydesk.tui.engagement.screen import EngagementScreen  # noqa: PLC0415 - as above

    return EngagementScreen()


def _setup() -> Screen[None]:
    from copydesk.tui.setup.screen import SetupScreen  # noqa: PLC0415 - as above

    return SetupScreen()


def _needs_you() -> Screen[None]:
    from copydesk.tui.review.needs_you import NeedsYouScreen  # noqa: PLC0415 - as above

    return NeedsYouScreen()


SCREENS: dict[str, Callable[[], Screen[Any]]] = {
    "review": _review,
    "schedule": _schedule,
    "sources": _sources,
    "experiments": _experiments,
    "engagement": _engagement,
    "setup": _setup,
    "needs_you": _needs_you,
}
"""Screen factories by mode name. They import the screen's module when it is first shown: start-up stays short."""


def _commands() -> "type[Provider]":
    from copydesk.tui.palette import CommandProvider  # noqa: PLC0415 - as above

    return CommandProvider


class Console(DeskApp, inherit_bindings=False):
    """The terminal user interface of one desk.

    `open_desk` returns the desk as an unopened context manager: the console opens it after the first paint and closes
    it on exit. `load_first_page`, if given, supplies the first rows before the desk is open. With `jobs` the console
    runs due jobs while it is open. `name` is shown next to the title when there are several desks; `clock` returns the
    time in UTC; `preferences` are the user's own keys, tabs and theme; `qualify_commands` rewrites the commands
    mentioned in a text so that they address this desk.
    """

    CSS_PATH = [stylesheet_path("base.tcss"), stylesheet_path("review.tcss")]
    DEFAULT_MODE = "review"
    BINDINGS = bindings(KeyContext.CONSOLE)
    COMMANDS = {_commands}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    TITLE = labels.APP_NAME

    def __init__(
        self,
        open_desk: OpenDesk,
        *,
        load_first_page: LoadFirstPage | None = None,
        jobs: bool = False,
        name: str = "",
        clock: Callable[[], datetime] | None = None,
        preferences: Preferences | None = None,
        qualify_commands: Callable[[str], str] = str,
    ) -> None:
        super().__init__(
            open_desk,
            load_first_page=load_first_page,
            jobs=jobs,
            name=name,
            clock=clock,
            preferences=preferences,
            qualify_commands=qualify_commands,
        )
        if custom := custom_keys(self.keys):
            self.set_keymap(custom)
        for key in command_keys(self.keys):
            self.bind(",".join(map(textual_key_name, key.keys.split(","))), key.action, show=False)
        # Animations delay the response to a key and cost output over slow connections.
        self.animation_level = "none"
        self.register_theme(themes.DARK)
        self.register_theme(themes.LIGHT)
        if (folder := self.preferences.themes_folder) is not None:
            user_themes, self.start_warnings = themes.load_user_themes(folder, self.available_themes)
            for user_theme in user_themes:
                self.register_theme(user_theme)
        if problem := self.preferences.tabs.problem:
            self.start_warnings.append(problem)
        # With NO_COLOR the active theme is not the user's choice, so it must not be saved.
        self._theme_file = None if self.no_color else self.preferences.theme_file
        if theme := themes.initial_theme(os.environ):
            stored_theme = themes.load_theme(self._theme_file) if self._theme_file else ""
            self._set_initial_theme(stored_theme if stored_theme in self.available_themes else theme)
        self._saved_theme = self.theme
        has_few_colours = self.no_color or self.console.color_system not in {"256", "truecolor"}
        self.set_class(has_few_colours, "-few-colours", update=False)

    def get_driver_class(self) -> "type[Driver]":
        """Return the driver for this terminal, unless another one is configured.

        The server of the web console configures one.
        """
        if constants.DRIVER is not None:
            return super().get_driver_class()
        from copydesk.tui.terminal.driver import TerminalDriver  # noqa: PLC0415 - a browser has no terminal

        return TerminalDriver

    def _set_initial_theme(self, theme: str) -> None:
        """Set the first theme without its watcher, which would parse every style sheet a second time."""
        self.set_reactive(App.theme, theme)
        dark = self.current_theme.dark
        self.set_class(dark, "-dark-mode", update=False).set_class(not dark, "-light-mode", update=False)
        self.stylesheet.set_variables(self.get_css_variables())
        self._refresh_truecolor_filter(self.ansi_theme)

    def watch_theme(self, theme: str) -> None:
        """Save the chosen theme for the next start."""
        if self._theme_file is None or theme == self._saved_theme:
            return
        self._saved_theme = theme
        try:
            themes.save_theme(self._theme_file, theme)
        except OSError as error:
            self.notify(labels.theme_not_saved(error.strerror or str(error)), severity="warning")

    def get_default_screen(self) -> Screen[Any]:
        """Return the first screen.

        Declared as a mode in MODES it would make Textual parse every style sheet once more.
        """
        return SCREENS[self.DEFAULT_MODE]()

    def on_mount(self) -> None:
        """Register each screen as a mode, so that it keeps its state while another one is shown."""
        for mode, screen in SCREENS.items():
            self.add_mode(mode, screen)

    def on_ready(self) -> None:
        """Open the desk, now that the first paint is out."""
        self.open()

    def on_resize(self, event: events.Resize) -> None:
        """Repaint everything if the terminal is back at the size that the screen is laid out for.

        Textual changes nothing then, but the terminal may have cut off or moved lines in between.
        """
        if self.screen_stack and event.size == self.screen.outer_size:
            self.screen.refresh()

    def on_click(self, event: events.Click) -> None:
        """Pass clicks on the key line to it even while a dialog, which receives every click, is open."""
        from copydesk.tui.widgets.key_hints import KeyLine  # noqa: PLC0415 - as above

        base_screen = self.screen_stack[0]
        # Only clicks on the dialog itself; its child widgets handle their own.
        if event.widget is self.screen is not base_screen:
            key_line_region = base_screen.query_one(KeyLine).content_region
            if key_line_region.contains(event.screen_x, event.screen_y):
                base_screen.query_one(KeyLine).press_at(event.screen_x - key_line_region.x)

    async def prompt_passphrase(self, *, new: bool) -> str:
        """Prompt for the passphrase of the stored credentials, whatever needs them."""
        from copydesk.tui.dialogs.passphrase import prompt_passphrase  # noqa: PLC0415 - rarely needed

        return await prompt_passphrase(self, new=new)

    # From anywhere to a screen.

    def _run_held(self, work: Awaitable[None]) -> None:
        """Run `work`, which goes to a screen first. Keys typed from now on wait for what it does there."""
        hold = self.type_ahead.start_hold(Hold.RESULT)

        async def run() -> None:
            with hold:
                await work

        self.run_worker(run(), exit_on_error=False)

    def run_key_action(self, key: Key) -> None:
        """Run the action of `key` on the screen it belongs to, switching to that screen if necessary."""
        self._run_held(self._run_key_action(key))

    async def _run_key_action(self, key: Key) -> None:
        screen_name = key.context.name.lower()
        if screen_name in SCREENS:
            if screen := await self._go_to(screen_name):
                await self.run_action(key.action, screen)
        else:
            await self.run_action(key.action, self)

    async def _go_to(self, name: str) -> Screen[Any] | None:
        """Switch to the screen `name` and return it once its data is loaded.

        Return None if the user has moved on in the meantime.
        """
        await self.switch_mode(name)
        # The bottom of the stack: a dialog may have opened on the new screen already.
        screen = self.screen_stack[0]
        await self.desk_tasks.wait_for_reads()
        return screen if self.screen_stack[0] is screen else None

    def is_key_offered(self, key_id: str) -> bool:
        """Return False if the current screen has nothing for the key now, whatever is selected."""
        is_offered = getattr(self.screen_stack[0], "is_key_offered", None)
        return is_offered is None or bool(is_offered(key_id))

    def key_refusal(self, key_id: str) -> str:
        """Return why a key of the current screen does nothing to what it shows; empty if it does something."""
        refusal = getattr(self.screen_stack[0], "refusal", None)
        return replace_commands_with_keys(refusal(key_id)) if refusal is not None else ""

    def show_draft(self, draft_id: str) -> None:
        """Switch to the review and move the cursor to the draft."""
        self._run_held(self._show_draft(draft_id))

    async def _show_draft(self, draft_id: str) -> None:
        if screen := await self._go_to("review"):
            cast("ReviewScreen", screen).show_draft(draft_id)

    def show_tab(self, tab: str) -> None:
        """Switch to the review, and to this tab of it unless `tab` is empty."""
        # At once, as the review is mounted from the start: a key typed next is meant for it.
        self.switch_mode("review")
        if tab:
            cast("ReviewScreen", self.screen_stack[0]).queue_pane.show_tab(tab)

    def sign_in(self, platform: str, account_id: str = "") -> None:
        """Switch to the setup and open the form to connect an account of `platform`, or the list of platforms."""
        self._run_held(self._sign_in(platform, account_id))

    async def _sign_in(self, platform: str, account_id: str) -> None:
        if screen := await self._go_to("setup"):
            cast("SetupScreen", screen).connect(platform, account_id)

    def show_source(self, source_id: str) -> None:
        """Switch to the sources and move the cursor to the source."""
        self._run_held(self._show_source(source_id))

    async def _show_source(self, source_id: str) -> None:
        if target := await self._go_to("sources"):
            screen = cast("SourcesScreen", target)
            screen.select_source_id = source_id
            screen.refresh_data()
            screen.sources.focus()

    def show_setup_section(self, section: "Section") -> None:
        """Switch to the setup and open a section."""
        self._run_held(self._show_setup_section(section))

    async def _show_setup_section(self, section: "Section") -> None:
        if screen := await self._go_to("setup"):
            cast("SetupScreen", screen).show_section(section)

    def show_shell_command(self, name: str) -> None:
        """Show how a command is called that does what the console has no key for."""
        from copydesk.tui.dialogs.base import PageDialog  # noqa: PLC0415 - rarely needed
        from copydesk.tui.layout import paragraph  # noqa: PLC0415 - as above

        command = f"copydesk {name}"
        note = self.qualify_commands(labels.shell_command_note(command))
        purpose = labels.SHELL_COMMANDS[name]
        self.push_screen(PageDialog(command, [paragraph(f"{purpose[0].upper()}{purpose[1:]}."), paragraph(note)]))

    def action_show_screen(self, name: str) -> None:
        """Switch to another screen, in the state in which it was left."""
        if name in SCREENS and self.current_mode != name:
            self.switch_mode(name)

    def action_help(self) -> None:
        """Show the keys of the current screen."""
        from copydesk.tui.help.screen import HelpDialog, key_contexts  # noqa: PLC0415

        def press(key: Key | None) -> None:
            if key is not None:
                # As if it was typed: it acts on the pane that has the focus.
                self.simulate_key(textual_key_name(key.keys.split(",")[0]))

        self.push_screen(HelpDialog(key_contexts(self.screen), self.keys), press)

    def action_command_palette(self) -> None:
        """Find commands, drafts and sources by typing."""
        from copydesk.tui.palette import Palette  # noqa: PLC0415 - as above

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    def action_jump(self) -> None:
        """Show letters on every place of the screen, and go to the one that is chosen."""
        from copydesk.tui.jump import JumpDialog, list_targets  # noqa: PLC0415 - not for the first paint

        if targets := list_targets(self.screen):
            self.push_screen(JumpDialog(targets), lambda target: target.go() if target is not None else None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Run a command of the user's own only on the screens that it is for."""
        if action == "run_command":
            return self.current_mode in self.preferences.commands[str(parameters[0])].screens
        return super().check_action(action, parameters)

    def action_run_command(self, name: str) -> None:
        """Run a command of the user's own with the draft under the cursor."""
        from copydesk.tui.commands import start_command  # noqa: PLC0415 - rarely needed
        from copydesk.tui.desk_screen import DeskScreen  # noqa: PLC0415 - as above

        screen = self.screen_stack[0]
        draft_id = screen.selected_draft_id() if isinstance(screen, DeskScreen) else None
        start_command(self, self.preferences.commands[name], draft_id)

    def action_log(self) -> None:
        """Show the full log of errors and notifications."""
        from copydesk.tui.dialogs.base import PageDialog  # noqa: PLC0415
        from copydesk.tui.help.screen import log_page  # noqa: PLC0415

        self.push_screen(PageDialog(labels.LOG_TITLE, log_page(self.read_log(), self.local_now())))

    def action_compose(self) -> None:
        """Compose a new draft, or continue an autosaved one."""
        from copydesk.tui.compose.actions import open_compose  # noqa: PLC0415

        open_compose(self)

    def offer_unsaved_draft(self) -> None:
        """Notify about a draft that was typed in an earlier session and not created."""
        from copydesk.tui.compose.unsaved import offer_unsaved  # noqa: PLC0415

        self.run_desk_task(lambda desk: offer_unsaved(self, desk))

    def shut_down(self, code: int) -> None:
        """Exit with `code`, on a signal.

        Pending writes are finished and typed text is saved first.
        """
        self.run_worker(self._shut_down(code), exit_on_error=False)

    async def close_page(self) -> None:
        """Exit because the browser page was closed: handle the keys typed before that, then shut down."""
        self.run_worker(self._shut_down(0, finish_keys=True), exit_on_error=False)

    async def _shut_down(self, code: int, *, finish_keys: bool = False) -> None:
        try:
            if finish_keys:
                await self.type_ahead.finish()
            if self.editor is not None:
                await self._stop_editor(self.editor)
            for screen in self.screen_stack:
                if save_typed := getattr(screen, "flush_autosave", None):
                    await save_typed()
        finally:
            self.exit(code)

    async def _stop_editor(self, editor: asyncio.subprocess.Process) -> None:
        """Stop the external editor, killing it after a timeout, and take the terminal back."""
        with suppress(ProcessLookupError):
            editor.terminate()
            try:
                await asyncio.wait_for(editor.wait(), SHUTDOWN_TIMEOUT)
            except TimeoutError:
                editor.kill()
        await self.desk_tasks.finish_writes()

    def action_leave(self) -> None:
        """Go back on the current screen if it has somewhere to go back to; otherwise quit."""
        go_back = getattr(self.screen, "go_back", None)
        if go_back is None or not go_back():
            self._quit()

    def _quit(self) -> None:
        """Exit after pending writes are finished; a dialog blocks further decisions until then."""
        if not self.desk_tasks.has_pending_writes:
            self.exit(0)
            return
        from copydesk.tui.dialogs.base import ExitDialog  # noqa: PLC0415 - rarely needed

        self.push_screen(ExitDialog(labels.EXIT_SAVING))
        self.run_worker(self._quit_after_writes(), exit_on_error=False)

    async def _quit_after_writes(self) -> None:
        await self.desk_tasks.finish_writes()
        self.exit(0, message=self.exit_message or None)
