"""Edit the voice: restore the autosaved form, and autosave while typing."""

from typing import TYPE_CHECKING

from copydesk.editor import TypedTexts
from copydesk.tui.kept_text import KeptText
from copydesk.tui.modals.voice import VoiceScreen
from copydesk.tui.voice_entry import ToVoice, VoiceEntered, kept, read
from copydesk.tui.words import ago

if TYPE_CHECKING:
    from collections.abc import Callable

    from copydesk.desk import Desk
    from copydesk.model.voice import Voice
    from copydesk.tui.screens.desk_screen import DeskScreen

VOICE = "voice"
"""Name of the installed voice screen, of the autosave folder, and of the file in it."""


async def edit_voice(below: "DeskScreen", desk: "Desk", voice: "Voice", then: "Callable[[bool | None], None]") -> None:
    """Open the voice form, or continue with what was typed and not saved."""
    app, autosave = below.app, KeptText(TypedTexts(desk.settings.data_home / VOICE), VOICE)
    saved = await autosave.find()
    typed = read(saved.text) if saved else None

    async def save(entered: VoiceEntered) -> None:
        await autosave.keep(kept(entered))

    notice = f"You typed this {ago(saved.at, app.clock())} and did not save it." if saved and typed else ""
    if not app.is_screen_installed(VOICE):
        app.install_screen(VoiceScreen(), VOICE)
    screen = app.get_screen(VOICE)
    assert isinstance(screen, VoiceScreen)
    if app.open_over(below, screen, then):
        screen.begin(ToVoice(voice, save, autosave.forget, typed, notice))
