"""The gate of every public operation: the desk must be open, and each argument of the type that is declared."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, get_args, get_origin

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.validation import convert, wire_fields

P = ParamSpec("P")
R = TypeVar("R", bound="Resource")
T = TypeVar("T")

_EXPECTATIONS = {
    "str": "takes text",
    "int": "takes a whole number",
    "float": "takes a number",
    "bool": "takes true or false",
    "array": "takes a list",
    "object": "takes an object with named fields",
    "datetime": "takes a time like 2026-11-20T15:04:05Z",
    "date": "takes a day like 2026-11-20",
}
"""Type in msgspec's message -> problem, as `FieldReader` words it."""


class _Context(Protocol):
    def check_open(self) -> None: ...


class Resource(Protocol):
    """A part of the desk, such as its drafts."""

    @property
    def _ctx(self) -> _Context: ...


def operation(method: Callable[Concatenate[R, P], T]) -> Callable[Concatenate[R, P], T]:
    """Make `method` of a resource an operation that callers outside the desk may use.

    It raises DeskClosedError once the desk is closed, and InvalidError naming the argument for a value that is not of
    the declared type. Values are accepted as on the wire, too: strings for enumerations and times, mappings with
    camelCase names for structs. A parameter `SomeRequest | Mapping` is left to the request's own validation, which
    names every invalid field at once.
    """
    arguments = _Arguments(method)
    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def call_async(resource: R, *args: P.args, **kwargs: P.kwargs) -> object:
            resource._ctx.check_open()  # noqa: SLF001 - the gate belongs to the resource
            bound = arguments.convert(resource, *args, **kwargs)
            return await method(*bound.args, **bound.kwargs)

        return cast("Callable[Concatenate[R, P], T]", call_async)

    @wraps(method)
    def call(resource: R, *args: P.args, **kwargs: P.kwargs) -> T:
        resource._ctx.check_open()  # noqa: SLF001 - as above
        bound = arguments.convert(resource, *args, **kwargs)
        return cast("Callable[..., T]", method)(*bound.args, **bound.kwargs)

    return cast("Callable[Concatenate[R, P], T]", call)


class _Arguments:
    """The arguments of an operation."""

    def __init__(self, method: Callable[..., object]) -> None:
        self._method = method

    def convert(self, *args: object, **kwargs: object) -> inspect.BoundArguments:
        """Return the arguments converted to the declared types. Raise InvalidError."""
        signature, types = self._declaration
        bound = signature.bind(*args, **kwargs)
        problems: list[FieldError] = []
        for name, declared in types.items():
            if name in bound.arguments:
                try:
                    bound.arguments[name] = _convert(_wire_name(name), bound.arguments[name], declared)
                except InvalidError as error:
                    problems.extend(error.errors)
        if problems:
            raise InvalidError(*problems)
        return bound

    # On first use, as most operations are never called in a process.
    @cached_property
    def _declaration(self) -> tuple[inspect.Signature, dict[str, Any]]:
        signature = inspect.signature(self._method, eval_str=False)
        scope = getattr(self._method, "__globals__", {})
        types = dict(_checked_types(signature, scope))
        return signature, types


def _checked_types(signature: inspect.Signature, scope: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and type of each parameter whose argument can be checked here."""
    for name, parameter in list(signature.parameters.items())[1:]:
        declared = parameter.annotation
        if isinstance(declared, str):
            declared = eval(declared, scope)  # noqa: S307 - our own annotation, quoted for a forward reference
        # Filters given as keywords have a validation of their own.
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            declared = Sequence[declared]  # type: ignore[valid-type] # built at run time
        if not _has_own_validation(declared):
            yield name, declared


def _has_own_validation(declared: Any) -> bool:
    """Return True for requests, and lists of them, that the operation validates."""
    if declared in (object, Mapping[str, object]):
        return True
    return any(_has_own_validation(argument) for argument in get_args(declared) if argument is not Ellipsis)


def _convert(name: str, value: object, declared: Any) -> object:
    if Callable in (get_origin(declared), *map(get_origin, get_args(declared))):
        if value is None or callable(value):
            return value
        raise InvalidError(FieldError(name, "takes a function"))
    # msgspec would take a text for base64.
    if declared is bytes and not isinstance(value, bytes):
        raise InvalidError(FieldError(name, "takes bytes"))
    is_struct = isinstance(declared, type) and issubclass(declared, msgspec.Struct)
    given = _to_mapping(value) if is_struct and isinstance(value, (declared, Mapping)) else value
    try:
        return convert(name, given, declared)
    except InvalidError as error:
        problems = (_reword(problem, declared) for problem in error.errors)
        raise InvalidError(*(_of_request(problem) if is_struct else problem for problem in problems)) from None


def _to_mapping(value: object) -> object:
    """Return a request, and what is in its fields, as on the wire: msgspec takes a struct with whatever it contains."""
    fields = wire_fields(value) if isinstance(value, msgspec.Struct) else value
    return {name: _to_mapping(inner) for name, inner in fields.items()} if isinstance(fields, Mapping) else value


def _of_request(problem: FieldError) -> FieldError:
    """Return the problem named as in the request, which over HTTP is the whole body."""
    return FieldError(problem.field.removeprefix("request."), problem.message)


def _reword(problem: FieldError, declared: Any) -> FieldError:
    """Return the problem in the words that requests use for theirs, as far as there are any."""
    for constraint in getattr(declared, "__metadata__", ()):
        if constraint.description:
            return FieldError(problem.field, constraint.description)
    expected = re.match(r"expected `(\w+)[^`]*`, got", problem.message)
    return FieldError(problem.field, _EXPECTATIONS.get(expected[1], problem.message)) if expected else problem


def _wire_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
