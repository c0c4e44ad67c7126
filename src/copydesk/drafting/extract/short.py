"""Compose a SHORT: the headline, one quoted sentence, the source's name and the link."""

import re
from collections.abc import Iterator
from itertools import chain

from copydesk.drafting.extract import choose, frames
from copydesk.drafting.extract.choose import ScoredPassage
from copydesk.drafting.extract.frames import ComposedText, TemplateValue
from copydesk.drafting.extract.hashtags import add_hashtags
from copydesk.drafting.extract.material import (
    Material,
    create_limit_check,
    is_acceptable,
    no_draft_error,
    no_new_version_error,
    template_value,
)
from copydesk.drafting.extract.passages import Passage
from copydesk.drafting.writer import WriterResult
from copydesk.model.voice import Link
from copydesk.text import links
from copydesk.text.length import graphemes

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
    choices = choose.score_passages(material.passages, material.headline.text)
    return [choice for choice in choices if choice.standalone >= MIN_STANDALONE] or choices


def rank_quotes(material: Material, headline: str) -> list[Passage]:
    """Return up to MAX_QUOTES sentences to quote below `headline`, best first; those quoted before come last."""
    choices = choose.score_passages(material.passages, material.headline.text)
    fresh = [
        choice
        for choice in choices
        if choice.standalone >= MIN_STANDALONE and not choose.repeats_title(choice.passage.text, headline)
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
    ordered = frames.rotate_templates(selected, material.seed)
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
        with_quote = usable_templates(frames.TITLE_AND_QUOTE, frames.TITLE_AND_QUOTE_ENGLISH, material)
        for passage in rank_quotes(material, title):
            pieces = template_values(material, passage)
            yield from (frames.compose(text_template, pieces) for text_template in with_quote)
        title_only = usable_templates(frames.TITLE, frames.TITLE_ENGLISH, material)
        yield from (frames.compose(text_template, template_values(material)) for text_template in title_only)
    for passage in rank_quotes(material, ""):
        pieces = template_values(material, passage)
        quote_only = usable_templates(frames.QUOTE, frames.QUOTE_ENGLISH, material)
        yield from (frames.compose(text_template, pieces) for text_template in quote_only)


def _truncated_headlines(material: Material) -> Iterator[ComposedText]:
    """Yield the headline alone, first complete and then ever shorter and marked as cut, as a last resort."""
    text_template = usable_templates(frames.TITLE[:1], frames.TITLE[:1], material)[0]
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
        yield frames.compose(text_template, pieces)
