"""Tests for the console in a real web browser, including a killed browser and a killed server."""

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from browser import Browser, Page, real_browser
from command_line import call
from web_console import Served, served, until_gone

CLIPBOARD = ["clipboardReadWrite", "clipboardSanitizedWrite"]


class Open:
    """A server, a browser, and the first tab with the console."""

    def __init__(self, server: Served, browser: Browser, page: Page) -> None:
        self.server = server
        self.browser = browser
        self.page = page


@asynccontextmanager
async def opened(home: Path, folder: Path) -> AsyncIterator[Open]:
    """Open the console with 24 drafts to review."""
    async with served(home) as server, real_browser(folder / "profile") as browser:
        page = await browser.open(await server.address())
        await page.wait_for(r"To review 24[\s\S]*▌ N[\s\S]*from +The Lighthouse")
        yield Open(server, browser, page)


def drafts(home: Path, *filters: str) -> list[Any]:
    """Return the sample desk's drafts from the command line."""
    completed = call(home, "--home", str(home), "--sample", "draft", "list", "--json", "--limit", "100", *filters)
    assert completed.code == 0, completed.err
    result: list[Any] = json.loads(completed.out)["drafts"]
    return result


def first_words(found: list[Any]) -> list[str]:
    """Return the first 22 characters of each draft."""
    return [draft["text"][:22] for draft in found]


async def test_review_by_keys(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as session:
        page = session.page
        assert await page.run("location.href") == session.server.site + "/"  # the key was removed from the address
        await page.press("j", "j", "k", "a")
        await page.wait_for(r"Approved 1[\s\S]*Approved · u undo")
        await page.press("x")
        await page.wait_for(r"To review 22")
        await page.press("u")
        await page.wait_for(r"To review 23")
        await page.press("?")
        await page.wait_for("Keys · q closes")
        await page.press("q", "c")
        await page.wait_for("A new draft")
        await page.write("Grüße 👍🏽 aus dem Browser")
        await page.wait_for("aus dem Browser")
        await page.press("ctrl+s")
        await page.wait_for("The draft is made")
        await page.press("q")
        await page.wait_for("The console has ended. What was decided and what was typed is kept.")
    assert first_words(drafts(sample_home, "--status", "approved")) == ["Readers who come by fe"]
    assert "Grüße 👍🏽 aus dem Browser" in [draft["text"] for draft in drafts(sample_home)]
    assert session.server.said.count("\n") == 1, session.server.said


async def test_review_by_mouse(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as session:
        page = session.page
        await page.click("Show HN: Tern")
        await page.wait_for("▌ N  70 .* Show HN: Tern")
        await page.press("a")
        await page.wait_for(r"Approved 1[\s\S]*Approved · u undo")
        await page.click("Approved 1")
        await page.wait_for("▌ A  70 .* Show HN: Tern")
        await page.click("2 Schedule")
        await page.wait_for("Mon .* Tue .* Sun")
        await page.click("1 Review")
        await page.wait_for("▌ A  70 .* Show HN: Tern")
        await page.press("q")
        await page.click_on("button")
        await page.wait_for(r"Approved 1")
    assert first_words(drafts(sample_home, "--status", "approved")) == ["Show HN: Tern, a feed "]


async def test_page_follows_window_size(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as session:
        await session.page.resize(700, 500)
        await session.page.wait_for(r"─ Queue[^D\n]*\n")
        await session.page.resize(1600, 1000)
        await session.page.wait_for(r"─ Queue[^\n]*─ Draft")
        await session.page.resize(150, 100)
        await session.page.wait_for("Copydesk needs")


async def test_copy_and_links_use_users_browser(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as session:
        page = session.page
        await session.browser.send("Browser.grantPermissions", permissions=CLIPBOARD, origin=session.server.site)
        await page.press("y")
        await page.wait_for("Copied the text of")
        copied = await page.run("navigator.clipboard.readText()")
        await page.press("o")
        other = await session.browser.opened("https://lighthouse.example/releases/quarrystone-3")
        # The opened page is untrusted: it must not be able to navigate the console's page.
        assert await other.run("window.opener === null")
    assert copied == next(draft["text"] for draft in drafts(sample_home) if draft["text"].startswith("Quarrystone"))


async def test_refused_permissions_are_reported(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as session:
        permission = {"permission": {"name": "clipboard-write"}, "setting": "denied", "origin": session.server.site}
        await session.browser.send("Browser.setPermission", **permission)
        await session.page.press("y")
        await session.page.wait_for("Your browser did not let the console copy.")
        page = await session.browser.open(
            session.server.site, first="window.open = () => null;"
        )  # like a popup blocker
        await page.wait_for("from +The Lighthouse")
        await page.press("o")
        await page.wait_for("Your browser did not let the console open this page: https://lighthouse.example/releases")


async def test_second_tab_opens_second_console(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as session:
        second = await session.browser.open(session.server.site)
        await second.wait_for("To review 24")
        assert len(session.server.consoles()) == 2
        await second.press("a")
        await second.wait_for("Approved 1")
        await session.page.wait_for("Approved 1")
        await second.close()
        await session.page.press("j", "a")
        await session.page.wait_for("Approved 2")


async def test_killed_browser_ends_console_and_keeps_text(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as session:
        (console,) = session.server.consoles()
        await session.page.press("c")
        await session.page.wait_for("A new draft")
        await session.page.write("Half a thought")
        await session.page.wait_for("Half a thought")
        await session.browser.kill()
        await until_gone(console)
        async with real_browser(tmp_path / "another") as browser:
            # The first browser has the cookie; another one needs a new address.
            page = await browser.open(session.server.used)
            await page.wait_for("there is a new one now")
            page = await browser.open(await session.server.address())
            await page.wait_for("To review 24")
            await page.press("c")
            await page.wait_for("Half a thought")


async def test_killed_server_ends_console(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as session:
        (console,) = session.server.consoles()
        await session.server.end(signal.SIGKILL)
        await until_gone(console)
        await session.page.wait_for("The console has ended")


async def test_ctrl_c_stops_server_with_open_page(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as session:
        (console,) = session.server.consoles()
        await session.server.end(signal.SIGINT)
        await until_gone(console)
        assert session.server.process.returncode == 0
        assert "Traceback" not in session.server.said
        await session.page.wait_for("The console has ended")
