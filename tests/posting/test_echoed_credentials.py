"""Tests that nothing sent as a credential comes back to the user in a server's error message, on any platform."""

import base64
import html
import json
import logging
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import quote, quote_plus

import httpx
import pytest

from copydesk.errors import CopydeskError
from copydesk.model.draft import Format
from copydesk.posting import client as client_module
from copydesk.posting.client import PlatformClient
from copydesk.posting.platform import Account, Post, SignIn, StepResult
from copydesk.posting.registry import PLATFORMS, create_platform
from copydesk.text.redaction import MASK
from fake_blog import SEED, InMemorySecrets

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
STATUSES = (400, 401, 403, 429, 500)
ENCODINGS: Mapping[str, Callable[[str], str]] = {
    "plain": str,
    "url": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "json": lambda text: json.dumps(text).replace("/", r"\/"),
    "html": html.escape,
    "repr": repr,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 shifted": lambda text: base64.urlsafe_b64encode(f" {text}".encode()).decode(),
}


class Case(NamedTuple):
    """A platform, the credentials planted in it, and the servers' answers up to the request that is echoed."""

    platform: str
    secrets: dict[str, str]
    answers: dict[str, dict[str, object]] = {}
    """Response by the end of the path."""
    context: dict[str, str] = {}
    """The context of a browser sign-in, which is then made, too."""

    @property
    def planted(self) -> list[str]:
        """Everything that may be sent as a credential."""
        granted = [value for answer in self.answers.values() for name, value in answer.items() if "oken" in name]
        granted += [value for answer in self.answers.values() for name, value in answer.items() if name == "accessJwt"]
        values = [*self.secrets.values(), *map(str, granted), *self.context.values()]
        return [value for value in values if value.startswith("cd-")] + [code_of(self)]


def code_of(case: Case) -> str:
    return f"cd-{case.platform}-code/1+2"


def planted(platform: str, *names: str) -> dict[str, str]:
    """Return secrets of a platform, with characters that every encoding changes."""
    return {name: f'cd-{platform}/{name} +"1=2&' for name in names}


def app(platform: str) -> dict[str, str]:
    return {"client_id": "app", "client_secret": f"cd-{platform}/hush+=", "code_verifier": f"cd-{platform}-verifier"}


EXPIRED, VALID = ((NOW + timedelta(days=days)).isoformat() for days in (-1, 100))
GHOST_KEY = "6489a:" + "0123456789abcdef" * 4
CASES = (
    Case("bluesky", planted("bluesky", "password", "refresh")),
    Case(
        "bluesky",
        planted("bluesky2", "password"),
        {"createSession": {"did": "12", "handle": "me.example", "accessJwt": "cd-bluesky2-access/1"}},
    ),
    Case("mastodon", planted("mastodon", "token"), {}, app("mastodon")),
    Case("x", {**planted("x", "access_token", "refresh_token"), "expires_at": VALID, "client_id": "app"}),
    Case(
        "x",
        {**planted("x2", "access_token", "refresh_token"), "expires_at": EXPIRED, **app("x2")},
        {},
        app("x2"),
    ),
    Case("linkedin", {**planted("linkedin", "access_token"), "expires_at": VALID}, {}, app("linkedin")),
    Case("threads", {**planted("threads", "access_token"), "expires_at": VALID}, {}, app("threads")),
    Case("threads", {}, {"oauth/access_token": {"access_token": "cd-threads2-short/1"}}, app("threads2")),
    Case("wordpress", {"user": "me", **planted("wordpress", "password")}),
    Case("ghost", {"key": GHOST_KEY}),
    Case("devto", planted("devto", "key")),
    Case("micropub", {**planted("micropub", "token"), "endpoint": "https://micropub.example/micropub?site=1"}),
    Case("webhook", planted("webhook", "secret")),
)
ARTICLE = Post(format=Format.BLOG, parts=("# Tea\n\nFirst, boil it.",), at=NOW)
SHORT = Post(format=Format.SHORT, parts=("One thing worth saying.",), at=NOW)


class EchoServer(httpx.AsyncBaseTransport):
    """Repeats the whole request in the error of its response, as some servers do."""

    def __init__(self, case: Case, status: int, encode: Callable[[str], str]) -> None:
        self.sent: set[str] = set()
        """The credentials in the headers of the requests."""
        self._case = case
        self._status = status
        self._encode = encode

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        for path, answer in self._case.answers.items():
            if request.url.path.endswith(path):
                return httpx.Response(200, json=answer)
        for name in ("authorization", "api-key", "copydesk-signature"):
            self.sent.add(request.headers.get(name, "").rpartition("Bearer ")[2].removeprefix("Ghost "))
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        message = self._encode(f"{request.method} {request.url}\r\n{head}\r\n{request.content.decode()}")
        detail = {"message": message} if self._case.platform == "threads" else message
        body = {"message": message, "error": detail, "error_description": message, "detail": message}
        return httpx.Response(self._status, json=body)


async def describe_errors(case: Case, server: EchoServer) -> str:
    """Call everything that a platform does and return all that its errors say."""
    platform = create_platform(case.platform, PlatformClient(server), InMemorySecrets(**case.secrets), lambda: NOW)
    address = f"https://{case.platform}.example"
    account = Account(platform=case.platform, server=address, id="12", name="me")
    post = ARTICLE if Format.BLOG in platform.info.limits.formats else SHORT
    intent = platform.render(post, account, SEED)
    calls = [
        lambda: platform.connect(address, {"handle": "me", **case.secrets}),
        lambda: platform.check(account),
        lambda: platform.send(account, intent, ()),
        lambda: platform.find_post(account, intent, (), NOW),
        lambda: platform.delete(account, StepResult(ids=("12",), urls=(address,))),
        lambda: platform.metrics(account, ["12"]),
    ]
    if case.context:
        redirect = "http://127.0.0.1:8400/callback"
        sign_in = SignIn(url=address, redirect_uri=redirect, state="", context=case.context)
        calls += [
            lambda: platform.start_sign_in(address, case.context, redirect),
            lambda: platform.finish_sign_in(address, sign_in, code_of(case)),
        ]
    texts = []
    for call in calls:
        try:
            await call()
        except CopydeskError as error:
            texts += [str(vars(error)), "".join(traceback.format_exception(error))]
    return "\n".join(texts)


def leaked(text: str, secret: str) -> list[str]:
    """Return the forms of `secret` that are in `text`."""
    raw = secret.encode()
    forms = {secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1], html.escape(secret)}
    # Without the first and last characters, which also encode the bytes around the secret.
    padded = (base64.b64encode(bytes(offset) + raw).decode()[4:-4] for offset in range(3))
    forms |= {form for encoded in padded for form in (encoded, encoded.translate(str.maketrans("+/", "-_")))}
    return [form for form in forms if form in text]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.platform}-{len(case.answers)}-{len(case.context)}")
async def test_echoed_credential_is_redacted(case, monkeypatch, caplog):
    monkeypatch.setattr(client_module, "MAX_ERROR_TEXT", 100_000)
    caplog.set_level(logging.DEBUG)
    masked = 0
    for status in STATUSES:
        for name, encode in ENCODINGS.items() if status == 400 else [("plain", str)]:
            server = EchoServer(case, status, encode)
            caplog.clear()
            text = await describe_errors(case, server) + caplog.text
            secrets = [*case.planted, *filter(None, server.sent)]
            assert secrets
            assert [form for secret in secrets for form in leaked(text, secret)] == [], (status, name)
            masked += text.count(MASK)
    assert masked > len(ENCODINGS)


def test_every_platform_is_tested():
    assert {case.platform for case in CASES} == {info.name for info in PLATFORMS.values()} - {"fake"}
