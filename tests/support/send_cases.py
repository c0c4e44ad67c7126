"""Run desks with one due draft each against several servers, and check the posts stored at the end.

Time is the senders' own: it starts at DUE and moves on when nothing can be done earlier. Servers take real time, so a
late request gets real time to arrive before the clock moves after a kill.
"""

import asyncio
import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from copydesk.desk import open_desk
from copydesk.desk.publishing.sender import RECHECK_MESSAGE
from copydesk.model.delivery import Delivery
from copydesk.store import accounts
from copydesk.store.column_types import to_microseconds
from copydesk.store.ids import new_id
from copydesk.text.thread import join_parts
from crash_points import DUE
from desk_fixtures import NOW, settings_at
from killed_sender import KILLED, STORE_FAILED, KillRunner, SenderResult
from send_targets import SendCase, SendTarget
from store_fixtures import connect_to, copy_desk, remove_desk

MAX_RUNS = 60
ARRIVAL_DELAY = 0.2
"""Seconds of real time for a killed sender's request to arrive."""
LATE_ARRIVAL = 70.0
"""Seconds of the senders' clock after which a late request arrives; the quiet period is 90."""
_RECORDS = """
SELECT draft.status, draft.post_id, engagement.status, engagement.post_id, delivery.progress
FROM draft JOIN delivery ON delivery.draft_id = draft.id JOIN engagement ON engagement.id = delivery.id
"""
_numbers = itertools.count(1)


class SendResult(NamedTuple):
    """The result of a case."""

    runs: tuple[SenderResult, ...]
    problems: tuple[str, ...]
    """Descriptions of wrong results; empty if all is well."""

    @property
    def crash_points(self) -> list[str]:
        """The crash points reached, in order, without those of the final check."""
        return [name for run in self.runs[:-1] for name in run.crash_points]

    @property
    def count_after_kill(self) -> int:
        """The number of crash points after the first process was killed."""
        return len(self.crash_points) - len(self.runs[0].crash_points)

    @property
    def kill_count(self) -> int:
        """The number of killed senders."""
        return sum(run.code == KILLED for run in self.runs)


class CaseRunner:
    """Creates cases in a folder and runs them to their end."""

    def __init__(self, folder: Path, killer: KillRunner) -> None:
        self._folder = folder
        self._killer = killer
        self._template: Path | None = None

    async def create_case(self, target: SendTarget, parts: int, now: datetime = NOW) -> SendCase:
        """Create a desk at `now` with a draft of `parts` posts, due a minute later (at DUE by default)."""
        number = next(_numbers)
        home = await self._create_home(number)
        texts = tuple(f"Story {number}, post {part} of {parts}." for part in range(1, parts + 1))
        account = target.account()
        (home / "secrets.json").write_text(json.dumps(target.secrets()), encoding="utf-8")
        fields = {"text": join_parts(list(texts)), "format": "THREAD" if parts > 1 else "SHORT"}
        async with open_desk(settings_at(home), clock=lambda: now) as desk:
            await desk._context.write(accounts.save, new_id(now), account, now)
            created = await desk.drafts.create(fields)
            await desk.drafts.approve(created.drafts[0].id)
            await desk.drafts.schedule(created.drafts[0].id, now + (DUE - NOW))
        return SendCase(home, account, texts, target)

    async def send_once(self, case: SendCase, **how: object) -> list[SenderResult]:
        """Send once, at DUE."""
        return await self._killer.send(replace(case.target.make_order(case.home), **how))

    async def _create_home(self, number: int) -> Path:
        if self._template is None:
            self._template = self._folder / "empty"
            async with open_desk(settings_at(self._template), clock=lambda: NOW):
                pass
        return copy_desk(self._template, self._folder / f"desk{number}")

    async def run_to_end(
        self,
        case: SendCase,
        *,
        kills: Sequence[int] = (),
        kill_after: Sequence[float] = (),
        wrong: str = "",
        **first: object,
    ) -> SendResult:
        """Send until nothing is left to do; return what the server then holds. `first` applies to the first run only.

        `kills` are numbers of crash points: the first from the start, each other one from the kill before it.
        """
        runs: list[SenderResult] = []
        kill_points, delays = list(kills), list(kill_after)
        kill_at, ahead = (kill_points.pop(0) if kill_points else 0), 0.0
        order = replace(case.target.make_order(case.home), wrong=wrong)
        while len(runs) < MAX_RUNS:
            first_options = first if not runs else {}
            delay = delays.pop(0) if delays else 0.0
            run_order = replace(order, ahead=ahead, kill_at=kill_at, kill_after=delay, **first_options)
            results = await self._killer.send(run_order)
            runs += results
            assert {result.code for result in results} <= {0, KILLED, STORE_FAILED}, results
            if results[0].code == KILLED:
                kill_at = kill_points.pop(0) if kill_points and not delay else 0
            elif kill_at:
                kill_at -= len(results[0].crash_points)
            if is_finished(case.home):
                break
            next_at = next_action_at(case.home, ahead)
            if results[0].code == 0 and next_at is None and not results[0].crash_points:
                break
            if results[0].code == 0 and next_at is not None:
                await self._pass_time(case, next_at, in_between=bool(kill_after))
                ahead = next_at
        await case.target.deliver_late(case)
        # Nothing may be sent again a day later.
        runs += await self._killer.send(replace(order, ahead=ahead + 86400))
        problems = tuple(find_problems(case))
        remove_desk(case.home)
        return SendResult(tuple(runs), problems)

    async def _pass_time(self, case: SendCase, until: float, *, in_between: bool) -> None:
        """Let late requests arrive as time passes. None are under way at a crash point."""
        if case.target.over_network and in_between:
            await asyncio.sleep(ARRIVAL_DELAY)
        if until >= LATE_ARRIVAL:
            await case.target.deliver_late(case)


def is_finished(home: Path) -> bool:
    """Return whether the draft has reached a final status."""
    return _query(home, "SELECT status FROM draft") in ([("posted",)], [("approved",)], [("missed",)])


def next_action_at(home: Path, ahead: float) -> float | None:
    """Return the next time something can be done, in seconds after DUE; None if that is now or never."""
    [(not_before,)] = _query(home, "SELECT min(not_before) FROM delivery WHERE state IN ('planned', 'unknown')")
    if not_before is None:
        return None
    seconds = (int(str(not_before)) - to_microseconds(DUE)) / 1e6
    return seconds if seconds > ahead else None


def find_problems(case: SendCase) -> Iterator[str]:
    """Yield wrong results on the server, which counts most, and in the database."""
    posts = case.target.stored_posts(case)
    ours = [post for post in posts if post.text in case.texts]
    for text in case.texts:
        count = [post.text for post in ours].count(text)
        if count != 1:
            yield f"{'lost' if count == 0 else f'{count} times'}: {text}"
    ids = [post.id for text in case.texts for post in ours if post.text == text][: len(case.texts)]
    by_text = {post.text: post for post in ours}
    parents = [by_text[text].parent for text in case.texts if text in by_text]
    if parents != [None, *ids[:-1]]:
        yield "not in order"
    records = _query(case.home, _RECORDS)
    for status, post_id, engagement_status, engagement_post_id, progress in records:
        delivery = msgspec.json.decode(str(progress), type=Delivery)
        if (status, engagement_status) != ("posted", "posted") or delivery.state != "sent":
            yield f"told as {status}, {engagement_status}, {delivery.state}: {delivery.error}"
        if [step_id for step in delivery.results for step_id in step.ids] != ids or {
            post_id,
            engagement_post_id,
        } != set(ids[:1]):
            yield "its own ids are not in the database"
    if len(records) != 1:
        yield f"{len(records)} deliveries"
    # No restore took place, so a mark without its commit would be a false alarm.
    if _query(case.home, f"SELECT 1 FROM delivery_event WHERE says LIKE '{RECHECK_MESSAGE}%'"):
        yield "taken for a restored database"


def _query(home: Path, query: str) -> list[tuple[object, ...]]:
    with closing(connect_to(home)) as connection:
        return connection.execute(query).fetchall()
