"""Rules for text that cannot be posted as it is: length, leftovers, invisible characters, image descriptions."""

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

import regex

from copydesk.drafting.check_context import ERROR, INFO, WARNING, CheckContext, Rule, RuleMatch, always
from copydesk.drafting.rules.analyzed_text import AnalyzedText, analyze_source
from copydesk.model.draft import DraftImage, Format
from copydesk.model.platform import PlatformInfo
from copydesk.text import HIDDEN_CHARACTERS
from copydesk.text.length import byte_length, grapheme_length

_LEFTOVER = re.compile(
    r"^[ \t]*(?:here(?:['’]s| is) (?:a|the|your|my) (?:\w+ )?(?:draft|post|thread|tweet|version)\b"
    r"|sure[,!]|certainly[,!]|as an ai\b|(?:draft|post|tweet|caption)(?: \d+)?:)"
    r"|\[(?:insert|your|link|name|todo|url|placeholder)\b[^\]\n]{0,80}\]|\{\{? ?\w{1,40} ?\}?\}"
    r"|</?(?:post|draft|tweet|thread|source|item|report|claim|think|thinking)\b[^>\n]{0,80}>|\blorem ipsum\b"
    # The templates of chats.
    r"|<\|\w{2,20}\|>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|^#{2,3} (?:instruction|response|system):",
    re.IGNORECASE | re.MULTILINE,
)
_MARKDOWN = re.compile(r"\*\*[^*\n]{1,200}\*\*|^#{1,6} |\[[^\[\]\n]{1,200}\]\([^()\s]{1,500}\)|^```|^> ", re.MULTILINE)
# Between Indic or Arabic letters, and in emoji, joiners have a meaning.
_JOINER = regex.compile(r"(?<=^|[\s\x21-\u024f])[\u200c\u200d]|[\u200c\u200d](?=[\s\x21-\u024f]|$)")
# The flags of England, Scotland and Wales are a black flag followed by invisible tag letters.
_TAGGED_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007f]{1,8}")
_ALT_LIMIT = 1000
_REDUNDANT_OPENINGS = ("image of", "picture of", "photo of", "a picture of", "an image of", "a photo of")


def _empty(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    if not analyzed.text.strip():
        yield RuleMatch(ERROR, "The text is empty.")


def _length(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    max_length = context.settings.max_length
    for number, (start, part) in enumerate(analyzed.parts, 1):
        which = f"Part {number} is" if context.format is Format.THREAD else "It is"
        span = (start, start + len(part))
        if max_length is not None and (count := grapheme_length(part)) > max_length:
            yield RuleMatch(ERROR, f"{which} {count:,} characters long; your voice allows {max_length:,}.", *span)
        for platform in context.platforms:
            if match := _too_long(part, platform, which):
                yield match._replace(start=span[0], end=span[1])


def _too_long(part: str, platform: PlatformInfo, which: str) -> RuleMatch | None:
    count, limit = platform.count(part), platform.limits.max_length
    if limit is None or count <= limit:
        return None
    return RuleMatch(ERROR, f"{which} {count:,} long on {platform.label}, which takes {limit:,}.")


def _bytes(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    for platform in context.platforms:
        max_bytes = platform.limits.max_bytes
        for start, part in analyzed.parts if max_bytes else ():
            if max_bytes and (count := byte_length(part)) > max_bytes:
                message = f"{count:,} bytes on {platform.label}, which takes {max_bytes:,}."
                yield RuleMatch(ERROR, message, start, start + len(part))


def _leak(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    for match in _LEFTOVER.finditer(analyzed.text):
        # The source may quote such text itself.
        if not context.source or match[0].strip() not in analyze_source(context.source).trusted:
            yield RuleMatch(ERROR, f"Leftover placeholder: “{match[0].strip()}”.", *match.span())


def _invisible(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    # The usual case: nothing hidden is left to search for.
    if analyzed.text.isascii() and analyzed.text.isprintable():
        return
    # Same length, so that offsets stay valid.
    text = _TAGGED_FLAG.sub(lambda match: "x" * len(match[0]), analyzed.text)
    for pattern in (re.compile(HIDDEN_CHARACTERS), _JOINER):
        for match in pattern.finditer(text):
            yield RuleMatch(ERROR, f"Invisible character: U+{ord(match[0]):04X}.", *match.span())


def _markdown(analyzed: AnalyzedText, _: CheckContext) -> Iterator[RuleMatch]:
    for match in _MARKDOWN.finditer(analyzed.text):
        yield RuleMatch(WARNING, "Markdown is not rendered in this format.", *match.span())


def _alt(analyzed: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    for number, image in enumerate(context.images, 1):
        if not (image.alt or "").strip():
            # Only an info: a missing description says nothing about the text.
            yield RuleMatch(INFO, f"Image {number} has no alt text.")
        elif problem := _alt_problem(image, analyzed.text):
            yield RuleMatch(WARNING, f"Image {number}: {problem}.")


def _alt_problem(image: DraftImage, text: str) -> str:
    alt = (image.alt or "").strip()
    file_name = unquote(urlsplit(image.url).path).rsplit("/", 1)[-1]
    # It says nothing to somebody who cannot see the image.
    if alt.lower() in {file_name.lower(), file_name.rsplit(".", 1)[0].lower()}:
        return "the alt text is only the file name"
    if alt == text.strip():
        return "the alt text repeats the draft's text"
    if alt.lower().startswith(_REDUNDANT_OPENINGS):
        return "the alt text need not say that it is an image"
    return f"the alt text is longer than {_ALT_LIMIT:,} characters" if len(alt) > _ALT_LIMIT else ""


def _agency(_: AnalyzedText, context: CheckContext) -> Iterator[RuleMatch]:
    for number, image in enumerate(context.images, 1):
        if image.agency:
            yield RuleMatch(WARNING, f"Image {number} seems to be from {image.agency}: posting it may need a licence.")


RULES = (
    Rule("empty", _empty, always),
    Rule("length", _length, always),
    Rule("bytes", _bytes, always),
    Rule("leak", _leak, always),
    Rule("invisible", _invisible, always),
    Rule("markdown", _markdown, lambda context: context.format is not Format.BLOG),
    Rule("alt", _alt, lambda context: bool(context.images)),
    Rule("agency", _agency, lambda context: bool(context.images)),
)
