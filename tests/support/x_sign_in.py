"""The fake X in the place of every server, for signing in to it from the console and the command line."""

import httpx
import pytest
from msgspec.structs import replace

from copydesk.posting.x.platform import X
from fake_x import FakeX
from faulty_server import FakeClock

CLIENT_SECRETS = ("", "hush-hush-hush")
"""Of a public app, which has none, and of a confidential one."""


def serve_x(monkeypatch: pytest.MonkeyPatch, client_secret: str) -> tuple[FakeX, httpx.AsyncBaseTransport]:
    """Return the fake X and its transport. Any port receives the redirect: the registered one may be in use here."""
    fake = FakeX(FakeClock())
    fake.client_secret = client_secret
    monkeypatch.setattr(X, "info", replace(X.info, redirect_port=None))
    return fake, httpx.MockTransport(fake.handle)


async def open_page(fake: FakeX, page: str) -> None:
    """Consent on X's page, as the user's browser does."""
    async with httpx.AsyncClient(trust_env=False) as browser:
        (await browser.get(fake.authorize(page))).raise_for_status()
