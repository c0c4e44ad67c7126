"""Fixtures for the console's tests: one terminal, whatever the machine's is like."""

import asyncio
import shutil
from pathlib import Path

import pytest
from textual import screen
from textual._compositor import Compositor
from textual.widgets import Input, TextArea

from console_driver import defer_frame
from copydesk.model.run import RunRequest
from copydesk.sample.desk import open_sample, sample_settings
from copydesk.settings import load
from copydesk.tui import browser
from sample_desks import SAMPLE_DRAFTS


@pytest.fixture(autouse=True)
def default_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the machine's settings of colours and theme; have 256 colours."""
    for variable in ("NO_COLOR", "TEXTUAL_THEME", "COLORFGBG", "COLORTERM"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture(autouse=True)
def no_cursor_blink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the cursor in every snapshot, whenever it is taken."""
    for field in (Input, TextArea):
        monkeypatch.setattr(field.cursor_blink, "_default", False)


@pytest.fixture(autouse=True)
def few_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave painting to the tests, which do it whenever they look: most frames between would be seen by nobody."""
    monkeypatch.setattr(screen, "UPDATE_PERIOD", 0.1)
    monkeypatch.setattr(Compositor, "render_update", defer_frame)


@pytest.fixture(autouse=True)
def long_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the timeouts: on a busy machine reads still come in time and toasts stay readable."""
    for wait in ("key_buffer.MAX_HOLD", "desk_tasks.MAX_WRITE_HOLD"):
        monkeypatch.setattr(f"copydesk.tui.runtime.{wait}", 60)
    for stay in ("app.Console.NOTIFICATION_TIMEOUT", "runtime.notifications.SHORT_TIMEOUT"):
        monkeypatch.setattr(f"copydesk.tui.{stay}", 600)


@pytest.fixture(autouse=True)
def late_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no warning about an approved draft appear while a test compares toasts: on a busy machine it would."""
    monkeypatch.setattr("copydesk.tui.review.publish_actions.CHECK_DELAY", 600)


@pytest.fixture(autouse=True)
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open no page in the browser of whoever runs the tests."""

    async def fail(_: str) -> bool:
        return False

    monkeypatch.setattr(browser, "open_in_browser", fail)


@pytest.fixture
def quick_check(late_check: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warn about an approved draft soon."""
    monkeypatch.setattr("copydesk.tui.review.publish_actions.CHECK_DELAY", 0.01)


@pytest.fixture
def no_key_waiting(long_timeouts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no key wait for the result of an earlier one, as after the timeout."""
    for wait in ("key_buffer.MAX_HOLD", "desk_tasks.MAX_WRITE_HOLD"):
        monkeypatch.setattr(f"copydesk.tui.runtime.{wait}", 0)


@pytest.fixture(scope="session")
def sample_home_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("desk")
    asyncio.run(_fill(home / "sample"))
    return home


async def _fill(home: Path) -> None:
    async with open_sample(sample_settings(load({}, home))) as desk:
        await desk.pipeline.run(RunRequest(max_drafts=SAMPLE_DRAFTS))


@pytest.fixture
def sample_home(sample_home_template: Path, tmp_path: Path) -> Path:
    """Return a data folder for `--home`: the test's own sample desk with drafts to review."""
    return Path(shutil.copytree(sample_home_template, tmp_path / "home"))
