"""Upload images before the post that shows them. Until that post is created nothing is visible."""

from collections.abc import Awaitable, Callable, Sequence

from copydesk.posting.mastodon.answers import MediaAttachment
from copydesk.posting.mastodon.server import Server
from copydesk.posting.multipart import encode_form_with_image, image_file_name
from copydesk.posting.platform import LoginError, NotSentError, PostImage, RefusedPostError, UnknownOutcomeError

Sleep = Callable[[float], Awaitable[None]]
"""Wait for a number of seconds."""

CHECK_DELAYS = (0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Seconds before each check of images that the server is still processing."""
_PARTIAL_CONTENT = 206


async def upload_images(server: Server, images: Sequence[PostImage], sleep: Sleep) -> list[str]:
    """Upload the images and return their media ids in order, when all are ready.

    Raise `LoginError`, `RefusedPostError` or `NotSentError`: whatever fails here, no post was created. Unused uploads
    are deleted by the server within a day.
    """
    ids: list[str] = []
    processing: list[str] = []
    for image in images:
        media, ready = await _upload(server, image)
        ids.append(media)
        if not ready:
            # Upload everything first and wait once: the server processes images in the background.
            processing.append(media)
    await _wait_until_ready(server, processing, sleep)
    return ids


async def _upload(server: Server, image: PostImage) -> tuple[str, bool]:
    """Return the media id of an image and True if the server has finished processing it."""
    content_type, content = encode_form_with_image({"description": image.alt}, image, image_file_name(image, "picture"))
    try:
        answer = await server.request("POST", "/api/v2/media", headers={"content-type": content_type}, content=content)
        if not answer.is_success:
            raise server.error_for_write(answer)
        # 202: the upload is accepted and processed in the background.
        return answer.decode(MediaAttachment).id, answer.status != 202
    except UnknownOutcomeError as error:
        not_sent = NotSentError(f"A picture could not be uploaded, so nothing was posted. {error.message}")
    except RefusedPostError as error:
        raise RefusedPostError(f"A picture was not taken, so nothing was posted. {error.message}") from None
    raise not_sent


async def _wait_until_ready(server: Server, processing: list[str], pause: Sleep) -> None:
    """Wait until the server has processed the images."""
    for seconds in CHECK_DELAYS:
        if not processing:
            return
        await pause(seconds)
        processing = [media for media in processing if await _is_processing(server, media)]
    if processing:
        raise NotSentError(f"{server.host} is still at work on a picture, so nothing was posted yet.")


async def _is_processing(server: Server, media: str) -> bool:
    answer = await server.get(f"/api/v1/media/{media}")
    if answer.status == 422:
        raise RefusedPostError(f"{server.host} cannot make anything of a picture, so nothing was posted.")
    if answer.is_success:
        return answer.status == _PARTIAL_CONTENT
    error = server.error_for_write(answer)
    if isinstance(error, LoginError | NotSentError):
        raise error
    raise NotSentError(f"A picture is not ready, so nothing was posted. {error.message}")
