"""The screen Setup before a real desk whose platforms are all here, on a clock that stands still."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from copydesk.desk import Desk, open_desk
from copydesk.settings import load
from copydesk.tui.app import Console
from desk_fixtures import NOW, ONE, Web, add, entry, feed
from held_answers import DEADLINE
from signing_in_platforms import both
from tui_fixtures import Seen, settled

Furnish = Callable[[Desk], Awaitable[None]]
LATER = NOW + timedelta(hours=2)


@asynccontextmanager
async def setup_desk(home: Path, *, plain: bool = True) -> AsyncIterator[Desk]:
    """The desk in `home`, whose keys are kept in a plain file, or in an encrypted one."""
    named = {"COPYDESK_SECRETS__KEYRING": "false", "COPYDESK_SECRETS__PLAIN": f"{plain}".lower()}
    web = Web()
    web.put(ONE, feed(*(entry(number, hours=number) for number in range(1, 4)), title="The Ferry Gazette"))
    async with open_desk(load(named, home), clock=lambda: NOW, transport=web, platforms=both()) as desk:
        yield desk


def setup_console(home: Path, *, plain: bool = True) -> Console:
    """The console of the desk in `home`."""
    return Console(lambda: setup_desk(home, plain=plain), clock=lambda: LATER)


async def furnished(desk: Desk) -> None:
    """Two accounts, one of which is in trouble; a voice; drafts."""
    await desk.accounts.connect("keyed", {"handle": "harbour", "password": "open"})
    await desk.accounts.connect("keyed", {"handle": "locked", "password": "open"})
    await desk.voice.update(
        {
            "style": "Plain words.\nNo hype.",
            "avoid": ["game-changer", "unlock"],
            "examples": ["A ferry is a road that moves.", "Two lines,\none thought."],
            "formats": {"SHORT": {"hashtags": 1, "emoji": "never"}},
        }
    )
    await desk.schedule.set_zone("Europe/Prague")
    await add(desk)
    await desk.pipeline.run()


@asynccontextmanager
async def on_setup(
    home: Path,
    furnish: Furnish | None = None,
    *,
    size: tuple[int, int] = (120, 36),
    key: str = "6",
    plain: bool = True,
) -> AsyncIterator[Seen]:
    """The screen Setup of a desk that was furnished so, or another screen."""
    if furnish is not None:
        async with setup_desk(home) as desk:
            await furnish(desk)
    app = setup_console(home, plain=plain)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        seen = Seen(app, pilot)
        await seen.press(key)
        yield seen


async def write(seen: Seen, text: str) -> None:
    """Type a text into what has the focus."""
    names = {"\n": "enter"}
    for letter in text:
        seen.app.simulate_key(names.get(letter, letter))
    await seen.wait()


async def until(seen: Seen, words: str) -> None:
    """Wait until this is on the screen, or in a toast."""
    await _so(seen, lambda: words in seen.text or any(words in said for said in seen.toasts), words, seen.wait)
    await seen.wait()  # what is said in a toast may have to be read yet


async def asked(seen: Seen, words: str) -> None:
    """As `until`, while somebody waits for an answer: the console does not come to rest."""
    await _so(seen, lambda: words in seen.text, words, seen._pilot.pause)


async def answer(seen: Seen, text: str) -> None:
    """As `write`, for `asked`."""
    names = {"\n": "enter", "\t": "tab"}
    for letter in text:
        await seen._pilot.press(names.get(letter, "space" if letter == " " else letter))


async def gone(seen: Seen, words: str) -> None:
    """Wait until this is on the screen no more."""
    await _so(seen, lambda: words not in seen.text, words, seen.wait)


async def _so(seen: Seen, is_so: Callable[[], bool], words: str, wait: Callable[[], Awaitable[None]]) -> None:
    try:
        async with asyncio.timeout(DEADLINE):
            while not is_so():
                await wait()
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"{words!r}:\n{seen.text}\n{seen.toasts}") from None
