"""Desks with one draft each that is due, on accounts of several servers, and what the servers hold at the end.

Time is the senders' own: it begins at DUE and is moved when nothing can be done before that. What a server does takes
real time; so before the time is moved after a kill, a request that is still on its way may arrive.
"""

import asyncio
import itertools
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from sqlite3 import connect as open_sqlite
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from copydesk.desk import open_desk
from copydesk.model.delivery import Delivery
from copydesk.store import accounts
from copydesk.store.ids import new_id
from copydesk.store.types import microseconds
from copydesk.text.thread import join_parts
from desk_fixtures import NOW, settings_at
from doomed_sender import KILLED, NO_STORE, Doom, Ended
from sending_boundaries import DUE
from sending_places import Case, Place

MOST_RUNS = 60
ON_ITS_WAY = 0.2
"""Seconds of real time that a request whose sender was killed gets to arrive."""
LATE = 70.0
"""Seconds of the senders' time after which a late request arrives; the quiet period is 90."""
_KNOWN = """
SELECT draft.status, draft.post_id, engagement.status, engagement.post_id, delivery.progress
FROM draft JOIN delivery ON delivery.draft_id = draft.id JOIN engagement ON engagement.id = delivery.id
"""
_numbers = itertools.count(1)


class Story(NamedTuple):
    """What came of a case."""

    runs: tuple[Ended, ...]
    wrong: tuple[str, ...]
    """What is not as it should be; empty where all is well."""

    @property
    def passed(self) -> list[str]:
        """The boundaries that were reached, in order, until all was over."""
        return [name for run in self.runs[:-1] for name in run.passed]

    @property
    def after_kill(self) -> int:
        """How many of them came after the first process was killed."""
        return len(self.passed) - len(self.runs[0].passed)

    @property
    def kills(self) -> int:
        """How often somebody was killed."""
        return sum(run.code == KILLED for run in self.runs)


class Desks:
    """Makes cases in a folder, and takes them to their end."""

    def __init__(self, folder: Path, doomed: Doom) -> None:
        self._folder = folder
        self._doomed = doomed
        self._empty: Path | None = None

    async def case(self, place: Place, parts: int, now: datetime = NOW) -> Case:
        """A desk made at `now` whose draft, of so many posts, is due a minute later: at DUE, if that is not said."""
        number = next(_numbers)
        home = await self._home(number)
        texts = tuple(f"Story {number}, post {part} of {parts}." for part in range(1, parts + 1))
        account = place.account()
        (home / "secrets.json").write_text(json.dumps(place.secrets()), encoding="utf-8")
        asked = {"text": join_parts(list(texts)), "format": "THREAD" if parts > 1 else "SHORT"}
        async with open_desk(settings_at(home), clock=lambda: now) as desk:
            await desk.ground.write(accounts.connect, new_id(now), account, now)
            made = await desk.drafts.create(asked)
            await desk.drafts.approve(made.drafts[0].id)
            await desk.drafts.schedule(made.drafts[0].id, now + (DUE - NOW))
        return Case(home, account, texts, place)

    async def send_once(self, case: Case, **how: object) -> list[Ended]:
        """Send once, at DUE."""
        return await self._doomed.send(replace(case.place.order(case.home), **how))

    async def _home(self, number: int) -> Path:
        if self._empty is None:
            self._empty = self._folder / "empty"
            async with open_desk(settings_at(self._empty), clock=lambda: NOW):
                pass
        return Path(shutil.copytree(self._empty, self._folder / f"desk{number}"))

    async def to_the_end(
        self,
        case: Case,
        *,
        kills: Sequence[int] = (),
        kill_after: Sequence[float] = (),
        wrong: str = "",
        **first: object,
    ) -> Story:
        """Send until nothing is left to do, and see what the server holds; `first` is for the first run alone.

        `kills` are counts of boundaries: of the first one from the beginning on, of the others from the kill before.
        """
        runs: list[Ended] = []
        counts, delays = list(kills), list(kill_after)
        count, ahead = (counts.pop(0) if counts else 0), 0.0
        order = replace(case.place.order(case.home), wrong=wrong)
        while len(runs) < MOST_RUNS:
            more = first if not runs else {}
            delay = delays.pop(0) if delays else 0.0
            asked = replace(order, ahead=ahead, kill_at=count, kill_after=delay, **more)
            ended = await self._doomed.send(asked)
            runs += ended
            assert {each.code for each in ended} <= {0, KILLED, NO_STORE}, ended
            if ended[0].code == KILLED:
                count = counts.pop(0) if counts and not delay else 0
            elif count:
                count -= len(ended[0].passed)
            if is_over(case.home):
                break
            waits = next_after(case.home, ahead)
            if ended[0].code == 0 and waits is None and not ended[0].passed:
                break
            if ended[0].code == 0 and waits is not None:
                await self._let_pass(case, waits, in_between=bool(kill_after))
                ahead = waits
        await case.place.arrive(case)
        # A day later nothing is sent again.
        runs += await self._doomed.send(replace(order, ahead=ahead + 86400))
        found = tuple(wrong_with(case))
        shutil.rmtree(case.home)
        return Story(tuple(runs), found)

    async def _let_pass(self, case: Case, until: float, *, in_between: bool) -> None:
        """What is on its way gets there while time passes; at a boundary nothing is."""
        if case.place.real and in_between:
            await asyncio.sleep(ON_ITS_WAY)
        if until >= LATE:
            await case.place.arrive(case)


def is_over(home: Path) -> bool:
    """Whether the draft is not on its way any more."""
    return _rows(home, "SELECT status FROM draft") in ([("posted",)], [("approved",)], [("missed",)])


def next_after(home: Path, ahead: float) -> float | None:
    """When something can be done next, in seconds after DUE; None where that is now, or never."""
    [(moment,)] = _rows(home, "SELECT min(not_before) FROM delivery WHERE state IN ('planned', 'unknown')")
    if moment is None:
        return None
    seconds = (int(str(moment)) - microseconds(DUE)) / 1e6
    return seconds if seconds > ahead else None


def wrong_with(case: Case) -> Iterator[str]:
    """What is not as it should be: on the server, which is what counts, and in the database."""
    everything = case.place.held(case)
    ours = [post for post in everything if post.text in case.texts]
    for text in case.texts:
        times = [post.text for post in ours].count(text)
        if times != 1:
            yield f"{'lost' if times == 0 else f'{times} times'}: {text}"
    ids = [post.id for text in case.texts for post in ours if post.text == text][: len(case.texts)]
    by_text = {post.text: post for post in ours}
    parents = [by_text[text].parent for text in case.texts if text in by_text]
    if parents != [None, *ids[:-1]]:
        yield "not in order"
    known = _rows(case.home, _KNOWN)
    for status, post_id, record, recorded, progress in known:
        delivery = msgspec.json.decode(str(progress), type=Delivery)
        if (status, record) != ("posted", "posted") or delivery.state != "sent":
            yield f"told as {status}, {record}, {delivery.state}: {delivery.error}"
        if [each for made in delivery.made for each in made.ids] != ids or {post_id, recorded} != set(ids[:1]):
            yield "its own ids are not in the database"
    if len(known) != 1:
        yield f"{len(known)} deliveries"


def _rows(home: Path, query: str) -> list[tuple[object, ...]]:
    with closing(open_sqlite(home / "copydesk.db")) as connection:
        return connection.execute(query).fetchall()
