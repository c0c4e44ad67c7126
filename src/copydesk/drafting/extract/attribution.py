"""Attribution: the name a draft gives its source, quotation marks and dates in the source's language."""

import re
import unicodedata
from datetime import datetime

from copydesk.drafting.extract.passages import make_readable
from copydesk.drafting.writer import Brief
from copydesk.model.source import Credit
from copydesk.text import links

MAX_NAME_LENGTH = 40
"""Characters of a string that still reads as a name."""

_TITLE_SEPARATOR = re.compile(r"\s+[|»>•·–—-]+(?:\s+|$)|\s*[|»•·]\s*|:\s+|\s*\[[^\]]*\]\s*")
_GENERIC_NAMES = (
    "all posts|articles|blog|breaking news|feed|front page|headlines|home|international|latest|latest news|news|posts"
    "|rss|top news|top stories|updates|world|world news"
)
_GENERIC = frozenset(_GENERIC_NAMES.split("|"))

# Opening and closing marks, then those for a quotation within a quotation.
_QUOTATION_MARKS = {
    "de": "„“‚‘", "cs": "„“‚‘", "sk": "„“‚‘", "pl": "„”‚’", "fr": "«»“”", "es": "«»“”", "it": "«»“”", "pt": "«»“”",
    "ru": "«»„“", "uk": "«»„“", "el": "«»“”", "no": "«»‘’", "ja": "「」『』", "fa": "«»‹›", "ar": "«»‹›",
}  # fmt: skip
_ENGLISH_MARKS = "“”‘’"
_OPENING = re.compile(r"(?:^|(?<=[\s(\[—–-]))\"")
_ENGLISH_WORDS = "the of and to in is that for on with as at by from it are was be this its has have not"
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_MONTHS = ["January", "February", "March", "April", "May", "June"]
_MONTHS += ["July", "August", "September", "October", "November", "December"]


def get_source_name(brief: Brief) -> str:
    """Return the source's name: the publisher, otherwise the source's title without clutter, otherwise the host."""
    host = links.host(brief.url) if links.postable_url(brief.url) else ""
    if brief.publisher:
        return _strip_clutter(make_readable(brief.publisher), host)
    source_type = brief.source_type
    credit = source_type.credit if source_type else Credit.SOURCE
    # A link aggregator is not the author: name the site that it links to.
    if source_type and credit is Credit.LINKED_SITE and host and not source_type.has_host(host):
        return host
    if credit is Credit.AUTHOR and brief.author:
        return _strip_clutter(make_readable(brief.author), "")
    return _strip_clutter(make_readable(brief.source_name), host)


def is_english(brief: Brief) -> bool:
    """Return True if English template text may be used: by the stated language, otherwise by common words."""
    if brief.language:
        return brief.language.lower().startswith("en")
    words = re.findall(r"[^\W\d_]+", f"{brief.title} {brief.summary or brief.text[:1000]}".lower())
    return sum(word in _ENGLISH for word in words) >= max(1, len(words) // 12)


def quote(text: str, language: str | None) -> str:
    """Return `text` in the quotation marks of its language; double marks inside become the inner kind."""
    opening, closing, inner, inner_end = tuple(_QUOTATION_MARKS.get((language or "en").lower()[:2], _ENGLISH_MARKS))
    text = _OPENING.sub(inner, text).replace('"', inner_end)
    inner_marks = str.maketrans({"“": inner, "„": inner, "”": inner_end} | {opening: inner, closing: inner_end})
    return f"{opening}{text.translate(inner_marks)}{closing}"


def format_day(time: datetime, *, english: bool) -> str:
    """Return the date as `17 February 2026`, or `2026-02-17` if the text is not English."""
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year}" if english else time.date().isoformat()


def _strip_clutter(name: str, host: str) -> str:
    """Return the name inside a feed's title: `Al Jazeera` for `Al Jazeera – Breaking News, World News and Video`."""
    parts = [part for piece in _TITLE_SEPARATOR.split(name) if (part := piece.strip(" -–—|:>»•·"))]
    label = _host_label(host)
    if len(parts) == 1 and len(parts[0]) <= MAX_NAME_LENGTH and parts[0].lower() not in _GENERIC:
        return _leading_name(parts[0], label) if parts[0].count(" ") > 2 else parts[0]
    for part in parts:
        if label and _matches_label(part, label):
            return _leading_name(part, label)
    specific = [part for part in parts if part.lower() not in _GENERIC and len(part) <= MAX_NAME_LENGTH]
    return specific[0] if specific and not host else host or name[:MAX_NAME_LENGTH].strip()


def _host_label(host: str) -> str:
    """Return the label of a host that is its name: `bbc` of `feeds.bbc.co.uk`."""
    labels = host.split(".")
    # A country domain with a second level, such as .co.uk.
    if len(labels) > 2 and len(labels[-2]) <= 3 and len(labels[-1]) == 2:
        labels = labels[:-1]
    return _squash(labels[-2]) if len(labels) > 1 else ""


def _squash(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(character for character in decomposed if character.isalnum())


def _matches_label(part: str, label: str) -> bool:
    squashed = _squash(part)
    return squashed.startswith(label) or (len(squashed) > 2 and label.startswith(squashed))


def _leading_name(name: str, label: str) -> str:
    """Return the first words of `name` if they spell the host's label, otherwise as much as reads as a name."""
    words = name.split()
    for count in range(1, len(words)):
        if _squash("".join(words[:count])) == label:
            return " ".join(words[:count])
    return name if len(name) <= MAX_NAME_LENGTH else label
