"""Tests for forms in small terminals: every field is reached and seen, and so is what is wrong with it."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.widget import Widget
from textual.widgets import Input, Static

from console_driver import ConsoleDriver, type_text
from copydesk.tui.setup.screen import SetupScreen
from copydesk.tui.widgets.inputs import Choice
from delayed_responses import wait_until
from setup_driver import wait_for_text
from sources_driver import add_three_sources, open_sources

FORMS = {
    "new source": ("A",),
    "source": ("e",),
    "account": ("6", "A", "enter"),
    "voice": ("6", "j", "e"),
    "model": ("6", "j", "j", "j", "A"),
    "ranking": ("6", *["j"] * 5, "e"),
    "experiment": ("4", "A", "enter"),
    "draft": ("c",),
}


def shown_fields(ui: ConsoleDriver) -> Iterator[Widget]:
    """Yield the fields of the form that are not hidden, as those of other source types are."""
    for field in ui.app.screen.query("Input, TextArea, Choice"):
        if all(widget.display for widget in field.ancestors_with_self):
            yield field


def is_visible(field: Widget) -> bool:
    """Return whether the field is seen; of a text area a few lines may be out of sight."""
    place = field.screen.find_widget(field)
    return place.visible_region.height >= min(place.region.height, 2)


def is_placeholder_shown(field: Widget) -> bool:
    """Return whether all of the placeholder is in the field or, where there is a line for notes, below the fields."""
    if not isinstance(field, Input) or cell_len(field.placeholder) <= field.content_size.width:
        return True
    return any(str(note.content) == field.placeholder for note in field.screen.query("#wrong").results(Static))


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (40, 12)], ids=str)
@pytest.mark.parametrize("form", FORMS)
async def test_tab_reaches_every_field_and_shows_it(tmp_path: Path, form: str, size: tuple[int, int]) -> None:
    async with open_sources(tmp_path, add_three_sources, size=size) as ui:
        await ui.press(*FORMS[form])
        fields = list(shown_fields(ui))
        reached = set()
        # Once around: one form begins with its second field, and goes on to its preview.
        for _ in range(len(fields) + 1):
            field = ui.app.focused
            assert field is not None
            reached.add(field)
            # The form scrolls after the next frame.
            await wait_until(partial(is_visible, field), ui.wait)
            # The default of the images leaves too little space.
            if size[0] > 40 or field.id != "images":
                await wait_until(partial(is_placeholder_shown, field), ui.wait)
            await ui.press("tab")
        assert reached >= set(fields)


async def test_refused_field_of_a_source_gets_the_focus(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources, size=(60, 20)) as ui:
        await ui.press("e", "tab", "tab")
        await type_text(ui, "heavy")
        await ui.press("tab", "ctrl+s")
        await wait_for_text(ui, "weight must be a number")
        assert ui.app.focused is ui.app.screen.query_one("#weight")


@pytest.mark.parametrize("size", [(80, 24), (60, 20)], ids=str)
async def test_errors_are_shown_with_all_of_the_hint(tmp_path: Path, size: tuple[int, int]) -> None:
    async with open_sources(tmp_path, size=size) as ui:
        await ui.press("6", *["j"] * 5, "e", "tab", "tab", "tab")
        await type_text(ui, "7")
        await ui.press("ctrl+s")
        await wait_for_text(ui, "lowest score takes a number from 0 to 1")
        assert "nothing is saved before." in " ".join(ui.text.split())


async def test_placeholder_that_does_not_fit_is_shown_below_its_field(tmp_path: Path) -> None:
    async with open_sources(tmp_path, size=(40, 24)) as ui:
        await ui.press("6")
        screen = ui.app.screen
        assert isinstance(screen, SetupScreen)
        screen.connect("x")
        await wait_for_text(ui, "Connect an account")
        note = ui.app.screen.query_one("#wrong", Static)
        assert "Client secret  (optional)" in ui.text
        assert str(note.content) == "Client ID of your app at developer.x.com (OAuth 2.0)"
        await ui.press("tab")
        assert str(note.content) == "Its client secret, if it has one (optional)"
        await ui.press("tab")
        assert str(note.content) == ""
        # An error takes its place, and stays while other fields have the focus.
        await ui.press("ctrl+s", "tab", "tab")
        assert str(note.content) == "client id is missing"
        await ui.resize(80, 24)
        assert "Its client secret, if it has one (optional)" in ui.text


async def test_choice_fields_need_no_note(tmp_path: Path) -> None:
    async with open_sources(tmp_path, size=(40, 24)) as ui:
        await ui.press("4", "A", "enter", "tab")
        while not isinstance(ui.app.focused, Choice):
            await ui.press("tab")
        assert str(ui.app.screen.query_one("#wrong", Static).content) == ""
