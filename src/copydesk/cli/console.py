"""`copydesk` on a terminal: the console. Apart, and lean, because nothing may stand before its first paint."""

import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from copydesk.cli.context import Context
from copydesk.errors import CopydeskError

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft

SHOWN = 200
"""Drafts that the first look brings; the console shows no more at once."""


def console(context: Context) -> None:
    """Open the console; the exit code is its own."""
    # What is imported now lives to the end: looking through it for garbage would be a tenth of the start.
    gc.disable()
    from copydesk.tui.app import Console  # noqa: PLC0415 - Textual is not for the commands

    try:
        database = context.settings().database_file
    except CopydeskError as error:
        context.fail(error)

    def glance() -> "Sequence[ListedDraft]":
        from copydesk.desk.glance import glance  # noqa: PLC0415 - after the first paint

        gc.freeze()
        gc.enable()
        return glance(database, SHOWN)

    sys.exit(Console(context.desk, glance=glance, jobs=True).run() or 0)
