"""Tests for the Setup screen with a real desk: accounts, voice, time zone, paths."""

import asyncio
import re
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.tui import browser
from setup_screen import answer, asked, furnished, gone, on_setup, setup_desk, until, write
from signing_in_platforms import CODE, say_yes
from tui_fixtures import Seen

KEYED, BROWSER = 11, 10
"""Positions of the two platforms in the list."""


async def labels(home: Path) -> list[str]:
    async with setup_desk(home) as desk:
        return [account.label for account in await desk.accounts.list()]


async def choose(seen: Seen, at: int) -> None:
    await seen.press("n")
    await until(seen, "Connect an account of …")
    await seen.press(*["j"] * at, "enter")
    await until(seen, "Connect an account of")


async def test_desk_without_account_names_next_key(tmp_path: Path) -> None:
    async with on_setup(tmp_path, size=(80, 24)) as ui:
        assert "No account is connected." in ui.text
        assert "n connects one: Bluesky" in ui.text
        await ui.press("t")
        assert ui.toasts == ["No account is connected: n connects one."]


async def test_account_is_connected_with_credentials(tmp_path: Path) -> None:
    async with on_setup(tmp_path) as ui:
        await choose(ui, KEYED)
        await write(ui, "me")
        await ui.press("tab")
        await write(ui, "wrong")
        assert "wrong" not in ui.text
        await ui.press("enter")
        await until(ui, "The password is not right. Look for it there.")
        await ui.press(*["backspace"] * 5)
        await write(ui, "open\n")
        await until(ui, "keyed:me is connected.")
        assert "+ keyed:me" in ui.text
    assert await labels(tmp_path) == ["keyed:me"]


async def test_missing_credential_keeps_form_open(tmp_path: Path) -> None:
    async with on_setup(tmp_path) as ui:
        await choose(ui, KEYED)
        await ui.press("enter")
        await until(ui, "handle: is missing")
        await ui.press("escape")
    assert await labels(tmp_path) == []


async def connect_by_key(seen: Seen, name: str) -> None:
    await choose(seen, KEYED)
    await answer(seen, f"{name}\topen\n")


async def test_passphrase_is_prompted_and_confirmed_if_new(tmp_path: Path) -> None:
    async with on_setup(tmp_path, plain=False) as ui:
        await connect_by_key(ui, "me")
        await asked(ui, "A new passphrase for the keys to your accounts")
        await answer(ui, "four little words here\tfour\n")
        await asked(ui, "once more: is another one")
        assert "four" not in ui.text
        await answer(ui, " little words here\n")
        await until(ui, "keyed:me is connected.")
    async with on_setup(tmp_path, plain=False) as ui:
        await connect_by_key(ui, "you")
        await asked(ui, "The passphrase of the keys to your accounts")
        await answer(ui, "four little words here\n")
        await until(ui, "keyed:you is connected.")


async def test_no_passphrase_connects_nothing(tmp_path: Path) -> None:
    async with on_setup(tmp_path, plain=False) as ui:
        await connect_by_key(ui, "me")
        await asked(ui, "A new passphrase")
        ui.app.simulate_key("escape")
        await until(ui, "passphrase to keep keys with")
    assert await labels(tmp_path) == []


async def test_oauth_login_completes_in_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    callbacks: list[asyncio.Task[None]] = []

    async def open_page(page: str) -> bool:
        callbacks.append(asyncio.create_task(say_yes(page)))
        return True

    monkeypatch.setattr(browser, "browse", open_page)
    async with on_setup(tmp_path) as ui:
        await choose(ui, BROWSER)
        await ui.press("enter")
        await until(ui, "browser:b is connected.")
        assert "+ browser:b" in ui.text
    assert callbacks


async def test_oauth_code_is_pasted_without_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(page: str) -> bool:
        return False

    monkeypatch.setattr(browser, "browse", refuse)
    async with on_setup(tmp_path) as ui:
        await choose(ui, BROWSER)
        await ui.press("enter")
        await until(ui, "https://browser.example/yes?")
        assert "There is no browser here." in ui.text
        await write(ui, "not-it\n")
        await until(ui, "That code is not good. Enter begins anew.")
        await ui.press("enter")
        await until(ui, "There is no browser here.")
        await write(ui, f"{CODE}\n")
        await until(ui, "browser:b is connected.")


@pytest.mark.parametrize("by", ["key", "mouse"])
async def test_oauth_wait_can_be_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    async def refuse(page: str) -> bool:
        return False

    monkeypatch.setattr(browser, "browse", refuse)
    async with on_setup(tmp_path) as ui:
        await choose(ui, BROWSER)
        await ui.press("enter")
        await until(ui, "There is no browser here.")
        if by == "key":
            await ui.press("escape")
        else:
            offset = next(
                (line.index("Esc leaves it"), y) for y, line in enumerate(ui.lines) if "Esc leaves it" in line
            )
            await ui._pilot.click(offset=offset)
            await ui.wait()
        assert "There is no browser here." not in ui.text
    assert await labels(tmp_path) == []


async def test_account_check_reports_status(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as ui:
        await ui.press("t")
        await until(ui, "keyed:harbour works.")
        await ui.press("tab", "j", "t")
        await until(ui, "! keyed:locked")
        assert "The server does not know the account any more." in ui.text
        assert any(toast.startswith("keyed:locked: The server does not know") for toast in ui.toasts)


async def test_remove_confirms_and_defaults_to_no(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as ui:
        await ui.press("D")
        assert "Forget keyed:harbour and its keys?" in ui.text
        await ui.press("enter")
        assert "keyed:harbour" in ui.text
        await ui.press("D", "y")
        await until(ui, "keyed:harbour is forgotten.")
        await until(ui, "▌+ keyed:locked")
    assert await labels(tmp_path) == ["keyed:locked"]


async def test_voice_is_previewed_and_saved_on_request(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as ui:
        await ui.press("j", "e")
        assert "characters" in ui.text
        assert "maxLength" not in ui.text
        await until(ui, "https://stories.example/1")
        await ui.press(*["tab"] * 9)
        for _ in range(2):
            await ui.press("right")
        assert "‹never›" in next(line for line in ui.lines if " link " in line)
        await ui.press("ctrl+t")
        await gone(ui, "https://stories.example/1")
        assert "by the offline writer" in ui.text
        await ui.press("ctrl+s")
        await until(ui, "The voice is kept.")
        assert "SHORT   hashtags 1, emoji never, link never" in ui.text
    async with setup_desk(tmp_path) as desk:
        voice = await desk.voice.read()
        assert voice.style == "Plain words.\nNo hype."
        assert len(voice.examples) == 2


async def test_preview_explains_missing_hashtags(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as ui:
        await ui.press("j", "e")
        await until(ui, "This item has no tags")


async def test_leaving_edited_voice_confirms(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as ui:
        await ui.press("j", "e")
        await write(ui, "More. ")
        await ui.press("escape", "enter")
        assert "More. Plain words." in ui.text
        await ui.press("escape", "y")
        assert "More." not in ui.text
        await ui.press("e")
        assert "Plain words." in ui.text
        assert "More." not in ui.text
        await ui.press("escape")
        assert "How you write" not in ui.text


async def test_refused_voice_stays_in_form(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as ui:
        await ui.press("j", "e", *["tab"] * 7)
        await write(ui, "9")
        await ui.press("ctrl+s")
        await until(ui, "formats.SHORT.hashtags")
        assert "How you write" in ui.text


async def test_voice_preview_without_items_has_hint(tmp_path: Path) -> None:
    async with on_setup(tmp_path) as ui:
        await ui.press("j", "e")
        await until(ui, "There is no item to try it on.")


async def test_invalid_time_zone_is_refused(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as ui:
        await ui.press("j", "j", "j", "e")
        await write(ui, "Mars/One\n")
        await until(ui, "Mars/One is no time zone")
        await ui.press("ctrl+u")
        await write(ui, "Asia/Tokyo\n")
        await until(ui, "on the clock of Asia/Tokyo")
        await until(ui, "JST")
        assert "09:00 here may be 10:00 there." in ui.text
        (time_line,) = [line for line in ui.text.splitlines() if "there it is" in line]
        assert "(" not in time_line
        assert re.search(r"\d\d:\d\d JST", time_line)


async def test_doctor_report_is_displayed(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as ui:
        await ui.press("G")
        await until(ui, "2, none in trouble.")


async def test_forty_columns_show_one_pane(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished, size=(40, 24)) as ui:
        assert "keyed:harbour" not in ui.text
        await ui.press("enter")
        assert "keyed:harbour" in ui.text
        await ui.press("escape")
        assert "keyed:harbour" not in ui.text


async def test_hostile_names_are_harmless(tmp_path: Path) -> None:
    async def add_hostile_names(desk: Desk) -> None:
        name = "[/x] \x1b]0;owned\x07 \u202eevil 漢字"
        await desk.accounts.connect("keyed", {"handle": name, "password": "open"})
        await desk.voice.update({"style": "[red]x[/] \u202e", "avoid": ["[@click=app.quit]y[/]"]})

    async with on_setup(tmp_path, add_hostile_names, size=(80, 24)) as ui:
        assert "[/x]" in ui.text
        await ui.press("j")
        assert "[@click=app.quit]y[/]" in ui.text
        assert "\x1b" not in ui.text
        assert "\u202e" not in ui.text
