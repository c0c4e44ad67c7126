"""A real browser: headless Chromium, driven by its DevTools protocol, in which a test opens the console's page."""

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

PATIENCE = 60.0
"""Seconds; a page is there in two on an idle machine."""
SWITCHES = (
    "--headless=new",
    "--no-sandbox",  # CI is root, in a container of its own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no test asks the world
)
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "Backspace": 8, "ArrowDown": 40}
"""The keys that type nothing, by their numbers."""
CTRL = 2
CATCH = """
    Object.defineProperty(Object.prototype, "_core", {
        configurable: true,
        set(core) {
            Object.defineProperty(this, "_core", {value: core, writable: true, configurable: true});
            if (this.loadAddon) window.terminalSeen = this;
        },
    });
"""
"""Catches xterm.js's Terminal, which the page keeps to itself, when it is made."""
GONE = ("Inspected target navigated or closed", "Execution context was destroyed", "Cannot find context")
"""What Chromium says of a script whose page gave way to another before it had run."""
SCREEN = """(() => {
    const seen = window.terminalSeen, lines = seen?.buffer.active;
    const text = (_, row) => lines.getLine(row).translateToString(true, 0, seen.cols);
    return lines ? Array.from({length: seen.rows}, text) : [];
})()"""
BOX = """(() => {
    const box = document.querySelector(".xterm-screen").getBoundingClientRect();
    return [box.x, box.y, box.width / terminalSeen.cols, box.height / terminalSeen.rows];
})()"""


class GaveWayError(Exception):
    """The page a script was to run in has given way to another."""


class Page:
    """A tab."""

    def __init__(self, browser: "Browser", target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self._session = session

    async def send(self, method: str, **params: Any) -> Any:
        """Give a command of the DevTools protocol to this tab."""
        return await self._browser.send(method, session=self._session, **params)

    async def run(self, script: str) -> Any:
        """What an expression of JavaScript gives in the page."""
        done = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    async def text(self) -> str:
        """All that can be read in the page: the terminal's lines, and what stands around it. Between two, nothing."""
        try:
            return "\n".join(await self.run(SCREEN)) + "\n" + await self.run("document.body?.innerText ?? ''")
        except GaveWayError:
            return ""

    async def wait_for(self, pattern: str) -> str:
        """Wait until this can be read in the page; all that can be then."""
        until = time.monotonic() + PATIENCE
        while not re.search(pattern, shown := await self.text()):
            assert time.monotonic() < until, f"{pattern} never came:\n{shown}"
            await asyncio.sleep(0.03)
        return shown

    async def write(self, text: str) -> None:
        """Type a text, key by key; what has no key comes as from a picker."""
        for letter in text:
            if letter.isascii():
                await self._key(key=letter, text=letter)
            else:
                await self.send("Input.insertText", text=letter)

    async def press(self, *keys: str) -> None:
        """Press keys: the named ones, single letters, and `ctrl+` with a letter."""
        for key in keys:
            if key.startswith("ctrl+"):
                letter = key.removeprefix("ctrl+")
                await self._key(key=letter, windowsVirtualKeyCode=ord(letter.upper()), modifiers=CTRL)
            elif key in KEYS:
                await self._key(key=key, windowsVirtualKeyCode=KEYS[key])
            else:
                await self.write(key)

    async def _key(self, **key: Any) -> None:
        await self.send("Input.dispatchKeyEvent", type="keyDown", **key)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **{name: key[name] for name in key if name != "text"})

    async def click(self, words: str) -> None:
        """Click where these words are on the terminal, at the first place."""
        await self.wait_for(re.escape(words))
        lines = await self.run(SCREEN)
        row = next(row for row, line in enumerate(lines) if words in line)
        left, top, width, height = await self.run(BOX)
        await self._click(left + (lines[row].index(words) + 0.5) * width, top + (row + 0.5) * height)

    async def click_on(self, selector: str) -> None:
        """Click on an element of the page, when it can be seen."""
        box = f"document.querySelector({selector!r}).getBoundingClientRect()"
        until = time.monotonic() + PATIENCE
        while not await self.run(f"{box}.width"):
            assert time.monotonic() < until, f"{selector} never came."
            await asyncio.sleep(0.03)
        await self._click(await self.run(f"{box}.x + {box}.width / 2"), await self.run(f"{box}.y + {box}.height / 2"))

    async def _click(self, x: float, y: float) -> None:
        at = {"x": x, "y": y}
        await self.send("Input.dispatchMouseEvent", type="mouseMoved", **at)
        for what in ("mousePressed", "mouseReleased"):
            await self.send("Input.dispatchMouseEvent", type=what, button="left", clickCount=1, **at)

    async def resize(self, width: int, height: int) -> None:
        """Give the page another size, in pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.send("Emulation.setDeviceMetricsOverride", **size)

    async def picture(self, path: Path) -> None:
        """Keep what the page looks like, as PNG."""
        shot = await self.send("Page.captureScreenshot", format="png")
        await asyncio.to_thread(path.write_bytes, base64.b64decode(shot["data"]))

    async def close(self) -> None:
        """Close the tab."""
        await self._browser.send("Target.closeTarget", targetId=self._target)


class Browser:
    """Chromium, with an empty profile of its own."""

    def __init__(self, process: asyncio.subprocess.Process, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._process = process
        self._socket = socket
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self._socket:
            said = message.json()
            if (answer := self._answers.pop(said.get("id"), None)) is not None and not answer.done():
                answer.set_result(said)

    async def send(self, method: str, *, session: str | None = None, **params: Any) -> Any:
        """Give a command of the DevTools protocol; what it gives back."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        to = {"sessionId": session} if session else {}
        await self._socket.send_json({"id": number, "method": method, "params": params} | to)
        said = await asyncio.wait_for(answer, PATIENCE)
        if any(word in said.get("error", {}).get("message", "") for word in GONE):
            raise GaveWayError(method, said)
        assert "error" not in said, (method, said)
        return said["result"]

    async def open(self, address: str, size: tuple[int, int] = (1200, 800), *, first: str = "") -> Page:
        """Open an address in a tab of its own; the script `first` is run before those of the page."""
        target = (await self.send("Target.createTarget", url="about:blank"))["targetId"]
        page = await self._attach(target)
        await page.resize(*size)
        await page.send("Emulation.setFocusEmulationEnabled", enabled=True)
        await page.send("Page.enable")
        await page.send("Page.addScriptToEvaluateOnNewDocument", source=CATCH + first)
        await page.send("Page.navigate", url=address)
        return page

    async def _attach(self, target: str) -> Page:
        attached = await self.send("Target.attachToTarget", targetId=target, flatten=True)
        return Page(self, target, attached["sessionId"])

    async def opened(self, address: str) -> Page:
        """Wait until a tab shows this address, whoever opened it."""
        until = time.monotonic() + PATIENCE
        while True:
            targets = (await self.send("Target.getTargets"))["targetInfos"]
            for target in targets:
                if target["url"] == address:
                    return await self._attach(target["targetId"])
            assert time.monotonic() < until, targets
            await asyncio.sleep(0.03)

    async def kill(self) -> None:
        """Kill it, as a machine that runs out of memory does."""
        self._process.kill()
        await self._process.wait()


def program() -> str:
    """Where Chromium is. Without it the test is skipped, but never in CI."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("In CI there has to be Chromium: apt-get install chromium")
        pytest.skip("Chromium is not installed")
    return found


@asynccontextmanager
async def real_browser(folder: Path) -> AsyncIterator[Browser]:
    """Chromium, whose profile is in `folder`."""
    quiet = {"stdout": asyncio.subprocess.DEVNULL, "stderr": asyncio.subprocess.DEVNULL}
    process = await asyncio.create_subprocess_exec(program(), *SWITCHES, f"--user-data-dir={folder}", **quiet)
    try:
        port, path = await _devtools(process, folder / "DevToolsActivePort")
        commands = f"ws://127.0.0.1:{port}{path}"
        async with aiohttp.ClientSession() as session, session.ws_connect(commands, max_msg_size=0) as socket:
            yield Browser(process, socket)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _devtools(process: asyncio.subprocess.Process, file: Path) -> tuple[str, str]:
    """The port and the path at which Chromium takes commands, once it says so."""
    until = time.monotonic() + PATIENCE
    while True:
        said = await asyncio.to_thread(_words, file)
        if len(said) == 2:
            return said[0], said[1]
        assert process.returncode is None, "Chromium ended before it was ready."
        assert time.monotonic() < until, "Chromium never was ready."
        await asyncio.sleep(0.03)


def _words(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []
