"""The comments on a draft, and the texts that other reviewers typed and did not save."""

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from copydesk.model.activity import MAX_COMMENT_LENGTH, MAX_QUOTE_LENGTH, Comment, ReviewedDraft, UnsavedEdit
from copydesk.text import clean_lines
from copydesk.text.formatting import format_relative
from copydesk.tui import labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.dialogs.fields import Field, FieldsDialog
from copydesk.tui.dialogs.prompt import ConfirmDialog
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.layout import paragraph
from copydesk.tui.review.pages import comment_page, unsaved_page
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.terminal.cells import safe_line
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft

MAX_COMPLETIONS = 300
"""Words of a text at which a completion begins."""
_SENTENCE = re.compile(r"[^\n.!?…]+[.!?…]*")
_WORD = re.compile(r"\S+")


def completions(text: str) -> list[str]:
    """Return the rest of its sentence from each word of the text on, to complete words that are typed."""
    found = [
        sentence[0][word.start() :].rstrip()
        for sentence in _SENTENCE.finditer(text)
        for word in _WORD.finditer(sentence[0])
    ]
    return [text for text in found[:MAX_COMPLETIONS] if len(text) <= MAX_QUOTE_LENGTH]


class CommentsDialog(Dialog[None], inherit_bindings=False):
    """The list above, the whole comment or the difference to an unsaved text below."""

    CSS_PATH = stylesheet_path("deciding.tcss")
    WHERE = (KeyContext.LIST, KeyContext.COMMENTS)
    BINDINGS = bindings(KeyContext.COMMENTS)
    AUTO_FOCUS = "LineList"

    app = getters.app(DeskApp)
    entries: getters.query_one[LineList[Comment | UnsavedEdit]] = getters.query_one(LineList)
    page = getters.query_one(Page)

    def __init__(self, draft: "ListedDraft", reviewed: ReviewedDraft) -> None:
        super().__init__()
        self._draft = draft
        self._reviewed = reviewed

    def compose(self) -> ComposeResult:
        with Vertical(id="comments"):
            yield LineList(self._draw_row, shows_times=True)
            yield Page(id="comment")

    def on_mount(self) -> None:
        set_title(self.entries, labels.comments_title(labels.draft_name(self._draft.text)))
        set_title(self.page, labels.COMMENT_TITLE)
        self._show(self._reviewed)

    def _show(self, reviewed: ReviewedDraft) -> None:
        current_id = self.entries.current.id if self.entries.current else ""
        self._reviewed = reviewed
        rows: list[Comment | UnsavedEdit] = [*reviewed.comments, *reviewed.activity.unsaved]
        if not rows:
            self.entries.show_note([paragraph(labels.no_comments(), "dim")])
            return
        ids = [row.id for row in rows]
        self.entries.show(rows, ids.index(current_id) if current_id in ids else min(self.entries.cursor, len(ids) - 1))

    def _draw_row(self, entry: Comment | UnsavedEdit, width: int) -> Content:
        is_resolved = isinstance(entry, Comment) and entry.resolved_at is not None
        sign = "[x] " if is_resolved else "[ ] " if isinstance(entry, Comment) else "±   "
        age = format_relative(entry.at, self.app.clock())
        parts = [Content.styled(sign, "dim"), Content.styled(f"{safe_line(entry.reviewer)}, {age}  ", "accent")]
        if isinstance(entry, Comment):
            parts += [Content.styled(f"“{safe_line(entry.quote)}”  ", "dim")] if entry.quote else []
            parts.append(Content.styled(safe_line(entry.text), "dim" if is_resolved else ""))
        else:
            parts.append(Content(labels.NOT_SAVED))
        return Content("").join(parts).truncate(width, ellipsis=True)

    @on(LineList.Moved)
    def _show_current(self) -> None:
        entry = self.entries.current
        if isinstance(entry, UnsavedEdit):
            self.app.run_desk_task(partial(self._load_difference, entry))
        else:
            self.page.show(partial(comment_page, entry, self.app.clock()) if entry else ())

    async def _load_difference(self, edit: UnsavedEdit, desk: "Desk") -> None:
        difference = await desk.drafts.activity.compare_unsaved(edit.id)
        if self.is_attached and self.entries.current == edit:
            self.page.show(unsaved_page(edit, difference, self.app.clock()))

    async def _reload(self, desk: "Desk") -> None:
        reviewed = await desk.drafts.activity.overview(self._draft.id)
        if self.is_attached:
            self.call_later(self._show, reviewed)

    def action_add(self) -> None:
        """Ask for a comment and the words that it is about."""
        fields = (
            Field("text", labels.FIELD_COMMENT, max_length=MAX_COMMENT_LENGTH),
            Field(
                "quote",
                labels.FIELD_QUOTE,
                placeholder=labels.WHOLE_DRAFT,
                max_length=MAX_QUOTE_LENGTH,
                suggestions=completions(clean_lines(self._draft.text)),
            ),
        )
        dialog = FieldsDialog(labels.ADD_COMMENT, fields, self._add, hint=labels.comment_hint())
        self.app.push_screen(dialog, self._on_added)

    async def _add(self, desk: "Desk", values: Mapping[str, str]) -> str:
        await desk.drafts.comments.add(self._draft.id, values["text"], values["quote"])
        return labels.comment_added(values["quote"])

    def _on_added(self, message: str | None) -> None:
        if message:
            self.app.notify(message)
            self.app.run_desk_task(self._reload, hold_keys=Hold.RESULT)

    def action_resolve(self) -> None:
        """Mark the comment as resolved, or open it again."""
        entry = self.entries.current
        if isinstance(entry, Comment):
            self.app.enqueue_write(partial(self._resolve, entry), hold_keys=Hold.RESULT)
        elif entry is not None:
            self.app.notify(labels.not_a_comment(), severity="warning")

    async def _resolve(self, comment: Comment, desk: "Desk") -> None:
        await desk.drafts.comments.resolve(comment.id, resolved=comment.resolved_at is None)
        await self._reload(desk)

    def action_delete(self) -> None:
        """Delete the comment, or the text that was not saved, after a confirmation."""
        if entry := self.entries.current:
            question = labels.delete_question(entry.reviewer, is_comment=isinstance(entry, Comment))
            dialog = ConfirmDialog(question, yes=labels.DELETE)
            self.app.push_screen(dialog, partial(self._on_delete_answer, entry))

    def _on_delete_answer(self, entry: Comment | UnsavedEdit, yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if yes:
            self.app.enqueue_write(partial(self._delete, entry), hold_keys=Hold.RESULT)

    async def _delete(self, entry: Comment | UnsavedEdit, desk: "Desk") -> None:
        if isinstance(entry, Comment):
            await desk.drafts.comments.remove(entry.id)
        else:
            await desk.drafts.activity.discard_unsaved(entry.id)
        await self._reload(desk)

    def action_pane(self) -> None:
        """Switch between the list and the text."""
        (self.page if self.focused is self.entries else self.entries).focus()

    def on_line_list_opened(self) -> None:
        """Enter reads the text."""
        self.page.focus()

    def action_leave(self) -> None:
        """Return to the list, or close."""
        if self.focused is self.page:
            self.entries.focus()
        else:
            self.close()
