"""The OpenAPI document as clients read it, and the validation of values by its schemas."""

from typing import Any

import jsonschema_rs
import msgspec

from copydesk.http.openapi import build_document
from copydesk.http.table import OPERATIONS

DOCUMENT: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(build_document(OPERATIONS)))


def validate(schema: dict[str, Any], value: object) -> None:
    """Raise ValidationError unless the value matches the schema, which may name components of the document."""
    jsonschema_rs.validate({**schema, "components": DOCUMENT["components"]}, value, validate_formats=True)


def validate_response(method: str, path: str, status: int, value: object) -> None:
    """Raise ValidationError unless the value is a response of the operation, whose path is as in the document."""
    response = DOCUMENT["paths"][path][method.lower()]["responses"][str(status)]
    validate(response["content"]["application/json"]["schema"], value)
