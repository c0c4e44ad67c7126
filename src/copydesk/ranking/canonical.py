"""An address reduced to what identifies the page: a key to compare by, never an address to post or fetch.

Two addresses with one key show the same page to a reader: http and https, `www.` and `m.`, tracking parameters,
the order of parameters, AMP pages and the several names of one video, post or tweet fold together.
"""

import re
from collections.abc import Callable
from functools import lru_cache

_MAX_LENGTH = 8192
"""Characters; a longer address identifies nothing."""

# RFC 3986, appendix B, for http and https only.
_PARTS = re.compile(r"https?://([^/?#\\]*)([^?#]*)\??([^#]*)#?(.*)", re.IGNORECASE | re.DOTALL)
_AROUND = "".join(map(chr, range(33))) + "\xa0\u200b\ufeff"
_MAX_NETLOC = 300
_NETLOC = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::([0-9]*))?")
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")
_SAME_SITE = re.compile(r"^(?:(?:www\d?|m|mobile|amp)\.)+(?=[^.]+\.)|(?:\.m)+(?=\.wikipedia\.org$)")
_DEFAULT_PORTS = ("", "80", "443")

_PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9_~!$&'()*+,;=:@-]+(?:\.[A-Za-z0-9_~-]+)*)*")
"""A path that is in its canonical spelling already: by far the most are."""
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})?|[^A-Za-z0-9._~!$&'()*+,;=:@/?-]")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN_QUERY = re.compile(r"[A-Za-z0-9._~!$'()*,;:@/?&=-]*")
_INDEX_PAGES = frozenset(
    f"{name}.{ending}" for name in ("index", "default") for ending in ("htm", "html", "php", "asp", "aspx", "jsp")
) | {"amp"}

# As facts from miniflux's urlcleaner, Neat URL's and AdGuard's lists, and from feeds we have seen.
_TRACKING_NAMES = """
    fbclid fb_action_ids fb_action_types fb_ref fb_source fb_comment_id _openstat
    hmb_campaign hmb_medium hmb_source gclid dclid gbraid wbraid gclsrc gad_source gad_campaignid srsltid
    campaign_id campaign_medium campaign_name campaign_source campaign_term campaign_content
    yclid ysclid ymclid twclid msclkid ttclid li_fat_id igshid igsh mc_cid mc_eid mc_tc wickedid
    _hsenc __hssc __hstc __hsfp _hsmi hsctatracking rb_clickid oly_anon_id oly_enc_id vero_id vero_conv mkt_tok
    sc_cid _bhlid _branch_match_id _branch_referrer __readwiselocation s_cid cmpid ocid icid ncid maca
    traffic_source ref_src ref_url __twitter_impression guccounter guce_referrer guce_referrer_sig
    smid smtyp ftag taid wt_mc jsessionid phpsessid amp outputtype isfreemail triedredirect publication_id
"""
_TRACKING = frozenset(_TRACKING_NAMES.split())
_TRACKING_PREFIXES = ("utm_", "mtm_", "pk_", "piwik_", "matomo_", "hsa_", "itm_", "stm_", "at_", "xtor")
_ORIGIN = frozenset(("ref", "source", "src", "from", "via"))
"""Parameters that may say where the reader comes from; dropped only where their value says just that."""
_CHANNEL = re.compile(
    r"(?:rss|feeds?|atom|newsletter|email|twitter|facebook|hn|hackernews|reddit)(?:-.*)?", re.IGNORECASE
)
_SITE_NAME = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}", re.IGNORECASE)
_SUBSTACK = frozenset(("post_id", "r", "showwelcomeonshare"))


def canonical_url(url: str) -> str:
    """The key of `url`, as an https address; `''` for what is no http or https address. Never raises.

    Idempotent: the key of a key is that key.
    """
    url = url.strip(_AROUND)
    parts = _PARTS.fullmatch(url) if len(url) <= _MAX_LENGTH else None
    if parts is None:
        return ""
    netloc, path, query, fragment = parts.groups()
    host = _host(netloc)
    if not host:
        return ""
    path = _path(path)
    parameters = _parameters(query, substack=path.startswith("/p/")) if query else []
    site = _SITES.get(host)
    if site is not None:
        host, path, parameters = site(host, path, parameters)
        path = _path(path)  # what was an inner segment may be the last one now
    key = f"https://{host}{path}"
    if parameters:
        key += "?" + "&".join(sorted(parameters))
    return key + _route(fragment) if fragment else key


def names_a_page(canonical: str) -> bool:
    """Whether a key has more than a host: a site's front page is not the identity of a story."""
    start = canonical.find("/", len("https://"))
    return start > 0 and len(canonical) > start + 1


@lru_cache(maxsize=4096)
def _host(netloc: str) -> str:
    """Host and unusual port, `''` for an impossible one. Few hosts make up nearly all addresses, hence the cache."""
    parts = _NETLOC.fullmatch(netloc.rpartition("@")[2])
    if parts is None or len(netloc) > _MAX_NETLOC:
        return ""
    host, port = parts[1].lower().rstrip("."), (parts[2] or "").lstrip("0")
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii").lower().rstrip(".")
        except UnicodeError:
            return ""
    if not _HOST.fullmatch(host) or len(port) > 5:
        return ""
    host = _SAME_SITE.sub("", host)
    host = _ALIASES.get(host, host)
    return host if port in _DEFAULT_PORTS else f"{host}:{port}"


def _path(path: str) -> str:
    bare = path.rstrip("/")
    if _PLAIN_PATH.fullmatch(bare):
        page = bare[bare.rfind("/") + 1 :]
        if ".amp" not in page and page.lower() not in _INDEX_PAGES:
            return bare or "/"
    else:
        path = _escape(path)
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    while segments:
        page = _without_amp(segments.pop())
        if page.lower() not in _INDEX_PAGES:
            segments.append(page)
            break
    return "/" + "/".join(segments)


def _without_amp(page: str) -> str:
    """`story.amp.html` is `story.html`, and `story.amp` is `story`."""
    if ".amp" not in page:
        return page
    stem, _, ending = page.partition(".amp")
    return stem + ending if stem.strip(".") and ending in ("", ".html") else page


def _escape(text: str) -> str:
    """`text` with what needs an escape escaped, and nothing else (RFC 3986, section 6.2.2)."""
    return _ESCAPED.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = match[1]
    if code:
        byte = int(code, 16)
        return chr(byte) if byte in _UNRESERVED else f"%{code.upper()}"
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))


def _parameters(query: str, *, substack: bool) -> list[str]:
    """The parameters that say which page it is, each as `name=value`."""
    if not _PLAIN_QUERY.fullmatch(query):
        query = _escape(query.replace("+", "%20"))
    kept = []
    for parameter in query.split("&"):
        name, _, value = parameter.partition("=")
        while name.startswith("amp;"):  # an `&amp;` that nobody turned back
            name = name[4:]
        if name and not _is_tracking(name.lower(), value, substack=substack):
            kept.append(f"{name}={value}" if value else name)
    return kept


def _is_tracking(name: str, value: str, *, substack: bool) -> bool:
    if name in _TRACKING or name.startswith(_TRACKING_PREFIXES) or (substack and name in _SUBSTACK):
        return True
    if name == "ref" and _SITE_NAME.fullmatch(value):  # Ghost puts it on every link that leaves a site
        return True
    return name in _ORIGIN and _CHANNEL.fullmatch(value) is not None


def _route(fragment: str) -> str:
    """Only a fragment that an application in the page routes by says which page it is."""
    if not fragment.startswith(("/", "!/")):
        return ""
    fragment = _escape(fragment).rstrip("/")
    return f"#{fragment}" if fragment not in ("", "!") else ""


_Address = tuple[str, str, list[str]]


def _reddit(host: str, path: str, parameters: list[str]) -> _Address:
    """A post has one number, whichever community and title stand around it; a comment's address stays."""
    segments = path.split("/")
    if segments[1] in ("r", "user", "u"):
        del segments[1:3]
    if len(segments) in (3, 4) and segments[1] == "comments":
        return host, f"/comments/{segments[2]}", []
    return host, path, parameters


def _short_reddit(_host: str, path: str, parameters: list[str]) -> _Address:
    return _reddit("reddit.com", f"/comments{path}".rstrip("/"), parameters)


def _x(host: str, path: str, parameters: list[str]) -> _Address:
    """A post has one number, whichever account stands before it; `?s=` and `?t=` say who shared it."""
    post = _X_POST.match(path)
    if post:
        return host, f"/i/status/{post[1]}", []
    return host, path, [p for p in parameters if not p.startswith(("s=", "t="))]


def _youtube(host: str, path: str, parameters: list[str]) -> _Address:
    """A video has one id; the rest says who shared it, from which list, and where to start."""
    video = _VIDEO_PATH.fullmatch(path)
    watched = [p for p in parameters if p.startswith("v=")] if path == "/watch" else []
    if video:
        return host, "/watch", [f"v={video[1]}"]
    if watched:
        return host, path, watched[:1]
    return host, path, [p for p in parameters if not p.startswith(("si=", "feature=", "ab_channel=", "pp="))]


def _short_youtube(_host: str, path: str, parameters: list[str]) -> _Address:
    return _youtube("youtube.com", f"/v{path}".rstrip("/"), parameters)


def _shared_substack(host: str, path: str, parameters: list[str]) -> _Address:
    """The link that the share button gives: `open.substack.com/pub/NAME/p/POST`."""
    post = _SHARED_POST.fullmatch(path)
    return (f"{post[1].lower()}.substack.com", f"/p/{post[2]}", []) if post else (host, path, parameters)


def _google_news(host: str, path: str, parameters: list[str]) -> _Address:
    """One article, whichever language and list it was found in."""
    article = path.removeprefix("/rss")
    return (host, article, []) if article.startswith("/articles/") else (host, path, parameters)


_X_POST = re.compile(r"/(?:[^/]+/){1,2}status(?:es)?/([0-9]+)")
_VIDEO_PATH = re.compile(r"/(?:shorts|live|embed|v)/(?!videoseries)([A-Za-z0-9_-]+)(?:/.*)?")
_SHARED_POST = re.compile(r"/pub/([A-Za-z0-9-]+)/p/([^/]+)")
_ALIASES = {
    "old.reddit.com": "reddit.com",
    "new.reddit.com": "reddit.com",
    "np.reddit.com": "reddit.com",
    "i.reddit.com": "reddit.com",
    "twitter.com": "x.com",
    "music.youtube.com": "youtube.com",
    "youtube-nocookie.com": "youtube.com",
}
_SITES: dict[str, Callable[[str, str, list[str]], _Address]] = {
    "reddit.com": _reddit,
    "redd.it": _short_reddit,
    "x.com": _x,
    "youtube.com": _youtube,
    "youtu.be": _short_youtube,
    "open.substack.com": _shared_substack,
    "news.google.com": _google_news,
}
