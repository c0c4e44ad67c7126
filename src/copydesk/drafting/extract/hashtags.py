"""Hashtags out of an item's own tags and the names in its title, where the voice wants any."""

import re
from collections.abc import Iterator
from itertools import islice

from copydesk.drafting.avoid import first_avoided
from copydesk.drafting.extract.choose import COMMON
from copydesk.drafting.extract.frames import Composed
from copydesk.drafting.extract.material import Fits, Material
from copydesk.drafting.extract.passages import readable
from copydesk.drafting.writer import Field, Trace

LONGEST = 24
"""Characters of a hashtag that people still read."""
# What feeds file things under that says nothing to a reader.
_GENERIC_WORDS = (
    "news blog post posts article articles update updates uncategorized general misc other international world home"
    " homepage analysis opinion review reviews feature features video videos audio jekyll podcast newsletter"
    " announcement announcements argument essay brief latest top editors picks the"
)
_GENERIC = frozenset(_GENERIC_WORDS.split())
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_FIRST_OF_SENTENCE = re.compile(r"(?:^|[.!?:\n“\"(]\s*)\S+")


def with_hashtags(composed: Composed, material: Material, fits_in: Fits) -> Composed:
    """`composed` and a line of hashtags: as many as the voice wants, the item has and the limit lets in."""
    wanted = material.brief.settings.hashtags or 0
    tags = list(islice(_worth(material), wanted))
    while tags:
        line = " ".join(tags)
        text = f"{composed.text}\n\n{line}"
        if fits_in(text):
            return Composed(text, (*composed.traces, Trace(text=line, field=Field.TEMPLATE)))
        tags.pop()
    return composed


def _worth(material: Material) -> Iterator[str]:
    seen: set[str] = set()
    for words in (*_of_tags(material), *_of_title(material)):
        tag = "#" + "".join(word if word[1:].lower() != word[1:] else word[:1].upper() + word[1:] for word in words)
        if tag.casefold() not in seen and len(tag) <= LONGEST and not _avoided(tag, words, material):
            seen.add(tag.casefold())
            yield tag


def _avoided(tag: str, words: list[str], material: Material) -> bool:
    return first_avoided(f"{tag[1:]} {' '.join(words)}", material.brief.voice.avoid) is not None


def _of_tags(material: Material) -> Iterator[list[str]]:
    """The words of each of the item's tags that reads as a hashtag; the ones that its text mentions first."""
    found = [_WORD.findall(tag) for tag in map(readable, material.brief.tags) if not re.search(r"[(),:_/\d]", tag)]
    telling = [words for words in found if 0 < len(words) <= 3 and not {word.lower() for word in words} & _GENERIC]
    about = " ".join([material.headline.text, *(passage.text for passage in material.found)]).casefold()
    return iter(sorted(telling, key=lambda words: " ".join(words).casefold() not in about))


def _of_title(material: Material) -> Iterator[list[str]]:
    """Words of the title that its text writes with a capital inside sentences: names, by all appearances."""
    inside = " ".join(_FIRST_OF_SENTENCE.sub(" ", passage.text) for passage in material.found)
    names = {word for word in _WORD.findall(inside) if word[:1].isupper()}
    for word in _WORD.findall(material.headline.text):
        if word in names and len(word) > 2 and "'" not in word and "’" not in word and word.lower() not in COMMON:
            yield [word]
