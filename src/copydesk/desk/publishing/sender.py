"""Send due deliveries. Every send goes through here: the scheduler, "post now" and the HTTP service.

    acquire the account lease -> store the payload and its idempotency key -> mark it -> send -> store the result

One worker holds an account at a time, so its posts go out in order; accounts run concurrently. Results are stored with
compare-and-set on the delivery's version: a worker that lost its lease cannot overwrite its successor's result.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from msgspec.structs import replace

from copydesk.desk.accounts.credentials import login_error_hint
from copydesk.desk.context import Clock, DeskContext
from copydesk.desk.ids import shorten_id
from copydesk.desk.leases import ACCOUNT_LEASE_DURATION, account_lease
from copydesk.desk.publishing.draft_deliveries import record_delivery
from copydesk.desk.publishing.grace import expiry_reason, missed_cutoffs
from copydesk.desk.publishing.payload import (
    PostPayload,
    find_duplicate,
    load_payload,
    rule_violations,
    run_in_article_thread,
)
from copydesk.desk.publishing.send_marks import Rollback, SendMark, SendMarks
from copydesk.errors import CopydeskError, InvalidError, StoreError
from copydesk.model.delivery import (
    ConnectedAccount,
    Delivery,
    DeliveryState,
    GiveUpReason,
    Intent,
    StepResult,
)
from copydesk.model.ids import IdKind
from copydesk.posting import delivery_states
from copydesk.posting.delivery_states import NextAction
from copydesk.posting.platform import (
    DeliveryGuarantees,
    LoginError,
    NotSentError,
    Platform,
    PostImage,
    RefusedPostError,
    UnknownOutcomeError,
)
from copydesk.settings import Schedule
from copydesk.store import accounts, deliveries, draft_queries
from copydesk.store.database import Transaction
from copydesk.store.deliveries import DeliveryRow, DeliveryUpdate
from copydesk.text.redaction import describe_error

log = logging.getLogger(__name__)
SEND_TIMEOUT = (ACCOUNT_LEASE_DURATION - timedelta(minutes=1)).total_seconds()
"""Seconds from the commit. Shorter than the lease, so that no request starts after another worker may have taken the
account.
"""
CLOCK_CHECK_INTERVAL = 1.0
"""Seconds between readings of the wall clock while a request is in progress."""
MAX_CONCURRENT_ACCOUNTS = 32
"""Accounts that are processed concurrently."""
TOO_LATE_EVENT = "too late"
RECHECK_MESSAGE = (
    "The database was restored or copied, or this machine has not posted before, so this may already be posted."
)


class _Deadline:
    """The time at which a request must have ended, by both clocks.

    The wall clock can be set back, and the monotonic clock of Linux does not count sleep.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall = clock() + timedelta(seconds=SEND_TIMEOUT)
        self._monotonic = asyncio.get_running_loop().time() + SEND_TIMEOUT

    @property
    def has_passed(self) -> bool:
        return self._clock() >= self._wall or asyncio.get_running_loop().time() >= self._monotonic

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Raise TimeoutError in the block at the deadline."""
        async with asyncio.timeout_at(self._monotonic) as timeout:
            watcher = asyncio.create_task(self._end_at_wall_time(timeout))
            try:
                yield
            finally:
                watcher.cancel()

    async def _end_at_wall_time(self, scope: asyncio.Timeout) -> None:
        while self._clock() < self._wall:  # noqa: ASYNC110 - the wall clock cannot be waited for
            await asyncio.sleep(CLOCK_CHECK_INTERVAL)
        scope.reschedule(asyncio.get_running_loop().time())


class Sender:
    """Worker that sends the deliveries of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx
        self._marks = SendMarks(ctx)
        self._concurrency = asyncio.Semaphore(MAX_CONCURRENT_ACCOUNTS)

    async def send_due(self) -> tuple[str, ...]:
        """Process every delivery that is ready; return the ids of those that were touched.

        Raise StoreError if the database fails. Deliveries left in SENDING are resolved by the next call, in any
        process.
        """
        # Accounts instead of deliveries: of two drafts that are due on one account, the older one has to go out first.
        ready = await self.list_ready_accounts()
        if not ready:
            return ()
        rollback = await self._marks.find_rollback()
        results = await asyncio.gather(
            *(self._process_account(account_id, rollback) for account_id in ready), return_exceptions=True
        )
        # Raise only after all accounts were processed: an error of one must not interrupt sending to the others.
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return tuple(
            delivery_id for result in results if not isinstance(result, BaseException) for delivery_id in result
        )

    async def list_ready_accounts(self) -> tuple[str, ...]:
        """Return the ids of the accounts to which a delivery is ready."""
        return await self._ctx.read(deliveries.list_ready_accounts, self._ctx.clock())

    async def send_account(self, account_id: str, limit: int) -> tuple[str, ...]:
        """Process at most `limit` of the deliveries to one account that are ready; return their ids, in order."""
        rollback = await self._marks.find_rollback()
        return tuple(await self._process_account(account_id, rollback, limit))

    async def missing_sends(self) -> Rollback | None:
        """Return the time of requests that are missing in the database, without storing anything."""
        return await self._marks.peek_rollback()

    async def give_up_late(self) -> tuple[str, ...]:
        """Give up the deliveries that waited beyond their grace period, e.g. for a login; return their ids."""
        now, settings = self._ctx.clock(), self._ctx.settings.schedule
        planned = await self._ctx.read(deliveries.list_planned_before, missed_cutoffs(settings, now).latest)
        rollback = await self._marks.find_rollback() if planned else None
        given_up: list[str] = []
        for row in planned:
            # It may be online: it is looked for first.
            if rollback and delivery_states.needs_recheck(row.progress, row.created_at, rollback.until):
                continue
            # The query uses the shortest grace period; this delivery may have a longer one.
            progress = _give_up_if_late(row, row.progress, now, settings)
            if progress.state is not DeliveryState.ABANDONED:
                continue
            update = DeliveryUpdate(progress=progress, event=TOO_LATE_EVENT, message=progress.error)
            # Nothing is returned if another process has changed the delivery; it is not late any more, or given up
            # there.
            if await self._ctx.write(record_delivery, row, update, now):
                log.warning("Gave up %s to %s: %s", row.draft_id, row.label, progress.error)
                given_up.append(row.id)
        return tuple(given_up)

    async def _process_account(self, account_id: str, rollback: Rollback | None, limit: int | None = None) -> list[str]:
        """Process the account's ready deliveries; return their ids. Skip the account if another process holds it."""
        async with self._concurrency, account_lease(self._ctx, account_id, wait=True) as lease:
            return [] if lease is None else await self._drain(account_id, lease, rollback, limit)

    async def _drain(self, account_id: str, lease: str, rollback: Rollback | None, limit: int | None) -> list[str]:
        processed: dict[str, None] = {}
        while limit is None or len(processed) < limit:
            ready = await self._ctx.read(deliveries.list_ready, account_id, self._ctx.clock())
            # Each delivery once per drain, or one that stays ready would loop forever.
            pending = [row for row in ready if row.id not in processed]
            pending = pending if limit is None else pending[: limit - len(processed)]
            # Read again in every round: an attempt may have found that the account needs a login.
            account = await self._ctx.read(accounts.get, account_id)
            if account is not None and account.login_error:
                # Without a login nothing can be sent, but interrupted requests must still be recorded as unknown.
                pending = [row for row in pending if row.progress.state is DeliveryState.SENDING]
            if not pending or account is None:
                return list(processed)
            try:
                platform = self._ctx.platforms.get(account.details.platform)
            except InvalidError:
                # The plugin that brought the platform may be missing today only: the deliveries wait instead of
                # failing.
                log.warning("Unknown platform %s; nothing is sent to it", account.label)
                return list(processed)
            attempt = _DeliveryAttempt(self._ctx, self._marks, platform, account, lease, rollback)
            for row in pending:
                processed[row.id] = None
                # The account needs a login: later deliveries would fail too. Read the pending ones again, now without
                # those.
                if not await attempt.run(row):
                    break
        return list(processed)


class _DeliveryAttempt:
    """One worker's attempt to process a delivery to one account."""

    def __init__(
        self,
        ctx: DeskContext,
        marks: SendMarks,
        platform: Platform,
        account: ConnectedAccount,
        lease: str,
        rollback: Rollback | None,
    ) -> None:
        self._ctx = ctx
        self._marks = marks
        self._platform = platform
        self._account = account
        self._lease = lease
        self._rollback = rollback
        self._login_error = ""

    async def run(self, delivery: DeliveryRow) -> bool:
        """Send and look up until nothing can be done now. Return False if the account needs a login first."""
        row: DeliveryRow | None = delivery
        while row is not None:
            progress = row.progress
            if progress.state is DeliveryState.SENDING:
                # Only one worker holds the account, so the one that was sending is dead and the outcome is unknown.
                row = await self._save(row, delivery_states.interrupted(progress, self._ctx.clock()), "broken off")
                continue
            match delivery_states.next_action(progress, self._guarantees(row), self._ctx.clock()):
                case NextAction.SEND:
                    row = await self._send(row)
                case NextAction.FIND:
                    row = await self._look_up(row)
                case NextAction.WAIT:
                    row = None
            if self._login_error:
                # Stored with the account, not the delivery: every process skips the account until the user signs in
                # again.
                await self._ctx.write(accounts.set_error, self._account, self._login_error)
                return False
        return True

    async def _send(self, row: DeliveryRow) -> DeliveryRow | None:
        """Send the first missing step."""
        recheck_since = await self._recheck_since(row)
        late = self._give_up_if_late(row, row.progress)
        if late.state is DeliveryState.ABANDONED and recheck_since is None:
            return await self._save(row, late, TOO_LATE_EVENT, late.error)
        try:
            payload = await load_payload(self._ctx, row, self._platform.info.limits)
            intent = row.intent or await self._prepare(row, payload)
        # The database failed, not the delivery: recording a failed attempt would fail, too.
        except StoreError:
            raise
        except Exception as error:
            state = self._state_unsent(row.progress, error)
            # What may be online already is looked for before it is given up.
            state = state if recheck_since is not None else self._give_up_if_late(row, state)
            return await self._save(row, state, _event_name(error), describe_error(error))
        if recheck_since is not None:
            return await self._recheck(row, intent, recheck_since)
        deadline = _Deadline(self._ctx.clock)
        # On disk before the first byte leaves: after a power failure the delivery must not look unsent.
        sending = await self._ctx.write_durable(self._record_start, row, intent)
        # Another worker took over the account or the delivery; only its result counts.
        if sending is None:
            return None
        return await self._send_step(sending, row.progress, payload.images, deadline)

    async def _send_step(
        self, sending: DeliveryRow, unsent: Delivery, images: Sequence[PostImage], deadline: _Deadline
    ) -> DeliveryRow | None:
        """Send the step whose start was just recorded; `unsent` is the delivery before that."""
        intent, progress, details = sending.intent, sending.progress, self._account.details
        assert intent is not None
        assert progress.last_sent_at is not None
        mark = SendMark(at=progress.last_sent_at, delivery_id=sending.id)
        if not progress.results:
            await self._marks.save_to_keyring(mark)
        try:
            # This process may have been frozen since: then another worker may have taken over, and looked for the post.
            is_held, rollback = await self._ctx.write(self._confirm_start, mark)
        except StoreError as error:
            with suppress(StoreError):
                await self._save(sending, unsent, "held up", error.message)
            raise
        if not is_held:
            return None
        # Nothing has left yet, so the state before is true again. The next round starts over with a full lease.
        if deadline.has_passed or rollback != self._rollback:
            self._rollback = rollback
            return await self._save(sending, unsent, "held up", "Nothing was sent.")
        try:
            async with deadline.limit():
                result = await self._platform.send(details, intent, progress.results, images)
        except TimeoutError:
            # The request has left; the platform may still process it.
            message = f"{self._platform.info.label} did not respond in time."
            outcome = delivery_states.outcome_unknown(progress, message, self._ctx.clock())
            return await self._save(sending, outcome, "unknown outcome", message)
        except Exception as error:
            state = self._give_up_if_late(sending, self._state_after_error(progress, error))
            return await self._save(sending, state, _event_name(error), describe_error(error))
        return await self._save(sending, delivery_states.step_succeeded(progress, result), "made")

    async def _prepare(self, row: DeliveryRow, payload: PostPayload) -> Intent:
        """Validate the payload and render it. Raise RefusedPostError if it is invalid or a recent duplicate."""
        post, account = payload.post, self._account.details
        problems = [
            problem.message for problem in await run_in_article_thread(post, self._platform.validate, post, account)
        ]
        problems += rule_violations(post, self._ctx.settings.posting)
        if problems:
            raise RefusedPostError(" ".join(problems))
        # The platform would accept it: a draft that was regenerated to the same text is a mistake that only we can see.
        if not row.anyway:
            duplicate = await find_duplicate(self._ctx, row.draft_id, row.digest, row.account_id)
            if duplicate is not None:
                short_id = await self._ctx.read(shorten_id, IdKind.DELIVERY, row.id)
                hint = f"Change the text, or send it anyway: copydesk delivery resend {short_id}"
                raise RefusedPostError(f"{duplicate}; nothing was sent.", hint=hint)
        intent = await run_in_article_thread(post, self._platform.render, post, account, row.seed)
        # After a restart with a shorter thread there may be nothing left to send.
        if len(intent.steps) <= len(row.progress.results):
            raise RefusedPostError("All of its posts are already online; nothing was sent.")
        return intent

    def _record_start(self, conn: Transaction, user_id: str, row: DeliveryRow, intent: Intent) -> DeliveryRow | None:
        """Record that the request is about to leave, with its payload; return None if lease or delivery was lost."""
        now = self._ctx.clock()
        if not accounts.renew_lease(conn, user_id, self._account.id, self._lease, now + ACCOUNT_LEASE_DURATION):
            return None
        # From now on a missing mark means a replaced database, and not one of a version without marks.
        deliveries.set_sends_marked(conn)
        progress = delivery_states.send_started(row.progress, now, steps=len(intent.steps))
        update = DeliveryUpdate(progress=progress, event=deliveries.SENDING_EVENT, intent=intent)
        return record_delivery(conn, user_id, row, update, now)

    async def _look_up(self, row: DeliveryRow) -> DeliveryRow | None:
        """Search the account for a post that the first missing step may have created."""
        progress, details, intent = row.progress, self._account.details, row.intent
        if intent is None or progress.first_sent_at is None:
            raise RuntimeError("A delivery is in doubt that was never sent.")
        guarantees = self._guarantees(row)
        # A search may take long; no other worker may start while it runs.
        if not await self._ctx.write(self._renew):
            return None
        try:
            # From the first request on: an early one may have created the post, whatever the later ones were answered.
            result = await self._platform.find_post(details, intent, progress.results, progress.first_sent_at)
            await self._check_not_another_draft(row, result)
        except LoginError as error:
            self._login_error = message = login_error_hint(error, details)
            return await self._save(row, delivery_states.login_required(progress, message), "needs login", message)
        except Exception as error:
            message = describe_error(error)
            retry_after = error.retry_after if isinstance(error, NotSentError) else None
            if progress.recheck:
                message = f"{RECHECK_MESSAGE} {message}"
            now, jitter = self._ctx.clock(), self._jitter()
            state = delivery_states.lookup_failed(
                progress,
                guarantees,
                message,
                now,
                jitter=jitter,
                retry_after=retry_after,
                is_final=delivery_states.is_final_lookup(progress, error, message),
            )
            return await self._save(row, state, "not found out", message)
        if result is not None:
            return await self._save(row, delivery_states.step_succeeded(progress, result), "found")
        state = delivery_states.not_found(progress, guarantees, self._ctx.clock(), jitter=self._jitter())
        return await self._save(row, state, "not there")

    def _confirm_start(self, conn: Transaction, user_id: str, mark: SendMark) -> tuple[bool, Rollback | None]:
        """Return True if this worker still holds the lease, and the time that is missing in the database.

        The mark is stored; it must be before the first byte leaves.
        """
        lease = accounts.get_lease(conn, user_id, self._account.id)
        if lease is None or lease.claim_id != self._lease:
            return False, None
        return True, self._marks.record(conn, mark)

    async def _recheck_since(self, row: DeliveryRow) -> datetime | None:
        """Return the time from which the account has to be searched before `row` is sent; None if it need not be."""
        rollback = self._rollback
        draft = await self._ctx.read(draft_queries.get, row.draft_id) if rollback else None
        if rollback is None or draft is None:
            return None
        if not delivery_states.needs_recheck(row.progress, draft.created_at, rollback.until):
            return None
        # A post cannot be older than its draft.
        return max(draft.created_at, rollback.since or draft.created_at)

    async def _recheck(self, row: DeliveryRow, intent: Intent, since: datetime) -> DeliveryRow | None:
        """Record that the account has to be searched first: the database was replaced by an older copy."""
        assert self._rollback is not None
        until = self._rollback.until
        log.warning("The database lacks requests until %s; looking for a post on %s first", until, self._account.label)
        progress = delivery_states.recheck_required(
            row.progress, RECHECK_MESSAGE, since, until, steps=len(intent.steps)
        )
        return await self._save(row, progress, "unknown outcome", RECHECK_MESSAGE, intent=intent)

    def _renew(self, conn: Transaction, user_id: str) -> bool:
        return accounts.renew_lease(
            conn, user_id, self._account.id, self._lease, self._ctx.clock() + ACCOUNT_LEASE_DURATION
        )

    async def _check_not_another_draft(self, row: DeliveryRow, result: StepResult | None) -> None:
        """Raise UnknownOutcomeError if the post that was found belongs to another draft with the same text."""
        if result is None or not result.ids:
            return
        # Platforms without keys are searched by text, which two drafts may share.
        for other in await self._ctx.read(deliveries.list_duplicates, row):
            if any(set(result.ids) & set(step.ids) for step in other.progress.results):
                raise UnknownOutcomeError("The only matching post there belongs to another draft with the same text.")

    def _guarantees(self, row: DeliveryRow) -> DeliveryGuarantees:
        """Return the platform's guarantees for the next step."""
        guarantees = self._platform.guarantees(self._account.details)
        return delivery_states.step_guarantees(guarantees, row.progress, row.intent)

    def _state_after_error(self, progress: Delivery, error: Exception) -> Delivery:
        """Return the delivery's new state after sending failed with `error`."""
        message = describe_error(error)
        match error:
            case LoginError():
                self._login_error = message = login_error_hint(error, self._account.details)
                return delivery_states.login_required(progress, message)
            case RefusedPostError():
                return delivery_states.rejected(progress, message)
            case NotSentError(retry_after=retry_after):
                now = self._ctx.clock()
                return delivery_states.retry_later(
                    progress, message, now, jitter=self._jitter(), retry_after=retry_after
                )
            case UnknownOutcomeError():
                return delivery_states.outcome_unknown(progress, message, self._ctx.clock())
            case _:
                # The request may have left before the error, so it is looked up instead of sent again.
                log.error("Sending to %s ended in an unexpected way", self._account.label, exc_info=error)
                return delivery_states.outcome_unknown(progress, message, self._ctx.clock())

    def _state_unsent(self, progress: Delivery, error: Exception) -> Delivery:
        """Return the delivery's new state after preparing it failed: no request has left this machine."""
        if isinstance(error, LoginError | RefusedPostError | NotSentError):
            return self._state_after_error(progress, error)
        # Nothing has left, so trying again cannot post twice, whatever the error was.
        log.error("What goes to %s could not be settled", self._account.label, exc_info=error)
        return delivery_states.retry_later(progress, describe_error(error), self._ctx.clock(), jitter=self._jitter())

    async def _save(
        self, row: DeliveryRow, progress: Delivery, event: str, message: str = "", *, intent: Intent | None = None
    ) -> DeliveryRow | None:
        update = DeliveryUpdate(progress=progress, event=event, message=message, intent=intent)
        stored = await self._ctx.write(record_delivery, row, update, self._ctx.clock())
        # A post that was given up must not pass unnoticed by someone who only reads the log of the daemon.
        if stored is not None and progress.state is DeliveryState.ABANDONED:
            log.warning("Gave up %s to %s: %s", row.draft_id, row.label, progress.error)
        return stored

    def _give_up_if_late(self, row: DeliveryRow, progress: Delivery) -> Delivery:
        return _give_up_if_late(row, progress, self._ctx.clock(), self._ctx.settings.schedule)

    def _jitter(self) -> float:
        # The desk's jitter is -1 to 1. Delays are only lengthened: platforms ask to wait at least that long.
        return (self._ctx.jitter() + 1) / 2


def _give_up_if_late(row: DeliveryRow, progress: Delivery, now: datetime, settings: Schedule) -> Delivery:
    """Return `progress`, the new state of `row`; abandoned if it is too late for it, or will be at its next attempt."""
    message = expiry_reason(replace(row, progress=progress), now, settings)
    return delivery_states.abandoned(progress, message, GiveUpReason.TOO_LATE) if message else progress


def _event_name(error: Exception) -> str:
    """Return the event name under which the history lists the error."""
    return error.category.replace("-", " ") if isinstance(error, CopydeskError) else "unexpected"
