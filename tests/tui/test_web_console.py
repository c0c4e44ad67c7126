"""Ways through the console in a real browser, and what becomes of it when the browser or the server is killed."""

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
    """A server, a browser, and the console in its first tab."""

    def __init__(self, server: Served, browser: Browser, page: Page) -> None:
        self.server = server
        self.browser = browser
        self.page = page


@asynccontextmanager
async def opened(home: Path, folder: Path) -> AsyncIterator[Open]:
    """The console with 24 drafts to review."""
    async with served(home) as server, real_browser(folder / "profile") as browser:
        page = await browser.open(await server.address())
        await page.wait_for(r"To review 24[\s\S]*▌ N[\s\S]*from +The Lighthouse")
        yield Open(server, browser, page)


def drafts(home: Path, *filters: str) -> list[Any]:
    """The drafts of the sample desk, as the command line has them."""
    said = call(home, "--home", str(home), "--sample", "draft", "list", "--json", "--limit", "100", *filters)
    assert said.code == 0, said.err
    found: list[Any] = json.loads(said.out)["drafts"]
    return found


def first_words(found: list[Any]) -> list[str]:
    """How each of the drafts begins."""
    return [draft["text"][:22] for draft in found]


async def test_a_review_by_keys(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as seen:
        page = seen.page
        assert await page.run("location.href") == seen.server.site + "/"  # without the key
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
    assert seen.server.said.count("\n") == 1, seen.server.said


async def test_a_review_by_mouse(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as seen:
        page = seen.page
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


async def test_the_page_takes_any_size(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as seen:
        await seen.page.resize(700, 500)
        await seen.page.wait_for(r"─ Queue[^D\n]*\n")
        await seen.page.resize(1600, 1000)
        await seen.page.wait_for(r"─ Queue[^\n]*─ Draft")
        await seen.page.resize(150, 100)
        await seen.page.wait_for("Copydesk needs")


async def test_a_text_is_copied_and_a_link_opened_where_the_user_is(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as seen:
        page = seen.page
        await seen.browser.send("Browser.grantPermissions", permissions=CLIPBOARD, origin=seen.server.site)
        await page.press("y")
        await page.wait_for("Copied the text of")
        copied = await page.run("navigator.clipboard.readText()")
        await page.press("o")
        other = await seen.browser.opened("https://lighthouse.example/releases/quarrystone-3")
        # What is read there comes from outside: it cannot lead the console's page elsewhere.
        assert await other.run("window.opener === null")
    assert copied == next(draft["text"] for draft in drafts(sample_home) if draft["text"].startswith("Quarrystone"))


async def test_what_the_browser_refuses_is_said(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as seen:
        refused = {"permission": {"name": "clipboard-write"}, "setting": "denied", "origin": seen.server.site}
        await seen.browser.send("Browser.setPermission", **refused)
        await seen.page.press("y")
        await seen.page.wait_for("Your browser did not let the console copy.")
        page = await seen.browser.open(seen.server.site, first="window.open = () => null;")  # as one that blocks it
        await page.wait_for("from +The Lighthouse")
        await page.press("o")
        await page.wait_for("Your browser did not let the console open this page: https://lighthouse.example/releases")


async def test_a_second_tab_is_a_console_of_the_same_desk(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as seen:
        second = await seen.browser.open(seen.server.site)
        await second.wait_for("To review 24")
        assert len(seen.server.consoles()) == 2
        await second.press("a")
        await second.wait_for("Approved 1")
        await seen.page.wait_for("Approved 1")
        await second.close()
        await seen.page.press("j", "a")
        await seen.page.wait_for("Approved 2")


async def test_a_browser_that_is_killed_takes_its_consoles_along_and_what_was_typed_is_kept(
    sample_home: Path, tmp_path: Path
) -> None:
    async with opened(sample_home, tmp_path) as seen:
        (console,) = seen.server.consoles()
        await seen.page.press("c")
        await seen.page.wait_for("A new draft")
        await seen.page.write("Half a thought")
        await seen.page.wait_for("Half a thought")
        await seen.browser.kill()
        await until_gone(console)
        async with real_browser(tmp_path / "another") as browser:
            # The first browser has the cookie: another one needs an address of its own.
            page = await browser.open(seen.server.used)
            await page.wait_for("there is a new one now")
            page = await browser.open(await seen.server.address())
            await page.wait_for("To review 24")
            await page.press("c")
            await page.wait_for("Half a thought")


async def test_a_server_that_is_killed_leaves_no_console_behind(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as seen:
        (console,) = seen.server.consoles()
        await seen.server.end(signal.SIGKILL)
        await until_gone(console)
        await seen.page.wait_for("The console has ended")


async def test_ctrl_c_ends_the_server_with_a_page_open(sample_home: Path, tmp_path: Path) -> None:
    async with opened(sample_home, tmp_path) as seen:
        (console,) = seen.server.consoles()
        await seen.server.end(signal.SIGINT)
        await until_gone(console)
        assert seen.server.process.returncode == 0
        assert "Traceback" not in seen.server.said
        await seen.page.wait_for("The console has ended")
