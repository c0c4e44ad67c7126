"""Read-only actions on a draft: its history, its changes, copying its text or link."""

from typing import TYPE_CHECKING

from copydesk.desk.story import load_history
from copydesk.errors import ConflictError
from copydesk.text import clean_lines
from copydesk.tui.browser import is_link
from copydesk.tui.deciding.acting import ActionRunner
from copydesk.tui.deciding.outcomes import draft_name
from copydesk.tui.naming import key_label
from copydesk.tui.words import STATUS

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft


class InspectActions(ActionRunner):
    """Actions that change nothing."""

    def history(self) -> None:
        """Show the draft's history."""
        if draft := self.rows.current:
            self.app.run_desk_task(lambda desk: self._history(desk, draft.id), opens_screen=True)

    async def _history(self, desk: "Desk", draft_id: str) -> None:
        from copydesk.tui.modals.reading import PageDialog  # noqa: PLC0415 - for those who read it
        from copydesk.tui.pages.change import history_page  # noqa: PLC0415

        history = await load_history(desk, draft_id, {status: sign.text for status, sign in STATUS.items()})
        self.app.push_if_current(self.screen, PageDialog("History", history_page(history, draft_id)))

    def diff(self) -> None:
        """Show the difference to the next version or, if there is none, to the previous one."""
        if draft := self.rows.current:
            self.app.run_desk_task(lambda desk: self._difference(desk, draft), opens_screen=True)

    async def _difference(self, desk: "Desk", draft: "ListedDraft") -> None:
        from copydesk.tui.modals.reading import PageDialog  # noqa: PLC0415 - for those who read it
        from copydesk.tui.pages.change import diff_page  # noqa: PLC0415

        old, new = await self._versions(desk, draft)
        difference = await desk.drafts.compare(old, new)
        self.app.push_if_current(self.screen, PageDialog("What changed", diff_page(difference), draft_name(draft.text)))

    async def _versions(self, desk: "Desk", draft: "ListedDraft") -> tuple[str, str]:
        """Return the ids of the versions to compare, the older one first.

        Raise ConflictError if the draft has only one version.
        """
        newer = [
            version.id
            for version in await desk.drafts.list_versions(draft.id)
            if version.regenerated_from_id == draft.id
        ]
        if newer:
            return draft.id, newer[-1]
        if draft.regenerated_from_id is not None:
            return draft.regenerated_from_id, draft.id
        raise ConflictError(
            f"{draft_name(draft.text)} has no other version.",
            hint=f"{key_label('review.regenerate')} asks for a new one.",
        )

    def copy_text(self) -> None:
        """Copy the draft's text to the clipboard, without invisible characters."""
        if draft := self.rows.current:
            self.app.copy_to_clipboard(clean_lines(draft.text))
            self.app.notify_latest(f"Copied the text of {draft_name(draft.text)}")

    def copy_link(self) -> None:
        """Copy the link of the draft's source item to the clipboard."""
        if draft := self.rows.current:
            self.app.run_desk_task(lambda desk: self._copy_link(desk, draft))

    async def _copy_link(self, desk: "Desk", draft: "ListedDraft") -> None:
        url = (await desk.drafts.item(draft.item_id)).entry.url
        if url is None or not is_link(url):
            raise ConflictError("Its source has no link to copy.")
        self.app.copy_to_clipboard(url)
        self.app.notify_latest(f"Copied {url}")
