"""The pictures of a draft that is being composed, as they are typed: files are looked at, the web is not asked."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from copydesk.model.draft import DraftImage, ImageSource
from copydesk.model.picture import Look
from copydesk.tui.compose_entry import GivenPicture
from copydesk.tui.gallery import lines_of
from copydesk.tui.pages.pictures import INDENT, Pictured

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_app import DeskApp


class GivenPictures:
    """What was seen of a picture stands there while the text beside it is typed; it is not read again."""

    def __init__(self) -> None:
        self._seen: dict[str, Pictured] = {}

    def forget(self) -> None:
        """Another draft is composed, and files may be other ones by now."""
        self._seen.clear()

    def known(self, given: Sequence[GivenPicture]) -> list[Pictured]:
        """The pictures as far as they were seen."""
        return [self._seen.get(each.place, Pictured(""))._replace(alt=each.alt) for each in given]

    async def see(self, app: "DeskApp", desk: "Desk", given: Sequence[GivenPicture], room: int) -> list[Pictured]:
        """The pictures, drawn where they can be; a line each in `room` cells."""
        for each in given:
            kept = self._seen.get(each.place)
            look = kept.look if kept and kept.look and kept.look.content else await _look_at(desk, each)
            # One cell is left free beside the scroll bar.
            lines = await lines_of(app, desk, look, room - 1 - INDENT)
            self._seen[each.place] = Pictured(each.alt, look, lines)
        return self.known(given)


async def _look_at(desk: "Desk", given: GivenPicture) -> Look:
    if not given.is_address:
        return await desk.drafts.look_at_file(given.path)
    image = DraftImage(id="", url=given.place, alt=None, position=0, source=ImageSource.UPLOAD)
    (look,) = await desk.drafts.look_at([image])
    return look
