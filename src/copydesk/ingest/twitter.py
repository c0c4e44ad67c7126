"""twitter: the posts of one account on X, over its API v2 with a bearer token.

Every post read costs money, so a source reads within a budget for each UTC day, asks only for what is newer than
the newest post it has, and keeps the account's id. What it does not get to is remembered as a gap and read later.

The forms are those of https://docs.x.com/x-api/users/get-posts and .../users/get-user-by-username.
"""

import contextlib
import re
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from copydesk import text
from copydesk.errors import AnswerError, FetchError, MissingError, NeedsLoginError, NotAFeedError, ThrottledError
from copydesk.ingest.address import refuse, split
from copydesk.ingest.decoding import decode, rows
from copydesk.ingest.tweet import Post, entry
from copydesk.ingest.visit import JSON, Reading, Visit
from copydesk.model.source import SourceConfig

X = "X"
EXPECTED = "the account's page, such as https://x.com/NAME"
FIRST_PAGE = 20
"""Posts of the first look: they show what the account writes about, and cost money."""
LARGEST_PAGE = 100
SMALLEST_PAGE = 5
MOST_PAGES = 5
"""Pages of one look, to catch up after a gap."""
LOOKUP_COST = 2
"""An account costs twice what a post does."""
FIELDS = "created_at,public_metrics,entities,lang,note_tweet"
_HINTS = {
    # X answers 429 to too many requests and to a usage cap that is reached, and 402 to an account without credits.
    ThrottledError.category: "If this goes on, the usage cap of your X app is reached: see its developer console.",
    NeedsLoginError.category: "Check COPYDESK_TWITTER__BEARER_TOKEN: the token of an X developer app that may read.",
    AnswerError.category: "See your X app's developer console: whether it may read posts, and has credits left.",
}
_HOSTS = {"x.com", "twitter.com", "mobile.x.com", "mobile.twitter.com"}
_NAME = re.compile(r"[A-Za-z0-9_]{1,15}\Z")
_NOT_NAMES = {"home", "explore", "search", "i", "settings", "messages", "notifications", "hashtag", "intent", "share"}


def normalise(url: str, config: SourceConfig) -> str:  # noqa: ARG001 - every type has this form
    """`https://x.com/NAME`. Raises InvalidError."""
    if url.strip().startswith("@"):
        url = f"https://x.com/{url.strip()[1:]}"
    parts = split(url, expected=EXPECTED)
    if (parts.hostname or "").removeprefix("www.") not in _HOSTS:
        refuse("url", f"is not an address of X; give {EXPECTED}")
    name = parts.path.strip("/").split("/")[0].removeprefix("@")
    if not _NAME.match(name) or name.lower() in _NOT_NAMES:
        refuse("url", f"does not name an account; give {EXPECTED}")
    return f"https://x.com/{name}"


async def read(visit: Visit) -> Reading:
    """The account's posts that are new since the last look, newest first.

    Raises FetchError; ThrottledError without any request where today's budget is used up.
    """
    name = normalise(visit.spec.url, visit.spec.config).rsplit("/", 1)[1]
    past = _Past.of(visit.state.cursor, name)
    api = _Api(visit)
    api.check_budget(LOOKUP_COST if past.user_id is None else 0)
    user_id = past.user_id or await api.user_id(name)
    try:
        posts, known = await _new_posts(api, past._replace(user_id=user_id))
    except FetchError as error:
        if past.user_id is not None:
            raise
        # What the look-up cost and brought must not be lost with the error.
        kept = past._replace(user_id=user_id).cursor(api)
        return Reading(cursor=kept, failure=error)
    return Reading(
        entries=tuple(entry(post, name) for post in posts),
        unchanged=not posts and past.newest_id is not None,
        cursor=known.cursor(api),
        feed_title=f"@{name}",
    )


class _Past(NamedTuple):
    """What is remembered of an account between two looks: ids, and the posts left out so far."""

    name: str
    user_id: str | None = None
    newest_id: str | None = None
    gap_since: str | None = None
    gap_until: str | None = None

    @classmethod
    def of(cls, cursor: dict[str, str], name: str) -> "_Past":
        """What the cursor holds of this account; nothing where it is another's."""
        if cursor.get("name", "").lower() != name.lower():
            return cls(name)
        return cls(name, *(cursor.get(field) for field in cls._fields[1:]))

    def cursor(self, api: "_Api") -> dict[str, str]:
        """The cursor that holds this, and what was read today."""
        known = {field: value for field, value in self._asdict().items() if value is not None}
        return {**known, "reads_day": api.today, "reads": str(api.reads)}


class _Problem(msgspec.Struct, frozen=True):
    title: str | None = None
    detail: str | None = None
    type: str | None = None


class _Account(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,20}\Z")]


class _AccountAnswer(msgspec.Struct, frozen=True):
    data: _Account | None = None
    errors: tuple[_Problem, ...] | None = None


class _Meta(msgspec.Struct, frozen=True):
    next_token: str | None = None


class _PostsAnswer(msgspec.Struct, frozen=True):
    data: tuple[msgspec.Raw, ...] | None = None
    meta: _Meta | None = None
    errors: tuple[_Problem, ...] | None = None


class _Api:
    """Asks X with the token, and counts what it costs."""

    def __init__(self, visit: Visit) -> None:
        if not visit.credentials.twitter_bearer_token:
            raise NeedsLoginError(
                "X is read with a bearer token, and none is set.",
                hint="Set COPYDESK_TWITTER__BEARER_TOKEN to the token of your X developer app.",
            )
        self.visit = visit
        self.headers = {"Authorization": f"Bearer {visit.credentials.twitter_bearer_token}"}
        self.today = visit.now.date().isoformat()
        cursor = visit.state.cursor
        spent = cursor.get("reads", "") if cursor.get("reads_day") == self.today else ""
        self.reads = int(spent) if spent.isdecimal() else 0

    @property
    def left(self) -> int:
        """Posts that may still be read today."""
        return self.visit.credentials.twitter_daily_reads - self.reads

    def check_budget(self, cost: int) -> None:
        """Raise ThrottledError where `cost` and the smallest page are more than what is left."""
        if self.left >= cost + SMALLEST_PAGE:
            return
        budget = self.visit.credentials.twitter_daily_reads
        raise ThrottledError(
            f"Today's budget for reading this account is used up ({self.reads} of {budget} posts).",
            hint="It begins anew at midnight UTC; the setting is twitter.daily_read_budget.",
            retry_after=_until_midnight(self.visit.now),
        )

    async def user_id(self, name: str) -> str:
        """The account's id. Raises MissingError where there is no such account."""
        answer = decode(await self._get(f"users/by/username/{quote(name)}"), _AccountAnswer, X)
        if answer.data is None:
            raise MissingError(f"X knows no account @{name}{_detail(answer.errors)}.")
        self.reads += LOOKUP_COST
        return answer.data.id

    async def posts(self, user_id: str, most: int, **params: str | None) -> tuple[list[Post], str | None]:
        """One page of an account's posts, newest first, and the token of the next one."""
        asked = {
            "max_results": str(max(SMALLEST_PAGE, min(most, LARGEST_PAGE, self.left))),
            "exclude": _excluded(self.visit.spec.config),
            "tweet.fields": FIELDS,
            **params,
        }
        query = urlencode({name: value for name, value in asked.items() if value}, safe=",")
        answer = decode(await self._get(f"users/{user_id}/tweets?{query}"), _PostsAnswer, X)
        if answer.errors and not answer.data:
            raise NeedsLoginError(f"X does not show this account's posts{_detail(answer.errors)}.")
        if answer.data is None and answer.meta is None:
            raise NotAFeedError("X answered with something else than a list of posts.")
        self.reads += len(answer.data or ())
        token = answer.meta.next_token if answer.meta else None
        return rows(answer.data or (), Post, X), token

    async def _get(self, path: str) -> bytes:
        url = f"{self.visit.endpoints.twitter}/{path}"
        try:
            return (await self.visit.http.get(url, accept=JSON, headers=self.headers)).body
        except (ThrottledError, NeedsLoginError, AnswerError) as error:
            hint = _HINTS[error.category]
            raise type(error)(error.message, hint=hint, retry_after=error.retry_after) from error


async def _new_posts(api: _Api, past: _Past) -> tuple[list[Post], _Past]:
    """The posts newer than the newest known, then those of a gap, and what is to be remembered."""
    assert past.user_id is not None
    if past.newest_id is None:
        posts, _ = await api.posts(past.user_id, FIRST_PAGE)
        return posts, past._replace(newest_id=_newest(posts, None))
    posts, reached = await _walk(api, past.user_id, past.newest_id)
    known = past._replace(newest_id=_newest(posts, past.newest_id))
    if reached is not None:
        # An older gap lies below this one. Both become one, and the posts between them are read once more.
        return posts, known._replace(gap_since=past.gap_since or past.newest_id, gap_until=reached)
    if past.gap_since is None or past.gap_until is None or api.left < SMALLEST_PAGE:
        return posts, known
    with contextlib.suppress(FetchError):
        older, reached = await _walk(api, past.user_id, past.gap_since, past.gap_until)
        posts += older
        known = known._replace(gap_since=past.gap_since if reached else None, gap_until=reached)
    return posts, known


async def _walk(api: _Api, user_id: str, since: str, until: str | None = None) -> tuple[list[Post], str | None]:
    """The posts between two ids, and the id down to which they were read where that was not all.

    Raises FetchError only if the first page fails.
    """
    posts, token = await api.posts(user_id, LARGEST_PAGE, since_id=since, until_id=until)
    for _ in range(MOST_PAGES - 1):
        if token is None or api.left < SMALLEST_PAGE:
            break
        try:
            page, token = await api.posts(user_id, LARGEST_PAGE, since_id=since, until_id=until, pagination_token=token)
        except FetchError:
            break
        posts += page
    if token is None:
        return posts, None
    return posts, min((post.id for post in posts), key=int, default=until)


def _newest(posts: list[Post], known: str | None) -> str | None:
    return max([*(post.id for post in posts), *([known] if known else [])], key=int, default=None)


def _excluded(config: SourceConfig) -> str:
    unwanted = {"replies": not config.replies, "retweets": not config.reposts}
    return ",".join(kind for kind, left_out in unwanted.items() if left_out)


def _until_midnight(now: datetime) -> float:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (midnight - now).total_seconds()


def _detail(problems: tuple[_Problem, ...] | None) -> str:
    """What the API says about it, in brackets."""
    said = next((problem.detail or problem.title or "" for problem in problems or ()), "")
    return f" ({text.clean(said)[:150].rstrip('.')})" if said else ""
