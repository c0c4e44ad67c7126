"""Schedule and post drafts: at a free slot, at a time, now; and warn about anything that would block posting."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from copydesk.errors import CopydeskError, InvalidError
from copydesk.model.delivery import FINAL_STATES, NextBy
from copydesk.model.draft import TO_REVIEW, Action, Format, Status
from copydesk.model.requests import ChangeDraft
from copydesk.model.targets import PostingTargets, SkipReason
from copydesk.text import clean
from copydesk.text.formatting import plural
from copydesk.tui import labels
from copydesk.tui.dialogs.prompt import PromptDialog
from copydesk.tui.review.action_runner import ActionRunner
from copydesk.tui.review.local_changes import DraftState
from copydesk.tui.review.marks import Selection, select_draft
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.runtime.notifications import is_refusal

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

    from copydesk.desk import Desk
    from copydesk.model.delivery import DeliveryReport
    from copydesk.model.draft import ListedDraft
    from copydesk.tui.desk_screen import DeskScreen
    from copydesk.tui.review.dialogs import ParsedTime, PostPlan

MAX_CHECKED = 20
"""Drafts of a bulk action that are checked for posting blockers."""
MAX_LISTED = 3
CHECK_DELAY = 0.5
"""Seconds after an approval: several in a row are checked together."""
APPROVE = ChangeDraft(action=Action.APPROVE)


async def describe_outcome(desk: "Desk", delivery: "DeliveryReport") -> str:
    """Return the notification of a delivery's outcome. One that needs the user names the key, not the commands."""
    for question in await desk.posting.list_needing_user() if delivery.next_by is NextBy.USER else ():
        if question.delivery.id == delivery.id:
            return labels.delivery_needs_you(delivery.account, question.known)
    return f"{delivery.account}: {delivery.says}"


class DeliveryAnswers:
    """Answers to a delivery of unknown outcome that several screens give. `report` tells the user what came of it."""

    def __init__(self, screen: "DeskScreen", report: Callable[[str, "SeverityLevel"], None]) -> None:
        self._screen = screen
        self._report = report

    def mark_posted(self, delivery: "DeliveryReport", url: str = "", refusal: str = "") -> None:
        """Ask for the URL, which may stay empty, and mark the delivery as posted.

        On a second try, `url` is the one that was refused, and `refusal` why.
        """

        def on_answer(url: str | None) -> None:
            if url is not None:
                work = partial(self._save_posted, delivery, url.strip())
                self._screen.app.enqueue_write(work, hold_keys=Hold.RESULT)

        dialog = PromptDialog(labels.posted_question(delivery.account), value=url, hint=refusal or labels.posted_hint())
        self._screen.app.push_if_current(self._screen, dialog, on_answer, otherwise=refusal)

    async def _save_posted(self, delivery: "DeliveryReport", url: str, desk: "Desk") -> None:
        try:
            await desk.posting.mark_posted(delivery.id, url)
        except InvalidError as error:
            # Ask again, with the rejected URL in the line and the error below it.
            self._screen.app.call_later(self.mark_posted, delivery, url, labels.invalid_url(error.errors[0].message))
        else:
            self._report(labels.marked_as_posted(delivery.account), "information")

    def send_again(self, delivery: "DeliveryReport") -> None:
        """Send the missing posts."""
        # Not a queued write: it waits for the platform, and decisions must not wait for it.
        self._screen.app.run_desk_task(partial(self._resend, delivery), name="post")

    async def _resend(self, delivery: "DeliveryReport", desk: "Desk") -> None:
        report = await desk.posting.resend(delivery.id)
        failed = report.state not in FINAL_STATES or report.sent_at is None
        self._report(await describe_outcome(desk, report), "warning" if failed else "information")


class PublishActions:
    """Scheduling and posting."""

    def __init__(self, runner: ActionRunner) -> None:
        self._runner = runner
        self.app = runner.app
        self._answers = DeliveryAnswers(runner.screen, self._report_answer)
        self._check_queue: list[str] = []
        self._checking = False
        self._scheduled_ids: set[str] = set()
        """Those of the drafts to check that were scheduled."""
        self._is_missing_account = False
        """True if the last drafts had no account to go to, which was said then."""

    # Scheduling.

    def schedule(self) -> None:
        """Schedule the selection to the next free slot; a draft under review is approved first."""
        self._schedule(ChangeDraft(action=Action.SCHEDULE, smart_schedule=True), self._runner.pane.selection())

    def cancel_schedule(self) -> None:
        """Take the time of scheduled and missed drafts of the selection away; they stay approved."""
        self._runner.apply(ChangeDraft(action=Action.CANCEL_SCHEDULE))

    def _schedule(self, request: ChangeDraft, selection: Selection | None) -> None:
        if selection is None:
            return
        draft = selection.draft
        first = (APPROVE,) if draft and self._runner.changes.current_state(draft).status in TO_REVIEW else ()
        moves = draft is None and request.scheduled_at is not None
        self._runner.apply(
            *first,
            request,
            target=selection,
            on_success=self._check_scheduled,
            moves=moves,
            # Whether there is a free slot is known only to the desk.
            returns=request.smart_schedule,
        )

    def _check_scheduled(self, ids: Sequence[str]) -> None:
        self._scheduled_ids.update(ids[:MAX_CHECKED])
        self.check_blockers(ids)

    def schedule_at(self) -> None:
        """Prompt for a time and schedule the selection for it."""
        self._runner.ask_if_possible("review.schedule_at", (Action.SCHEDULE, Action.RESCHEDULE), self._ask_for_time)

    def _ask_for_time(self, selection: Selection, number: int, skipped: str) -> None:
        from copydesk.tui.review.dialogs import TimePrompt  # noqa: PLC0415 - imported when first used

        draft = selection.draft
        drafts = labels.draft_name(draft.text) if draft else plural(number, "draft")
        if skipped:
            drafts += f" ({skipped})"

        async def preview(text: str) -> "ParsedTime":
            return await self._read_time(text, draft.id if draft else None)

        def on_answer(text: str | None) -> None:
            if text is not None:
                self.app.run_desk_task(lambda desk: self._schedule_at(desk, text, selection), hold_keys=Hold.RESULT)

        self.app.push_if_current(self._runner.screen, TimePrompt(labels.schedule_prompt(drafts), preview), on_answer)

    async def _read_time(self, text: str, draft_id: str | None) -> "ParsedTime":
        from copydesk.tui.review.dialogs import ParsedTime  # noqa: PLC0415

        desk = self.app.desk
        if desk is None:
            return ParsedTime(labels.DESK_NOT_OPEN, is_valid=False)
        try:
            parsed = await desk.schedule.parse_time(text)
            conflicts = await desk.schedule.conflicts(parsed.at, draft_id)
        except InvalidError as error:
            return ParsedTime(error.errors[0].message, is_valid=False)
        except CopydeskError as error:
            return ParsedTime(str(error), is_valid=False)
        conflicts_text = labels.time_conflicts(conflicts.count) if conflicts.count else ""
        return ParsedTime(
            " · ".join(part for part in (parsed.shown, parsed.note, conflicts_text) if part), is_valid=True
        )

    async def _schedule_at(self, desk: "Desk", text: str, selection: Selection) -> None:
        time = (await desk.schedule.parse_time(text)).at
        has_time = selection.draft is not None and self._runner.changes.current_state(selection.draft).status in (
            Status.SCHEDULED,
            Status.MISSED,
        )
        action = Action.RESCHEDULE if has_time else Action.SCHEDULE
        self._schedule(ChangeDraft(action=action, scheduled_at=time), selection)

    # Posting.

    def post(self) -> None:
        """Ask for confirmation, naming the accounts, and post the draft under the cursor."""
        from copydesk.tui.review.dialogs import PostDialog  # noqa: PLC0415 - imported when first used

        selection = self._runner.pane.selection()
        if selection is None:
            return
        draft = selection.draft
        if draft is None:
            self.app.notify(labels.post_one_at_a_time(), severity="warning")
            return
        if reason := self._runner.refusal("review.post", draft):
            self.app.notify(reason, severity="warning")
            return

        dialog = PostDialog(lambda: self._plan(draft))

        def on_answer(yes: bool | None) -> None:  # noqa: FBT001 - Textual passes the dialog's result
            if yes and dialog.plan is not None:
                self._post(draft, dialog.plan.resend)

        self.app.push_screen(dialog, on_answer)

    def _post(self, draft: "ListedDraft", resend: "DeliveryReport | None") -> None:
        def post(_: object = None) -> None:
            if resend is not None:
                self._answers.send_again(resend)
            else:
                self._post_now(draft)

        if self._runner.changes.current_state(draft).status in TO_REVIEW:
            # Quiet: the outcome of the post is notified; if it is refused, the row shows the approval.
            self._runner.apply(APPROVE, target=select_draft(draft), on_success=post, quiet=True)
        else:
            post()

    def mark_posted(self) -> None:
        """Mark the first delivery of unknown outcome of the draft under the cursor as posted."""
        if draft := self._runner.pane.current_or_notify():
            if reason := self._runner.refusal("review.mark_posted", draft):
                self.app.notify(reason, severity="warning")
            else:
                self.app.run_desk_task(lambda desk: self._mark_posted(desk, draft), hold_keys=Hold.SCREEN)

    async def _mark_posted(self, desk: "Desk", draft: "ListedDraft") -> None:
        unresolved = [report for report in await desk.posting.list_deliveries(draft.id) if report.is_unresolved]
        if unresolved:
            self._answers.mark_posted(unresolved[0])
        else:
            self.app.notify(labels.no_unknown_outcome(labels.draft_name(draft.text)))

    def _report_answer(self, message: str, severity: "SeverityLevel") -> None:
        self.app.notify(message, severity=severity)
        self._runner.screen.call_later(self._runner.screen.refresh_data)

    def _post_now(self, draft: "ListedDraft") -> None:
        self._runner.queue.fade([draft.id], Status.POSTING)
        self._runner.changes.pending.add(draft.id, DraftState(Status.POSTING))
        self.app.run_desk_task(
            lambda desk: self._post_in_background(desk, draft), name="post", on_finished=lambda: self._on_posted(draft)
        )

    def _on_posted(self, draft: "ListedDraft") -> None:
        self._runner.changes.pending.remove_first(draft.id)
        self._runner.screen.call_later(self._runner.screen.refresh_data)

    async def _plan(self, draft: "ListedDraft") -> "PostPlan":
        from copydesk.tui.review.dialogs import PostPlan  # noqa: PLC0415

        desk = self.app.desk
        if desk is None:
            return PostPlan(labels.DESK_NOT_OPEN, possible=False)
        await _preload_posting(desk)
        targets, name = await desk.posting.targets(draft.id), labels.draft_name(draft.text)
        in_doubt = targets.skipped_for(SkipReason.IN_DOUBT)
        if not targets.accounts and not in_doubt:
            return PostPlan(_no_target(targets, draft.format), possible=False)
        required = targets.approvals or max(account.approvals for account in in_doubt)
        if refusal := await self._lacking_approval(desk, draft, required):
            return PostPlan(refusal, possible=False)
        names = targets.names
        maybe_live = {names[account.id] for account in in_doubt}
        if not targets.accounts and (plan := await self._plan_resend(desk, draft, maybe_live)):
            return plan
        accounts = {names[account.id]: account for account in targets.accounts}
        blockers = await desk.posting.blockers(draft.id)
        # A post that only waits for a login is sent after it.
        waiting = [
            blocker
            for blocker in blockers
            if blocker.account in accounts and blocker.message == accounts[blocker.account].login_error
        ]
        blocking = [blocker for blocker in blockers if blocker not in waiting]
        blocked = {blocker.account for blocker in blocking}
        reached = [account for account in accounts if account not in blocked]
        skipped = [labels.not_posted_to(name, labels.maybe_posted()) for name in sorted(maybe_live)]
        skipped += [
            labels.not_posted_to(blocker.account, blocker.message)
            for blocker in blocking
            if blocker.account not in maybe_live
        ]
        skipped += [
            labels.waits_for_login(blocker.account, blocker.message)
            for blocker in waiting
            if blocker.account in reached
        ]
        skipped = [self.app.name_keys(reason) for reason in skipped]
        if not reached:
            return PostPlan(labels.no_account_takes(name), skipped, possible=False)
        prices = [
            labels.price(price.account, price.amount, price.currency)
            for price in await desk.posting.prices(draft.id, reached)
        ]
        return PostPlan(labels.post_question(name, reached), [*skipped, *prices])

    async def _plan_resend(self, desk: "Desk", draft: "ListedDraft", accounts: Collection[str]) -> "PostPlan | None":
        """Return the plan to send a draft again that may be posted to its `accounts`; None if Needs you asks."""
        from copydesk.tui.review.dialogs import PostPlan  # noqa: PLC0415

        for report in await desk.posting.list_deliveries(draft.id):
            if report.account in accounts and report.is_unresolved and report.state in FINAL_STATES:
                now = self.app.clock()
                if report.settles_at and report.settles_at > now:
                    return PostPlan(labels.wait_to_resend(report.settles_at, now), possible=False)
                return PostPlan(labels.send_again_question(report.account, in_doubt=True), resend=report)
        return None

    async def _lacking_approval(self, desk: "Desk", draft: "ListedDraft", required: int) -> str:
        """Return why the draft cannot be posted yet; empty if it has `required` approvals, or gets the last."""
        if required <= 1:
            return ""
        reviewed = await desk.drafts.activity.overview(draft.id)
        approved_by = {approval.reviewer for approval in reviewed.activity.approvals}
        # A draft under review is approved first.
        if self._runner.changes.current_state(draft).status in TO_REVIEW:
            approved_by = {reviewed.reviewer}
        if len(approved_by) >= required:
            return ""
        names = [clean(name) for name in sorted(approved_by)]
        return labels.post_lacks_approval(labels.draft_name(draft.text), names, required)

    async def _post_in_background(self, desk: "Desk", draft: "ListedDraft") -> None:
        attempts_before = {delivery.id: delivery.attempts for delivery in await desk.posting.list_deliveries(draft.id)}
        version = self._runner.changes.current_version(draft)
        try:
            current = await desk.drafts.get(draft.id)
            # A text that was changed while the question was open is not what the user agreed to.
            if current.text == draft.text:
                version = current.version
            result = await desk.posting.post(draft.id, expected_version=version)
        except CopydeskError as error:
            self._runner.screen.call_later(self._runner.restore_row, draft.id)
            message = f"{labels.draft_name(draft.text)}: {error}"
            self.app.notify(message, severity="warning" if is_refusal(error) else "error")
            return
        self._runner.changes.record(draft, result.draft)
        self._runner.screen.call_later(self._runner.queue.fade, [draft.id], result.draft.status)
        for delivery in await desk.posting.list_deliveries(draft.id):
            if attempts_before.get(delivery.id) != delivery.attempts:
                is_posted = delivery.account in result.posted
                self.app.notify(
                    await describe_outcome(desk, delivery), severity="information" if is_posted else "warning"
                )

    # Blockers.

    def check_blockers(self, ids: Sequence[str]) -> None:
        """Check in the background whether anything would block posting these drafts as they are, and warn."""
        self._check_queue = [*self._check_queue, *ids[:MAX_CHECKED]][-MAX_CHECKED:]
        if not self._checking:
            self._checking = True
            self._runner.screen.set_timer(
                CHECK_DELAY,
                lambda: self.app.run_desk_task(self._warn_about_blockers, on_finished=self._on_check_finished),
            )

    def _on_check_finished(self) -> None:
        self._checking = False

    async def _warn_about_blockers(self, desk: "Desk") -> None:
        warnings: list[str] = []
        await _preload_posting(desk)
        while self._check_queue:
            checked, self._check_queue = self._check_queue, []
            without_account = await desk.posting.list_without_account(checked)
            # Once, not after each of fifty approvals; again after an account was connected and removed.
            if without_account and not self._is_missing_account:
                warnings.append(labels.missing_account(len(without_account), len(checked)))
            self._is_missing_account = bool(without_account)
            # Said of scheduled ones only: after an approval its toast has the number of approvals.
            timed = [draft_id for draft_id in checked if draft_id in self._scheduled_ids]
            self._scheduled_ids.difference_update(timed)
            if self.app.needs_approvals and (lacking := await desk.posting.list_lacking_approvals(timed)):
                warnings.append(labels.lacking_approvals(len(lacking), len(timed)))
            # Without an account there is nothing else to check.
            for draft_id in checked:
                if draft_id not in without_account:
                    warnings += await self._first_blocker(desk, draft_id)
        if warnings:
            remaining = labels.and_more(len(warnings) - MAX_LISTED)
            self.app.notify(" ".join(warnings[:MAX_LISTED]) + remaining, severity="warning")

    async def _first_blocker(self, desk: "Desk", draft_id: str) -> list[str]:
        blockers = await desk.posting.blockers(draft_id)
        if not blockers:
            return []
        name, first = labels.draft_name((await desk.drafts.get(draft_id)).text), blockers[0]
        for report in await desk.posting.list_deliveries(draft_id):
            # What blocks it names commands; here keys do the same.
            if report.is_unresolved and report.account == first.account:
                unknown = labels.unknown_outcome(report.account, is_final=report.state in FINAL_STATES)
                return [f"{name}: {unknown}"]
        return [labels.posting_blocked(name, first.account, first.message, first.part)]


def _no_target(targets: PostingTargets, format: Format) -> str:
    """Return why a draft goes to no account."""
    if targets.skipped_for(SkipReason.POSTED):
        return labels.ALREADY_POSTED
    if targets.disconnected:
        return labels.missing_account(1, 1)
    return labels.no_account_for_format(format) if targets.skipped else labels.no_account_connected()


async def _preload_posting(desk: "Desk") -> None:
    """Import the modules for posting in a thread, so that keys are handled meanwhile."""
    await asyncio.to_thread(lambda: (desk.accounts, desk.posting, desk.schedule))
