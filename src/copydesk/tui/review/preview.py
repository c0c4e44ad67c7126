"""The draft pane of the review: the text, the previews per platform, and the images."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from textual import getters, on

from copydesk.errors import NotFoundError
from copydesk.tui.review.caching import lru_put
from copydesk.tui.review.queue_data import ImagesLoaded, PreviewLoaded
from copydesk.tui.review.queue_screen import QueueScreen
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    from textual.content import Content

    from copydesk.desk import Desk
    from copydesk.model.draft import DraftImage, ListedDraft, Thumbnail
    from copydesk.tui.review.pages import DeliveryInfo
    from copydesk.tui.review.preview_page import ImageView

_THUMBNAIL_CACHE_SIZE = 16
_PREVIEW_CACHE_SIZE = 64


class PreviewMixin(QueueScreen, inherit_bindings=False):
    """Show first the text, then the previews, then the images, as each becomes available.

    Only the draft requested last is shown. The previews of the draft likely to be next are loaded in advance, so that
    they appear with its text.
    """

    draft_pane = getters.query_one("#draft", Page)

    def __init__(self) -> None:
        super().__init__()
        self._preview_loader = Coalescer(self._load_previews)
        self._image_loader = Coalescer(self._load_images)
        self._current_preview: PreviewLoaded | None = None
        self._preview_cache: dict[str, PreviewLoaded] = {}
        """Recently loaded previews by draft id, loaded in advance or not; cleared when the list is refreshed."""
        self._images: Sequence[ImageView] = ()
        """Images of the current preview; empty until they are loaded."""
        self._thumbnails: dict[str, Thumbnail] = {}
        """Thumbnails by image id. Missing images are not cached: they may be available later."""
        self._zone: ZoneInfo | None = None
        """The user's time zone, as loaded last."""

    def show_text(self, draft: "ListedDraft") -> None:
        """Show a draft's text at once, and request its previews and images."""
        from copydesk.tui.review.pages import DeliveryInfo, draft_page  # noqa: PLC0415 - not needed for the first paint

        self._current_preview, self._images = self._cached_preview(draft), ()
        cached = self._current_preview
        previews, delivery = (cached.previews, cached.delivery) if cached else ((), DeliveryInfo(self._zone))
        self.draft_pane.show(lambda: draft_page(draft, self.app.clock(), previews, delivery=delivery))
        self._request_images()
        self._request_previews()

    def refresh_data(self) -> None:
        """Refresh the list, and drop the cached previews: they may be older than the change."""
        self._preview_cache.clear()
        super().refresh_data()
        if self.is_loaded:
            self._request_previews()

    def _cached_preview(self, draft: "ListedDraft") -> PreviewLoaded | None:
        cached = self._preview_cache.get(draft.id)
        return cached if cached is not None and cached.draft == draft else None

    def _request_previews(self) -> None:
        missing = [draft for draft in self.queue.current_and_next() if self._cached_preview(draft) is None]
        if missing and self.app.desk is not None:
            self.app.run_desk_task(lambda desk: self._preview_loader.submit((desk, missing)))

    async def _load_previews(self, request: "tuple[Desk, Sequence[ListedDraft]]") -> None:
        """Load the previews that no other request has loaded meanwhile."""
        desk, drafts = request
        for draft in drafts:
            if self._cached_preview(draft) is None:
                with self.suppress_prefetch_errors(draft):
                    changes = self.app.change_count
                    preview = await self._load_preview(desk, draft)
                    if changes == self.app.change_count:  # otherwise it may be older than the change
                        lru_put(self._preview_cache, draft.id, preview, _PREVIEW_CACHE_SIZE)
                    self.post_message(preview)

    @contextmanager
    def suppress_prefetch_errors(self, draft: "ListedDraft") -> Iterator[None]:
        """Suppress errors about a draft that is not under the cursor: they are reported when it is selected."""
        try:
            yield
        except Exception:
            if self.queue.current is not None and self.queue.current.id == draft.id:
                raise

    async def _load_preview(self, desk: "Desk", draft: "ListedDraft") -> PreviewLoaded:
        alts = [image.alt or "" for image in draft.images]
        previews = await desk.posting.preview(
            draft.text, draft.format, draft.target_platforms, tags=draft.tags, alts=alts
        )
        return PreviewLoaded(draft, previews, await self._load_delivery(desk, draft))

    async def _load_delivery(self, desk: "Desk", draft: "ListedDraft") -> "DeliveryInfo":
        """Load the links of a posted draft, or the user's time zone for a scheduled one."""
        from copydesk.model.draft import Status  # noqa: PLC0415 - as above
        from copydesk.tui.review.pages import DeliveryInfo  # noqa: PLC0415

        if draft.status is Status.POSTED:
            with suppress(NotFoundError):  # it may have been deleted meanwhile
                return DeliveryInfo(reports=await desk.posting.list_deliveries(draft.id))
        if draft.scheduled_at is not None:
            from zoneinfo import ZoneInfo  # noqa: PLC0415 - as above

            self._zone = ZoneInfo(await desk.schedule.zone())
        return DeliveryInfo(self._zone)

    @on(PreviewLoaded)
    def _show_preview(self, message: PreviewLoaded) -> None:
        """Show the previews below the text."""
        from copydesk.tui.review.pages import draft_page  # noqa: PLC0415 - as above

        # Previews of other drafts were loaded in advance; they wait in the cache.
        if self.queue.current != message.draft or self._is_displayed(message):
            return
        self._current_preview, images = message, self._images
        self.draft_pane.show_more(
            lambda: draft_page(message.draft, self.app.clock(), message.previews, images, message.delivery)
        )
        self._request_images()

    def _is_displayed(self, preview: PreviewLoaded) -> bool:
        """Return True if the page already shows these previews."""
        current = self._current_preview
        return current is not None and (current.draft, current.previews, current.delivery) == (
            preview.draft,
            preview.previews,
            preview.delivery,
        )

    def _request_images(self) -> None:
        preview = self._current_preview
        if preview is not None and preview.draft.images and self.app.desk is not None:
            self.app.run_desk_task(lambda desk: self._image_loader.submit((desk, preview)))

    async def _load_images(self, request: "tuple[Desk, PreviewLoaded]") -> None:
        from copydesk.tui.review.preview_page import INDENT, ImageView  # noqa: PLC0415

        desk, preview = request
        # The cursor has moved on meanwhile.
        if preview is not self._current_preview:
            return
        images = []
        for image in preview.draft.images:
            thumbnail = await self._load_thumbnail(desk, image)
            # Leave one cell free beside the scroll bar.
            width = self.draft_pane.drawable_size.width - 1 - INDENT
            images.append(ImageView(image.alt or "", thumbnail, await self._render_image(desk, thumbnail, width)))
        self.post_message(ImagesLoaded(preview, images))

    async def _render_image(self, desk: "Desk", thumbnail: "Thumbnail", width: int) -> "tuple[Content, ...]":
        if not thumbnail.content:
            return ()
        from copydesk.tui.terminal.images import render_thumbnail  # noqa: PLC0415 - as above

        return await render_thumbnail(self.app, desk, thumbnail, width)

    async def _load_thumbnail(self, desk: "Desk", image: "DraftImage") -> "Thumbnail":
        if image.id in self._thumbnails:
            return self._thumbnails[image.id]
        (thumbnail,) = await desk.drafts.images.thumbnails([image])
        if thumbnail.content:
            lru_put(self._thumbnails, image.id, thumbnail, _THUMBNAIL_CACHE_SIZE)
        return thumbnail

    @on(ImagesLoaded)
    def _show_images(self, message: ImagesLoaded) -> None:
        from copydesk.tui.review.pages import draft_page  # noqa: PLC0415 - as above

        preview = message.preview
        if preview is self._current_preview and self.queue.current == preview.draft:
            self._images = message.images
            self.draft_pane.show_more(
                lambda: draft_page(preview.draft, self.app.clock(), preview.previews, message.images, preview.delivery)
            )

    @on(Page.WidthChanged)
    def _reload_images(self, message: Page.WidthChanged) -> None:
        """Draw the images again for the new width."""
        if message.page is self.draft_pane:
            self._request_images()
