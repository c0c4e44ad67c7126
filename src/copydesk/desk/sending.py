"""Send due deliveries. Every send goes through here: the scheduler, "post now" and the HTTP service.

    acquire the account lease -> store the payload and its idempotency key -> send -> store the result

One worker holds an account at a time, so its posts go out in order; accounts run concurrently. Results are stored with
compare-and-set on the delivery's version: a worker that lost its lease cannot overwrite its successor's result.
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
"""Seconds. Shorter than the lease, so that no request starts after another worker may have taken the account."""
SIDE_BY_SIDE = 32
"""Accounts that are processed concurrently."""
SAME_TEXT = timedelta(days=30)
"""Refuse the same text on the same account within this window unless the user forces it."""


class Sender:
    """Worker that sends the deliveries of one desk."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._concurrency = asyncio.Semaphore(SIDE_BY_SIDE)

    async def send_due(self) -> tuple[str, ...]:
        """Process every delivery that is ready; return the ids of those that were touched.

        Raise StoreError if the database fails. Deliveries left in SENDING are resolved by the next call, in any
        process.
        """
        now = self._ground.clock()
        ready = await self._ground.read(deliveries.accounts_ready, now)
        results = await asyncio.gather(
            *(self._process_account(account_id) for account_id in ready), return_exceptions=True
        )
        # Raise only after all accounts were processed: an error of one must not interrupt sending to the others.
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return tuple(
            delivery_id for result in results if not isinstance(result, BaseException) for delivery_id in result
        )

    async def _process_account(self, account_id: str) -> list[str]:
        """Process the account's ready deliveries; return their ids. Skip the account if another worker holds it."""
        async with self._concurrency, claimed(self._ground, account_id) as lease:
            return [] if lease is None else await self._drain(account_id, lease)

    async def _drain(self, account_id: str, lease: str) -> list[str]:
        processed: dict[str, None] = {}
        while True:
            ready = await self._ground.read(deliveries.ready, account_id, self._ground.clock())
            # Each delivery once per drain, or one that stays ready would loop forever.
            pending = [row for row in ready if row.id not in processed]
            account = await self._ground.read(accounts.one, account_id)
            if account is not None and account.trouble:
                # Without a login nothing can be sent, but interrupted requests must still be recorded as unknown.
                pending = [row for row in pending if row.progress.state is State.SENDING]
            if not pending or account is None:
                return list(processed)
            try:
                platform = self._ground.platform(account.details.platform)
            except InvalidError:
                log.warning("This Copydesk does not know %s; nothing is sent there", account.label)
                return list(processed)
            attempt = _Errand(self._ground, platform, account, lease)
            for row in pending:
                processed[row.id] = None
                # The account needs a login: later deliveries would fail too. Read the pending ones again, now without
                # those.
                if not await attempt.run(row):
                    break


class _Errand:
    """One worker's attempt to process a delivery to one account."""

    def __init__(self, ctx: Ground, platform: Platform, account: ConnectedAccount, lease: str) -> None:
        self._ground = ctx
        self._platform = platform
        self._account = account
        self._lease = lease
        self._login_error = ""

    async def run(self, delivery: KeptDelivery) -> bool:
        """Send and look up until nothing can be done now. Return False if the account needs a login first."""
        row: KeptDelivery | None = delivery
        while row is not None:
            progress = row.progress
            if progress.state is State.SENDING:
                # Only one worker holds the account, so the one that was sending is dead and the outcome is unknown.
                row = await self._keep(row, may.broken_off(progress, self._ground.clock()), "broken off")
                continue
            match may.next_move(progress, self._guarantees(row), self._ground.clock()):
                case Move.SEND:
                    row = await self._send(row)
                case Move.LOOK:
                    row = await self._look(row)
                case Move.WAIT:
                    row = None
            if self._login_error:
                await self._ground.write(accounts.set_trouble, self._account, self._login_error)
                return False
        return True

    async def _send(self, row: KeptDelivery) -> KeptDelivery | None:
        """Send the first missing step."""
        if message := too_late(row, self._ground.clock(), self._ground.settings.schedule):
            return await self._keep(row, may.given_up(row.progress, message), "too late", message)
        try:
            payload = await material_of(self._ground, row, self._platform.limits)
            intent = row.intent or await self._settled(row, payload)
        except StoreError:
            raise
        except Exception as error:
            return await self._keep(
                row, self._state_unsent(row.progress, error), _event_name(error), _error_message(error)
            )
        # On disk before the first byte leaves: after a power failure the delivery must not look unsent.
        sending = await self._ground.write_through(self._record_start, row, intent)
        if sending is None:
            return None
        progress, details = sending.progress, self._account.details
        try:
            async with asyncio.timeout(LONGEST):
                result = await self._platform.send(details, intent, progress.made, payload.pictures)
        except TimeoutError:
            # The request has left; the platform may still process it.
            message = f"{details.platform} took too long to answer."
            outcome = may.lost(progress, message, self._ground.clock())
            return await self._keep(sending, outcome, "unknown outcome", message)
        except Exception as error:
            return await self._keep(
                sending, self._state_after_error(progress, error), _event_name(error), _error_message(error)
            )
        return await self._keep(sending, may.made_step(progress, result), "made")

    async def _settled(self, row: KeptDelivery, payload: Material) -> Intent:
        """Validate the payload and render it. Raise RefusedPostError if it is invalid or a recent duplicate."""
        post, account = payload.post, self._account.details
        problems = [problem.message for problem in await apart(post, self._platform.problems, post, account)]
        problems += broken_rules(post, self._ground.settings.posting)
        if problems:
            raise RefusedPostError(" ".join(problems))
        if not row.anyway:
            since = self._ground.clock() - SAME_TEXT
            duplicate_key = (row.draft_id, row.digest, row.account_id, since)
            previous = await self._ground.read(deliveries.same_text, *duplicate_key)
            if previous is not None:
                message = f"The same text went out there on {previous:%-d %B}; nothing was sent."
                raise RefusedPostError(
                    message, hint=f"Change it, or send it all the same: copydesk delivery again {row.id}"
                )
        intent = await apart(post, self._platform.render, post, account, row.seed)
        # After a restart with a shorter thread there may be nothing left to send.
        if len(intent.steps) <= len(row.progress.made):
            raise RefusedPostError("As many posts as it has now are there already; nothing was sent.")
        return intent

    def _record_start(self, conn: Connection, user_id: str, row: KeptDelivery, intent: Intent) -> KeptDelivery | None:
        """Record that the request is about to leave, with its payload; return None if the lease or the
        delivery was lost.
        """
        now = self._ground.clock()
        if not accounts.renew(conn, user_id, self._account.id, self._lease, now + LEASE):
            return None
        progress = may.sent_now(row.progress, now, steps=len(intent.steps))
        return keep(conn, user_id, row, Happened(progress=progress, what="sending", intent=intent), now)

    async def _look(self, row: KeptDelivery) -> KeptDelivery | None:
        """Search the account for a post that the first missing step may have created."""
        progress, details, intent = row.progress, self._account.details, row.intent
        if intent is None or progress.first_sent_at is None:
            raise RuntimeError("A delivery is in doubt that was never sent.")
        guarantees = self._guarantees(row)
        if not await self._ground.write(self._renew):
            return None
        try:
            result = await self._platform.look_up(details, intent, progress.made, progress.first_sent_at)
            await self._check_not_another_draft(row, result)
        except LoginError as error:
            self._login_error = message = trouble_of(error, details)
            return await self._keep(row, may.held(progress, message), "needs login", message)
        except Exception as error:
            message, retry_after = _error_message(error), getattr(error, "retry_after", None)
            now, jitter = self._ground.clock(), self._jitter()
            state = may.not_found_out(progress, guarantees, message, now, jitter=jitter, retry_after=retry_after)
            return await self._keep(row, state, "not found out", message)
        if result is not None:
            return await self._keep(row, may.made_step(progress, result), "found")
        state = may.absent(progress, guarantees, self._ground.clock(), jitter=self._jitter())
        return await self._keep(row, state, "not there")

    def _renew(self, conn: Connection, user_id: str) -> bool:
        return accounts.renew(conn, user_id, self._account.id, self._lease, self._ground.clock() + LEASE)

    async def _check_not_another_draft(self, row: KeptDelivery, result: Made | None) -> None:
        """Raise UnknownOutcomeError if the post that was found belongs to another draft with the same text."""
        if result is None or not result.ids:
            return
        for other in await self._ground.read(deliveries.alike, row):
            if any(set(result.ids) & set(step.ids) for step in other.progress.made):
                raise UnknownOutcomeError("The only such post there is that of another draft with the same text.")

    def _guarantees(self, row: KeptDelivery) -> Trust:
        """Return the platform's guarantees for the next step.

        A hidden step (an upload, for example) may be repeated: nobody sees a duplicate, so it counts as idempotent.
        """
        guarantees, steps_done = self._platform.trust(self._account.details), len(row.progress.made)
        hidden = row.intent is not None and steps_done < len(row.intent.steps) and row.intent.steps[steps_done].hidden
        return replace(guarantees, keyed=True) if hidden else guarantees

    def _state_after_error(self, progress: Delivery, error: Exception) -> Delivery:
        """Return the delivery's new state after sending failed with `error`."""
        message = _error_message(error)
        match error:
            case LoginError():
                self._login_error = message = trouble_of(error, self._account.details)
                return may.held(progress, message)
            case RefusedPostError():
                return may.refused(progress, message)
            case NotSentError(retry_after=retry_after):
                now = self._ground.clock()
                return may.not_sent(progress, message, now, jitter=self._jitter(), retry_after=retry_after)
            case UnknownOutcomeError():
                return may.lost(progress, message, self._ground.clock())
            case _:
                log.error("Sending to %s ended in an unexpected way", self._account.label, exc_info=error)
                return may.lost(progress, message, self._ground.clock())

    def _state_unsent(self, progress: Delivery, error: Exception) -> Delivery:
        """Return the delivery's new state after preparing it failed: no request has left this machine."""
        if isinstance(error, LoginError | RefusedPostError | NotSentError):
            return self._state_after_error(progress, error)
        log.error("What goes to %s could not be settled", self._account.label, exc_info=error)
        return may.not_sent(progress, _error_message(error), self._ground.clock(), jitter=self._jitter())

    async def _keep(self, row: KeptDelivery, progress: Delivery, event: str, message: str = "") -> KeptDelivery | None:
        update = Happened(progress=progress, what=event, says=message)
        return await self._ground.write(keep, row, update, self._ground.clock())

    def _jitter(self) -> float:
        return (self._ground.jitter() + 1) / 2


def _event_name(error: Exception) -> str:
    """Return the event name under which the history lists the error."""
    return error.category.replace("-", " ") if isinstance(error, CopydeskError) else "unexpected"


def _error_message(error: Exception) -> str:
    """Return the message to store for `error`.

    Messages of foreign exceptions may contain credentials, so only their type is stored. Our own are redacted, because
    a platform may quote the credential that it rejects.
    """
    is_own = isinstance(error, CopydeskError)
    return KNOWN.redact(str(error)) if is_own else f"Copydesk did not expect this: {type(error).__name__}."
