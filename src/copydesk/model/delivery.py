"""Accounts, and deliveries: a draft on its way to an account; reports about posts, and what would prevent them.

Values only; the state transitions are in `posting.delivery_states`. Where a field has a `name` of its own, that is how
it is stored and printed: databases and scripts have that name.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import field

from copydesk.model.draft import Draft, Format
from copydesk.model.serialization import Struct


class Account(Struct, frozen=True):
    """An account on a server of a platform. It contains no secret."""

    platform: str
    server: str
    """The base URL of requests, without a trailing slash."""
    id: str
    """The platform's identifier: a DID, a number, a URL."""
    name: str
    """The handle."""
    software: str = ""
    """The server software, as it reports itself; "" if irrelevant or unknown."""
    max_length: int | None = field(default=None, name="longest")
    """Maximum length of a post in the platform's own units; None if it is the same on every server."""

    @property
    def identity(self) -> str:
        """Platform, id and server, which stay when the account gets another handle. Seeds are derived from it."""
        return f"{self.platform}:{self.id}@{self.server}"


class ConnectedAccount(Struct, frozen=True):
    """A connected account. It contains no secret."""

    id: str
    details: Account
    connected_at: datetime
    checked_at: datetime | None
    login_error: str | None = field(name="trouble")
    """Why nothing can be posted until the user acts, such as an expired login; None if the account is usable."""
    approvals: int = 1
    """Reviewers who must have approved a draft before it is posted there."""

    @property
    def label(self) -> str:
        """The name: `bluesky:me.example`. Accounts on different servers may share it."""
        return f"{self.details.platform}:{self.details.name}"

    @property
    def names(self) -> tuple[str, str, str]:
        """The label, with the server (`mastodon:me (one.example)`), and also with the account's id there."""
        with_server = f"{self.label} ({self.details.server.partition('://')[2]})"
        return self.label, with_server, f"{with_server} ({self.details.id})"


def name_accounts(accounts: Sequence[ConnectedAccount]) -> dict[str, str]:
    """Return the name of each account by its id: the label, and where several share it what tells them apart."""
    names = {account.id: account.label for account in accounts}
    # The server is what the user knows; on the same one only the account's id there differs.
    for differences in (
        {account.id: account.details.server.partition("://")[2] for account in accounts},
        {account.id: account.details.id for account in accounts},
    ):
        counts = Counter(names.values())
        names = {key: f"{name} ({differences[key]})" if counts[name] > 1 else name for key, name in names.items()}
    return names


def account_keys(accounts: Sequence[ConnectedAccount]) -> dict[str, frozenset[str]]:
    """Return the names in lower case that select each account, by its id: platform, label, and what tells it apart."""
    names = name_accounts(accounts)
    # Also the longer names where nothing shares the label: an account that did may have been removed since.
    return {
        account.id: frozenset(key.lower() for key in (account.details.platform, *account.names, names[account.id]))
        for account in accounts
    }


def select_accounts(accounts: Sequence[ConnectedAccount], names: Sequence[str]) -> tuple[ConnectedAccount, ...]:
    """Return the accounts that match `names`, in their order.

    A name is a platform (`bluesky`), a label (`bluesky:me.example`), or one of `name_accounts`, in any case. No names
    select all accounts.
    """
    if not names:
        return tuple(accounts)
    requested = {name.strip().lower() for name in names}
    keys = account_keys(accounts)
    return tuple(account for account in accounts if requested & keys[account.id])


class DeliveryStep(Struct, frozen=True):
    """One request that creates something, with the data needed to find the result again."""

    keys: tuple[str, ...]
    """Idempotency keys chosen by us, one per object created; the same for every attempt."""
    body: dict[str, object]
    """The payload, except for values that are only known from the responses to earlier steps."""
    expects: tuple[str, ...] = ()
    """Identifiers that the platform will assign, if they can be predicted."""
    hidden: bool = False
    """True if the result is not public until a later step."""


class Intent(Struct, frozen=True):
    """The complete payload of one delivery, fixed before the first byte is sent."""

    steps: tuple[DeliveryStep, ...]
    at: datetime


class Evidence(StrEnum):
    """The reason for considering a step complete."""

    ANSWERED = "answered"
    READ_BACK = "read_back"
    """The response was lost; the result was found on the account."""
    USER = "user"
    """The user checked and confirmed it."""


class StepResult(Struct, frozen=True):
    """The result of a completed step."""

    ids: tuple[str, ...]
    urls: tuple[str, ...]
    """Public URLs; empty while the result is not public."""
    evidence: Evidence = Evidence.ANSWERED


class DeliveryState(StrEnum):
    """State of a delivery."""

    PLANNED = "planned"
    """No request is in progress. Some posts of a thread may already be published."""
    SENDING = "sending"
    UNKNOWN = "unknown"
    """A request may have succeeded; the platform will be searched for the result."""
    NEEDS_USER = "needs_user"
    """As UNKNOWN, but it cannot be determined automatically."""
    SENT = "sent"
    FAILED = "failed"
    """The platform rejects the post as it is."""
    ABANDONED = "abandoned"


class GiveUpReason(StrEnum):
    """The reason for which a delivery was given up."""

    USER = "user"
    ATTEMPTS = "attempts"
    """Too many failed attempts."""
    TOO_LATE = "too_late"
    """The grace period is over, or is by the time of the next attempt."""


FINAL_STATES = frozenset({DeliveryState.SENT, DeliveryState.FAILED, DeliveryState.ABANDONED})
"""Final: no request is in progress and none will be sent without the user."""


class Delivery(Struct, frozen=True):
    """State of a delivery. Everything about attempts refers to the first step that has no result in `results`."""

    state: DeliveryState = DeliveryState.PLANNED
    steps: int = 1
    results: tuple[StepResult, ...] = field(default=(), name="made")
    """Results of the completed steps, in order."""
    attempts: int = 0
    """Requests for the current step that did not return a result."""
    retries: int = 0
    """Requests of the whole delivery beyond the first of each step."""
    first_sent_at: datetime | None = None
    last_sent_at: datetime | None = None
    """Latest time at which a request may have left. Images are uploaded first, so it can be minutes after the start."""
    doubt: bool = False
    """True if an earlier request may have succeeded after all."""
    resends: int = 0
    """Requests sent after one whose response was lost."""
    absent_at: datetime | None = None
    """When the result was first not found, at a time when no request could still be in progress."""
    failed_lookups: int = field(default=0, name="looks")
    """Consecutive failures of the lookup itself."""
    not_before: datetime | None = None
    refusal: str = ""
    """The platform's error for a request that followed one with a lost response."""
    error: str = ""
    """The reason why it cannot proceed, for the user."""
    recheck: bool = False
    """True while each step is looked for before it is sent, because the database was replaced by an older copy."""
    checked_at: datetime | None = None
    """When the lookups for such a reason ended, or the user decided; sends before that need no further check."""
    given_up: GiveUpReason | None = None
    """Set if the state is ABANDONED."""

    @property
    def partial(self) -> bool:
        """True if only part of the delivery is published."""
        return bool(self.results) and self.state is not DeliveryState.SENT

    def public_results(self, intent: Intent | None) -> tuple[StepResult, ...]:
        """Return the results that are public so far.

        Without the intent it is unknown which steps are hidden: then results with a URL count, and the last one.
        """
        if intent is None:
            return tuple(result for result in self.results if result.urls or result is self.results[-1])
        hidden = [step.hidden for step in intent.steps] + [False] * (len(self.results) - len(intent.steps))
        return tuple(result for result, is_hidden in zip(self.results, hidden, strict=False) if not is_hidden)


class PostMetrics(Struct, frozen=True):
    """A post's metrics; None for those the platform does not report."""

    likes: int | None = None
    replies: int | None = None
    reposts: int | None = None
    impressions: int | None = None
    clicks: int | None = None


class PostResult(Struct, frozen=True):
    """Outcome of posting a draft, with accounts by their labels (`bluesky:me.example`)."""

    posted: tuple[str, ...]
    failed: tuple[str, ...]
    draft: Draft
    under_way: tuple[str, ...] = ()
    """Accounts whose outcome is not known yet; delivery continues in the background."""


class DeliveredPost(Struct, frozen=True):
    """One published post of a delivery."""

    id: str | None
    url: str | None
    evidence: Evidence


class DeliverySituation(StrEnum):
    """The known facts about a delivery, and its next actor; `delivery_report.SENTENCES` describes each."""

    WAITING = "waiting"
    RETRY = "retry"
    RESEND = "resend"
    TOO_LATE = "too_late"
    NEEDS_LOGIN = "needs_login"
    PAUSED = "paused"
    DISCONNECTED = "disconnected"
    SENDING = "sending"
    INTERRUPTED = "interrupted"
    CHECK = "check"
    REPEAT = "repeat"
    UNKNOWN_NEEDS_LOGIN = "unknown_needs_login"
    UNKNOWN_PAUSED = "unknown_paused"
    UNKNOWN_DISCONNECTED = "unknown_disconnected"
    CANNOT_CHECK = "cannot_check"
    INCONCLUSIVE = "inconclusive"
    RESENT_IN_VAIN = "resent_in_vain"
    POSTED = "posted"
    FOUND = "found"
    CONFIRMED_BY_USER = "confirmed_by_user"
    REJECTED = "rejected"
    REJECTED_IN_DOUBT = "rejected_in_doubt"
    DROPPED = "dropped"
    DROPPED_IN_DOUBT = "dropped_in_doubt"
    GIVEN_UP = "given_up"
    GIVEN_UP_AFTER_ATTEMPTS = "given_up_after_attempts"
    GIVEN_UP_IN_DOUBT = "given_up_in_doubt"


class NextBy(StrEnum):
    """The next actor for a delivery."""

    COPYDESK = "copydesk"
    """The jobs of the console and of `copydesk daemon`."""
    USER = "user"
    NOBODY = "nobody"


class DeliveryReport(Struct, frozen=True):
    """One draft on its way to one account, for display."""

    id: str
    draft_id: str
    account: str
    """`bluesky:me.example`"""
    state: DeliveryState
    says: str
    """The state and the available options, in words."""
    due_at: datetime
    posts: tuple[DeliveredPost, ...]
    """The published posts, in order."""
    parts: int
    """Total number of posts; 0 until it is fixed."""
    attempts: int
    """Requests so far; the number of posts of a thread if none had to be retried."""
    retry_after: datetime | None
    sent_at: datetime | None
    gone_at: datetime | None
    """When the post was found to have been deleted."""
    situation: DeliverySituation
    next_by: NextBy
    in_doubt: bool
    """True if it may be online although nothing confirms it: sending it again could post it twice."""
    settles_at: datetime | None = None
    """Until then the last request may still arrive and it cannot be sent again; None if no request can."""

    @property
    def is_unresolved(self) -> bool:
        """True if it may be online, and the user can say so."""
        return self.in_doubt and self.state not in (DeliveryState.PLANNED, DeliveryState.SENDING, DeliveryState.SENT)


class DeliveryAnswer(StrEnum):
    """An answer of the user to a delivery that needs one."""

    POSTED = "posted"
    AGAIN = "again"
    DROP = "drop"
    SIGN_IN = "sign_in"


class DeliveryQuestion(Struct, frozen=True):
    """A delivery that needs the user, with what is known and the answers that are possible."""

    delivery: DeliveryReport
    text: str
    """The draft's text."""
    known: str
    """What is known, and what Copydesk does next by itself; without the commands to answer with."""
    account_id: str | None
    """The account to sign in to; None if it was disconnected."""
    profile_url: str | None
    """The account's profile on the platform; None if there is none, or the account was disconnected."""
    answers: tuple[DeliveryAnswer, ...]


class AccountQuestion(Struct, frozen=True):
    """An account that is missing: no connected one would post these approved drafts."""

    platforms: tuple[str, ...]
    """The platforms or accounts that the drafts are for; empty for any."""
    format: Format | None
    """The format that no account takes; None if another reason is known."""
    due: int
    """Drafts whose time has come."""
    approved: int
    """Approved drafts without a time, at most 1,000: older ones are not counted."""
    draft_id: str
    """The draft that was due first, else the newest."""
    text: str
    """Its text."""
    known: str
    """What is missing, and what waits for it."""
    advice: str
    """The commands that help."""

    @property
    def platform(self) -> str:
        """The platform to connect; empty if there is a choice."""
        return self.platforms[0].partition(":")[0] if self.platforms else ""


class ApprovalQuestion(Struct, frozen=True):
    """A scheduled draft that lacks an approval which one of its accounts asks for."""

    draft_id: str
    text: str
    scheduled_at: datetime
    is_due: bool
    """True if its time has come."""
    approved_by: tuple[str, ...]
    """The reviewers who have approved it."""
    required: int
    """The approvals that it needs."""
    known: str
    """What it waits for."""
    advice: str
    """The command that helps."""


class NeedsYou(Struct, frozen=True):
    """All that waits for the user."""

    deliveries: tuple[DeliveryQuestion, ...]
    accounts: tuple[AccountQuestion, ...]
    approvals: tuple[ApprovalQuestion, ...] = ()


class PostingBlocker(Struct, frozen=True):
    """A reason that prevents posting a draft to an account."""

    account: str
    message: str
    part: int | None = None
    """Index of the post in a thread, from 0."""


class Price(Struct, frozen=True):
    """The cost of posting a draft to an account."""

    account: str
    amount: str
    """A decimal number: `0.215`."""
    currency: str


class PreviewPart(Struct, frozen=True):
    """One post, measured as the platform does."""

    text: str
    length: int
    """In the platform's own units."""
    limit: int | None
    """In the same units; None if there is none or it is unknown."""
    stops: tuple[str, ...] = ()
    """Why the platform would reject it."""


class Preview(Struct, frozen=True):
    """A text as it would appear on one target platform or account."""

    account: str
    """`bluesky:me.example`; the platform's name if no account of it is connected."""
    platform: str
    connected: bool
    parts: tuple[PreviewPart, ...] = ()
    stops: tuple[str, ...] = ()
    """Why the platform would reject all of it."""
    card: bool = False
    """True if the platform renders a card for the first link by itself."""

    @property
    def fits(self) -> bool:
        """True if nothing would be rejected."""
        return not self.stops and not any(part.stops for part in self.parts)
