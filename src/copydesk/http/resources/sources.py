"""Sources: list, create, update, delete, test."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from copydesk.desk.catalog import SOURCE_TYPES
from copydesk.desk.sources.service import FetchTest
from copydesk.errors import FieldError, InvalidError
from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.model.serialization import Struct
from copydesk.model.source import ChangeSource, Name, NewSource, Source
from copydesk.model.token import Scope

operations = Operations("Sources")


SourceType = Annotated[str, Meta(extra_json_schema={"enum": list(SOURCE_TYPES)})]


class CreateSource(NewSource, frozen=True, kw_only=True):
    """A source to create."""

    type: SourceType
    name: Name
    """The name shown in lists and drafts."""


class UpdateSource(ChangeSource, frozen=True, kw_only=True):
    """Replacements for fields of a source; those that are not given keep their values."""

    type: SourceType | UnsetType = UNSET


class Deleted(Struct, frozen=True):
    """The response to a deletion."""

    ok: bool


@operations.add("GET", "/sources", scope=Scope.READ, response=tuple[Source, ...])
async def list_sources(call: Call) -> tuple[Source, ...]:
    """List all sources, oldest first."""
    return await call.desk.sources.list()


@operations.add(
    "POST",
    "/sources",
    scope=Scope.REVIEW,
    body=CreateSource,
    response=Source,
    status=201,
    headers=("Location",),
    example={"name": "SQLite news", "type": "rss", "url": "https://sqlite.org/news.rss"},
)
async def create_source(call: Call) -> Source:
    """Create a source after a test fetch has succeeded."""
    # The desk takes the feed's title for a missing name; the interface requires one.
    if call.body.get("name") is None:
        raise InvalidError(FieldError("name", "is missing"))
    source = await call.desk.sources.create(call.body)
    call.created(f"/sources/{source.id}")
    return source


@operations.add(
    "PATCH",
    "/sources/{id}",
    scope=Scope.REVIEW,
    body=UpdateSource,
    response=Source,
    errors=(404,),
    example={"enabled": False},
)
async def update_source(call: Call) -> Source:
    """Update name, type, url, enabled or config of a source; a changed address is fetched first."""
    return await call.desk.sources.update(call.id, call.body)


@operations.add("DELETE", "/sources/{id}", scope=Scope.REVIEW, response=Deleted, errors=(404, 409))
async def delete_source(call: Call) -> Deleted:
    """Delete a source with its items and drafts."""
    await call.desk.sources.delete(call.id)
    return Deleted(ok=True)


@operations.add("POST", "/sources/{id}/test", scope=Scope.DRAFT, response=FetchTest, errors=(404,))
async def test_source(call: Call) -> FetchTest:
    """Fetch a source without storing anything; a failed fetch is reported in the result."""
    return await call.desk.sources.test(call.id)
