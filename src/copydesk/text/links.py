"""Links, mentions and hashtags in a text, as platforms read them."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

Span = tuple[int, int]

URL = re.compile(r"https?://[^\s<>\"“”‘’„«»「」{}|\\^`]{1,4096}", re.IGNORECASE)
"""An address with its scheme, and the punctuation after it, which `address` takes off."""
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\."
_ENDING = r"(?:com|org|net|edu|gov|info|biz|io|dev|app|ai|co|news|blog|social|online|site|xyz|tech|cloud|tv)"
_COUNTRY = (
    r"(?:uk|us|eu|de|fr|es|it|nl|ch|at|be|se|no|dk|fi|pl|cz|pt|ie|ru|ua"
    r"|in|jp|cn|kr|au|nz|ca|br|mx|ar|cl|za|ng|ly|gg|me)"
)
_PATH = r"/[^\s<>\"“”]{0,2048}"
# As in twitter-text, a country's ending alone makes no link ("the end.It was"): it takes a third name or a path.
_BARE = re.compile(
    rf"(?<![\w@./:-])(?:(?:{_LABEL}){{1,4}}{_ENDING}(?![\w-]|\.\w)(?:{_PATH})?"
    rf"|(?:{_LABEL}){{2,4}}{_COUNTRY}(?![\w-]|\.\w)(?:{_PATH})?|{_LABEL}{_COUNTRY}{_PATH})",
    re.IGNORECASE,
)
# Every bare name has one: a cheap look from full stop to full stop, and the long one only where it finds something.
_DOTTED = re.compile(rf"\.(?<=[a-z0-9]\.)(?:{_ENDING}|{_COUNTRY})(?![\w-])", re.IGNORECASE)
MENTION = re.compile(r"(?<![\w/.@])@\w+(?:[.-]\w+)*(?:@\w+(?:[.-]\w+)+)?")
"""A handle: `@user`, `@user.bsky.social`, `@user@host.tld`."""
HASHTAG = re.compile(r"(?<![\w&/#])[#＃](?=\d*[^\W\d])\w+")
"""A hashtag; a number alone (`#12`) is none."""
_TRAIL = frozenset(".,;:!?…'*_")
_PAIRS = {")": "(", "]": "["}


def address(found: str) -> str:
    """`found` by URL without the punctuation after it; a closing bracket stays where the address opened it."""
    end = len(found)
    while end:
        last = found[end - 1]
        opening = _PAIRS.get(last)
        if last not in _TRAIL and (opening is None or found.count(last, 0, end) <= found.count(opening, 0, end)):
            break
        end -= 1
    return found[:end]


def spans(text: str) -> list[Span]:
    """Where the addresses with a scheme stand, in order."""
    if "://" not in text:
        return []
    return [_span(match) for match in URL.finditer(text)]


def all_spans(text: str) -> list[Span]:
    """Where a platform makes a link: addresses with a scheme, and names of hosts that stand without one."""
    found = spans(text)
    bare = list(_bare(_blanked(text, found)))
    return sorted(found + bare) if bare else found


def unbreakable(text: str) -> list[Span]:
    """Links, mentions and hashtags, of which half is another one: in order and apart. Those that overlap are one."""
    marks = (match.span() for kind in (MENTION, HASHTAG) for match in kind.finditer(text))
    apart: list[Span] = []
    for span in sorted([*marks, *all_spans(text)]):
        if apart and span[0] < apart[-1][1]:
            first, last = apart.pop()
            apart.append((first, max(last, span[1])))
        else:
            apart.append(span)
    return apart


def replaced(text: str, places: list[Span], filler: str) -> str:
    """`text` with `filler` for each of `places`, which are in order and apart."""
    out: list[str] = []
    last = 0
    for start, end in places:
        out += (text[last:start], filler)
        last = end
    return "".join((*out, text[last:]))


def masked(text: str) -> str:
    """`text` with spaces for every character of a link, so that all places stay where they are."""
    return _blanked(text, all_spans(text))


def untracked(url: str) -> str:
    """`url` without its `utm_*` parameters, which say where a click came from, not where it goes."""
    before, mark, query = url.partition("?")
    query, hash_mark, fragment = query.partition("#")
    if not mark or "utm_" not in query.lower():
        return url
    kept = "&".join(pair for pair in query.split("&") if not pair.lower().startswith("utm_"))
    return before + (f"?{kept}" if kept else "") + hash_mark + fragment


def key(url: str) -> str:
    """`url` reduced to what the spellings of one address share: no scheme, `www.`, `utm_*` or last slash.

    Nothing else is dropped: another path, another query or another fragment is another address.
    """
    rest = re.sub(r"(?i)^(?:https?://)?(?:www\.)?", "", untracked(url))
    rest, mark, fragment = rest.partition("#")
    path, question, query = rest.partition("?")
    host, slash, tail = path.partition("/")
    return (host.lower() + slash + tail).rstrip("/") + (question and question + query) + (mark and mark + fragment)


def host(url: str | None) -> str:
    """The host of `url` in lower case without `www.` and port; empty where there is none."""
    try:
        return (urlsplit(url or "").hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def postable(url: str | None) -> str | None:
    """`url` where it can stand in a post: http or https, a host, no credentials, one unbroken printable word."""
    if not url or not url.isprintable() or not host(url) or "@" in urlsplit(url).netloc:
        return None
    match = URL.fullmatch(url)
    return url if match and address(url) == url else None


def _bare(text: str) -> Iterator[Span]:
    """Where a name of a host stands without a scheme; it has no space in it."""
    end = 0
    for dotted in _DOTTED.finditer(text):
        if dotted.start() >= end:
            start = text.rfind(" ", end, dotted.start()) + 1 or end
            end = text.find(" ", dotted.end())
            end = end if end >= 0 else len(text)
            yield from map(_span, _BARE.finditer(text, start, end))


def _span(found: re.Match[str]) -> Span:
    """Where the address is that was found."""
    return found.start(), found.start() + len(address(found[0]))


def _blanked(text: str, places: list[Span]) -> str:
    out: list[str] = []
    last = 0
    for start, end in places:
        out += (text[last:start], " " * (end - start))
        last = end
    return "".join((*out, text[last:])) if out else text
