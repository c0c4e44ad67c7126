"""Canonical URLs: keys that identify a page for comparison, never URLs to post or fetch.

Two URLs with one key show a reader the same page: http and https, `www.` and `m.`, tracking parameters, parameter
order, AMP pages and the various URLs of one video, post or tweet are folded together.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from copydesk.text.tracking import is_tracking

_MAX_LENGTH = 8192
"""Characters; longer URLs have no key."""

# RFC 3986, appendix B, for http and https only.
_PARTS = re.compile(r"https?://([^/?#\\]*)([^?#]*)\??([^#]*)#?(.*)", re.IGNORECASE | re.DOTALL)
_SURROUNDING = "".join(map(chr, range(33))) + "\xa0\u200b\ufeff"
_MAX_NETLOC = 300
_NETLOC = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::([0-9]*))?")
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")
_EQUIVALENT_PREFIX = re.compile(r"^(?:(?:www\d?|m|mobile|amp)\.)+(?=[^.]+\.)|(?:\.m)+(?=\.wikipedia\.org$)")
_DEFAULT_PORTS = ("", "80", "443")

_PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9_~!$&'()*+,;=:@-]+(?:\.[A-Za-z0-9_~-]+)*)*")
"""Paths that are canonical already: nearly all. They skip the slow normalization."""
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})?|[^A-Za-z0-9._~!$&'()*+,;=:@/?-]")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN_QUERY = re.compile(r"[A-Za-z0-9._~!$'()*,;:@/?&=-]*")
_INDEX_PAGES = frozenset(
    f"{name}.{suffix}" for name in ("index", "default") for suffix in ("htm", "html", "php", "asp", "aspx", "jsp")
) | {"amp"}

_PRESENTATION_NAMES = frozenset(("amp", "outputtype"))
"""Parameters that select another version of the same page."""
_SUBSTACK_TRACKING = frozenset(("post_id", "publication_id", "r", "isfreemail", "triedredirect", "showwelcomeonshare"))

_UrlParts = tuple[str, str, list[str]]

_X_POST = re.compile(r"/(?:[^/]+/){1,2}status(?:es)?/([0-9]+)")
_VIDEO_PATH = re.compile(r"/(?:shorts|live|embed|v)/(?!videoseries)([A-Za-z0-9_-]+)(?:/.*)?")
_SHARED_POST = re.compile(r"/pub/([A-Za-z0-9-]+)/p/([^/]+)")
_HOST_ALIASES = {
    "old.reddit.com": "reddit.com",
    "new.reddit.com": "reddit.com",
    "np.reddit.com": "reddit.com",
    "i.reddit.com": "reddit.com",
    "twitter.com": "x.com",
    "music.youtube.com": "youtube.com",
    "youtube-nocookie.com": "youtube.com",
}


def canonical_url(url: str) -> str:
    """Return the key of `url`, in the form of an https URL; empty if it is not an http(s) URL. Never raises.

    Idempotent: the key of a key is the key itself.
    """
    url = url.strip(_SURROUNDING)
    parts = _PARTS.fullmatch(url) if len(url) <= _MAX_LENGTH else None
    if parts is None:
        return ""
    netloc, path, query, fragment = parts.groups()
    host = _host(netloc)
    if not host:
        return ""
    path = _path(path)
    parameters = _parameters(query, substack=path.startswith("/p/")) if query else []
    site_rule = _SITE_RULES.get(host)
    if site_rule is not None:
        host, path, parameters = site_rule(host, path, parameters)
        path = _path(path)  # the rule may have turned an inner segment into the last one
    key = f"https://{host}{path}"
    if parameters:
        key += "?" + "&".join(sorted(parameters))
    return key + _client_route(fragment) if fragment else key


def identifies_page(canonical: str) -> bool:
    """Return True if the key has a path or a query: a site's front page does not identify a story."""
    start = canonical.find("/", len("https://"))
    return start > 0 and len(canonical) > start + 1


@lru_cache(maxsize=4096)
def _host(netloc: str) -> str:
    """Return host and unusual port, empty if invalid. Cached, because few hosts make up nearly all URLs."""
    parts = _NETLOC.fullmatch(netloc.rpartition("@")[2])
    # Checked before the conversion: CPython's idna codec takes quadratic time.
    if parts is None or len(netloc) > _MAX_NETLOC:
        return ""
    host, port = parts[1].lower().rstrip("."), (parts[2] or "").lstrip("0")
    # Internationalized domain names compare by their ASCII form.
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii").lower().rstrip(".")
        except UnicodeError:
            return ""
    if not _HOST.fullmatch(host) or len(port) > 5:
        return ""
    host = _EQUIVALENT_PREFIX.sub("", host)
    host = _HOST_ALIASES.get(host, host)
    return host if port in _DEFAULT_PORTS else f"{host}:{port}"


def _path(path: str) -> str:
    """Normalize the path: dot segments, escapes, trailing slashes, index pages and AMP suffixes."""
    stripped = path.rstrip("/")
    if _PLAIN_PATH.fullmatch(stripped):
        last = stripped[stripped.rfind("/") + 1 :]
        if ".amp" not in last and last.lower() not in _INDEX_PAGES:
            return stripped or "/"
    else:
        path = _escape(path)
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    while segments:
        last = _without_amp(segments.pop())
        if last.lower() not in _INDEX_PAGES:
            segments.append(last)
            break
    return "/" + "/".join(segments)


def _without_amp(page: str) -> str:
    """Return `story.html` for `story.amp.html`, and `story` for `story.amp`."""
    if ".amp" not in page:
        return page
    stem, _, suffix = page.partition(".amp")
    return stem + suffix if stem.strip(".") and suffix in ("", ".html") else page


def _escape(text: str) -> str:
    """Percent-encode what must be encoded, and decode the rest (RFC 3986, section 6.2.2)."""
    return _ESCAPED.sub(_escape_match, text)


def _escape_match(match: re.Match[str]) -> str:
    code = match[1]
    if code:
        byte = int(code, 16)
        return chr(byte) if byte in _UNRESERVED else f"%{code.upper()}"
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))


def _parameters(query: str, *, substack: bool) -> list[str]:
    """Return the parameters that identify the page, as `name=value`."""
    if not _PLAIN_QUERY.fullmatch(query):
        query = _escape(query.replace("+", "%20"))
    parameters = []
    for parameter in query.split("&"):
        name, _, value = parameter.partition("=")
        while name.startswith("amp;"):  # double-escaped &amp;
            name = name[4:]
        folded = name.lower()
        if not name or folded in _PRESENTATION_NAMES or (substack and folded in _SUBSTACK_TRACKING):
            continue
        if not is_tracking(folded, value):
            parameters.append(f"{name}={value}" if value else name)
    return parameters


def _client_route(fragment: str) -> str:
    """Return the fragment only if it is a client-side route; anchors do not identify a page."""
    if not fragment.startswith(("/", "!/")):
        return ""
    fragment = _escape(fragment).rstrip("/")
    return f"#{fragment}" if fragment not in ("", "!") else ""


def _reddit(host: str, path: str, parameters: list[str]) -> _UrlParts:
    """Reduce a post's URL to its id, without subreddit and title; URLs of comments stay."""
    segments = path.split("/")
    if segments[1] in ("r", "user", "u"):
        del segments[1:3]
    if len(segments) in (3, 4) and segments[1] == "comments":
        return host, f"/comments/{segments[2]}", []
    return host, path, parameters


def _reddit_short(_host: str, path: str, parameters: list[str]) -> _UrlParts:
    # redd.it links have the post's id as their path.
    return _reddit("reddit.com", f"/comments{path}".rstrip("/"), parameters)


def _x(host: str, path: str, parameters: list[str]) -> _UrlParts:
    """Reduce a post's URL to its id, without the account; remove `s` and `t`, which tell who shared it."""
    match = _X_POST.match(path)
    if match:
        return host, f"/i/status/{match[1]}", []
    return host, path, [parameter for parameter in parameters if not parameter.startswith(("s=", "t="))]


def _youtube(host: str, path: str, parameters: list[str]) -> _UrlParts:
    """Reduce a video's URL to its id; other parameters tell the sharer, the playlist and the start time."""
    match = _VIDEO_PATH.fullmatch(path)
    video_ids = [parameter for parameter in parameters if parameter.startswith("v=")] if path == "/watch" else []
    if match:
        return host, "/watch", [f"v={match[1]}"]
    if video_ids:
        return host, path, video_ids[:1]
    return (
        host,
        path,
        [parameter for parameter in parameters if not parameter.startswith(("si=", "feature=", "ab_channel=", "pp="))],
    )


def _youtube_short(_host: str, path: str, parameters: list[str]) -> _UrlParts:
    return _youtube("youtube.com", f"/v{path}".rstrip("/"), parameters)


def _substack_share(host: str, path: str, parameters: list[str]) -> _UrlParts:
    """Resolve the share button's link: `open.substack.com/pub/NAME/p/POST`."""
    match = _SHARED_POST.fullmatch(path)
    return (f"{match[1].lower()}.substack.com", f"/p/{match[2]}", []) if match else (host, path, parameters)


def _google_news(host: str, path: str, parameters: list[str]) -> _UrlParts:
    """Reduce an article's URL to its path, without language and list."""
    article = path.removeprefix("/rss")
    return (host, article, []) if article.startswith("/articles/") else (host, path, parameters)


_SITE_RULES: dict[str, Callable[[str, str, list[str]], _UrlParts]] = {
    "reddit.com": _reddit,
    "redd.it": _reddit_short,
    "x.com": _x,
    "youtube.com": _youtube,
    "youtu.be": _youtube_short,
    "open.substack.com": _substack_share,
    "news.google.com": _google_news,
}
