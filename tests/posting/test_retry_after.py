"""Tests that every platform's client waits until the time that its server names, in seconds or as a date."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from copydesk.model.draft import Format
from copydesk.posting.client import PlatformClient
from copydesk.posting.platform import Account, NotSentError, Post, PostImage, PostingError, UnknownOutcomeError
from copydesk.posting.registry import PLATFORMS, create_platform
from fake_blog import SEED, FakeClock, InMemorySecrets

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=2)
IMAGE = PostImage(content=b"\x89PNG", media_type="image/png", width=1, height=1, alt="A dot.")
UPLOAD_PATHS = {
    "bluesky": "/xrpc/com.atproto.repo.uploadBlob",
    "linkedin": "/rest/images",
    "mastodon": "/api/v2/media",
    "x": "/2/media/upload",
}
"""Where platforms take images. Blogs upload them like anything else that a post needs: tests/posting/test_site.py."""
SESSION = {"did": "12", "handle": "me", "accessJwt": "cd-token", "refreshJwt": "cd-token"}
SECRETS = {
    "access_token": "cd-token",
    "endpoint": "https://site.example/micropub",
    "expires_at": (NOW + timedelta(days=100)).isoformat(),
    "key": "6489a:" + "ab" * 32,
    "password": "cd-password",
    "secret": "s" * 20,
    "token": "cd-token",
    "user": "me",
}


@pytest.mark.parametrize("name", sorted(PLATFORMS))
async def test_time_counts_from_response(name: str) -> None:
    clock = FakeClock(NOW)

    def respond(_: httpx.Request) -> httpx.Response:
        clock.now += timedelta(seconds=20)
        return httpx.Response(429, headers={"retry-after": "120"}, json={"message": "Busy."})

    platform = create_platform(name, PlatformClient(httpx.MockTransport(respond)), InMemorySecrets(**SECRETS), clock)
    with pytest.raises(NotSentError) as caught:
        await platform.check(Account(platform=name, server="https://site.example", id="12", name="me"))
    assert caught.value.retry_after == clock.now + timedelta(seconds=120)


@pytest.mark.parametrize("retry_after", ["120", "Tue, 10 Feb 2026 09:02:00 GMT"])
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("name", sorted(PLATFORMS))
async def test_time_named_by_server_is_respected(name: str, status: int, retry_after: str) -> None:
    def respond(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers={"retry-after": retry_after}, json={"message": "Busy."})

    platform = create_platform(
        name, PlatformClient(httpx.MockTransport(respond)), InMemorySecrets(**SECRETS), lambda: NOW
    )
    account = Account(platform=name, server="https://site.example", id="12", name="me")
    form = Format.BLOG if Format.BLOG in platform.info.limits.formats else Format.SHORT
    intent = platform.render(Post(format=form, parts=("# One\n\nTwo.",), at=NOW), account, SEED)
    with pytest.raises(NotSentError) as caught:
        await platform.check(account)
    assert caught.value.retry_after == LATER
    with pytest.raises(PostingError) as refused:
        await platform.send(account, intent, ())
    if isinstance(refused.value, UnknownOutcomeError):
        # A 503 does not tell whether the post was created: it is looked for.
        assert status == 503
    else:
        assert getattr(refused.value, "retry_after", None) == LATER


@pytest.mark.parametrize("name", sorted(UPLOAD_PATHS))
async def test_time_named_for_image_is_respected(name: str) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.path == UPLOAD_PATHS[name]:
            return httpx.Response(503, headers={"retry-after": "120"}, json={"message": "Busy."})
        return httpx.Response(200, json=SESSION)

    platform = create_platform(
        name, PlatformClient(httpx.MockTransport(respond)), InMemorySecrets(**SECRETS), lambda: NOW
    )
    account = Account(platform=name, server="https://site.example", id="12", name="me")
    post = Post(format=Format.SHORT, parts=("One.",), at=NOW, alts=(IMAGE.alt,))
    with pytest.raises(NotSentError) as caught:
        await platform.send(account, platform.render(post, account, SEED), (), (IMAGE,))
    assert caught.value.retry_after == LATER
