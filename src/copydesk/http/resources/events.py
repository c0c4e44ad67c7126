"""Events: a stream of what happens."""

import re
from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from copydesk.errors import FieldError, InvalidError
from copydesk.http.call import Call
from copydesk.http.event_stream import MEDIA_TYPE, EventStream, EventStreamResponse, find_start
from copydesk.http.operations import Operations
from copydesk.model.event import Event, EventType
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope

operations = Operations("Events")
MAX_EVENT_ID = 2**63 - 1


class EventsQuery(Struct, frozen=True):
    """Parameters of the stream."""

    types: str | None = None
    """Types of the events to send, separated by commas; all if left out."""
    last_event_id: Annotated[int, Meta(ge=0, le=MAX_EVENT_ID)] | None = None
    """The event after which to begin, for clients that cannot send the header Last-Event-ID, which counts first."""


@operations.add("GET", "/events", scope=Scope.READ, query=EventsQuery, response=Event, media_type=MEDIA_TYPE)
async def stream_events(call: Call) -> Response:
    """Stream what happens as server-sent events.

    The data of each is an Event. A stream begins with the next event; with Last-Event-ID after that one, so that a
    client which reconnects misses nothing. If events in between were deleted, an event `reset` comes first. A comment
    is sent every 15 seconds, and the stream ends when the server stops. A token can have 100 open streams.
    """
    types = _parse_types(call.query.get("types"))
    requested = _parse_id(call.request.headers.get("last-event-id"), call.query.get("last_event_id"))
    start, is_reset = find_start(requested, await call.desk.events.range())
    if call.request.method == "HEAD":
        return Response(media_type=MEDIA_TYPE)
    call.open_streams.add(call.access.token_id)
    stream = EventStream(
        call.desk,
        start,
        types,
        stopping=call.open_streams.stopping,
        is_token_valid=call.is_token_valid,
        missing_since=requested if is_reset else None,
    )
    return EventStreamResponse(stream, on_end=lambda: call.open_streams.remove(call.access.token_id))


def _parse_types(text: object) -> frozenset[EventType]:
    if text is None:
        return frozenset()
    names = [name.strip() for name in str(text).split(",")]
    unknown = [name for name in names if name not in set(EventType)]
    if unknown:
        raise InvalidError(FieldError("types", f"takes some of {', '.join(EventType)}"))
    return frozenset(map(EventType, names))


def _parse_id(header: str | None, parameter: object) -> int | None:
    is_number = header is not None and re.fullmatch("[0-9]{1,19}", header)
    value = int(header) if is_number and header else parameter if header is None else header
    # An empty header is that of a client which has not received an event yet.
    if value is None or value == "":
        return None
    if not isinstance(value, int) or not 0 <= value <= MAX_EVENT_ID:
        raise InvalidError(FieldError("lastEventId", "takes the number of an event"))
    return value
