"""Whether a draft can be posted as it is: lengths, leftovers, what cannot be seen, pictures."""

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

import regex

from copydesk.drafting.rules.reading import Reading, known
from copydesk.drafting.rules.rule import ERROR, INFO, WARNING, Found, Rule, always
from copydesk.drafting.subject import Subject
from copydesk.drafting.writer import DEFAULT_PLATFORMS
from copydesk.model.draft import DraftImage, Format
from copydesk.text import HIDDEN
from copydesk.text.length import BYTE_LIMITS, LIMITS, byte_length, length, with_short_links

_NAMES = {"x": "X", "bluesky": "Bluesky", "mastodon": "Mastodon", "threads": "Threads", "linkedin": "LinkedIn"}
_LEFTOVER = re.compile(
    r"^[ \t]*(?:here(?:['’]s| is) (?:a|the|your|my) (?:\w+ )?(?:draft|post|thread|tweet|version)\b"
    r"|sure[,!]|certainly[,!]|as an ai\b|(?:draft|post|tweet|caption)(?: \d+)?:)"
    r"|\[(?:insert|your|link|name|todo|url|placeholder)\b[^\]\n]{0,80}\]|\{\{? ?\w{1,40} ?\}?\}"
    r"|</?(?:post|draft|tweet|thread|source|item|thinking)\b[^>\n]{0,80}>|\blorem ipsum\b",
    re.IGNORECASE | re.MULTILINE,
)
_MARKDOWN = re.compile(r"\*\*[^*\n]{1,200}\*\*|^#{1,6} |\[[^\[\]\n]{1,200}\]\([^()\s]{1,500}\)|^```|^> ", re.MULTILINE)
_JOINER = regex.compile(r"(?<=^|[\s\x21-\u024f])[\u200c\u200d]|[\u200c\u200d](?=[\s\x21-\u024f]|$)")
# The flags of England, Scotland and Wales are a black flag and invisible letters.
_TAGGED_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007f]{1,8}")
_ALT_LIMIT = 1000
_OPENERS = ("image of", "picture of", "photo of", "a picture of", "an image of", "a photo of")


def _empty(reading: Reading, _: Subject) -> Iterator[Found]:
    if not reading.text.strip():
        yield Found(ERROR, "There is no text.")


def _length(reading: Reading, subject: Subject) -> Iterator[Found]:
    most = subject.settings.max_length
    for number, (start, part) in enumerate(reading.parts, 1):
        which = f"Part {number} is" if subject.format is Format.THREAD else "It is"
        place = (start, start + len(part))
        if most is not None and (count := length(part, "bluesky")) > most:
            yield Found(ERROR, f"{which} {count:,} characters long; the voice allows {most:,}.", *place)
        for platform in _platforms(subject):
            if found := _too_long(part, platform, which):
                yield found._replace(start=place[0], end=place[1])


def _too_long(part: str, platform: str, which: str) -> Found | None:
    count, limit = length(part, platform), LIMITS.get(platform)
    if limit is None or count <= limit:
        return None
    message = f"{which} {count:,} long on {_NAMES[platform]}, which takes {limit:,}."
    if platform == "bluesky" and length(with_short_links(part), platform) <= limit:
        return Found(
            WARNING, f"{which} within {_NAMES[platform]}'s {limit:,} only with its link shown short ({count:,})."
        )
    return Found(ERROR, message)


def _bytes(reading: Reading, subject: Subject) -> Iterator[Found]:
    for platform in _platforms(subject):
        most = BYTE_LIMITS.get(platform)
        for start, part in reading.parts if most else ():
            if most and (count := byte_length(part)) > most:
                message = f"{count:,} bytes on {_NAMES[platform]}, which takes {most:,}."
                yield Found(ERROR, message, start, start + len(part))


def _platforms(subject: Subject) -> tuple[str, ...]:
    """Whose limits hold: none for a BLOG, the default ones unless the user set a length of their own."""
    if subject.format is Format.BLOG:
        return ()
    most = subject.settings.max_length
    return subject.platforms or (DEFAULT_PLATFORMS if most is None or most <= LIMITS["bluesky"] else ())


def _leak(reading: Reading, subject: Subject) -> Iterator[Found]:
    for match in _LEFTOVER.finditer(reading.text):
        if not subject.source or match[0].strip() not in known(subject.source).text:
            yield Found(ERROR, f"Left over from writing: “{match[0].strip()}”.", *match.span())


def _invisible(reading: Reading, _: Subject) -> Iterator[Found]:
    if reading.text.isascii() and reading.text.isprintable():
        return
    text = _TAGGED_FLAG.sub(lambda match: "x" * len(match[0]), reading.text)
    for pattern in (HIDDEN, _JOINER):
        for match in pattern.finditer(text):
            yield Found(ERROR, f"A character that cannot be seen: U+{ord(match[0]):04X}.", *match.span())


def _markdown(reading: Reading, _: Subject) -> Iterator[Found]:
    for match in _MARKDOWN.finditer(reading.text):
        yield Found(WARNING, "Markdown is shown as it is typed here.", *match.span())


def _alt(reading: Reading, subject: Subject) -> Iterator[Found]:
    for number, image in enumerate(subject.images, 1):
        if not (image.alt or "").strip():
            # Not written yet, which says nothing about the draft.
            yield Found(INFO, f"Picture {number}: no description yet for people who cannot see it.")
        elif fault := _alt_fault(image, reading.text):
            yield Found(WARNING, f"Picture {number}: {fault}.")


def _alt_fault(image: DraftImage, text: str) -> str:
    alt = (image.alt or "").strip()
    name = unquote(urlsplit(image.url).path).rsplit("/", 1)[-1]
    if alt.lower() in {name.lower(), name.rsplit(".", 1)[0].lower()}:
        return "the description is only the file's name"
    if alt == text.strip():
        return "the description is the draft's own text"
    if alt.lower().startswith(_OPENERS):
        return "the description need not say that it is a picture"
    return f"the description is over {_ALT_LIMIT:,} characters" if len(alt) > _ALT_LIMIT else ""


RULES = (
    Rule("empty", _empty, always),
    Rule("length", _length, always),
    Rule("bytes", _bytes, always),
    Rule("leak", _leak, always),
    Rule("invisible", _invisible, always),
    Rule("markdown", _markdown, lambda subject: subject.format is not Format.BLOG),
    Rule("alt", _alt, lambda subject: bool(subject.images)),
)
