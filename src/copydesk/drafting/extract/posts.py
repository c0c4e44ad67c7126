"""Compose a SHORT or a THREAD from quotations, or decline.

A SHORT has the headline, one quoted sentence, the source's name and the link. The headline alone is enough only if it
states something, and nothing is written if no sentence reads well alone either. A THREAD has an opening with headline
and quotation, at least two more quotations in the source's order, and the link at the end.
"""

import re
from collections.abc import Iterator
from itertools import chain

from copydesk.drafting.checks import find_error
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
from copydesk.drafting.extract.passages import Passage, count_words, refers_to_page
from copydesk.drafting.extract.select_sentences import ScoredPassage
from copydesk.drafting.extract.standalone import UNPOSTABLE_TITLES, find_flaw, is_first_person, is_specific
from copydesk.drafting.extract.templates import ComposedText, TemplateValue
from copydesk.drafting.rules.voice import find_avoided
from copydesk.drafting.writer import Field, WriterResult
from copydesk.errors import DeclinedError, DeclineReason, WriterError
from copydesk.model.voice import Link
from copydesk.text.thread import join_parts

MAX_QUOTES = 8
"""Sentences tried until one fits."""
MIN_STANDALONE = 0.5
"""Minimum fitness of a sentence to be quoted on its own."""
_MIN_BELOW_TITLE = 0.7
"""Minimum fitness of the only sentence below a title, which must be about it."""
_MIN_QUOTED_WORDS = 7
"""Words of the only sentence of a post, if it has no number."""
_MIN_SHARED_WORDS = 2
_MIN_ROOM = 100
"""Characters beside a link that suffice for a sentence."""

DEFAULT_PARTS = 6
"""Parts if the voice has no setting."""
MIN_QUOTATIONS = 3
"""Quotations that make a thread; with fewer it would be a SHORT."""
SENTENCES_PER_QUOTE = 3
"""Quote at most one in this many of the source's sentences, beyond the minimum."""

_MAX_SIMILARITY = 0.4
"""Share of keywords that two parts of a thread may have in common."""
_OPENING_SENTENCES = 2
"""Sentences of the source among which a thread begins."""
_MIN_PART_WORDS = 8
_NUMBER_WORD = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozens?|hundreds?|thousands?|millions?)\b",
    re.IGNORECASE,
)
_MIN_SPECIFIC_PARTS = 2
"""Parts of a thread that tell a number or a name."""


def write_short(material: Material) -> WriterResult:
    """Return the first candidate text, best first, that is within the limits.

    If hardly a sentence fits beside the link, or readers could not open it, it is omitted unless the voice requires it.
    Raise DeclinedError if the item has nothing to post, WriterError if it has no other version.
    """
    refuse_unpostable(material)
    fits = create_limit_check(material.brief)
    has_candidates, failed_check = False, None
    for variant in _attempts(material, fits):
        for composed in chain(_candidate_texts(variant), _bare_headline(variant)):
            has_candidates = True
            finished = add_hashtags(composed, variant, fits)
            if not fits(finished.text) or not is_new_version(material, finished.text):
                continue
            error = find_error(finished.text, material.check_context)
            if error is None:
                return WriterResult(text=finished.text, sentences=finished.traces)
            failed_check = failed_check or error
    raise no_text_error(material, failed_check, has_candidates=has_candidates)


def _attempts(material: Material, fits: Fits) -> Iterator[Material]:
    """Yield what to write from: with the link, and without it if it is of no use to readers."""
    yield material
    # Checked last: nearly always the first attempt succeeds.
    if material.brief.settings.link is not Link.ALWAYS and not _is_usable_link(material, fits):
        yield material._replace(link=None)


def _is_usable_link(material: Material, fits: Fits) -> bool:
    """Return True if a sentence fits beside the link, and readers can open it."""
    link = material.link or ""
    # A new version keeps its link, or it would be new for that alone.
    if material.brief.previous:
        return link in material.brief.previous
    return fits(f"{'x' * _MIN_ROOM}\n\n{link}") and find_error(link, material.check_context) is None


def refuse_unpostable(material: Material) -> None:
    """Raise DeclinedError if the headline shows that nothing of the item should be posted."""
    if not material.is_own_text and material.title_flaw in UNPOSTABLE_TITLES:
        raise nothing_to_quote_error()


def is_new_version(material: Material, text: str) -> bool:
    """Return True if `text` differs from all previous versions, and as was requested."""
    if text in material.brief.previous_versions:
        return False
    return material.revision is None or material.revision.is_fulfilled(text, material.brief.previous or "")


def no_text_error(material: Material, failed_check: str | None, *, has_candidates: bool) -> WriterError:
    """Return the error for an item without an acceptable text."""
    if material.brief.previous:
        return no_new_version_error(material.revision)
    is_empty = material.headline.is_wordless and not material.passages
    if has_candidates or material.avoided_word or is_empty:
        return no_draft_error(material, failed_check)
    return nothing_to_quote_error()


def standalone_passages(material: Material) -> list[ScoredPassage]:
    """Return the scored sentences that can stand alone."""
    choices = select_sentences.score_passages(material.passages, material.headline.text, material.language)
    return [choice for choice in choices if material.is_own_text or choice.standalone >= MIN_STANDALONE]


def rank_quotes(material: Material, headline: str, min_standalone: float = MIN_STANDALONE) -> list[Passage]:
    """Return up to MAX_QUOTES sentences to quote below `headline`, best first; those quoted before come last."""
    eligible = eligible_choices(material, headline)
    choices = sorted(
        (choice for choice in eligible if material.is_own_text or choice.standalone >= min_standalone),
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
    if options == templates.TITLE and material.headline.text.casefold().startswith(material.name.casefold()):
        return "{title}"
    allowed = [option for option in ordered if not find_avoided(option, material.brief.voice.avoid)]
    fitting = [option for option in allowed if not _clashes(option, material)]
    return (fitting or allowed or ordered)[0]


def _clashes(template: str, material: Material) -> bool:
    """Return True if a template would repeat the name beside the title, or put two colons, dashes or brackets."""
    title = material.headline.text
    if material.name.casefold() in title.casefold() and ("{name}: {title}" in template or "{title} (" in template):
        return True
    return (
        (": {title}" in template and re.search(r"[:：]", title) is not None)
        or ("{title} — " in template and re.search(r"\s[-–—]+\s|—", title) is not None)
        or ("{title} (" in template and title.endswith(")"))
    )


def _candidate_texts(material: Material) -> Iterator[ComposedText]:
    title = material.headline.text
    if not material.headline.is_incomplete:
        quotes = [
            passage for passage in rank_quotes(material, title, _MIN_BELOW_TITLE) if _carries_post(material, passage)
        ]
        for passage in quotes:
            yield templates.compose(_quote_template(material, passage), template_values(material, passage))
        # Leaving out the quotation does not make another version, only a shorter one.
        if material.headline_suffices and material.repeats_quotations and not (quotes and material.keeps_quotations):
            yield templates.compose(choose_template(templates.TITLE, material), template_values(material))
    # Without the headline, for brevity or because it says the same.
    shrinks = material.revision is not None and material.revision.growth < 0
    if material.headline.is_incomplete or shrinks or (material.title_flaw is None and not material.keeps_quotations):
        for passage in rank_quotes(material, "", _MIN_BELOW_TITLE):
            if _carries_post(material, passage):
                yield templates.compose(choose_template(templates.QUOTE, material), template_values(material, passage))


def informs(material: Material, passage: Passage) -> bool:
    """Return True if a sentence says enough to be quoted alone.

    Below a title that states nothing it must be about the title's subject, or tell of something by name or number.
    """
    text = passage.text
    # A version that was asked to be shorter may say less.
    if material.is_own_text or (material.revision is not None and material.revision.growth < 0):
        return True
    if count_words(text) < _MIN_QUOTED_WORDS and not re.search(r"\d", text):
        return False
    title_words = select_sentences.keywords(material.headline.text)
    shared = len(title_words & select_sentences.keywords(text))
    # The beginning of a summary was written to be read below the title. Inflection hides words of other languages.
    is_beginning = passage.field is Field.SUMMARY and passage.position == 0
    needed = _MIN_SHARED_WORDS if material.language in {"en", None} and not is_beginning else 1
    is_about_title = shared >= min(needed, len(title_words))
    return material.title_flaw is None or is_about_title or _states_fact(text, material.language)


def _carries_post(material: Material, passage: Passage) -> bool:
    """Return True if a sentence says enough to be the only one of a post."""
    if not informs(material, passage):
        return False
    if material.is_own_text or not material.is_first_version:
        return True
    # The answer to a question may be general; otherwise an English sentence without a fact is somebody's opinion.
    title = material.headline
    is_answer = title.is_incomplete or title.text.endswith("?")
    return material.language not in {"en", None} or is_answer or _states_fact(passage.text, "en")


def _quote_template(material: Material, passage: Passage) -> str:
    """Return the template for a sentence, without the headline if the sentence says the same."""
    title = material.headline.text
    is_needless = not material.is_own_text and select_sentences.covers_title(passage.text, title)
    is_left_out = material.headline.is_incomplete or is_needless
    return choose_template(templates.QUOTE if is_left_out else templates.TITLE_AND_QUOTE, material)


def _bare_headline(material: Material) -> Iterator[ComposedText]:
    """Yield the headline alone in the shortest form, as a last resort; it is never cut."""
    if not (material.headline.is_wordless or material.brief.previous) and material.headline_suffices:
        yield templates.compose("{title} ({name})" if material.name else "{title}", template_values(material))


def write_thread(material: Material) -> WriterResult:
    """Return a thread of at least three parts with a quotation each.

    Raise DeclinedError if the source does not carry that many, WriterError if it has no other version.
    """
    refuse_unpostable(material)
    fits = create_limit_check(material.brief)
    closing = _closing(material, fits)
    max_parts = (material.brief.settings.max_parts or DEFAULT_PARTS) - len(closing)
    parts = _quoted_parts(material, fits, max_parts)
    if len(parts) >= min(MIN_QUOTATIONS, max(2, max_parts)):
        parts += closing
        parts[-1] = add_hashtags(parts[-1], material, fits)
        text = join_parts([part.text for part in parts])
        if is_new_version(material, text) and find_error(text, material.check_context) is None:
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
    """Return a run of consecutive sentences that begins with one about the headline.

    Without a sentence left out between them, each can be understood from the ones before.
    """
    grows = material.revision is not None and material.revision.growth > 0
    share = len(material.passages) // (1 if grows else SENTENCES_PER_QUOTE)
    count = min(max_parts, max(MIN_QUOTATIONS, share))
    for run in _runs(material, fits):
        parts = [_opening(material, run[0]), *(_quotation(material, passage) for passage in run[1:count])]
        specific = sum(_states_fact(passage.text, material.language) for passage in run[:count])
        # Other languages capitalize nouns, or nothing.
        if specific < _MIN_SPECIFIC_PARTS and material.english and material.is_first_version:
            continue
        if len(run) >= min(MIN_QUOTATIONS, max_parts) and is_acceptable(parts[0], material, fits):
            return parts
    return []


def _runs(material: Material, fits: Fits) -> Iterator[list[Passage]]:
    """Yield the runs of quotable sentences without a gap, in the source's order.

    A first version begins with the source's beginning, where a report says what happened.
    """
    eligible = {choice.passage for choice in eligible_choices(material, "")}
    repeatable = material.repeats_quotations
    run: list[Passage] = []
    for passage in _story(material):
        continues = bool(run) and passage.position == run[-1].position + 1
        is_new = repeatable or not material.was_quoted_before(passage)
        if continues and is_new and _adds_to(run, passage, material) and _fits_quoted(material, passage, fits):
            run.append(passage)
            continue
        if run:
            yield run
        is_start = passage.position < _OPENING_SENTENCES or not material.is_first_version
        is_clear = passage in eligible if material.is_first_version else _adds_to([], passage, material)
        run = [passage] if is_start and is_new and is_clear and _is_about_title(passage, material) else []
    if run:
        yield run


def _story(material: Material) -> list[Passage]:
    """Return the sentences of the text; those of the summary count only if the text begins with them."""
    texts = [passage for passage in material.passages if passage.field is Field.TEXT]
    return material.passages if material.summary_is_beginning or not texts else texts


def _adds_to(run: list[Passage], passage: Passage, material: Material) -> bool:
    """Return True if a sentence says something that the run does not, in the source's own voice."""
    if not material.is_own_text:
        if refers_to_page(passage.text) or find_flaw(passage.text, material.language):
            return False
        if is_first_person(passage.text, material.language) or _is_empty(passage.text):
            return False
    words = select_sentences.keywords(passage.text)
    earlier = (select_sentences.keywords(other.text) for other in run)
    return all(len(words & other) < _MAX_SIMILARITY * max(1, min(len(words), len(other))) for other in earlier)


def _is_empty(text: str) -> bool:
    """Return True for a short sentence without a name or number."""
    return count_words(text) < _MIN_PART_WORDS and not re.search(r"\d|(?<=\s)[A-ZÀ-Þ]", text)


def _states_fact(text: str, language: str | None) -> bool:
    """Return True if a part has a number, in digits or words, or a name."""
    return is_specific(text, language) or _NUMBER_WORD.search(text) is not None


def _is_about_title(passage: Passage, material: Material) -> bool:
    title_words = select_sentences.keywords(material.headline.text)
    shared = title_words & select_sentences.keywords(passage.text)
    # Inflection hides shared words in most other languages, and another version has fewer sentences to begin with.
    needed = _MIN_SHARED_WORDS if material.language in {"en", None} and material.is_first_version else 1
    if material.headline.is_incomplete:
        return True
    if shared and passage.text.split()[0].strip(",") == material.headline.text.split()[0]:
        return True
    return len(shared) >= min(needed, len(title_words))


def _fits_quoted(material: Material, passage: Passage, fits: Fits) -> bool:
    return is_acceptable(_quotation(material, passage), material, fits)


def _opening(material: Material, passage: Passage) -> ComposedText:
    """Return the first part, which is complete in itself and has no link."""
    return templates.compose(_quote_template(material, passage), template_values(material, passage) | {"url": None})


def _quotation(material: Material, passage: Passage) -> ComposedText:
    return templates.compose("{quote}", {"quote": material.quote_value(passage)})


def _closing(material: Material, fits: Fits) -> list[ComposedText]:
    """Return the part with the link; empty if there is no link."""
    if not material.link:
        return []
    part = templates.compose(templates.CLOSING if material.name else "{url}", template_values(material))
    return [part] if is_acceptable(part, material, fits) else []
