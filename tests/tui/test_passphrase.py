"""The passphrase is asked for where nobody types, as long as somebody wants it, and not when the console ends."""

import asyncio
from pathlib import Path

import pytest

from copydesk.desk.accounts import Accounts
from copydesk.errors import NotFoundError
from copydesk.tui.modals.ask import LineScreen
from copydesk.tui.modals.hold import HoldScreen
from copydesk.tui.passphrase import passphrase
from held_answers import so
from setup_screen import answer, asked, on_setup, setup_desk
from tui_fixtures import FakeDesk, Seen, on_screen

KNOWN = "The passphrase of the keys"


async def nothing_but(seen: Seen, count: int) -> None:
    """Wait until so many screens are there."""
    await so(lambda: len(seen.app.screen_stack) == count, lambda: seen._pilot.pause(0.01))


async def test_it_waits_until_nobody_types() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        await seen.app.push_screen(LineScreen("Why?"))
        asking = asyncio.create_task(passphrase(seen.app, new=False))
        await answer(seen, "because")
        assert seen.toasts == ["The keys to your accounts are locked. The passphrase is asked for when this is closed."]
        assert "because" in seen.text
        await answer(seen, "\n")
        await asked(seen, KNOWN)
        await answer(seen, "words\n")
        assert await asking == "words"


async def test_it_waits_for_a_search_too() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        await seen.press("slash")
        asking = asyncio.create_task(passphrase(seen.app, new=False))
        await answer(seen, "feeds")
        assert KNOWN not in seen.text
        await seen._pilot.press("enter")
        await asked(seen, KNOWN)
        await answer(seen, "words\n")
        assert await asking == "words"


async def test_over_what_takes_no_key_it_comes_at_once_and_that_goes_away_after_it() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        hold = HoldScreen("Opening …")
        await seen.app.push_screen(hold)
        asking = asyncio.create_task(passphrase(seen.app, new=False))
        await asked(seen, KNOWN)
        hold.let_go()
        await answer(seen, "words\n")
        assert await asking == "words"
        await nothing_but(seen, 1)


async def test_it_goes_away_with_who_asked() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        asking = asyncio.create_task(passphrase(seen.app, new=False))
        await asked(seen, KNOWN)
        asking.cancel()
        await nothing_but(seen, 1)


async def test_a_console_that_ends_does_not_wait_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[str] = []

    async with setup_desk(tmp_path) as desk:
        await desk.accounts.connect("keyed", {"handle": "harbour", "password": "open"})
    async with asyncio.timeout(60), on_setup(tmp_path) as seen:
        assert seen.app.desk is not None
        ask = seen.app.desk.ground.ask
        assert ask is not None

        async def remove(*_: object) -> None:
            answers.append(await ask(new=False))
            raise NotFoundError("It was refused.")

        monkeypatch.setattr(Accounts, "remove", remove)
        await seen._pilot.press("D", "y")
        await asked(seen, KNOWN)
        seen.app.exit(0)
    assert answers == [""]


async def test_a_write_that_never_ends_does_not_keep_the_console(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.asking.LAST_WRITES", 0.05)
    ended: list[str] = []

    async def never(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async with asyncio.timeout(60), on_screen(FakeDesk(3)) as seen:
        seen.app.carry_out(lambda _: never("first"))
        seen.app.carry_out(lambda _: never("second"))
        seen.app.exit(0)
    assert ended == ["first"]
