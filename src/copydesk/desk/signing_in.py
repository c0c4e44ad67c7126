"""OAuth sign-in through the user's browser, for any front end that can show a URL."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from copydesk.errors import SignInError
from copydesk.network.loopback import HOST, PATH, Loopback, code_from

if TYPE_CHECKING:
    from copydesk.desk.accounts import Accounts, WayIn
    from copydesk.model.account import ConnectedAccount

USUAL_PORT = 8400
"""Port of the redirect URL if nothing listens there and the platform accepts any port."""
Show = Callable[[str], Awaitable[None]]
"""Show the user the URL of the authorization page."""
Pasted = Callable[[], Awaitable[str]]
"""Return the text that the user pastes: the code, or the URL at which the browser ended."""


class NobodyListensError(SignInError):
    """The redirect URL cannot be used on this machine; only pasting the code works."""


def needs_browser(way: "WayIn", given: Mapping[str, str]) -> bool:
    """Return True if `fields` require the browser, i.e. contain no credential that works without it."""
    return way.browser and not any(given.get(field.name) for field in way.wants if field.optional and field.secret)


async def through_browser(
    accounts: "Accounts", way: "WayIn", given: Mapping[str, str], server: str, show: Show, pasted: Pasted | None = None
) -> "ConnectedAccount":
    """Send the user to the platform, wait for the redirect or the pasted code, and return the connected account.

    Raise SignInError if sign-in fails, LoopbackUnavailableError if the redirect port cannot be opened, and whatever
    `Accounts.finish_sign_in` raises.
    """
    async with _open_loopback(way.port) as loopback:
        sign_in = await accounts.begin(way.platform, given, loopback.redirect, server)
        await show(sign_in.url)
        tasks = [asyncio.ensure_future(loopback.code(sign_in.state))]
        if pasted is not None:
            tasks.append(asyncio.ensure_future(_read_pasted_code(pasted, sign_in.state)))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Cancel the other one, and also both if this task is cancelled: the paste prompt must not stay open.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return await accounts.finish(way.platform, sign_in, done.pop().result(), server)


@asynccontextmanager
async def _open_loopback(port: int | None) -> AsyncIterator[Loopback]:
    async with AsyncExitStack() as stack:
        try:
            loopback = await stack.enter_async_context(Loopback(port))
        except SignInError as error:
            raise NobodyListensError(error.message, hint=error.hint) from None
        yield loopback


async def by_hand(
    accounts: "Accounts", way: "WayIn", given: Mapping[str, str], server: str, show: Show, pasted: Pasted
) -> "ConnectedAccount":
    """Sign in like `sign_in_with_browser` when the browser runs on another machine: the user pastes
    the code it ends with.
    """
    redirect = way.by_hand or f"http://{HOST}:{way.port or USUAL_PORT}{PATH}"
    sign_in = await accounts.begin(way.platform, given, redirect, server)
    await show(sign_in.url)
    return await accounts.finish(way.platform, sign_in, await _read_pasted_code(pasted, sign_in.state), server)


async def _read_pasted_code(pasted: Pasted, state: str) -> str:
    return code_from(await pasted(), state)
