"""Tests for the keys that act on a row where there is none: they say so, and what to press instead."""

from pathlib import Path

import pytest

from console_driver import ConsoleDriver, FakeDesk, open_console
from copydesk.tui.app import Console
from copydesk.tui.palette import list_commands
from copydesk.tui.setup.pages import Section
from copydesk.tui.widgets.key_hints import KeyLine
from desk_fixtures import NOW, open_desk_at
from setup_driver import add_sample_setup, open_setup


def faint_words(ui: ConsoleDriver) -> str:
    """Return the entries of the footer that are dimmed because they do nothing."""
    (line,) = ui.app.screen.query_one(KeyLine).lines(200)
    return " ".join(line.plain[span.start : span.end] for span in line.spans if span.style == "faint")


@pytest.mark.parametrize(
    "key", ["a", "r", "R", "e", "E", "s", "S", "p", "x", "Z", "d", "H", "y", "Y", "W", "I", "i", "B", "M", "o"]
)
async def test_keys_of_a_draft_say_that_there_is_none(key: str) -> None:
    async with open_console(FakeDesk(0)) as ui:
        await ui.press(key)
        assert ui.toasts == ["There is no draft in this list"]


async def test_footer_and_palette_dim_keys_of_a_draft_where_there_is_none() -> None:
    async with open_console(FakeDesk(0)) as ui:
        assert faint_words(ui) == "Enter open a approve r reject e edit s schedule"
        refused = {command.title: command.refusal for command in list_commands(ui.app)}
        assert refused["Approve"] == refused["Copy the text"] == "There is no draft in this list"
        assert not refused["Run the pipeline"]
    async with open_console(FakeDesk(1)) as ui:
        assert faint_words(ui) == ""


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (("3", "e"), "No sources yet. A adds one."),
        (("3", "t"), "No sources yet. A adds one."),
        (("3", "space"), "No sources yet. A adds one."),
        (("3", "D"), "No sources yet. A adds one."),
        (("4", "C"), "No experiments yet. A adds one."),
        (("4", "x"), "No experiments yet. A adds one."),
        (("5", "F"), "No posts yet"),
        (("5", "o"), "No posts yet"),
        (("5", "m"), "No posts yet"),
        (("6", "j", "t"), "Only accounts and writers can be tested: open the section Accounts or Writers."),
        (("6", "j", "D"), "There is nothing to remove in this section."),
        (("6", "t"), "No account connected. A connects one."),
        (("6", "D"), "No account connected. A connects one."),
        (("6", "ctrl+o"), "No account connected. A connects one."),
        (("6", "j", "ctrl+o"), "No account connected. A connects one."),
        (("6", "j", "j", "ctrl+o"), "Posts are imported in the sections Accounts and Voice."),
        (("6", "j", "j", "j", "t"), "The offline writer needs no test. A adds a language model."),
        (("6", "j", "j", "j", "D"), "The offline writer cannot be removed. A adds a language model."),
        (("0", "m"), "Nothing needs you"),
        (("0", "o"), "Nothing needs you"),
    ],
)
async def test_keys_of_a_row_say_that_there_is_none(tmp_path: Path, keys: tuple[str, ...], message: str) -> None:
    app = Console(lambda: open_desk_at(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        ui = ConsoleDriver(app, pilot)
        await ui.wait()
        await ui.press(*keys)
        assert ui.toasts == [message]


async def test_engagement_of_a_new_desk_says_where_posts_come_from(tmp_path: Path) -> None:
    app = Console(lambda: open_desk_at(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        ui = ConsoleDriver(app, pilot)
        await ui.wait()
        await ui.press("5")
        # Not that a longer period may have some.
        assert "Metrics appear here after a draft is posted. 1 opens Review" in ui.text


async def test_footers_dim_keys_of_a_row_where_there_is_none(tmp_path: Path) -> None:
    app = Console(lambda: open_desk_at(tmp_path), clock=lambda: NOW)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        ui = ConsoleDriver(app, pilot)
        await ui.wait()
        await ui.press("3")
        assert faint_words(ui) == "e edit t test D delete"
        await ui.press("4")
        assert faint_words(ui) == "C conclude x archive"
        await ui.press("0")
        assert faint_words(ui) == "m posted p send again D drop A sign in o profile"
        await ui.press("6")
        assert faint_words(ui) == "t test D remove"
        # The writers; the sections between have neither.
        await ui.press("j", "j", "j")
        assert faint_words(ui) == "t test D remove"
        # The ranking.
        await ui.press("j", "j")
        assert faint_words(ui) == "D reset"
        # The rules.
        await ui.press("j")
        assert faint_words(ui) == "e edit"


async def test_footer_of_setup_has_only_keys_of_the_section(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup, size=(80, 24)) as ui:
        footers = []
        for _ in Section:
            words = ("edit", "test", "remove", "forget", "reset")
            footers.append([word for word in words if f" {word} " in ui.lines[-1]])
            await ui.press("j")
    assert footers == [
        ["test", "remove"],  # accounts
        ["edit"],  # voice
        ["forget"],  # learning
        ["edit", "test", "remove"],  # writer
        ["edit"],  # time zone
        ["edit", "reset"],  # ranking
        ["edit"],  # rules
        [],  # files
    ]


@pytest.mark.parametrize("section", range(1, 8))
async def test_account_is_disconnected_in_its_section_only(tmp_path: Path, section: int) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press(*["j"] * section, "D")
        assert "Disconnect" not in ui.text
        await ui.press("escape", "t")
        assert not any("harbour" in toast for toast in ui.toasts)
