"""Start the console, on a terminal or in a browser. Imports little: every import delays the first paint."""

import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from copydesk.cli.context import Context
from copydesk.errors import CopydeskError
from copydesk.settings import Settings

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from copydesk.desk import Desk
    from copydesk.model.check_finding import CheckFinding
    from copydesk.model.draft import ListedDraft

FIRST_PAGE_SIZE = 100
"""Drafts on the first page; the queue loads no more at once."""


def run_console(context: Context) -> None:
    """Run the console and exit with its code."""
    _check_user(context)
    context.adds_sample_history = True
    # Imported modules live until exit; collecting garbage among them would take a tenth of the start time.
    gc.disable()
    from copydesk.tui import labels  # noqa: PLC0415 - commands do not need Textual
    from copydesk.tui.app import Console  # noqa: PLC0415 - as above
    from copydesk.tui.preferences import load_preferences  # noqa: PLC0415

    try:
        settings = context.settings()
        preferences = load_preferences(settings, context.user)
    except CopydeskError as error:
        context.fail(error)

    def load_first_page() -> "Sequence[ListedDraft]":
        from copydesk.desk import load_first_page  # noqa: PLC0415 - after the first paint

        return load_first_page(settings, FIRST_PAGE_SIZE, context.user)

    def open_desk() -> "AbstractAsyncContextManager[Desk]":
        # Called after the first rows are shown: garbage collection would delay them.
        gc.freeze()
        gc.enable()
        return context.desk()

    app = Console(
        open_desk,
        load_first_page=load_first_page,
        jobs=True,
        name=" ".join(filter(None, ("sample" if context.sample else "", context.user))),
        preferences=preferences,
        qualify_commands=context.with_desk_options,
    )
    app.desk_environment = context.desk_environment
    app.notice = labels.SAMPLE_NOTICE if context.sample else ""
    if context.sample:
        from copydesk.sample.desk import is_created  # noqa: PLC0415 - loaded already, by the settings

        if not is_created(settings):
            app.opening_text = labels.CREATING_SAMPLE
    sys.exit(app.run() or 0)


def serve_console(context: Context, port: int | None) -> None:
    """Serve the console to a browser. Check the settings first, so that errors appear on this terminal."""
    _check_user(context)
    from copydesk.cli import web  # noqa: PLC0415 - the terminal console does not need it

    try:
        check_console_settings(context.settings())
        web.serve(context, port or web.PORT)
    except CopydeskError as error:
        context.fail(error)


def _check_user(context: Context) -> None:
    """Refuse an unknown name on this terminal, before the console fills it."""
    if context.user is not None:
        # Under their name, also if it was given as an id: the console has a file for it.
        context.user = context.run_on_desks(context.find_user).name


def check_console_settings(settings: Settings) -> None:
    """Check what only the console uses, as it does at start. Raise SettingsError."""
    from copydesk.tui.preferences import load_preferences  # noqa: PLC0415 - commands do not need Textual

    load_preferences(settings)


def check_console_files(settings: Settings, user: str | None) -> "Sequence[CheckFinding]":
    """Return what is wrong with the files that the console leaves out at start: themes, and tabs saved in it."""
    from copydesk.model.check_finding import CheckFinding, Verdict  # noqa: PLC0415 - commands do not need Textual
    from copydesk.tui.custom_tabs import CustomTabs, tabs_file  # noqa: PLC0415 - as above
    from copydesk.tui.themes import check_themes  # noqa: PLC0415 - as above

    problems = check_themes(settings)
    if problem := CustomTabs(file=tabs_file(settings, user)).problem:
        problems.append(problem)
    return [CheckFinding(what="console", verdict=Verdict.WARNING, found=problem) for problem in problems]
