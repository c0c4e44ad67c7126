"""Read an item for drafting: its headline, quotable sentences, source name, link, hashtags, and the draft's limits."""

import re
from collections.abc import Callable
from typing import NamedTuple

from copydesk.drafting.checks import CheckContext, build_check_context, find_error
from copydesk.drafting.extract import attribution, select_sentences
from copydesk.drafting.extract.passages import Passage, count_words, extract_passages, make_readable
from copydesk.drafting.extract.standalone import (
    TitleFlaw,
    find_title_flaw,
    has_name_or_number,
    is_first_person,
    is_first_person_plural,
)
from copydesk.drafting.extract.templates import ComposedText, TemplateValue
from copydesk.drafting.rules.voice import find_avoided
from copydesk.drafting.writer import Brief, Field, Trace
from copydesk.errors import DeclinedError, DeclineReason, WriterError
from copydesk.model.voice import Emoji, Link
from copydesk.text import links
from copydesk.text.length import graphemes

_MAX_TITLE = 2000
_PAYWALL_MARK = re.compile(
    r"(?:\(\w\+\)|[(\[](?:premium|abo|plus|subscribers? only|members? only|paid|€|\$)[)\]])\s+", re.IGNORECASE
)
_LINKS_TAIL = re.compile(r"(?:\s+(?:https?://\S+|[#＃]\w+))+\s*$")
_SOURCE_TAIL = re.compile(r"\s+[-–—|•·]\s+([^-–—|•·]{2,60})$")
_MIN_NAMELESS = 7
"""Words of a title that states something without a name or number."""
_MIN_CHANGE = 0.08
"""Share of its length by which a shorter or longer version differs at least."""
_BEGINNING = 60
"""Characters by which a summary is recognized as the beginning of the text."""
_PREFIX = re.compile(
    r"(?:(?:Show|Ask|Tell|Launch) HN|(?:UPDATE|RPT|WRAPUP) \d)\s*:?\s+|(?:UPDATE|RPT|WRAPUP) \d-\s*"
    r"|\[PDF\]\s+|#\d+\s+[–—:-]\s+"
    r"|(?:BRIEF|EXCLUSIVE|FACTBOX|CORRECTED|REFILE|BREAKING)\s*[-–—:]\s*"
    r"|[A-ZÀ-Þ]{2,}(?: [A-ZÀ-Þ]{2,}){1,3}\.\s+(?=\S+ \S)"
)
_REGIONS = "Africa|Asia|Europe|World|Middle East|Americas|Latin America|Caribbean|Oceania"
_REGION = re.compile(rf"(?:{_REGIONS}): (?=\S+ \S+ \S)")
_NO_STORY_URL = re.compile(r"https?://status\.|https?://[^/]+/(?:.*/)?(?:jobs?|careers?|tenders?|sponsored)/")
_EPISODE = re.compile(r"#\d+\s+[–—:-]\s+")
_ELLIPSIS = ("…", "...", "..")

Fits = Callable[[str], bool]


class Headline(NamedTuple):
    """The item's title as used in a draft."""

    text: str
    start: int
    end: int

    @property
    def is_wordless(self) -> bool:
        """True if it contains no word."""
        return not any(map(str.isalnum, self.text))

    @property
    def is_truncated(self) -> bool:
        """True if the feed has cut it."""
        return self.text.endswith(_ELLIPSIS)

    @property
    def is_incomplete(self) -> bool:
        """True if it is not a complete title: without a word, or truncated by the feed."""
        return self.is_wordless or self.is_truncated


class Revision(NamedTuple):
    """Constraints on how a new version differs from the previous one."""

    keeps_quotations: bool = False
    """Only other things than the quotations change, such as hashtags and the link."""
    growth: int = 0
    """-1 if it must be shorter, 1 if longer."""

    def is_fulfilled(self, text: str, previous: str) -> bool:
        """Return True if `text` is as much shorter or longer as a reader would notice."""
        return self.growth * (len(text) - len(previous)) >= abs(self.growth) * _MIN_CHANGE * len(previous)


class Material(NamedTuple):
    """An item, prepared for drafting."""

    brief: Brief
    headline: Headline
    name: str
    author: str
    """The author's name if it is a person's and not the source's own."""
    link: str | None
    language: str | None
    title_flaw: TitleFlaw | None
    """Why the headline needs a quotation, or forbids a draft."""
    passages: list[Passage]
    """All quotable sentences in order, without duplicates and avoided words."""
    avoided_word: str | None
    """The first avoided word that excluded the title or a sentence."""
    check_context: CheckContext
    """What the checks of a draft of this item compare its text with."""
    revision: Revision | None = None
    """How the new version differs from the previous one; None for a first version."""
    previous_texts: tuple[str, ...] = ()
    """Words of every previous version, without punctuation."""

    @property
    def is_own_text(self) -> bool:
        """True if the words are the user's own: nobody is to be credited, and nothing is wrong with them."""
        return not self.name

    @property
    def headline_suffices(self) -> bool:
        """True if the headline can be posted alone: it states something, and an author is credited who says "I"."""
        if self.is_own_text:
            return True
        title = self.headline.text
        has_speaker = bool(self.author) or not is_first_person(title, self.language)
        is_clear = self.language not in {"en", None} or count_words(title) >= _MIN_NAMELESS or has_name_or_number(title)
        # Who exclaims wants attention for it, such as a company for its product.
        return self.title_flaw is None and has_speaker and is_clear and not title.endswith("!")

    @property
    def english(self) -> bool:
        """True if template text may be English."""
        return self.language == "en"

    def title_value(self) -> TemplateValue:
        """Return the headline as a template piece.

        It is put in quotation marks if it says "I" or "we", which the user does not.
        """
        text = self.headline.text
        speaks = is_first_person(text, self.language) or (self.english and is_first_person_plural(text))
        needs_marks = not self.is_own_text and speaks
        display_text = attribution.quote(text, self.language) if needs_marks else text
        trace = Trace(text=text, field=Field.TITLE, start=self.headline.start, end=self.headline.end)
        return TemplateValue(display_text, (trace,))

    def quote_value(self, passage: Passage) -> TemplateValue:
        """Return a sentence in quotation marks.

        Without a source name there are no marks, because the words are the user's own.
        """
        trace = Trace(text=passage.text, field=passage.field, start=passage.start, end=passage.end)
        return TemplateValue(attribution.quote(passage.text, self.language) if self.name else passage.text, (trace,))

    def was_quoted_before(self, passage: Passage) -> bool:
        """Return True if a previous version contains this sentence, ignoring punctuation."""
        words = _words_only(passage.text)
        return any(words in version for version in self.previous_texts)

    @property
    def summary_is_beginning(self) -> bool:
        """True if the text begins as the summary does."""
        return _words_only(self.brief.text).startswith(_words_only(self.brief.summary)[:_BEGINNING])

    @property
    def is_first_version(self) -> bool:
        return self.is_own_text or self.revision is None or self.revision.keeps_quotations

    @property
    def keeps_quotations(self) -> bool:
        """True if the new version quotes the same sentences as the previous one where it can."""
        return self.revision is not None and self.revision.keeps_quotations

    @property
    def repeats_quotations(self) -> bool:
        """True if sentences of earlier versions may be quoted: always in a first version."""
        return self.is_first_version or (self.revision is not None and self.revision.growth != 0)

    def credit(self, passage: Passage | None = None) -> str:
        """Return the name to credit: with its author if the headline or the sentence says "I"."""
        texts = (self.headline.text, passage.text if passage else "")
        if self.author and any(is_first_person(text, self.language) for text in texts):
            return f"{self.author}, {self.name}"
        return self.name

    @property
    def seed(self) -> str:
        """Selects among equally good templates; the same for all versions, which thus differ in content."""
        return f"{self.brief.item_id} {self.brief.format}"


def read_material(brief: Brief, revision: Revision | None = None) -> Material:
    """Prepare the item of `brief` for drafting."""
    language = attribution.get_language(brief)
    keep_emoji = brief.settings.emoji is not Emoji.NEVER
    name = make_readable(attribution.get_source_name(brief), emoji=keep_emoji)
    headline = _read_headline(brief, name, emoji=keep_emoji)
    sentences = extract_passages(brief.summary, Field.SUMMARY, emoji=keep_emoji)
    # A caption would be quoted as if it were part of the story.
    if not _is_caption(brief):
        sentences += extract_passages(brief.text, Field.TEXT, emoji=keep_emoji)
    allowed = [
        passage
        for passage in select_sentences.drop_duplicates(sentences)
        if not find_avoided(passage.text, brief.voice.avoid)
    ]
    avoided = find_avoided(" ".join([headline.text, *(passage.text for passage in sentences)]), brief.voice.avoid)
    link = None if brief.settings.link is Link.NEVER else links.postable_url(links.strip_tracking(brief.url or ""))
    # An avoided word costs the headline, not the draft: it can be written from quotations alone.
    if find_avoided(headline.text, brief.voice.avoid):
        headline = Headline("", 0, 0)
    author = attribution.get_author(brief)
    return Material(
        brief=brief,
        headline=headline,
        name=name,
        author="" if author.casefold() in name.casefold() else author,
        link=link,
        language=language,
        title_flaw=_find_title_flaw(headline, brief, link, language),
        passages=allowed,
        avoided_word=avoided,
        check_context=build_check_context(brief),
        revision=revision,
        previous_texts=tuple(_words_only(text) for text in brief.previous_versions),
    )


def template_value(text: str) -> TemplateValue:
    """Return a piece of the writer's own text."""
    return TemplateValue(text, (Trace(text=text, field=Field.TEMPLATE),))


def create_limit_check(brief: Brief) -> Fits:
    """Return a predicate: does a text fit into one post, by the voice's limit in graphemes and the platforms' own?"""
    max_length = brief.settings.max_length
    platforms = brief.platforms

    def within(text: str) -> bool:
        if max_length is not None and len(graphemes(text)) > max_length:
            return False
        return all(platform.fits(text) for platform in platforms)

    return within


def is_acceptable(composed: ComposedText, material: Material, fits_limits: Fits) -> bool:
    """Return True if a text is within its limits and the checks report no error."""
    return fits_limits(composed.text) and find_error(composed.text, material.check_context) is None


def no_draft_error(material: Material, failed_check: str | None = None) -> DeclinedError:
    """Return the error that explains why there is no draft; `failed_check` is what was wrong with the best text."""
    if material.avoided_word:
        return DeclinedError(
            DeclineReason.AVOIDED_WORDS,
            f"Every sentence has words on your avoid list, such as {material.avoided_word!r}.",
            hint="Remove a word from the list, or write the draft by hand.",
        )
    if material.headline.is_wordless and not material.passages:
        return DeclinedError(
            DeclineReason.NOTHING_TO_QUOTE,
            "The source has no text to make a draft from.",
            hint="Write the draft by hand.",
        )
    if failed_check:
        return DeclinedError(
            DeclineReason.FAILED_CHECKS,
            f"Every draft of this source would fail a check: {failed_check}",
            hint="Write the draft by hand.",
        )
    return DeclinedError(
        DeclineReason.TOO_LONG,
        "Nothing from the source fits the length limit.",
        hint="Raise the limit, or write it by hand.",
    )


def nothing_to_quote_error() -> DeclinedError:
    """Return the error for an item of which no sentence reads well alone, nor its title."""
    return DeclinedError(
        DeclineReason.NOTHING_TO_QUOTE,
        "Nothing to quote: no sentence of the source reads well on its own, and its title alone says too little.",
        hint="Write the draft by hand.",
    )


def no_new_version_error(revision: Revision | None = None) -> WriterError:
    """Return the error for a draft without another possible version."""
    if revision and revision.keeps_quotations:
        message = "The offline writer cannot make this change: nothing in the draft would differ."
    else:
        version = {-1: "a shorter version", 1: "a longer version"}.get(revision.growth if revision else 0)
        message = (
            f"The offline writer cannot make {version or 'another version'}: the source has no other sentence worth"
            " quoting."
        )
    return WriterError(message, hint="Edit the text by hand.")


def _words_only(text: str) -> str:
    """Return `text` without punctuation, which a template may have changed."""
    return re.sub(r"\W+", " ", text).strip()


def _is_caption(brief: Brief) -> bool:
    """Return True if the text accompanying a summary is only an image caption, as in some feeds."""
    return len(brief.text) <= 1.1 * len(brief.summary) and brief.summary not in brief.text


def _read_headline(brief: Brief, name: str, *, emoji: bool) -> Headline:
    """Return the title without what sources add to it: their own name, links, hashtags, a mark of their paywall."""
    title = brief.title[:_MAX_TITLE]
    mark = _PAYWALL_MARK.match(title)
    start, end = mark.end() if mark else 0, len(title.rstrip())
    for prefix in (_PREFIX, _REGION):
        if found := prefix.match(title, start):
            start = found.end()
    if tail := _LINKS_TAIL.search(title, 0, end):
        end = tail.start()
    if (tail := _SOURCE_TAIL.search(title, 0, end)) and tail.start() > 10 and _names_source(tail[1], brief, name):
        end = tail.start()
    text = make_readable(title[start:end], emoji=emoji)
    # Links and hashtags in a title would be the source's, not chosen by the user.
    text = make_readable(links.replace_spans(text, links.spans(text), ""))
    signs = [(position, position + 1) for position, _ in links.hashtag_spans(text)]
    return Headline(links.replace_spans(text, signs, ""), start, end)


def _find_title_flaw(headline: Headline, brief: Brief, link: str | None, language: str | None) -> TitleFlaw | None:
    if link and _NO_STORY_URL.match(link):
        return TitleFlaw.NO_STORY
    if _EPISODE.match(brief.title):
        return TitleFlaw.TEASER
    return TitleFlaw.NO_STATEMENT if headline.is_wordless else find_title_flaw(headline.text, language)


def _names_source(tail: str, brief: Brief, name: str) -> bool:
    return tail.casefold().strip() in {
        candidate.casefold()
        for candidate in (name, brief.publisher, brief.source_name, links.host(brief.url))
        if candidate
    }
