"""The screen Setup before a real desk: accounts, voice, time zone, where things are."""

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
"""Where the two platforms stand in the list."""


async def labels(home: Path) -> list[str]:
    async with setup_desk(home) as desk:
        return [each.label for each in await desk.accounts.list()]


async def choose(seen: Seen, at: int) -> None:
    await seen.press("n")
    await until(seen, "Connect an account of …")
    await seen.press(*["j"] * at, "enter")
    await until(seen, "Connect an account of")


async def test_a_desk_without_an_account_says_how_to_connect_one(tmp_path: Path) -> None:
    async with on_setup(tmp_path, size=(80, 24)) as seen:
        assert "No account is connected." in seen.text
        assert "n connects one: Bluesky" in seen.text
        await seen.press("t")
        assert seen.toasts == ["No account is connected: n connects one."]


async def test_an_account_is_connected_with_what_its_platform_asks_for(tmp_path: Path) -> None:
    async with on_setup(tmp_path) as seen:
        await choose(seen, KEYED)
        await write(seen, "me")
        await seen.press("tab")
        await write(seen, "wrong")
        assert "wrong" not in seen.text
        await seen.press("enter")
        await until(seen, "The password is not right. Look for it there.")
        await seen.press(*["backspace"] * 5)
        await write(seen, "open\n")
        await until(seen, "keyed:me is connected.")
        assert "+ keyed:me" in seen.text
    assert await labels(tmp_path) == ["keyed:me"]


async def test_what_is_missing_is_named_and_the_form_stays(tmp_path: Path) -> None:
    async with on_setup(tmp_path) as seen:
        await choose(seen, KEYED)
        await seen.press("enter")
        await until(seen, "handle: is missing")
        await seen.press("escape")
    assert await labels(tmp_path) == []


async def connect_by_key(seen: Seen, name: str) -> None:
    await choose(seen, KEYED)
    await answer(seen, f"{name}\topen\n")


async def test_a_passphrase_is_asked_for_on_the_screen_a_new_one_twice(tmp_path: Path) -> None:
    async with on_setup(tmp_path, plain=False) as seen:
        await connect_by_key(seen, "me")
        await asked(seen, "A new passphrase for the keys to your accounts")
        await answer(seen, "four little words here\tfour\n")
        await asked(seen, "once more: is another one")
        assert "four" not in seen.text
        await answer(seen, " little words here\n")
        await until(seen, "keyed:me is connected.")
    async with on_setup(tmp_path, plain=False) as seen:
        await connect_by_key(seen, "you")
        await asked(seen, "The passphrase of the keys to your accounts")
        await answer(seen, "four little words here\n")
        await until(seen, "keyed:you is connected.")


async def test_without_a_passphrase_nothing_is_connected(tmp_path: Path) -> None:
    async with on_setup(tmp_path, plain=False) as seen:
        await connect_by_key(seen, "me")
        await asked(seen, "A new passphrase")
        seen.app.simulate_key("escape")
        await until(seen, "passphrase to keep keys with")
    assert await labels(tmp_path) == []


async def test_the_browser_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    going: list[asyncio.Task[None]] = []

    async def open_page(page: str) -> bool:
        going.append(asyncio.create_task(say_yes(page)))
        return True

    monkeypatch.setattr(browser, "browse", open_page)
    async with on_setup(tmp_path) as seen:
        await choose(seen, BROWSER)
        await seen.press("enter")
        await until(seen, "browser:b is connected.")
        assert "+ browser:b" in seen.text
    assert going


async def test_without_a_browser_the_user_pastes_where_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(page: str) -> bool:
        return False

    monkeypatch.setattr(browser, "browse", none)
    async with on_setup(tmp_path) as seen:
        await choose(seen, BROWSER)
        await seen.press("enter")
        await until(seen, "https://browser.example/yes?")
        assert "There is no browser here." in seen.text
        await write(seen, "not-it\n")
        await until(seen, "That code is not good. Enter begins anew.")
        await seen.press("enter")
        await until(seen, "There is no browser here.")
        await write(seen, f"{CODE}\n")
        await until(seen, "browser:b is connected.")


@pytest.mark.parametrize("by", ["key", "mouse"])
async def test_waiting_for_the_browser_can_be_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    async def none(page: str) -> bool:
        return False

    monkeypatch.setattr(browser, "browse", none)
    async with on_setup(tmp_path) as seen:
        await choose(seen, BROWSER)
        await seen.press("enter")
        await until(seen, "There is no browser here.")
        if by == "key":
            await seen.press("escape")
        else:
            at = next((line.index("Esc leaves it"), y) for y, line in enumerate(seen.lines) if "Esc leaves it" in line)
            await seen._pilot.click(offset=at)
            await seen.wait()
        assert "There is no browser here." not in seen.text
    assert await labels(tmp_path) == []


async def test_a_check_says_whether_an_account_works_and_keeps_what_is_wrong(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        await seen.press("t")
        await until(seen, "keyed:harbour works.")
        await seen.press("tab", "j", "t")
        await until(seen, "! keyed:locked")
        assert "The server does not know the account any more." in seen.text
        assert any(said.startswith("keyed:locked: The server does not know") for said in seen.toasts)


async def test_removing_asks_and_enter_is_no(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        await seen.press("D")
        assert "Forget keyed:harbour and its keys?" in seen.text
        await seen.press("enter")
        assert "keyed:harbour" in seen.text
        await seen.press("D", "y")
        await until(seen, "keyed:harbour is forgotten.")
        await until(seen, "▌+ keyed:locked")
    assert await labels(tmp_path) == ["keyed:locked"]


async def test_the_voice_is_tried_while_it_is_edited_and_kept_when_asked(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        await seen.press("j", "e")
        assert "characters" in seen.text
        assert "maxLength" not in seen.text
        await until(seen, "https://stories.example/1")
        await seen.press(*["tab"] * 9)
        for _ in range(2):
            await seen.press("right")
        assert "‹never›" in next(line for line in seen.lines if " link " in line)
        await seen.press("ctrl+t")
        await gone(seen, "https://stories.example/1")
        assert "by the offline writer" in seen.text
        await seen.press("ctrl+s")
        await until(seen, "The voice is kept.")
        assert "SHORT   hashtags 1, emoji never, link never" in seen.text
    async with setup_desk(tmp_path) as desk:
        voice = await desk.voice.read()
        assert voice.style == "Plain words.\nNo hype."
        assert len(voice.examples) == 2


async def test_of_an_item_without_tags_it_is_said_why_there_are_no_hashtags(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        await seen.press("j", "e")
        await until(seen, "This item has no tags")


async def test_an_edited_voice_is_not_lost_by_one_key(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        await seen.press("j", "e")
        await write(seen, "More. ")
        await seen.press("escape", "enter")
        assert "More. Plain words." in seen.text
        await seen.press("escape", "y")
        assert "More." not in seen.text
        await seen.press("e")
        assert "Plain words." in seen.text
        assert "More." not in seen.text
        await seen.press("escape")
        assert "How you write" not in seen.text


async def test_a_voice_that_the_desk_refuses_stays_in_the_form(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        await seen.press("j", "e", *["tab"] * 7)
        await write(seen, "9")
        await seen.press("ctrl+s")
        await until(seen, "formats.SHORT.hashtags")
        assert "How you write" in seen.text


async def test_without_an_item_the_trial_says_what_to_do(tmp_path: Path) -> None:
    async with on_setup(tmp_path) as seen:
        await seen.press("j", "e")
        await until(seen, "There is no item to try it on.")


async def test_a_time_zone_is_checked_before_it_is_taken(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        await seen.press("j", "j", "j", "e")
        await write(seen, "Mars/One\n")
        await until(seen, "Mars/One is no time zone")
        await seen.press("ctrl+u")
        await write(seen, "Asia/Tokyo\n")
        await until(seen, "on the clock of Asia/Tokyo")
        await until(seen, "JST")
        assert "09:00 here may be 10:00 there." in seen.text
        (now,) = [line for line in seen.text.splitlines() if "there it is" in line]
        assert "(" not in now
        assert re.search(r"\d\d:\d\d JST", now)


async def test_where_things_are_is_what_the_doctor_says(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        await seen.press("G")
        await until(seen, "2, none in trouble.")


async def test_forty_columns_show_one_pane_at_a_time(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished, size=(40, 24)) as seen:
        assert "keyed:harbour" not in seen.text
        await seen.press("enter")
        assert "keyed:harbour" in seen.text
        await seen.press("escape")
        assert "keyed:harbour" not in seen.text


async def test_hostile_names_are_shown_harmless(tmp_path: Path) -> None:
    async def hostile(desk: Desk) -> None:
        name = "[/x] \x1b]0;owned\x07 \u202eevil 漢字"
        await desk.accounts.connect("keyed", {"handle": name, "password": "open"})
        await desk.voice.update({"style": "[red]x[/] \u202e", "avoid": ["[@click=app.quit]y[/]"]})

    async with on_setup(tmp_path, hostile, size=(80, 24)) as seen:
        assert "[/x]" in seen.text
        await seen.press("j")
        assert "[@click=app.quit]y[/]" in seen.text
        assert "\x1b" not in seen.text
        assert "\u202e" not in seen.text
