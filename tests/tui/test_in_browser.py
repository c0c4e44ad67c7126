"""In a browser the console cannot give its terminal away, and links open where its page is."""

from pathlib import Path

import pytest
from textual.driver import Driver
from textual.drivers.headless_driver import HeadlessDriver

from copydesk.tui import browser
from copydesk.tui.web_driver import ConsoleDriver
from deciding_fixtures import reviewing
from tui_fixtures import FakeDesk, on_screen


@pytest.fixture
def shown_in_browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The console takes the tests' driver for a browser's; the pages that it wants opened there."""
    pages: list[str] = []
    monkeypatch.setattr(HeadlessDriver, "is_web", property(lambda _: True))
    monkeypatch.setattr(HeadlessDriver, "open_url", lambda _, url, new_tab: pages.append(url))
    return pages


def test_the_browsers_driver_is_one_and_cannot_suspend() -> None:
    assert ConsoleDriver.can_suspend is Driver.can_suspend
    assert ConsoleDriver.is_web is not Driver.is_web


async def test_no_editor_is_started_and_it_says_how_to_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown_in_browser: list[str]
) -> None:
    started = tmp_path / "started"
    monkeypatch.setenv("EDITOR", f"touch {started}")
    monkeypatch.delenv("VISUAL", raising=False)
    async with reviewing(tmp_path) as seen:
        before = seen.current.text
        await seen.press("E")
        assert seen.toasts == ["Your editor cannot open in a browser. Press e to edit here."]
        assert (await seen.desk.drafts.get(seen.current.id)).text == before
    assert not started.exists()
    assert not list((tmp_path / "typed").glob("*"))


async def test_a_terminal_that_cannot_be_given_away_starts_none_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    monkeypatch.setenv("EDITOR", f"touch {started}")
    monkeypatch.delenv("VISUAL", raising=False)
    async with reviewing(tmp_path) as seen:
        await seen.press("E")
        assert "No editor can be opened in this terminal." in seen.toasts[-1]
        assert "Edit here: e." in seen.toasts[-1]
    assert not started.exists()
    assert not list((tmp_path / "typed").glob("*"))


async def test_a_link_opens_in_the_browser_that_shows_the_console(
    monkeypatch: pytest.MonkeyPatch, shown_in_browser: list[str]
) -> None:
    async def browse(url: str) -> bool:
        raise AssertionError(url)

    monkeypatch.setattr(browser, "browse", browse)
    async with on_screen(FakeDesk(5)) as seen:
        await seen.press("j", "o")
        assert shown_in_browser == ["https://lighthouse.example/1"]
        assert seen.toasts == []
