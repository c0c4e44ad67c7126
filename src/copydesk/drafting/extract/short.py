"""A SHORT: the headline, one sentence quoted from the source, its name and the link."""

import re
from collections.abc import Iterator
from itertools import chain

from copydesk.drafting.extract import choose, frames
from copydesk.drafting.extract.choose import Choice
from copydesk.drafting.extract.frames import Composed, Piece
from copydesk.drafting.extract.hashtags import with_hashtags
from copydesk.drafting.extract.material import Material, checked, nothing_left, nothing_new, room, template
from copydesk.drafting.extract.passages import Passage
from copydesk.drafting.writer import Written
from copydesk.model.voice import Link
from copydesk.text import links
from copydesk.text.length import graphemes

QUOTES = 5
"""So many sentences are tried until one fits."""
ALONE = 0.5
"""A sentence is quoted by itself only where it is at least so fit to stand alone."""


def write_short(material: Material) -> Written:
    """The first text, of the best ones downwards, that is within the limits. Raises WriterError where none is.

    Where the link leaves no room it is first counted as Bluesky shows it, then left out, unless the voice insists.
    """
    strict, shown_short = (room(material.brief, short_links=short_links) for short_links in (False, True))
    attempts = [(material, strict), (material, shown_short)]
    if material.brief.settings.link is not Link.ALWAYS:
        attempts.append((material._replace(link=None), strict))
    again = False
    for number, (offered, fits_in) in enumerate(attempts):
        for composed in chain(_candidates(offered), _cut_headlines(offered) if number and not again else ()):
            finished = with_hashtags(composed, offered, fits_in)
            if checked(finished, fits_in, material.brief.voice.avoid):
                if finished.text not in material.brief.before:
                    return Written(text=finished.text, sentences=finished.traces)
                again = True
    raise nothing_new() if again else nothing_left(material)


def standing(material: Material) -> list[Choice]:
    """The sentences that stand alone, with their scores; all of them where none does."""
    weighed = choose.weigh(material.found, material.headline.text)
    return [choice for choice in weighed if choice.alone >= ALONE] or weighed


def quotable(material: Material, beside: str) -> list[Passage]:
    """Sentences worth quoting beside the headline `beside`, best first; what an earlier version quoted comes last."""
    weighed = choose.weigh(material.found, material.headline.text)
    fresh = [choice for choice in weighed if choice.alone >= ALONE and not choose.repeats(choice.passage.text, beside)]
    ranked = [choice.passage for choice in sorted(fresh, key=lambda choice: -choice.score)[:QUOTES]]
    return sorted(ranked, key=material.quoted_before)


def pieces_of(material: Material, quote: Passage | None = None) -> dict[str, Piece | None]:
    """What fills the places of a frame."""
    return {
        "title": material.title_piece(),
        "name": template(material.name) if material.name else None,
        "quote": material.quote_piece(quote) if quote else None,
        "url": template(material.link) if material.link else None,
    }


def usable_frames(options: tuple[str, ...], english: tuple[str, ...], material: Material) -> list[str]:
    """The frames for the item's language, in the item's own order; none that leads to a link where there is none."""
    if not material.name:
        options = english = (options[0].replace(" — {name}", "").replace(" ({name})", ""),)
    chosen = english if material.english else options
    ordered = frames.in_turn(chosen, material.seed)
    title = material.headline.text
    possible = [frame for frame in ordered if material.link or "{url}" not in frame]
    return [frame for frame in possible if not _clashes(frame, title)] or possible


def _clashes(frame: str, title: str) -> bool:
    """Whether a frame would put a colon, a dash or a bracket beside one that the title has already."""
    return (
        (": {title}" in frame and ": " in title)
        or ("{title} — " in frame and re.search(r"\s[-–—]+\s", title) is not None)
        or ("{title} (" in frame and title.endswith(")"))
    )


def _candidates(material: Material) -> Iterator[Composed]:
    title = material.headline.text
    if not material.headline.broken:
        both = usable_frames(frames.TITLE_AND_QUOTE, frames.TITLE_AND_QUOTE_ENGLISH, material)
        for passage in quotable(material, title):
            pieces = pieces_of(material, passage)
            yield from (frames.compose(frame, pieces) for frame in both)
        alone = usable_frames(frames.TITLE, frames.TITLE_ENGLISH, material)
        yield from (frames.compose(frame, pieces_of(material)) for frame in alone)
    for passage in quotable(material, ""):
        pieces = pieces_of(material, passage)
        quote_only = usable_frames(frames.QUOTE, frames.QUOTE_ENGLISH, material)
        yield from (frames.compose(frame, pieces) for frame in quote_only)


def _cut_headlines(material: Material) -> Iterator[Composed]:
    """The headline by itself, as it is and then ever shorter, each cut marked: better than nothing to review."""
    frame = usable_frames(frames.TITLE[:1], frames.TITLE[:1], material)[0]
    pieces = pieces_of(material)
    title = material.headline.text
    if material.headline.wordless:
        return
    words = title.split(" ") if title.count(" ") > 2 else graphemes(title)
    joint = " " if title.count(" ") > 2 else ""
    whole = set(links.unbreakable(title))
    for count in range(len(words), 0, -1):
        kept = joint.join(words[:count])
        shown = kept if count == len(words) else kept.rstrip(",;:–—- ") + "…"
        if not whole.issuperset(links.unbreakable(shown)):
            continue  # cut in a name or an address, or to what is one
        pieces["title"] = material.title_piece(shown)
        yield frames.compose(frame, pieces)
