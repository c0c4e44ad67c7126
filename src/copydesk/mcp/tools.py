"""The tools: one for each operation of the service that the agent's scope covers, with its limits in the schema."""

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from mcp.types import Tool, ToolAnnotations

from copydesk.desk.idempotency import MAX_KEY_LENGTH, is_key
from copydesk.http.idempotency import HEADER
from copydesk.http.openapi import build_document
from copydesk.http.operations import Operation
from copydesk.model.role import ACTION_SCOPES
from copydesk.model.token import Scope

Json = dict[str, Any]
KEY_ARGUMENT = "idempotencyKey"
LIST_ARGUMENT = "items"
"""Argument for the body of an operation that takes a list."""
_KEY_SCHEMA: Final[Json] = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_KEY_LENGTH,
    "description": "A key of your choice for this call. Repeat it when you retry: the call is carried out once.",
}
_REFERENCE = re.compile(r"^#/components/schemas/")


class ToolRequest(NamedTuple):
    """A tool call as a request to the service."""

    method: str
    path: str
    query: dict[str, Any]
    body: Any
    headers: dict[str, str]


class ToolTable:
    """The tools for all operations."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        # An agent has no files to upload.
        self._operations = {
            operation.id: operation
            for operation in operations
            if operation.upload is None and operation.media_type == "application/json"
        }
        self._document = build_document(self._operations.values())

    def list(self, scope: Scope) -> list[Tool]:
        """Return the tools of a scope."""
        return [
            self._tool(operation, scope) for operation in self._operations.values() if scope.covers(operation.scope)
        ]

    def request(self, name: str, arguments: Mapping[str, Any]) -> ToolRequest | None:
        """Return the request for a tool call, None if there is no such tool. Raise ValueError if its id is missing."""
        operation = self._operations.get(name)
        if operation is None:
            return None
        rest = dict(arguments)
        headers = {}
        if operation.changes and (key := rest.pop(KEY_ARGUMENT, None)) is not None:
            # The service refuses an empty key; some malformed ones could not be sent in a header at all.
            headers[HEADER] = str(key) if is_key(str(key)) else ""
        # The id is quoted, dots too: it stays one segment of the path, whatever it contains.
        path = operation.path
        if "{id}" in path:
            given_id = rest.pop("id", None)
            if given_id in (None, ""):
                raise ValueError("The argument id is missing.")
            path = path.replace("{id}", quote(str(given_id), safe="").replace(".", "%2E"))
        if operation.body is None:
            # As in a body, null is the same as leaving it out: many agents send every argument.
            query = {name: _to_parameter(value) for name, value in rest.items() if value is not None}
            return ToolRequest(operation.method, path, query, None, headers)
        body = rest.get(LIST_ARGUMENT) if self._body_schema(operation).get("type") == "array" else rest
        return ToolRequest(operation.method, path, {}, body, headers)

    def _tool(self, operation: Operation, scope: Scope) -> Tool:
        document = self._document["paths"][operation.path][operation.method.lower()]
        properties: Json = {}
        required: list[str] = []
        for parameter in document["parameters"]:
            if parameter["in"] == "header":
                continue
            properties[parameter["name"]] = parameter["schema"]
            required += [parameter["name"]] * parameter["required"]
        if operation.body is not None:
            schema = self._body_schema(operation)
            if schema.get("type") == "array":
                properties[LIST_ARGUMENT] = schema
                required.append(LIST_ARGUMENT)
            else:
                properties |= schema["properties"]
                required += schema.get("required", [])
        if operation.changes:
            properties[KEY_ARGUMENT] = _KEY_SCHEMA
        properties = copy.deepcopy(properties)
        if "action" in properties and operation.path.startswith("/drafts"):
            _limit_actions(properties, scope)
        inputs: Json = {"type": "object", "properties": properties, "required": required}
        if definitions := self._definitions(properties):
            inputs["$defs"] = definitions
        return Tool(
            name=operation.id,
            description=f"{operation.summary}\n\n{operation.description}".strip(),
            input_schema=_with_local_references(inputs),
            annotations=ToolAnnotations(
                read_only_hint=operation.method == "GET",
                destructive_hint=operation.method == "DELETE",
                idempotent_hint=operation.method in {"GET", "PUT", "DELETE"},
                open_world_hint=False,
            ),
        )

    def _body_schema(self, operation: Operation) -> Json:
        schema: Json = self._document["paths"][operation.path][operation.method.lower()]["requestBody"]["content"][
            "application/json"
        ]["schema"]
        return self._resolve(schema["$ref"]) if "$ref" in schema else schema

    def _resolve(self, reference: str) -> Json:
        schema: Json = self._document["components"]["schemas"][_REFERENCE.sub("", reference)]
        return schema

    def _definitions(self, value: object) -> Json:
        """Return the schemas that `value` refers to, directly or through others."""
        found: Json = {}
        waiting = list(_references(value))
        while waiting:
            reference = waiting.pop()
            name = _REFERENCE.sub("", reference)
            if name not in found:
                found[name] = self._resolve(reference)
                waiting += _references(found[name])
        return found


def _to_parameter(value: object) -> object:
    """Return the value for a query. In JSON Schema 5.0 is an integer, in a query it is none."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _limit_actions(properties: Json, scope: Scope) -> None:
    """Offer only those of the operation's actions that the scope covers. The service refuses the others anyway."""
    actions = properties["action"].get("enum", ACTION_SCOPES)
    allowed = [action.value for action, needed in ACTION_SCOPES.items() if action in actions and scope.covers(needed)]
    properties["action"] = {"type": "string", "enum": allowed}


def _references(value: object) -> Iterable[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name == "$ref" and isinstance(inner, str):
                yield inner
            else:
                yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _with_local_references(value: Any) -> Any:
    """Return a schema whose references are to its own `$defs`."""
    if isinstance(value, dict):
        return {
            name: _REFERENCE.sub("#/$defs/", inner) if name == "$ref" else _with_local_references(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_with_local_references(inner) for inner in value]
    return value
