"""The panes beside the queue: the draft under the cursor with its previews, and the source item it was made from.

Both load in advance what belongs to the draft that is likely to be next, so that it appears at once.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Container

from copydesk.errors import NotFoundError
from copydesk.model.draft import Status
from copydesk.tui import labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.review.local_changes import lru_put
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from textual.content import Content
    from textual.timer import Timer

    from copydesk.desk import Desk
    from copydesk.model.activity import ReviewedDraft
    from copydesk.model.confidence import DecisionProgress
    from copydesk.model.delivery import DeliveryReport, Preview
    from copydesk.model.draft import DraftImage, ListedDraft, Thumbnail
    from copydesk.model.item import Item
    from copydesk.tui.review.pages import DraftDetails, ImageView

PARTIAL_TEXT_SECONDS = 0.2
"""Seconds after which the part of a text that has been written is read again."""
_ITEM_CACHE_SIZE = 64
_PREVIEW_CACHE_SIZE = 64
_DELIVERED = frozenset({Status.APPROVED, Status.SCHEDULED, Status.MISSED, Status.POSTING, Status.POSTED})
"""The states of drafts that may have deliveries which the user can act on."""
_THUMBNAIL_CACHE_SIZE = 16


@contextmanager
def _suppress_prefetch_errors(is_displayed: Callable[[], bool]) -> Iterator[None]:
    """Suppress errors about a draft that is not displayed: they are reported when it is selected."""
    try:
        yield
    except Exception:
        # Checked only now: the draft may have been selected while its data was loading.
        if is_displayed():
            raise


class LoadedPreview(NamedTuple):
    """The previews of a draft, and what else its row does not hold."""

    draft: "ListedDraft"
    previews: "Sequence[Preview]"
    details: "DraftDetails"


class PreviewPane(Container):
    """Shows first the text of a draft, then the previews, then the images, as each becomes available."""

    # Its page covers it.
    BLANK = True
    app = getters.app(DeskApp)
    page = getters.query_one("#draft", Page)

    def __init__(self) -> None:
        super().__init__(id="draft-pane")
        self._draft: ListedDraft | None = None
        """The displayed draft."""
        self._preview_loader = Coalescer(self._load_previews)
        self._image_loader = Coalescer(self._load_images)
        self._current_preview: LoadedPreview | None = None
        self._preview_cache: dict[str, LoadedPreview] = {}
        """Recently loaded previews by draft id, loaded in advance or not; cleared when the list is refreshed."""
        self._images: Sequence[ImageView] = ()
        """Images of the current preview; empty until they are loaded."""
        self._thumbnails: dict[str, Thumbnail] = {}
        """Thumbnails by image id. Missing images are not cached: they may be available later."""
        self._zone: ZoneInfo | None = None
        """The user's time zone, as loaded last."""
        self._progress: DecisionProgress | None = None
        """The decisions made, as counted last; None before that."""
        self._counted_at = 0
        """`change_count` when they were counted."""
        self.is_shared = False
        """True if another reviewer was at the desk when details were loaded last."""
        self._partial_text = ""
        """The text shown of a draft that is being written."""
        self._partial_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Page(id="draft")

    def on_mount(self) -> None:
        set_title(self.page, labels.DRAFT_TITLE)

    def clear(self) -> None:
        """Show no draft."""
        self._draft = self._current_preview = None
        self._watch_text(None)
        self.page.show(())

    def show(self, draft: "ListedDraft") -> None:
        """Show a draft: its text, and its previews if they are cached."""
        from copydesk.tui.review.pages import DraftDetails, draft_page  # noqa: PLC0415 - not needed for the first paint

        self._draft = draft
        self._current_preview, self._images = self._cached_preview(draft), ()
        cached = self._current_preview
        loaded_last = DraftDetails(self._zone, progress=self._progress)
        previews, details = (cached.previews, cached.details) if cached else ((), loaded_last)
        self.page.show(lambda: draft_page(draft, self.app.clock(), previews, details=details))
        self._request_images()
        self._watch_text(draft)

    def _watch_text(self, draft: "ListedDraft | None") -> None:
        """Show the text of a draft as it arrives, if this process is writing it."""
        if self._partial_timer is not None:
            self._partial_timer.stop()
        self._partial_text, self._partial_timer = "", None
        if draft is not None and draft.status in (Status.PENDING_GENERATION, Status.PENDING_REGENERATION):
            self._partial_timer = self.set_interval(PARTIAL_TEXT_SECONDS, self._show_partial_text)

    def _show_partial_text(self) -> None:
        from copydesk.tui.review.pages import partial_page  # noqa: PLC0415 - as in `show`

        draft, desk = self._draft, self.app.desk
        if draft is None or desk is None:
            return
        text = desk.generation.partial_text(draft.id)
        if text and text != self._partial_text:
            self._partial_text = text
            self.page.show_more(lambda: partial_page(draft, text, self.app.clock()))
        elif self._partial_text and not text:
            # It is complete, or failed. The list shows which as soon as it is refreshed.
            self.show(draft)

    def clear_cache(self) -> None:
        """Drop the cached previews: they may be older than a change."""
        self._preview_cache.clear()

    def _cached_preview(self, draft: "ListedDraft") -> LoadedPreview | None:
        cached = self._preview_cache.get(draft.id)
        return cached if cached is not None and cached.draft == draft else None

    def load_previews(self, drafts: "Sequence[ListedDraft]") -> None:
        """Load the previews of these drafts that are not cached; show that of the displayed draft."""
        missing = [draft for draft in drafts if self._cached_preview(draft) is None]
        if missing and self.app.desk is not None:
            self.app.run_desk_task(lambda desk: self._preview_loader.submit((desk, missing)))

    async def _load_previews(self, request: "tuple[Desk, Sequence[ListedDraft]]") -> None:
        """Load the previews that no other request has loaded meanwhile."""
        desk, drafts = request
        for draft in drafts:
            if self._cached_preview(draft) is None:
                with _suppress_prefetch_errors(partial(self._is_displayed, draft)):
                    changes = self.app.change_count
                    preview = await self._load_preview(desk, draft)
                    if changes == self.app.change_count:  # otherwise it may be older than the change
                        lru_put(self._preview_cache, draft.id, preview, _PREVIEW_CACHE_SIZE)
                    self.call_later(self._show_preview, preview)

    def _is_displayed(self, draft: "ListedDraft") -> bool:
        return self._draft is not None and draft.id == self._draft.id

    async def _load_preview(self, desk: "Desk", draft: "ListedDraft") -> LoadedPreview:
        alts = [image.alt or "" for image in draft.images]
        previews = await desk.posting.preview(
            draft.text, draft.format, draft.target_platforms, tags=draft.tags, alts=alts
        )
        return LoadedPreview(draft, previews, await self._load_details(desk, draft))

    async def _load_details(self, desk: "Desk", draft: "ListedDraft") -> "DraftDetails":
        """Load the other reviewers, the deliveries, the user's time zone if a time is shown, and the
        decisions made.
        """
        from copydesk.tui.review.pages import DraftDetails  # noqa: PLC0415

        progress = None if draft.confidence_known else await self._load_progress(desk)
        reviewed: ReviewedDraft | None = None
        reports: Sequence[DeliveryReport] = ()
        with suppress(NotFoundError):  # it may have been deleted meanwhile
            reviewed = await desk.drafts.activity.overview(draft.id)
            self.is_shared = reviewed.is_shared
            if draft.status in _DELIVERED:
                reports = await desk.posting.list_deliveries(draft.id)
        if draft.scheduled_at is not None or (reviewed is not None and reviewed.activity.editing is not None):
            from zoneinfo import ZoneInfo  # noqa: PLC0415 - as above

            self._zone = ZoneInfo(await desk.schedule.zone())
        return DraftDetails(self._zone, reports, progress, reviewed)

    async def _load_progress(self, desk: "Desk") -> "DecisionProgress":
        """Return the decisions made, which are counted again only after a change."""
        changes = self.app.change_count
        if self._progress is None or self._counted_at != changes:
            self._progress, self._counted_at = await desk.learning.progress(), changes
        return self._progress

    @property
    def lacks_own_approval(self) -> bool:
        """True if the displayed draft lacks an approval that the user can give."""
        preview = self._current_preview
        reviewed = preview.details.reviewed if preview is not None else None
        return reviewed is not None and reviewed.lacks_approvals and not reviewed.is_approved_by_caller

    def drop_expired(self) -> bool:
        """Drop the displayed details if a reviewer whom they name has left since; return True if so."""
        preview = self._current_preview
        reviewed = preview.details.reviewed if preview is not None else None
        if preview is None or reviewed is None:
            return False
        present = (*reviewed.activity.viewers, *filter(None, [reviewed.activity.editing]))
        if not any(viewer.until <= self.app.clock() for viewer in present):
            return False
        self._preview_cache.pop(preview.draft.id, None)
        return True

    def _show_preview(self, preview: LoadedPreview) -> None:
        """Show the previews below the text."""
        # Previews of other drafts were loaded in advance; they wait in the cache.
        if self._draft == preview.draft and self._current_preview != preview:
            self._current_preview = preview
            self._update_page(preview)
            self._request_images()

    def _update_page(self, preview: LoadedPreview) -> None:
        from copydesk.tui.review.pages import draft_page  # noqa: PLC0415 - as above

        draft, previews, details = preview
        images = self._images
        self.page.show_more(lambda: draft_page(draft, self.app.clock(), previews, images, details))

    def _request_images(self) -> None:
        preview = self._current_preview
        if preview is not None and preview.draft.images and self.app.desk is not None:
            self.app.run_desk_task(lambda desk: self._image_loader.submit((desk, preview)))

    async def _load_images(self, request: "tuple[Desk, LoadedPreview]") -> None:
        from copydesk.tui.review.pages import INDENT, ImageView  # noqa: PLC0415

        desk, preview = request
        # The cursor has moved on meanwhile.
        if preview is not self._current_preview:
            return
        images = []
        for image in preview.draft.images:
            thumbnail = await self._load_thumbnail(desk, image)
            # Leave one cell free beside the scroll bar.
            width = self.page.drawable_size.width - 1 - INDENT
            images.append(ImageView(image.alt or "", thumbnail, await self._render_image(desk, thumbnail, width)))
        self.call_later(self._show_images, preview, images)

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

    def _show_images(self, preview: LoadedPreview, images: "Sequence[ImageView]") -> None:
        if preview is self._current_preview:
            self._images = images
            self._update_page(preview)

    @on(Page.WidthChanged)
    def _reload_images(self) -> None:
        """Draw the images again for the new width."""
        self._request_images()


class ItemPane(Container):
    """Shows a draft's source item."""

    # Its page covers it.
    BLANK = True
    app = getters.app(DeskApp)
    page = getters.query_one("#item", Page)

    def __init__(self) -> None:
        super().__init__(id="item-pane")
        self._draft: ListedDraft | None = None
        self._items: dict[str, Item] = {}
        """Recently displayed or preloaded items by id."""
        self._loader = Coalescer(self._load_items)

    def compose(self) -> ComposeResult:
        yield Page(id="item")

    def on_mount(self) -> None:
        set_title(self.page, labels.ITEM_TITLE)

    @property
    def item(self) -> "Item | None":
        """The item of the displayed draft; None until it is loaded."""
        return self._items.get(self._draft.item_id) if self._draft is not None else None

    def clear(self) -> None:
        """Show no item."""
        self._draft = None
        self.page.show(())

    def show(self, draft: "ListedDraft") -> None:
        """Show the item of a draft, if it is cached."""
        self._draft = draft
        if item := self.item:
            lru_put(self._items, item.id, item, _ITEM_CACHE_SIZE)
            self._show_item(item)

    def load_items(self, drafts: "Sequence[ListedDraft]") -> None:
        """Load the items of these drafts that are not cached; show that of the displayed draft."""
        missing = [nearby for nearby in drafts if nearby.item_id not in self._items]
        if missing and self.app.desk is not None:
            self.app.run_desk_task(lambda desk: self._loader.submit((desk, missing)))

    def clear_cache(self) -> None:
        """Drop the cached items: they may have been fetched again."""
        self._items.clear()

    async def _load_items(self, request: "tuple[Desk, Sequence[ListedDraft]]") -> None:
        """Load the items of the current draft and then, in advance, of the one likely to be next."""
        desk, drafts = request
        for draft in drafts:
            if draft.item_id not in self._items:
                with _suppress_prefetch_errors(partial(self._is_displayed, draft)):
                    item = await desk.drafts.item(draft.item_id)
                    lru_put(self._items, item.id, item, _ITEM_CACHE_SIZE)
                    self.call_later(self._show_loaded_item, item)

    def _is_displayed(self, draft: "ListedDraft") -> bool:
        return self._draft is not None and draft.id == self._draft.id

    def _show_loaded_item(self, item: "Item") -> None:
        if self._draft is not None and self._draft.item_id == item.id:
            self._show_item(item)

    def _show_item(self, item: "Item") -> None:
        from copydesk.tui.review.pages import item_page  # noqa: PLC0415 - not needed for the first paint

        draft = self._draft
        self.page.show(lambda: item_page(item, self.app.local_now(), draft))
