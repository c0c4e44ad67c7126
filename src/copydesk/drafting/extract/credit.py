"""Who said it, and in which language: the name that a draft gives its source, quotation marks, days."""

import re
import unicodedata
from datetime import datetime

from copydesk.drafting.extract.passages import readable
from copydesk.drafting.writer import Brief
from copydesk.model.source import SourceType
from copydesk.text import links

LONGEST = 40
"""Characters of a name that still reads as one."""

_PART = re.compile(r"\s+[|»>•·–—-]+(?:\s+|$)|\s*[|»•·]\s*|:\s+|\s*\[[^\]]*\]\s*")
_GENERIC_NAMES = (
    "all posts|articles|blog|breaking news|feed|front page|headlines|home|international|latest|latest news|news|posts"
    "|rss|top news|top stories|updates|world|world news"
)
_GENERIC = frozenset(_GENERIC_NAMES.split("|"))
_AGGREGATORS = {
    SourceType.HACKERNEWS: "news.ycombinator.com",
    SourceType.REDDIT: "reddit.com",
    SourceType.GOOGLE_NEWS: "news.google.com",
}

# Opening, closing, and the two for a quotation within a quotation.
_MARKS = {
    "de": "„“‚‘", "cs": "„“‚‘", "sk": "„“‚‘", "pl": "„”‚’", "fr": "«»“”", "es": "«»“”", "it": "«»“”", "pt": "«»“”",
    "ru": "«»„“", "uk": "«»„“", "el": "«»“”", "no": "«»‘’", "ja": "「」『』", "fa": "«»‹›", "ar": "«»‹›",
}  # fmt: skip
_ENGLISH_MARKS = "“”‘’"
_OPENING = re.compile(r"(?:^|(?<=[\s(\[—–-]))\"")
_ENGLISH_WORDS = "the of and to in is that for on with as at by from it are was be this its has have not"
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_MONTHS = ["January", "February", "March", "April", "May", "June"]
_MONTHS += ["July", "August", "September", "October", "November", "December"]


def name_of(brief: Brief) -> str:
    """What a draft calls its source: the publisher, else the source's name without its clutter, else the host."""
    host = links.host(brief.url) if links.postable(brief.url) else ""
    if brief.publisher:
        return _plain(readable(brief.publisher), host)
    home = _AGGREGATORS.get(brief.source_type) if brief.source_type else None
    if home and host and host != home and not host.endswith(f".{home}"):
        return host
    if brief.source_type is SourceType.TWITTER and brief.author:
        return _plain(readable(brief.author), "")
    return _plain(readable(brief.source_name), host)


def is_english(brief: Brief) -> bool:
    """Whether English words may stand around its sentences: the language it states, else the look of its text."""
    if brief.language:
        return brief.language.lower().startswith("en")
    words = re.findall(r"[^\W\d_]+", f"{brief.title} {brief.summary or brief.text[:1000]}".lower())
    return sum(word in _ENGLISH for word in words) >= max(1, len(words) // 12)


def quoted(text: str, language: str | None) -> str:
    """`text` in the quotation marks of its language; double marks inside it become the inner kind."""
    opening, closing, inner, inner_end = tuple(_MARKS.get((language or "en").lower()[:2], _ENGLISH_MARKS))
    text = _OPENING.sub(inner, text).replace('"', inner_end)
    inward = str.maketrans({"“": inner, "„": inner, "”": inner_end} | {opening: inner, closing: inner_end})
    return f"{opening}{text.translate(inward)}{closing}"


def day(moment: datetime, *, english: bool) -> str:
    """The day as people write it: `17 February 2026`, and `2026-02-17` where the text is not English."""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}" if english else moment.date().isoformat()


def _plain(name: str, host: str) -> str:
    """A feed's title down to the name in it: `Al Jazeera – Breaking News, World News and Video` to `Al Jazeera`."""
    parts = [part for piece in _PART.split(name) if (part := piece.strip(" -–—|:>»•·"))]
    label = _label(host)
    if len(parts) == 1 and len(parts[0]) <= LONGEST and parts[0].lower() not in _GENERIC:
        return _leading(parts[0], label) if parts[0].count(" ") > 2 else parts[0]
    for part in parts:
        if label and _meets(part, label):
            return _leading(part, label)
    telling = [part for part in parts if part.lower() not in _GENERIC and len(part) <= LONGEST]
    return telling[0] if telling and not host else host or name[:LONGEST].strip()


def _label(host: str) -> str:
    """The part of a host that is its name: `bbc` of `feeds.bbc.co.uk`."""
    labels = host.split(".")
    if len(labels) > 2 and len(labels[-2]) <= 3 and len(labels[-1]) == 2:
        labels = labels[:-1]
    return _squashed(labels[-2]) if len(labels) > 1 else ""


def _squashed(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.lower())
    return "".join(character for character in plain if character.isalnum())


def _meets(part: str, label: str) -> bool:
    squashed = _squashed(part)
    return squashed.startswith(label) or (len(squashed) > 2 and label.startswith(squashed))


def _leading(name: str, label: str) -> str:
    """The first words of `name` where they spell the host's label, else all of it as far as it reads as a name."""
    words = name.split()
    for count in range(1, len(words)):
        if _squashed("".join(words[:count])) == label:
            return " ".join(words[:count])
    return name if len(name) <= LONGEST else label
