"""Editing the voice: what was typed before is offered, and what is typed is kept until the desk has it."""

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
"""The name of the one form of the voice, of its folder, and of what is in it."""


async def edit_voice(below: "DeskScreen", desk: "Desk", voice: "Voice", then: "Callable[[bool | None], None]") -> None:
    """Edit it, or go on with what was typed and not saved."""
    app, text = below.app, KeptText(TypedTexts(desk.settings.data_home / VOICE), VOICE)
    found = await text.find()
    typed = read(found.text) if found else None

    async def keep(entered: VoiceEntered) -> None:
        await text.keep(kept(entered))

    notice = f"You typed this {ago(found.at, app.clock())} and did not save it." if found and typed else ""
    if not app.is_screen_installed(VOICE):
        app.install_screen(VoiceScreen(), VOICE)
    screen = app.get_screen(VOICE)
    assert isinstance(screen, VoiceScreen)
    if app.open_over(below, screen, then):
        screen.begin(ToVoice(voice, keep, text.forget, typed, notice))
