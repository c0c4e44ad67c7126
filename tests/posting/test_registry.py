"""Tests for the registry of platforms."""

from datetime import UTC, datetime

import httpx
import pytest
from msgspec.structs import replace

from copydesk.model.delivery import Account
from copydesk.posting.client import PlatformClient
from copydesk.posting.platform import LoginError
from copydesk.posting.registry import PLATFORMS, create_platform, load_adapter, platform_label, register_platform
from fake_blog import InMemorySecrets

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_platform_has_an_adapter(name: str) -> None:
    adapter = load_adapter(name)
    assert adapter.info is PLATFORMS[name]
    assert hasattr(adapter, "start_sign_in") == adapter.info.uses_browser


@pytest.mark.parametrize("name", ["x", "wordpress", "ghost", "devto", "micropub", "webhook"])
async def test_incomplete_credentials_need_login(name: str) -> None:
    """The environment of a server may hold one of several credentials."""
    client = PlatformClient(httpx.MockTransport(lambda _: httpx.Response(401)))
    secrets = InMemorySecrets(access_token="old", refresh_token="r", unknown="value")
    platform = create_platform(name, client, secrets, lambda: NOW)
    account = Account(platform=name, server="https://a.example", id="1", name="me")
    with pytest.raises(LoginError, match="have no"):
        await platform.check(account)


def test_name_is_registered_once() -> None:
    register_platform(PLATFORMS["x"])
    with pytest.raises(ValueError, match="'x'"):
        register_platform(replace(PLATFORMS["x"], label="Other"))


@pytest.mark.parametrize(("name", "label"), [("devto", "dev.to"), ("fake", "Fake Social"), ("plugin", "plugin")])
def test_platform_is_called_by_its_label_if_it_is_known(name: str, label: str) -> None:
    assert platform_label(name) == label


def test_bytes_are_limited() -> None:
    bluesky = PLATFORMS["bluesky"]
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert not bluesky.is_too_long(family * 200)
    assert not bluesky.fits(family * 200)


@pytest.mark.parametrize(
    ("platform", "name", "url"),
    [
        ("bluesky", "me.example", "https://bsky.app/profile/me.example"),
        ("mastodon", "me@social.example", "https://s.example/@me"),
        ("x", "me", "https://x.com/me"),
        ("linkedin", "Jo Doe", "https://www.linkedin.com/in/me/recent-activity/all/"),
        ("threads", "me", "https://www.threads.com/@me"),
        ("wordpress", "me", "https://s.example"),
        ("ghost", "s.example", "https://s.example"),
        ("devto", "me", "https://dev.to/me"),
        ("micropub", "s.example", "https://s.example"),
        ("webhook", "s.example/hook", None),
    ],
)
def test_profile_url(platform: str, name: str, url: str | None) -> None:
    account = Account(platform=platform, server="https://s.example", id="1", name=name)
    assert PLATFORMS[platform].profile_url(account) == url
