"""Tests for the console in a real web browser, including a killed browser and a killed server."""

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from browser import TIMEOUT, Browser, Page, launch_browser
from cli_runner import run_command
from sample_desks import SAMPLE_DRAFTS
from web_server import WebServer, find_free_port, start_web_console, wait_for_exit

CLIPBOARD = ["clipboardReadWrite", "clipboardSanitizedWrite"]


class Session:
    """A server, a browser, and the first tab with the console."""

    def __init__(self, server: WebServer, browser: Browser, page: Page) -> None:
        self.server = server
        self.browser = browser
        self.page = page


@asynccontextmanager
async def open_session(home: Path, folder: Path) -> AsyncIterator[Session]:
    """Open the console with drafts to review."""
    async with start_web_console(home) as server, launch_browser(folder / "profile") as browser:
        page = await browser.open(await server.next_address())
        await page.wait_for(rf"To review {SAMPLE_DRAFTS}[\s\S]*▌ [\s\S]*Source +The Lighthouse")
        yield Session(server, browser, page)


def list_drafts(home: Path, *filters: str) -> list[Any]:
    """Return the sample desk's drafts from the command line."""
    completed = run_command(
        home, "--home", str(home), "--sample", "draft", "list", "--json", "--limit", "100", *filters
    )
    assert completed.code == 0, completed.err
    result: list[Any] = json.loads(completed.out)["drafts"]
    return result


def text_starts(drafts: list[Any]) -> list[str]:
    """Return the first 22 characters of each draft."""
    return [draft["text"][:22] for draft in drafts]


async def test_review_by_keys(sample_home: Path, tmp_path: Path) -> None:
    async with open_session(sample_home, tmp_path) as session:
        page = session.page
        assert (
            await page.evaluate("location.href") == session.server.origin + "/"
        )  # the key was removed from the address
        await page.press("j", "j", "k", "a")
        await page.wait_for(r"Approved 1[\s\S]*Approved · u undo")
        await page.press("x")
        await page.wait_for(rf"To review {SAMPLE_DRAFTS - 2}")
        await page.press("u")
        await page.wait_for(rf"To review {SAMPLE_DRAFTS - 1}")
        await page.press("?")
        await page.wait_for("Keys · q close")
        await page.press("q", "c")
        await page.wait_for("New draft")
        await page.type_text("Grüße 👍🏽 aus dem Browser")
        await page.wait_for("aus dem Browser")
        await page.press("ctrl+s")
        await page.wait_for("Draft created")
        await page.press("q")
        await page.wait_for("The console has closed. Your decisions and unsaved text are kept.")
    assert text_starts(list_drafts(sample_home, "--status", "approved")) == ["Harbour Notes: Readers"]
    assert "Grüße 👍🏽 aus dem Browser" in [draft["text"] for draft in list_drafts(sample_home)]
    assert session.server.output.count("\n") == 1, session.server.output


async def test_review_by_mouse(sample_home: Path, tmp_path: Path) -> None:
    async with open_session(sample_home, tmp_path) as session:
        page = session.page
        await page.click_text("Tern is a")
        await page.wait_for("▌ .*Tern is a")
        await page.press("a")
        await page.wait_for(r"Approved 1[\s\S]*Approved · u undo")
        await page.click_text("Approved 1")
        await page.wait_for("▌ .*Tern is a")
        await page.click_text("2 Schedule")
        await page.wait_for("Mon .* Tue .* Sun")
        await page.click_text("1 Review")
        await page.wait_for("▌ .*Tern is a")
        await page.press("q")
        await page.click_element("button")
        await page.wait_for(r"Approved 1")
    assert text_starts(list_drafts(sample_home, "--status", "approved")) == ["tern-reader.example: “"]


async def test_page_follows_window_size(sample_home: Path, tmp_path: Path) -> None:
    async with open_session(sample_home, tmp_path) as session:
        await session.page.resize(700, 500)
        await session.page.wait_for(r"─ Queue[^D\n]*\n")
        await session.page.resize(1600, 1000)
        await session.page.wait_for(r"─ Queue[^\n]*─ Draft")
        await session.page.resize(150, 100)
        await session.page.wait_for("Copydesk needs")


async def test_copy_and_links_use_users_browser(sample_home: Path, tmp_path: Path) -> None:
    async with open_session(sample_home, tmp_path) as session:
        page = session.page
        await session.browser.send("Browser.grantPermissions", permissions=CLIPBOARD, origin=session.server.origin)
        await page.press("y")
        await page.wait_for("Copied the text of")
        copied = await page.evaluate("navigator.clipboard.readText()")
        await page.press("o")
        other = await session.browser.wait_for_page("https://lighthouse.example/releases/quarrystone-3")
        # The opened page is untrusted: it must not be able to navigate the console's page.
        assert await other.evaluate("window.opener === null")
    assert copied == next(
        draft["text"] for draft in list_drafts(sample_home) if draft["text"].startswith("Quarrystone")
    )


async def test_refused_permissions_are_reported(sample_home: Path, tmp_path: Path) -> None:
    async with open_session(sample_home, tmp_path) as session:
        permission = {"permission": {"name": "clipboard-write"}, "setting": "denied", "origin": session.server.origin}
        await session.browser.send("Browser.setPermission", **permission)
        await session.page.press("y")
        await session.page.wait_for("Your browser blocked copying.")
        page = await session.browser.open(
            session.server.origin, first="window.open = () => null;"
        )  # like a popup blocker
        await page.wait_for("Source +The Lighthouse")
        await page.press("o")
        await page.wait_for("Your browser blocked this page. Open it here: https://lighthouse.example/releases")


async def test_second_tab_opens_second_console(sample_home: Path, tmp_path: Path) -> None:
    async with open_session(sample_home, tmp_path) as session:
        second = await session.browser.open(session.server.origin)
        await second.wait_for(f"To review {SAMPLE_DRAFTS}")
        assert len(session.server.console_pids()) == 2
        await second.press("a")
        await second.wait_for("Approved 1")
        await session.page.wait_for("Approved 1")
        await second.close()
        await session.page.press("j", "a")
        await session.page.wait_for("Approved 2")


async def test_killed_browser_ends_console_and_keeps_text(sample_home: Path, tmp_path: Path) -> None:
    async with open_session(sample_home, tmp_path) as session:
        (console,) = session.server.console_pids()
        await session.page.press("c")
        await session.page.wait_for("New draft")
        await session.page.type_text("Half a thought")
        await session.page.wait_for("Half a thought")
        await session.browser.kill()
        await wait_for_exit(console)
        async with launch_browser(tmp_path / "another") as browser:
            # The first browser has the session token; another one needs a new address.
            page = await browser.open(session.server.last_address)
            await page.wait_for("the terminal now shows a new one")
            page = await browser.open(await session.server.next_address())
            await page.wait_for(f"To review {SAMPLE_DRAFTS}")
            await page.press("c")
            await page.wait_for("Half a thought")


async def test_keys_before_close_are_handled(sample_home: Path, tmp_path: Path) -> None:
    text = "Forty-three keys typed before closing a tab"
    async with open_session(sample_home, tmp_path) as session:
        (console,) = session.server.console_pids()
        await session.page.press("a", "j", "x", "c")
        await session.page.type_text(text)
        await session.page.close()
        await wait_for_exit(console)
        page = await session.browser.open(session.server.origin)
        await page.wait_for(rf"To review {SAMPLE_DRAFTS - 2}[\s\S]*Approved 1")
        await page.press("c")
        await page.wait_for(text)


async def test_keys_before_reload_are_handled(sample_home: Path, tmp_path: Path) -> None:
    async with open_session(sample_home, tmp_path) as session:
        (console,) = session.server.console_pids()
        await session.page.press(*"a" * 12)
        await session.page.send("Page.reload")
        await wait_for_exit(console)
        await session.page.wait_for(rf"To review {SAMPLE_DRAFTS - 12}[\s\S]*Approved 12")


async def test_other_port_cannot_open_console(sample_home: Path, tmp_path: Path) -> None:
    """A second server on 127.0.0.1 sees every cookie of the browser, and tries with all it can get."""
    requests: list[web.Request] = []

    async def record(request: web.Request) -> web.Response:
        requests.append(request)
        return web.Response(text="<title>Other</title>", content_type="text/html")

    async with open_session(sample_home, tmp_path) as session:
        port = find_free_port()
        application = web.Application()
        application.router.add_get("/{path:.*}", record)
        runner = web.AppRunner(application)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
            other = await session.browser.open(f"http://127.0.0.1:{port}/")
            deadline = time.monotonic() + TIMEOUT
            while not requests or await other.evaluate("document.title") != "Other":
                assert time.monotonic() < deadline, "The other server got no request."
                await asyncio.sleep(0.03)
            assert "Cookie" not in requests[0].headers
            assert await other.evaluate("Object.keys(localStorage).length + document.cookie.length") == 0
            # Its page cannot connect either: the browser sends the page's origin.
            address = f"ws://127.0.0.1:{session.server.port}/ws"
            closed = f"new Promise(done => {{ new WebSocket({address!r}).onclose = event => done(event.code) }})"
            assert await other.evaluate(closed) == 1006
        finally:
            await runner.cleanup()
        # What it received, with the headers of a page of the console, opens nothing.
        headers = {name: value for name, value in requests[0].headers.items() if name in {"Cookie", "User-Agent"}}
        async with (
            aiohttp.ClientSession(headers=headers) as client,
            client.ws_connect(session.server.origin + "/ws", origin=session.server.origin) as socket,
        ):
            await socket.send_json(["open", {"key": None, "session": None}])
            assert (await socket.receive_json())[0] == "refused"
        assert len(session.server.console_pids()) == 1


async def test_killed_server_ends_console(sample_home: Path, tmp_path: Path) -> None:
    async with open_session(sample_home, tmp_path) as session:
        (console,) = session.server.console_pids()
        await session.server.stop(signal.SIGKILL)
        await wait_for_exit(console)
        await session.page.wait_for("The console has closed")


async def test_ctrl_c_stops_server_with_open_page(sample_home: Path, tmp_path: Path) -> None:
    async with open_session(sample_home, tmp_path) as session:
        (console,) = session.server.console_pids()
        await session.server.stop(signal.SIGINT)
        await wait_for_exit(console)
        assert session.server.process.returncode == 0
        assert "Traceback" not in session.server.output
        await session.page.wait_for("The console has closed")
