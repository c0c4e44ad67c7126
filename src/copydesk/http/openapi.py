"""The OpenAPI 3.1 document, made from the table of operations."""

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from itertools import pairwise
from types import UnionType
from typing import Any, get_args

import msgspec
from msgspec import inspect as types

from copydesk.desk.idempotency import MAX_KEY_LENGTH
from copydesk.http.event_stream import MAX_STREAMS, format_event
from copydesk.http.event_stream import MEDIA_TYPE as EVENT_STREAM
from copydesk.http.examples import EXAMPLES, PROBLEMS
from copydesk.http.idempotency import HEADER, REPLAYED
from copydesk.http.operations import MAX_BODY, Operation
from copydesk.http.rate_limit import LIMIT
from copydesk.http.responses import PROBLEM_TYPE
from copydesk.model.serialization import to_json_value
from copydesk.model.validation import MAX_ID_LENGTH
from copydesk.problems import Problem
from copydesk.version import __version__

Json = dict[str, Any]
REF = "#/components/schemas/{name}"
_DESCRIPTION = f"""\
Copydesk turns sources into drafts, which one person reviews before they are posted.

Every operation acts for the user of the token: `Authorization: Bearer cd_…`, made with `copydesk token create`. Each
operation names the scope that it needs. A token may make {LIMIT} requests a minute. Errors are problem details
(RFC 9457). All paths are also served below `/v1`.

Times are UTC; input may carry any offset, and needs one. Fields of a request that are not described here are ignored,
and null, where it is allowed, is the same as leaving a field out. A body with a field twice is refused. Texts other
than that of a draft are stripped of surrounding white space, and contain no control characters besides line breaks.
"""
ERRORS: Mapping[int, str] = {
    400: "The request cannot be read: the body is not what its media type says or has a field twice, or the cursor is "
    "not one of this list.",
    401: "No token was sent, or it is unknown, revoked or expired.",
    403: "The token's scope or its reviewer's role does not allow it, or the host name or origin is not allowed. "
    "`/metrics` needs a token of the owner.",
    404: "The path or an id is unknown, or the id belongs to another user.",
    405: "The path does not have this method.",
    408: "The body did not arrive in time.",
    409: "The current state does not allow it; `currentStatus` and `allowedActions` say what it allows. Or an earlier "
    "request with this idempotency key is in progress, or its response was lost when the server stopped.",
    412: "The draft changed since the version in `If-Match`.",
    413: f"The body is larger than {MAX_BODY // 2**20} MiB, or an image than 20 MB.",
    415: "The body has another media type than JSON, or for an image than `multipart/form-data`.",
    422: "A field breaks a rule; `errors` lists every one. Or a source or an image cannot be read, or the idempotency "
    "key was used with another request.",
    429: "The rate limit is exceeded; `Retry-After` says when to come back. Or the token has "
    f"{MAX_STREAMS} open event streams.",
    431: "The headers are larger than 64 KiB.",
    500: "An unexpected error; the server's log has it under the id in `X-Request-Id`.",
    503: "The server is shutting down or has more than 4,000 connections; its clock is wrong; the database, the "
    "credentials or a language model cannot be used; or an image cannot be used for now. Nothing was changed.",
}
"""What each status means; 405 and 431 belong to no operation."""
_RATE_LIMIT_HEADERS = ("RateLimit", "RateLimit-Policy")
_ERROR_HEADERS: Mapping[int, tuple[str, ...]] = {
    401: ("WWW-Authenticate",),
    429: (*_RATE_LIMIT_HEADERS, "Retry-After"),
    503: ("Retry-After",),
}
_KEY_SCHEMA: Json = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_KEY_LENGTH,
    "pattern": "^[!#-~][!-~]*$",
    "description": "Identifies this request. Sent again with the same key within seven days, it is not carried out a "
    "second time: the first response is repeated. With another method, path or body it is refused (422).",
    "examples": ["8e03978e-40d5-43e8-bc93-6894a57f9324"],
}
_PARAMETER = re.compile(r"\{(\w+)\}")


def build_document(operations: Iterable[Operation]) -> Json:
    """Return the document as JSON values."""
    table = tuple(operations)
    schemas = _Schemas(table)
    paths: dict[str, Json] = {}
    for operation in table:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Copydesk",
            "version": __version__,
            "summary": "Drafts from your sources, reviewed by a person, posted once.",
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": [{"name": tag} for tag in dict.fromkeys(operation.tag for operation in table)],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token made with `copydesk token create`. "
                    "Its scope (read, draft, review, publish) includes those before it.",
                }
            },
            "responses": {f"Problem{status}": _problem_response(status) for status in PROBLEMS},
            "headers": _HEADERS,
        },
    }


class _Schemas:
    """JSON schemas of all types that the operations name, as references to components."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        operation_types: list[Any] = [Problem]
        for operation in operations:
            operation_types += [*_alternatives(operation.response), operation.query, operation.body]
        operation_types = [kind for kind in operation_types if kind is not None]
        self._types = operation_types
        references, self.components = msgspec.json.schema_components(
            operation_types, ref_template=REF, schema_hook=lambda _: {"description": "Any JSON value."}
        )
        self._references = references
        requested = set(_structs(kind for operation in operations for kind in (operation.body, operation.query)))
        structs = {struct.__name__: struct for struct in _structs(operation_types)}
        for name, schema in self.components.items():
            _normalize(schema)
            if name in structs:
                _describe_fields(schema, structs[name])
                if structs[name] not in requested:
                    _require_fields(schema, structs[name])
        # The command line shows it; the service leaves it out.
        del self.components[Problem.__name__]["properties"]["hint"]
        self._queries = {
            operation.query.__name__: self.components.pop(operation.query.__name__)
            for operation in operations
            if operation.query is not None
        }

    def of(self, kind: Any) -> Json:
        """Return the schema of a type, or of a union of structs, which msgspec does not describe."""
        if len(alternatives := _alternatives(kind)) > 1:
            return {"anyOf": [self.of(alternative) for alternative in alternatives]}
        return _normalize(dict(self._references[self._types.index(kind)]))

    def parameters(self, kind: type) -> list[Json]:
        """Return the query parameters that a struct declares."""
        schema = self._queries[kind.__name__]
        required = set(schema.get("required", ()))
        return [
            _parameter(parameter, "query", _without_null(field), required=parameter in required)
            for parameter, field in schema["properties"].items()
        ]


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)


def _structs(kinds: Iterable[Any]) -> Iterator[type[msgspec.Struct]]:
    """Yield every struct that occurs in the types."""
    waiting = [types.type_info(kind) for kind in kinds if kind is not None]
    visited = set[type]()
    while waiting:
        info = waiting.pop()
        if not isinstance(info, types.StructType):
            waiting += _members(info)
        elif info.cls not in visited:
            visited.add(info.cls)
            yield info.cls
            waiting += [field.type for field in info.fields]


def _members(info: types.Type) -> list[types.Type]:
    """Return the types that a type consists of."""
    parts = [getattr(info, name, None) for name in ("type", "item_type", "key_type", "value_type")]
    members = (*parts, *getattr(info, "types", ()), *getattr(info, "item_types", ()))
    return [member for member in members if isinstance(member, types.Type)]


def _normalize(schema: Json) -> Json:
    """Return the schema with defaults and names as in JSON, and objects open for unknown fields, which are ignored."""
    for value in schema.values():
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                _normalize(inner)
    if "enum" in schema:
        # Some of an enumeration's values are named instead of it.
        schema.pop("$ref", None)
        schema.setdefault("type", "string")
    if schema.get("additionalProperties") is False:
        del schema["additionalProperties"]
    # A field that may be left out of a request has no value then; null would be one of another type.
    if "default" in schema and schema["default"] is None:
        del schema["default"]
    if "default" in schema:
        schema["default"] = to_json_value(schema["default"])
    if isinstance(schema.get("description"), str):
        schema["description"] = _to_wire_names(schema["description"])
    return schema


def _describe_fields(schema: Json, struct: type[msgspec.Struct]) -> None:
    """Add the texts below the fields in the source as their descriptions."""
    texts = dict[str, str]()
    for base in reversed(struct.__mro__):
        texts |= _field_texts(base.__module__).get(base.__qualname__, {})
    for field in msgspec.structs.fields(struct):
        described = schema["properties"][field.encode_name]
        if field.name in texts:
            described["description"] = _to_wire_names(texts[field.name])
        info = types.type_info(field.type)
        if any(isinstance(member, types.DateTimeType) for member in (info, *_members(info))):
            text = next((member for member in described.get("anyOf", ()) if member.get("type") == "string"), described)
            text["format"] = "date-time"


def _require_fields(schema: Json, struct: type[msgspec.Struct]) -> None:
    """Require the fields of a response, which are left out only if the struct omits defaults."""
    if not struct.__struct_config__.omit_defaults:
        schema["required"] = list(schema["properties"])
        for field in schema["properties"].values():
            field.pop("default", None)


@cache
def _field_texts(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the text below each field of a module's classes; empty without source code, as in a frozen program."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):
        return {}
    found: dict[str, dict[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            texts = found.setdefault(node.name, {})
            for field, below in pairwise(node.body):
                match field, below:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                        texts[name] = inspect.cleandoc(text)
    return found


def _to_wire_names(text: str) -> str:
    """Return a docstring in the words of JSON: `scheduled_at` as `scheduledAt`, None as null."""
    text = re.sub(
        r"`[a-z]+(?:_[a-z0-9]+)+`", lambda name: re.sub(r"_(\w)", lambda part: part[1].upper(), name[0]), text
    )
    return re.sub(r"\bNone\b", "null", text)


def _without_null(schema: Json) -> Json:
    """Return the schema of a parameter, which is left out instead of being null."""
    members = [member for member in schema.get("anyOf", ()) if member != {"type": "null"}]
    if not members:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return rest | (members[0] if len(members) == 1 else {"anyOf": members})


def _operation(operation: Operation, schemas: _Schemas) -> Json:
    path_id = {"type": "string", "minLength": 1, "maxLength": MAX_ID_LENGTH}
    parameters = [_parameter(name, "path", path_id, required=True) for name in _PARAMETER.findall(operation.path)]
    if operation.query is not None:
        parameters += schemas.parameters(operation.query)
    if operation.media_type == EVENT_STREAM:
        last_id = {"type": "string", "pattern": "^[0-9]*$", "description": "The event after which to begin."}
        parameters.append(_parameter("Last-Event-ID", "header", last_id))
    if 412 in operation.errors:
        parameters.append(
            _parameter("If-Match", "header", {"type": "string", "description": "The ETag of the version to change."})
        )
    if operation.changes:
        parameters.append(_parameter(HEADER, "header", _KEY_SCHEMA))
    described = " ".join(
        part for part in (operation.description, f"Needs a token with the scope `{operation.scope}`.") if part
    )
    document: Json = {
        "operationId": operation.id,
        "summary": operation.summary,
        "description": described,
        "tags": [operation.tag],
        "x-scope": str(operation.scope),
        "parameters": parameters,
        "responses": _responses(operation, schemas),
    }
    if operation.body is not None:
        content: Json = {"schema": schemas.of(operation.body)}
        if operation.example is not None:
            content["example"] = operation.example
        document["requestBody"] = {"required": operation.body_required, "content": {"application/json": content}}
    if operation.upload is not None:
        properties = {operation.upload: {"type": "string", "format": "binary"}}
        schema = {"type": "object", "properties": properties, "required": [operation.upload]}
        document["requestBody"] = {"required": True, "content": {"multipart/form-data": {"schema": schema}}}
    return document


def _parameter(name: str, location: str, schema: Json, *, required: bool = False) -> Json:
    schema = dict(schema)
    description = schema.pop("description", None)
    parameter: Json = {"name": name, "in": location, "required": required}
    return parameter | ({"description": description} if description else {}) | {"schema": schema}


def _responses(operation: Operation, schemas: _Schemas) -> Json:
    content: Json = {"schema": schemas.of(operation.response)}
    examples = {
        kind.__name__ if isinstance(kind, type) else operation.id: {"value": example}
        for kind in _alternatives(operation.response)
        if (example := _example(kind)) is not None
    }
    if operation.media_type == EVENT_STREAM:
        content = {"schema": {"type": "string"}, "example": format_event(EXAMPLES[operation.response])}
    elif examples:
        content["examples"] = examples
    success = {
        "description": HTTPStatus(operation.status).phrase,
        "headers": _headers("X-Request-Id", *_RATE_LIMIT_HEADERS, *operation.headers, *[REPLAYED] * operation.changes),
        "content": {operation.media_type: content},
    }
    responses: Json = {str(operation.status): success}
    for status in error_statuses(operation):
        responses[str(status)] = {"$ref": f"#/components/responses/Problem{status}"}
    return responses


def _example(kind: Any) -> Any:
    """Return an example of a response of this type as JSON, or None if there is none."""
    if get_args(kind):
        inner = EXAMPLES.get(get_args(kind)[0])
        return None if inner is None else [to_json_value(inner)]
    return None if kind not in EXAMPLES else to_json_value(EXAMPLES[kind])


def error_statuses(operation: Operation) -> tuple[int, ...]:
    """Return the statuses of the errors that the operation may return."""
    statuses = {401, 403, 429, 500, 503, *operation.errors}
    if operation.changes:
        # Of the idempotency key.
        statuses |= {400, 409, 422}
    if operation.body is not None or operation.upload is not None:
        statuses |= {400, 408, 413, 415, 422}
    if operation.query is not None:
        statuses |= {422}
        if "cursor" in operation.query.__struct_fields__:  # type: ignore[attr-defined] # a struct
            statuses |= {400}
    return tuple(sorted(statuses))


def _headers(*names: str) -> Json:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _problem_response(status: int) -> Json:
    example = to_json_value(PROBLEMS[status])
    content: Json = {"schema": {"$ref": REF.format(name=Problem.__name__)}, "example": example}
    headers = _headers("X-Request-Id", *_ERROR_HEADERS.get(status, ()))
    return {"description": ERRORS[status], "headers": headers, "content": {PROBLEM_TYPE: content}}


def _header(description: str, example: str, *, always: bool = True) -> Json:
    header: Json = {"description": description, "schema": {"type": "string"}, "example": example}
    return header | ({"required": True} if always else {})


_HEADERS: Json = {
    "X-Request-Id": _header(
        "Identifies the request in the server's log; taken from the request if it sends one.", "0f3c9a52d1e84b7b"
    ),
    "RateLimit": _header("Requests that are left now, and seconds until the quota is full.", '"token";r=599;t=1'),
    "RateLimit-Policy": _header("Requests of the quota, and the seconds that it is for.", '"token";q=600;w=60'),
    REPLAYED: _header("The response to an earlier request with this key, repeated.", "true", always=False),
    "ETag": _header("The draft's version, for If-Match.", '"3"', always=False),
    "Location": _header("Path of what was created.", "/sources/019a5b2e-6c1f-7d3a-9b47-3f0c2a91e5d8"),
    "Retry-After": _header("Seconds after which another request may succeed.", "5", always=False),
    "WWW-Authenticate": _header("How to authenticate.", 'Bearer realm="copydesk"'),
}
