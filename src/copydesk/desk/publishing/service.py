"""Preview and post drafts, follow their deliveries, and resolve those whose outcome is unknown."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from copydesk.desk.clock_guard import ClockGuard
from copydesk.desk.context import DeskContext
from copydesk.desk.drafts.approvals import list_lacking, list_missing_approvals
from copydesk.desk.drafts.change import prepare_change
from copydesk.desk.ids import shorten_ids
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.desk.platforms import Platforms
from copydesk.desk.publishing.delivery_report import (
    DeliveryContext,
    describe,
    describe_known,
    get_answers,
    to_report,
)
from copydesk.desk.publishing.draft_deliveries import latest_delivery, may_be_live, skip_live, text_digest
from copydesk.desk.publishing.grace import expires_at
from copydesk.desk.publishing.metrics import collect_metrics
from copydesk.desk.publishing.missing_accounts import list_missing_accounts, list_without_account
from copydesk.desk.publishing.payload import (
    find_duplicate,
    rule_violations,
    run_in_article_thread,
    split_text,
    to_post,
)
from copydesk.desk.publishing.preview import preview_post
from copydesk.desk.publishing.publish import (
    DOUBTFUL,
    UNSUCCESSFUL,
    Decision,
    apply_decision,
    get_delivery,
    reset_lookup,
    start_posting,
)
from copydesk.desk.publishing.send_marks import Rollback
from copydesk.desk.publishing.sender import Sender
from copydesk.errors import DeskClosedError, FieldError, InvalidError, StoreError
from copydesk.model.delivery import (
    FINAL_STATES,
    Account,
    AccountQuestion,
    ApprovalQuestion,
    ConnectedAccount,
    DeliveryQuestion,
    DeliveryReport,
    DeliveryState,
    NeedsYou,
    PostingBlocker,
    PostResult,
    Preview,
    Price,
)
from copydesk.model.draft import Action, Format, ListedDraft, Status, without_item
from copydesk.model.ids import IdKind
from copydesk.model.requests import ChangeDraft, validate_change
from copydesk.model.targets import PostingTargets, SkipReason
from copydesk.model.token import Scope
from copydesk.model.transitions import allowed_actions
from copydesk.model.validation import web_address_problem
from copydesk.posting import delivery_states
from copydesk.posting.platform import DeliveryGuarantees, Post, post_cost
from copydesk.posting.registry import platform_label
from copydesk.store import accounts, deliveries, draft_queries, draft_updates, queue_window, schedule
from copydesk.store.database import Transaction
from copydesk.store.deliveries import DeliveryEvent, DeliveryRow

T = TypeVar("T")
POST_TIMEOUT = 30.0
"""Seconds that `post` waits for its deliveries to end."""
POLL_INTERVAL = 0.1
RECENT_FAILURES = timedelta(days=7)
NOT_CONNECTED = "No such account is connected."


class Posting:
    """Deliveries of one desk: send, inspect, resolve."""

    def __init__(self, ctx: DeskContext, clock: ClockGuard) -> None:
        self._ctx = ctx
        self._clock = clock
        self._sender = Sender(ctx)
        self._tasks: set[asyncio.Task[Any]] = set()

    @needs(Scope.PUBLISH)
    @operation
    async def post(
        self,
        draft_id: str,
        platforms: Sequence[str] = (),
        *,
        text: str | None = None,
        expected_version: int | None = None,
        wait: float = POST_TIMEOUT,
    ) -> PostResult:
        """Post a draft now, and return what became of its deliveries.

        `platforms` are names of platforms or accounts; by default it goes to all connected accounts where it is not
        live yet. With `text`, its text is replaced first; nothing is edited if posting is refused. Returns when every
        delivery has ended or after `wait` seconds; sending continues in the background.

        Raise InvalidError for an unknown name or an invalid text, NotFoundError, ConflictError if the draft's state
        does not allow it, or StaleVersionError if it has another version than `expected_version`.
        """
        now, edit = self._ctx.clock(), None
        request = ChangeDraft(action=Action.POST, text=text, platforms=tuple(platforms) or None)
        request = validate_change(request, now)
        if request.text is not None:
            edit_only = ChangeDraft(text=request.text)
            edit = await prepare_change(self._ctx, draft_id, edit_only, now, expected_version=expected_version)
        # Edit, change of status and deliveries in one transaction: a process killed in between leaves all or nothing.
        delivery_ids = await self._ctx.write_durable(
            start_posting,
            draft_id,
            request.platforms or (),
            now,
            self._ctx.platforms,
            edit=edit,
            expected_version=expected_version,
        )
        with _report_started(f" {draft_id}"):
            await self._send_until_ended(draft_id, delivery_ids, wait)
            return await self._ctx.read(_load_result, draft_id, delivery_ids)

    @operation
    async def send_due(self) -> tuple[DeliveryReport, ...]:
        """Process all deliveries that are ready; return a report for each one that was touched.

        Does nothing while the wall clock is in doubt, because retry times and look-ups depend on it.
        """
        if await self._clock.check():
            return ()
        with _report_started():
            return await self._load_reports(await self._run_shielded(self._sender.send_due))

    @operation
    async def list_ready_accounts(self) -> tuple[str, ...]:
        """Return the ids of the accounts to which a delivery can be sent or looked up now."""
        return await self._sender.list_ready_accounts()

    @operation
    async def send_account(self, account_id: str, limit: int = 100) -> tuple[DeliveryReport, ...]:
        """Process at most `limit` deliveries to one account that are ready, as `send_due` does for all accounts."""
        if await self._clock.check():
            return ()
        with _report_started():
            return await self._load_reports(
                await self._run_shielded(partial(self._sender.send_account, account_id, limit))
            )

    @operation
    async def give_up_late(self) -> tuple[DeliveryReport, ...]:
        """Give up the deliveries that waited beyond their grace period, e.g. for a login; return their reports.

        Does nothing while the wall clock is in doubt.
        """
        if await self._clock.check():
            return ()
        return await self._load_reports(await self._sender.give_up_late())

    @operation
    async def list_deliveries(self, draft_id: str) -> tuple[DeliveryReport, ...]:
        """Return the draft's deliveries. Raise NotFoundError."""
        return await self._to_reports(await self._ctx.read(_load_deliveries, draft_id))

    @operation
    async def list_unsettled(self) -> tuple[DeliveryReport, ...]:
        """Return deliveries that have not ended, and those that failed within the last seven days, oldest first."""
        since = self._ctx.clock() - RECENT_FAILURES
        return await self._to_reports(await self._ctx.read(deliveries.list_unsettled, since))

    @operation
    async def list_needing_user(self) -> tuple[DeliveryQuestion, ...]:
        """Return the deliveries whose outcome is unknown, that wait for a login, or that failed or were given up.

        Each has what is known, a link to the profile, and the answers: `mark_posted`, `resend`, `give_up`, which also
        removes one that ended from the list, and signing in with `desk.accounts`.
        """
        rows = await self._ctx.read(deliveries.list_needing_user)
        contexts = await self._load_contexts(rows)
        connected = {account.id: account for account in await self._ctx.read(accounts.list_all)} if rows else {}
        loaded = await self._ctx.read(queue_window.by_ids, list(dict.fromkeys(row.draft_id for row in rows)))
        drafts = {draft.id: draft for draft in loaded}
        questions: list[DeliveryQuestion] = []
        for row in rows:
            draft = drafts.get(row.draft_id)
            if draft is None:  # deleted in the meantime
                continue
            actions = allowed_actions(draft.status, archived=draft.archived_at is not None)
            account, context = connected.get(row.account_id or ""), contexts[row.id]
            questions.append(
                DeliveryQuestion(
                    delivery=to_report(row, context),
                    text=draft.text,
                    known=describe_known(row, context),
                    account_id=account.id if account else None,
                    profile_url=await self._profile_url(account) if account else None,
                    answers=get_answers(
                        row, context, can_post=draft.status is Status.POSTING or Action.POST in actions
                    ),
                )
            )
        return tuple(questions)

    @operation
    async def list_missing_accounts(self) -> tuple[AccountQuestion, ...]:
        """Return the accounts that approved and due drafts wait for, with the draft that needs each one first.

        Of approved drafts the newest 1,000 are looked at.
        """
        return await list_missing_accounts(self._ctx)

    @operation
    async def needs_you(self) -> NeedsYou:
        """Return all that waits: `list_needing_user`, `list_missing_accounts` and `list_missing_approvals`."""
        return NeedsYou(
            deliveries=await self.list_needing_user(),
            accounts=await self.list_missing_accounts(),
            approvals=await self.list_missing_approvals(),
        )

    @operation
    async def list_missing_approvals(self) -> tuple[ApprovalQuestion, ...]:
        """Return the scheduled and due drafts that lack an approval which one of their accounts asks for.

        At most the first 100.
        """
        return await list_missing_approvals(self._ctx)

    @operation
    async def list_lacking_approvals(self, draft_ids: Sequence[str]) -> tuple[str, ...]:
        """Return those of the drafts that are approved, but by fewer reviewers than one of their accounts asks for."""
        return await self._ctx.read(list_lacking, tuple(draft_ids), self._ctx.platforms)

    @operation
    async def missing_sends(self) -> Rollback | None:
        """Return the time of the requests that the database lacks because it was restored or copied; else None."""
        return await self._sender.missing_sends()

    @operation
    async def get_delivery(self, delivery_id: str) -> tuple[DeliveryReport, tuple[DeliveryEvent, ...]]:
        """Return a delivery and its events, oldest first. Raise NotFoundError."""
        row, events = await self._ctx.read(_load_with_events, delivery_id)
        (report,) = await self._to_reports([row])
        return report, events

    @operation
    async def check_delivery(self, delivery_id: str) -> DeliveryReport:
        """Search the account now for a delivery whose outcome is unknown; return its report."""
        await self._decide(delivery_id, Decision("you checked the account", DOUBTFUL, reset_lookup))
        await self.send_due()
        return (await self.get_delivery(delivery_id))[0]

    @needs(Scope.PUBLISH)
    @operation
    async def mark_posted(self, delivery_id: str, url: str = "") -> DeliveryReport:
        """Record the user's confirmation that the delivery is live, at `url` if given; return its report.

        Raise InvalidError if `url` is not a web address.
        """
        # It becomes a link in the console and in exports.
        if url and (problem := web_address_problem(url)):
            raise InvalidError(FieldError("url", problem))
        transition = partial(delivery_states.confirmed_by_user, url=url)
        await self._decide(delivery_id, Decision("you marked it as posted", DOUBTFUL | UNSUCCESSFUL, transition))
        return (await self.get_delivery(delivery_id))[0]

    @needs(Scope.PUBLISH)
    @operation
    async def resend(self, delivery_id: str, *, wait: float = POST_TIMEOUT) -> DeliveryReport:
        """Send the missing posts of a delivery after the user has checked the account or wants the same text twice.

        Waits up to `wait` seconds; return its report.
        """
        allowed_states = UNSUCCESSFUL | {DeliveryState.NEEDS_USER}
        # Read before the transaction, because the platform's module may have to be imported, which takes long.
        guarantees = await self._load_guarantees(delivery_id)
        decision = Decision(
            "you resent it",
            allowed_states,
            delivery_states.restart_delivery,
            restart=True,
            guarantees=guarantees,
        )
        row = await self._decide(delivery_id, decision)
        with _report_started(f" {row.draft_id}"):
            await self._send_until_ended(row.draft_id, (delivery_id,), wait)
            return (await self.get_delivery(delivery_id))[0]

    @needs(Scope.PUBLISH)
    @operation
    async def give_up(self, delivery_id: str) -> DeliveryReport:
        """Abandon a delivery as it is; return its report. One that ended is no longer listed as needing the user."""
        allowed_states = DOUBTFUL | UNSUCCESSFUL | {DeliveryState.PLANNED}
        await self._decide(delivery_id, Decision("you gave it up", allowed_states, delivery_states.abandoned))
        return (await self.get_delivery(delivery_id))[0]

    @operation
    async def list_without_account(self, draft_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of those drafts that no connected account would post; unknown ids are left out."""
        return await list_without_account(self._ctx, draft_ids)

    @operation
    async def targets(self, draft_id: str, platforms: Sequence[str] = ()) -> PostingTargets:
        """Return the accounts to which `post` would post a draft, and why it would not post it to the others.

        Raise NotFoundError.
        """
        _, targets, rows = await self._ctx.read(_load_posting_state, draft_id, tuple(platforms), self._ctx.platforms)
        return skip_live(targets, rows)

    @operation
    async def blockers(self, draft_id: str, platforms: Sequence[str] = ()) -> tuple[PostingBlocker, ...]:
        """Return the reasons that would prevent posting a draft as it is, except where it is posted.

        Nothing is sent over the network.
        """
        draft, targets, rows = await self._ctx.read(
            _load_posting_state, draft_id, tuple(platforms), self._ctx.platforms
        )
        digest = text_digest(draft.text)
        post, left = to_post(draft, self._ctx.clock()), skip_live(targets, rows)
        is_thread, rule_errors = len(post.parts) > 1, rule_violations(post, self._ctx.settings.posting)
        names, blockers = targets.names, []
        for account in (*left.accounts, *left.skipped_for(SkipReason.IN_DOUBT)):
            platform = self._ctx.platforms.get(account.details.platform)
            problems = await run_in_article_thread(post, platform.validate, post, account.details)
            name = names[account.id]
            blockers += [
                PostingBlocker(account=name, message=problem.message, part=problem.part if is_thread else None)
                for problem in problems
            ]
            duplicate = await find_duplicate(self._ctx, draft_id, digest, account.id)
            messages = [*rule_errors, account.login_error, duplicate and f"{duplicate}."]
            row = latest_delivery(rows, account)
            if row and row.progress.state in UNSUCCESSFUL and may_be_live(row):
                messages.append(describe(row, (await self._load_contexts([row]))[row.id]))
            blockers += [PostingBlocker(account=name, message=message) for message in messages if message]
        if targets.accounts:
            # Without any account all of it waits, which `list_without_account` finds.
            blockers += [PostingBlocker(account=name, message=NOT_CONNECTED) for name in targets.disconnected]
        return tuple(blockers)

    @operation
    async def preview(
        self,
        text: str,
        format: Format,
        platforms: Sequence[str] = (),
        *,
        tags: Sequence[str] = (),
        alts: Sequence[str] = (),
    ) -> tuple[Preview, ...]:
        """Return a preview of a text that is not a draft yet, one per account. Nothing is sent over the network.

        Without connected accounts the default platforms are used. `alts` are the descriptions of its images.
        """
        # Splitting a long text into a thread takes longer than a frame of the console.
        parts = await asyncio.to_thread(split_text, format, text) if text.strip() else ()
        post = Post(format=format, parts=parts, at=self._ctx.clock(), tags=tuple(tags), alts=tuple(alts))
        return await preview_post(self._ctx, post, platforms)

    @operation
    async def collect_metrics(self) -> int:
        """Fetch metrics of posts that are due for it; return the number of posts updated."""
        return await collect_metrics(self._ctx)

    @operation
    async def refresh_metrics(self, draft_ids: Sequence[str]) -> int:
        """Fetch metrics of these drafts' posts now, and of posts that are due; return the number of posts updated."""
        # Make these posts due, then collect as usual.
        await self._ctx.write(deliveries.request_metrics, draft_ids, self._ctx.clock())
        return await collect_metrics(self._ctx)

    @operation
    async def prices(self, draft_id: str, platforms: Sequence[str] = ()) -> tuple[Price, ...]:
        """Return the cost of posting a draft, one entry per account that charges and where it is not live yet."""
        draft, targets, rows = await self._ctx.read(
            _load_posting_state, draft_id, tuple(platforms), self._ctx.platforms
        )
        targets = skip_live(targets, rows)
        post, names = to_post(draft, self._ctx.clock()), targets.names
        priced = [
            (account, post_cost(self._ctx.platforms.get(account.details.platform), post, account.details))
            for account in targets.accounts
        ]
        return tuple(
            Price(account=names[account.id], amount=f"{price.amount.normalize():f}", currency=price.currency)
            for account, price in priced
            if price
        )

    @operation
    async def drain(self) -> None:
        """Wait for requests in flight."""
        # Waiting may start another round of sending, so check again.
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _send_until_ended(self, draft_id: str, delivery_ids: Sequence[str], seconds: float) -> None:
        """Send until the deliveries have ended or cannot be retried in time, at most for `seconds`."""
        if await self._clock.check():
            return
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        task = self._start(self._sender.send_due)
        while True:
            # Not `wait_for`: on timeout the task must go on sending.
            await asyncio.wait([task], timeout=max(0.0, deadline - loop.time()))
            if not task.done() or loop.time() >= deadline:
                return
            task.result()
            # A round may end with deliveries that can be retried before the deadline.
            now, remaining = self._ctx.clock(), deadline - loop.time()
            rows = await self._ctx.read(_load_deliveries, draft_id)
            if not any(row.id in delivery_ids and _is_ready_within(row, now, remaining) for row in rows):
                return
            await asyncio.sleep(POLL_INTERVAL)
            task = self._start(self._sender.send_due)

    def _start(self, work: Callable[[], Coroutine[object, object, T]]) -> "asyncio.Task[T]":
        task = asyncio.create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run_shielded(self, work: Callable[[], Coroutine[object, object, T]]) -> T:
        """Run `work` to its end even if the caller is cancelled; `drain` waits for it."""
        # A cancelled caller must not cut a request: its outcome would be unknown, and has to be looked up later.
        return await asyncio.shield(self._start(work))

    async def _load_reports(self, delivery_ids: Sequence[str]) -> tuple[DeliveryReport, ...]:
        rows = [await self._ctx.read(deliveries.get, delivery_id) for delivery_id in delivery_ids]
        return await self._to_reports([row for row in rows if row])

    async def _to_reports(self, rows: Sequence[DeliveryRow]) -> tuple[DeliveryReport, ...]:
        contexts = await self._load_contexts(rows)
        return tuple(to_report(row, contexts[row.id]) for row in rows)

    async def _load_contexts(self, rows: Sequence[DeliveryRow]) -> dict[str, DeliveryContext]:
        """Return for each delivery, by its id, what is needed to describe it."""
        if not rows:
            return {}
        connected = {account.id: account for account in await self._ctx.read(accounts.list_all)}
        now, clock_in_doubt = self._ctx.clock(), await self._clock.peek() is not None
        zone = await self._ctx.read(schedule.get_time_zone)
        # Those that the user may have to resolve, with commands that name them.
        named = [
            row.id for row in rows if row.progress.state in DOUBTFUL or row.progress.doubt or row.account_id is None
        ]
        short_ids = await self._ctx.read(shorten_ids, IdKind.DELIVERY, named) if named else {}
        contexts: dict[str, DeliveryContext] = {}
        for row in rows:
            account = connected.get(row.account_id or "")
            # Only these reports depend on the guarantees, and the platform's module may have to be imported.
            guarantees = (
                await self._guarantees(account.details)
                if account and (row.progress.state in DOUBTFUL or row.progress.doubt)
                else DeliveryGuarantees()
            )
            contexts[row.id] = DeliveryContext(
                now=now,
                zone=zone,
                platform=platform_label(row.platform),
                short_id=short_ids.get(row.id, ""),
                guarantees=guarantees,
                login_error=(account.login_error if account else None) or "",
                clock_in_doubt=clock_in_doubt,
                expires_at=expires_at(row, self._ctx.settings.schedule),
            )
        return contexts

    async def _profile_url(self, account: ConnectedAccount) -> str | None:
        try:
            platform = await self._ctx.platforms.load(account.details.platform)
        except InvalidError:  # connected by a newer version that has more platforms
            return None
        return platform.info.profile_url(account.details)

    async def _guarantees(self, account: Account) -> DeliveryGuarantees:
        try:
            return (await self._ctx.platforms.load(account.platform)).guarantees(account)
        except InvalidError:  # connected by a newer version that has more platforms
            return DeliveryGuarantees()

    async def _load_guarantees(self, delivery_id: str) -> DeliveryGuarantees:
        """Return the delivery guarantees of a delivery's platform. Raise NotFoundError."""
        row = await self._ctx.read(get_delivery, delivery_id)
        account = await self._ctx.read(accounts.get, row.account_id) if row.account_id else None
        return await self._guarantees(account.details) if account else DeliveryGuarantees()

    async def _decide(self, delivery_id: str, decision: Decision) -> DeliveryRow:
        contexts = await self._load_contexts([await self._ctx.read(get_delivery, delivery_id)])
        # The row is read again in the transaction: a refusal describes the state that it was refused for.
        decision = decision._replace(describe=lambda row: describe(row, contexts[row.id]))
        return await self._ctx.write_durable(apply_decision, delivery_id, decision, self._ctx.clock())


@contextmanager
def _report_started(draft_id: str = "") -> Iterator[None]:
    """Let an error of the database, which says that nothing changed, say that requests may have left before it."""
    try:
        yield
    except DeskClosedError:
        raise
    except StoreError as error:
        message = f"{error.cause}. Posts may be online already; nothing is sent again before that is checked."
        raise type(error)(message, hint=f"See: copydesk delivery list{draft_id}") from error


def _load_result(conn: Transaction, user_id: str, draft_id: str, delivery_ids: Sequence[str]) -> PostResult:
    rows = [row for row in deliveries.list_by_draft(conn, user_id, draft_id) if row.id in delivery_ids]
    return PostResult(
        posted=tuple(row.label for row in rows if row.progress.state is DeliveryState.SENT),
        failed=tuple(row.label for row in rows if row.progress.state in UNSUCCESSFUL),
        under_way=tuple(row.label for row in rows if row.progress.state not in FINAL_STATES),
        draft=without_item(draft_queries.load(conn, user_id, draft_id)),
    )


def _load_with_events(
    conn: Transaction, user_id: str, delivery_id: str
) -> tuple[DeliveryRow, tuple[DeliveryEvent, ...]]:
    return get_delivery(conn, user_id, delivery_id), deliveries.list_events(conn, user_id, delivery_id)


def _load_deliveries(conn: Transaction, user_id: str, draft_id: str) -> tuple[DeliveryRow, ...]:
    # Raises NotFoundError: a draft without deliveries returns an empty tuple.
    draft_updates.load_snapshot(conn, user_id, draft_id)
    return deliveries.list_by_draft(conn, user_id, draft_id)


def _load_posting_state(
    conn: Transaction, user_id: str, draft_id: str, names: tuple[str, ...], platforms: Platforms
) -> tuple[ListedDraft, PostingTargets, tuple[DeliveryRow, ...]]:
    """Return the draft, the accounts that it would go to, and its deliveries."""
    draft = draft_queries.load(conn, user_id, draft_id)
    connected = accounts.list_all(conn, user_id)
    targets = platforms.select_targets(connected, names or draft.target_platforms, draft.format)
    return draft, targets, deliveries.list_by_draft(conn, user_id, draft_id) if targets.accounts else ()


def _is_ready_within(row: DeliveryRow, now: datetime, within: float) -> bool:
    """Return True if the delivery can be processed within that many seconds."""
    progress = row.progress
    if progress.state in FINAL_STATES or progress.state is DeliveryState.NEEDS_USER:
        return False
    if progress.state is DeliveryState.PLANNED and progress.error and progress.not_before is None:
        return False  # waits until the account is connected again
    return progress.not_before is None or (progress.not_before - now).total_seconds() < within
