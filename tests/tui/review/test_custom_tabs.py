"""Tests for the user's own tabs of the review: saved in the console and set in the settings file."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console_driver import type_text
from copydesk.errors import SettingsError
from copydesk.settings import QueueTab, load
from copydesk.tui.custom_tabs import CustomTabs, configured_tabs, tab_key, tabs_file
from copydesk.tui.preferences import Preferences
from desk_fixtures import create_source, open_desk_at
from review_driver import ReviewDriver, open_review

AGENT = {"name": "scout"}


@pytest.fixture
async def ui(tmp_path: Path) -> AsyncIterator[ReviewDriver]:
    """The review with five drafts, of which an agent proposed two, with the tag `sea`."""
    async with open_desk_at(tmp_path) as desk:
        for name in ("Tides are late.", "The harbour is closed."):
            await desk.drafts.create({"text": name, "tags": ["sea"], "agent": AGENT}, token_name="scout")
        await create_source(desk, name="The Lighthouse")
    tabs = CustomTabs({"Sea": QueueTab(tags=("sea",))}, tmp_path / "tabs.json")
    async with open_review(tmp_path, texts=("One.", "Two.", "Three."), preferences=Preferences(tabs=tabs)) as driver:
        yield driver


def tab_line(ui: ReviewDriver) -> str:
    """Return the line with the tabs."""
    return ui.lines[1].strip()


async def save_filter(ui: ReviewDriver, name: str, down: int) -> None:
    """Select the option `down` rows below the first one in the filter, and save it as a tab."""
    await ui.press("f", *["j"] * down, "space", "ctrl+s")
    await type_text(ui, name)
    await ui.press("enter")


async def show_custom_tab(ui: ReviewDriver, name: str) -> None:
    """Show the tab by its key from the first tab on."""
    ui.screen.queue_pane.show_tab(tab_key(name))
    await ui.wait()


async def test_tab_of_settings_shows_its_drafts_and_count(ui: ReviewDriver) -> None:
    assert tab_line(ui).endswith("All 5  Sea 2")
    await ui.press("left_square_bracket")
    assert [row.text for row in ui.screen.queue.rows] == ["The harbour is closed.", "Tides are late."]
    assert "Queue · 2 · #sea" in ui.text
    await ui.press("right_square_bracket")
    assert len(ui.screen.queue.rows) == 5


async def test_filter_is_saved_as_tab_with_count(ui: ReviewDriver, tmp_path: Path) -> None:
    # Three formats and one source come before the agents.
    await save_filter(ui, "Agents only", down=4)
    assert "Queue · 2 · proposed by agents" in ui.text
    assert tab_line(ui).endswith("Sea 2  Agents only 2")
    assert CustomTabs({}, tmp_path / "tabs.json").tabs == {"Agents only": QueueTab(agents=True)}


async def test_count_of_own_tab_follows_decisions(ui: ReviewDriver) -> None:
    await show_custom_tab(ui, "Sea")
    await ui.press("a")
    await ui.wait_for(lambda: "Sea 1 " in tab_line(ui))


async def test_needs_you_shows_count_of_own_tab(ui: ReviewDriver) -> None:
    await ui.press("0")
    assert tab_line(ui).endswith("All 5  Sea 2  Needs you")


async def test_search_narrows_own_tab_and_escape_shows_all_of_it(ui: ReviewDriver) -> None:
    await show_custom_tab(ui, "Sea")
    await ui.press("slash")
    await type_text(ui, "tides")
    assert [row.text for row in ui.screen.queue.rows] == ["Tides are late."]
    await ui.press("escape")
    assert len(ui.screen.queue.rows) == 2
    await ui.press("escape")
    assert len(ui.screen.queue.rows) == 2


async def test_saved_search_is_searched_together_with_typed_words(ui: ReviewDriver) -> None:
    await ui.press("slash")
    await type_text(ui, "the")
    await ui.press("enter", "f", "ctrl+s")
    await type_text(ui, "Articles")
    await ui.press("enter")
    assert [row.text for row in ui.screen.queue.rows] == ["The harbour is closed."]
    assert "Queue · 1 · the" in ui.text
    await ui.press("slash")
    await type_text(ui, "tides")
    assert not ui.screen.queue.rows
    await ui.press("escape")
    assert len(ui.screen.queue.rows) == 1


async def test_cursor_stays_while_another_tab_is_shown(ui: ReviewDriver) -> None:
    await show_custom_tab(ui, "Sea")
    await ui.press("j", "right_square_bracket", "left_square_bracket")
    assert ui.screen.queue_pane.tab == tab_key("Sea")
    assert ui.current.text == "Tides are late."
    assert "Queue · 2" in ui.text


async def test_own_tab_is_renamed_moved_and_removed(ui: ReviewDriver, tmp_path: Path) -> None:
    file = tmp_path / "tabs.json"
    await save_filter(ui, "Short", down=0)
    await ui.press("1")
    ui.screen.queue_pane.show_tab("to_review")
    await ui.wait()
    await save_filter(ui, "Agents only", down=4)
    await ui.press("f", "less_than_sign")
    assert list(CustomTabs({}, file).tabs) == ["Agents only", "Short"]
    await ui.press("f", "e", "ctrl+u")
    await type_text(ui, "Robots")
    await ui.press("enter")
    assert list(CustomTabs({}, file).tabs) == ["Robots", "Short"]
    assert "Robots 2" in tab_line(ui)
    await ui.press("f", "D", "y")
    assert list(CustomTabs({}, file).tabs) == ["Short"]
    assert ui.screen.queue_pane.tab == "to_review"
    assert len(ui.screen.queue.rows) == 5


async def test_saving_under_its_name_changes_the_filters(ui: ReviewDriver, tmp_path: Path) -> None:
    await save_filter(ui, "Mine", down=4)
    await ui.press("f", "space", "j", "space", "ctrl+s", "enter")
    assert CustomTabs({}, tmp_path / "tabs.json").tabs == {"Mine": QueueTab(tags=("sea",))}
    assert "Queue · 2 · #sea" in ui.text


async def test_tab_of_settings_is_not_changed_in_the_console(ui: ReviewDriver) -> None:
    await show_custom_tab(ui, "Sea")
    await ui.press("f", "D")
    assert ui.toasts[-1:] == ["This tab is in the settings file. Change it there."]
    assert "Sea 2" in tab_line(ui)


@pytest.mark.parametrize("name", ["Approved", "sea", "x" * 31])
async def test_unusable_name_is_refused(ui: ReviewDriver, name: str) -> None:
    await save_filter(ui, name, down=4)
    assert any("tab" in toast for toast in ui.toasts)
    assert tab_line(ui).endswith("Sea 2")


async def test_unwritable_file_is_reported(ui: ReviewDriver, tmp_path: Path) -> None:
    (tmp_path / "tabs.json").mkdir()
    await save_filter(ui, "Mine", down=4)
    assert ui.toasts[-1].startswith("The tabs were not saved: ")
    assert "Mine" not in tab_line(ui)


@pytest.mark.parametrize(
    "content", ['{"Mine": {"agents": true},}', '{"Mine": {"columns": []}}'], ids=["typo", "newer version"]
)
async def test_unreadable_file_is_not_overwritten(ui: ReviewDriver, tmp_path: Path, content: str) -> None:
    (tmp_path / "tabs.json").write_text(content, encoding="utf-8")
    await save_filter(ui, "Other", down=4)
    assert ui.toasts[-1].startswith("The tabs were not saved: tabs.json cannot be read: ")
    assert (tmp_path / "tabs.json").read_text(encoding="utf-8") == content


async def test_tab_that_another_console_removed_is_kept_under_its_new_name(ui: ReviewDriver, tmp_path: Path) -> None:
    await save_filter(ui, "Mine", down=4)
    CustomTabs({}, tmp_path / "tabs.json").remove("Mine")
    await ui.press("f", "e", "ctrl+u")
    await type_text(ui, "Robots")
    await ui.press("enter")
    assert CustomTabs({}, tmp_path / "tabs.json").tabs == {"Robots": QueueTab(agents=True)}
    await ui.press("left_square_bracket")
    assert ui.screen.queue_pane.tab == tab_key("Sea")


async def test_tab_that_another_console_saved_is_not_replaced_by_a_renamed_one(
    ui: ReviewDriver, tmp_path: Path
) -> None:
    await save_filter(ui, "Mine", down=4)
    CustomTabs({}, tmp_path / "tabs.json").save("Robots", QueueTab(search="ferry"))
    await ui.press("f", "e", "ctrl+u")
    await type_text(ui, "robots")
    await ui.press("enter")
    assert ui.toasts[-1] == "The tabs were not saved: another console has saved a tab “robots”."
    assert list(CustomTabs({}, tmp_path / "tabs.json").tabs) == ["Mine", "Robots"]


async def test_filter_without_choice_is_not_saved(ui: ReviewDriver) -> None:
    await ui.press("f", "ctrl+s")
    assert ui.toasts[-1:] == ["Nothing to save: choose a filter first."]


async def test_tab_of_unknown_source_says_so(tmp_path: Path) -> None:
    tabs = CustomTabs({"Old": QueueTab(source="Gone")})
    async with open_review(tmp_path, preferences=Preferences(tabs=tabs)) as ui:
        await show_custom_tab(ui, "Old")
        assert "no source “Gone”" in ui.text
        await ui.press("right_square_bracket")
        assert ui.screen.queue_pane.tab == "to_review"


async def test_narrow_terminal_shortens_own_tabs(ui: ReviewDriver) -> None:
    for name in ("Everything by agents so far", "Threads about the sea", "What the Lighthouse says"):
        ui.app.preferences.tabs.save(name, QueueTab(agents=True))
    await ui.resize(80, 24)
    assert "Ever…" in tab_line(ui)
    assert "Everything" not in tab_line(ui)


# Settings


def load_tabs(home: Path, text: str) -> dict[str, QueueTab]:
    (home / "settings.toml").write_text(text, encoding="utf-8")
    return dict(configured_tabs(load({}, home)))


def test_settings_file_has_tabs_in_order(tmp_path: Path) -> None:
    text = """
[console]
agents_tab = true
[tabs."Long reads"]
format = "BLOG"
source = "The Lighthouse"
order = "newest"
[tabs.Sea]
status = "approved"
tags = ["sea"]
search = "ferry -strike"
"""
    assert load_tabs(tmp_path, text) == {
        "Agents": QueueTab(agents=True),
        "Long reads": QueueTab(format="BLOG", source="The Lighthouse", order="newest"),
        "Sea": QueueTab(status="approved", tags=("sea",), search="ferry -strike"),
    }
    assert list(load_tabs(tmp_path, text)) == ["Agents", "Long reads", "Sea"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('\n[tabs."Long reads"]\nformat = "LONG"\n', "line 3: tabs.Long reads.format does not take 'LONG'"),
        ("[tabs.Sea]\ntag = 1\n", "line 1: tabs.Sea does not take `tag`"),
        ("[tabs]\nSea = 1\n", "line 2: tabs.Sea takes an object, not a whole number"),
        ("[tabs.Approved]\n", "'Approved': There is already a tab “Approved”."),
        ('[tabs.Sea]\nsearch = "-ferry"\n', "'Sea': search needs a search word besides the excluded ones."),
        (
            '[tabs.Sea]\nstatus = "approved"\norder = "soonest"\n',
            "'Sea': drafts of approved are ordered by newest, best, oldest, confident, source.",
        ),
    ],
    ids=["value", "setting", "type", "name", "search", "order"],
)
def test_wrong_tab_is_refused_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_tabs(tmp_path, text)
    assert problem in str(caught.value)


def test_wrong_value_of_a_tab_lists_the_values(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load_tabs(tmp_path, '[tabs.Bad]\nstatus = "nope"\n')
    assert caught.value.hint == (
        "status takes to_review, approved, scheduled, posted, missed, rejected, failed, all, archived."
    )


def test_each_user_has_tabs_of_their_own(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    files = {tabs_file(settings, user) for user in (None, "anna", "../anna")}
    assert len(files) == 3
    assert {file.parent for file in files} == {tmp_path}


@pytest.mark.parametrize("content", [b"", b"{", b'{"A": {"format": 3}}', b'{"": {}}', b"\xff"])
def test_damaged_file_has_no_tabs(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tabs.json").write_bytes(content)
    assert CustomTabs({}, tmp_path / "tabs.json").tabs == {}


async def test_filter_shows_which_options_replace_each_other(ui: ReviewDriver) -> None:
    await ui.press("f", "space", "j", "space", "G", "space")
    assert ui.text.count("(x) format") == 1
    assert "( ) source" in ui.text
    assert "[x] tag" in ui.text


@pytest.mark.parametrize("keys", [("x",), ("space", "space"), ("space", "x")])
async def test_filter_that_was_cleared_is_not_applied(ui: ReviewDriver, keys: tuple[str, ...]) -> None:
    before = ui.text
    await ui.press("f", *keys, "enter")
    assert ui.text == before


async def test_own_names_are_the_last_to_be_cut(tmp_path: Path) -> None:
    names = ("Ferries, tides and harbours", "Long reads on ferries")
    tabs = CustomTabs({name: QueueTab() for name in names}, tmp_path / "tabs.json")
    preferences = Preferences(tabs=tabs)
    async with open_review(tmp_path, texts=("One.",), preferences=preferences, size=(120, 30)) as driver:
        await driver.press("a", "full_stop")
        await driver.wait_for(lambda: re.search("Approved 1 .* Needs you 1", tab_line(driver)))
        for width, line in (
            (100, "To review  Approved 1  All 1  Ferries, tides and harbours  Long reads on ferries  Needs you 1"),
            (90, "To review  Appr. 1  All 1  Ferries, tides and harbours  Long reads on ferries  Needs 1"),
            (70, "All 1  Ferr…  Long…  Needs 1"),
        ):
            await driver.pilot.resize_terminal(width, 30)
            await driver.wait()
            assert tab_line(driver).endswith(line)
