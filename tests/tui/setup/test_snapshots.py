"""Snapshots of Setup and Compose. `pytest --snapshot-update` accepts intended changes."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from console_driver import ConsoleDriver
from copydesk.credentials.backends import BackendKind
from copydesk.credentials.vault import VaultStatus
from copydesk.desk.accounts.service import Accounts
from copydesk.errors import CopydeskError
from copydesk.tui.app import Console
from copydesk.tui.themes import LIGHT
from setup_driver import add_sample_setup, make_setup_console, open_setup_desk, wait_for_text
from snapshots import Before, Compare, press_keys

THREAD = "A ferry is a road that moves.\n---\nhttps://lighthouse.example/1 " + "It has no lanes. " * 20


@pytest.fixture
def full_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """Return the console of a desk with two accounts, a voice and drafts; its vault's name contains no path."""

    async def keys(self: Accounts) -> VaultStatus:
        return VaultStatus(
            backend=BackendKind.KEYRING,
            has_credentials=True,
            usable=True,
            description="the system's keyring",
            environment=(),
        )

    monkeypatch.setattr(Accounts, "vault_status", keys)

    async def furnish() -> None:
        async with open_setup_desk(tmp_path) as desk:
            await add_sample_setup(desk)

    asyncio.run(furnish())
    return make_setup_console(tmp_path)


def press_in_setup(*keys: str, theme: str = "", expected: str = "", text: str = "") -> Before:
    """Return a step to run before the snapshot: press keys in Setup, insert `text`, wait for `expected`."""

    async def insert_and_wait(ui: ConsoleDriver) -> None:
        if text:
            ui.app.screen.query_one("#text", TextArea).insert(text)
        if expected:
            await wait_for_text(ui, expected)

    return press_keys("6", *keys, theme=theme, then=insert_and_wait)


@pytest.mark.parametrize("theme", ["", LIGHT.name], ids=["dark", "light"])
def test_accounts(snap_compare: Compare, full_console: Console, theme: str) -> None:
    show_accounts = press_in_setup("tab", "j", "t", theme=theme, expected="! keyed:locked")

    async def without_toasts(pilot: Pilot[int]) -> None:
        await show_accounts(pilot)
        pilot.app.clear_notifications()

    assert snap_compare(full_console, terminal_size=(120, 36), run_before=without_toasts)


@pytest.mark.parametrize(
    "keys",
    [("j",) * number for number in range(5)],
    ids=["accounts", "voice", "learning", "writer", "zone"],
)
def test_narrow_terminal(snap_compare: Compare, full_console: Console, keys: Sequence[str]) -> None:
    assert snap_compare(full_console, terminal_size=(80, 24), run_before=press_in_setup(*keys))


def test_forty_columns(snap_compare: Compare, full_console: Console) -> None:
    assert snap_compare(full_console, terminal_size=(40, 24), run_before=press_in_setup("j", "enter"))


def test_no_account(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(make_setup_console(tmp_path), terminal_size=(80, 24), run_before=press_in_setup())


def test_desk_with_open_error(snap_compare: Compare) -> None:
    def fail() -> object:
        raise CopydeskError("The database is damaged.", hint="`copydesk doctor` says more.")

    assert snap_compare(Console(fail), terminal_size=(80, 24), run_before=press_in_setup())  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [(120, 36), (80, 24)], ids=["wide", "narrow"])
def test_voice_form(snap_compare: Compare, full_console: Console, size: tuple[int, int]) -> None:
    assert snap_compare(
        full_console, terminal_size=size, run_before=press_in_setup("j", "e", expected="offline writer")
    )


def test_account_form(snap_compare: Compare, full_console: Console) -> None:
    assert snap_compare(
        full_console, terminal_size=(80, 24), run_before=press_in_setup("A", "enter", expected="Esc cancel")
    )


@pytest.mark.parametrize("theme", ["", LIGHT.name], ids=["dark", "light"])
def test_compose_draft(snap_compare: Compare, full_console: Console, theme: str) -> None:
    compose = press_in_setup("c", theme=theme, expected="fits all", text="A ferry is a road that moves.")
    assert snap_compare(full_console, terminal_size=(120, 36), run_before=compose)


def test_compose_thread_on_narrow_terminal(snap_compare: Compare, full_console: Console) -> None:
    async def compose(pilot: Pilot[int]) -> None:
        await press_in_setup("c", expected="fits", text=THREAD)(pilot)
        assert isinstance(pilot.app, Console)
        ui = ConsoleDriver(pilot.app, pilot)
        await ui.press("tab", "right")
        await wait_for_text(ui, "2 posts")

    assert snap_compare(full_console, terminal_size=(80, 24), run_before=compose)
