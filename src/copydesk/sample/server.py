"""The servers behind the sample's sources, as a transport of the HTTP client: no socket is opened."""

import gzip
import hashlib
import json
import re
from collections.abc import Callable
from datetime import datetime
from email.utils import format_datetime
from typing import Any, NamedTuple

import httpx

from copydesk.errors import UnreachableError
from copydesk.sample import BEARER, hacker_news, x
from copydesk.sample.picture import picture
from copydesk.sample.templates import render

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
"""Host and path -> the file that is there, and its content type."""
_MOVED = {"smallhours.example/feed": "https://smallhours.example/atom.xml"}
_PICTURES, _PICTURES_OF_SUBSTACK = (".png", ".jpg"), "substackcdn.com"
_DOWN = "signal-mast.example"
_ZIPPED = "lighthouse.example"
_SUBREDDIT = re.compile(r"/r/harbourdev(?:/(?:hot|new|top|rising))?/?\.rss", re.IGNORECASE)
_HACKER_NEWS_LIST = re.compile(r"/v0/(top|new|best|ask|show|job)stories\.json")
_HACKER_NEWS_ITEM = re.compile(r"/v0/item/(\d{1,15})\.json")


class _Answer(NamedTuple):
    status: int
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: dict[str, str] = {}


_OWN = "Open your own desk with `copydesk`."
_NOT_FOUND = _Answer(404, b"Not found\n")


class SampleTransport(httpx.AsyncBaseTransport):
    """Answers for the hosts of the sample's sources; any other host cannot be reached.

    Every time in the answers is relative to `now` (aware, UTC), so equal requests get equal answers.
    """

    def __init__(self, now: datetime) -> None:
        self._now = now.replace(microsecond=0)
        self._hosts: dict[str, Callable[[httpx.Request], _Answer]] = {
            "www.reddit.com": self._reddit,
            "news.google.com": self._google_news,
            "hn.algolia.com": self._algolia,
            "hacker-news.firebaseio.com": self._firebase,
            "api.x.com": self._x,
            _DOWN: lambda _: _Answer(503, b"The mast is being painted. Please come back later.\n"),
        }
        for address in _FILES:
            self._hosts[address.partition("/")[0]] = self._site
        self._hosts[_PICTURES_OF_SUBSTACK] = self._site

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer to `request`; raises UnreachableError for a host that is not part of the sample."""
        host = self._hosts.get(request.url.host)
        if host is None:
            # Not as the network would fail: nothing is wrong with the connection to the internet.
            where = request.url.netloc.decode("ascii")
            raise UnreachableError(f"{where} was not asked: the sample desk reads only its own sources.", hint=_OWN)
        if request.method not in {"GET", "HEAD"}:
            return self._send(request, _Answer(405, headers={"Allow": "GET, HEAD"}))
        return self._send(request, host(request))

    def _site(self, request: httpx.Request) -> _Answer:
        address = request.url.host + request.url.path
        if address in _MOVED:
            return _Answer(301, headers={"Location": _MOVED[address]})
        if address.endswith(_PICTURES):
            return _Answer(200, picture(address), "image/png")
        if address not in _FILES:
            return _NOT_FOUND
        name, content_type = _FILES[address]
        return self._file(name, content_type)

    def _reddit(self, request: httpx.Request) -> _Answer:
        return self._file("reddit.xml", _ATOM) if _SUBREDDIT.fullmatch(request.url.path) else _NOT_FOUND

    def _google_news(self, request: httpx.Request) -> _Answer:
        if request.url.path.rstrip("/") not in {"/rss", "/rss/search"}:
            return _NOT_FOUND
        return self._file("google-news.xml", "application/xml; charset=utf-8")

    def _algolia(self, request: httpx.Request) -> _Answer:
        call = request.url.path.removeprefix("/api/v1/")
        if call not in {"search", "search_by_date"}:
            return _NOT_FOUND
        try:
            found = hacker_news.search(self._stories(), _query(request), by_date=call == "search_by_date")
        except hacker_news.UnknownNumberError as error:
            why = (
                f"invalid numeric attribute({error}), attribute not specified in numericAttributesForFiltering setting"
            )
            return _json({"code": 400, "message": why}, status=400)
        return _json(found)

    def _firebase(self, request: httpx.Request) -> _Answer:
        if match := _HACKER_NEWS_LIST.fullmatch(request.url.path):
            return _json(hacker_news.listing(self._stories(), match[1]))
        if match := _HACKER_NEWS_ITEM.fullmatch(request.url.path):
            return _json(hacker_news.item(self._stories(), match[1]))
        return _NOT_FOUND

    def _x(self, request: httpx.Request) -> _Answer:
        if request.headers.get("Authorization") != f"Bearer {BEARER}":
            why = {"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"}
            return _json(why, status=401)
        account = json.loads(render("x.json", self._now))
        path = request.url.path
        if path.startswith("/2/users/by/username/"):
            return _json(x.lookup(account, path.rpartition("/")[2]))
        if path == f"/2/users/{account['user']['id']}/tweets":
            return _json(x.timeline(account, _query(request)))
        return _json({"title": "Not Found", "type": "about:blank", "status": 404, "detail": "Not Found"}, status=404)

    def _stories(self) -> list[hacker_news.Hit]:
        stories: list[hacker_news.Hit] = json.loads(render("hacker-news.json", self._now))
        return stories

    def _file(self, name: str, content_type: str) -> _Answer:
        return _Answer(200, render(name, self._now).encode(), content_type)

    def _send(self, request: httpx.Request, answer: _Answer) -> httpx.Response:
        headers = {"Content-Type": answer.content_type, **answer.headers}
        body = answer.body
        if answer.status == 200:
            etag = f'"{hashlib.blake2b(body, digest_size=8).hexdigest()}"'
            headers |= {"ETag": etag, "Last-Modified": format_datetime(self._now, usegmt=True)}
            if _is_known(request, headers):
                return httpx.Response(304, headers=headers, stream=httpx.ByteStream(b""))
        if request.url.host == _ZIPPED and "gzip" in request.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, mtime=0)
            headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        headers["Content-Length"] = str(len(body))
        # A stream, as a socket gives it: a body that is handed over as `content` could not be read raw.
        stream = httpx.ByteStream(body if request.method == "GET" else b"")
        return httpx.Response(answer.status, headers=headers, stream=stream)


def _is_known(request: httpx.Request, headers: dict[str, str]) -> bool:
    """Whether the client has this answer: If-None-Match alone decides where it is sent (RFC 9110, 13.2.2)."""
    if "If-None-Match" in request.headers:
        known = {tag.strip().removeprefix("W/") for tag in request.headers["If-None-Match"].split(",")}
        return bool(known & {headers["ETag"], "*"})
    return bool(request.headers.get("If-Modified-Since") == headers["Last-Modified"])


def _json(value: Any, *, status: int = 200) -> _Answer:
    return _Answer(status, json.dumps(value, ensure_ascii=False).encode(), _JSON)


def _query(request: httpx.Request) -> dict[str, str]:
    """The query's parameters; one that is repeated is joined with commas."""
    query = request.url.params
    return {name: ",".join(query.get_list(name)) for name in query}
