"""Simulated servers of the sample's sources, as an httpx transport. No socket is opened.

Feeds are templates in which `{{ago 26h iso}}` is replaced by the time 26 hours before now. Images are generated: bar
charts whose colors depend on the URL.
"""

import gzip
import hashlib
import json
import re
import struct
import zlib
from collections.abc import Callable
from datetime import datetime, timedelta
from email.utils import format_datetime
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import httpx

from copydesk.errors import UnreachableError
from copydesk.model.serialization import format_iso
from copydesk.sample import BEARER, hacker_news, x

WIDTH, HEIGHT, BARS = 600, 315, 12


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


_PLACEHOLDER = re.compile(r"\{\{ago ((?:\d{1,4}[dhm]){1,3}) (\w{1,8})\}\}")
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}
_FORMATTERS: dict[str, Callable[[datetime], str]] = {
    "rfc822": lambda instant: format_datetime(instant, usegmt=True),
    "iso": lambda instant: f"{instant:%Y-%m-%dT%H:%M:%SZ}",
    "ms": format_iso,
    "epoch": lambda instant: str(int(instant.timestamp())),
}


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


class _Response(NamedTuple):
    status: int
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: dict[str, str] = {}


_OWN_DESK_HINT = "Open your own desk with `copydesk`."
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
        host = self._hosts.get(request.url.host)
        if host is None:
            # A message of its own: a plain connection error would suggest that the user's network is down.
            netloc = request.url.netloc.decode("ascii")
            raise UnreachableError(
                f"{netloc} was not asked: the sample desk reads only its own sources.", hint=_OWN_DESK_HINT
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
            results = hacker_news.search(
                self._load_stories(), _query_params(request), by_date=endpoint == "search_by_date"
            )
        except hacker_news.UnknownAttributeError as error:
            message = (
                f"invalid numeric attribute({error}), attribute not specified in numericAttributesForFiltering setting"
            )
            return _json_response({"code": 400, "message": message}, status=400)
        return _json_response(results)

    def _serve_firebase(self, request: httpx.Request) -> _Response:
        if match := _HACKER_NEWS_LIST.fullmatch(request.url.path):
            return _json_response(hacker_news.list_ids(self._load_stories(), match[1]))
        if match := _HACKER_NEWS_ITEM.fullmatch(request.url.path):
            return _json_response(hacker_news.get_item(self._load_stories(), match[1]))
        return _NOT_FOUND

    def _serve_x(self, request: httpx.Request) -> _Response:
        if request.headers.get("Authorization") != f"Bearer {BEARER}":
            problem = {"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"}
            return _json_response(problem, status=401)
        account = json.loads(render("x.json", self._now))
        path = request.url.path
        if path.startswith("/2/users/by/username/"):
            return _json_response(x.lookup(account, path.rpartition("/")[2]))
        if path == f"/2/users/{account['user']['id']}/tweets":
            return _json_response(x.timeline(account, _query_params(request)))
        return _json_response(
            {"title": "Not Found", "type": "about:blank", "status": 404, "detail": "Not Found"}, status=404
        )

    def _load_stories(self) -> list[hacker_news.Hit]:
        stories: list[hacker_news.Hit] = json.loads(render("hacker-news.json", self._now))
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
