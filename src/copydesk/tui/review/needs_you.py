"""The tab Needs you of the review: deliveries that wait for an answer of the user, with one key per answer.

It also lists the accounts that approved and due drafts wait for, and the scheduled drafts that lack an approval.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from textual import getters, on
from textual.content import Content
from textual.events import DescendantFocus
from textual.notifications import SeverityLevel
from textual.widget import Widget

from copydesk.errors import CopydeskError
from copydesk.model.delivery import FINAL_STATES, AccountQuestion, ApprovalQuestion, DeliveryAnswer, DeliveryQuestion
from copydesk.model.filters import Tab, count_in_tab
from copydesk.tui import empty_states, labels
from copydesk.tui.browser import is_link, open_or_show_link
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.dialogs.prompt import ConfirmDialog
from copydesk.tui.keys import KeyContext, bindings, key_label, replace_commands_with_keys
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.review.publish_actions import DeliveryAnswers
from copydesk.tui.review.queue_header import TabsLine
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.terminal.cells import fit, safe_line
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk

_ACCOUNT_WIDTH = 28
"""Cells of the account in a row."""
_ANSWER_KEYS = {
    DeliveryAnswer.POSTED: "needs_you.posted",
    DeliveryAnswer.AGAIN: "needs_you.again",
    DeliveryAnswer.DROP: "needs_you.drop",
    DeliveryAnswer.SIGN_IN: "needs_you.sign_in",
}
_ANSWERS = {key_id: answer for answer, key_id in _ANSWER_KEYS.items()} | {"needs_you.profile": None}
"""The keys that act on what is under the cursor, with the answers that they give."""

Question = DeliveryQuestion | AccountQuestion | ApprovalQuestion


def _question_id(question: Question) -> str:
    """Return what stays the same when the list is loaded again."""
    if isinstance(question, ApprovalQuestion):
        return f"approval {question.draft_id}"
    return question.delivery.id if isinstance(question, DeliveryQuestion) else f"{question.platforms} {question.format}"


def _draft_id(question: Question) -> str:
    return question.delivery.draft_id if isinstance(question, DeliveryQuestion) else question.draft_id


def _profile_url(question: Question) -> str:
    return (question.profile_url or "") if isinstance(question, DeliveryQuestion) else ""


def _answer_refusal(answer: DeliveryAnswer, question: Question, now: datetime) -> str:
    """Return why the question does not take this answer; empty if it does."""
    if isinstance(question, AccountQuestion):
        return "" if answer is DeliveryAnswer.SIGN_IN else labels.account_missing_answer()
    if isinstance(question, ApprovalQuestion):
        return labels.approval_missing_answer()
    settles_at = question.delivery.settles_at
    if answer is DeliveryAnswer.AGAIN and answer in question.answers and settles_at and settles_at > now:
        return labels.wait_to_resend(settles_at, now)
    return "" if answer in question.answers else labels.ANSWER_NOT_POSSIBLE[answer]


def _account_name(question: Question) -> str:
    if isinstance(question, DeliveryQuestion):
        return question.delivery.account
    if isinstance(question, ApprovalQuestion):
        return labels.missing_approval(len(question.approved_by), question.required)
    return labels.missing_account_name(question.platforms)


def question_row(question: Question, width: int) -> Content:
    """Return the row of a delivery, a missing account or approval: what is missing and the start of the draft."""
    account = fit(safe_line(_account_name(question)), min(_ACCOUNT_WIDTH, width // 2))
    return Content.assemble((account, "accent"), "  ", safe_line(question.text)).truncate(width, ellipsis=True)


def question_page(question: Question) -> list[Block]:
    """Return what is known about a delivery, a missing account or approval, and the answers with their keys."""
    if isinstance(question, AccountQuestion):
        return _account_page(question)
    if isinstance(question, ApprovalQuestion):
        keys = [(key_label("list.open"), labels.open_to_approve())]
        return _missing_page(question, keys)
    keys = [(key_label(_ANSWER_KEYS[answer]), labels.ANSWERS[answer]) for answer in question.answers]
    if is_link(question.profile_url):
        keys.insert(0, (key_label("needs_you.profile"), f"{labels.OPEN_PROFILE} {question.profile_url}"))
    return [
        paragraph(safe_line(question.delivery.account), "strong"),
        paragraph(safe_line(replace_commands_with_keys(question.known)), "warn"),
        paragraph(),
        Table([(Content.styled(key, "key"), Content(text)) for key, text in keys]),
        paragraph(),
        Paragraph(Content("\n".join(safe_line(line) for line in question.text.splitlines()))),
    ]


def _account_page(question: AccountQuestion) -> list[Block]:
    platform = labels.platform_name(question.platform) if question.platform else ""
    keys = [
        (key_label("needs_you.sign_in"), labels.connect_account(platform)),
        (key_label("list.open"), labels.OPEN_WAITING_DRAFT),
    ]
    note = [paragraph(safe_line(replace_commands_with_keys(question.advice)), "dim")] if question.platforms else []
    return _missing_page(question, keys, note)


def _missing_page(
    question: AccountQuestion | ApprovalQuestion, keys: Sequence[tuple[str, str]], note: Sequence[Block] = ()
) -> list[Block]:
    return [
        paragraph(safe_line(_account_name(question)), "strong"),
        paragraph(safe_line(replace_commands_with_keys(question.known)), "warn"),
        paragraph(),
        Table([(Content.styled(key, "key"), Content(text)) for key, text in keys]),
        *note,
        paragraph(),
        Paragraph(Content("\n".join(safe_line(line) for line in question.text.splitlines()))),
    ]


class NeedsYouScreen(DeskScreen, inherit_bindings=False):
    """The list above, what is known about the delivery under the cursor below."""

    NAME = "Review"
    WHERE = (KeyContext.LIST, KeyContext.NEEDS_YOU)
    CSS_PATH = stylesheet_path("needs_you.tcss")
    BINDINGS = bindings(KeyContext.NEEDS_YOU)
    AUTO_FOCUS = "#questions"

    questions: getters.query_one[LineList[Question]] = getters.query_one("#questions", LineList)
    page = getters.query_one("#question", Page)
    tabs = getters.query_one(TabsLine)

    def __init__(self) -> None:
        super().__init__()
        self._loader: Coalescer[Desk] = Coalescer(self._load)
        self._answers = DeliveryAnswers(self, self._report)

    def body(self) -> Iterable[Widget]:
        yield TabsLine(labels.NEEDS_YOU_TAB)
        yield LineList(question_row, id="questions")
        yield Page(empty_states.opening(self.app.opening_text), id="question")

    def on_mount(self) -> None:
        set_title(self.questions, labels.NEEDS_YOU)
        set_title(self.page, labels.NEEDS_YOU_DETAILS)

    @property
    def key_words(self) -> Mapping[str, str]:
        """Words of the footer for what keys do to the entry under the cursor."""
        return {labels.SIGN_IN: labels.CONNECT_ACCOUNT} if isinstance(self.questions.current, AccountQuestion) else {}

    # Data.

    def refresh_data(self) -> None:
        """Load the deliveries; the cursor stays on the same one."""
        self.load_with_retry(self._loader.submit_and_wait)

    async def _load(self, desk: "Desk") -> None:
        found, counts = await desk.posting.needs_you(), await desk.drafts.counts()
        questions = (*found.deliveries, *found.accounts, *found.approvals)
        self.call_later(self._show, questions, {tab.value: count_in_tab(tab, counts) for tab in Tab})

    def _show(self, questions: Sequence[Question], counts: Mapping[str, int]) -> None:
        self.is_loaded = True
        self.app.needs_user = len(questions)
        self.tabs.show(labels.NEEDS_YOU_TAB, {**counts, **self.app.preferences.tabs.counts})
        if not questions:
            note = [paragraph(labels.NOTHING_NEEDS_YOU, "strong"), paragraph(), paragraph(labels.nothing_needs_you())]
            self.questions.show_note(note)
            return
        current_id = _question_id(self.questions.current) if self.questions.current else ""
        ids = [_question_id(question) for question in questions]
        last = len(ids) - 1
        self.questions.show(questions, ids.index(current_id) if current_id in ids else min(self.questions.cursor, last))

    def show_error(self, error: CopydeskError) -> None:
        self.questions.show_note(self.error_note(error))

    @on(LineList.Moved)
    def _show_current(self) -> None:
        self.update_keys()
        question = self.questions.current
        self.page.show(question_page(question) if question else ())

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Show the keys of the focused pane."""
        list_or_page = KeyContext.PAGE if event.widget is self.page else KeyContext.LIST
        self.show_keys(list_or_page, KeyContext.NEEDS_YOU)

    def selected_draft_id(self) -> str | None:
        """Return the id of the delivery's draft."""
        question = self.questions.current
        return _draft_id(question) if question is not None else None

    # Moving.

    @property
    def can_go_back(self) -> bool:
        return True

    def go_back(self) -> bool:
        """Return to the drafts."""
        self.app.show_tab("")
        return True

    def action_back(self) -> None:
        """Return to the drafts."""
        self.app.show_tab("")

    def action_tab(self, by: int) -> None:
        """Show the first tab (`by` 1) or the last one (-1) of the drafts."""
        self.app.show_tab(self.app.preferences.tabs.keys[0 if by > 0 else -1])

    @on(TabsLine.Clicked)
    def _show_clicked_tab(self, message: TabsLine.Clicked) -> None:
        if message.tab != labels.NEEDS_YOU_TAB:
            self.app.show_tab(message.tab)

    def action_pane(self) -> None:
        """Switch between the list and the page."""
        (self.page if self.focused is self.questions else self.questions).focus()

    def on_line_list_opened(self) -> None:
        """Enter shows the draft."""
        if question := self.questions.current:
            self.app.show_draft(_draft_id(question))

    def action_refresh(self) -> None:
        """Load the list again, or retry to open the desk."""
        if self.app.desk is None:
            self.app.open()
        else:
            self.refresh_data()

    def action_open_profile(self) -> None:
        """Open the account's profile in the browser."""
        if reason := self.refusal("needs_you.profile"):
            self.app.notify(reason, severity="warning")
        elif question := self.questions.current:
            self.run_worker(open_or_show_link(self.app, _profile_url(question)), exit_on_error=False)

    # Answers.

    def action_mark_posted(self) -> None:
        """Ask for the URL, which may stay empty, and mark the delivery as posted."""
        if question := self._answerable(DeliveryAnswer.POSTED):
            self._answers.mark_posted(question.delivery)

    def action_send_again(self) -> None:
        """Send the missing posts, after a confirmation, which warns if they may be online."""
        if question := self._answerable(DeliveryAnswer.AGAIN):
            delivery = question.delivery
            text = labels.send_again_question(delivery.account, in_doubt=delivery.in_doubt)
            dialog = ConfirmDialog(text, yes=labels.SEND_AGAIN)
            self.app.push_screen(dialog, partial(self._send_again, question))

    def _send_again(self, question: DeliveryQuestion, yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if yes:
            self._answers.send_again(question.delivery)

    def action_drop(self) -> None:
        """Give the delivery up, after a confirmation if Copydesk would still do something about it."""
        if question := self._answerable(DeliveryAnswer.DROP):
            if question.delivery.state in FINAL_STATES:
                self._drop(question, yes=True)
                return
            dialog = ConfirmDialog(labels.drop_question(question.delivery.account), yes=labels.DROP)
            self.app.push_screen(dialog, lambda yes: self._drop(question, yes=bool(yes)))

    def _drop(self, question: DeliveryQuestion, *, yes: bool) -> None:
        if yes:
            self.app.enqueue_write(partial(self._save_dropped, question), hold_keys=Hold.RESULT)

    async def _save_dropped(self, question: DeliveryQuestion, desk: "Desk") -> None:
        dropped = await desk.posting.give_up(question.delivery.id)
        self._report(labels.dropped(dropped.account, is_unresolved=dropped.is_unresolved))

    def action_sign_in(self) -> None:
        """Open the form that connects the account again, or one that is missing."""
        current = self.questions.current
        if isinstance(current, AccountQuestion):
            self.app.sign_in(current.platform)
        elif question := self._answerable(DeliveryAnswer.SIGN_IN):
            self.app.sign_in(question.delivery.account.partition(":")[0], question.account_id or "")

    def refusal(self, key_id: str) -> str:
        """Return why a key does nothing to what is under the cursor."""
        if (reason := super().refusal(key_id)) or not self.is_loaded or key_id not in _ANSWERS:
            return reason
        answer, question = _ANSWERS[key_id], self.questions.current
        if question is None:
            return labels.NOTHING_NEEDS_YOU
        if answer is None:
            return "" if is_link(_profile_url(question)) else labels.PROFILE_MISSING
        return _answer_refusal(answer, question, self.app.clock())

    def _answerable(self, answer: DeliveryAnswer) -> DeliveryQuestion | None:
        """Return the delivery under the cursor; None, with a notification, if this is no answer to it."""
        if reason := self.refusal(_ANSWER_KEYS[answer]):
            self.app.notify(reason, severity="warning")
            return None
        question = self.questions.current
        return question if isinstance(question, DeliveryQuestion) else None

    def _report(self, message: str, severity: SeverityLevel = "information") -> None:
        self.app.notify(message, severity=severity)
        self.call_later(self.refresh_for_keys)
