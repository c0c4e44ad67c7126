"""The offline writer: quotes whole sentences of the source in templates. It needs no model, network or account.

It invents nothing: every sentence is the source's own, quoted and attributed. It declines an item of which no sentence
reads well alone. It follows the voice's lengths, hashtags, emoji, link and avoid list, but no style, examples or
instructions. Of feedback it understands a few requests, each a complete clause, since other words in a clause could
reverse its meaning ("not shorter than before"); anything else it refuses. The same item, voice and previous versions
give the same draft on every machine.
"""

import re
from enum import StrEnum

from msgspec.structs import replace

from copydesk.drafting.extract.blog import write_blog
from copydesk.drafting.extract.material import Revision, read_material
from copydesk.drafting.extract.passages import count_words
from copydesk.drafting.extract.posts import write_short, write_thread
from copydesk.drafting.writer import Brief, WriterResult
from copydesk.errors import WriterError
from copydesk.model.draft import Format
from copydesk.model.voice import Emoji, FormatVoice, Link
from copydesk.text.thread import split_parts

_MAX_CLAUSE_LENGTH = 80
_MIN_WORDS = 20
_MAX_PARTS = 25
_HASHTAGS = 2
"""Hashtags if they are requested and the voice has none."""

_CLAUSE = re.compile(r"[.,;!\n]+|\band\b|\bbut\b", re.IGNORECASE)
_POLITE_WORDS = re.compile(r"^(?:please(?: |$)|thanks$|thank you$|make (?:it|this) |a (?:bit|little) |much )+| please$")

_WRITERS = {Format.SHORT: write_short, Format.THREAD: write_thread, Format.BLOG: write_blog}


class FeedbackRequest(StrEnum):
    """A requested change from the previous version."""

    SHORTER = "shorter"
    LONGER = "longer"
    ANOTHER = "another sentence"
    NO_HASHTAGS = "no hashtags"
    HASHTAGS = "with hashtags"
    NO_EMOJI = "no emoji"
    NO_LINK = "no link"
    LINK = "with the link"


_PATTERNS = {
    FeedbackRequest.SHORTER: re.compile(
        r"shorter|shorten(?: it| this)?|(?:it is |it's |this is )?too long|more concise"
    ),
    FeedbackRequest.LONGER: re.compile(
        r"longer|lengthen(?: it| this)?|(?:it is |it's |this is )?too short|more detail"
    ),
    FeedbackRequest.ANOTHER: re.compile(
        r"(?:an?other|(?:a )?(?:different|new)|use another) (?:sentence|quote|quotation|passage|version|text|one)s?"
        r"|something else|(?:try |once )?again|retry"
    ),
    FeedbackRequest.HASHTAGS: re.compile(r"(?:with|add|include) (?:some )?(?:hash)?tags?"),
    FeedbackRequest.NO_HASHTAGS: re.compile(r"(?:no|without|drop the|remove the|remove) (?:hash)?tags?"),
    FeedbackRequest.NO_EMOJI: re.compile(r"(?:no|without|drop the|remove the|remove) emojis?"),
    FeedbackRequest.NO_LINK: re.compile(r"(?:no|without(?: the| a)?|drop the|remove the) (?:link|url)s?"),
    FeedbackRequest.LINK: re.compile(r"(?:with|add|include) (?:the|a) (?:link|url)"),
}


def parse_feedback(feedback: str) -> frozenset[FeedbackRequest]:
    """Return the requests in `feedback`. Raise WriterError if a clause of it is not understood."""
    requests = set[FeedbackRequest]()
    # All clauses have to be understood: doing half of what was asked looks as if the rest had been ignored.
    for clause in filter(None, map(str.strip, _CLAUSE.split(feedback))):
        words = _POLITE_WORDS.sub("", " ".join(clause.lower().split()))
        # The whole clause must match: a word more may turn its meaning around.
        matching = [request for request, pattern in _PATTERNS.items() if pattern.fullmatch(words)]
        if words and not matching:
            raise _not_understood(clause)
        requests.update(matching)
    return frozenset(requests)


def _not_understood(clause: str) -> WriterError:
    shortened = clause if len(clause) <= _MAX_CLAUSE_LENGTH else clause[: _MAX_CLAUSE_LENGTH - 1] + "…"
    return WriterError(
        f"The offline writer does not understand “{shortened}”.",
        hint=f"It can do: {', '.join(FeedbackRequest)}. For anything else edit the text by hand.",
    )


def apply_requests(brief: Brief, requests: frozenset[FeedbackRequest]) -> Brief:
    """Return `brief` with the requests applied to its voice, as far as they affect its format."""
    settings = brief.settings
    if FeedbackRequest.HASHTAGS in requests:
        settings = replace(settings, hashtags=settings.hashtags or _HASHTAGS)
    if FeedbackRequest.NO_HASHTAGS in requests:
        settings = replace(settings, hashtags=0)
    if FeedbackRequest.NO_EMOJI in requests:
        settings = replace(settings, emoji=Emoji.NEVER)
    # With contradictory requests, omitting the link wins.
    if FeedbackRequest.LINK in requests or FeedbackRequest.NO_LINK in requests:
        settings = replace(settings, link=Link.NEVER if FeedbackRequest.NO_LINK in requests else Link.ALWAYS)
    # Relative requests need a previous version to be relative to.
    if brief.previous:
        settings = _resize(settings, brief.format, brief.previous, _growth(requests))
    # Only this draft's copy of the voice changes, not the saved profile.
    voice = replace(brief.voice, formats=brief.voice.formats | {brief.format: settings})
    return replace(brief, voice=voice)


def get_revision(brief: Brief, requests: frozenset[FeedbackRequest]) -> Revision | None:
    """Return how the new version differs from the previous one; None without a previous one."""
    if not brief.previous:
        return None
    growth = _growth(requests)
    # "No hashtags" asks for the same sentences again; without any request another version is expected.
    keeps_quotations = bool(requests) and not growth and FeedbackRequest.ANOTHER not in requests
    return Revision(keeps_quotations=keeps_quotations, growth=growth)


def _growth(requests: frozenset[FeedbackRequest]) -> int:
    return (FeedbackRequest.LONGER in requests) - (FeedbackRequest.SHORTER in requests)


def _resize(settings: FormatVoice, format: Format, previous: str, growth: int) -> FormatVoice:
    """Take a part from a THREAD or add two; take half of a BLOG's quotations or add it."""
    if not growth:
        return settings
    match format:
        case Format.SHORT:
            return settings
        case Format.THREAD:
            # Relative to what was written, not to the setting: a thread may have come out shorter than allowed.
            parts = len(split_parts(previous))
            return replace(settings, max_parts=max(1, parts - 1) if growth < 0 else min(_MAX_PARTS, parts + 2))
        case Format.BLOG:
            words = _count_quoted_words(previous)
            return replace(settings, target_words=max(_MIN_WORDS, words // 2 if growth < 0 else words * 3 // 2))


def _count_quoted_words(post: str) -> int:
    """Return the number of words in a BLOG's quotations, or of all words if it has none."""
    quotations = [line for line in post.splitlines() if line.startswith("> ")]
    return count_words("\n".join(quotations) or post)


class OfflineWriter:
    """Writes drafts from the sources' own sentences, in a few milliseconds each."""

    name = "offline"

    def check_feedback(self, feedback: str) -> None:
        """Raise WriterError if a clause of `feedback` is not understood."""
        parse_feedback(feedback)

    async def write(self, brief: Brief) -> WriterResult:
        """Return the requested draft.

        Raise DeclinedError if the item has nothing worth a draft, WriterError if it cannot be changed as requested.
        """
        requests = parse_feedback(brief.feedback or "") if brief.previous else frozenset[FeedbackRequest]()
        material = read_material(apply_requests(brief, requests), get_revision(brief, requests))
        return replace(_WRITERS[brief.format](material), notes=_prompt_notes(brief))


def _prompt_notes(brief: Brief) -> tuple[str, ...]:
    if not brief.instructions:
        return ()
    outcome = "the text uses the page only" if brief.url else "the text repeats the prompt's words"
    return (f"The offline writer does not support prompts: {outcome}.",)
