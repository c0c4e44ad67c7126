"""The OpenAPI 3.1 document, made from the table of operations."""

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from types import UnionType
from typing import Any, get_args

import msgspec

from copydesk.http.operations import Operation
from copydesk.http.rate_limit import LIMIT
from copydesk.http.responses import PROBLEM_TYPE
from copydesk.model.requests import MAX_ID_LENGTH
from copydesk.model.serialization import to_json_value
from copydesk.problems import Problem
from copydesk.version import __version__

Json = dict[str, Any]
REF = "#/components/schemas/{name}"
_DESCRIPTION = f"""\
Copydesk turns sources into drafts, which one person reviews before they are posted.

Every operation acts for the user of the token: `Authorization: Bearer cd_…`, made with `copydesk token create`. Each
operation names the scope that it needs. A token may make {LIMIT} requests a minute. Errors are problem details
(RFC 9457). Times are UTC; input may carry any offset. All paths are also served below `/v1`.
"""
_ERRORS: Mapping[int, str] = {
    400: "The request cannot be read: the body is not JSON, or the cursor is not one of this service.",
    401: "No token was sent, or it is unknown, revoked or expired.",
    403: "The scope of the token does not reach.",
    404: "The id is unknown, or belongs to another user.",
    408: "The body did not arrive in time.",
    409: "The current state does not allow it; `currentStatus` and `allowedActions` say what it allows.",
    412: "The draft changed since the version that If-Match names.",
    413: "The body is too large.",
    415: "The body has another media type.",
    422: "A field breaks a rule; `errors` lists every one.",
    429: "The rate limit is exceeded; Retry-After says when to come back.",
    500: "An unexpected error.",
    503: "The server is shutting down, or the database cannot be used; nothing was changed.",
}
_PARAMETER = re.compile(r"\{(\w+)\}")


def build_document(operations: Iterable[Operation], server: str = "/") -> Json:
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
        "servers": [{"url": server}],
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
            "responses": {f"Problem{status}": _problem_response(text) for status, text in _ERRORS.items()},
            "headers": _HEADERS,
        },
    }


class _Schemas:
    """JSON schemas of all types that the operations name, as references to components."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        types: list[Any] = [Problem]
        for operation in operations:
            types += [*_alternatives(operation.response), operation.query, operation.body]
        types = [kind for kind in types if kind is not None]
        self._types = types
        references, self.components = msgspec.json.schema_components(
            types, ref_template=REF, schema_hook=lambda _: {"description": "Any JSON value."}
        )
        self._references = references
        for schema in self.components.values():
            _normalize(schema)

    def of(self, kind: Any) -> Json:
        """Return the schema of a type, or of a union of structs, which msgspec does not describe."""
        if len(alternatives := _alternatives(kind)) > 1:
            return {"anyOf": [self.of(alternative) for alternative in alternatives]}
        return _normalize(dict(self._references[self._types.index(kind)]))

    def parameters(self, kind: type) -> list[Json]:
        """Return the query parameters that a struct declares."""
        name = str(self.of(kind)["$ref"]).rpartition("/")[2]
        schema = self.components[name]
        required = set(schema.get("required", ()))
        return [
            {
                "name": parameter,
                "in": "query",
                "required": parameter in required,
                "schema": _without_null(property_schema),
            }
            for parameter, property_schema in schema["properties"].items()
        ]


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)


def _normalize(schema: Json) -> Json:
    """Return the schema with defaults as JSON values."""
    for value in schema.values():
        if isinstance(value, dict):
            _normalize(value)
        elif isinstance(value, list):
            for inner in value:
                if isinstance(inner, dict):
                    _normalize(inner)
    if "default" in schema:
        schema["default"] = to_json_value(schema["default"])
    return schema


def _without_null(schema: Json) -> Json:
    """Return the schema of a parameter, which is left out instead of being null."""
    members = [member for member in schema.get("anyOf", ()) if member != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if name not in {"anyOf", "default"} or value is not None}
    if not members:
        return rest
    rest = {name: value for name, value in rest.items() if name != "anyOf"}
    return rest | (members[0] if len(members) == 1 else {"anyOf": members})


def _operation(operation: Operation, schemas: _Schemas) -> Json:
    parameters: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "maxLength": MAX_ID_LENGTH}}
        for name in _PARAMETER.findall(operation.path)
    ]
    if operation.query is not None:
        parameters += schemas.parameters(operation.query)
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


def _responses(operation: Operation, schemas: _Schemas) -> Json:
    success = {
        "description": HTTPStatus(operation.status).phrase,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-Id", "RateLimit")},
        "content": {operation.media_type: {"schema": schemas.of(operation.response)}},
    }
    responses: Json = {str(operation.status): success}
    for status in error_statuses(operation):
        responses[str(status)] = {"$ref": f"#/components/responses/Problem{status}"}
    return responses


def error_statuses(operation: Operation) -> tuple[int, ...]:
    """Return the statuses of the errors that the operation may return."""
    statuses = {401, 403, 429, 500, 503}
    if operation.has_id:
        statuses |= {404, 422}
    if operation.body is not None:
        statuses |= {400, 404, 408, 413, 415, 422}
    if operation.upload is not None:
        statuses |= {400, 408, 413, 415, 422}
    if operation.query is not None:
        statuses |= {400, 422}
    if operation.conflicts:
        statuses |= {409}
    if operation.conflicts and operation.method == "PATCH":
        statuses |= {412}
    return tuple(sorted(statuses))


def _problem_response(text: str) -> Json:
    return {"description": text, "content": {PROBLEM_TYPE: {"schema": {"$ref": REF.format(name="Problem")}}}}


_HEADERS: Json = {
    "X-Request-Id": {
        "description": "Identifies the request in the server's log; taken from the request if it sends one.",
        "schema": {"type": "string"},
    },
    "RateLimit": {
        "description": "Requests that are left, and seconds until the quota is full (RateLimit header fields).",
        "schema": {"type": "string"},
    },
}
