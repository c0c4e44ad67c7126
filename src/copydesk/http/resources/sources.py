"""Sources: list, create, update, delete, test."""

from typing import Any

from copydesk.desk.sources.service import FetchTest
from copydesk.errors import FieldError, InvalidError
from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.model.serialization import Struct
from copydesk.model.source import ChangeSource, NewSource, Source
from copydesk.model.token import Scope

operations = Operations("Sources")


class Deleted(Struct, frozen=True):
    """The answer to a deletion."""

    ok: bool


@operations.add("GET", "/sources", scope=Scope.READ, response=tuple[Source, ...])
async def list_sources(call: Call) -> tuple[Source, ...]:
    """List all sources, oldest first."""
    return await call.desk.sources.list()


@operations.add(
    "POST",
    "/sources",
    scope=Scope.REVIEW,
    body=NewSource,
    response=Source,
    status=201,
    conflicts=True,
    example={"name": "SQLite news", "type": "rss", "url": "https://sqlite.org/news.rss"},
)
async def create_source(call: Call) -> Source:
    """Create a source after a test fetch has succeeded."""
    request: Any = call.body
    # The desk takes the feed's title for a missing name; the interface requires one.
    if isinstance(request, dict) and request.get("name") is None:
        raise InvalidError(FieldError("name", "is missing"))
    source = await call.desk.sources.create(request)
    call.created(f"/sources/{source.id}")
    return source


@operations.add(
    "PATCH",
    "/sources/{id}",
    scope=Scope.REVIEW,
    body=ChangeSource,
    response=Source,
    conflicts=True,
    example={"enabled": False},
)
async def update_source(call: Call) -> Source:
    """Update name, type, url, enabled or config of a source; a changed address is fetched first."""
    changes: Any = call.body
    return await call.desk.sources.update(call.id, changes)


@operations.add("DELETE", "/sources/{id}", scope=Scope.REVIEW, response=Deleted, conflicts=True)
async def delete_source(call: Call) -> Deleted:
    """Delete a source with its items and drafts."""
    await call.desk.sources.delete(call.id)
    return Deleted(ok=True)


@operations.add("POST", "/sources/{id}/test", scope=Scope.DRAFT, response=FetchTest)
async def test_source(call: Call) -> FetchTest:
    """Fetch a source without storing anything; a failed fetch is reported in the result."""
    return await call.desk.sources.test(call.id)
