"""The preview image of a web page as the image of a draft about that page."""

from datetime import datetime

from copydesk.model.draft import DraftImage, ImageSource
from copydesk.model.item import Entry
from copydesk.pictures.alt import suggest_alt
from copydesk.store.ids import new_id


def page_image(entry: Entry, now: datetime) -> tuple[DraftImage, ...]:
    """Return the entry's image, or an empty tuple if it has none.

    The alt text is the page's own; it is None if the page has no useful one, and the user is asked to write it.
    """
    if not entry.image:
        return ()
    alt = suggest_alt(entry.image, entry.image_alt, title=entry.title)
    return (DraftImage(id=new_id(now), url=entry.image, alt=alt, position=0, source=ImageSource.OG),)
