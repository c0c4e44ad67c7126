"""The `Platform` protocol: what a platform accepts and charges, how a post is created there and found again.

A post is sent in steps. A step is one request that creates something: one post of a thread, a whole thread where the
platform accepts it in one request, or the hidden draft of an article. The step's body and its keys (by which the result
is found again) are fixed before the first byte is sent and do not change afterwards.

Idempotency keys, by which a created post is found again, are derived from the delivery's seed. A delivery keeps its
seed through every attempt. The first seed is derived from the draft and the account alone, whenever and in whichever
way the draft is posted, so a database restored from a backup arrives at the same keys. A deliberate repeat has the next
seed of a series that the first one determines.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import ClassVar, Protocol, runtime_checkable
from uuid import UUID, uuid5

from copydesk.errors import CopydeskError
from copydesk.model.delivery import Account, DeliveryStep, Evidence, Intent, PostMetrics, StepResult
from copydesk.model.draft import Format
from copydesk.model.engagement import MAX_METRIC
from copydesk.model.platform import CredentialField, Limits, PlatformInfo
from copydesk.model.serialization import Struct

__all__ = [
    "CLOCK_ERROR",
    "Account",
    "BrowserPlatform",
    "ConnectResult",
    "CredentialField",
    "CredentialStore",
    "DeliveryGuarantees",
    "DeliveryStep",
    "Evidence",
    "Intent",
    "Limits",
    "LoginError",
    "NotSentError",
    "Platform",
    "PlatformInfo",
    "Post",
    "PostImage",
    "PostMetrics",
    "PostingError",
    "Problem",
    "RefusedPostError",
    "SignIn",
    "StepResult",
    "UnknownOutcomeError",
]

RECONNECT_HINT = "Connect the account again."
"""Default hint of a `LoginError`; the desk turns it into the command to run."""

CLOCK_ERROR = timedelta(hours=15)
"""How far ahead our clock may be when posts are searched by their time: more than by any wrong time zone.

With less a post could be missed, and sent again. A post that another draft made in these hours is told apart by its id.
"""

_TID_ALPHABET = "234567abcdefghijklmnopqrstuvwxyz"
_KEY_NAMESPACE = UUID("6f1d0f0a-6a53-5f1e-9d0b-4a5e0c1f7b21")

_SEED_SPREAD = 60_000
"""Milliseconds over which the seeds of drafts that were created at the same time are spread."""


class CredentialStore(Protocol):
    """Storage for account credentials. They appear in no database, log or error message."""

    async def read(self, account: Account) -> Mapping[str, str]:
        """Return the account's credentials by name. Raise `LoginError` if there are none."""
        ...

    async def save(self, account: Account, credentials: Mapping[str, str]) -> None:
        """Replace the account's credentials; they are flushed to disk when this returns."""
        ...


class ConnectResult(Struct, frozen=True):
    """A newly connected account and its credentials."""

    account: Account
    credentials: dict[str, str]


class SignIn(Struct, frozen=True):
    """A browser sign-in that was started and not yet finished."""

    url: str
    """The authorization page to open in the browser."""
    redirect_uri: str
    """The redirect URI: the browser is sent there with the code."""
    state: str
    """Returned together with the code to prove that the code is ours; empty if the server does not return it."""
    context: dict[str, str]
    """Values that `finish_sign_in` needs from `start_sign_in`; some are secret."""


class PostImage(Struct, frozen=True):
    """One image of a post, already within the platform's limits."""

    content: bytes
    media_type: str
    width: int
    height: int
    alt: str


class Post(Struct, frozen=True):
    """The approved content to publish."""

    format: Format
    parts: tuple[str, ...]
    """The posts of a thread in order; for any other format a single text."""
    at: datetime
    """The scheduled time. Sent to platforms that accept a date, even if the post goes out later."""
    title: str = ""
    tags: tuple[str, ...] = ()
    alts: tuple[str, ...] = ()
    """Alt texts of the images, in order."""


class DeliveryGuarantees(Struct, frozen=True):
    """Guarantees of a platform against duplicate posts, and its means to tell whether a post was created."""

    idempotent: bool = False
    """True if a second request with the same keys never creates anything, without a time limit."""
    idempotency_window: timedelta = timedelta(0)
    """For this long after the first request, a request with the same keys creates nothing and returns the first
    result.
    """
    publishes_by_id: bool = False
    """True if the step after a hidden one publishes what that one created, by its id, so that it can be repeated."""
    can_read_back: bool = True
    """True if the account's posts can be read back."""
    settle_time: timedelta = timedelta(seconds=90)
    """Wait this long after an unanswered request before its absence proves that nothing was created: it may still be in
    transit.
    """


class Problem(Struct, frozen=True):
    """A reason why the platform would reject the post as it is."""

    message: str
    part: int | None = None
    """Index of the post in the thread."""


class PostingError(CopydeskError):
    """A post could not be made."""

    category: ClassVar[str] = "posting"

    def __init__(self, message: str = "", *, hint: str = "", retry_after: datetime | None = None) -> None:
        self.retry_after = retry_after
        """The earliest time for another request, if the platform names one."""
        super().__init__(message, hint=hint)


class RefusedPostError(PostingError):
    """The platform rejected the post as it is. Nothing was created, and repeating the request will not help."""

    category = "refused"


class LoginError(PostingError):
    """The platform does not accept the account's credentials any more.

    Nothing was created; connect the account again.
    """

    category = "needs-login"


class NotSentError(PostingError):
    """Certainly nothing was created. The request can be repeated, at `retry_after` if the platform names a time."""

    category = "not-sent"


class UnknownOutcomeError(PostingError):
    """The response, or the lack of one, does not tell whether something was created."""

    category = "unknown-outcome"


class LookupUnsupportedError(UnknownOutcomeError):
    """The server seems to offer no way to look for a post. A second lookup that ends alike confirms it."""


class Platform(Protocol):
    """One kind of server.

    Every method that uses the network may be cancelled; the outcome is then unknown. No method repeats a request that
    creates something.
    """

    info: ClassVar[PlatformInfo]

    def guarantees(self, account: Account) -> DeliveryGuarantees:
        """Return the guarantees of the account's server."""
        ...

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return the reasons why the post would be rejected, without using the network."""
        ...

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return the requests to send. All keys are derived from `seed`, the delivery's UUIDv7."""
        ...

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        """Sign in with the entered credentials. Raise `LoginError`, `NotSentError` or `RefusedPostError`."""
        ...

    async def check(self, account: Account) -> Account:
        """Return the account as its server describes it now. Raise `LoginError` or `NotSentError`."""
        ...

    # Images are passed with every attempt: the intent is stored as JSON and holds only their alt texts.
    async def send(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], images: Sequence[PostImage] = ()
    ) -> StepResult:
        """Execute the first step that has no result in `completed` and return its result.

        Raise `RefusedPostError`, `LoginError`, `NotSentError` or `UnknownOutcomeError`; callers treat any other
        exception as an unknown outcome.
        """
        ...

    async def find_post(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], since: datetime
    ) -> StepResult | None:
        """Return the result of the first step that has none in `completed`; None if it is not there.

        Only what was created since `since` counts.

        Raise `UnknownOutcomeError` if that cannot be told, `LoginError` or `NotSentError` if the account could not be
        read.
        """
        ...

    async def delete(self, account: Account, result: StepResult) -> None:
        """Delete what a step created. Something already deleted is not an error."""
        ...

    async def metrics(self, account: Account, ids: Sequence[str]) -> Mapping[str, PostMetrics | None]:
        """Return the metrics of posts by id.

        The value is None for a deleted post; a post about which the platform reports nothing has no entry.
        """
        ...


class BrowserPlatform(Platform, Protocol):
    """A platform whose accounts are connected in the user's browser (OAuth 2, RFC 8252) instead of with `connect`."""

    async def start_sign_in(self, server: str, credentials: Mapping[str, str], redirect_uri: str) -> SignIn:
        """Return the sign-in with the page to open in the browser. Raise `LoginError` or `NotSentError`."""
        ...

    async def finish_sign_in(self, server: str, sign_in: SignIn, code: str) -> ConnectResult:
        """Exchange the returned code for credentials. Raise `LoginError` or `NotSentError`."""
        ...


class Cost(Struct, frozen=True):
    """The price of a whole post: all parts of a thread and the alt texts of its images."""

    amount: Decimal
    currency: str = "USD"


@runtime_checkable
class PaidPlatform(Protocol):
    """A platform that charges per post."""

    def cost(self, post: Post, account: Account) -> Cost | None:
        """Return the price of the post; None if unknown."""
        ...


@runtime_checkable
class ReadablePlatform(Protocol):
    """A platform whose accounts list the posts that their user wrote."""

    async def list_posts(self, account: Account, limit: int) -> Sequence[str]:
        """Return the texts of the account's newest posts, at most `limit`, without replies and reposts.

        Raise `LoginError` or `NotSentError`.
        """
        ...


def post_cost(platform: Platform, post: Post, account: Account) -> Cost | None:
    """Return the price of `post` on `platform`; None if it is free or unknown."""
    return platform.cost(post, account) if isinstance(platform, PaidPlatform) else None


def require_credential(credentials: Mapping[str, str], name: str) -> str:
    """Return a credential. Raise `LoginError` if it is missing, as where the environment holds only one of several."""
    if value := credentials.get(name):
        return value
    raise LoginError(
        f"The credentials of the account have no {name}.",
        hint=f'{RECONNECT_HINT} In the environment, set all of them: {{"{name}": "…", …}}.',
    )


def reported_metrics(**counts: int | None) -> PostMetrics:
    """Return the counts that a platform sent as metrics, without those that no post can have."""
    # The database could not store them, and the metrics of all other posts would wait.
    valid = {name: count for name, count in counts.items() if count is not None and 0 <= count <= MAX_METRIC}
    return PostMetrics(**valid)


def first_seed(draft_id: str, account: str) -> str:
    """Return the seed of a draft's first delivery to an account: a UUIDv7 of the minute before the draft was created.

    Neither the text nor the due time is part of it: whatever was changed after a backup, a draft that was posted once
    meets its first post under the same keys.
    """
    return _derive_seed(f"{draft_id}/{account}", UUID(draft_id).int >> 80)


def repeat_seed(seed: str) -> str:
    """Return the seed with which a delivery is repeated after `seed`."""
    return _derive_seed(f"{seed}/repeat", UUID(seed).int >> 80)


def _derive_seed(name: str, before: int) -> str:
    """Return a UUIDv7 determined by `name`, with a time up to a minute before the millisecond `before`.

    Spread over a minute, two drafts created at once get the same TID in one of 5 * 10^10 cases, two threads of 100
    posts in one of 3 * 10^8; within one millisecond, which has 900 * 1024 TIDs (see `tid_key`), two such threads would
    in one of 5,000. A collision creates nothing: Bluesky refuses a key that exists, the lookup finds a different post
    under it, and the user is asked.
    """
    number = uuid5(_KEY_NAMESPACE, name).int
    millisecond = max(before - (number >> 80) % _SEED_SPREAD, 0)
    # UUIDv7 (RFC 9562): 48 bits of time, the version, 12 bits, the variant, 62 bits.
    return str(UUID(int=millisecond << 80 | 7 << 76 | number & ((1 << 76) - 1) & ~(3 << 62) | 2 << 62))


def uuid_key(seed: str, index: int) -> str:
    """Return the key of step `index` as a UUID, for platforms that accept any text."""
    return str(uuid5(_KEY_NAMESPACE, f"{seed}/{index}"))


def tid_key(seed: str, index: int) -> str:
    """Return the key of step `index` as a TID of the AT Protocol: 13 characters that sort by time.

    A TID has 53 bits of microseconds and 10 bits of clock id (atproto.com/specs/tid). The milliseconds are those of
    `seed`, a UUIDv7; its random bits give the microseconds within and the clock id. The keys of one seed sort by
    `index`, which must be below 100.
    """
    number = UUID(seed).int
    millisecond, random = number >> 80, number & (1 << 62) - 1
    # 900 + 99 places stay below 1000, so neighbouring milliseconds cannot overlap.
    micros = millisecond * 1000 + random % 900 + index
    value = micros << 10 | (random >> 20) & 0x3FF
    return "".join(_TID_ALPHABET[value >> shift & 31] for shift in range(60, -1, -5))


def short_key(seed: str) -> str:
    """Return ten hexadecimal characters that make a page's URL unique."""
    return uuid5(_KEY_NAMESPACE, seed).hex[:10]
