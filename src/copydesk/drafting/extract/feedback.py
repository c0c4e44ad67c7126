"""What the offline writer understands of feedback: a few wishes, where they are all that a clause says.

"Shorter, and no hashtags please" is two wishes. What is said around them in a clause ("not shorter than before") would
turn them into their opposite, so a clause is understood as a whole or not at all.
"""

import re
from enum import StrEnum

from msgspec.structs import replace

from copydesk.drafting.extract.passages import count_words
from copydesk.drafting.writer import Brief
from copydesk.model.draft import Format
from copydesk.model.voice import Emoji, FormatVoice, Link
from copydesk.text.length import graphemes
from copydesk.text.thread import split_parts

MOST_FOREIGN = 3
"""Clauses that are shown as not understood; the rest goes without saying."""
_LONGEST_SHOWN = 80
_LEAST_LENGTH, _LEAST_PARTS, _LEAST_WORDS = 40, 2, 20
_MOST_PARTS = 25


class Wish(StrEnum):
    """Something that a version should be, against the one before."""

    SHORTER = "shorter"
    LONGER = "longer"
    NO_HASHTAGS = "no hashtags"
    NO_EMOJI = "no emoji"
    NO_LINK = "no link"
    LINK = "with the link"


_CLAUSE = re.compile(r"[.,;!\n]+|\band\b|\bbut\b", re.IGNORECASE)
_AROUND = re.compile(r"^(?:please |make (?:it|this) |a (?:bit|little) |much )+| please$")
_WISHES = {
    Wish.SHORTER: re.compile(r"shorter|shorten(?: it| this)?|(?:it is |it's |this is )?too long|more concise"),
    Wish.LONGER: re.compile(r"longer|lengthen(?: it| this)?|(?:it is |it's |this is )?too short|more detail"),
    Wish.NO_HASHTAGS: re.compile(r"(?:no|without|drop the|remove the|remove) (?:hash)?tags?"),
    Wish.NO_EMOJI: re.compile(r"(?:no|without|drop the|remove the|remove) emojis?"),
    Wish.NO_LINK: re.compile(r"(?:no|without(?: the| a)?|drop the|remove the) (?:link|url)s?"),
    Wish.LINK: re.compile(r"(?:with|add|include) (?:the|a) (?:link|url)"),
}


def understood(feedback: str) -> tuple[frozenset[Wish], tuple[str, ...]]:
    """The wishes in `feedback`, and the clauses of it that are none."""
    wishes, foreign = set[Wish](), list[str]()
    for clause in filter(None, map(str.strip, _CLAUSE.split(feedback))):
        words = _AROUND.sub("", " ".join(clause.lower().split()))
        meant = [wish for wish, pattern in _WISHES.items() if pattern.fullmatch(words)]
        wishes.update(meant)
        if not meant:
            foreign.append(clause if len(clause) <= _LONGEST_SHOWN else clause[: _LONGEST_SHOWN - 1] + "…")
    return frozenset(wishes), tuple(foreign[:MOST_FOREIGN])


def wished(brief: Brief, wishes: frozenset[Wish]) -> Brief:
    """`brief` with the wishes in its voice's settings, where they come to something in its format."""
    settings = brief.settings
    if Wish.NO_HASHTAGS in wishes:
        settings = replace(settings, hashtags=0)
    if Wish.NO_EMOJI in wishes:
        settings = replace(settings, emoji=Emoji.NEVER)
    if Wish.LINK in wishes or Wish.NO_LINK in wishes:
        settings = replace(settings, link=Link.NEVER if Wish.NO_LINK in wishes else Link.ALWAYS)
    if brief.previous and Wish.SHORTER in wishes:
        settings = _shorter(settings, brief.format, brief.previous)
    elif brief.previous and Wish.LONGER in wishes:
        settings = _longer(settings, brief.format, brief.previous)
    voice = replace(brief.voice, formats=brief.voice.formats | {brief.format: settings})
    return replace(brief, voice=voice)


def missed(wishes: frozenset[Wish], brief: Brief, text: str) -> tuple[str, ...]:
    """Which wishes about the length did not come true in `text`, in words for the reviewer."""
    if not brief.previous:
        return ()
    longer = len(text) - len(brief.previous)
    failed = [wish for wish, sign in ((Wish.SHORTER, -1), (Wish.LONGER, 1)) if wish in wishes and longer * sign <= 0]
    return tuple(f"The offline writer could not make it {wish}." for wish in failed)


def _shorter(settings: FormatVoice, format: Format, previous: str) -> FormatVoice:
    """A quarter less of a SHORT, one part less of a THREAD, half of what a BLOG quotes."""
    match format:
        case Format.SHORT:
            most = max(_LEAST_LENGTH, len(graphemes(previous)) * 3 // 4)
            return replace(settings, max_length=min(settings.max_length or most, most))
        case Format.THREAD:
            return replace(settings, max_parts=max(_LEAST_PARTS, len(split_parts(previous)) - 1))
        case Format.BLOG:
            return replace(settings, target_words=max(_LEAST_WORDS, _quoted_words(previous) // 2))


def _longer(settings: FormatVoice, format: Format, previous: str) -> FormatVoice:
    """Two parts more of a THREAD, half as much again of a BLOG; a SHORT has its length."""
    match format:
        case Format.SHORT:
            return settings
        case Format.THREAD:
            return replace(settings, max_parts=min(_MOST_PARTS, len(split_parts(previous)) + 2))
        case Format.BLOG:
            return replace(settings, target_words=_quoted_words(previous) * 3 // 2)


def _quoted_words(post: str) -> int:
    """The words of a BLOG's quotations; all of them where it has none."""
    quoted = [line for line in post.splitlines() if line.startswith("> ")]
    return count_words("\n".join(quoted) or post)
