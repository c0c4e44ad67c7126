"""What servers answer, and only as much of it as is needed (docs.joinmastodon.org/entities)."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from copydesk.model.delivery import Evidence, Made
from copydesk.posting.http import Answer
from copydesk.text.links import postable

Id = Annotated[str, Meta(pattern=r"\A[0-9A-Za-z_-]{1,64}\Z")]
"""Numbers on Mastodon, ULIDs on GoToSocial; it becomes part of addresses that we ask."""
Count = Annotated[int, Meta(ge=0)]
Secret = Annotated[str, Meta(min_length=1, max_length=4096)]


class Answered(msgspec.Struct, frozen=True):
    """The base of what is read from an answer; fields that are not named are passed over."""


class Posted(Answered, frozen=True):
    """A status that was just made."""

    id: Id
    url: str | None = None


class Status(Answered, frozen=True):
    """A status of an account's list."""

    id: Id
    created_at: Annotated[datetime, Meta(tz=True)]
    url: str | None = None
    in_reply_to_id: str | None = None
    content: str = ""
    """HTML."""
    text: str | None = None
    """As it was sent; only GoToSocial says, to the author."""
    reblog: object = None


class Source(Answered, frozen=True):
    """A status as its author wrote it."""

    text: str


class Counted(Answered, frozen=True):
    """What is counted of a status."""

    id: Id
    favourites_count: Count | None = None
    replies_count: Count | None = None
    reblogs_count: Count | None = None


class Media(Answered, frozen=True):
    """A picture that was uploaded."""

    id: Id


class Owner(Answered, frozen=True):
    """Whose token it is."""

    id: Id
    username: Annotated[str, Meta(pattern=r"\A[\w.-]{1,200}\Z")]


class App(Answered, frozen=True):
    """Copydesk, as the server knows it now."""

    client_id: Secret
    client_secret: Secret


class Token(Answered, frozen=True):
    """What a code was exchanged for."""

    access_token: Secret


class SignInMeans(Answered, frozen=True):
    """What the server can do while somebody signs in (RFC 8414); Mastodon says so since 4.3."""

    code_challenge_methods_supported: tuple[str, ...] = ()


class StatusLimits(Answered, frozen=True):
    """What a status may be."""

    max_characters: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None


class Configuration(Answered, frozen=True):
    """How the server is set up."""

    statuses: StatusLimits = StatusLimits()


class Instance(Answered, frozen=True):
    """The server, of either version of the API."""

    domain: str = ""
    """The part of a handle after the second @; not in version 1."""
    configuration: Configuration = Configuration()
    max_toot_chars: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None
    """Where Pleroma says it, in version 1."""


class NodeInfoLink(Answered, frozen=True):
    """Where a version of NodeInfo is."""

    rel: str
    href: str


class NodeInfoLinks(Answered, frozen=True):
    """Where NodeInfo is."""

    links: tuple[NodeInfoLink, ...] = ()


class Software(Answered, frozen=True):
    """What runs the server."""

    name: str
    version: str = ""


class NodeInfo(Answered, frozen=True):
    """What the server says of itself (nodeinfo.diaspora.software)."""

    software: Software


class _Saying(Answered, frozen=True):
    error: str = ""
    error_description: str = ""


def saying(answer: Answer) -> str:
    """What the server says went wrong; empty where it does not."""
    try:
        found = msgspec.json.decode(answer.body, type=_Saying)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return found.error_description or found.error


def made_of(status: Posted | Status, evidence: Evidence) -> Made:
    """A status as what a step made; its address only where it is one."""
    url = postable(status.url)
    return Made(ids=(status.id,), urls=(url,) if url else (), evidence=evidence)
