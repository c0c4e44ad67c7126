"""Responses of Mastodon servers, reduced to the fields that are used (docs.joinmastodon.org/entities)."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from copydesk.model.delivery import Evidence, StepResult
from copydesk.posting.client import Response
from copydesk.text.links import postable_url

Id = Annotated[str, Meta(pattern=r"\A[0-9A-Za-z_-]{1,64}\Z")]
"""Numbers on Mastodon, ULIDs on GoToSocial. Restricted because ids become part of URLs."""
Count = Annotated[int, Meta(ge=0)]
Secret = Annotated[str, Meta(min_length=1, max_length=4096)]


class ApiModel(msgspec.Struct, frozen=True):
    """Base of all response types; unknown fields are ignored."""


class CreatedStatus(ApiModel, frozen=True):
    """A status that was just created."""

    id: Id
    url: str | None = None


class Status(ApiModel, frozen=True):
    """A status in an account's list."""

    id: Id
    created_at: Annotated[datetime, Meta(tz=True)]
    url: str | None = None
    in_reply_to_id: str | None = None
    content: str = ""
    """HTML."""
    text: str | None = None
    """The source text; only GoToSocial includes it, for the author."""
    reblog: object = None


class StatusSource(ApiModel, frozen=True):
    """The source text of a status."""

    text: str


class StatusCounts(ApiModel, frozen=True):
    """The counters of a status."""

    id: Id
    favourites_count: Count | None = None
    replies_count: Count | None = None
    reblogs_count: Count | None = None


class MediaAttachment(ApiModel, frozen=True):
    """An uploaded image."""

    id: Id


class CredentialAccount(ApiModel, frozen=True):
    """The account that the token belongs to."""

    id: Id
    username: Annotated[str, Meta(pattern=r"\A[\w.-]{1,200}\Z")]


class ClientApplication(ApiModel, frozen=True):
    """Copydesk's registration as a client of the server."""

    client_id: Secret
    client_secret: Secret


class Token(ApiModel, frozen=True):
    """The response to a code."""

    access_token: Secret


class OAuthMetadata(ApiModel, frozen=True):
    """The server's OAuth metadata (RFC 8414); Mastodon has it since 4.3."""

    code_challenge_methods_supported: tuple[str, ...] = ()


class StatusLimits(ApiModel, frozen=True):
    """Limits of a status."""

    max_characters: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None


class Configuration(ApiModel, frozen=True):
    """The server's configuration."""

    statuses: StatusLimits = StatusLimits()


class Instance(ApiModel, frozen=True):
    """The server's description in version 1 or 2 of the API."""

    domain: str = ""
    """The part of a handle after the second @; missing in version 1."""
    configuration: Configuration = Configuration()
    max_toot_chars: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None
    """Pleroma's field in version 1."""


class NodeInfoLink(ApiModel, frozen=True):
    """The location of one version of NodeInfo."""

    rel: str
    href: str


class NodeInfoLinks(ApiModel, frozen=True):
    """The locations of NodeInfo."""

    links: tuple[NodeInfoLink, ...] = ()


class Software(ApiModel, frozen=True):
    """The server's software."""

    name: str
    version: str = ""


class NodeInfo(ApiModel, frozen=True):
    """The server's description of itself (nodeinfo.diaspora.software)."""

    software: Software


class _ErrorBody(ApiModel, frozen=True):
    error: str = ""
    error_description: str = ""


def error_text(response: Response) -> str:
    """Return the server's error message; empty if there is none."""
    try:
        body = msgspec.json.decode(response.body, type=_ErrorBody)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return body.error_description or body.error


def step_result(status: CreatedStatus | Status, evidence: Evidence) -> StepResult:
    """Return the step result of a status; its URL is left out if it is no usable link."""
    url = postable_url(status.url)
    return StepResult(ids=(status.id,), urls=(url,) if url else (), evidence=evidence)
