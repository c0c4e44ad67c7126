"""Read parameters and bodies of requests. Rules on values are the desk's; here is only what the transport brings in."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from types import NoneType
from typing import Any

import msgspec
from msgspec import inspect as types
from python_multipart.exceptions import MultipartParseError
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from copydesk.errors import FieldError, InvalidError
from copydesk.http import errors
from copydesk.http.operations import Operation

# None at all, and what curl sends with `-d` unless told otherwise: the body decides.
JSON_TYPES = frozenset({"", "application/json", "application/x-www-form-urlencoded"})
"""Media types of bodies that are read as JSON, besides those that end with `+json`."""
BODY_TIMEOUT = 30.0
"""Seconds in which a body has to arrive."""
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
_FLAGS = {"true": True, "false": False}

_STRUCTURED = (types.StructType, types.DictType, types.CollectionType, types.VarTupleType)


async def read_bytes(request: Request, limit: int) -> bytes:
    """Return the body. Refuse one over `limit` bytes before it is read, and one that does not arrive in time."""
    declared = request.headers.get("content-length", "")
    # Digits of other scripts are digits to Python. More than twenty would only take time: any such length is too large.
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
        raise errors.body_too_large(limit)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            async for chunk in request.stream():
                body += chunk
                # The declared length may be missing or wrong; what counts is what arrives.
                if len(body) > limit:
                    raise errors.body_too_large(limit)
    except TimeoutError:
        raise errors.request_timeout() from None
    except ClientDisconnect:
        raise errors.bad_request("The connection was closed before the body was complete.") from None
    return bytes(body)


async def read_upload(request: Request, name: str, limit: int) -> bytes:
    """Return the file `name` of a multipart body of at most `limit` bytes. Raise InvalidError if it is missing."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise errors.unsupported_media_type("multipart/form-data")
    content = await read_bytes(request, limit)

    async def stream() -> AsyncGenerator[bytes, None]:
        yield content

    try:
        async with _closing(
            # Without the limits a body of many tiny parts takes memory and time far beyond its size.
            await MultiPartParser(request.headers, stream(), max_files=1, max_fields=10).parse()
        ) as form:
            upload = form.get(name)
            if not isinstance(upload, UploadFile):
                raise InvalidError(FieldError(name, "is missing"))
            return await upload.read()
    except (MultiPartException, MultipartParseError, KeyError, UnicodeDecodeError) as error:
        raise errors.bad_request(f"The body is not multipart/form-data: {str(error).rstrip('.')}.") from None


@asynccontextmanager
async def _closing(form: FormData) -> AsyncIterator[FormData]:
    try:
        yield form
    finally:
        await form.close()


def parse_body(operation: Operation, content: bytes, content_type: str) -> object:
    """Return the JSON body without fields that the operation does not know; {} for an empty one that is optional."""
    if not content.strip():
        if operation.body_required:
            raise errors.bad_request("The body is empty; it takes JSON.")
        return {}
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in JSON_TYPES and not media_type.endswith("+json"):
        raise errors.unsupported_media_type("application/json")
    try:
        value = msgspec.json.decode(content)
        # Of two fields with one name the decoder takes the last, others take the first: the client may mean either.
        _NAMES_CHECK.decode(content.decode())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.bad_request(f"The body is not JSON: {error}.") from None
    except _RepeatedNameError as error:
        raise errors.bad_request(f"The body has the field {str(error)!r} more than once.") from None
    # Deep nesting fits into a small body: "[[[[…" of 100 kB exhausts the stack of the decoder.
    except RecursionError:
        raise errors.bad_request("The body is nested too deeply.") from None
    is_list = isinstance(_type_info(operation.body), types.VarTupleType)
    if not isinstance(value, list if is_list else dict):
        raise InvalidError(FieldError("body", "takes a list" if is_list else "takes an object with named fields"))
    return without_unknown_fields(value, operation.body)


class _RepeatedNameError(Exception):
    """An object has two fields with this name."""


def _check_names(fields: list[tuple[str, object]]) -> None:
    names = set()
    for name, _ in fields:
        if name in names:
            raise _RepeatedNameError(name)
        names.add(name)


_NAMES_CHECK = json.JSONDecoder(object_pairs_hook=_check_names)


def without_unknown_fields(value: object, kind: Any) -> object:
    """Return `value` without the fields of objects that `kind` does not have, at every depth."""
    return _prune(value, _type_info(kind))


@cache
def _type_info(kind: Any) -> types.Type:
    return types.type_info(kind)


def _prune(value: object, kind: types.Type) -> object:
    if isinstance(kind, types.Metadata):
        return _prune(value, kind.type)
    if isinstance(kind, types.UnionType):
        # Of the request's types only one of a union is an object or a list.
        structured = [member for member in kind.types if isinstance(member, _STRUCTURED)]
        return _prune(value, structured[0]) if structured else value
    if isinstance(kind, types.StructType) and isinstance(value, Mapping):
        fields = {field.encode_name: field.type for field in kind.fields}
        return {name: _prune(inner, fields[name]) for name, inner in value.items() if name in fields}
    if isinstance(kind, types.DictType) and isinstance(value, Mapping):
        return {name: _prune(inner, kind.value_type) for name, inner in value.items()}
    if isinstance(kind, types.CollectionType | types.VarTupleType) and isinstance(value, list):
        return [_prune(inner, kind.item_type) for inner in value]
    return value


def parse_query(request: Request, kind: type | None) -> dict[str, object]:
    """Return the query parameters that the struct `kind` declares, by their names in Python.

    Numbers and flags are converted where they are well-formed; the desk refuses anything else under its name. Raise
    InvalidError for a parameter that is given twice. Unknown ones are ignored.
    """
    values: dict[str, object] = {}
    if kind is None:
        return values
    for field in _fields(kind):
        texts = request.query_params.getlist(field.encode_name)
        # The first and the last value are both plausible: choosing one would silently ignore what the client meant.
        if len(texts) > 1:
            raise InvalidError(FieldError(field.encode_name, "is given more than once"))
        if texts:
            values[field.name] = _parse_parameter(texts[0], _scalar_types(field.type))
    return values


@cache
def _fields(kind: type) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


@cache
def _scalar_types(kind: Any) -> frozenset[type]:
    info = _type_info(kind)
    members = info.types if isinstance(info, types.UnionType) else (info,)
    # Everything else stays a text. The desk parses dates and enums itself, and names the field if they are invalid.
    scalars = {types.IntType: int, types.BoolType: bool}
    unwrapped = (member.type if isinstance(member, types.Metadata) else member for member in members)
    return frozenset(scalars.get(type(member), NoneType) for member in unwrapped)


def _parse_parameter(text: str, kinds: frozenset[type]) -> object:
    if int in kinds and _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    if bool in kinds and text in _FLAGS:
        return _FLAGS[text]
    return text
