"""Rules for the structure of THREAD and BLOG drafts."""

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
"""Characters of a title that search results display."""
TOLERANCE = 0.3
"""Allowed deviation from the target words, as a share."""

_COUNTER = re.compile(r"\s\(?\d{1,3}/\d{0,3}\)?$")
_FENCE = re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6})[ \t]+([^\n]*)", re.MULTILINE)


def _thread_parts(analyzed: Reading, context: Subject) -> Iterator[Found]:
    count, max_parts = len(analyzed.parts), context.settings.max_parts
    if count < 2:
        yield Found(WARNING, "A thread of one part; part them with a line of three hyphens.")
    if max_parts is not None and count > max_parts:
        yield Found(ERROR, f"{count} parts; the voice allows {max_parts}.")


def _thread_endings(analyzed: Reading, _: Subject) -> Iterator[Found]:
    """Report parts that end in mid-sentence."""
    for number, (start, part) in enumerate(analyzed.parts, 1):
        following = analyzed.parts[number][1] if number < len(analyzed.parts) else ""
        # Ignore a counter such as 2/5 at the end.
        last_line = _COUNTER.sub("", part).rsplit("\n", 1)[-1].rstrip()
        continues = last_line[-1:].isalnum() and following[:1].islower() and "://" not in last_line
        if cut_short(last_line) or continues:
            end = start + len(part)
            yield Found(WARNING, f"Part {number} stops in the middle of a sentence.", end - len(last_line), end)


def _thread_openings(analyzed: Reading, _: Subject) -> Iterator[Found]:
    openings = Counter(" ".join(words_of(part[:200])[:3]) for _, part in analyzed.parts)
    for opening, count in openings.items():
        if count > 1 and opening:
            yield Found(WARNING, f"{count} parts open with “{opening}”.")


def _blog_words(analyzed: Reading, context: Subject) -> Iterator[Found]:
    target, count = context.settings.target_words or 0, count_words(analyzed.masked)
    if abs(count - target) > TOLERANCE * target:
        yield Found(WARNING, f"{count:,} words; about {target:,} wanted.")


def _blog_headings(analyzed: Reading, _: Subject) -> Iterator[Found]:
    # A # in a fenced code block is a comment, not a heading.
    headings = list(_HEADING.finditer(_FENCE.sub(lambda match: " " * len(match[0]), analyzed.text)))
    levels = [len(match[1]) for match in headings]
    if levels.count(1) != 1:
        yield Found(
            WARNING, f"{levels.count(1) or 'No'} title heading{'s' if levels.count(1) > 1 else ''} (#); one wanted."
        )
    for (previous, level), match in zip(pairwise(levels), headings[1:], strict=False):
        if level > previous + 1:
            yield Found(WARNING, "This heading skips a level.", *match.span())


def _blog_title(analyzed: Reading, _: Subject) -> Iterator[Found]:
    title = next((match for match in _HEADING.finditer(analyzed.text) if len(match[1]) == 1), None)
    if title and len(title[2]) > TITLE_LENGTH:
        message = f"The title has {len(title[2])} characters; search results show about {TITLE_LENGTH}."
        yield Found(INFO, message, *title.span())


def _is_thread(context: Subject) -> bool:
    return context.format is Format.THREAD


def _is_blog(context: Subject) -> bool:
    return context.format is Format.BLOG


RULES = (
    Rule("thread-parts", _thread_parts, _is_thread),
    Rule("thread-endings", _thread_endings, _is_thread),
    Rule("thread-openings", _thread_openings, _is_thread),
    Rule("blog-words", _blog_words, lambda context: _is_blog(context) and context.settings.target_words is not None),
    Rule("blog-headings", _blog_headings, _is_blog),
    Rule("blog-title", _blog_title, _is_blog),
)
