"""Fake platforms with a sign-in: one through a browser, one with a password."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import httpx
from msgspec.structs import replace

from copydesk.model.delivery import Account
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.platform import ConnectResult, CredentialField, LoginError, SignIn

STATE, CODE = "some-state", "the-code"
POSTS = ("A ferry is a road that moves.", "The newest post of \x1b[31mmine.", "short", "An older post of mine.")
"""What an account of the first platform has posted."""


class FakeBrowserPlatform(FakePlatform):
    """Returns a consent page, and accepts one code."""

    info = replace(
        FakePlatform.info,
        name="browser",
        label="Browser",
        default_server="https://browser.example",
        credential_fields=(
            CredentialField(name="token", question="Token", secret=True, optional=True, replaces_sign_in=True),
        ),
        uses_browser=True,
    )

    async def start_sign_in(self, server: str, credentials: Mapping[str, str], redirect_uri: str) -> SignIn:
        page = f"{server}/yes?{urlencode({'redirect': redirect_uri})}"
        return SignIn(url=page, redirect_uri=redirect_uri, state=STATE, context={})

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        account = Account(platform="browser", server=server, id="b", name="b")
        return ConnectResult(account=account, credentials=dict(credentials))

    async def list_posts(self, account: Account, limit: int) -> Sequence[str]:
        return POSTS[:limit]

    async def finish_sign_in(self, server: str, sign_in: SignIn, code: str) -> ConnectResult:
        if code != CODE:
            raise LoginError("That code is not good.")
        return ConnectResult(
            account=Account(platform="browser", server=server, id="b", name="b"), credentials={"token": "t"}
        )


class FakePasswordPlatform(FakePlatform):
    """Asks for a handle and a password, which must be `open`."""

    info = replace(
        FakePlatform.info,
        name="keyed",
        label="Keyed",
        default_server="https://keyed.example",
        credential_fields=(
            CredentialField(name="handle", question="Handle"),
            CredentialField(name="password", question="Password", secret=True),
        ),
    )

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        if credentials["password"] != "open":
            raise LoginError("The password is not right.", hint="Look for it there.")
        name = credentials["handle"]
        account = Account(platform="keyed", server=server, id=name, name=name)
        return ConnectResult(account=account, credentials={"password": credentials["password"]})

    async def check(self, account: Account) -> Account:
        if account.name == "locked":
            raise LoginError("The server does not know the account any more.", hint="Connect it again.")
        return account


def sign_in_platforms() -> dict[str, FakePlatform]:
    """Return both platforms by name."""
    return {"browser": FakeBrowserPlatform(FakeServer()), "keyed": FakePasswordPlatform(FakeServer())}


async def authorize(page: str) -> None:
    """Consent on the page, as the user's browser does."""
    redirect = httpx.URL(page).params["redirect"]
    async with httpx.AsyncClient(trust_env=False) as browser:
        (await browser.get(redirect, params={"state": STATE, "code": CODE})).raise_for_status()
