"""Rules for the structure of THREAD and BLOG drafts."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from copydesk.drafting.check_context import ERROR, INFO, WARNING, CheckContext, Rule, RuleMatch
from copydesk.drafting.extract.passages import count_words, is_truncated
from copydesk.drafting.rules.analyzed_text import AnalyzedText, split_words
from copydesk.model.draft import Format
from copydesk.text.formatting import plural

TITLE_LENGTH = 70
"""Characters of a title that search results display."""
TOLERANCE = 0.3
"""Allowed deviation from the target words, as a share."""

_COUNTER = re.compile(r"\s\(?\d{1,3}/\d{0,3}\)?$")
_FENCE = re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6})[ \t]+([^\n]*)", re.MULTILINE)


def _thread_parts(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    count, max_parts = len(analyzed.parts), context.settings.max_parts
    if count < 2:
        yield RuleMatch(WARNING, "The thread has one part only; separate parts with a line of three hyphens.")
    if max_parts is not None and count > max_parts:
        yield RuleMatch(ERROR, f"{count} parts; your voice allows {max_parts}.")


def _thread_endings(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    """Report parts that end in mid-sentence."""
    for number, (start, part) in enumerate(analyzed.parts, 1):
        following = analyzed.parts[number][1] if number < len(analyzed.parts) else ""
        # Ignore a counter such as 2/5 at the end.
        text = _COUNTER.sub("", part).rstrip()
        last_line = text.rsplit("\n", 1)[-1]
        continues = last_line[-1:].isalnum() and following[:1].islower() and "://" not in last_line
        if is_truncated(last_line) or continues:
            end = start + len(text)
            yield RuleMatch(WARNING, f"Part {number} stops in the middle of a sentence.", end - len(last_line), end)


def _thread_openings(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    # Three words: two are often the same by chance ("In the"), four hardly ever.
    openings = Counter(" ".join(split_words(part[:200])[:3]) for _, part in analyzed.parts)
    for opening, count in openings.items():
        if count > 1 and opening:
            yield RuleMatch(WARNING, f"{count} parts open with “{opening}”.")


def _blog_words(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    target, count = context.settings.target_words or 0, count_words(analyzed.masked)
    if abs(count - target) > TOLERANCE * target:
        yield RuleMatch(WARNING, f"{count:,} words; the target is about {target:,}.")


def _blog_headings(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    headings = _find_headings(analyzed.text)
    levels = [len(match[1]) for match in headings]
    # Blog platforms take the one title from it; without one they show an untitled post.
    if levels.count(1) != 1:
        yield RuleMatch(WARNING, f"{plural(levels.count(1), 'title heading')} (#) instead of one.")
    for (previous, level), match in zip(pairwise(levels), headings[1:], strict=False):
        if level > previous + 1:
            yield RuleMatch(WARNING, "This heading skips a level.", *match.span())


def _blog_title(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    title = next((match for match in _find_headings(analyzed.text) if len(match[1]) == 1), None)
    if title and len(title[2]) > TITLE_LENGTH:
        message = f"The title has {len(title[2])} characters; search results show about {TITLE_LENGTH}."
        yield RuleMatch(INFO, message, *title.span())


def _find_headings(text: str) -> list[re.Match[str]]:
    # A # in a fenced code block is a comment, not a heading.
    return list(_HEADING.finditer(_FENCE.sub(lambda match: " " * len(match[0]), text)))


def _is_thread(context: CheckContext) -> bool:
    return context.format is Format.THREAD


def _is_blog(context: CheckContext) -> bool:
    return context.format is Format.BLOG


RULES = (
    Rule("thread-parts", _thread_parts, _is_thread),
    Rule("thread-endings", _thread_endings, _is_thread),
    Rule("thread-openings", _thread_openings, _is_thread),
    Rule("blog-words", _blog_words, lambda context: _is_blog(context) and context.settings.target_words is not None),
    Rule("blog-headings", _blog_headings, _is_blog),
    Rule("blog-title", _blog_title, _is_blog),
)
