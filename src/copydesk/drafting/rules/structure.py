"""Whether a THREAD holds together, and whether a BLOG post is built as one."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from copydesk.drafting.extract.passages import count_words, cut_short
from copydesk.drafting.rules.reading import Reading, words_of
from copydesk.drafting.rules.rule import ERROR, INFO, WARNING, Found, Rule
from copydesk.drafting.subject import Subject
from copydesk.model.draft import Format

TITLE_LENGTH = 70
"""Characters of a title that a search result shows."""
TOLERANCE = 0.3
"""How far from the wanted words a blog post may be."""

_COUNTER = re.compile(r"\s\(?\d{1,3}/\d{0,3}\)?$")
_FENCE = re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6})[ \t]+([^\n]*)", re.MULTILINE)


def _thread_parts(reading: Reading, subject: Subject) -> Iterator[Found]:
    count, most = len(reading.parts), subject.settings.max_parts
    if count < 2:
        yield Found(WARNING, "A thread of one part; part them with a line of three hyphens.")
    if most is not None and count > most:
        yield Found(ERROR, f"{count} parts; the voice allows {most}.")


def _thread_endings(reading: Reading, _: Subject) -> Iterator[Found]:
    """A part that stops in mid-sentence."""
    for number, (start, part) in enumerate(reading.parts, 1):
        after = reading.parts[number][1] if number < len(reading.parts) else ""
        last = _COUNTER.sub("", part).rsplit("\n", 1)[-1].rstrip()
        stopped = last[-1:].isalnum() and after[:1].islower() and "://" not in last
        if cut_short(last) or stopped:
            end = start + len(part)
            yield Found(WARNING, f"Part {number} stops in the middle of a sentence.", end - len(last), end)


def _thread_openings(reading: Reading, _: Subject) -> Iterator[Found]:
    openings = Counter(" ".join(words_of(part[:200])[:3]) for _, part in reading.parts)
    for opening, count in openings.items():
        if count > 1 and opening:
            yield Found(WARNING, f"{count} parts open with “{opening}”.")


def _blog_words(reading: Reading, subject: Subject) -> Iterator[Found]:
    wanted, count = subject.settings.target_words or 0, count_words(reading.masked)
    if abs(count - wanted) > TOLERANCE * wanted:
        yield Found(WARNING, f"{count:,} words; about {wanted:,} wanted.")


def _blog_headings(reading: Reading, _: Subject) -> Iterator[Found]:
    found = list(_HEADING.finditer(_FENCE.sub(lambda match: " " * len(match[0]), reading.text)))
    levels = [len(match[1]) for match in found]
    if levels.count(1) != 1:
        yield Found(
            WARNING, f"{levels.count(1) or 'No'} title heading{'s' if levels.count(1) > 1 else ''} (#); one wanted."
        )
    for (above, level), match in zip(pairwise(levels), found[1:], strict=False):
        if level > above + 1:
            yield Found(WARNING, "This heading skips a level.", *match.span())


def _blog_title(reading: Reading, _: Subject) -> Iterator[Found]:
    title = next((match for match in _HEADING.finditer(reading.text) if len(match[1]) == 1), None)
    if title and len(title[2]) > TITLE_LENGTH:
        message = f"The title has {len(title[2])} characters; search results show about {TITLE_LENGTH}."
        yield Found(INFO, message, *title.span())


def _is_thread(subject: Subject) -> bool:
    return subject.format is Format.THREAD


def _is_blog(subject: Subject) -> bool:
    return subject.format is Format.BLOG


RULES = (
    Rule("thread-parts", _thread_parts, _is_thread),
    Rule("thread-endings", _thread_endings, _is_thread),
    Rule("thread-openings", _thread_openings, _is_thread),
    Rule("blog-words", _blog_words, lambda subject: _is_blog(subject) and subject.settings.target_words is not None),
    Rule("blog-headings", _blog_headings, _is_blog),
    Rule("blog-title", _blog_title, _is_blog),
)
