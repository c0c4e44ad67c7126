"""Edit the voice: restore the autosaved form, and autosave while typing."""

from typing import TYPE_CHECKING

from copydesk.editor import Autosave
from copydesk.tui.kept_text import AutosavedText
from copydesk.tui.modals.voice import VoiceDialog
from copydesk.tui.voice_entry import VoiceFields, VoiceSession, dump_fields, parse_fields
from copydesk.tui.words import format_ago

if TYPE_CHECKING:
    from collections.abc import Callable

    from copydesk.desk import Desk
    from copydesk.model.voice import Voice
    from copydesk.tui.screens.desk_screen import DeskScreen

VOICE = "voice"
"""Name of the installed voice screen, of the autosave folder, and of the file in it."""


async def edit_voice(
    base: "DeskScreen", desk: "Desk", voice: "Voice", callback: "Callable[[bool | None], None]"
) -> None:
    """Open the voice form, or continue with what was typed and not saved."""
    app, autosave = base.app, AutosavedText(Autosave(desk.settings.data_home / VOICE), VOICE)
    saved = await autosave.load()
    typed = parse_fields(saved.text) if saved else None

    async def save(entered: VoiceFields) -> None:
        await autosave.save(dump_fields(entered))

    notice = f"You typed this {format_ago(saved.saved_at, app.clock())} and did not save it." if saved and typed else ""
    if not app.is_screen_installed(VOICE):
        app.install_screen(VoiceDialog(), VOICE)
    screen = app.get_screen(VOICE)
    assert isinstance(screen, VoiceDialog)
    if app.push_if_current(base, screen, callback):
        screen.start(VoiceSession(voice, save, autosave.delete, typed, notice))
