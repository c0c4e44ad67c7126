"""The way into an account through the browser: it comes back by itself, or the user pastes where it ended."""

import asyncio
from pathlib import Path

import pytest

from copydesk.desk import Desk, signing_in
from copydesk.errors import SignInError
from copydesk.posting.platform import LoginError
from posting_fixtures import open_posting
from signing_in_platforms import CODE, STATE, both, say_yes

PLAIN = {"COPYDESK_SECRETS__KEYRING": "false", "COPYDESK_SECRETS__PLAIN": "true"}


async def connect(desk: Desk, pasted: str | None = None, *, browser: bool = True) -> str:
    """Go through the browser, or paste; the account's name."""
    going: list[asyncio.Task[None]] = []

    async def show(page: str) -> None:
        if browser:
            going.append(asyncio.create_task(say_yes(page)))

    async def paste() -> str:
        if pasted is None:
            await asyncio.Event().wait()
        return pasted or ""

    way = desk.accounts.way_in("browser")
    assert signing_in.needs_browser(way, {})
    kept = await signing_in.through_browser(desk.accounts, way, {}, "", show, paste)
    await asyncio.gather(*going)
    return kept.label


async def test_the_browser_comes_back(tmp_path: Path) -> None:
    async with open_posting(tmp_path, both(), **PLAIN) as desk:
        assert await connect(desk) == "browser:b"
        assert [each.label for each in await desk.accounts.list()] == ["browser:b"]


@pytest.mark.parametrize("pasted", [CODE, f"http://127.0.0.1:1/callback?state={STATE}&code={CODE}"])
async def test_or_the_user_pastes_where_it_ended(tmp_path: Path, pasted: str) -> None:
    async with open_posting(tmp_path, both(), **PLAIN) as desk:
        assert await connect(desk, pasted, browser=False) == "browser:b"


@pytest.mark.parametrize(
    ("pasted", "error"), [("http://x/?state=other&code=c", SignInError), ("another-code", LoginError)]
)
async def test_what_is_no_code_connects_nothing(tmp_path: Path, pasted: str, error: type[Exception]) -> None:
    async with open_posting(tmp_path, both(), **PLAIN) as desk:
        with pytest.raises(error):
            await connect(desk, pasted, browser=False)
        assert await desk.accounts.list() == ()


async def test_by_hand_nothing_listens(tmp_path: Path) -> None:
    shown: list[str] = []

    async def show(page: str) -> None:
        shown.append(page)

    async def paste() -> str:
        return CODE

    async with open_posting(tmp_path, both(), **PLAIN) as desk:
        way = desk.accounts.way_in("browser")
        kept = await signing_in.by_hand(desk.accounts, way, {}, "", show, paste)
    assert kept.label == "browser:b"
    assert "127.0.0.1%3A8400" in shown[0]


async def test_a_key_of_ones_own_needs_no_browser(tmp_path: Path) -> None:
    async with open_posting(tmp_path, both()) as desk:
        browser, keyed = (desk.accounts.way_in(name) for name in ("browser", "keyed"))
    assert not signing_in.needs_browser(browser, {"token": "t"})
    assert not signing_in.needs_browser(keyed, {})
