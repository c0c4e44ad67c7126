"""Compose a SHORT or a THREAD from quotations.

A SHORT has the headline, one quoted sentence, the source's name and the link. A THREAD has an opening that stands
alone, quotations in the source's order, and the link at the end.
"""

import re
from collections.abc import Iterator
from itertools import chain

from copydesk.drafting.extract import select_sentences, templates
from copydesk.drafting.extract.material import (
    Fits,
    Material,
    add_hashtags,
    create_limit_check,
    is_acceptable,
    no_draft_error,
    no_new_version_error,
    template_value,
)
from copydesk.drafting.extract.passages import Passage
from copydesk.drafting.extract.select_sentences import ScoredPassage
from copydesk.drafting.extract.templates import ComposedText, TemplateValue
from copydesk.drafting.writer import Field, WriterResult
from copydesk.errors import WriterError
from copydesk.model.voice import Link
from copydesk.text import links
from copydesk.text.length import graphemes
from copydesk.text.thread import join_parts

MAX_QUOTES = 5
"""Sentences tried until one fits."""
MIN_STANDALONE = 0.5
"""Minimum fitness of a sentence to be quoted on its own."""


def write_short(material: Material) -> WriterResult:
    """Return the first candidate text, best first, that is within the limits. Raise WriterError if none is.

    If the link takes too much room, it is counted as Bluesky displays it, then omitted unless the voice requires it.
    """
    with_full_links, with_links_shortened = (
        create_limit_check(material.brief, short_links=short_links) for short_links in (False, True)
    )
    # In order of preference; each attempt is worse for the reader than the one before.
    attempts = [(material, with_full_links), (material, with_links_shortened)]
    if material.brief.settings.link is not Link.ALWAYS:
        attempts.append((material._replace(link=None), with_full_links))
    repeats_version = False
    for attempt, (variant, fits) in enumerate(attempts):
        for composed in chain(
            # Truncated headlines only as a fallback, and not merely to differ from a previous version.
            _candidate_texts(variant),
            _truncated_headlines(variant) if attempt and not repeats_version else (),
        ):
            finished = add_hashtags(composed, variant, fits)
            if is_acceptable(finished, fits, material.brief.voice.avoid):
                if finished.text not in material.brief.previous_versions:
                    return WriterResult(text=finished.text, sentences=finished.traces)
                repeats_version = True
    raise no_new_version_error() if repeats_version else no_draft_error(material)


def standalone_passages(material: Material) -> list[ScoredPassage]:
    """Return the scored sentences that can stand alone, or all of them if none can."""
    choices = select_sentences.score_passages(material.passages, material.headline.text)
    return [choice for choice in choices if choice.standalone >= MIN_STANDALONE] or choices


def rank_quotes(material: Material, headline: str) -> list[Passage]:
    """Return up to MAX_QUOTES sentences to quote below `headline`, best first; those quoted before come last."""
    choices = select_sentences.score_passages(material.passages, material.headline.text)
    fresh = [
        choice
        for choice in choices
        if choice.standalone >= MIN_STANDALONE and not select_sentences.repeats_title(choice.passage.text, headline)
    ]
    ranked = [choice.passage for choice in sorted(fresh, key=lambda choice: -choice.score)[:MAX_QUOTES]]
    return sorted(ranked, key=material.was_quoted_before)


def template_values(material: Material, quote: Passage | None = None) -> dict[str, TemplateValue | None]:
    """Return the values of a template's placeholders."""
    return {
        "title": material.title_value(),
        "name": template_value(material.name) if material.name else None,
        "quote": material.quote_value(quote) if quote else None,
        "url": template_value(material.link) if material.link else None,
    }


def usable_templates(options: tuple[str, ...], english: tuple[str, ...], material: Material) -> list[str]:
    """Return the templates for the item's language, in the item's own order; none with a link if there is no link."""
    if not material.name:
        options = english = (options[0].replace(" — {name}", "").replace(" ({name})", ""),)
    selected = english if material.english else options
    ordered = templates.rotate_templates(selected, material.seed)
    title = material.headline.text
    usable = [candidate for candidate in ordered if material.link or "{url}" not in candidate]
    return [candidate for candidate in usable if not _clashes(candidate, title)] or usable


def _clashes(frame: str, title: str) -> bool:
    """Return True if a template would put a colon, dash or bracket next to one in the title."""
    return (
        (": {title}" in frame and ": " in title)
        or ("{title} — " in frame and re.search(r"\s[-–—]+\s", title) is not None)
        or ("{title} (" in frame and title.endswith(")"))
    )


def _candidate_texts(material: Material) -> Iterator[ComposedText]:
    title = material.headline.text
    if not material.headline.is_incomplete:
        with_quote = usable_templates(templates.TITLE_AND_QUOTE, templates.TITLE_AND_QUOTE_ENGLISH, material)
        for passage in rank_quotes(material, title):
            pieces = template_values(material, passage)
            yield from (templates.compose(text_template, pieces) for text_template in with_quote)
        title_only = usable_templates(templates.TITLE, templates.TITLE_ENGLISH, material)
        yield from (templates.compose(text_template, template_values(material)) for text_template in title_only)
    for passage in rank_quotes(material, ""):
        pieces = template_values(material, passage)
        quote_only = usable_templates(templates.QUOTE, templates.QUOTE_ENGLISH, material)
        yield from (templates.compose(text_template, pieces) for text_template in quote_only)


def _truncated_headlines(material: Material) -> Iterator[ComposedText]:
    """Yield the headline alone, first complete and then ever shorter and marked as cut, as a last resort."""
    text_template = usable_templates(templates.TITLE[:1], templates.TITLE[:1], material)[0]
    pieces = template_values(material)
    title = material.headline.text
    if material.headline.is_wordless:
        return
    words = title.split(" ") if title.count(" ") > 2 else graphemes(title)
    separator = " " if title.count(" ") > 2 else ""
    unbreakable = set(links.unbreakable_spans(title))
    for count in range(len(words), 0, -1):
        beginning = separator.join(words[:count])
        headline = beginning if count == len(words) else beginning.rstrip(",;:–—- ") + "…"
        if not unbreakable.issuperset(links.unbreakable_spans(headline)):
            continue  # the cut went through a handle or address, or produced one
        pieces["title"] = material.title_value(headline)
        yield templates.compose(text_template, pieces)


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
    return WriterError("Too little text for a thread.", hint="Use the format SHORT.")


def _assemble(parts: list[ComposedText]) -> WriterResult:
    # An opening without further parts is a SHORT.
    if len(parts) < 2:
        raise _too_short()
    traces = tuple(chain.from_iterable(part.traces for part in parts))
    return WriterResult(text=join_parts([part.text for part in parts]), sentences=traces)


def _openings(material: Material) -> Iterator[tuple[ComposedText, Passage | None]]:
    """Yield possible first parts, best first, each with the sentence it quotes."""
    if not material.headline.is_incomplete:
        text_templates = usable_templates(templates.OPENING, templates.OPENING_ENGLISH, material)
        for passage in rank_quotes(material, material.headline.text) or rank_quotes(material, ""):
            pieces = template_values(material, passage) | {"url": None}
            for text_template in text_templates:
                yield templates.compose(text_template, pieces), passage
    for passage in rank_quotes(material, "") if material.headline.is_incomplete else ():
        for text_template in templates.rotate_templates(templates.QUOTE[:2], material.seed):
            yield templates.compose(text_template, template_values(material, passage) | {"url": None}), passage
    if material.headline.text:
        for text_template in usable_templates(templates.TITLE, templates.TITLE, material):
            yield templates.compose(text_template, template_values(material) | {"url": None}), None


def _quoted_parts(
    material: Material, opening_quote: Passage | None, fits_in: Fits, closing: list[ComposedText]
) -> Iterator[ComposedText]:
    """Return the sentences that add most to the opening, in the order of the source."""
    max_points = (material.brief.settings.max_parts or DEFAULT_PARTS) - 1 - len(closing)
    count = min(max_points, max(1, len(material.passages) // SENTENCES_PER_QUOTE))
    choices = standalone_passages(material)
    chosen: list[tuple[Passage, ComposedText]] = []
    candidates = select_sentences.select_best(choices, 2 * count + 5)
    for choice in sorted(candidates, key=lambda choice: material.was_quoted_before(choice.passage)):
        part = templates.compose("{quote}", {"quote": material.quote_value(choice.passage)})
        opening_text = material.headline.text + (opening_quote.text if opening_quote else "")
        is_repetition = choice.passage == opening_quote or select_sentences.repeats_title(
            choice.passage.text, opening_text
        )
        if len(chosen) < count and not is_repetition and is_acceptable(part, fits_in, material.brief.voice.avoid):
            chosen.append((choice.passage, part))
    ordered = sorted(chosen, key=lambda pair: (pair[0].field is Field.TEXT, pair[0].start))
    return (part for _, part in ordered)


def _closing(material: Material, fits_in: Fits) -> list[ComposedText]:
    """Return the part with the link; empty if there is no link."""
    if not material.link:
        return []
    for text_template in usable_templates(templates.CLOSING, templates.CLOSING_ENGLISH, material):
        part = templates.compose(text_template, template_values(material))
        if is_acceptable(part, fits_in, material.brief.voice.avoid):
            return [part]
    return []
