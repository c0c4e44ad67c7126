"""Pictures go to the server before the post that shows them. Until that post is made nothing is there to be seen."""

from collections.abc import Awaitable, Callable, Sequence

from copydesk.posting.mastodon.answers import Media
from copydesk.posting.mastodon.server import Server
from copydesk.posting.multipart import file_name, form_with_file
from copydesk.posting.platform import LoginError, NotSentError, Picture, RefusedPostError, UnknownOutcomeError

Pause = Callable[[float], Awaitable[None]]

PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Seconds before each look at pictures that the server still works on."""
_BUSY = 206


async def attached(server: Server, pictures: Sequence[Picture], pause: Pause) -> list[str]:
    """The ids of pictures that are ready to be shown, in order.

    LoginError, RefusedPostError or NotSentError: whatever goes wrong here, no post was made. What was uploaded for
    nothing is swept by the server within a day.
    """
    ids: list[str] = []
    waiting: list[str] = []
    for picture in pictures:
        media, ready = await _uploaded(server, picture)
        ids.append(media)
        if not ready:
            waiting.append(media)
    await _ready(server, waiting, pause)
    return ids


async def _uploaded(server: Server, picture: Picture) -> tuple[str, bool]:
    """The id of a picture, and whether the server is done with it."""
    kind, content = form_with_file({"description": picture.alt}, picture, file_name(picture, "picture"))
    try:
        answer = await server.ask("POST", "/api/v2/media", headers={"content-type": kind}, content=content)
        if not answer.good:
            raise server.wrong(answer)
        return answer.read(Media).id, answer.status != 202
    except UnknownOutcomeError as error:
        failed = NotSentError(f"A picture could not be uploaded, so nothing was posted. {error.message}")
    except RefusedPostError as error:
        raise RefusedPostError(f"A picture was not taken, so nothing was posted. {error.message}") from None
    raise failed


async def _ready(server: Server, waiting: list[str], pause: Pause) -> None:
    """Wait until the server is done with the pictures."""
    for seconds in PAUSES:
        if not waiting:
            return
        await pause(seconds)
        waiting = [media for media in waiting if await _busy(server, media)]
    if waiting:
        raise NotSentError(f"{server.host} is still at work on a picture, so nothing was posted yet.")


async def _busy(server: Server, media: str) -> bool:
    answer = await server.look(f"/api/v1/media/{media}")
    if answer.status == 422:
        raise RefusedPostError(f"{server.host} cannot make anything of a picture, so nothing was posted.")
    if answer.good:
        return answer.status == _BUSY
    problem = server.wrong(answer)
    if isinstance(problem, LoginError | NotSentError):
        raise problem
    raise NotSentError(f"A picture is not ready, so nothing was posted. {problem.message}")
