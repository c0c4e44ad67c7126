"""Read-only actions on a draft: its history, its changes, copying its text or link."""

from typing import TYPE_CHECKING

from copydesk.desk.story import story_of
from copydesk.errors import ConflictError
from copydesk.text import clean_lines
from copydesk.tui.browser import is_link
from copydesk.tui.deciding.acting import Acts
from copydesk.tui.deciding.outcomes import name_of
from copydesk.tui.naming import key
from copydesk.tui.words import STATUS

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.model.draft import ListedDraft


class Looks(Acts):
    """Actions that change nothing."""

    def history(self) -> None:
        """Show the draft's history."""
        if draft := self.rows.current:
            self.app.ask(lambda desk: self._history(desk, draft.id), opens=True)

    async def _history(self, desk: "Desk", draft_id: str) -> None:
        from copydesk.tui.modals.reading import ReadingScreen  # noqa: PLC0415 - for those who read it
        from copydesk.tui.pages.change import history_page  # noqa: PLC0415

        history = await story_of(desk, draft_id, {status: sign.words for status, sign in STATUS.items()})
        self.app.open_over(self.screen, ReadingScreen("History", history_page(history, draft_id)))

    def difference(self) -> None:
        """Show the difference to the next version or, if there is none, to the previous one."""
        if draft := self.rows.current:
            self.app.ask(lambda desk: self._difference(desk, draft), opens=True)

    async def _difference(self, desk: "Desk", draft: "ListedDraft") -> None:
        from copydesk.tui.modals.reading import ReadingScreen  # noqa: PLC0415 - for those who read it
        from copydesk.tui.pages.change import difference_page  # noqa: PLC0415

        old, new = await self._versions(desk, draft)
        difference = await desk.drafts.difference(old, new)
        self.app.open_over(self.screen, ReadingScreen("What changed", difference_page(difference), name_of(draft.text)))

    async def _versions(self, desk: "Desk", draft: "ListedDraft") -> tuple[str, str]:
        """Return the ids of the versions to compare, the older one first.

        Raise ConflictError if the draft has only one version.
        """
        newer = [
            version.id for version in await desk.drafts.versions(draft.id) if version.regenerated_from_id == draft.id
        ]
        if newer:
            return draft.id, newer[-1]
        if draft.regenerated_from_id is not None:
            return draft.regenerated_from_id, draft.id
        raise ConflictError(
            f"{name_of(draft.text)} has no other version.", hint=f"{key('review.regenerate')} asks for a new one."
        )

    def copy_text(self) -> None:
        """Copy the draft's text to the clipboard, without invisible characters."""
        if draft := self.rows.current:
            self.app.copy_to_clipboard(clean_lines(draft.text))
            self.app.say(f"Copied the text of {name_of(draft.text)}")

    def copy_link(self) -> None:
        """Copy the link of the draft's source item to the clipboard."""
        if draft := self.rows.current:
            self.app.ask(lambda desk: self._copy_link(desk, draft))

    async def _copy_link(self, desk: "Desk", draft: "ListedDraft") -> None:
        url = (await desk.drafts.item(draft.item_id)).entry.url
        if url is None or not is_link(url):
            raise ConflictError("Its source has no link to copy.")
        self.app.copy_to_clipboard(url)
        self.app.say(f"Copied {url}")
