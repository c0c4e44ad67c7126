"""Attribution: the names of source and author, the source's language, its quotation marks and dates."""

import re
import unicodedata
from datetime import datetime

from copydesk.drafting.extract.passages import make_readable
from copydesk.drafting.writer import Brief
from copydesk.model.source import Credit
from copydesk.text import links
from copydesk.text.language import LANGUAGES, base_language, detect_text_language

MAX_NAME_LENGTH = 40
"""Characters of a string that still reads as a name."""
MAX_GIVEN_NAME_LENGTH = 80
"""Characters of a name of the user's that stays whole: a longer one leaves no room for a sentence in a short post."""

_TITLE_SEPARATOR = re.compile(r"\s+[|»>•·–—-]+(?:\s+|$)|\s*[|»•·]\s*|:\s+|\s*\[[^\]]*\]\s*|\s*\(([^()]*)\)\s*")
_FEED_WORDS = re.compile(
    r"(?i)^(?:rss(?:\s+feed)?|feed|posts|news|latest(?:\s+news|\s+posts)?|articles|comments|stories|blog|release\s+notes)\s+(?:of|on|from|for|by)\s+(?:the\s+)?(?=\S)"
    r"|\s+(?:(?:rss|atom|news|full[- ]?text|main|public|official)\s+)*(?:rss|atom|feeds?)$|['’]s\s+(?:rss|atom|feed)$"
)
_GENERIC_NAMES = (
    "all|all posts|articles|articles feed|atom|blog|blog posts|breaking news|entries|feed|front page|headlines"
    "|home|homepage|index|international|latest|latest articles|latest news|latest posts|main|main feed|news"
    "|news feed|new posts|posts|recent|recent posts|rss|rss feed|site|stories|the blog|top|top news|top stories"
    "|topics|untitled|updates|weblog|website|world|world news|my blog|aktuell|aktuelles|alle artikel|nachrichten"
    "|startseite|schlagzeilen|politik|à la une|accueil|actualités|actualité|toute l'actualité|inicio|noticias"
    "|portada|últimas noticias|ultime notizie|notizie|início|notícias|nieuws|asia|africa|europe|americas|business"
    "|politics|technology|tech|science|sport|sports|culture|opinion|ニュース|最新記事|記事一覧|最新ニュース|新着記事|新着|新着情報|トップ|ブログ|新闻|最新|首页"
)
_GENERIC = frozenset(_GENERIC_NAMES.split("|"))
_SECTION_NAMES = (
    "breaking news|headlines|international|news|world|world news|aktuelles|nachrichten|schlagzeilen|politik|actualités"
    "|actualité|noticias|notizie|notícias|nieuws|asia|africa|europe|americas|business|politics|technology|tech|science"
    "|sport|sports|culture|opinion|ニュース|新闻"
)
_SECTIONS = frozenset(_SECTION_NAMES.split("|"))
"""The generic names that say what is reported. The others only say that it is a feed, or that it is new."""
_PART_SEPARATOR = re.compile(r"\s+[|»>•·–—-]+\s+")
"""Separates the parts of a name that is credited whole; what stands after a colon or in brackets explains a name."""
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "å": "aa", "ø": "oe", "æ": "ae"})
"""Letters as they are written in the names of hosts."""

# Opening and closing marks, then those for a quotation within a quotation.
_QUOTATION_MARKS = {
    "de": "„“‚‘", "cs": "„“‚‘", "sk": "„“‚‘", "bg": "„“‚‘", "pl": "„”‚’", "hu": "„”»«", "ro": "„”«»", "fr": "«»“”",
    "es": "«»“”", "it": "«»“”", "pt": "«»“”", "ru": "«»„“", "uk": "«»„“", "el": "«»“”", "no": "«»‘’", "da": "»«›‹",
    "sv": "””’’", "fi": "””’’", "ja": "「」『』", "fa": "«»‹›", "ar": "«»‹›",
}  # fmt: skip
_ENGLISH_MARKS = "“”‘’"
_SPACED_MARKS = frozenset({"fr"})
"""Languages with a no-break space inside the marks."""
_USER_NAME = re.compile(r"/?u/[\w-]{3,}|[a-z][\w-]{2,29}")
_NOT_PEOPLE = frozenset(
    {"admin", "administrator", "editor", "editorial", "staff", "redaktion", "newsroom", "webmaster"}
)
_ORGANIZATION = re.compile(
    r"(?i)\b(?:press|reuters|afp|dpa|agenc(?:y|ies|ias)|agence|editorial|editors?|staff|news|newsroom|team|desk|council"
    r"|redaktion|rédaction|redacción|redazione|redação)\b"
)
_OPENING = re.compile(r"(?:^|(?<=[\s(\[—–-]))\"")
_ENGLISH_WORDS = "the of and to in is that for on with as at by from it are was be this its has have not"
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_INNER_SPACES = re.compile(r"(?<=«)\s+|\s+(?=»)")
_MIN_DETECTABLE_LENGTH = 40
"""Characters from which the text tells its language better than the feed, as in the filters."""
_MONTHS = ["January", "February", "March", "April", "May", "June"]
_MONTHS += ["July", "August", "September", "October", "November", "December"]


_BYLINE = re.compile(r"^(?:By|Par|Por)\s(?=[A-ZÀ-Þ])")


def get_source_name(brief: Brief) -> str:
    """Return the source's name: the publisher, otherwise the source's name, otherwise the host.

    A name that the user gave stays whole, unless it is too long; a feed's title is without clutter.
    """
    host = links.host(brief.url) if links.postable_url(brief.url) else ""
    # Some feeds repeat the title in the element of the publisher.
    if brief.publisher and brief.publisher.strip() != brief.title.strip():
        return _strip_clutter(make_readable(brief.publisher), host)
    source_type = brief.source_type
    credit = source_type.credit if source_type else Credit.SOURCE
    # A link aggregator is not the author: name the site that it links to.
    if source_type and credit is Credit.LINKED_SITE and host and not source_type.has_host(host):
        return host
    if credit is Credit.AUTHOR and brief.author:
        return _strip_clutter(make_readable(brief.author), "")
    # Some lists of feeds name a source by the address of its feed, which names nobody.
    feed_host = links.host(brief.source_name) if links.postable_url(brief.source_name) else ""
    name = make_readable((host or feed_host) if feed_host else brief.source_name)
    if brief.source_named_by_user and 0 < len(name) <= MAX_GIVEN_NAME_LENGTH and not feed_host:
        return name
    return _strip_clutter(name, host)


def get_author(brief: Brief) -> str:
    """Return the author if the field holds a person's name: no address, no remark."""
    author = _BYLINE.sub("", make_readable(brief.author or ""))
    # The name of a user is a name where a forum's users write.
    if _USER_NAME.fullmatch(author) and author.casefold() not in _NOT_PEOPLE:
        return author.removeprefix("/")
    not_a_name = re.search(r"[@()/:,\d<>]", author) or author.islower() or not 1 <= author.count(" ") <= 4
    return "" if not_a_name or _ORGANIZATION.search(author) or len(author) > MAX_NAME_LENGTH else author


def get_language(brief: Brief) -> str | None:
    """Return the code of the language that the item is written in, None if unknown.

    A text long enough to tell decides; feeds often name their software's default.
    """
    sample = f"{brief.title}\n{brief.summary[:500]}\n{brief.text[:500]}".strip()
    declared = base_language(brief.language)
    if declared and (len(sample) < _MIN_DETECTABLE_LENGTH or declared not in LANGUAGES):
        return declared
    return detect_text_language(sample) or declared or ("en" if _looks_english(sample) else None)


def _looks_english(text: str) -> bool:
    """Return True if a text too short for detection has English function words."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    return sum(word in _ENGLISH for word in words) >= max(1, len(words) // 12)


def quote(text: str, language: str | None) -> str:
    """Return `text` in the quotation marks of its language; double marks inside become the inner kind."""
    opening, closing, inner, inner_end = tuple(_QUOTATION_MARKS.get(language or "en", _ENGLISH_MARKS))
    space = "\xa0" if language in _SPACED_MARKS else ""
    text = _INNER_SPACES.sub("", _OPENING.sub(inner, text).replace('"', inner_end))
    inner_marks = str.maketrans({"“": inner, "„": inner, "”": inner_end} | {opening: inner, closing: inner_end})
    return f"{opening}{space}{text.translate(inner_marks)}{space}{closing}"


def format_day(time: datetime, *, english: bool) -> str:
    """Return the date as `17 February 2026`, or `2026-02-17` if the text is not English."""
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year}" if english else time.date().isoformat()


def _strip_clutter(name: str, host: str) -> str:
    """Return the name inside a feed's title: `Al Jazeera` for `Al Jazeera – Breaking News, World News and Video`.

    The site may stand before the section or after it: the host tells which part it is. If it names none, a short name
    such as `Nachrichten – Zürich` stays whole, since its second part may be a place or a subject.
    """
    pieces = [_FEED_WORDS.sub("", piece.strip(" -–—|:>»•·")) for piece in _TITLE_SEPARATOR.split(name) if piece]
    parts = [piece for piece in pieces if piece.strip()]
    label = _host_label(host)
    if len(parts) == 1 and len(parts[0]) <= MAX_NAME_LENGTH and parts[0].lower() not in _GENERIC:
        return _leading_name(parts[0], label) if parts[0].count(" ") > 2 else parts[0]
    for part in parts:
        if label and _matches_label(part, label):
            return _leading_name(part, label)
    if len(name) <= MAX_NAME_LENGTH and _is_whole(name, parts):
        return name
    specific = [part for part in parts if part.lower() not in _GENERIC and len(part) <= MAX_NAME_LENGTH]
    return specific[0] if specific and (not host or len(specific) == 1) else host or name[:MAX_NAME_LENGTH].strip()


def _is_whole(name: str, parts: list[str]) -> bool:
    """Return True if no part of `name` is clutter, and nothing tells which one is the site."""
    # A section in the last place follows the site.
    kept = [part.lower() for part in parts if part.lower() not in _GENERIC]
    sections = [part.lower() for part in parts[:1] if part.lower() in _SECTIONS]
    return _PART_SEPARATOR.split(name) == parts and len(parts) == len(kept) + len(sections)


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
    spellings = (_squash(part), _squash(part.lower().translate(_SPELLED_OUT)))
    names = [spelling if label.startswith("the") else spelling.removeprefix("the") for spelling in spellings]
    return any(name.startswith(label) or (len(name) > 2 and label.startswith(name)) for name in names)


def _leading_name(name: str, label: str) -> str:
    """Return the first words of `name` if they spell the host's label, otherwise as much as reads as a name."""
    words = name.split()
    for count in range(1, len(words)):
        if _squash("".join(words[:count])) == label:
            return " ".join(words[:count])
    return name if len(name) <= MAX_NAME_LENGTH else label
