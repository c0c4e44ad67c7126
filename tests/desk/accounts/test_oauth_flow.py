"""Tests for signing in through the browser, by redirect or by pasting the final URL."""

import asyncio
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.desk.accounts import oauth_flow
from copydesk.errors import SignInError
from copydesk.posting.platform import LoginError
from posting_fixtures import open_posting_desk
from sign_in_platforms import CODE, STATE, authorize, sign_in_platforms

PLAIN_CREDENTIALS = {"COPYDESK_SECRETS__KEYRING": "false", "COPYDESK_SECRETS__PLAIN": "true"}


async def sign_in(desk: Desk, pasted: str | None = None, *, browser: bool = True) -> str:
    """Sign in by redirect or with `pasted`; return the account's label."""
    browser_tasks: list[asyncio.Task[None]] = []

    async def open_browser(page: str) -> None:
        if browser:
            browser_tasks.append(asyncio.create_task(authorize(page)))

    async def paste() -> str:
        if pasted is None:
            await asyncio.Event().wait()
        return pasted or ""

    method = await desk.accounts.connect_method("browser")
    assert oauth_flow.needs_browser(method, {})
    account = await oauth_flow.sign_in_with_browser(desk.accounts, method, {}, "", open_browser, paste)
    await asyncio.gather(*browser_tasks)
    return account.label


async def test_browser_redirect_connects_account(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, sign_in_platforms(), **PLAIN_CREDENTIALS) as desk:
        assert await sign_in(desk) == "browser:b"
        assert [account.label for account in await desk.accounts.list()] == ["browser:b"]


async def test_redirect_while_the_browser_starts_connects_account(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, sign_in_platforms(), **PLAIN_CREDENTIALS) as desk:
        method = await desk.accounts.connect_method("browser")
        account = await oauth_flow.sign_in_with_browser(desk.accounts, method, {}, "", authorize)
    assert account.label == "browser:b"


@pytest.mark.parametrize("pasted", [CODE, f"http://127.0.0.1:1/callback?state={STATE}&code={CODE}"])
async def test_pasted_code_connects_account(tmp_path: Path, pasted: str) -> None:
    async with open_posting_desk(tmp_path, sign_in_platforms(), **PLAIN_CREDENTIALS) as desk:
        assert await sign_in(desk, pasted, browser=False) == "browser:b"


@pytest.mark.parametrize(
    ("pasted", "error"), [("http://x/?state=other&code=c", SignInError), ("another-code", LoginError)]
)
async def test_invalid_code_connects_nothing(tmp_path: Path, pasted: str, error: type[Exception]) -> None:
    async with open_posting_desk(tmp_path, sign_in_platforms(), **PLAIN_CREDENTIALS) as desk:
        with pytest.raises(error):
            await sign_in(desk, pasted, browser=False)
        assert await desk.accounts.list() == ()


async def test_manual_sign_in_starts_no_listener(tmp_path: Path) -> None:
    urls: list[str] = []

    async def show_url(page: str) -> None:
        urls.append(page)

    async def paste() -> str:
        return CODE

    async with open_posting_desk(tmp_path, sign_in_platforms(), **PLAIN_CREDENTIALS) as desk:
        method = await desk.accounts.connect_method("browser")
        account = await oauth_flow.sign_in_with_pasted_code(desk.accounts, method, {}, "", show_url, paste)
    assert account.label == "browser:b"
    assert "127.0.0.1%3A8400" in urls[0]


async def test_own_token_needs_no_browser(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, sign_in_platforms()) as desk:
        browser_method, token_method = [await desk.accounts.connect_method(name) for name in ("browser", "keyed")]
    assert not oauth_flow.needs_browser(browser_method, {"token": "t"})
    assert not oauth_flow.needs_browser(token_method, {})


async def test_client_secret_needs_browser(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, {}) as desk:
        for platform in ("x", "linkedin", "threads"):
            method = await desk.accounts.connect_method(platform)
            assert oauth_flow.needs_browser(method, {field.name: "filled in" for field in method.credential_fields})
