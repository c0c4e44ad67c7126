"""A link in the user's browser."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from copydesk.settings import PREFIX

if TYPE_CHECKING:
    from textual.app import App

_OPEN = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"
PATIENCE = 5.0
"""Seconds after which a browser that has not come back is taken to be open."""


def is_link(url: str | None) -> bool:
    """Whether this is an address on the web: nothing else is ever handed to a browser."""
    if not url or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


async def open_link(app: "App[int]", url: str) -> bool:
    """Open the link in the user's browser, which may be the one that shows the console; False where there is none."""
    if app.is_web:
        app.open_url(url)
        return True
    return await browse(url)


async def follow(app: "App[int]", url: str) -> None:
    """Open the link, or show it where that cannot be."""
    if not await open_link(app, url):
        app.notify(f"There is no browser to open {url}", severity="warning")


async def browse(url: str) -> bool:
    """Open the link; False where there is no browser.

    In a process of its own, away from this terminal: what a browser prints would land on the screen, and one that
    runs in a terminal would take the keys.
    """
    arguments = (sys.executable, "-c", _OPEN, url)
    process = await asyncio.create_subprocess_exec(
        *arguments, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True, env=_environment()
    )
    try:
        return await asyncio.wait_for(process.wait(), PATIENCE) == 0
    except TimeoutError:
        return True


def _environment() -> dict[str, str]:
    """Ours without Copydesk's own part, which holds secrets."""
    return {name: value for name, value in os.environ.items() if not name.upper().startswith(PREFIX)}
