"""Simulated servers of the sample's sources, as an httpx transport. No socket is opened.

Feeds are templates in which `{{ago 26h iso}}` is replaced by the time 26 hours before now. Images are generated: bar
charts whose colors depend on the URL. Hacker News is both of its APIs, Algolia's search and Firebase's lists and items
of the same stories; X is the user lookup and that user's timeline of API v2.
"""

import gzip
import hashlib
import json
import operator
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import httpx

from copydesk.errors import UnreachableError
from copydesk.model.serialization import format_iso
from copydesk.network.client import host_name
from copydesk.sample import BEARER

Post = dict[str, Any]

_EARLIEST = datetime.min.replace(tzinfo=UTC).isoformat()
_MAX_ID = str(2**63)
_REFERENCE_TYPES = {"replies": "replied_to", "retweets": "retweeted"}

Hit = dict[str, Any]

_CONDITION = re.compile(r"(\w{1,40})(<=|>=|<|>|=)(\d{1,15})")
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
_TAGS = {"ask": "ask_hn", "show": "show_hn", "job": "job"}

WIDTH, HEIGHT, BARS = 600, 315, 12

_PLACEHOLDER = re.compile(r"\{\{ago ((?:\d{1,4}[dhm]){1,3}) (\w{1,8})\}\}")
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}
_FORMATTERS: dict[str, Callable[[datetime], str]] = {
    "rfc822": lambda instant: format_datetime(instant, usegmt=True),
    "iso": lambda instant: f"{instant:%Y-%m-%dT%H:%M:%SZ}",
    "ms": format_iso,
    "epoch": lambda instant: str(int(instant.timestamp())),
}

_RSS = "application/rss+xml; charset=utf-8"
_ATOM = "application/atom+xml; charset=utf-8"
_JSON = "application/json; charset=utf-8"

_FILES = {
    "lighthouse.example/feed.xml": ("lighthouse.xml", _RSS),
    "smallhours.example/atom.xml": ("smallhours.xml", _ATOM),
    "harbour-notes.example/feed.json": ("harbour-notes.json", "application/feed+json"),
    "papertrail.example/": ("papertrail.html", "text/html; charset=utf-8"),
    "papertrail.example/feeds/all.xml": ("papertrail.xml", "text/xml; charset=utf-8"),
    "fieldnotes.example/feed": ("fieldnotes.xml", "application/xml; charset=utf-8"),
}
"""Host and path -> template and content type."""
_REDIRECTS = {"smallhours.example/feed": "https://smallhours.example/atom.xml"}
_IMAGE_EXTENSIONS, _SUBSTACK_IMAGE_HOST = (".png", ".jpg"), "substackcdn.com"
_FAILING_HOST = "signal-mast.example"
_GZIP_HOST = "lighthouse.example"
_SUBREDDIT = re.compile(r"/r/harbourdev(?:/(?:hot|new|top|rising))?/?\.rss", re.IGNORECASE)
_HACKER_NEWS_LIST = re.compile(r"/v0/(top|new|best|ask|show|job)stories\.json")
_HACKER_NEWS_ITEM = re.compile(r"/v0/item/(\d{1,15})\.json")

_OWN_DESK_HINT = "Open your own desk with `copydesk`."


def find_x_account(account: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the response to a user lookup. An unknown name gives an error object with status 200, as X does."""
    if name.lower() == account["user"]["username"].lower():
        return {"data": account["user"]}
    detail = f"Could not find user with username: [{name}]."
    return {"errors": [{"value": name, "detail": detail, "title": "Not Found Error", "parameter": "username"}]}


def x_timeline(account: dict[str, Any], query: dict[str, str]) -> dict[str, Any]:
    """Return a page of the account's posts, newest first, filtered by ids, `start_time` and `exclude`."""
    posts = [post for post in account["posts"] if _matches_x_query(post, query)]
    start = int(query.get("pagination_token", "0"))
    end = start + int(query.get("max_results", "10"))
    page = posts[start:end]
    # X omits `data` and `includes` from an empty page.
    if not page:
        return {"meta": {"result_count": 0}}
    meta = {"result_count": len(page), "newest_id": page[0]["id"], "oldest_id": page[-1]["id"]}
    if end < len(posts):
        meta["next_token"] = str(end)
    return {"data": page, "includes": {"users": [account["user"]]}, "meta": meta}


def _matches_x_query(post: Post, query: dict[str, str]) -> bool:
    excluded = {_REFERENCE_TYPES.get(name) for name in query.get("exclude", "").split(",")}
    kinds = {reference["type"] for reference in post.get("referenced_tweets", ())}
    return (
        int(query.get("since_id", "0")) < int(post["id"]) < int(query.get("until_id", _MAX_ID))
        and _parse_time(post["created_at"]) >= _parse_time(query.get("start_time", _EARLIEST))
        and not kinds & excluded
    )


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


class UnknownAttributeError(ValueError):
    """`numericFilters` contains an attribute that Algolia cannot filter by."""


def search_hacker_news(hits: Sequence[Hit], query: dict[str, str], *, by_date: bool) -> dict[str, Any]:
    """Return Algolia's response to `query`. Raise UnknownAttributeError."""
    conditions = _parse_filters(query.get("numericFilters", ""))
    matches = [hit for hit in hits if _matches_tags(hit, query.get("tags", "")) and _matches_filters(hit, conditions)]
    matches = [hit for hit in matches if _matches_text(hit, query.get("query", ""))]
    matches.sort(key=lambda hit: hit["created_at_i"] if by_date else hit["points"], reverse=True)
    size = int(query.get("hitsPerPage", "20"))
    page = int(query.get("page", "0"))
    return {
        "hits": matches[page * size : (page + 1) * size],
        "nbHits": len(matches),
        "page": page,
        # Ceiling division.
        "nbPages": -(-len(matches) // max(size, 1)),
        "hitsPerPage": size,
        "exhaustiveNbHits": True,
        "query": query.get("query", ""),
        "processingTimeMS": 1,
    }


def list_hacker_news_ids(hits: Sequence[Hit], name: str) -> list[int]:
    """Return the ids in Firebase's list `name`: top, new, best, ask, show or job."""
    tag = "front_page" if name == "top" else _TAGS.get(name, "story")
    order = "points" if name in {"top", "best"} else "created_at_i"
    matches = [hit for hit in hits if tag in hit["_tags"]]
    return [int(hit["objectID"]) for hit in sorted(matches, key=lambda hit: hit[order], reverse=True)]


def get_hacker_news_item(hits: Sequence[Hit], item_id: str) -> dict[str, Any] | None:
    """Return the item in Firebase's format, or None (JSON `null`) for an unknown id."""
    for hit in hits:
        if hit["objectID"] == item_id:
            return _to_item(hit)
    return None


def _to_item(hit: Hit) -> dict[str, Any]:
    story = {
        "by": hit["author"],
        "descendants": hit["num_comments"],
        "id": int(hit["objectID"]),
        "score": hit["points"],
        "time": hit["created_at_i"],
        "title": hit["title"],
        "type": "story",
    }
    extras = {"url": hit["url"], "text": hit.get("story_text")}
    return story | {name: value for name, value in extras.items() if value}


def _parse_filters(filters: str) -> list[tuple[Callable[[int, int], bool], int]]:
    parsed = _CONDITION.findall(filters)
    for name, _, _ in parsed:
        if name != "created_at_i":
            raise UnknownAttributeError(name)
    return [(_COMPARE[sign], int(number)) for _, sign, number in parsed]


def _matches_filters(hit: Hit, conditions: Sequence[tuple[Callable[[int, int], bool], int]]) -> bool:
    return all(compare(hit["created_at_i"], number) for compare, number in conditions)


def _matches_tags(hit: Hit, tags: str) -> bool:
    """Return True if the hit matches Algolia's tags: commas mean AND, and inside parentheses OR."""
    groups = re.findall(r"\(([^()]*)\)|([^,()]+)", tags)
    return all(set((either or single).split(",")) & set(hit["_tags"]) for either, single in groups)


def _matches_text(hit: Hit, query: str) -> bool:
    text = f"{hit['title']} {hit.get('story_text') or ''}".lower()
    return all(word in text for word in query.lower().replace('"', " ").split())


@cache
def generate_png(address: str) -> bytes:
    """Return a PNG for the address; equal addresses give equal images."""
    seed = zlib.crc32(address.encode())
    colours = [
        (40 + (seed >> shift) % 120, 60 + (seed >> shift + 3) % 120, 90 + (seed >> shift + 6) % 120) for shift in (0, 8)
    ]
    heights = [HEIGHT * (2 + (seed >> bar) % 7) // 10 for bar in range(BARS)]
    rows = bytearray()
    for y in range(HEIGHT):
        rows.append(0)  # PNG filter type 0: none
        for height in heights:
            rows += bytes(colours[y >= HEIGHT - height]) * (WIDTH // BARS)
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(rows), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def render(name: str, now: datetime) -> str:
    """Return the sample file `name` with every placeholder replaced. `now` is in UTC."""
    template = files("copydesk.sample").joinpath("feeds", name).read_text(encoding="utf-8")
    return fill(template, now)


def fill(template: str, now: datetime) -> str:
    """Return `template` with every placeholder replaced.

    A placeholder is `{{ago SPAN FORM}}`: SPAN such as `3h`, `2h40m` or `9d`; FORM one of rfc822, iso, ms (ISO with
    milliseconds) and epoch (whole seconds). Raise KeyError for another form.
    """
    return _PLACEHOLDER.sub(lambda match: _FORMATTERS[match[2]](now - _parse_span(match[1])), template)


def _parse_span(text: str) -> timedelta:
    parts = re.findall(r"(\d+)([dhm])", text)
    return timedelta(**{_UNITS[unit]: int(number) for number, unit in parts})


class _Response(NamedTuple):
    status: int
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: dict[str, str] = {}


_NOT_FOUND = _Response(404, b"Not found\n")


class SampleTransport(httpx.AsyncBaseTransport):
    """Transport that answers for the hosts of the sample's sources; other hosts are unreachable.

    All times in responses are relative to `now` (aware, UTC), so equal requests get equal responses.
    """

    def __init__(self, now: datetime) -> None:
        self.set_time(now)

    def set_time(self, now: datetime) -> None:
        """Set the time to which the times in responses are relative."""
        self._now = now.replace(microsecond=0)
        self._hosts: dict[str, Callable[[httpx.Request], _Response]] = {
            "www.reddit.com": self._serve_reddit,
            "news.google.com": self._serve_google_news,
            "hn.algolia.com": self._serve_algolia,
            "hacker-news.firebaseio.com": self._serve_firebase,
            "api.x.com": self._serve_x,
            _FAILING_HOST: lambda _: _Response(503, b"The mast is being painted. Please come back later.\n"),
        }
        for address in _FILES:
            self._hosts[address.partition("/")[0]] = self._serve_site
        self._hosts[_SUBSTACK_IMAGE_HOST] = self._serve_site

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response to `request`. Raise UnreachableError if the host is not part of the sample."""
        host = self._hosts.get(host_name(request.url))
        if host is None:
            # A message of its own: a plain connection error would suggest that the user's network is down.
            netloc = request.url.netloc.decode("ascii")
            raise UnreachableError(
                f"Cannot fetch {netloc}: the sample desk reads only its own sources.", hint=_OWN_DESK_HINT
            )
        if request.method not in {"GET", "HEAD"}:
            return self._build_response(request, _Response(405, headers={"Allow": "GET, HEAD"}))
        return self._build_response(request, host(request))

    def _serve_site(self, request: httpx.Request) -> _Response:
        address = request.url.host + request.url.path
        if address in _REDIRECTS:
            return _Response(301, headers={"Location": _REDIRECTS[address]})
        if address.endswith(_IMAGE_EXTENSIONS):
            return _Response(200, generate_png(address), "image/png")
        if address not in _FILES:
            return _NOT_FOUND
        name, content_type = _FILES[address]
        return self._serve_file(name, content_type)

    def _serve_reddit(self, request: httpx.Request) -> _Response:
        return self._serve_file("reddit.xml", _ATOM) if _SUBREDDIT.fullmatch(request.url.path) else _NOT_FOUND

    def _serve_google_news(self, request: httpx.Request) -> _Response:
        if request.url.path.rstrip("/") not in {"/rss", "/rss/search"}:
            return _NOT_FOUND
        return self._serve_file("google-news.xml", "application/xml; charset=utf-8")

    def _serve_algolia(self, request: httpx.Request) -> _Response:
        endpoint = request.url.path.removeprefix("/api/v1/")
        if endpoint not in {"search", "search_by_date"}:
            return _NOT_FOUND
        try:
            results = search_hacker_news(
                self._load_stories(), _query_params(request), by_date=endpoint == "search_by_date"
            )
        except UnknownAttributeError as error:
            message = (
                f"invalid numeric attribute({error}), attribute not specified in numericAttributesForFiltering setting"
            )
            return _json_response({"code": 400, "message": message}, status=400)
        return _json_response(results)

    def _serve_firebase(self, request: httpx.Request) -> _Response:
        if match := _HACKER_NEWS_LIST.fullmatch(request.url.path):
            return _json_response(list_hacker_news_ids(self._load_stories(), match[1]))
        if match := _HACKER_NEWS_ITEM.fullmatch(request.url.path):
            return _json_response(get_hacker_news_item(self._load_stories(), match[1]))
        return _NOT_FOUND

    def _serve_x(self, request: httpx.Request) -> _Response:
        if request.headers.get("Authorization") != f"Bearer {BEARER}":
            problem = {"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"}
            return _json_response(problem, status=401)
        account = json.loads(render("x.json", self._now))
        path = request.url.path
        if path.startswith("/2/users/by/username/"):
            return _json_response(find_x_account(account, path.rpartition("/")[2]))
        if path == f"/2/users/{account['user']['id']}/tweets":
            return _json_response(x_timeline(account, _query_params(request)))
        return _json_response(
            {"title": "Not Found", "type": "about:blank", "status": 404, "detail": "Not Found"}, status=404
        )

    def _load_stories(self) -> list[Hit]:
        stories: list[Hit] = json.loads(render("hacker-news.json", self._now))
        return stories

    def _serve_file(self, name: str, content_type: str) -> _Response:
        return _Response(200, render(name, self._now).encode(), content_type)

    def _build_response(self, request: httpx.Request, answer: _Response) -> httpx.Response:
        headers = {"Content-Type": answer.content_type, **answer.headers}
        body = answer.body
        if answer.status == 200:
            etag = f'"{hashlib.blake2b(body, digest_size=8).hexdigest()}"'
            headers |= {"ETag": etag, "Last-Modified": format_datetime(self._now, usegmt=True)}
            if _is_not_modified(request, headers):
                return httpx.Response(304, headers=headers, stream=httpx.ByteStream(b""))
        if request.url.host == _GZIP_HOST and "gzip" in request.headers.get("Accept-Encoding", ""):
            # mtime=0: equal content must give equal bytes.
            body = gzip.compress(body, mtime=0)
            headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        headers["Content-Length"] = str(len(body))
        # A stream, as from a socket: a body passed as `content` cannot be read raw.
        stream = httpx.ByteStream(body if request.method == "GET" else b"")
        return httpx.Response(answer.status, headers=headers, stream=stream)


def _is_not_modified(request: httpx.Request, headers: dict[str, str]) -> bool:
    """Return True if the client's cached response is current. If-None-Match takes precedence (RFC 9110, 13.2.2)."""
    if "If-None-Match" in request.headers:
        tags = {tag.strip().removeprefix("W/") for tag in request.headers["If-None-Match"].split(",")}
        return bool(tags & {headers["ETag"], "*"})
    return bool(request.headers.get("If-Modified-Since") == headers["Last-Modified"])


def _json_response(value: Any, *, status: int = 200) -> _Response:
    return _Response(status, json.dumps(value, ensure_ascii=False).encode(), _JSON)


def _query_params(request: httpx.Request) -> dict[str, str]:
    """Return the query parameters; repeated ones are joined with commas."""
    query = request.url.params
    return {name: ",".join(query.get_list(name)) for name in query}


class SampleClock:
    """A clock that can be set back while the past of the desk is made."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._age = timedelta(0)

    def __call__(self) -> datetime:
        return self._clock() - self._age

    @contextmanager
    def set_back(self, age: timedelta) -> Iterator[None]:
        """Let the clock be behind by `age` inside the context."""
        self._age = age
        try:
            yield
        finally:
            self._age = timedelta(0)
