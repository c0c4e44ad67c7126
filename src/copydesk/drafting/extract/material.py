"""Read an item for drafting: its headline, quotable sentences, source name, link, hashtags, and the draft's limits."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from copydesk.drafting.extract import attribution, select_sentences
from copydesk.drafting.extract.passages import Passage, extract_passages, has_first_person, make_readable
from copydesk.drafting.extract.select_sentences import STOP_WORDS
from copydesk.drafting.extract.templates import ComposedText, TemplateValue
from copydesk.drafting.rules.voice import find_avoided
from copydesk.drafting.writer import Brief, Field, Trace
from copydesk.errors import WriterError
from copydesk.model.voice import Emoji, Link
from copydesk.text import links
from copydesk.text.length import graphemes

_MAX_TITLE = 2000
_LINKS_TAIL = re.compile(r"(?:\s+(?:https?://\S+|[#＃]\w+))+\s*$")
_SOURCE_TAIL = re.compile(r"\s+[-–—|•·]\s+([^-–—|•·]{2,60})$")
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
    def is_incomplete(self) -> bool:
        """True if it is not a complete title: without a word, or truncated by the feed."""
        return self.is_wordless or self.text.endswith(_ELLIPSIS)


class Material(NamedTuple):
    """An item, prepared for drafting."""

    brief: Brief
    headline: Headline
    name: str
    link: str | None
    english: bool
    passages: list[Passage]
    """All quotable sentences in order, without duplicates and avoided words."""
    avoided_word: str | None
    """The first avoided word that excluded the title or a sentence."""
    previous_texts: tuple[str, ...] = ()
    """Words of every previous version, without punctuation."""

    def title_value(self, text: str | None = None) -> TemplateValue:
        """Return the headline, or the given part of it, as a template piece.

        It is put in quotation marks if it says "I", which the user does not.
        """
        text = self.headline.text if text is None else text
        display_text = attribution.quote(text, self.language) if self.name and has_first_person(text) else text
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
    def seed(self) -> str:
        """Selects among equally good choices; different for each new version."""
        return f"{self.brief.item_id} {self.brief.format} {self.brief.previous or ''}"

    @property
    def language(self) -> str | None:
        """The item's language; "en" if none is stated and the text looks English."""
        return self.brief.language or ("en" if self.english else None)


def read_material(brief: Brief) -> Material:
    """Prepare the item of `brief` for drafting."""
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
    previous_words = tuple(_words_only(text) for text in brief.previous_versions)
    return Material(brief, headline, name, link, attribution.is_english(brief), allowed, avoided, previous_words)


def template_value(text: str) -> TemplateValue:
    """Return a piece of the writer's own text."""
    return TemplateValue(text, (Trace(text=text, field=Field.TEMPLATE),))


def create_limit_check(brief: Brief, *, short_links: bool = False) -> Fits:
    """Return a predicate: does a text fit into one post, by the voice's limit in graphemes and the platforms' own?

    With `short_links`, links count as the platform's own app displays them.
    """
    max_length = brief.settings.max_length
    platforms = brief.platforms

    def within(text: str) -> bool:
        if max_length is not None and len(graphemes(text)) > max_length:
            return False
        return all(platform.fits(platform.display_text(text) if short_links else text) for platform in platforms)

    return within


def is_acceptable(composed: ComposedText, fits_limits: Fits, avoid: tuple[str, ...]) -> bool:
    """Return True if a text is within its limits and contains no avoided word."""
    return fits_limits(composed.text) and find_avoided(composed.text, avoid) is None


def no_draft_error(material: Material) -> WriterError:
    """Return the error that explains why there is no draft."""
    if material.avoided_word:
        return WriterError(
            f"Every sentence has words on your avoid list, such as {material.avoided_word!r}.",
            hint="Remove a word from the list, or write the draft by hand.",
        )
    if material.headline.is_wordless and not material.passages:
        return WriterError("The source has no text to make a draft from.", hint="Write the draft by hand.")
    return WriterError("Nothing from the source fits the length limit.", hint="Raise the limit, or write it by hand.")


def no_new_version_error() -> WriterError:
    """Return the error for a draft without another possible version."""
    return WriterError(
        "The offline writer cannot make another version: it has used all of the source text.",
        hint="Edit the text by hand.",
    )


def _words_only(text: str) -> str:
    """Return `text` without punctuation, which a template may have changed."""
    return re.sub(r"\W+", " ", text).strip()


def _is_caption(brief: Brief) -> bool:
    """Return True if the text accompanying a summary is only an image caption, as in some feeds."""
    return len(brief.text) <= 1.1 * len(brief.summary) and brief.summary not in brief.text


def _read_headline(brief: Brief, name: str, *, emoji: bool) -> Headline:
    """Return the title without what sources append to it: their own name, links, hashtags."""
    title = brief.title[:_MAX_TITLE]
    end = len(title.rstrip())
    if tail := _LINKS_TAIL.search(title, 0, end):
        end = tail.start()
    if (tail := _SOURCE_TAIL.search(title, 0, end)) and tail.start() > 10 and _names_source(tail[1], brief, name):
        end = tail.start()
    text = make_readable(title[:end], emoji=emoji)
    # Links and hashtags in a title would be the source's, not chosen by the user.
    text = make_readable(links.replace_spans(text, links.spans(text), ""))
    signs = [(start, start + 1) for start, _ in links.hashtag_spans(text)]
    return Headline(links.replace_spans(text, signs, ""), 0, end)


def _names_source(tail: str, brief: Brief, name: str) -> bool:
    return tail.casefold().strip() in {
        candidate.casefold()
        for candidate in (name, brief.publisher, brief.source_name, links.host(brief.url))
        if candidate
    }


MAX_HASHTAG_LENGTH = 24
"""Characters; longer hashtags are hard to read."""
# Categories of feeds that mean nothing to a reader.
_GENERIC_TAGS = (
    "news blog post posts article articles update updates uncategorized general misc other international world home"
    " homepage analysis opinion review reviews feature features video videos audio jekyll podcast newsletter"
    " announcement announcements argument essay brief latest top editors picks the"
)
_GENERIC = frozenset(_GENERIC_TAGS.split())
_TAG_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n“\"(]\s*)\S+")


def add_hashtags(composed: ComposedText, material: Material, fits_limits: Fits) -> ComposedText:
    """Return `composed` with a line of hashtags: as many as the voice requests, the item has and the limit allows."""
    count = material.brief.settings.hashtags or 0
    tags = list(islice(_hashtag_candidates(material), count))
    while tags:
        line = " ".join(tags)
        text = f"{composed.text}\n\n{line}"
        if fits_limits(text):
            return ComposedText(text, (*composed.traces, Trace(text=line, field=Field.TEMPLATE)))
        tags.pop()
    return composed


def _hashtag_candidates(material: Material) -> Iterator[str]:
    used: set[str] = set()
    for words in (*_from_tags(material), *_from_title(material)):
        tag = "#" + "".join(word if word[1:].lower() != word[1:] else word[:1].upper() + word[1:] for word in words)
        if tag.casefold() not in used and len(tag) <= MAX_HASHTAG_LENGTH and not _is_avoided(tag, words, material):
            used.add(tag.casefold())
            yield tag


def _is_avoided(tag: str, words: list[str], material: Material) -> bool:
    return find_avoided(f"{tag[1:]} {' '.join(words)}", material.brief.voice.avoid) is not None


def _from_tags(material: Material) -> Iterator[list[str]]:
    """Yield the words of each of the item's tags that is usable as a hashtag; those mentioned in its text first."""
    candidates = [
        _TAG_WORD.findall(tag) for tag in map(make_readable, material.brief.tags) if not re.search(r"[(),:_/\d]", tag)
    ]
    specific = [
        words for words in candidates if 0 < len(words) <= 3 and not {word.lower() for word in words} & _GENERIC
    ]
    mentioned_text = " ".join([material.headline.text, *(passage.text for passage in material.passages)]).casefold()
    return iter(sorted(specific, key=lambda words: " ".join(words).casefold() not in mentioned_text))


def _from_title(material: Material) -> Iterator[list[str]]:
    """Yield words of the title that the text capitalises inside sentences, which are probably names."""
    sentence_rest = " ".join(_SENTENCE_START.sub(" ", passage.text) for passage in material.passages)
    names = {word for word in _TAG_WORD.findall(sentence_rest) if word[:1].isupper()}
    for word in _TAG_WORD.findall(material.headline.text):
        if word in names and len(word) > 2 and "'" not in word and "’" not in word and word.lower() not in STOP_WORDS:
            yield [word]
