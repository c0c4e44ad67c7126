"""A real browser for the tests of the web console: headless Chromium, driven by the DevTools protocol."""

import asyncio
import base64
import os
import re
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest

TIMEOUT = 60.0
"""Seconds. A page loads in two on an idle machine."""
CHROMIUM_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # CI runs as root in its own container; Chromium's sandbox refuses that
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no test reaches the internet
)
KEY_CODES = {"Enter": 13, "Escape": 27, "Tab": 9, "Backspace": 8, "ArrowDown": 40}
"""Windows key codes of keys that type no text."""
CTRL_MODIFIER = 2
CAPTURE_TERMINAL_JS = """
    Object.defineProperty(Object.prototype, "_core", {
        configurable: true,
        set(core) {
            Object.defineProperty(this, "_core", {value: core, writable: true, configurable: true});
            if (this.loadAddon) window.terminalSeen = this;
        },
    });
"""
"""Stores xterm.js's Terminal, which the page does not export, in a global as soon as it is created."""
NAVIGATION_ERRORS = ("Inspected target navigated or closed", "Execution context was destroyed", "Cannot find context")
"""Chromium's error messages for a script whose page navigated away before it ran."""
SCREEN_LINES_JS = """(() => {
    const seen = window.terminalSeen, lines = seen?.buffer.active;
    const text = (_, row) => lines.getLine(row).translateToString(true, 0, seen.cols);
    return lines ? Array.from({length: seen.rows}, text) : [];
})()"""
TERMINAL_BOX_JS = """(() => {
    const box = document.querySelector(".xterm-screen").getBoundingClientRect();
    return [box.x, box.y, box.width / terminalSeen.cols, box.height / terminalSeen.rows];
})()"""


class NavigatedAwayError(Exception):
    """The page that a script was to run in has navigated away."""


class Page:
    """A browser tab."""

    def __init__(self, browser: "Browser", target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self._session = session

    async def send(self, method: str, **params: Any) -> Any:
        """Send a DevTools command to this tab and return its result."""
        return await self._browser.send(method, session=self._session, **params)

    async def evaluate(self, script: str) -> Any:
        """Evaluate a JavaScript expression in the page and return its value."""
        response = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in response, response
        return response["result"].get("value")

    async def text(self) -> str:
        """Return the terminal's lines followed by the page's own text; "" while the page is navigating."""
        try:
            return (
                "\n".join(await self.evaluate(SCREEN_LINES_JS))
                + "\n"
                + await self.evaluate("document.body?.innerText ?? ''")
            )
        except NavigatedAwayError:
            return ""

    async def wait_for(self, pattern: str) -> str:
        """Wait until `pattern` matches the page's text; return that text."""
        deadline = time.monotonic() + TIMEOUT
        while not re.search(pattern, page_text := await self.text()):
            assert time.monotonic() < deadline, f"{pattern} never came:\n{page_text}"
            await asyncio.sleep(0.03)
        return page_text

    async def type_text(self, text: str) -> None:
        """Type `text` key by key. Characters without a key are inserted, as an input method does."""
        for character in text:
            if character.isascii():
                await self._key(key=character, text=character)
            else:
                await self.send("Input.insertText", text=character)

    async def press(self, *keys: str) -> None:
        """Press keys: names of `KEY_CODES`, single characters, and `ctrl+` with a letter."""
        for key in keys:
            if key.startswith("ctrl+"):
                letter = key.removeprefix("ctrl+")
                await self._key(key=letter, windowsVirtualKeyCode=ord(letter.upper()), modifiers=CTRL_MODIFIER)
            elif key in KEY_CODES:
                await self._key(key=key, windowsVirtualKeyCode=KEY_CODES[key])
            else:
                await self.type_text(key)

    async def _key(self, **key: Any) -> None:
        await self.send("Input.dispatchKeyEvent", type="keyDown", **key)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **{name: key[name] for name in key if name != "text"})

    async def click_text(self, text: str) -> None:
        """Click the first occurrence of `text` in the terminal."""
        await self.wait_for(re.escape(text))
        lines = await self.evaluate(SCREEN_LINES_JS)
        row = next(row for row, line in enumerate(lines) if text in line)
        left, top, width, height = await self.evaluate(TERMINAL_BOX_JS)
        await self._click(left + (lines[row].index(text) + 0.5) * width, top + (row + 0.5) * height)

    async def click_element(self, selector: str) -> None:
        """Click the element that matches `selector` once it is visible."""
        box = f"document.querySelector({selector!r}).getBoundingClientRect()"
        deadline = time.monotonic() + TIMEOUT
        while not await self.evaluate(f"{box}.width"):
            assert time.monotonic() < deadline, f"{selector} never came."
            await asyncio.sleep(0.03)
        await self._click(
            await self.evaluate(f"{box}.x + {box}.width / 2"), await self.evaluate(f"{box}.y + {box}.height / 2")
        )

    async def _click(self, x: float, y: float) -> None:
        position = {"x": x, "y": y}
        await self.send("Input.dispatchMouseEvent", type="mouseMoved", **position)
        for event in ("mousePressed", "mouseReleased"):
            await self.send("Input.dispatchMouseEvent", type=event, button="left", clickCount=1, **position)

    async def resize(self, width: int, height: int) -> None:
        """Set the page's size in pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.send("Emulation.setDeviceMetricsOverride", **size)

    async def screenshot(self, path: Path) -> None:
        """Save a PNG screenshot to `path`."""
        shot = await self.send("Page.captureScreenshot", format="png")
        await asyncio.to_thread(path.write_bytes, base64.b64decode(shot["data"]))

    async def close(self) -> None:
        await self._browser.send("Target.closeTarget", targetId=self._target)


class Browser:
    """Chromium with an empty profile."""

    def __init__(self, process: asyncio.subprocess.Process, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._process = process
        self._socket = socket
        self._message_ids = count(1)
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self._socket:
            response = message.json()
            if (future := self._pending.pop(response.get("id"), None)) is not None and not future.done():
                future.set_result(response)

    async def send(self, method: str, *, session: str | None = None, **params: Any) -> Any:
        """Send a DevTools command and return its result. Raise `NavigatedAwayError` if the page was replaced
        meanwhile.
        """
        message_id = next(self._message_ids)
        future = self._pending[message_id] = asyncio.get_running_loop().create_future()
        target = {"sessionId": session} if session else {}
        await self._socket.send_json({"id": message_id, "method": method, "params": params} | target)
        response = await asyncio.wait_for(future, TIMEOUT)
        if any(phrase in response.get("error", {}).get("message", "") for phrase in NAVIGATION_ERRORS):
            raise NavigatedAwayError(method, response)
        assert "error" not in response, (method, response)
        return response["result"]

    async def open(self, address: str, size: tuple[int, int] = (1200, 800), *, first: str = "") -> Page:
        """Open `address` in a new tab. The script `first` runs before those of the page."""
        target = (await self.send("Target.createTarget", url="about:blank"))["targetId"]
        page = await self._attach(target)
        await page.resize(*size)
        await page.send("Emulation.setFocusEmulationEnabled", enabled=True)
        await page.send("Page.enable")
        await page.send("Page.addScriptToEvaluateOnNewDocument", source=CAPTURE_TERMINAL_JS + first)
        await page.send("Page.navigate", url=address)
        return page

    async def _attach(self, target: str) -> Page:
        attached = await self.send("Target.attachToTarget", targetId=target, flatten=True)
        return Page(self, target, attached["sessionId"])

    async def wait_for_page(self, address: str) -> Page:
        """Wait until any tab shows `address`; return its page."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            targets = (await self.send("Target.getTargets"))["targetInfos"]
            for target in targets:
                if target["url"] == address:
                    return await self._attach(target["targetId"])
            assert time.monotonic() < deadline, targets
            await asyncio.sleep(0.03)

    async def kill(self) -> None:
        """Kill the process, as an out-of-memory killer does."""
        self._process.kill()
        await self._process.wait()


def find_chromium() -> str:
    """Return Chromium's path. Without it the test is skipped, and fails in CI."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("In CI there has to be Chromium: apt-get install chromium")
        pytest.skip("Chromium is not installed")
    return found


@asynccontextmanager
async def launch_browser(folder: Path) -> AsyncIterator[Browser]:
    """Start Chromium with its profile in `folder`."""
    output = {"stdout": asyncio.subprocess.DEVNULL, "stderr": asyncio.subprocess.DEVNULL}
    process = await asyncio.create_subprocess_exec(
        find_chromium(), *CHROMIUM_FLAGS, f"--user-data-dir={folder}", **output
    )
    try:
        port, path = await _devtools_address(process, folder / "DevToolsActivePort")
        devtools_url = f"ws://127.0.0.1:{port}{path}"
        async with aiohttp.ClientSession() as session, session.ws_connect(devtools_url, max_msg_size=0) as socket:
            yield Browser(process, socket)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _devtools_address(process: asyncio.subprocess.Process, file: Path) -> tuple[str, str]:
    """Wait until Chromium has written its DevTools address; return port and path."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        lines = await asyncio.to_thread(_read_lines, file)
        if len(lines) == 2:
            return lines[0], lines[1]
        assert process.returncode is None, "Chromium ended before it was ready."
        assert time.monotonic() < deadline, "Chromium never was ready."
        await asyncio.sleep(0.03)


def _read_lines(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []
