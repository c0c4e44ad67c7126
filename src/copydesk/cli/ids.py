"""Ids as arguments: given by their ends, and completed in the shell, as names are; names of platforms."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from copydesk.cli.context import Context
from copydesk.errors import CopydeskError
from copydesk.model.ids import IdKind, IdMatch, parse_end

if TYPE_CHECKING:
    from copydesk.desk import Desk

T = TypeVar("T")
Completer = Callable[[click.Context, click.Parameter, str], list[str]]


class IdType(click.types.StringParamType):
    """The id of something, or its end. Of several kinds the first that has an id with this end counts."""

    name = "id"

    def __init__(self, *kinds: IdKind) -> None:
        self.kinds = kinds

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,
        incomplete: str,
    ) -> list[CompletionItem]:
        """Offer the newest ids, with what they are recognized by."""
        return [
            CompletionItem(match.short_id, help=f"{match.status}: {match.text}")
            for match in _list_newest(ctx, self.kinds)
            if match.short_id.startswith(incomplete)
        ]


SOURCE, DRAFT, DELIVERY = IdType(IdKind.SOURCE), IdType(IdKind.DRAFT), IdType(IdKind.DELIVERY)
ITEM = IdType(IdKind.ITEM)
STORY = IdType(IdKind.DRAFT, IdKind.ITEM)
"""A story is given by the id of a draft or of an item."""
RUN, EXPERIMENT, WEBHOOK = IdType(IdKind.RUN), IdType(IdKind.EXPERIMENT), IdType(IdKind.WEBHOOK)


def resolve_ids(ctx: click.Context) -> None:
    """Replace the ends of ids among the command's arguments by the whole ids. An ambiguous one ends the program."""
    ends = {
        parameter.name: (parameter.type.kinds, _as_tuple(ctx.params[parameter.name]))
        for parameter in ctx.command.params
        if isinstance(parameter.type, IdType) and parameter.name
    }
    # Whole ids need no lookup, and so no desk to be opened twice.
    ends = {name: (kinds, values) for name, (kinds, values) in ends.items() if any(map(parse_end, values))}
    if not ends:
        return

    async def work(desk: "Desk") -> dict[str, tuple[str, ...]]:
        return {name: await _resolve(desk, kinds, values) for name, (kinds, values) in ends.items()}

    context = ctx.find_object(Context)
    assert context is not None
    for name, ids in context.run(work).items():
        ctx.params[name] = ids if isinstance(ctx.params[name], tuple) else ids[0]


async def shorten_drafts(desk: "Desk", ids: Sequence[str]) -> dict[str, str]:
    """Return for each of `ids` the short id that lists print; what is no draft's id stays as it was given."""
    return await desk.ids.shorten(IdKind.DRAFT, ids)


async def shorten_draft(desk: "Desk", draft_id: str) -> str:
    """Return the short id that lists print for one draft."""
    return await shorten_id(desk, IdKind.DRAFT, draft_id)


async def shorten_id(desk: "Desk", kind: IdKind, whole_id: str) -> str:
    """Return the short id that lists print for one id of this kind."""
    return (await desk.ids.shorten(kind, [whole_id]))[whole_id]


async def parse_platforms(desk: "Desk", parameter: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of platforms or accounts with the platform as it is stored. Raise BadParameter if unknown."""
    from copydesk.desk.catalog import known_platforms, normalize_platform  # noqa: PLC0415 - only some commands need it

    known, parsed = known_platforms(await desk.accounts.list()), []
    for name in names:
        platform = normalize_platform(name, known)
        if platform is None:
            message = f"{name!r} is not one of {', '.join(map(repr, known))}."
            raise click.BadParameter(message, click.get_current_context(), param_hint=repr(parameter))
        parsed.append(platform)
    return tuple(parsed)


async def _resolve(desk: "Desk", kinds: Sequence[IdKind], ends: tuple[str, ...]) -> tuple[str, ...]:
    for kind in kinds:
        # What is a whole id by now stays as it is.
        ends = await desk.ids.resolve(kind, ends)
    return ends


def _as_tuple(value: Any) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return value
    return () if value is None else (value,)


def complete_names(load: Callable[["Desk"], Awaitable[Iterable[str]]]) -> Completer:
    """Return a function for `shell_complete` that offers the names that `load` finds on the desk."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in _read_desk(ctx, load) if name.startswith(incomplete)]

    return complete


def _list_newest(ctx: click.Context, kinds: Sequence[IdKind]) -> Iterable[IdMatch]:
    async def load(desk: "Desk") -> Iterable[IdMatch]:
        return [match for kind in kinds for match in await desk.ids.list_newest(kind, 100)]

    return _read_desk(ctx, load)


def _read_desk(ctx: click.Context, load: Callable[["Desk"], Awaitable[Iterable[T]]]) -> Iterable[T]:
    """Return what `load` finds on the desk that the command line names. Nothing is printed into the user's prompt."""
    options = ctx.find_root().params
    # Made here: while the shell completes, click parses the options but does not call the group.
    context = Context.from_options(home=options["home"], sample=options["sample"], user=options["user"])

    async def read() -> Iterable[T]:
        async with context.desk() as desk:
            return await load(desk)

    try:
        # Completing must not create a desk.
        return asyncio.run(read()) if context.settings().has_database else ()
    except (CopydeskError, OSError):
        return ()
