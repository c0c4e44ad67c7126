"""What a platform is to Copydesk: what it takes, how a post is made there, and how it is found again.

A post is sent in steps. A step is one request that makes something: a post of a thread, a whole thread where the
platform takes it at once, the hidden draft of an article. What a step will ask for, and the keys by which what it made
can be found, are settled before its first byte leaves and do not change after that.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar, Protocol

from copydesk.errors import CopydeskError
from copydesk.model.account import Wanted
from copydesk.model.delivery import Account, Evidence, Figures, Intent, Made, Step
from copydesk.model.draft import Format
from copydesk.model.wire import Struct

__all__ = [
    "Account",
    "BrowserPlatform",
    "Connected",
    "Evidence",
    "Figures",
    "Intent",
    "Limits",
    "LoginError",
    "Made",
    "NotSentError",
    "Picture",
    "Platform",
    "Post",
    "PostingError",
    "Problem",
    "RefusedPostError",
    "Secrets",
    "SignIn",
    "Step",
    "Trust",
    "UnknownOutcomeError",
    "Wanted",
]


class Secrets(Protocol):
    """Where the keys to the accounts are kept. What is in it is in no database, no log and no error."""

    async def read(self, account: Account) -> Mapping[str, str]:
        """The secrets of an account by their names; LoginError where there are none."""
        ...

    async def keep(self, account: Account, secrets: Mapping[str, str]) -> None:
        """Replace the secrets of an account; they are safe on the disk when this returns."""
        ...


class Connected(Struct, frozen=True):
    """An account that was just connected, and the keys to it."""

    account: Account
    secrets: dict[str, str]


class SignIn(Struct, frozen=True):
    """A way into an account that leads through the user's browser, begun and not yet ended."""

    url: str
    """Where the user says yes."""
    redirect: str
    """Where the browser is sent then, with a code."""
    state: str
    """Comes back with the code, or the code is not meant for us; empty where the server does not send it back."""
    kept: dict[str, str]
    """What `finish` needs to know of `begin`; some of it is secret."""


class Picture(Struct, frozen=True):
    """A picture of a post, fit for the platform."""

    content: bytes
    media_type: str
    width: int
    height: int
    alt: str


class Post(Struct, frozen=True):
    """What is to be posted, as it was approved."""

    format: Format
    parts: tuple[str, ...]
    """The posts of a thread in their order; of any other format the one text."""
    at: datetime
    """When it is to go out: platforms that take a time are told this one, however late it gets there."""
    title: str = ""
    tags: tuple[str, ...] = ()
    alts: tuple[str, ...] = ()
    """The descriptions of its pictures, in order."""


class Trust(Struct, frozen=True):
    """How far a platform can be relied on not to make a thing twice, and to tell whether it made it."""

    keyed: bool = False
    """Whether a second request under the same keys makes nothing, for ever."""
    repeat_within: timedelta = timedelta(0)
    """For so long after the first request one more under the same keys makes nothing, and is answered as the first."""
    can_look: bool = True
    """Whether what is on the account can be read."""
    quiet: timedelta = timedelta(seconds=90)
    """After a request with no answer, before absent may mean that nothing was made: it can still be on its way."""


class Limits(Struct, frozen=True):
    """What a platform takes."""

    formats: frozenset[Format]
    pictures: int = 0
    """Of one post, at most."""
    picture_bytes: int = 0
    picture_types: tuple[str, ...] = ("image/jpeg", "image/png")
    alt_characters: int = 0


class Problem(Struct, frozen=True):
    """Why a post would not be taken as it is."""

    message: str
    part: int | None = None
    """Which post of the thread, from 0."""


class PostingError(CopydeskError):
    """A post could not be made."""

    category: ClassVar[str] = "posting"


class RefusedPostError(PostingError):
    """The platform looked at the post and does not take it as it is. Nothing was made, and asking again is in vain."""

    category = "refused"


class LoginError(PostingError):
    """The platform does not know the account any more. Nothing was made; connect the account again."""

    category = "needs-login"


CONNECT_AGAIN = "Connect the account again."
"""The usual hint of a LoginError; the desk knows how that is done."""


class NotSentError(PostingError):
    """Certainly nothing was made; it can be tried again, at `retry_after` where the platform says when."""

    category = "not-sent"

    def __init__(self, message: str = "", *, hint: str = "", retry_after: datetime | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message, hint=hint)


class UnknownOutcomeError(PostingError):
    """It cannot be known from the answer, or its lack, whether something was made."""

    category = "unknown-outcome"


class Platform(Protocol):
    """One kind of server. Everything that touches the network may be cancelled, and then the outcome is unknown.

    No method repeats a request that makes something.
    """

    name: ClassVar[str]
    limits: ClassVar[Limits]
    home: ClassVar[str]
    """Where its accounts are unless the user says otherwise; empty where the user has to."""
    wants: ClassVar[tuple[Wanted, ...]]
    """What connecting asks for."""

    def trust(self, account: Account) -> Trust:
        """How far the account's server can be relied on."""
        ...

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """Why the post would not be taken; nothing is asked of the network."""
        ...

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """What will be sent. `seed` is the UUIDv7 of the delivery: the keys follow from it alone."""
        ...

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """Get into an account with what was asked for; LoginError, NotSentError, RefusedPostError."""
        ...

    async def check(self, account: Account) -> Account:
        """The account as its server knows it now; LoginError, NotSentError."""
        ...

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Take the first step that `made` has nothing of.

        Raises RefusedPostError, LoginError, NotSentError or UnknownOutcomeError; anything else means that the outcome
        is unknown.
        """
        ...

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """What the first step that `made` has nothing of has made since; None where it is not there.

        UnknownOutcomeError where that cannot be told; LoginError, NotSentError where nobody could look.
        """
        ...

    async def delete(self, account: Account, made: Made) -> None:
        """Take back what a step made; what is not there any more is no error."""
        ...

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """What is reported of posts by their ids: None for one that is gone, no entry where nothing is told of one."""
        ...


class BrowserPlatform(Platform, Protocol):
    """A platform whose accounts are connected in the user's browser (OAuth 2, RFC 8252); `connect` is not for it."""

    fixed_port: ClassVar[int | None]
    """Of the loopback address that the user registered with the platform; None where any will do."""
    by_hand: ClassVar[str]
    """The redirect that shows the code to the user instead; empty where there is none."""

    async def begin(self, server: str, given: Mapping[str, str], redirect: str) -> SignIn:
        """Where the user is to go; LoginError, NotSentError."""
        ...

    async def finish(self, server: str, sign_in: SignIn, code: str) -> Connected:
        """Get into the account with the code that came back; LoginError, NotSentError."""
        ...
