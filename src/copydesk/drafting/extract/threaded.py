"""Compose a THREAD: an opening that stands alone, quotations in the source's order, the link at the end."""

from collections.abc import Iterator
from itertools import chain

from copydesk.drafting.extract import choose, frames
from copydesk.drafting.extract.frames import ComposedText
from copydesk.drafting.extract.hashtags import add_hashtags
from copydesk.drafting.extract.material import (
    Fits,
    Material,
    create_limit_check,
    is_acceptable,
    no_draft_error,
    no_new_version_error,
)
from copydesk.drafting.extract.passages import Passage
from copydesk.drafting.extract.short import rank_quotes, standalone_passages, template_values, usable_templates
from copydesk.drafting.writer import Field, WriterResult
from copydesk.errors import WriterError
from copydesk.text.thread import join_parts

DEFAULT_PARTS = 6
"""Parts if the voice has no setting."""
SENTENCES_PER_QUOTE = 3
"""Quote at most one in this many of the source's sentences."""


def write_thread(material: Material) -> WriterResult:
    """Return a thread of at least two parts. Raise WriterError if the item has too little text, or nothing fits."""
    repeats_version = False
    # Prefer a thread that fits with full links; Bluesky's shortened display is the fallback.
    for short_links in (False, True):
        fits = create_limit_check(material.brief, short_links=short_links)
        closing = _closing(material, fits)
        for opening, quote in _openings(material):
            if is_acceptable(opening, fits, material.brief.voice.avoid):
                points = list(_quoted_parts(material, quote, fits, closing))
                if quote or points:
                    parts = [opening, *points, *closing]
                    parts[-1] = add_hashtags(parts[-1], material, fits)
                    thread = _assemble(parts)
                    if thread.text not in material.brief.previous_versions:
                        return thread
                    repeats_version = True
    if repeats_version:
        raise no_new_version_error()
    raise no_draft_error(material) if material.avoided_word else _too_short()


def _too_short() -> WriterError:
    return WriterError("The item has too little to say for a thread.", hint="Ask for a SHORT.")


def _assemble(parts: list[ComposedText]) -> WriterResult:
    # An opening without further parts is a SHORT.
    if len(parts) < 2:
        raise _too_short()
    traces = tuple(chain.from_iterable(part.traces for part in parts))
    return WriterResult(text=join_parts([part.text for part in parts]), sentences=traces)


def _openings(material: Material) -> Iterator[tuple[ComposedText, Passage | None]]:
    """Yield possible first parts, best first, each with the sentence it quotes."""
    if not material.headline.is_incomplete:
        text_templates = usable_templates(frames.OPENING, frames.OPENING_ENGLISH, material)
        for passage in rank_quotes(material, material.headline.text) or rank_quotes(material, ""):
            pieces = template_values(material, passage) | {"url": None}
            for text_template in text_templates:
                yield frames.compose(text_template, pieces), passage
    for passage in rank_quotes(material, "") if material.headline.is_incomplete else ():
        for text_template in frames.rotate_templates(frames.QUOTE[:2], material.seed):
            yield frames.compose(text_template, template_values(material, passage) | {"url": None}), passage
    if material.headline.text:
        for text_template in usable_templates(frames.TITLE, frames.TITLE, material):
            yield frames.compose(text_template, template_values(material) | {"url": None}), None


def _quoted_parts(
    material: Material, opening_quote: Passage | None, fits_in: Fits, closing: list[ComposedText]
) -> Iterator[ComposedText]:
    """Return the sentences that add most to the opening, in the order of the source."""
    max_points = (material.brief.settings.max_parts or DEFAULT_PARTS) - 1 - len(closing)
    count = min(max_points, max(1, len(material.passages) // SENTENCES_PER_QUOTE))
    choices = standalone_passages(material)
    chosen: list[tuple[Passage, ComposedText]] = []
    candidates = choose.select_best(choices, 2 * count + 5)
    for choice in sorted(candidates, key=lambda choice: material.was_quoted_before(choice.passage)):
        part = frames.compose("{quote}", {"quote": material.quote_value(choice.passage)})
        opening_text = material.headline.text + (opening_quote.text if opening_quote else "")
        is_repetition = choice.passage == opening_quote or choose.repeats_title(choice.passage.text, opening_text)
        if len(chosen) < count and not is_repetition and is_acceptable(part, fits_in, material.brief.voice.avoid):
            chosen.append((choice.passage, part))
    ordered = sorted(chosen, key=lambda pair: (pair[0].field is Field.TEXT, pair[0].start))
    return (part for _, part in ordered)


def _closing(material: Material, fits_in: Fits) -> list[ComposedText]:
    """Return the part with the link; empty if there is no link."""
    if not material.link:
        return []
    for text_template in usable_templates(frames.CLOSING, frames.CLOSING_ENGLISH, material):
        part = frames.compose(text_template, template_values(material))
        if is_acceptable(part, fits_in, material.brief.voice.avoid):
            return [part]
    return []
