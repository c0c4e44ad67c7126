"""The draft under the cursor, how it would stand where it is meant to go, and its pictures."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from textual import getters, on

from copydesk.errors import NotFoundError
from copydesk.tui.keeping import keep
from copydesk.tui.latest import Latest
from copydesk.tui.screens.review_messages import PicturesRead, PreviewRead
from copydesk.tui.screens.review_queue import QueueScreen
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    from textual.content import Content

    from copydesk.desk import Desk
    from copydesk.model.draft import DraftImage, ListedDraft
    from copydesk.model.picture import Look
    from copydesk.tui.pages.outgoing import Outgoing
    from copydesk.tui.pages.pictures import Pictured

_KEPT_LOOKS = 16
_KEPT_READS = 64


class PreviewsDraft(QueueScreen, inherit_bindings=False):
    """First the text, then the previews below it, then the pictures: each when it is known, of the last draft asked.

    Of the draft that is likely to be next the previews are read ahead, so that they are there with the text.
    """

    draft_pane = getters.query_one("#draft", Page)

    def __init__(self) -> None:
        super().__init__()
        self._previewing = Latest(self._read_previews)
        self._picturing = Latest(self._read_pictures)
        self._previewed: PreviewRead | None = None
        self._reads: dict[str, PreviewRead] = {}
        """What was read lately, ahead or not, by the ids of the drafts; until the list is looked at again."""
        self._pictures: Sequence[Pictured] = ()
        """Those of the draft that is previewed, once they are known."""
        self._looks: dict[str, Look] = {}
        """By the ids of pictures; only of those that can be seen, for the others may come."""
        self._zone: ZoneInfo | None = None
        """The user's, as it was last read."""

    def show_text(self, draft: "ListedDraft") -> None:
        """Show a draft, and ask for the rest of its page."""
        from copydesk.tui.pages.draft import draft_page  # noqa: PLC0415 - what the first paint does not need waits
        from copydesk.tui.pages.outgoing import Outgoing  # noqa: PLC0415

        self._previewed, self._pictures = self._known(draft), ()
        read = self._previewed
        previews, outgoing = (read.previews, read.outgoing) if read else ((), Outgoing(self._zone))
        self.draft_pane.show(lambda: draft_page(draft, self.app.clock(), previews, outgoing=outgoing))
        self._ask_pictures()
        self._ask_previews()

    def read(self) -> None:
        """What was read of drafts may be of before what was written."""
        self._reads.clear()
        super().read()
        if self.has_read:
            self._ask_previews()

    def _known(self, draft: "ListedDraft") -> PreviewRead | None:
        read = self._reads.get(draft.id)
        return read if read is not None and read.draft == draft else None

    def _ask_previews(self) -> None:
        unknown = [each for each in self.queue.looked_at() if self._known(each) is None]
        if unknown and self.app.desk is not None:
            self.app.ask(lambda desk: self._previewing.wish((desk, unknown)))

    async def _read_previews(self, wish: "tuple[Desk, Sequence[ListedDraft]]") -> None:
        """Of those that no other wish has read since."""
        desk, drafts = wish
        for draft in drafts:
            if self._known(draft) is None:
                with self.ahead(draft):
                    changes = self.app.changes
                    read = await self._read_preview(desk, draft)
                    if changes == self.app.changes:  # else it may be of before that
                        keep(self._reads, draft.id, read, _KEPT_READS)
                    self.post_message(read)

    @contextmanager
    def ahead(self, draft: "ListedDraft") -> Iterator[None]:
        """What goes wrong with a draft is told when it is looked at, not when it is read ahead."""
        try:
            yield
        except Exception:
            if self.queue.current is not None and self.queue.current.id == draft.id:
                raise

    async def _read_preview(self, desk: "Desk", draft: "ListedDraft") -> PreviewRead:
        alts = [image.alt or "" for image in draft.images]
        previews = await desk.posting.preview(
            draft.text, draft.format, draft.target_platforms, tags=draft.tags, alts=alts
        )
        return PreviewRead(draft, previews, await self._read_outgoing(desk, draft))

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

        if self.queue.current != message.draft or self._says(message):
            return
        self._previewed, pictures = message, self._pictures
        self.draft_pane.show_more(
            lambda: draft_page(message.draft, self.app.clock(), message.previews, pictures, message.outgoing)
        )
        self._ask_pictures()

    def _says(self, read: PreviewRead) -> bool:
        """Whether the page says the same already."""
        shown = self._previewed
        return shown is not None and (shown.draft, shown.previews, shown.outgoing) == (
            read.draft,
            read.previews,
            read.outgoing,
        )

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
            keep(self._looks, image.id, look, _KEPT_LOOKS)
        return look

    @on(PicturesRead)
    def _show_pictures(self, message: PicturesRead) -> None:
        from copydesk.tui.pages.draft import draft_page  # noqa: PLC0415 - as above

        read = message.of
        if read is self._previewed and self.queue.current == read.draft:
            self._pictures = message.pictures
            self.draft_pane.show_more(
                lambda: draft_page(read.draft, self.app.clock(), read.previews, message.pictures, read.outgoing)
            )

    @on(Page.Widened)
    def _draw_again(self, message: Page.Widened) -> None:
        """Another width is another drawing."""
        if message.page is self.draft_pane:
            self._ask_pictures()
