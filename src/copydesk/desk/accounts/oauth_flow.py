"""OAuth sign-in through the user's browser, for any front end that can show a URL."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from copydesk.errors import SignInError
from copydesk.network.loopback import HOST, PATH, LoopbackServer, parse_pasted_code

if TYPE_CHECKING:
    from copydesk.desk.accounts.service import Accounts, ConnectMethod
    from copydesk.model.delivery import ConnectedAccount

DEFAULT_REDIRECT_PORT = 8400
"""Port of the redirect URL if nothing listens there and the platform accepts any port."""
ShowUrl = Callable[[str], Awaitable[None]]
"""Show the user the URL of the authorization page."""
ReadPasted = Callable[[], Awaitable[str]]
"""Return the text that the user pastes: the code, or the URL at which the browser ended."""


class LoopbackUnavailableError(SignInError):
    """The redirect URL cannot be used on this machine; only pasting the code works."""


def needs_browser(method: "ConnectMethod", fields: Mapping[str, str]) -> bool:
    """Return True if `fields` require the browser, i.e. contain no credential that works without it."""
    return method.uses_browser and not any(
        fields.get(field.name) for field in method.credential_fields if field.replaces_sign_in
    )


async def sign_in_with_browser(
    accounts: "Accounts",
    method: "ConnectMethod",
    fields: Mapping[str, str],
    server: str,
    show: ShowUrl,
    read_pasted: ReadPasted | None = None,
) -> "ConnectedAccount":
    """Send the user to the platform, wait for the redirect or the pasted code, and return the connected account.

    Raise SignInError if sign-in fails, LoopbackUnavailableError if the redirect port cannot be opened, and whatever
    `Accounts.finish_sign_in` raises.
    """
    async with _open_loopback(method.redirect_port) as loopback:
        sign_in = await accounts.start_sign_in(method.platform, fields, loopback.redirect_uri, server)
        # Before the page is shown: the browser may return while it is still being started.
        tasks = [asyncio.ensure_future(loopback.wait_for_code(sign_in.state))]
        try:
            await show(sign_in.url)
            if read_pasted is not None:
                tasks.append(asyncio.ensure_future(_read_pasted_code(read_pasted, sign_in.state)))
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Cancel the other one, and also both if this task is cancelled: the paste prompt must not stay open.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return await accounts.finish_sign_in(method.platform, sign_in, done.pop().result(), server)


@asynccontextmanager
async def _open_loopback(port: int | None) -> AsyncIterator[LoopbackServer]:
    async with AsyncExitStack() as stack:
        try:
            loopback = await stack.enter_async_context(LoopbackServer(port))
        except SignInError as error:
            raise LoopbackUnavailableError(error.message, hint=error.hint) from None
        yield loopback


async def sign_in_with_pasted_code(
    accounts: "Accounts",
    method: "ConnectMethod",
    fields: Mapping[str, str],
    server: str,
    show: ShowUrl,
    read_pasted: ReadPasted,
) -> "ConnectedAccount":
    """Sign in like `sign_in_with_browser` with a browser on another machine: the user pastes the code it ends with."""
    redirect = method.manual_redirect_uri or f"http://{HOST}:{method.redirect_port or DEFAULT_REDIRECT_PORT}{PATH}"
    sign_in = await accounts.start_sign_in(method.platform, fields, redirect, server)
    await show(sign_in.url)
    return await accounts.finish_sign_in(
        method.platform, sign_in, await _read_pasted_code(read_pasted, sign_in.state), server
    )


async def _read_pasted_code(pasted: ReadPasted, state: str) -> str:
    return parse_pasted_code(await pasted(), state)
