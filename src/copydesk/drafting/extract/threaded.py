"""A THREAD: an opening that stands alone, the points quoted in the source's order, the link at the end."""

from collections.abc import Iterator
from itertools import chain

from copydesk.drafting.extract import choose, frames
from copydesk.drafting.extract.frames import Composed
from copydesk.drafting.extract.hashtags import with_hashtags
from copydesk.drafting.extract.material import Fits, Material, checked, nothing_left, nothing_new, room
from copydesk.drafting.extract.passages import Passage
from copydesk.drafting.extract.short import pieces_of, quotable, standing, usable_frames
from copydesk.drafting.writer import Field, Written
from copydesk.errors import WriterError
from copydesk.text.thread import join_parts

MOST_PARTS = 6
"""Where the voice says nothing."""
SHARE = 3
"""At most one in so many of the source's sentences is quoted."""


def write_thread(material: Material) -> Written:
    """Two parts at least. Raises WriterError where the item has too little for that, or nothing fits."""
    again = False
    for short_links in (False, True):
        fits_in = room(material.brief, short_links=short_links)
        closing = _closing(material, fits_in)
        for opening, quote in _openings(material):
            if checked(opening, fits_in, material.brief.voice.avoid):
                points = list(_points(material, quote, fits_in, closing))
                if quote or points:
                    parts = [opening, *points, *closing]
                    parts[-1] = with_hashtags(parts[-1], material, fits_in)
                    thread = _assembled(parts)
                    if thread.text not in material.brief.before:
                        return thread
                    again = True
    if again:
        raise nothing_new()
    raise nothing_left(material) if material.avoided else _too_little()


def _too_little() -> WriterError:
    return WriterError("The item has too little to say for a thread.", hint="Ask for a SHORT.")


def _assembled(parts: list[Composed]) -> Written:
    if len(parts) < 2:
        raise _too_little()
    traces = tuple(chain.from_iterable(part.traces for part in parts))
    return Written(text=join_parts([part.text for part in parts]), sentences=traces)


def _openings(material: Material) -> Iterator[tuple[Composed, Passage | None]]:
    """Ways to open, the best first, each with the sentence that it quotes."""
    if not material.headline.broken:
        frames_for_both = usable_frames(frames.OPENING, frames.OPENING_ENGLISH, material)
        for passage in quotable(material, material.headline.text) or quotable(material, ""):
            pieces = pieces_of(material, passage) | {"url": None}
            for frame in frames_for_both:
                yield frames.compose(frame, pieces), passage
    for passage in quotable(material, "") if material.headline.broken else ():
        for frame in frames.in_turn(frames.QUOTE[:2], material.seed):
            yield frames.compose(frame, pieces_of(material, passage) | {"url": None}), passage
    if material.headline.text:
        for frame in usable_frames(frames.TITLE, frames.TITLE, material):
            yield frames.compose(frame, pieces_of(material) | {"url": None}), None


def _points(material: Material, said: Passage | None, fits_in: Fits, closing: list[Composed]) -> Iterator[Composed]:
    """The sentences that say most beside the opening's, in the order in which the source says them."""
    most = (material.brief.settings.max_parts or MOST_PARTS) - 1 - len(closing)
    count = min(most, max(1, len(material.found) // SHARE))
    weighed = standing(material)
    chosen: list[tuple[Passage, Composed]] = []
    best = choose.best(weighed, 2 * count + 5)
    for choice in sorted(best, key=lambda choice: material.quoted_before(choice.passage)):
        part = frames.compose("{quote}", {"quote": material.quote_piece(choice.passage)})
        beside = material.headline.text + (said.text if said else "")
        known = choice.passage == said or choose.repeats(choice.passage.text, beside)
        if len(chosen) < count and not known and checked(part, fits_in, material.brief.voice.avoid):
            chosen.append((choice.passage, part))
    ordered = sorted(chosen, key=lambda pair: (pair[0].field is Field.TEXT, pair[0].start))
    return (part for _, part in ordered)


def _closing(material: Material, fits_in: Fits) -> list[Composed]:
    """The part with the link; none where there is no link to give."""
    if not material.link:
        return []
    for frame in usable_frames(frames.CLOSING, frames.CLOSING_ENGLISH, material):
        part = frames.compose(frame, pieces_of(material))
        if checked(part, fits_in, material.brief.voice.avoid):
            return [part]
    return []
