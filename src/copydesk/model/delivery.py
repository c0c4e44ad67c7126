"""Where posts go, and what is known of one on its way there. Values only: `posting` says what may follow what."""

from datetime import datetime
from enum import StrEnum

from copydesk.model.wire import Struct


class Account(Struct, frozen=True):
    """Where posts go: somebody on a server of a platform. No secret is in it."""

    platform: str
    server: str
    """The address that requests begin with, without a slash at its end."""
    id: str
    """What the platform calls it: a DID, a number, an address."""
    name: str
    """What people call it: a handle."""
    software: str = ""
    """What runs the server, as it says of itself; empty where that does not matter, or is not known."""
    longest: int | None = None
    """Of a post, as the platform counts; None where that is the same on every server."""


class Step(Struct, frozen=True):
    """One request that makes something, and how that is found again."""

    keys: tuple[str, ...]
    """Chosen by us, one for each thing that is made; the same for every attempt."""
    body: dict[str, object]
    """What is sent, but for what only the answers to earlier steps tell."""
    expects: tuple[str, ...] = ()
    """What the platform will call what is made, where that can be known."""
    hidden: bool = False
    """Whether nobody sees what it makes until a later step."""


class Intent(Struct, frozen=True):
    """Everything that will be sent for one delivery, settled before the first byte."""

    steps: tuple[Step, ...]
    at: datetime


class Evidence(StrEnum):
    """How it is known that a step is done."""

    ANSWERED = "answered"
    READ_BACK = "read_back"
    """The answer was lost; it was found on the account."""
    DUPLICATE_ANSWER = "duplicate_answer"
    """The platform refused the same once more, and named the first one."""
    USER = "user"
    """The user looked, and says so."""


class Made(Struct, frozen=True):
    """What a step made."""

    ids: tuple[str, ...]
    urls: tuple[str, ...]
    """Where people see it; empty where nobody can yet."""
    evidence: Evidence = Evidence.ANSWERED


class State(StrEnum):
    """Where a delivery is."""

    PLANNED = "planned"
    """Nothing is on its way. Of a thread some posts may be made already."""
    SENDING = "sending"
    UNKNOWN = "unknown"
    """A request may have made something; it will be looked for."""
    NEEDS_USER = "needs_user"
    """As unknown, and it cannot be told from here."""
    SENT = "sent"
    FAILED = "failed"
    """The platform does not take it as it is."""
    ABANDONED = "abandoned"


ENDED = frozenset({State.SENT, State.FAILED, State.ABANDONED})
"""Nothing more is done by itself, and nothing is on its way."""


class Delivery(Struct, frozen=True):
    """What is known of a delivery. All that is about attempts is about the first step that `made` has nothing of."""

    state: State = State.PLANNED
    steps: int = 1
    made: tuple[Made, ...] = ()
    """What the steps before it made, in order."""
    attempts: int = 0
    """Requests that were not answered with what was made."""
    retries: int = 0
    """Requests of the whole delivery, after the first for each step."""
    first_sent_at: datetime | None = None
    last_sent_at: datetime | None = None
    """When one last left, at the latest: pictures go ahead of it, and it is lost minutes after it was begun."""
    doubt: bool = False
    """Whether one of them may have made something after all."""
    resends: int = 0
    """Those that followed a lost one."""
    absent_at: datetime | None = None
    """When it was first looked for in vain, once nothing could be under way any more."""
    looks: int = 0
    """Times in a row that nobody could look."""
    not_before: datetime | None = None
    refusal: str = ""
    """What the platform said against a request that followed a lost one."""
    error: str = ""
    """What stands in the way, for the user."""

    @property
    def partial(self) -> bool:
        """Whether some of it is there and the rest is not."""
        return bool(self.made) and self.state is not State.SENT

    def seen(self, intent: Intent | None) -> tuple[Made, ...]:
        """What people can see of it so far. Where it is not settled what is sent, what has an address, and the last."""
        if intent is None:
            return tuple(made for made in self.made if made.urls or made is self.made[-1])
        hidden = [step.hidden for step in intent.steps] + [False] * (len(self.made) - len(intent.steps))
        return tuple(made for made, out_of_sight in zip(self.made, hidden, strict=False) if not out_of_sight)


class Figures(Struct, frozen=True):
    """What the platform reports of a post; None for what it does not."""

    likes: int | None = None
    replies: int | None = None
    reposts: int | None = None
    impressions: int | None = None
    clicks: int | None = None
