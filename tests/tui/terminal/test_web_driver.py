"""Tests for the console in a web browser: no suspending, and links open in the browser's own tab."""

from pathlib import Path

import pytest
from textual.driver import Driver
from textual.drivers.headless_driver import HeadlessDriver

from console_driver import FakeDesk, open_console
from copydesk.tui import browser
from copydesk.tui.terminal.web_driver import ConsoleDriver
from review_driver import open_review


@pytest.fixture
def browser_tabs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make the tests' driver look like a browser's; return the list of URLs that it opens."""
    pages: list[str] = []
    monkeypatch.setattr(HeadlessDriver, "is_web", property(lambda _: True))
    monkeypatch.setattr(HeadlessDriver, "open_url", lambda _, url, new_tab: pages.append(url))
    return pages


def test_web_driver_cannot_suspend() -> None:
    assert ConsoleDriver.can_suspend is Driver.can_suspend
    assert ConsoleDriver.is_web is not Driver.is_web


async def test_editor_is_refused_in_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, browser_tabs: list[str]
) -> None:
    started = tmp_path / "started"
    monkeypatch.setenv("EDITOR", f"touch {started}")
    monkeypatch.delenv("VISUAL", raising=False)
    async with open_review(tmp_path) as ui:
        text_before = ui.current.text
        await ui.press("E")
        assert ui.toasts == ["A browser cannot open your editor. Press e to edit here."]
        assert (await ui.desk.drafts.get(ui.current.id)).text == text_before
    assert not started.exists()
    assert not list((tmp_path / "typed").glob("*"))


async def test_editor_is_refused_in_unsuspendable_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "started"
    monkeypatch.setenv("EDITOR", f"touch {started}")
    monkeypatch.delenv("VISUAL", raising=False)
    async with open_review(tmp_path) as ui:
        await ui.press("E")
        assert ui.toasts == ["This terminal cannot open an editor. Press e to edit here."]
    assert not started.exists()
    assert not list((tmp_path / "typed").glob("*"))


async def test_link_opens_in_users_browser(monkeypatch: pytest.MonkeyPatch, browser_tabs: list[str]) -> None:
    async def browse(url: str) -> bool:
        raise AssertionError(url)

    monkeypatch.setattr(browser, "open_in_browser", browse)
    async with open_console(FakeDesk(5)) as ui:
        await ui.press("j", "o")
        assert browser_tabs == ["https://lighthouse.example/1"]
        assert ui.toasts == []
