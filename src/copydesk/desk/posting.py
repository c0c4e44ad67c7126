"""Drafts go out: what is posted now, what is on its way, and what the user says where it cannot be told."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection

from copydesk.desk.clockwork import Clockwork
from copydesk.desk.delivery_decisions import DOUBTFUL, OVER, Decision, decide, kept_delivery, looked_for
from copydesk.desk.figures import read_figures
from copydesk.desk.ground import Ground
from copydesk.desk.letting_go import Meant, post_now
from copydesk.desk.material import apart, draft_post
from copydesk.desk.planning import digest_of, standing
from copydesk.desk.previewing import post_of, preview
from copydesk.desk.sending import SAME_TEXT, Sender
from copydesk.desk.stopping import broken_rules
from copydesk.desk.telling import report_of, told
from copydesk.model.account import ConnectedAccount
from copydesk.model.delivery import ENDED, State
from copydesk.model.draft import Format, ListedDraft, plain
from copydesk.model.posting import DeliveryReport, PostResult, Preview, Price, Stop
from copydesk.posting import delivery as may
from copydesk.posting.cost import cost
from copydesk.posting.platform import Trust
from copydesk.store import accounts, changes, deliveries, delivery_changes, lists
from copydesk.store.deliveries import KeptDelivery, Told

T = TypeVar("T")
WAIT = 30.0
"""Seconds that `post` waits for the end of its deliveries."""
LOOK = 0.1
LATELY = timedelta(days=7)


class Posting:
    """What goes out of one desk, and what became of it."""

    def __init__(self, ground: Ground, clock: Clockwork) -> None:
        self._ground = ground
        self._clock = clock
        self._sender = Sender(ground)
        self._under_way: set[asyncio.Task[Any]] = set()

    async def post(self, draft_id: str, platforms: Sequence[str] = (), *, wait: float = WAIT) -> PostResult:
        """Post a draft now, to these platforms or accounts, or to all that are connected and where it is not live yet.

        Answers when every delivery has ended or after `wait` seconds; what is under way then is gone on with by
        itself. Raises InvalidError for a name that is none, NotFoundError, ConflictError.
        """
        now, meant = self._ground.clock(), self._ground.meant
        begun = await self._ground.write(post_now, draft_id, tuple(platforms), now, meant)
        await self._wait_for(draft_id, begun, wait)
        return await self._ground.read(_result, draft_id, begun)

    async def send_due(self) -> tuple[DeliveryReport, ...]:
        """Do what can be done about every delivery; what became of each of them.

        Nothing is done while the clock is in doubt: how long ago something was sent is told by it.
        """
        if await self._clock.doubt():
            return ()
        touched = await self._shielded(self._sender.send_due)
        reports = [await self._report(delivery_id) for delivery_id in touched]
        return tuple(report for report in reports if report)

    async def deliveries(self, draft_id: str) -> tuple[DeliveryReport, ...]:
        """Where a draft went, and what became of it there; NotFoundError."""
        kept = await self._ground.read(_of_draft, draft_id)
        return tuple(report_of(each) for each in kept)

    async def unsettled(self) -> tuple[DeliveryReport, ...]:
        """Every delivery that has not ended, and those that came to nothing in the last days, oldest first."""
        since = self._ground.clock() - LATELY
        return tuple(report_of(each) for each in await self._ground.read(deliveries.unsettled, since))

    async def delivery(self, delivery_id: str) -> tuple[DeliveryReport, tuple[Told, ...]]:
        """One delivery and everything that happened to it; NotFoundError."""
        kept, events = await self._ground.read(_told, delivery_id)
        return report_of(kept), events

    async def look(self, delivery_id: str) -> DeliveryReport:
        """Look now for a delivery of which it is not known whether it arrived."""
        await self._decide(delivery_id, Decision("you had it looked for", DOUBTFUL, looked_for))
        await self.send_due()
        return (await self.delivery(delivery_id))[0]

    async def mark_posted(self, delivery_id: str, url: str = "") -> DeliveryReport:
        """Take the user's word for it that all of a delivery is there."""
        said = partial(may.marked_as_posted, url=url)
        await self._decide(delivery_id, Decision("you said that it is there", DOUBTFUL | OVER, said))
        return (await self.delivery(delivery_id))[0]

    async def send_again(self, delivery_id: str, *, wait: float = WAIT) -> DeliveryReport:
        """Send what is missing of a delivery, because the user looked or wants the same text twice."""
        possible = OVER | {State.NEEDS_USER}
        trust = await self._trust(delivery_id)
        again = Decision("you had it sent again", possible, may.sent_again, anew=True, trust=trust)
        kept = await self._decide(delivery_id, again)
        await self._wait_for(kept.draft_id, (delivery_id,), wait)
        return (await self.delivery(delivery_id))[0]

    async def give_up(self, delivery_id: str) -> DeliveryReport:
        """Leave a delivery as it is."""
        possible = DOUBTFUL | {State.PLANNED}
        await self._decide(delivery_id, Decision("you gave it up", possible, may.given_up))
        return (await self.delivery(delivery_id))[0]

    async def stops(self, draft_id: str, platforms: Sequence[str] = ()) -> tuple[Stop, ...]:
        """What would stop a draft from being posted as it is; nothing is asked of the network."""
        draft, to = await self._ground.read(_draft_and_accounts, draft_id, tuple(platforms), self._ground.meant)
        post, digest = draft_post(draft, self._ground.clock()), digest_of(draft.text)
        every = await self._ground.read(_of_draft, draft_id)
        found: list[Stop] = []
        for account in to:
            platform = self._ground.platform(account.details.platform)
            problems = await apart(post, platform.problems, post, account.details)
            of_thread = len(post.parts) > 1
            found += [
                Stop(account=account.label, message=each.message, part=each.part if of_thread else None)
                for each in problems
            ]
            since = self._ground.clock() - SAME_TEXT
            before = await self._ground.read(deliveries.same_text, draft_id, digest, account.id, since)
            own = broken_rules(post, self._ground.settings.posting)
            others = [*own, account.trouble, before and f"The same text went out there on {before:%-d %B}."]
            kept = standing(every, account)
            others += [told(kept)] if kept and kept.progress.doubt and kept.progress.state in ENDED else []
            found += [Stop(account=account.label, message=says) for says in others if says]
        return tuple(found)

    async def preview(
        self,
        text: str,
        format: Format,
        platforms: Sequence[str] = (),
        *,
        tags: Sequence[str] = (),
        alts: Sequence[str] = (),
    ) -> tuple[Preview, ...]:
        """How a text that is no draft yet would stand on each account that is meant; nothing is asked of the network.

        Without an account those of the usual platforms stand in for them. `alts` are the pictures' descriptions.
        """
        post = await asyncio.to_thread(post_of, self._ground, text, format, tags, alts)
        return await preview(self._ground, post, platforms)

    async def read_figures(self) -> int:
        """Read what the platforms report of posts, where that is due; of how many."""
        return await read_figures(self._ground)

    async def refresh_figures(self, draft_ids: Sequence[str]) -> int:
        """Read now what the platforms report of these drafts' posts, and what is due; of how many that was possible."""
        await self._ground.write(delivery_changes.measure_now, draft_ids, self._ground.clock())
        return await read_figures(self._ground)

    async def prices(self, draft_id: str, platforms: Sequence[str] = ()) -> tuple[Price, ...]:
        """What posting a draft costs, account by account; nothing of those that cost nothing."""
        draft, to = await self._ground.read(_draft_and_accounts, draft_id, tuple(platforms), self._ground.meant)
        post = draft_post(draft, self._ground.clock())
        every = [(each, cost(self._ground.platform(each.details.platform), post, each.details)) for each in to]
        return tuple(
            Price(account=each.label, amount=f"{price.amount.normalize():f}", currency=price.currency)
            for each, price in every
            if price
        )

    async def finish(self) -> None:
        """Wait for what is being sent this moment."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def _wait_for(self, draft_id: str, these: Sequence[str], wait: float) -> None:
        """Send, until these deliveries have ended, have to wait longer, or `wait` seconds are over."""
        if await self._clock.doubt():
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + wait
        task = self._begin(self._sender.send_due)
        while True:
            await asyncio.wait([task], timeout=max(0.0, until - loop.time()))
            if not task.done() or loop.time() >= until:
                return
            task.result()
            now, left = self._ground.clock(), until - loop.time()
            every = await self._ground.read(_of_draft, draft_id)
            if not any(kept.id in these and _at_hand(kept, now, left) for kept in every):
                return
            await asyncio.sleep(LOOK)
            task = self._begin(self._sender.send_due)

    def _begin(self, work: Callable[[], Coroutine[object, object, T]]) -> "asyncio.Task[T]":
        task = asyncio.create_task(work())
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _shielded(self, work: Callable[[], Coroutine[object, object, T]]) -> T:
        """Carry out `work` to its end even where the caller is cancelled: `finish` waits for it."""
        return await asyncio.shield(self._begin(work))

    async def _report(self, delivery_id: str) -> DeliveryReport | None:
        kept = await self._ground.read(deliveries.one, delivery_id)
        return report_of(kept) if kept else None

    async def _trust(self, delivery_id: str) -> Trust:
        """How far the platform of a delivery can be relied on; NotFoundError."""
        kept = await self._ground.read(kept_delivery, delivery_id)
        account = await self._ground.read(accounts.one, kept.account_id) if kept.account_id else None
        return self._ground.platform(kept.platform).trust(account.details) if account else Trust()

    async def _decide(self, delivery_id: str, decision: Decision) -> KeptDelivery:
        return await self._ground.write(decide, delivery_id, decision, self._ground.clock())


def _result(conn: Connection, user_id: str, draft_id: str, begun: Sequence[str]) -> PostResult:
    every = [kept for kept in deliveries.of_draft(conn, user_id, draft_id) if kept.id in begun]
    shown = lists.one(conn, user_id, draft_id)
    if shown is None:
        raise changes.no_draft(draft_id)
    return PostResult(
        posted=tuple(kept.label for kept in every if kept.progress.state is State.SENT),
        failed=tuple(kept.label for kept in every if kept.progress.state in OVER),
        under_way=tuple(kept.label for kept in every if kept.progress.state not in ENDED),
        draft=plain(shown),
    )


def _told(conn: Connection, user_id: str, delivery_id: str) -> tuple[KeptDelivery, tuple[Told, ...]]:
    return kept_delivery(conn, user_id, delivery_id), deliveries.events(conn, user_id, delivery_id)


def _of_draft(conn: Connection, user_id: str, draft_id: str) -> tuple[KeptDelivery, ...]:
    changes.one_seen(conn, user_id, draft_id)
    return deliveries.of_draft(conn, user_id, draft_id)


def _draft_and_accounts(
    conn: Connection, user_id: str, draft_id: str, platforms: tuple[str, ...], meant: Meant
) -> tuple[ListedDraft, tuple[ConnectedAccount, ...]]:
    shown = lists.one(conn, user_id, draft_id)
    if shown is None:
        raise changes.no_draft(draft_id)
    return shown, meant(accounts.every(conn, user_id), platforms or shown.target_platforms, shown.format)


def _at_hand(kept: KeptDelivery, now: datetime, seconds: float) -> bool:
    """Whether something can be done about a delivery within so many seconds."""
    progress = kept.progress
    if progress.state in ENDED or progress.state is State.NEEDS_USER:
        return False
    if progress.state is State.PLANNED and progress.error and progress.not_before is None:
        return False  # it waits for the account to be connected again
    return progress.not_before is None or (progress.not_before - now).total_seconds() < seconds
