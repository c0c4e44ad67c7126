"""Fake platforms with a sign-in: one through a browser, one with a password."""

from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import urlencode

import httpx

from copydesk.model.delivery import Account
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.platform import Connected, LoginError, SignIn, Wanted

STATE, CODE = "some-state", "the-code"


class BrowserFake(FakePlatform):
    """Returns a consent page, and accepts one code."""

    name = "browser"
    home = "https://browser.example"
    wants = (Wanted(name="token", question="Token", secret=True, optional=True),)
    fixed_port: ClassVar[int | None] = None
    by_hand: ClassVar[str] = ""

    async def begin(self, server: str, given: Mapping[str, str], redirect: str) -> SignIn:
        page = f"{server}/yes?{urlencode({'redirect': redirect})}"
        return SignIn(url=page, redirect=redirect, state=STATE, kept={})

    async def finish(self, server: str, sign_in: SignIn, code: str) -> Connected:
        if code != CODE:
            raise LoginError("That code is not good.")
        return Connected(account=Account(platform="browser", server=server, id="b", name="b"), secrets={"token": "t"})


class KeyFake(FakePlatform):
    """Asks for a handle and a password, which must be `open`."""

    name = "keyed"
    home = "https://keyed.example"
    wants = (
        Wanted(name="handle", question="Handle"),
        Wanted(name="password", question="Password", secret=True),
    )

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        if given["password"] != "open":
            raise LoginError("The password is not right.", hint="Look for it there.")
        name = given["handle"]
        account = Account(platform="keyed", server=server, id=name, name=name)
        return Connected(account=account, secrets={"password": given["password"]})

    async def check(self, account: Account) -> Account:
        if account.name == "locked":
            raise LoginError("The server does not know the account any more.", hint="Connect it again.")
        return account


def both() -> dict[str, FakePlatform]:
    """Return both platforms by name."""
    return {"browser": BrowserFake(FakeServer()), "keyed": KeyFake(FakeServer())}


async def say_yes(page: str) -> None:
    """Consent on the page, as the user's browser does."""
    redirect = httpx.URL(page).params["redirect"]
    async with httpx.AsyncClient(trust_env=False) as browser:
        await browser.get(redirect, params={"state": STATE, "code": CODE})
