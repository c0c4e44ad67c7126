"""Images of drafts: stored, generated, described, and rendered as thumbnails.

Thumbnails use stored bytes only: nothing is fetched for a preview.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs, requiring
from copydesk.errors import FieldError, ImageError, InvalidError
from copydesk.model.draft import Draft, DraftImage, ImageSource, Thumbnail, stored_image_digest, without_item
from copydesk.model.requests import MAX_ALT_LENGTH, AttachImage, validate_attach
from copydesk.model.role import scope_of_edit
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope
from copydesk.model.transitions import status_after_edit
from copydesk.store import draft_queries, draft_updates, drafts
from copydesk.store.database import Transaction
from copydesk.store.draft_updates import DraftSnapshot

RENDER_TIMEOUT = 10.0
"""Seconds per image. Oversized files are refused before they are read, but a disk can be slow."""
NOT_DOWNLOADED = Thumbnail(message="Downloaded when posted.")
_TIMED_OUT = Thumbnail(message="Reading it takes too long.")


class ImageStorage(Struct, frozen=True):
    """The images that are stored on this machine, those of all users together; sizes in bytes."""

    count: int
    size: int
    orphan_count: int
    """Images that belong to no draft of any user any more."""
    orphan_size: int
    has_postable: bool
    """A draft of this desk that may still be posted has images."""


class DraftImages:
    """The images of one desk's drafts."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def save(self, path: Path) -> str:
        """Store an image file; return the URL that `create` accepts for it. Raise ImageError."""
        from copydesk.desk.images.draft_images import store_file  # noqa: PLC0415 - seldom needed

        return await store_file(self._ctx, path)

    @operation
    async def save_content(self, content: bytes) -> str:
        """Store an image as `save` does, from its bytes."""
        from copydesk.desk.images.draft_images import store_content  # noqa: PLC0415 - as above

        return await store_content(self._ctx, content)

    @operation
    async def describe(self, draft_id: str, alt: str | None, *, position: int = 1) -> Draft:
        """Set the alt text of a draft's image (the first is 1), or remove the image if `alt` is None.

        An image of the source is proposed again when it is removed. Raise InvalidError for a text that is too long
        and for an image that does not exist, NotFoundError, and ConflictError if the draft cannot be edited or is
        changed at the same time.
        """
        if alt is not None and not 1 <= len(alt.strip()) <= MAX_ALT_LENGTH:
            raise InvalidError(FieldError("alt", f"takes 1 to {MAX_ALT_LENGTH:,} characters"))
        snapshot = await self._ctx.read(draft_updates.load_snapshot, draft_id)
        with requiring(scope_of_edit(snapshot.status, snapshot.value("last_error"))):
            return await self._ctx.write_durable(_set_alt, snapshot, alt and alt.strip(), position)

    @needs(Scope.REVIEW)
    @operation
    async def attach(self, draft_id: str, request: AttachImage | Mapping[str, object]) -> Draft:
        """Attach an image that is proposed for the draft. Raises as `describe`."""
        return await self._ctx.write_durable(_attach, draft_id, validate_attach(request))

    @operation
    async def generate(self, prompt: str, provider: ImageSource) -> str:
        """Generate an image, which may cost money; return the URL that `create` accepts for it.

        Raise ImageError, also if no such generator is configured.
        """
        from copydesk.desk.images.draft_images import generate_image  # noqa: PLC0415 - seldom needed

        return await generate_image(self._ctx, provider, prompt)

    @operation
    async def thumbnails(self, images: Sequence[DraftImage]) -> tuple[Thumbnail, ...]:
        """Return a thumbnail per image, in the given order; one that cannot be rendered has a message instead."""
        if not images:
            return ()
        stored_by_id = await self._ctx.read(drafts.list_stored_image_urls, [image.id for image in images])
        return tuple([await self._image_thumbnail(image, stored_by_id.get(image.id)) for image in images])

    @operation
    async def file_thumbnail(self, path: Path) -> Thumbnail:
        """Return a thumbnail of the user's file, or a message why it cannot be posted."""
        from copydesk.images.storage import read_file  # noqa: PLC0415 - as above

        return await _render_thumbnail(lambda: read_file(path), first_frame=False)

    @operation
    async def storage(self) -> ImageStorage:
        """Return how many images are stored for all users, and how many of them no draft has any more."""
        from copydesk.images.storage import list_stored  # noqa: PLC0415 - as above

        referenced = await self._ctx.database.read(drafts.list_stored_image_digests)
        stored = await asyncio.to_thread(list_stored, self._ctx.settings.images_folder)
        orphans = [size for digest, size in stored.items() if digest not in referenced]
        return ImageStorage(
            count=len(stored),
            size=sum(stored.values()),
            orphan_count=len(orphans),
            orphan_size=sum(orphans),
            has_postable=await self._ctx.read(drafts.has_postable_images),
        )

    async def _image_thumbnail(self, image: DraftImage, stored_url: str | None) -> Thumbnail:
        # An image given by URL has stored bytes only if it was downloaded for posting before.
        url = image.url if stored_image_digest(image.url) is not None else stored_url
        if url is None:
            return NOT_DOWNLOADED
        from copydesk.images.storage import load  # noqa: PLC0415 - seldom needed

        folder = self._ctx.settings.images_folder
        return await _render_thumbnail(lambda: load(folder, url), first_frame=image.source is not ImageSource.UPLOAD)


async def _render_thumbnail(read: Callable[[], bytes], *, first_frame: bool) -> Thumbnail:
    """Return the thumbnail of the bytes that `read` returns. Both reading and decoding run in a thread."""
    from copydesk.images.resize import thumbnail  # noqa: PLC0415 - brings in Pillow

    try:
        async with asyncio.timeout(RENDER_TIMEOUT):
            return await asyncio.to_thread(lambda: thumbnail(read(), first_frame=first_frame))
    except ImageError as error:
        return Thumbnail(message=error.message)
    except TimeoutError:
        return _TIMED_OUT


def _set_alt(conn: Transaction, user_id: str, snapshot: DraftSnapshot, alt: str | None, position: int) -> Draft:
    # At the same version: if somebody has approved it since, the change needs another role.
    _check_editable(conn, user_id, snapshot.id, expected_version=snapshot.version)
    if alt is None:
        found = drafts.remove_image(conn, user_id, snapshot.id, position)
    else:
        found = drafts.set_image_alt(conn, user_id, snapshot.id, position, alt)
    if not found:
        raise InvalidError(FieldError("image", f"must be the number of one of the draft's images, not {position}"))
    return without_item(draft_queries.load(conn, user_id, snapshot.id))


def _attach(conn: Transaction, user_id: str, draft_id: str, request: AttachImage) -> Draft:
    _check_editable(conn, user_id, draft_id)
    if not drafts.attach_image(conn, user_id, draft_id, request.image, request.alt):
        raise InvalidError(FieldError("image", f"“{request.image}” is not among the images proposed for the draft"))
    return without_item(draft_queries.load(conn, user_id, draft_id))


def _check_editable(conn: Transaction, user_id: str, draft_id: str, *, expected_version: int | None = None) -> None:
    snapshot = draft_updates.load_snapshot(conn, user_id, draft_id, expected_version=expected_version)
    status_after_edit(snapshot.status, archived=snapshot.archived)
