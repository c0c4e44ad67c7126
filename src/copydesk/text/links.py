"""Find links, mentions and hashtags in a text, as platforms recognise them."""

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from copydesk.text.tracking import strip_tracking_parameters

Span = tuple[int, int]

URL = re.compile(r"https?://[^\s<>\"“”‘’„«»「」{}|\\^`]{1,4096}", re.IGNORECASE)
"""An address with its scheme. It may include trailing punctuation; `trim_address` removes that."""
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\."
_GENERIC_TLD = r"(?:com|org|net|edu|gov|info|biz|io|dev|app|ai|co|news|blog|social|online|site|xyz|tech|cloud|tv)"
_COUNTRY_TLD = (
    r"(?:uk|us|eu|de|fr|es|it|nl|ch|at|be|se|no|dk|fi|pl|cz|pt|ie|ru|ua"
    r"|in|jp|cn|kr|au|nz|ca|br|mx|ar|cl|za|ng|ly|gg|me)"
)
_PATH = r"/[^\s<>\"“”]{0,2048}"
# As in twitter-text, a country ending alone makes no link ("the end.It was"): it takes a third label or a path.
_BARE = re.compile(
    rf"(?<![\w@./:-])(?:(?:{_LABEL}){{1,4}}{_GENERIC_TLD}(?![\w-]|\.\w)(?:{_PATH})?"
    rf"|(?:{_LABEL}){{2,4}}{_COUNTRY_TLD}(?![\w-]|\.\w)(?:{_PATH})?|{_LABEL}{_COUNTRY_TLD}{_PATH})",
    re.IGNORECASE,
)
# Every bare host contains a full stop before a known ending. This cheap search runs first; _BARE only where it matches.
_DOTTED = re.compile(rf"\.(?<=[a-z0-9]\.)(?:{_GENERIC_TLD}|{_COUNTRY_TLD})(?![\w-])", re.IGNORECASE)
MENTION = re.compile(r"(?<![\w/.@])@\w+(?:[.-]\w+)*(?:@\w+(?:[.-]\w+)+)?")
"""A handle: `@user`, `@user.bsky.social`, `@user@host.tld`."""
_TRAILING_PUNCTUATION = frozenset(".,;:!?…'*_")
_BRACKET_PAIRS = {")": "(", "]": "["}


def trim_address(match_text: str) -> str:
    """Return a match of URL without trailing punctuation.

    A closing bracket stays if the address contains its opening one, as in Wikipedia's `Ferry_(boat)`.
    """
    end = len(match_text)
    while end:
        last = match_text[end - 1]
        opening = _BRACKET_PAIRS.get(last)
        if last not in _TRAILING_PUNCTUATION and (
            opening is None or match_text.count(last, 0, end) <= match_text.count(opening, 0, end)
        ):
            break
        end -= 1
    return match_text[:end]


def spans(text: str) -> list[Span]:
    """Return the spans of all addresses with a scheme, in order."""
    if "://" not in text:
        return []
    return [_span(match) for match in URL.finditer(text)]


def all_spans(text: str) -> list[Span]:
    """Return the spans of everything a platform turns into a link, in order: with a scheme, and bare host names."""
    with_scheme = spans(text)
    # Addresses with a scheme are blanked out first, so that their hosts are not found again.
    bare = list(_bare(blank_spans(text, with_scheme)))
    return sorted(with_scheme + bare) if bare else with_scheme


def hashtag_spans(text: str) -> list[Span]:
    """Return the spans of all hashtags, in order."""
    if "#" not in text and "＃" not in text:
        return []
    from copydesk.text.graphemes import HASHTAG  # noqa: PLC0415 - imports regex, which is slow

    return [match.span() for match in HASHTAG.finditer(text)]


def replace_spans(text: str, ranges: list[Span], filler: str | Callable[[str], str]) -> str:
    """Return `text` with each of `ranges` replaced by `filler`, or by what it returns for the text there.

    The spans must be in order and must not overlap.
    """
    pieces: list[str] = []
    last = 0
    for start, end in ranges:
        pieces += (text[last:start], filler if isinstance(filler, str) else filler(text[start:end]))
        last = end
    return "".join((*pieces, text[last:]))


def blank_spans(text: str, ranges: list[Span]) -> str:
    """Return `text` with every character of `ranges` replaced by a space, so that all offsets stay valid."""
    return replace_spans(text, ranges, lambda found: " " * len(found)) if ranges else text


def mask_links(text: str) -> str:
    """Return `text` with every character of a link replaced by a space, so that all offsets stay valid."""
    return blank_spans(text, all_spans(text))


def strip_tracking(url: str) -> str:
    """Return `url` without its tracking parameters."""
    base, hash_mark, fragment = url.partition("#")
    base, mark, query = base.partition("?")
    remaining = strip_tracking_parameters(query)
    if remaining == query:
        return url
    return base + (mark and remaining and mark + remaining) + hash_mark + fragment


def comparison_key(url: str) -> str:
    """Return `url` normalised for comparison: without scheme, `www.`, tracking parameters and trailing slash.

    Path, query and fragment are kept: another one is another address.
    """
    rest = re.sub(r"(?i)^(?:https?://)?(?:www\.)?", "", strip_tracking(url))
    rest, mark, fragment = rest.partition("#")
    path, question, query = rest.partition("?")
    host, slash, tail = path.partition("/")
    return (host.lower() + slash + tail).rstrip("/") + (question and question + query) + (mark and mark + fragment)


def host(url: str | None) -> str:
    """Return the host of `url` in lower case without `www.` and port, or "" if there is none."""
    try:
        return (urlsplit(url or "").hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def postable_url(url: str | None) -> str | None:
    """Return `url` if it may be put into a post, otherwise None.

    It must be http or https, with a host, without credentials, and one unbroken printable word.
    """
    if not url or not url.isprintable() or not host(url) or "@" in urlsplit(url).netloc:
        return None
    match = URL.fullmatch(url)
    return url if match and trim_address(url) == url else None


def _bare(text: str) -> Iterator[Span]:
    """Yield the spans of host names without a scheme.

    A host contains no space, so only the words around full stops are searched.
    """
    end = 0
    for dot_match in _DOTTED.finditer(text):
        # The previous candidate covered everything up to `end`, including this full stop.
        if dot_match.start() >= end:
            start = text.rfind(" ", end, dot_match.start()) + 1 or end
            end = text.find(" ", dot_match.end())
            end = end if end >= 0 else len(text)
            yield from map(_span, _BARE.finditer(text, start, end))


def _span(match: re.Match[str]) -> Span:
    """Return the span of the address that was matched, without trailing punctuation."""
    return match.start(), match.start() + len(trim_address(match[0]))
