"""The way into an account through the user's browser, for whoever shows the user something: a console, a command."""

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
"""Of the address that the browser ends at, where nobody listens and any will do."""
Show = Callable[[str], Awaitable[None]]
"""Shows the user the page where he says yes."""
Pasted = Callable[[], Awaitable[str]]
"""What the user pastes: the code, or the address that the browser ended at."""


class NobodyListensError(SignInError):
    """The address that the browser is to come back to cannot be used here: it goes by hand alone."""


def needs_browser(way: "WayIn", given: Mapping[str, str]) -> bool:
    """Whether what was given leads through the browser: it holds no key that would do without."""
    return way.browser and not any(given.get(each.name) for each in way.wants if each.optional and each.secret)


async def through_browser(
    accounts: "Accounts", way: "WayIn", given: Mapping[str, str], server: str, show: Show, pasted: Pasted | None = None
) -> "ConnectedAccount":
    """Send the user to the platform, and wait until the browser comes back, or the user pastes where it ended.

    Raises SignInError where it does not, NobodyListensError where nothing can listen for it, and as `Accounts.finish`.
    """
    async with _listening(way.port) as back:
        sign_in = await accounts.begin(way.platform, given, back.redirect, server)
        await show(sign_in.url)
        waiting = [asyncio.ensure_future(back.code(sign_in.state))]
        if pasted is not None:
            waiting.append(asyncio.ensure_future(_code(pasted, sign_in.state)))
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return await accounts.finish(way.platform, sign_in, done.pop().result(), server)


@asynccontextmanager
async def _listening(port: int | None) -> AsyncIterator[Loopback]:
    async with AsyncExitStack() as stack:
        try:
            back = await stack.enter_async_context(Loopback(port))
        except SignInError as error:
            raise NobodyListensError(error.message, hint=error.hint) from None
        yield back


async def by_hand(
    accounts: "Accounts", way: "WayIn", given: Mapping[str, str], server: str, show: Show, pasted: Pasted
) -> "ConnectedAccount":
    """As `through_browser`, where the browser is on another machine: nothing listens, the user pastes what it shows."""
    redirect = way.by_hand or f"http://{HOST}:{way.port or USUAL_PORT}{PATH}"
    sign_in = await accounts.begin(way.platform, given, redirect, server)
    await show(sign_in.url)
    return await accounts.finish(way.platform, sign_in, await _code(pasted, sign_in.state), server)


async def _code(pasted: Pasted, state: str) -> str:
    return code_from(await pasted(), state)
