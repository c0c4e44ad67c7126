"""Reddit's API, for those who have an application there: listings in JSON, with points and comments.

Forms: https://www.reddit.com/dev/api and https://github.com/reddit-archive/reddit/wiki/OAuth2.
"""

import base64
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from copydesk.errors import NeedsLoginError
from copydesk.ingest.address import web_address
from copydesk.ingest.decoding import count, decode, moment, rows
from copydesk.ingest.entry import MAX_TAG, MAX_TEXT, MAX_TITLE
from copydesk.ingest.plaintext import plain_line, plain_lines, plain_text
from copydesk.ingest.visit import JSON, Body, Http, Reading, Visit, get_body
from copydesk.model.item import Entry

SITE = "https://www.reddit.com"
REDDIT = "Reddit"
EARLY = timedelta(seconds=60)
"""A token is asked for anew so long before it expires: it must live through the request."""
LONGEST_LIFE = 86_400
_HINT = "Check COPYDESK_REDDIT__CLIENT_ID and COPYDESK_REDDIT__CLIENT_SECRET, and that the subreddit is public."


class _Token(NamedTuple):
    value: str
    until: datetime


_tokens: WeakKeyDictionary[Http, dict[str, _Token]] = WeakKeyDictionary()
"""The tokens by application; each lives as long as the client that fetched it, and is never written anywhere."""


class _TokenAnswer(msgspec.Struct, frozen=True):
    access_token: Annotated[str, msgspec.Meta(pattern=r"^[!-~]{1,4000}\Z")] | None = None
    expires_in: float | None = None


class _Children(msgspec.Struct, frozen=True):
    children: tuple[msgspec.Raw, ...]


class _Listing(msgspec.Struct, frozen=True):
    data: _Children


class _Post(msgspec.Struct, frozen=True):
    """A link or a text that somebody submitted."""

    name: Annotated[str, msgspec.Meta(pattern=r"^t3_[a-z0-9]{1,13}\Z")]
    title: str
    selftext: str | None = None
    selftext_html: str | None = None
    author: str | None = None
    subreddit: str | None = None
    created_utc: float | None = None
    score: int | None = None
    hide_score: bool | None = None
    num_comments: int | None = None
    url: str | None = None
    permalink: str | None = None
    is_self: bool | None = None
    over_18: bool | None = None
    stickied: bool | None = None
    removed_by_category: str | None = None


class _Thing(msgspec.Struct, frozen=True):
    data: _Post


async def read_listing(visit: Visit, path: str) -> Reading:
    """The posts of a listing, `path` being what follows the host. Raises FetchError."""
    had_token = _known_token(visit) is not None
    try:
        body = await _listing(visit, path)
    except NeedsLoginError as error:
        _tokens.pop(visit.http, None)
        if not had_token:
            raise NeedsLoginError(error.message, hint=_HINT) from error
        # Reddit may take a token back before its time.
        body = await _listing(visit, path)
    if body.unchanged:
        return body.reading()
    children = decode(body.answer.body, _Listing, REDDIT).data.children
    return body.reading(_entries(rows(children, _Thing, REDDIT)))


async def _listing(visit: Visit, path: str) -> Body:
    headers = {"Authorization": f"Bearer {await _token(visit)}"}
    return await get_body(visit, f"{visit.endpoints.reddit_oauth}{path}", accept=JSON, headers=headers)


async def _token(visit: Visit) -> str:
    """A token that is good for another minute at least."""
    known = _known_token(visit)
    if known is not None:
        return known
    assert visit.credentials.reddit is not None
    name, secret = visit.credentials.reddit
    basic = base64.b64encode(f"{name}:{secret}".encode()).decode()
    answer = await visit.http.post_form(
        f"{visit.endpoints.reddit}/api/v1/access_token",
        {"grant_type": "client_credentials"},
        {"Authorization": f"Basic {basic}"},
    )
    given = decode(answer.body, _TokenAnswer, REDDIT)
    if given.access_token is None:
        raise NeedsLoginError("Reddit gives no token for this application.", hint=_HINT)
    life = timedelta(seconds=max(0, min(given.expires_in or 0, LONGEST_LIFE)))
    _tokens.setdefault(visit.http, {})[name] = _Token(given.access_token, visit.now + life - EARLY)
    return given.access_token


def _known_token(visit: Visit) -> str | None:
    assert visit.credentials.reddit is not None
    known = _tokens.get(visit.http, {}).get(visit.credentials.reddit[0])
    return known.value if known is not None and visit.now < known.until else None


def _entries(things: Iterable[_Thing]) -> list[Entry]:
    """Every post but those that moderators pinned or somebody removed."""
    posts = (thing.data for thing in things)
    return [_entry(post) for post in posts if not post.stickied and not post.removed_by_category]


def _entry(post: _Post) -> Entry:
    discussion = f"{SITE}/comments/{post.name.removeprefix('t3_')}/"
    if post.permalink and post.permalink.startswith("/r/"):
        discussion = web_address(SITE + post.permalink) or discussion
    place = plain_line(post.subreddit or "", MAX_TAG - 2)
    tags = (f"r/{place}" if place else "", "nsfw" if post.over_18 else "")
    return Entry(
        ident=post.name,
        alias=post.name,
        title=plain_line(post.title, MAX_TITLE),
        url=(None if post.is_self else web_address(post.url)) or discussion,
        text=plain_text(post.selftext_html, MAX_TEXT)
        if post.selftext_html
        else plain_lines(post.selftext or "", MAX_TEXT),
        author=f"u/{plain_line(post.author, MAX_TAG)}" if post.author else None,
        published=moment(post.created_utc),
        discussion=discussion,
        points=None if post.hide_score else count(post.score),
        comments=count(post.num_comments),
        tags=tuple(tag for tag in tags if tag),
    )
