"""The one path on which something is sent: whoever asks, the tick, the user or a service, goes this way.

    claim the account ─▶ settle what is sent and keep it ─▶ the first byte ─▶ keep what came of it

Each account is claimed by one sender at a time, so that its posts go out in order; accounts go side by side. What is
kept is a compare-and-set on what was seen: a sender that was taken for dead and lives finds that out, and its result
is left to the look that the other one takes.
"""

import asyncio
import logging
from datetime import timedelta

from msgspec.structs import replace
from sqlalchemy import Connection

from copydesk.desk.claiming import LEASE, claimed
from copydesk.desk.ended import keep
from copydesk.desk.grace import too_late
from copydesk.desk.ground import Ground
from copydesk.desk.keys import trouble_of
from copydesk.desk.material import Material, apart, material_of
from copydesk.desk.stopping import broken_rules
from copydesk.errors import CopydeskError, InvalidError, StoreError
from copydesk.model.account import ConnectedAccount
from copydesk.model.delivery import Delivery, Intent, Made, State
from copydesk.posting import delivery as may
from copydesk.posting.delivery import Move
from copydesk.posting.platform import (
    LoginError,
    NotSentError,
    Platform,
    RefusedPostError,
    Trust,
    UnknownOutcomeError,
)
from copydesk.secrets.redaction import KNOWN
from copydesk.store import accounts, deliveries
from copydesk.store.deliveries import KeptDelivery
from copydesk.store.delivery_changes import Happened

log = logging.getLogger(__name__)
LONGEST = (LEASE - timedelta(minutes=1)).total_seconds()
"""Seconds that sending may take: nobody else may take the account over while a request is still to leave."""
SIDE_BY_SIDE = 32
"""Accounts at once."""
SAME_TEXT = timedelta(days=30)
"""For so long the same text is not sent again to an account without being asked."""


class Sender:
    """What sends the deliveries of one desk."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._slots = asyncio.Semaphore(SIDE_BY_SIDE)

    async def send_due(self) -> tuple[str, ...]:
        """Do what can be done now about every delivery; the ids of those that something was done about.

        Raises StoreError; what was begun then is taken up again by the next call, whichever process makes it.
        """
        now = self._ground.clock()
        ready = await self._ground.read(deliveries.accounts_ready, now)
        ends = await asyncio.gather(*(self._send_to(account_id) for account_id in ready), return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end
        return tuple(delivery_id for end in ends if not isinstance(end, BaseException) for delivery_id in end)

    async def _send_to(self, account_id: str) -> list[str]:
        """Do what can be done now about the deliveries to one account, unless somebody else is at it."""
        async with self._slots, claimed(self._ground, account_id) as claim_id:
            return [] if claim_id is None else await self._work_off(account_id, claim_id)

    async def _work_off(self, account_id: str, claim_id: str) -> list[str]:
        done: dict[str, None] = {}
        while True:
            ready = await self._ground.read(deliveries.ready, account_id, self._ground.clock())
            todo = [kept for kept in ready if kept.id not in done]
            account = await self._ground.read(accounts.one, account_id)
            if account is not None and account.trouble:
                todo = [kept for kept in todo if kept.progress.state is State.SENDING]
            if not todo or account is None:
                return list(done)
            try:
                platform = self._ground.platform(account.details.platform)
            except InvalidError:
                log.warning("This Copydesk does not know %s; nothing is sent there", account.label)
                return list(done)
            errand = _Errand(self._ground, platform, account, claim_id)
            for kept in todo:
                done[kept.id] = None
                if not await errand.run(kept):
                    break


class _Errand:
    """What one sender does about the deliveries to one account."""

    def __init__(self, ground: Ground, platform: Platform, account: ConnectedAccount, claim_id: str) -> None:
        self._ground = ground
        self._platform = platform
        self._account = account
        self._claim_id = claim_id
        self._trouble = ""

    async def run(self, delivery: KeptDelivery) -> bool:
        """Send and look until there is nothing to be done now; False where nothing can go to the account any more."""
        kept: KeptDelivery | None = delivery
        while kept is not None:
            progress = kept.progress
            if progress.state is State.SENDING:
                # Nobody else is at the account: whoever sent it is gone, and nobody knows whether it arrived.
                kept = await self._keep(kept, may.broken_off(progress, self._ground.clock()), "broken off")
                continue
            match may.next_move(progress, self._trust(kept), self._ground.clock()):
                case Move.SEND:
                    kept = await self._send(kept)
                case Move.LOOK:
                    kept = await self._look(kept)
                case Move.WAIT:
                    kept = None
            if self._trouble:
                await self._ground.write(accounts.set_trouble, self._account, self._trouble)
                return False
        return True

    async def _send(self, kept: KeptDelivery) -> KeptDelivery | None:
        """Send the first missing step."""
        if says := too_late(kept, self._ground.clock(), self._ground.settings.schedule):
            return await self._keep(kept, may.given_up(kept.progress, says), "too late", says)
        try:
            material = await material_of(self._ground, kept, self._platform.limits)
            intent = kept.intent or await self._settled(kept, material)
        except StoreError:
            raise
        except Exception as error:
            return await self._keep(kept, self._unsent(kept.progress, error), _named(error), _words(error))
        under_way = await self._ground.write_through(self._begin, kept, intent)
        if under_way is None:
            return None
        progress, details = under_way.progress, self._account.details
        try:
            async with asyncio.timeout(LONGEST):
                made = await self._platform.send(details, intent, progress.made, material.pictures)
        except TimeoutError:
            says = f"{details.platform} took too long to answer."
            lost = may.lost(progress, says, self._ground.clock())
            return await self._keep(under_way, lost, "unknown outcome", says)
        except Exception as error:
            return await self._keep(under_way, self._after(progress, error), _named(error), _words(error))
        return await self._keep(under_way, may.made_step(progress, made), "made")

    async def _settled(self, kept: KeptDelivery, material: Material) -> Intent:
        """What is sent. RefusedPostError for what would not be taken, or went out lately."""
        post, account = material.post, self._account.details
        problems = [each.message for each in await apart(post, self._platform.problems, post, account)]
        problems += broken_rules(post, self._ground.settings.posting)
        if problems:
            raise RefusedPostError(" ".join(problems))
        if not kept.anyway:
            since = self._ground.clock() - SAME_TEXT
            same = (kept.draft_id, kept.digest, kept.account_id, since)
            before = await self._ground.read(deliveries.same_text, *same)
            if before is not None:
                says = f"The same text went out there on {before:%-d %B}; nothing was sent."
                raise RefusedPostError(
                    says, hint=f"Change it, or send it all the same: copydesk delivery again {kept.id}"
                )
        intent = await apart(post, self._platform.render, post, account, kept.seed)
        if len(intent.steps) <= len(kept.progress.made):
            raise RefusedPostError("As many posts as it has now are there already; nothing was sent.")
        return intent

    def _begin(self, conn: Connection, user_id: str, kept: KeptDelivery, intent: Intent) -> KeptDelivery | None:
        """Keep that it is sent now, and what; None where somebody else took the account, or the delivery, over."""
        now = self._ground.clock()
        if not accounts.renew(conn, user_id, self._account.id, self._claim_id, now + LEASE):
            return None
        progress = may.sent_now(kept.progress, now, steps=len(intent.steps))
        return keep(conn, user_id, kept, Happened(progress=progress, what="sending", intent=intent), now)

    async def _look(self, kept: KeptDelivery) -> KeptDelivery | None:
        """Look for what the first missing step may have made."""
        progress, details, intent = kept.progress, self._account.details, kept.intent
        if intent is None or progress.first_sent_at is None:
            raise RuntimeError("A delivery is in doubt that was never sent.")
        trust = self._trust(kept)
        if not await self._ground.write(self._renew):
            return None
        try:
            made = await self._platform.look_up(details, intent, progress.made, progress.first_sent_at)
            await self._refuse_anothers(kept, made)
        except LoginError as error:
            self._trouble = says = trouble_of(error, details)
            return await self._keep(kept, may.held(progress, says), "needs login", says)
        except Exception as error:
            says, later = _words(error), getattr(error, "retry_after", None)
            now, jitter = self._ground.clock(), self._jitter()
            after = may.not_found_out(progress, trust, says, now, jitter=jitter, retry_after=later)
            return await self._keep(kept, after, "not found out", says)
        if made is not None:
            return await self._keep(kept, may.made_step(progress, made), "found")
        after = may.absent(progress, trust, self._ground.clock(), jitter=self._jitter())
        return await self._keep(kept, after, "not there")

    def _renew(self, conn: Connection, user_id: str) -> bool:
        return accounts.renew(conn, user_id, self._account.id, self._claim_id, self._ground.clock() + LEASE)

    async def _refuse_anothers(self, kept: KeptDelivery, made: Made | None) -> None:
        """What another draft of the same words has made is not what was looked for."""
        if made is None or not made.ids:
            return
        for other in await self._ground.read(deliveries.alike, kept):
            if any(set(made.ids) & set(each.ids) for each in other.progress.made):
                raise UnknownOutcomeError("The only such post there is that of another draft with the same text.")

    def _trust(self, kept: KeptDelivery) -> Trust:
        """How far the platform can be relied on with the next step. What nobody sees may well be made twice."""
        trust, done = self._platform.trust(self._account.details), len(kept.progress.made)
        hidden = kept.intent is not None and done < len(kept.intent.steps) and kept.intent.steps[done].hidden
        return replace(trust, keyed=True) if hidden else trust

    def _after(self, progress: Delivery, error: Exception) -> Delivery:
        """What a delivery comes to when sending it ends so."""
        says = _words(error)
        match error:
            case LoginError():
                self._trouble = says = trouble_of(error, self._account.details)
                return may.held(progress, says)
            case RefusedPostError():
                return may.refused(progress, says)
            case NotSentError(retry_after=later):
                now = self._ground.clock()
                return may.not_sent(progress, says, now, jitter=self._jitter(), retry_after=later)
            case UnknownOutcomeError():
                return may.lost(progress, says, self._ground.clock())
            case _:
                log.error("Sending to %s ended in an unexpected way", self._account.label, exc_info=error)
                return may.lost(progress, says, self._ground.clock())

    def _unsent(self, progress: Delivery, error: Exception) -> Delivery:
        """What a delivery comes to when it cannot be sent: nothing left this machine."""
        if isinstance(error, LoginError | RefusedPostError | NotSentError):
            return self._after(progress, error)
        log.error("What goes to %s could not be settled", self._account.label, exc_info=error)
        return may.not_sent(progress, _words(error), self._ground.clock(), jitter=self._jitter())

    async def _keep(self, kept: KeptDelivery, progress: Delivery, what: str, says: str = "") -> KeptDelivery | None:
        happened = Happened(progress=progress, what=what, says=says)
        return await self._ground.write(keep, kept, happened, self._ground.clock())

    def _jitter(self) -> float:
        return (self._ground.jitter() + 1) / 2


def _named(error: Exception) -> str:
    """What an error is called among what happened."""
    return error.category.replace("-", " ") if isinstance(error, CopydeskError) else "unexpected"


def _words(error: Exception) -> str:
    """What is told of an error: of one of ours what it says, of another one its kind alone, for it may hold a key.

    A platform may say the key that it does not like.
    """
    ours = isinstance(error, CopydeskError)
    return KNOWN.redact(str(error)) if ours else f"Copydesk did not expect this: {type(error).__name__}."
