"""The draft under the cursor, how it would stand where it is meant to go, and its pictures."""

from contextlib import suppress
from typing import TYPE_CHECKING

from textual import getters, on

from copydesk.errors import NotFoundError
from copydesk.tui.latest import Latest
from copydesk.tui.screens.review_messages import PicturesRead, PreviewRead
from copydesk.tui.screens.review_queue import QueueScreen
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from collections.abc import Callable
    from zoneinfo import ZoneInfo

    from textual.content import Content

    from copydesk.desk import Desk
    from copydesk.model.draft import DraftImage, ListedDraft
    from copydesk.model.picture import Look
    from copydesk.tui.layout import Block
    from copydesk.tui.pages.outgoing import Outgoing

_KEPT_LOOKS = 16


class PreviewsDraft(QueueScreen, inherit_bindings=False):
    """First the text, then the previews below it, then the pictures: each when it is known, of the last draft asked."""

    draft_pane = getters.query_one("#draft", Page)

    def __init__(self) -> None:
        super().__init__()
        self._previewing = Latest(self._read_preview)
        self._picturing = Latest(self._read_pictures)
        self._previewed: PreviewRead | None = None
        self._looks: dict[str, Look] = {}
        """By the ids of pictures; only of those that can be seen, for the others may come."""
        self._zone: ZoneInfo | None = None
        """The user's, as it was last read."""

    def show_text(self, draft: "ListedDraft") -> None:
        """Show a draft, and ask for the rest of its page."""
        from copydesk.tui.pages.draft import draft_page  # noqa: PLC0415 - what the first paint does not need waits
        from copydesk.tui.pages.outgoing import Outgoing  # noqa: PLC0415

        self._previewed = None
        outgoing = Outgoing(self._zone)
        self.draft_pane.show(lambda: draft_page(draft, self.app.clock(), outgoing=outgoing))
        if self.app.desk is not None:
            self.app.ask(lambda desk: self._previewing.wish((desk, draft)))

    async def _read_preview(self, wish: "tuple[Desk, ListedDraft]") -> None:
        desk, draft = wish
        alts = [image.alt or "" for image in draft.images]
        previews = await desk.posting.preview(
            draft.text, draft.format, draft.target_platforms, tags=draft.tags, alts=alts
        )
        self.post_message(PreviewRead(draft, previews, await self._read_outgoing(desk, draft)))

    async def _read_outgoing(self, desk: "Desk", draft: "ListedDraft") -> "Outgoing":
        """The user's clock for what is scheduled, the links for what was posted."""
        from copydesk.model.draft import Status  # noqa: PLC0415 - as above
        from copydesk.tui.pages.outgoing import Outgoing  # noqa: PLC0415

        if draft.status is Status.POSTED:
            with suppress(NotFoundError):  # it may have been deleted since
                return Outgoing(reports=await desk.posting.deliveries(draft.id))
        if draft.scheduled_at is not None:
            from zoneinfo import ZoneInfo  # noqa: PLC0415 - as above

            self._zone = ZoneInfo(await desk.schedule.zone())
        return Outgoing(self._zone)

    @on(PreviewRead)
    def _show_preview(self, message: PreviewRead) -> None:
        """How it will be live, below its text."""
        from copydesk.tui.pages.draft import draft_page  # noqa: PLC0415 - as above

        if (message.previews or any(message.outgoing)) and self.queue.current == message.draft:
            self._previewed = message
            self._show_more(
                lambda: draft_page(message.draft, self.app.clock(), message.previews, outgoing=message.outgoing)
            )
            self._ask_pictures()

    def _show_more(self, made: "Callable[[], list[Block]]") -> None:
        """What is being read stays where it is."""
        line = self.draft_pane.scroll_offset.y
        self.draft_pane.show(made)
        self.draft_pane.scroll_to(y=line, animate=False)

    # The pictures.

    def _ask_pictures(self) -> None:
        read = self._previewed
        if read is not None and read.draft.images and self.app.desk is not None:
            self.app.ask(lambda desk: self._picturing.wish((desk, read)))

    async def _read_pictures(self, wish: "tuple[Desk, PreviewRead]") -> None:
        from copydesk.tui.pages.pictures import INDENT, Pictured  # noqa: PLC0415

        desk, read = wish
        if read is not self._previewed:
            return
        found = []
        for image in read.draft.images:
            look = await self._look_at(desk, image)
            # One cell is left free beside the scroll bar.
            room = self.draft_pane.room.width - 1 - INDENT
            found.append(Pictured(image.alt or "", look, await self._drawn(desk, look, room)))
        self.post_message(PicturesRead(read, found))

    async def _drawn(self, desk: "Desk", look: "Look", room: int) -> "tuple[Content, ...]":
        if not look.content:
            return ()
        from copydesk.tui.gallery import lines_of  # noqa: PLC0415 - as above

        return await lines_of(self.app, desk, look, room)

    async def _look_at(self, desk: "Desk", image: "DraftImage") -> "Look":
        if image.id in self._looks:
            return self._looks[image.id]
        (look,) = await desk.drafts.look_at([image])
        if look.content:
            if len(self._looks) >= _KEPT_LOOKS:
                self._looks.clear()
            self._looks[image.id] = look
        return look

    @on(PicturesRead)
    def _show_pictures(self, message: PicturesRead) -> None:
        from copydesk.tui.pages.draft import draft_page  # noqa: PLC0415 - as above

        read = message.of
        if read is self._previewed and self.queue.current == read.draft:
            self._show_more(
                lambda: draft_page(read.draft, self.app.clock(), read.previews, message.pictures, read.outgoing)
            )

    @on(Page.Widened)
    def _draw_again(self, message: Page.Widened) -> None:
        """Another width is another drawing."""
        if message.page is self.draft_pane:
            self._ask_pictures()
