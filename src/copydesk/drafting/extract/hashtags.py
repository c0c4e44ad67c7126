"""Hashtags from an item's tags and the names in its title, if the voice requests any."""

import re
from collections.abc import Iterator
from itertools import islice

from copydesk.drafting.avoid_list import find_avoided
from copydesk.drafting.extract.material import Fits, Material
from copydesk.drafting.extract.passages import make_readable
from copydesk.drafting.extract.select_sentences import STOP_WORDS
from copydesk.drafting.extract.templates import ComposedText
from copydesk.drafting.writer import Field, Trace

MAX_HASHTAG_LENGTH = 24
"""Characters; longer hashtags are hard to read."""
# Categories of feeds that mean nothing to a reader.
_GENERIC_WORDS = (
    "news blog post posts article articles update updates uncategorized general misc other international world home"
    " homepage analysis opinion review reviews feature features video videos audio jekyll podcast newsletter"
    " announcement announcements argument essay brief latest top editors picks the"
)
_GENERIC = frozenset(_GENERIC_WORDS.split())
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n“\"(]\s*)\S+")


def add_hashtags(composed: ComposedText, material: Material, fits_limits: Fits) -> ComposedText:
    """Return `composed` with a line of hashtags: as many as the voice requests, the item has and the limit allows."""
    count = material.brief.settings.hashtags or 0
    tags = list(islice(_candidates(material), count))
    while tags:
        line = " ".join(tags)
        text = f"{composed.text}\n\n{line}"
        if fits_limits(text):
            return ComposedText(text, (*composed.traces, Trace(text=line, field=Field.TEMPLATE)))
        tags.pop()
    return composed


def _candidates(material: Material) -> Iterator[str]:
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
        _WORD.findall(tag) for tag in map(make_readable, material.brief.tags) if not re.search(r"[(),:_/\d]", tag)
    ]
    specific = [
        words for words in candidates if 0 < len(words) <= 3 and not {word.lower() for word in words} & _GENERIC
    ]
    mentioned_text = " ".join([material.headline.text, *(passage.text for passage in material.passages)]).casefold()
    return iter(sorted(specific, key=lambda words: " ".join(words).casefold() not in mentioned_text))


def _from_title(material: Material) -> Iterator[list[str]]:
    """Yield words of the title that the text capitalises inside sentences, which are probably names."""
    sentence_rest = " ".join(_SENTENCE_START.sub(" ", passage.text) for passage in material.passages)
    names = {word for word in _WORD.findall(sentence_rest) if word[:1].isupper()}
    for word in _WORD.findall(material.headline.text):
        if word in names and len(word) > 2 and "'" not in word and "’" not in word and word.lower() not in STOP_WORDS:
            yield [word]
