"""The picture that a page shows of itself, as a draft of that page gets it. Pure but for its id."""

from datetime import datetime

from copydesk.model.draft import DraftImage, ImageSource
from copydesk.model.item import Entry
from copydesk.pictures.alt import suggest_alt
from copydesk.store.ids import new_id


def own_picture(entry: Entry, now: datetime) -> tuple[DraftImage, ...]:
    """The entry's picture, described in the page's own words; without any its description is for a person to write."""
    if not entry.image:
        return ()
    alt = suggest_alt(entry.image, entry.image_alt, title=entry.title)
    return (DraftImage(id=new_id(now), url=entry.image, alt=alt, position=0, source=ImageSource.OG),)
