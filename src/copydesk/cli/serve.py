"""`copydesk serve`: the HTTP service."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from copydesk.cli.command import command
from copydesk.cli.context import Context, pass_context
from copydesk.cli.daemon import print_message
from copydesk.errors import SettingsError
from copydesk.version import install_hint

if TYPE_CHECKING:
    from copydesk.http.app import Extension
    from copydesk.http.server import ServerOptions
    from copydesk.http.service import Service
    from copydesk.jobs import JobMessage
    from copydesk.model.user import User


@command(
    examples=("copydesk serve", "copydesk serve --host 0.0.0.0 --allowed-host desk.example --jobs"), creates_desk=True
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8470, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--allowed-host", "allowed_hosts", multiple=True, metavar="NAME", help="A host name under which requests come."
)
@click.option(
    "--trusted-proxy",
    "trusted_proxies",
    multiple=True,
    metavar="ADDRESS",
    help="A reverse proxy whose X-Forwarded headers count.",
)
@click.option(
    "--jobs", "with_jobs", is_flag=True, help="Run the scheduled jobs of all users, as `copydesk daemon` does for one."
)
@click.option("--access-log", is_flag=True, help="Print a line of JSON for each request.")
@pass_context
def serve(
    context: Context,
    *,
    host: str,
    port: int,
    allowed_hosts: tuple[str, ...],
    trusted_proxies: tuple[str, ...],
    with_jobs: bool,
    access_log: bool,
) -> None:
    """Serve every operation over HTTP, for all users, until SIGTERM or Ctrl-C.

    Each request needs a token: `copydesk token create`. The description of the interface is at /docs.
    """
    context.refuse_user("The service is for all users; a token says which.")
    try:
        server = import_module("copydesk.http.server")
    except ModuleNotFoundError as error:
        if error.name not in {"starlette", "uvicorn", "multipart", "python_multipart"}:
            raise
        raise click.UsageError(f"The HTTP service is not installed. {install_hint('serve')}") from None
    from copydesk.http.log import print_log  # noqa: PLC0415 - an extra

    options = server.ServerOptions(host=host, port=port, allowed_hosts=allowed_hosts, trusted_proxies=trusted_proxies)
    print_log(requests=access_log)
    context.run_without_desk(lambda: _serve(context, options, with_jobs=with_jobs))


async def _serve(context: Context, options: "ServerOptions", *, with_jobs: bool) -> None:
    from copydesk.http.server import serve as run_server  # noqa: PLC0415 - an extra

    async with AsyncExitStack() as stack:
        desks = await stack.enter_async_context(context.desks())
        if not options.is_loopback and not await desks.has_tokens():
            raise SettingsError(
                f"{options.host} can be reached from other machines, and there is no token yet.",
                hint="Create one: `copydesk token create --name NAME --scope read`.",
            )
        if with_jobs:
            from copydesk.jobs import run_all_jobs  # noqa: PLC0415 - without it nothing needs APScheduler

            await stack.enter_async_context(run_all_jobs(desks, listener=_print_job_message))
        await run_server(
            desks,
            options,
            lambda url: click.echo(f"Serving on {url} (documentation: {url}/docs)", err=True),
            _load_extensions,
        )


def _print_job_message(user: "User", message: "JobMessage") -> None:
    print_message(message, of=user.name)


def _load_extensions(service: "Service") -> "Sequence[Extension]":
    """Return the MCP server, if its extra is installed."""
    if find_spec("mcp") is None:
        return ()
    from copydesk.mcp.endpoint import http_extension  # noqa: PLC0415 - an extra

    return (http_extension(service),)
