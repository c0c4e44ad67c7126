"""Compose a SHORT or a THREAD from quotations, or decline.

A SHORT has the headline, one quoted sentence, the source's name and the link. The headline alone is enough only if it
states something, and nothing is written if no sentence reads well alone either. A THREAD has an opening with headline
and quotation, at least two more quotations in the source's order, and the link at the end.
"""

import re
from collections.abc import Iterator
from itertools import chain

from copydesk.drafting.extract import select_sentences, templates
from copydesk.drafting.extract.hashtags import add_hashtags
from copydesk.drafting.extract.material import (
    Fits,
    Material,
    create_limit_check,
    is_acceptable,
    no_draft_error,
    no_new_version_error,
    nothing_to_quote_error,
    template_value,
)
from copydesk.drafting.extract.passages import Passage
from copydesk.drafting.extract.select_sentences import ScoredPassage
from copydesk.drafting.extract.standalone import UNPOSTABLE_TITLES
from copydesk.drafting.extract.templates import ComposedText, TemplateValue
from copydesk.drafting.rules.voice import find_avoided
from copydesk.drafting.writer import Field, WriterResult
from copydesk.errors import DeclinedError, DeclineReason, WriterError
from copydesk.model.voice import Link
from copydesk.text import links
from copydesk.text.length import graphemes
from copydesk.text.thread import join_parts

MAX_QUOTES = 8
"""Sentences tried until one fits."""
MIN_STANDALONE = 0.5
"""Minimum fitness of a sentence to be quoted on its own."""


def write_short(material: Material) -> WriterResult:
    """Return the first candidate text, best first, that is within the limits.

    If the link takes too much room, it is counted as Bluesky displays it, then omitted unless the voice requires it.
    Raise DeclinedError if the item has nothing to post, WriterError if it has no other version.
    """
    refuse_unpostable(material)
    with_full_links, with_links_shortened = (
        create_limit_check(material.brief, short_links=short_links) for short_links in (False, True)
    )
    # In order of preference; each attempt is worse for the reader than the one before.
    attempts = [(material, with_full_links), (material, with_links_shortened)]
    # A new version keeps its link, or it would be new for that alone.
    if material.brief.settings.link is not Link.ALWAYS and not material.brief.previous:
        attempts.append((material._replace(link=None), with_full_links))
    has_candidates = False
    for attempt, (variant, fits) in enumerate(attempts):
        for composed in chain(_candidate_texts(variant), _truncated_headlines(variant) if attempt else ()):
            has_candidates = True
            finished = add_hashtags(composed, variant, fits)
            if is_acceptable(finished, fits, material.brief.voice.avoid) and is_new_version(material, finished.text):
                return WriterResult(text=finished.text, sentences=finished.traces)
    raise no_text_error(material, has_candidates=has_candidates)


def refuse_unpostable(material: Material) -> None:
    """Raise DeclinedError if the headline shows that nothing of the item should be posted."""
    if not material.is_own_text and material.title_flaw in UNPOSTABLE_TITLES:
        raise nothing_to_quote_error()


def is_new_version(material: Material, text: str) -> bool:
    """Return True if `text` differs from all previous versions, and as was requested."""
    if text in material.brief.previous_versions:
        return False
    return material.revision is None or material.revision.is_fulfilled(text, material.brief.previous or "")


def no_text_error(material: Material, *, has_candidates: bool) -> WriterError:
    """Return the error for an item without an acceptable text."""
    if material.brief.previous:
        return no_new_version_error(material.revision)
    is_empty = material.headline.is_wordless and not material.passages
    return no_draft_error(material) if has_candidates or material.avoided_word or is_empty else nothing_to_quote_error()


def standalone_passages(material: Material) -> list[ScoredPassage]:
    """Return the scored sentences that can stand alone."""
    choices = select_sentences.score_passages(material.passages, material.headline.text, material.language)
    return [choice for choice in choices if material.is_own_text or choice.standalone >= MIN_STANDALONE]


def rank_quotes(material: Material, headline: str) -> list[Passage]:
    """Return up to MAX_QUOTES sentences to quote below `headline`, best first; those quoted before come last."""
    choices = sorted(
        eligible_choices(material, headline),
        key=lambda choice: (material.was_quoted_before(choice.passage), -choice.score),
    )
    return [choice.passage for choice in choices[:MAX_QUOTES]]


def eligible_choices(material: Material, headline: str) -> list[ScoredPassage]:
    """Return the sentences that may be quoted below `headline`.

    Another version quotes sentences that no earlier one quoted. If only something else is to change, the sentences
    stay.
    """
    choices = [
        choice
        for choice in standalone_passages(material)
        if not select_sentences.repeats_title(choice.passage.text, headline)
        # A truncated headline is the beginning of the text, and what follows answers to it.
        and (choice.passage.position == 0 or not material.headline.is_truncated)
    ]
    if material.keeps_quotations:
        return [choice for choice in choices if material.was_quoted_before(choice.passage)]
    if material.repeats_quotations:
        return choices
    return [choice for choice in choices if not material.was_quoted_before(choice.passage)]


def template_values(material: Material, quote: Passage | None = None) -> dict[str, TemplateValue | None]:
    """Return the values of a template's placeholders."""
    return {
        "title": material.title_value(),
        "name": template_value(material.credit(quote)) if material.name else None,
        "quote": material.quote_value(quote) if quote else None,
        "url": template_value(material.link) if material.link else None,
    }


def choose_template(options: tuple[str, ...], material: Material) -> str:
    """Return the item's own template among `options`, without words and signs on the avoid list."""
    if material.is_own_text:
        return options[0].replace(" — {name}", "")
    ordered = templates.rotate_templates(options, material.seed)
    allowed = [option for option in ordered if not find_avoided(option, material.brief.voice.avoid)]
    fitting = [option for option in allowed if not _clashes(option, material.headline.text)]
    return (fitting or allowed or ordered)[0]


def _clashes(frame: str, title: str) -> bool:
    """Return True if a template would put a colon, dash or bracket next to one in the title."""
    return (
        (": {title}" in frame and re.search(r"[:：]", title) is not None)
        or ("{title} — " in frame and re.search(r"\s[-–—]+\s|—", title) is not None)
        or ("{title} (" in frame and title.endswith(")"))
    )


def _candidate_texts(material: Material) -> Iterator[ComposedText]:
    title = material.headline.text
    if not material.headline.is_incomplete:
        with_quote = choose_template(templates.TITLE_AND_QUOTE, material)
        quotes = rank_quotes(material, title)
        for passage in quotes:
            yield templates.compose(with_quote, template_values(material, passage))
        states_something = material.is_own_text or material.title_flaw is None
        # Leaving out the quotation does not make another version, only a shorter one.
        if states_something and material.repeats_quotations and not (quotes and material.keeps_quotations):
            yield templates.compose(choose_template(templates.TITLE, material), template_values(material))
    # Without the headline, for brevity or because it says the same.
    shrinks = material.revision is not None and material.revision.growth < 0
    if material.headline.is_incomplete or shrinks or (material.title_flaw is None and not material.keeps_quotations):
        for passage in rank_quotes(material, ""):
            yield templates.compose(choose_template(templates.QUOTE, material), template_values(material, passage))


def _truncated_headlines(material: Material) -> Iterator[ComposedText]:
    """Yield the headline alone, first complete and then ever shorter and marked as cut, as a last resort."""
    title = material.headline.text
    if material.headline.is_wordless or material.brief.previous or (material.title_flaw and not material.is_own_text):
        return
    text_template = "{title} ({name})" if material.name else "{title}"
    pieces = template_values(material)
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
MIN_QUOTATIONS = 3
"""Quotations that make a thread; with fewer it would be a SHORT."""
SENTENCES_PER_QUOTE = 3
"""Quote at most one in this many of the source's sentences, beyond the minimum."""


def write_thread(material: Material) -> WriterResult:
    """Return a thread of at least three parts with a quotation each.

    Raise DeclinedError if the source does not carry that many, WriterError if it has no other version.
    """
    refuse_unpostable(material)
    # Prefer a thread that fits with full links; Bluesky's shortened display is the fallback.
    for short_links in (False, True):
        fits = create_limit_check(material.brief, short_links=short_links)
        closing = _closing(material, fits)
        max_parts = (material.brief.settings.max_parts or DEFAULT_PARTS) - len(closing)
        parts = _quoted_parts(material, fits, max_parts)
        if len(parts) >= min(MIN_QUOTATIONS, max(2, max_parts)):
            parts += closing
            parts[-1] = add_hashtags(parts[-1], material, fits)
            text = join_parts([part.text for part in parts])
            if is_new_version(material, text):
                return WriterResult(text=text, sentences=tuple(chain.from_iterable(part.traces for part in parts)))
    if material.brief.previous:
        raise no_new_version_error(material.revision)
    raise no_draft_error(material) if material.avoided_word else _too_short()


def _too_short() -> DeclinedError:
    return DeclinedError(
        DeclineReason.TOO_LITTLE_TEXT,
        "Too little text for a thread: fewer than three of the source's sentences read well on their own.",
        hint="Use the format SHORT.",
    )


def _quoted_parts(material: Material, fits: Fits, max_parts: int) -> list[ComposedText]:
    """Return the sentences that together say most, in the order of the source, the first one with the headline."""
    grows = material.revision is not None and material.revision.growth > 0
    share = len(material.passages) // (1 if grows else SENTENCES_PER_QUOTE)
    count = min(max_parts, max(MIN_QUOTATIONS, share))
    choices = [
        choice
        for choice in eligible_choices(material, "" if material.headline.is_incomplete else material.headline.text)
        if is_acceptable(_quotation(material, choice.passage), fits, material.brief.voice.avoid)
    ]
    best = select_sentences.select_best(choices, count, max_similarity=_MAX_SIMILARITY)
    ordered = sorted(
        (choice.passage for choice in best), key=lambda passage: (passage.field is Field.TEXT, passage.start)
    )
    for passage in ordered:
        opening = _opening(material, passage)
        if is_acceptable(opening, fits, material.brief.voice.avoid):
            return [opening, *(_quotation(material, other) for other in ordered if other is not passage)]
    return []


_MAX_SIMILARITY = 0.5
"""Share of words that two parts of a thread may have in common."""


def _opening(material: Material, passage: Passage) -> ComposedText:
    """Return the first part, which is complete in itself and has no link."""
    options = templates.QUOTE if material.headline.is_incomplete else templates.TITLE_AND_QUOTE
    return templates.compose(choose_template(options, material), template_values(material, passage) | {"url": None})


def _quotation(material: Material, passage: Passage) -> ComposedText:
    return templates.compose("{quote}", {"quote": material.quote_value(passage)})


def _closing(material: Material, fits: Fits) -> list[ComposedText]:
    """Return the part with the link; empty if there is no link."""
    if not material.link:
        return []
    part = templates.compose(templates.CLOSING if material.name else "{url}", template_values(material))
    return [part] if is_acceptable(part, fits, material.brief.voice.avoid) else []
