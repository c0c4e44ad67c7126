"""What the strict parser refuses -> what feedparser makes of it, in a process that is killed at its deadline."""

import asyncio
import os
import re
import sys
from pathlib import Path
from weakref import WeakKeyDictionary

import msgspec

import copydesk
from copydesk.errors import NotAFeedError, TooSlowError
from copydesk.ingest.raw import RawFeed

DEADLINE = 2.0
"""Seconds that feedparser has for one feed, once it is loaded."""
LOADING = 15.0
"""Seconds for loading it: it takes a fifth of one, but the machine may be busy."""
AT_ONCE = 2
"""Processes at a time: each takes some 40 MB, and there are rarely more idle cores."""
MAX_ATTRIBUTES = 1_000
"""Of one tag: the time that feedparser takes grows with their square."""

_LONG_TAG = re.compile(rb"<[^<>]{4000,}")
_KEPT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG")
_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def parse_slow(body: bytes, max_entries: int) -> RawFeed:
    """What feedparser makes of `body`, which is in UTF-8.

    Raises TooSlowError at the deadline, NotAFeedError for what is no feed or ends the process.
    """
    if any(tag.count(b"=") > MAX_ATTRIBUTES for tag in _LONG_TAG.findall(body)):
        raise NotAFeedError(f"The feed is damaged: it has a tag with more than {MAX_ATTRIBUTES} attributes.")
    async with _slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE)):
        answer = await _ask(body, max_entries)
    feed = msgspec.msgpack.decode(answer, type=RawFeed | None) if answer else None
    if feed is None:
        raise NotAFeedError("The answer is not a feed, or too damaged to be read as one.")
    return feed


async def _ask(body: bytes, max_entries: int) -> bytes:
    """What the process prints; nothing if it fails. It never outlives this call."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "copydesk.ingest.looseparser", str(max_entries)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=_environment(),
        cwd=Path(copydesk.__file__).anchor,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(LOADING):
            await process.stdout.read(1)
        async with asyncio.timeout(DEADLINE):
            answer, _ = await process.communicate(body)
    except TimeoutError:
        raise TooSlowError("The feed is damaged, and repairing it took too long.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return answer if process.returncode == 0 else b""


def _environment() -> dict[str, str]:
    """Enough to find the same modules; no secret of ours is in the process that reads hostile input."""
    package = str(Path(copydesk.__file__).parent.parent)
    places = [package, *(str(Path(place).absolute()) for place in sys.path if place)]
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(places))}
