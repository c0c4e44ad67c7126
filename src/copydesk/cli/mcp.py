"""`copydesk mcp`: tools for an agent, over standard input and output."""

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from copydesk.cli.command import command
from copydesk.cli.context import Context, pass_context
from copydesk.errors import SettingsError
from copydesk.version import install_hint

if TYPE_CHECKING:
    from copydesk.desk import Desks
    from copydesk.model.token import Access

TOKEN_VARIABLE = "COPYDESK_TOKEN"  # noqa: S105 - the name of a variable


@command(examples=("copydesk mcp",), creates_desk=True)
@pass_context
def mcp(context: Context) -> None:
    """Offer the operations as tools to an agent, over the Model Context Protocol (MCP).

    An agent starts this command and talks to it on standard input and output. It may read, and propose and edit drafts
    that nobody has approved; it cannot approve, schedule or post. A token in COPYDESK_TOKEN decides otherwise.
    """
    if find_spec("mcp") is None:
        raise click.UsageError(f"The MCP server is not installed. {install_hint('mcp')}")
    if sys.stdin.isatty():
        click.echo("Waiting for an agent on standard input. Ctrl-C stops.", err=True)
    context.run_without_desk(lambda: _serve(context))


async def _serve(context: Context) -> None:
    from copydesk.mcp.server import run_stdio  # noqa: PLC0415 - an extra

    async with context.desks() as desks:
        token = os.environ.get(TOKEN_VARIABLE)
        await run_stdio(desks, await _get_access(context, desks, token), token)


async def _get_access(context: Context, desks: "Desks", token: str | None) -> "Access":
    from copydesk.model.token import Access, Scope  # noqa: PLC0415 - keeps the help fast

    if token:
        access = await desks.authenticate(token)
        if access is None:
            raise SettingsError(f"The token in {TOKEN_VARIABLE} is unknown, revoked or expired.")
        return access
    return Access(user=await context.find_user(desks), token_id="local", token_name="mcp", scope=Scope.DRAFT)  # noqa: S106 - no token
