"""Opening links in the user's browser."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from copydesk.settings import ENVIRONMENT_PREFIX
from copydesk.tui import labels

if TYPE_CHECKING:
    from textual.app import App

_OPEN_SCRIPT = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"
BROWSER_TIMEOUT = 5.0
"""Seconds after which a browser process that has not exited is assumed to have opened the link."""


def is_link(url: str | None) -> bool:
    """Return True for an http or https address; nothing else is ever passed to a browser."""
    if not url or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


async def open_link(app: "App[int]", url: str) -> bool:
    """Open the link in the user's browser, or in the one that shows the console; return False if there is none."""
    if app.is_web:
        app.open_url(url)
        return True
    return await open_in_browser(url)


async def open_or_show_link(app: "App[int]", url: str) -> None:
    """Open the link; if that fails, show its address in a notification."""
    if not await open_link(app, url):
        app.notify(labels.browser_missing(url), severity="warning")


async def open_in_browser(url: str) -> bool:
    """Open the link; return False if there is no browser.

    The browser runs in a separate process without this terminal: anything it prints would land on the screen, and a
    browser that runs in a terminal would take the keys.
    """
    arguments = (sys.executable, "-c", _OPEN_SCRIPT, url)
    process = await asyncio.create_subprocess_exec(
        *arguments, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True, env=_environment()
    )
    try:
        return await asyncio.wait_for(process.wait(), BROWSER_TIMEOUT) == 0
    except TimeoutError:
        return True


def _environment() -> dict[str, str]:
    """Return the environment without Copydesk's own variables, which hold secrets."""
    return {name: value for name, value in os.environ.items() if not name.upper().startswith(ENVIRONMENT_PREFIX)}
