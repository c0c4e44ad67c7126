"""The offline writer: quotes whole sentences of the source in templates. It needs no model, network or account.

It invents nothing: every sentence is the source's own, quoted and attributed. It follows the voice's lengths, hashtags,
emoji, link and avoid list, but no style, examples or instructions. Of feedback it understands a few requests, each a
complete clause, since other words in a clause could reverse its meaning ("not shorter than before"). The same item,
voice and previous versions give the same draft on every machine, different from all previous versions.
"""

import re
from enum import StrEnum

from msgspec.structs import replace

from copydesk.drafting.extract.blog import write_blog
from copydesk.drafting.extract.material import read_material
from copydesk.drafting.extract.passages import count_words
from copydesk.drafting.extract.posts import write_short, write_thread
from copydesk.drafting.writer import Brief, WriterResult
from copydesk.model.draft import Format
from copydesk.model.voice import Emoji, FormatVoice, Link
from copydesk.text.length import graphemes
from copydesk.text.thread import split_parts

MAX_UNKNOWN_CLAUSES = 3
"""Clauses reported as not understood; more would not help the reviewer."""
_MAX_CLAUSE_LENGTH = 80
_MIN_LENGTH, _MIN_PARTS, _MIN_WORDS = 40, 2, 20
_MAX_PARTS = 25


class FeedbackRequest(StrEnum):
    """A requested change from the previous version."""

    SHORTER = "shorter"
    LONGER = "longer"
    NO_HASHTAGS = "no hashtags"
    NO_EMOJI = "no emoji"
    NO_LINK = "no link"
    LINK = "with the link"


_CLAUSE = re.compile(r"[.,;!\n]+|\band\b|\bbut\b", re.IGNORECASE)
_POLITE_WORDS = re.compile(r"^(?:please |make (?:it|this) |a (?:bit|little) |much )+| please$")
_PATTERNS = {
    FeedbackRequest.SHORTER: re.compile(
        r"shorter|shorten(?: it| this)?|(?:it is |it's |this is )?too long|more concise"
    ),
    FeedbackRequest.LONGER: re.compile(
        r"longer|lengthen(?: it| this)?|(?:it is |it's |this is )?too short|more detail"
    ),
    FeedbackRequest.NO_HASHTAGS: re.compile(r"(?:no|without|drop the|remove the|remove) (?:hash)?tags?"),
    FeedbackRequest.NO_EMOJI: re.compile(r"(?:no|without|drop the|remove the|remove) emojis?"),
    FeedbackRequest.NO_LINK: re.compile(r"(?:no|without(?: the| a)?|drop the|remove the) (?:link|url)s?"),
    FeedbackRequest.LINK: re.compile(r"(?:with|add|include) (?:the|a) (?:link|url)"),
}


def parse_feedback(feedback: str) -> tuple[frozenset[FeedbackRequest], tuple[str, ...]]:
    """Return the requests in `feedback`, and its clauses that were not understood."""
    requests, unknown = set[FeedbackRequest](), list[str]()
    for clause in filter(None, map(str.strip, _CLAUSE.split(feedback))):
        words = _POLITE_WORDS.sub("", " ".join(clause.lower().split()))
        # The whole clause must match: a word more may turn its meaning around.
        matching = [request for request, pattern in _PATTERNS.items() if pattern.fullmatch(words)]
        requests.update(matching)
        if not matching:
            unknown.append(clause if len(clause) <= _MAX_CLAUSE_LENGTH else clause[: _MAX_CLAUSE_LENGTH - 1] + "…")
    return frozenset(requests), tuple(unknown[:MAX_UNKNOWN_CLAUSES])


def apply_requests(brief: Brief, requests: frozenset[FeedbackRequest]) -> Brief:
    """Return `brief` with the requests applied to its voice, as far as they affect its format."""
    settings = brief.settings
    if FeedbackRequest.NO_HASHTAGS in requests:
        settings = replace(settings, hashtags=0)
    if FeedbackRequest.NO_EMOJI in requests:
        settings = replace(settings, emoji=Emoji.NEVER)
    # With contradictory requests, omitting the link wins.
    if FeedbackRequest.LINK in requests or FeedbackRequest.NO_LINK in requests:
        settings = replace(settings, link=Link.NEVER if FeedbackRequest.NO_LINK in requests else Link.ALWAYS)
    # Relative requests need a previous version to be relative to.
    if brief.previous and FeedbackRequest.SHORTER in requests:
        settings = _shorten(settings, brief.format, brief.previous)
    elif brief.previous and FeedbackRequest.LONGER in requests:
        settings = _lengthen(settings, brief.format, brief.previous)
    # Only this draft's copy of the voice changes, not the saved profile.
    voice = replace(brief.voice, formats=brief.voice.formats | {brief.format: settings})
    return replace(brief, voice=voice)


def unfulfilled_notes(requests: frozenset[FeedbackRequest], brief: Brief, text: str) -> tuple[str, ...]:
    """Return notes for the reviewer about requested changes of length that `text` does not fulfil."""
    if not brief.previous:
        return ()
    growth = len(text) - len(brief.previous)
    unfulfilled = [
        request
        for request, sign in ((FeedbackRequest.SHORTER, -1), (FeedbackRequest.LONGER, 1))
        if request in requests and growth * sign <= 0
    ]
    return tuple(f"The offline writer could not make it {request}." for request in unfulfilled)


def _shorten(settings: FormatVoice, format: Format, previous: str) -> FormatVoice:
    """Reduce a SHORT by a quarter, a THREAD by one part, a BLOG's quotations by half."""
    match format:
        case Format.SHORT:
            # The voice's own limit may be lower still.
            max_length = max(_MIN_LENGTH, len(graphemes(previous)) * 3 // 4)
            return replace(settings, max_length=min(settings.max_length or max_length, max_length))
        case Format.THREAD:
            return replace(settings, max_parts=max(_MIN_PARTS, len(split_parts(previous)) - 1))
        case Format.BLOG:
            return replace(settings, target_words=max(_MIN_WORDS, _count_quoted_words(previous) // 2))


def _lengthen(settings: FormatVoice, format: Format, previous: str) -> FormatVoice:
    """Extend a THREAD by two parts, a BLOG's quotations by half. A SHORT cannot be extended."""
    match format:
        case Format.SHORT:
            return settings
        case Format.THREAD:
            return replace(settings, max_parts=min(_MAX_PARTS, len(split_parts(previous)) + 2))
        case Format.BLOG:
            return replace(settings, target_words=_count_quoted_words(previous) * 3 // 2)


def _count_quoted_words(post: str) -> int:
    """Return the number of words in a BLOG's quotations, or of all words if it has none."""
    quotations = [line for line in post.splitlines() if line.startswith("> ")]
    return count_words("\n".join(quotations) or post)


_WRITERS = {Format.SHORT: write_short, Format.THREAD: write_thread, Format.BLOG: write_blog}


class OfflineWriter:
    """Writes drafts from the sources' own sentences, in a few milliseconds each."""

    name = "offline"

    async def write(self, brief: Brief) -> WriterResult:
        """Return the requested draft. Raise WriterError if the item has too little text."""
        requests, unknown = parse_feedback(brief.feedback or "")
        result = _WRITERS[brief.format](read_material(apply_requests(brief, requests)))
        notes = (*_prompt_notes(brief), *_feedback_notes(unknown), *unfulfilled_notes(requests, brief, result.text))
        return replace(result, notes=notes)


def _prompt_notes(brief: Brief) -> tuple[str, ...]:
    if not brief.instructions:
        return ()
    outcome = "the text uses the page only" if brief.url else "the text repeats the prompt's words"
    return (f"The offline writer does not support prompts: {outcome}.",)


def _feedback_notes(unknown: tuple[str, ...]) -> tuple[str, ...]:
    supported = "shorter, longer, no hashtags, no emoji, no link"
    return tuple(f"The offline writer does not understand “{clause}”; supported: {supported}." for clause in unknown)
