"""Schedule and post drafts: at a free slot, at a time, now; and warn about anything that would block posting."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from copydesk.errors import CopydeskError, InvalidError
from copydesk.model.account import select_accounts
from copydesk.model.delivery import DeliveryState
from copydesk.model.draft import TO_REVIEW, Action, Status
from copydesk.model.requests import ChangeDraft
from copydesk.text.formatting import plural
from copydesk.tui.keys import key_label
from copydesk.tui.review.action_runner import ActionRunner
from copydesk.tui.review.outcomes import draft_name
from copydesk.tui.review.selection import Selection, select_draft
from copydesk.tui.runtime.notifications import is_refusal

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft
    from copydesk.tui.review.draft_actions_screen import DraftActionsScreen
    from copydesk.tui.review.publish_dialogs import ParsedTime, PostPlan

MAX_CHECKED = 20
"""Drafts of a bulk action that are checked for posting blockers."""
MAX_LISTED = 3
CHECK_DELAY = 0.5
"""Seconds after an approval: several in a row are checked together."""
APPROVE = ChangeDraft(action=Action.APPROVE)


class PublishActions(ActionRunner):
    """Scheduling and posting."""

    def __init__(self, screen: "DraftActionsScreen") -> None:
        super().__init__(screen)
        self._check_queue: list[str] = []
        self._checking = False

    # Scheduling.

    def schedule(self) -> None:
        """Schedule the selection to the next free slot; a draft under review is approved first."""
        self._schedule(ChangeDraft(action=Action.SCHEDULE, smart_schedule=True), self.screen.draft_selection())

    def _schedule(self, request: ChangeDraft, selection: Selection | None) -> None:
        if selection is None:
            return
        draft = selection.draft
        first = (APPROVE,) if draft and self.current_state(draft).status in TO_REVIEW else ()
        self.apply(*first, request, target=selection, on_success=self.check_blockers)

    def schedule_at(self) -> None:
        """Prompt for a time and schedule the selection for it."""
        from copydesk.tui.review.publish_dialogs import TimePrompt  # noqa: PLC0415 - imported when first used

        selection = self.screen.draft_selection()
        if selection is None:
            return
        draft = selection.draft
        drafts = draft_name(draft.text) if draft else plural(selection.number, "draft")

        async def preview(text: str) -> "ParsedTime":
            return await self._read_time(text, draft.id if draft else None)

        def on_answer(text: str | None) -> None:
            if text is not None:
                self.app.run_desk_task(lambda desk: self._schedule_at(desk, text, selection), hold_keys=True)

        self.app.push_screen(TimePrompt(f"When is {drafts} to go out?", preview), on_answer)

    async def _read_time(self, text: str, draft_id: str | None) -> "ParsedTime":
        from copydesk.tui.review.publish_dialogs import ParsedTime  # noqa: PLC0415

        desk = self.app.desk
        if desk is None:
            return ParsedTime("The desk is not open yet.", is_valid=False)
        try:
            parsed = await desk.schedule.parse_time(text)
            conflicts = await desk.schedule.conflicts(parsed.at, draft_id)
        except InvalidError as error:
            return ParsedTime(error.errors[0].message, is_valid=False)
        except CopydeskError as error:
            return ParsedTime(str(error), is_valid=False)
        conflicts_text = f"{plural(conflicts.count, 'draft')} within 30 minutes" if conflicts.count else ""
        return ParsedTime(
            " · ".join(part for part in (parsed.shown, parsed.note, conflicts_text) if part), is_valid=True
        )

    async def _schedule_at(self, desk: "Desk", text: str, selection: Selection) -> None:
        time = (await desk.schedule.parse_time(text)).at
        has_time = selection.draft is not None and self.current_state(selection.draft).status in (
            Status.SCHEDULED,
            Status.MISSED,
        )
        action = Action.RESCHEDULE if has_time else Action.SCHEDULE
        self._schedule(ChangeDraft(action=action, scheduled_at=time), selection)

    # Posting.

    def post(self) -> None:
        """Ask for confirmation, naming the accounts, and post the draft under the cursor."""
        from copydesk.tui.review.publish_dialogs import PostDialog  # noqa: PLC0415 - imported when first used

        selection = self.screen.draft_selection()
        if selection is None:
            return
        draft = selection.draft
        if draft is None:
            instead = f"{key_label('review.schedule')} schedules them, {key_label('review.back')} clears the marks."
            self.app.notify(f"Drafts are posted one at a time. {instead}", severity="warning")
            return

        def on_answer(yes: bool | None) -> None:  # noqa: FBT001 - Textual passes the dialog's result
            if yes:
                self._post(draft)

        self.app.push_screen(PostDialog(lambda: self._plan(draft)), on_answer)

    def _post(self, draft: "ListedDraft") -> None:
        if self.current_state(draft).status in TO_REVIEW:
            self.apply(APPROVE, target=select_draft(draft), on_success=lambda _: self._post_now(draft))
        else:
            self._post_now(draft)

    def _post_now(self, draft: "ListedDraft") -> None:
        self.rows.fade([draft.id], Status.POSTING)
        self.pending.add(draft.id, Status.POSTING)
        self.app.run_desk_task(
            lambda desk: self._post_in_background(desk, draft), name="post", on_finished=lambda: self._on_posted(draft)
        )

    def _on_posted(self, draft: "ListedDraft") -> None:
        self.pending.remove_first(draft.id)
        self.screen.call_later(self.screen.refresh_data)

    async def _plan(self, draft: "ListedDraft") -> "PostPlan":
        from copydesk.tui.review.publish_dialogs import PostPlan  # noqa: PLC0415

        desk = self.app.desk
        if desk is None:
            return PostPlan("The desk is not open yet.", possible=False)
        await _preload_posting(desk)
        connected = await desk.accounts.list()
        # Posting again skips accounts where the draft is live, so they are not named.
        live_accounts = {
            delivery.account
            for delivery in await desk.posting.list_deliveries(draft.id)
            if delivery.state is DeliveryState.SENT
        }
        accounts = [
            account.label
            for account in select_accounts(connected, draft.target_platforms)
            if account.label not in live_accounts
        ]
        if not connected:
            hint = f"On screen {key_label('console.setup')}, Setup, {key_label('setup.connect')} connects one."
            return PostPlan(f"No account is connected. {hint}", possible=False)
        if not accounts:
            return PostPlan("There is no account to post it to where it is not live already.", possible=False)
        # Both are warnings: the user may still post.
        blockers = [
            f"{blocker.account}: {blocker.message}" for blocker in await desk.posting.blockers(draft.id, accounts)
        ]
        prices = [
            f"{price.account} costs {price.amount} {price.currency}."
            for price in await desk.posting.prices(draft.id, accounts)
        ]
        return PostPlan(f"Post {draft_name(draft.text)} now to {_join_names(accounts)}?", [*blockers, *prices])

    async def _post_in_background(self, desk: "Desk", draft: "ListedDraft") -> None:
        attempts_before = {delivery.id: delivery.attempts for delivery in await desk.posting.list_deliveries(draft.id)}
        try:
            result = await desk.posting.post(draft.id)
        except CopydeskError as error:
            self.screen.call_later(self._restore_row, draft.id)
            message = f"{draft_name(draft.text)}: {error}"
            self.app.notify(message, severity="warning" if is_refusal(error) else "error")
            return
        self.record_change(draft, result.draft)
        self.screen.call_later(self.rows.fade, [draft.id], result.draft.status)
        for delivery in await desk.posting.list_deliveries(draft.id):
            if attempts_before.get(delivery.id) != delivery.attempts:
                is_posted = delivery.account in result.posted
                self.app.notify(
                    f"{delivery.account}: {delivery.says}", severity="information" if is_posted else "warning"
                )

    # Blockers.

    def check_blockers(self, ids: Sequence[str]) -> None:
        """Check in the background whether anything would block posting these drafts as they are, and warn."""
        self._check_queue = [*self._check_queue, *ids[:MAX_CHECKED]][-MAX_CHECKED:]
        if not self._checking:
            self._checking = True
            self.screen.set_timer(
                CHECK_DELAY,
                lambda: self.app.run_desk_task(self._warn_about_blockers, on_finished=self._on_check_finished),
            )

    def _on_check_finished(self) -> None:
        self._checking = False

    async def _warn_about_blockers(self, desk: "Desk") -> None:
        warnings: list[str] = []
        await _preload_posting(desk)
        connected = await desk.accounts.list()
        while self._check_queue:
            draft_id = self._check_queue.pop(0)
            if connected:
                warnings += await self._first_blocker(desk, draft_id)
        if warnings:
            remaining = f" And {len(warnings) - MAX_LISTED} more." if len(warnings) > MAX_LISTED else ""
            self.app.notify(" ".join(warnings[:MAX_LISTED]) + remaining, severity="warning")

    async def _first_blocker(self, desk: "Desk", draft_id: str) -> list[str]:
        blockers = await desk.posting.blockers(draft_id)
        if not blockers:
            return []
        name = draft_name((await desk.drafts.get(draft_id)).text)
        first = blockers[0]
        part = f", post {first.part + 1}" if first.part is not None else ""
        return [f"{name} would not go to {first.account}{part}: {first.message}"]


async def _preload_posting(desk: "Desk") -> None:
    """Import the modules for posting in a thread, so that keys are handled meanwhile."""
    await asyncio.to_thread(lambda: (desk.accounts, desk.posting, desk.schedule))


def _join_names(names: Sequence[str]) -> str:
    *leading, last = names
    return f"{', '.join(leading)} and {last}" if leading else last
