"""The gate of every public operation: the desk must be open, and each argument of the type that is declared."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, cast, get_args, get_origin

from copydesk.errors import FieldError, InvalidError
from copydesk.model.validation import convert

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
            positional, keywords = arguments.convert(args, kwargs)
            return await cast("Callable[..., Awaitable[object]]", method)(resource, *positional, **keywords)

        return cast("Callable[Concatenate[R, P], T]", call_async)

    @wraps(method)
    def call(resource: R, *args: P.args, **kwargs: P.kwargs) -> T:
        resource._ctx.check_open()  # noqa: SLF001 - as above
        positional, keywords = arguments.convert(args, kwargs)
        return cast("Callable[..., T]", method)(resource, *positional, **keywords)

    return cast("Callable[Concatenate[R, P], T]", call)


class _Parameter(NamedTuple):
    """A parameter whose argument can be checked here."""

    wire_name: str
    declared: Any
    takes_function: bool


class _Arguments:
    """The arguments of an operation, without its resource."""

    def __init__(self, method: Callable[..., object]) -> None:
        self._method = method

    def convert(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[Sequence[object], Mapping[str, object]]:
        """Return the arguments converted to the declared types. Raise InvalidError.

        Whether they are too many or too few is left to the call of the method.
        """
        positional, variadic = self._names
        problems: list[FieldError] = []
        converted = [self._convert(name, value, problems) for name, value in zip(positional, args, strict=False)]
        rest = args[len(positional) :]
        if rest and variadic:
            rest = cast("Sequence[object]", self._convert(variadic, rest, problems))
        keywords = {name: self._convert(name, value, problems) for name, value in kwargs.items()}
        if problems:
            raise InvalidError(*problems)
        return (*converted, *rest), keywords

    def _convert(self, name: str, value: object, problems: list[FieldError]) -> object:
        parameter = self._checked.get(name)
        if parameter is None:
            return value
        try:
            return _convert(parameter, value)
        except InvalidError as error:
            problems.extend(error.errors)
            return value

    # On first use, as most operations are never called in a process.
    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._method, eval_str=False)

    @cached_property
    def _names(self) -> tuple[tuple[str, ...], str]:
        """The names of the parameters that may be given by position, and that of the one for the rest, or none."""
        parameters = list(self._signature.parameters.values())[1:]
        positional = tuple(
            parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        )
        return positional, next(
            (parameter.name for parameter in parameters if parameter.kind is parameter.VAR_POSITIONAL), ""
        )

    @cached_property
    def _checked(self) -> dict[str, _Parameter]:
        scope = getattr(self._method, "__globals__", {})
        return {
            name: _Parameter(
                _wire_name(name), declared, Callable in (get_origin(declared), *map(get_origin, get_args(declared)))
            )
            for name, declared in _checked_types(self._signature, scope)
        }


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


def _convert(parameter: _Parameter, value: object) -> object:
    name, declared, takes_function = parameter
    if takes_function:
        if value is None or callable(value):
            return value
        raise InvalidError(FieldError(name, "takes a function"))
    # msgspec would take a text for base64.
    if declared is bytes and not isinstance(value, bytes):
        raise InvalidError(FieldError(name, "takes bytes"))
    try:
        return convert(name, value, declared)
    except InvalidError as error:
        raise InvalidError(*(_reword(problem, declared) for problem in error.errors)) from None


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
