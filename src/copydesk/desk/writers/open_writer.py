"""Open the writers that the user has chosen and ask them for a draft, whoever needs it: runs, requests, previews."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from copydesk.desk.context import DeskContext
from copydesk.drafting import writer as writers
from copydesk.drafting.writer import Brief, LimitedWriter, Writer, WriterResult, write_or_stream
from copydesk.errors import CredentialsError, FieldError, InvalidError, WriterError
from copydesk.model.user import User
from copydesk.model.writer import OFFLINE, Endpoint, ModelRequest
from copydesk.store import writers as stored
from copydesk.store.database import Transaction

if TYPE_CHECKING:
    from copydesk.drafting.model_writer.client import ModelClient
    from copydesk.drafting.model_writer.prices import Price
    from copydesk.drafting.model_writer.writer import ModelWriter

DEADLINE_SHARE = 0.9
"""Share of `generation.deadline` for language models; the rest is for whoever writes if they do not."""
KEY = "key"
"""Name of an endpoint's secret."""


async def open_writer(ctx: DeskContext) -> Writer:
    """Return the writer that asks the user's writers in their order."""
    if ctx.shared.writer is not None:
        return ctx.shared.writer
    names, endpoints = await ctx.read(_load_chosen)
    if names == (OFFLINE,):
        return writers.get_writer()
    from copydesk.drafting.model_writer.writer import FallbackWriter  # noqa: PLC0415 - brings in httpx

    seconds = ctx.settings.generation.deadline * DEADLINE_SHARE / max(1, len(endpoints))
    chosen: list[Writer] = [
        writers.get_writer() if name == OFFLINE else await open_endpoint(ctx, endpoints[name], seconds=seconds)
        for name in names
    ]
    return chosen[0] if len(chosen) == 1 else FallbackWriter(chosen)


async def check_feedback(ctx: DeskContext, feedback: str) -> None:
    """Raise InvalidError if the user's only writer does not understand `feedback`. Language models read any."""
    writer = ctx.shared.writer
    if writer is None and (await ctx.read(_load_chosen))[0] == (OFFLINE,):
        writer = writers.get_writer()
    if isinstance(writer, LimitedWriter):
        try:
            writer.check_feedback(feedback)
        except WriterError as error:
            raise InvalidError(FieldError("feedback", error.message.rstrip(".")), hint=error.hint) from None


async def find_refusing_model(ctx: DeskContext, parameter: str) -> str | None:
    """Return the first model in use that refuses requests with this parameter, such as `temperature`, or None."""
    _, endpoints = await ctx.read(_load_chosen)
    if not endpoints:
        return None
    from copydesk.drafting.model_writer.endpoints import supports_parameter  # noqa: PLC0415 - brings in httpx

    models = ((endpoint.protocol, endpoint.model) for endpoint in endpoints.values())
    return next((model for protocol, model in models if not supports_parameter(protocol, model, parameter)), None)


async def write_recorded(
    ctx: DeskContext, writer: Writer, brief: Brief, on_text: Callable[[str], None] | None = None
) -> WriterResult:
    """Return the draft that `writer` writes, and record what it cost. Raise WriterError."""
    try:
        result = await write_or_stream(writer, brief, on_text)
    except WriterError as error:
        await _record(ctx, requests_of(error))
        raise
    await _record(ctx, result.requests)
    return result


def requests_of(error: Exception) -> tuple[ModelRequest, ...]:
    """Return the requests to language models that ended in `error`."""
    requests: tuple[ModelRequest, ...] = getattr(error, "requests", ())
    return requests


async def open_endpoint(ctx: DeskContext, endpoint: Endpoint, *, seconds: float) -> "ModelWriter":
    """Return the writer that asks the model of this endpoint, within `seconds`."""
    from copydesk.drafting.model_writer.completion import UnavailableError  # noqa: PLC0415 - as above
    from copydesk.drafting.model_writer.writer import ModelWriter  # noqa: PLC0415 - as above

    failure: UnavailableError | None = None
    client = None
    try:
        client = await _client(ctx, endpoint)
    except CredentialsError as error:
        # Not raised here: the next writer may need no key.
        failure = UnavailableError(error.message, hint=error.hint)

    async def check(endpoint: Endpoint) -> None:
        if failure is not None:
            raise failure
        await check_budget(ctx, endpoint)

    return ModelWriter(
        client or create_client(ctx, endpoint, ""),
        clock=ctx.clock,
        prices=load_prices(ctx),
        check_budget=check,
        seconds=seconds,
    )


def secret_name(endpoint: Endpoint, user: User) -> str:
    """Return the vault key of an endpoint's secrets. A key goes only to the server for which it was entered."""
    return f"{secret_prefix(user, endpoint.name)}{endpoint.base_url}"


def secret_prefix(user: User, name: str = "") -> str:
    """Return the start of the vault keys of a user's endpoints, or of those with one name."""
    prefix = f"writer:{name}@" if name else "writer:"
    return prefix if user.is_owner else f"{user.id}/{prefix}"


def load_prices(ctx: DeskContext) -> "Mapping[str, Price]":
    """Return the prices in the settings by model."""
    from copydesk.drafting.model_writer.prices import Price  # noqa: PLC0415 - as above

    return {
        model: Price(input=price[0], output=price[1], cached=price[2] if len(price) > 2 else None)
        for model, price in ctx.settings.prices.items()
    }


async def check_budget(ctx: DeskContext, endpoint: Endpoint) -> None:
    """Raise UnavailableError if the budget of the month is spent, or cannot be kept because the model has no price."""
    from copydesk.drafting.model_writer.completion import UnavailableError  # noqa: PLC0415 - as above
    from copydesk.drafting.model_writer.endpoints import is_local  # noqa: PLC0415 - as above
    from copydesk.drafting.model_writer.prices import find_price  # noqa: PLC0415 - as above

    budget = ctx.settings.writing.monthly_budget
    if not budget:
        return
    if find_price(load_prices(ctx), "", endpoint.model) is None:
        # A model of one's own costs nothing; a proxy that passes requests on has a price.
        if is_local(endpoint):
            return
        hint = f'Add "{endpoint.model}" = [input, output] to [prices], or set writing.monthly_budget to 0.'
        raise UnavailableError(f"{endpoint.model} has no price, which the monthly budget needs.", hint=hint)
    spending = await ctx.read(stored.load_spending, ctx.clock())
    if spending.cost >= budget:
        hint = "Raise writing.monthly_budget, or wait until next month."
        raise UnavailableError(f"The monthly budget of ${budget:.2f} is spent: ${spending.cost:.2f}.", hint=hint)


async def _client(ctx: DeskContext, endpoint: Endpoint) -> "ModelClient":
    """Return the client of an endpoint. It is kept, because it learns what the server does not take."""
    name = secret_name(endpoint, ctx.user)
    # Without a stored key the vault is not opened: that may ask for its passphrase.
    secrets = await (ctx.vault.load(name) if endpoint.has_key else ctx.vault.read_environment(name))
    key = (secrets or {}).get(KEY, "")
    if (endpoint, key) not in ctx.model_clients:
        ctx.model_clients[endpoint, key] = create_client(ctx, endpoint, key)
    return ctx.model_clients[endpoint, key]


def create_client(ctx: DeskContext, endpoint: Endpoint, key: str) -> "ModelClient":
    """Return a new client of an endpoint. Only one that the user placed in their own network may be there."""
    from copydesk.drafting.model_writer.client import ModelClient  # noqa: PLC0415 - as above
    from copydesk.drafting.model_writer.endpoints import is_local  # noqa: PLC0415 - as above

    transport = ctx.shared.local_transport if is_local(endpoint) else ctx.shared.http_transport
    return ModelClient(ctx.transport or transport, endpoint, key, clock=ctx.clock)


async def _record(ctx: DeskContext, requests: Sequence[ModelRequest]) -> None:
    if requests:
        # Not an effect of the caller's request: it was paid for, whatever becomes of the draft.
        await ctx.write_unguarded(stored.add_spending, requests)


def _load_chosen(conn: Transaction, user_id: str) -> tuple[tuple[str, ...], dict[str, Endpoint]]:
    """Return the names in order, and those of their endpoints that exist."""
    found = {entry.endpoint.name: entry.endpoint for entry in stored.list_all(conn, user_id)}
    names = tuple(name for name in stored.load_order(conn, user_id) if name == OFFLINE or name in found)
    return names or (OFFLINE,), {name: found[name] for name in names if name in found}
