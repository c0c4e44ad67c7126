"""Compose a THREAD: an opening that stands alone, quotations in the source's order, the link at the end."""

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
"""Parts if the voice has no setting."""
SHARE = 3
"""Quote at most one in this many of the source's sentences."""


def write_thread(material: Material) -> Written:
    """Return a thread of at least two parts. Raise WriterError if the item has too little text, or nothing fits."""
    repeats_version = False
    # Prefer a thread that fits with full links; Bluesky's shortened display is the fallback.
    for short_links in (False, True):
        fits = room(material.brief, short_links=short_links)
        closing = _closing(material, fits)
        for opening, quote in _openings(material):
            if checked(opening, fits, material.brief.voice.avoid):
                points = list(_quoted_parts(material, quote, fits, closing))
                if quote or points:
                    parts = [opening, *points, *closing]
                    parts[-1] = with_hashtags(parts[-1], material, fits)
                    thread = _assemble(parts)
                    if thread.text not in material.brief.before:
                        return thread
                    repeats_version = True
    if repeats_version:
        raise nothing_new()
    raise nothing_left(material) if material.avoided else _too_short()


def _too_short() -> WriterError:
    return WriterError("The item has too little to say for a thread.", hint="Ask for a SHORT.")


def _assemble(parts: list[Composed]) -> Written:
    # An opening without further parts is a SHORT.
    if len(parts) < 2:
        raise _too_short()
    traces = tuple(chain.from_iterable(part.traces for part in parts))
    return Written(text=join_parts([part.text for part in parts]), sentences=traces)


def _openings(material: Material) -> Iterator[tuple[Composed, Passage | None]]:
    """Yield possible first parts, best first, each with the sentence it quotes."""
    if not material.headline.broken:
        text_templates = usable_frames(frames.OPENING, frames.OPENING_ENGLISH, material)
        for passage in quotable(material, material.headline.text) or quotable(material, ""):
            pieces = pieces_of(material, passage) | {"url": None}
            for text_template in text_templates:
                yield frames.compose(text_template, pieces), passage
    for passage in quotable(material, "") if material.headline.broken else ():
        for text_template in frames.in_turn(frames.QUOTE[:2], material.seed):
            yield frames.compose(text_template, pieces_of(material, passage) | {"url": None}), passage
    if material.headline.text:
        for text_template in usable_frames(frames.TITLE, frames.TITLE, material):
            yield frames.compose(text_template, pieces_of(material) | {"url": None}), None


def _quoted_parts(
    material: Material, opening_quote: Passage | None, fits_in: Fits, closing: list[Composed]
) -> Iterator[Composed]:
    """Return the sentences that add most to the opening, in the order of the source."""
    max_points = (material.brief.settings.max_parts or MOST_PARTS) - 1 - len(closing)
    count = min(max_points, max(1, len(material.found) // SHARE))
    choices = standing(material)
    chosen: list[tuple[Passage, Composed]] = []
    candidates = choose.best(choices, 2 * count + 5)
    for choice in sorted(candidates, key=lambda choice: material.quoted_before(choice.passage)):
        part = frames.compose("{quote}", {"quote": material.quote_piece(choice.passage)})
        opening_text = material.headline.text + (opening_quote.text if opening_quote else "")
        is_repetition = choice.passage == opening_quote or choose.repeats(choice.passage.text, opening_text)
        if len(chosen) < count and not is_repetition and checked(part, fits_in, material.brief.voice.avoid):
            chosen.append((choice.passage, part))
    ordered = sorted(chosen, key=lambda pair: (pair[0].field is Field.TEXT, pair[0].start))
    return (part for _, part in ordered)


def _closing(material: Material, fits_in: Fits) -> list[Composed]:
    """Return the part with the link; empty if there is no link."""
    if not material.link:
        return []
    for text_template in usable_frames(frames.CLOSING, frames.CLOSING_ENGLISH, material):
        part = frames.compose(text_template, pieces_of(material))
        if checked(part, fits_in, material.brief.voice.avoid):
            return [part]
    return []
