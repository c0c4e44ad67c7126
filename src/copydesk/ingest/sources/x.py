"""Source type twitter: the posts of one account on X, by API v2 with a bearer token.

Each post read costs money. A source therefore has a budget per UTC day, requests only posts newer than the newest it
has, and caches the account's id. Posts that it does not get to are stored as a gap and read later.

Reference: https://docs.x.com/x-api/users/get-posts and .../users/get-user-by-username.
"""

import contextlib
import html
import re
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from copydesk import text
from copydesk.errors import (
    FetchError,
    LoginRequiredError,
    NotAFeedError,
    PageNotFoundError,
    RateLimitedError,
    ResponseStatusError,
)
from copydesk.ingest.dates import parse_date
from copydesk.ingest.entries import clamp_count, decode_json, decode_json_list, normalize_language
from copydesk.ingest.fetch_context import ACCEPT_JSON, FetchContext, FetchResult
from copydesk.ingest.html_to_text import clean_text, single_line
from copydesk.ingest.urls import parse_source_url, raise_invalid, web_url_or_none
from copydesk.model.item import Entry
from copydesk.model.source import SourceConfig

MAX_TITLE_LENGTH = 120
MAX_TEXT_LENGTH = 25_000
"""Maximum length of a long post on X."""
MAX_LINKS = 50
_OWN_HOSTS = {"x.com", "twitter.com", "t.co"}
_LINK = re.compile(r"https?://\S+")
_SENTENCE_END = re.compile(r"[.!?…](?=\s)")
_NON_LANGUAGE_CODES = {"und", "zxx", "qam", "qct", "qht", "qme", "qst"}
"""X's codes for an unknown language and for posts of only links, hashtags or media."""

SERVICE = "X"
API_URL = "https://api.x.com/2"
EXPECTED_URL = "the account's page, such as https://x.com/NAME"
FIRST_PAGE_SIZE = 20
"""Posts of the first fetch: enough to show what the account writes about."""
# Bounds of `max_results` in the API.
MAX_PAGE_SIZE = 100
MIN_PAGE_SIZE = 5
MAX_PAGES = 5
"""Pages with posts per fetch when catching up."""
MAX_REQUESTS = 32
"""Requests per fetch when catching up: X shows an account's newest 3,200 posts."""
LOOKUP_COST = 2
"""Looking up an account costs as much as two posts."""
TWEET_FIELDS = "created_at,public_metrics,entities,lang,note_tweet"
_HINTS_BY_CATEGORY = {
    # X sends 429 for rate limits and for a used-up monthly cap, and 402 for an account without credits.
    RateLimitedError.category: "If this persists, your X app has reached its usage cap: see its developer console.",
    LoginRequiredError.category: "Check COPYDESK_TWITTER__BEARER_TOKEN: the token of an X developer app that may read.",
    ResponseStatusError.category: (
        "See your X app's developer console: whether it may read posts, and has credits left."
    ),
}
_HOSTS = {"x.com", "twitter.com", "mobile.x.com", "mobile.twitter.com"}
_NAME = re.compile(r"[A-Za-z0-9_]{1,15}\Z")
_RESERVED_NAMES = {
    "home",
    "explore",
    "search",
    "i",
    "settings",
    "messages",
    "notifications",
    "hashtag",
    "intent",
    "share",
}


class Link(msgspec.Struct, frozen=True):
    """A short t.co link in a post, and its target."""

    url: str | None = None
    expanded_url: str | None = None
    unwound_url: str | None = None
    title: str | None = None

    @property
    def target(self) -> str | None:
        """The expanded URL, if it is an http(s) URL."""
        return web_url_or_none(self.unwound_url) or web_url_or_none(self.expanded_url)

    @property
    def is_external(self) -> bool:
        """True if the target is not on X."""
        host = urlsplit(self.target or "").hostname or ""
        # The last two labels: mobile.twitter.com is X, too.
        return bool(host) and ".".join(host.split(".")[-2:]) not in _OWN_HOSTS

    @property
    def is_own_media(self) -> bool:
        """True if it stands for the post's own image or video."""
        return not self.is_external and any(part in (self.target or "") for part in ("/photo/", "/video/"))


class Entities(msgspec.Struct, frozen=True):
    """Entities that X found in a text."""

    urls: tuple[Link, ...] | None = None


class LongText(msgspec.Struct, frozen=True):
    """The full text of a long post; the post's own `text` is only its beginning."""

    text: str | None = None
    entities: Entities | None = None


class Metrics(msgspec.Struct, frozen=True):
    retweet_count: int | None = None
    reply_count: int | None = None
    like_count: int | None = None
    quote_count: int | None = None

    @property
    def points(self) -> int | None:
        """Likes, reposts and quotes together; None if X reports none of them."""
        counts = (self.like_count, self.retweet_count, self.quote_count)
        reported = [value for value in counts if value is not None]
        return clamp_count(sum(reported)) if reported else None


class Post(msgspec.Struct, frozen=True):
    """A post in the API's format."""

    id: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,20}\Z")]
    text: str
    created_at: str | None = None
    lang: str | None = None
    public_metrics: Metrics | None = None
    entities: Entities | None = None
    note_tweet: LongText | None = None


def to_entry(post: Post, account_name: str) -> Entry:
    """Return the post as an entry.

    If it links to a page, that is the entry's URL and the post is its discussion.
    """
    text, links = _expanded_text(post)
    post_url = f"https://x.com/{account_name}/status/{post.id}"
    story = next((link for link in links if link.is_external), Link())
    metrics = post.public_metrics or Metrics()
    return Entry(
        ident=post.id,
        alias=post.id,
        title=_first_sentence(text)
        or _first_sentence(single_line(story.title or "", MAX_TEXT_LENGTH))
        or f"Post by @{account_name}",
        url=story.target or post_url,
        text=text,
        author=f"@{account_name}",
        published=parse_date(post.created_at or ""),
        language=None if post.lang in _NON_LANGUAGE_CODES else normalize_language(post.lang or ""),
        discussion=post_url,
        points=metrics.points,
        comments=clamp_count(metrics.reply_count),
    )


def _expanded_text(post: Post) -> tuple[str, tuple[Link, ...]]:
    """Return the full text with short links expanded, and its links. Links to the post's own media are removed."""
    long_text = post.note_tweet
    text, entities = (
        (long_text.text, long_text.entities) if long_text and long_text.text else (post.text, post.entities)
    )
    links = ((entities and entities.urls) or ())[:MAX_LINKS]
    text = text[:MAX_TEXT_LENGTH]
    for link in links:
        short_url = web_url_or_none(link.url)
        if short_url and link.target:
            # One replacement each: expanded URLs may be long, and a text may repeat a short one.
            text = text.replace(short_url, "" if link.is_own_media else link.target, 1)
    return clean_text(html.unescape(text), MAX_TEXT_LENGTH), links


def _first_sentence(text: str) -> str:
    """Return the first line without links, cut to whole sentences, else whole words, if it is too long."""
    # Bounded before the regular expressions run.
    line = text.partition("\n")[0][: 20 * MAX_TITLE_LENGTH]
    line = " ".join(_LINK.sub("", line).split()).rstrip(" :-–—")
    if len(line) <= MAX_TITLE_LENGTH:
        return line
    ends = [match.end() for match in _SENTENCE_END.finditer(line[: MAX_TITLE_LENGTH + 1])]
    if ends:
        return line[: ends[-1]]
    return f"{line[: MAX_TITLE_LENGTH - 1].rsplit(' ', 1)[0].rstrip(' ,;:')}…"


def normalize_url(url: str, config: SourceConfig) -> str:  # noqa: ARG001 - every type has this form
    """Return `https://x.com/NAME`. Raise InvalidError."""
    if url.strip().startswith("@"):
        url = f"https://x.com/{url.strip()[1:]}"
    parts = parse_source_url(url, expected=EXPECTED_URL)
    if (parts.hostname or "").removeprefix("www.") not in _HOSTS:
        raise_invalid("url", f"is not an X address; use {EXPECTED_URL}")
    name = parts.path.strip("/").split("/")[0].removeprefix("@")
    if not _NAME.match(name) or name.lower() in _RESERVED_NAMES:
        raise_invalid("url", f"does not name an account; use {EXPECTED_URL}")
    return f"https://x.com/{name}"


async def fetch(ctx: FetchContext) -> FetchResult:
    """Fetch the account's new posts, newest first.

    Raise FetchError; RateLimitedError without any request if today's budget is used up.
    """
    name = normalize_url(ctx.spec.url, ctx.spec.config).rsplit("/", 1)[1]
    previous = _AccountState.from_cursor(ctx.state.cursor, name)
    api = _ApiClient(ctx)
    api.check_budget(LOOKUP_COST if previous.user_id is None else 0)
    user_id = previous.user_id or await api.get_user_id(name)
    try:
        posts, current = await _fetch_new_posts(api, previous._replace(user_id=user_id))
    except FetchError as error:
        if previous.user_id is not None:
            raise
        # Store the id and the cost of the lookup, which has been paid for, although the fetch failed.
        cursor = previous._replace(user_id=user_id).to_cursor(api)
        return FetchResult(cursor=cursor, error=error)
    return FetchResult(
        entries=tuple(to_entry(post, name) for post in posts),
        unchanged=not posts and previous.newest_id is not None,
        cursor=current.to_cursor(api),
        feed_title=f"@{name}",
    )


class _AccountState(NamedTuple):
    """State of an account between fetches: ids, and the gap of posts not read yet."""

    name: str
    user_id: str | None = None
    newest_id: str | None = None
    gap_since: str | None = None
    gap_until: str | None = None

    @classmethod
    def from_cursor(cls, cursor: dict[str, str], name: str) -> "_AccountState":
        """Load the state from the cursor; empty if the cursor belongs to another account."""
        if cursor.get("name", "").lower() != name.lower():
            return cls(name)
        return cls(name, *(cursor.get(field) for field in cls._fields[1:]))

    def to_cursor(self, api: "_ApiClient") -> dict[str, str]:
        """Return the cursor with this state and the number of posts read today."""
        state = {field: value for field, value in self._asdict().items() if value is not None}
        return {**state, "reads_day": api.today, "reads": str(api.reads)}


class _Problem(msgspec.Struct, frozen=True):
    title: str | None = None
    detail: str | None = None
    type: str | None = None


class _Account(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,20}\Z")]


class _AccountResponse(msgspec.Struct, frozen=True):
    data: _Account | None = None
    errors: tuple[_Problem, ...] | None = None


class _Meta(msgspec.Struct, frozen=True):
    next_token: str | None = None


class _PostsResponse(msgspec.Struct, frozen=True):
    data: tuple[msgspec.Raw, ...] | None = None
    meta: _Meta | None = None
    errors: tuple[_Problem, ...] | None = None


class _ApiClient:
    """Client for X that counts the cost of its requests."""

    def __init__(self, ctx: FetchContext) -> None:
        if not ctx.credentials.twitter_bearer_token:
            raise LoginRequiredError(
                "Reading X needs a bearer token, and none is set.",
                hint="Set COPYDESK_TWITTER__BEARER_TOKEN to the token of your X developer app.",
            )
        self.ctx = ctx
        self.headers = {"Authorization": f"Bearer {ctx.credentials.twitter_bearer_token}"}
        self.today = ctx.now.date().isoformat()
        cursor = ctx.state.cursor
        stored_reads = cursor.get("reads", "") if cursor.get("reads_day") == self.today else ""
        self.reads = int(stored_reads) if stored_reads.isdecimal() else 0

    @property
    def remaining_reads(self) -> int:
        """Posts that may still be read today."""
        return self.ctx.credentials.twitter_daily_reads - self.reads

    def check_budget(self, cost: int) -> None:
        """Raise RateLimitedError unless the budget covers `cost` and a page of the minimum size."""
        if self.remaining_reads >= cost + MIN_PAGE_SIZE:
            return
        budget = self.ctx.credentials.twitter_daily_reads
        raise RateLimitedError(
            f"Today's budget for reading this account is used up ({self.reads} of {budget} posts).",
            hint="It resets at midnight UTC; the setting is twitter.daily_read_budget.",
            retry_after=_seconds_until_midnight(self.ctx.now),
        )

    async def get_user_id(self, name: str) -> str:
        """Look up the account's id. Raise PageNotFoundError if there is no such account."""
        response = decode_json(await self._get(f"users/by/username/{quote(name)}"), _AccountResponse, SERVICE)
        if response.data is None:
            raise PageNotFoundError(f"X has no account @{name}{_detail(response.errors)}.")
        self.reads += LOOKUP_COST
        return response.data.id

    async def get_posts(self, user_id: str, max_results: int, **params: str | None) -> tuple[list[Post], str | None]:
        """Fetch one page of an account's posts, newest first. Return them with the token of the next page."""
        parameters = {
            # Never more posts than the budget allows, but X accepts no less than the minimum.
            "max_results": str(max(MIN_PAGE_SIZE, min(max_results, MAX_PAGE_SIZE, self.remaining_reads))),
            "exclude": _excluded_types(self.ctx.spec.config),
            "tweet.fields": TWEET_FIELDS,
            **params,
        }
        query = urlencode({name: value for name, value in parameters.items() if value}, safe=",")
        response = decode_json(await self._get(f"users/{user_id}/tweets?{query}"), _PostsResponse, SERVICE)
        # X reports a protected or suspended account with status 200.
        if response.errors and not response.data:
            raise LoginRequiredError(f"X does not show this account's posts{_detail(response.errors)}.")
        if response.data is None and response.meta is None:
            raise NotAFeedError("X returned an unexpected response.")
        self.reads += len(response.data or ())
        token = response.meta.next_token if response.meta else None
        return decode_json_list(response.data or (), Post, SERVICE), token

    async def _get(self, path: str) -> bytes:
        url = f"{API_URL}/{path}"
        try:
            return (await self.ctx.http.get(url, accept=ACCEPT_JSON, headers=self.headers)).body
        except (RateLimitedError, LoginRequiredError, ResponseStatusError) as error:
            hint = _HINTS_BY_CATEGORY[error.category]
            raise type(error)(error.message, hint=hint, retry_after=error.retry_after) from error


async def _fetch_new_posts(api: _ApiClient, previous: _AccountState) -> tuple[list[Post], _AccountState]:
    """Fetch the posts newer than the newest stored, then those of a gap. Return them with the new state."""
    assert previous.user_id is not None
    if previous.newest_id is None:
        posts, _ = await api.get_posts(previous.user_id, FIRST_PAGE_SIZE)
        return posts, previous._replace(newest_id=_newest_id(posts, None))
    posts, oldest_read = await _fetch_range(api, previous.user_id, previous.newest_id)
    current = previous._replace(newest_id=_newest_id(posts, previous.newest_id))
    if oldest_read is not None:
        # An older gap lies below this one. They are merged, and the posts between them are read again.
        return posts, current._replace(gap_since=previous.gap_since or previous.newest_id, gap_until=oldest_read)
    if previous.gap_since is None or previous.gap_until is None or api.remaining_reads < MIN_PAGE_SIZE:
        return posts, current
    # The new posts are already paid for: a failure in the gap must not lose them.
    with contextlib.suppress(FetchError):
        older, oldest_read = await _fetch_range(api, previous.user_id, previous.gap_since, previous.gap_until)
        posts += older
        current = current._replace(gap_since=previous.gap_since if oldest_read else None, gap_until=oldest_read)
    return posts, current


async def _fetch_range(
    api: _ApiClient, user_id: str, since: str, until: str | None = None
) -> tuple[list[Post], str | None]:
    """Fetch the posts between two ids. Return them, and the oldest id read if the range was not finished.

    Raise FetchError only if the first page fails.
    """
    posts, token = await api.get_posts(user_id, MAX_PAGE_SIZE, since_id=since, until_id=until)
    # A page is empty if all its posts are excluded, such as replies. It costs nothing and has no id to go on from.
    page_count = 1 if posts else 0
    for _ in range(MAX_REQUESTS - 1):
        if token is None or page_count == MAX_PAGES or api.remaining_reads < MIN_PAGE_SIZE:
            break
        try:
            page, token = await api.get_posts(
                user_id, MAX_PAGE_SIZE, since_id=since, until_id=until, pagination_token=token
            )
        # Posts of earlier pages are paid for: return them, and leave the rest as a gap.
        except FetchError:
            break
        posts += page
        page_count += 1 if page else 0
    if token is None:
        return posts, None
    return posts, min((post.id for post in posts), key=int, default=until)


def _newest_id(posts: list[Post], stored: str | None) -> str | None:
    # Compared as numbers: ids grow over time, and so does their length.
    return max([*(post.id for post in posts), *([stored] if stored else [])], key=int, default=None)


def _excluded_types(config: SourceConfig) -> str:
    exclusions = {"replies": not config.replies, "retweets": not config.reposts}
    return ",".join(post_type for post_type, is_excluded in exclusions.items() if is_excluded)


def _seconds_until_midnight(now: datetime) -> float:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (midnight - now).total_seconds()


def _detail(problems: tuple[_Problem, ...] | None) -> str:
    """Return the API's explanation in brackets, or an empty string."""
    explanation = next((problem.detail or problem.title or "" for problem in problems or ()), "")
    return f" ({text.clean(explanation)[:150].rstrip('.')})" if explanation else ""
