"""What a person looks up of a draft, or takes away from it: its history, what changed, its text, its link."""

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
    """Nothing here changes anything."""

    def history(self) -> None:
        """Show what happened to the draft."""
        if draft := self.rows.current:
            self.app.ask(lambda desk: self._history(desk, draft.id), opens=True)

    async def _history(self, desk: "Desk", draft_id: str) -> None:
        from copydesk.tui.modals.reading import ReadingScreen  # noqa: PLC0415 - for those who read it
        from copydesk.tui.pages.change import history_page  # noqa: PLC0415

        story = await story_of(desk, draft_id, {status: sign.words for status, sign in STATUS.items()})
        self.app.open_over(self.screen, ReadingScreen("History", history_page(story, draft_id)))

    def difference(self) -> None:
        """Show what changed since the version before, or in the one after; a draft that has but one says so."""
        if draft := self.rows.current:
            self.app.ask(lambda desk: self._difference(desk, draft), opens=True)

    async def _difference(self, desk: "Desk", draft: "ListedDraft") -> None:
        from copydesk.tui.modals.reading import ReadingScreen  # noqa: PLC0415 - for those who read it
        from copydesk.tui.pages.change import difference_page  # noqa: PLC0415

        old, new = await self._versions(desk, draft)
        found = await desk.drafts.difference(old, new)
        self.app.open_over(self.screen, ReadingScreen("What changed", difference_page(found), name_of(draft.text)))

    async def _versions(self, desk: "Desk", draft: "ListedDraft") -> tuple[str, str]:
        """The ids of the two versions that are to be compared: with the one after it, else with the one before."""
        newer = [each.id for each in await desk.drafts.versions(draft.id) if each.regenerated_from_id == draft.id]
        if newer:
            return draft.id, newer[-1]
        if draft.regenerated_from_id is not None:
            return draft.regenerated_from_id, draft.id
        raise ConflictError(
            f"{name_of(draft.text)} has no other version.", hint=f"{key('review.regenerate')} asks for a new one."
        )

    def copy_text(self) -> None:
        """Put the draft's text into the clipboard, without what cannot be seen."""
        if draft := self.rows.current:
            self.app.copy_to_clipboard(clean_lines(draft.text))
            self.app.say(f"Copied the text of {name_of(draft.text)}")

    def copy_link(self) -> None:
        """Put the link of its source into the clipboard."""
        if draft := self.rows.current:
            self.app.ask(lambda desk: self._copy_link(desk, draft))

    async def _copy_link(self, desk: "Desk", draft: "ListedDraft") -> None:
        url = (await desk.drafts.item(draft.item_id)).entry.url
        if url is None or not is_link(url):
            raise ConflictError("Its source has no link to copy.")
        self.app.copy_to_clipboard(url)
        self.app.say(f"Copied {url}")
