"""Tests for the registry of platforms."""

import pytest
from msgspec.structs import replace

from copydesk.model.delivery import Account
from copydesk.posting.registry import PLATFORMS, load_adapter, register_platform


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_platform_has_an_adapter(name: str) -> None:
    adapter = load_adapter(name)
    assert adapter.info is PLATFORMS[name]
    assert hasattr(adapter, "start_sign_in") == adapter.info.uses_browser


def test_name_is_registered_once() -> None:
    register_platform(PLATFORMS["x"])
    with pytest.raises(ValueError, match="'x'"):
        register_platform(replace(PLATFORMS["x"], label="Other"))


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
