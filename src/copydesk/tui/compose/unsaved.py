"""The draft that was typed and not created: its autosave file, and the notice about it at the next start.

Apart from the form, whose text area is not to be imported at start.
"""

import asyncio
from typing import TYPE_CHECKING

from copydesk.editor import Autosave, user_autosave
from copydesk.tui import labels

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_app import DeskApp

COMPOSE_SCREEN = "compose"
"""Name under which the one compose screen is installed."""
COMPOSE_FOLDER = "composed"
NEW_DRAFT_NAME = "new"
"""Autosave name of a draft that has no id yet."""


def composed_texts(desk: "Desk") -> Autosave:
    """Return the autosave files of new drafts."""
    return user_autosave(desk, COMPOSE_FOLDER)


async def offer_unsaved(app: "DeskApp", desk: "Desk") -> None:
    """Notify about a draft that was typed and not created, unless the form has shown it already."""
    saved = await asyncio.to_thread(composed_texts(desk).find, NEW_DRAFT_NAME)
    if saved and not app.is_screen_installed(COMPOSE_SCREEN):
        app.notify(labels.unsaved_draft(), severity="warning")
