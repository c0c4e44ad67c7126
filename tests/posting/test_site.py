"""Tests for self-hosted blog servers: accepted addresses and the meaning of responses."""

from datetime import UTC, datetime, timedelta

import httpx
import msgspec
import pytest

from copydesk.posting.client import PlatformClient, Response
from copydesk.posting.platform import LoginError, NotSentError, RefusedPostError, UnknownOutcomeError
from copydesk.posting.site import Site, error_text, link_urls, parse_server_url

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)


def make_site(status: int, **response) -> Site:
    return Site(
        PlatformClient(httpx.MockTransport(lambda _: httpx.Response(status, **response))),
        "https://blog.example",
        {},
        lambda: NOW,
    )


@pytest.mark.parametrize(
    ("given_address", "address"),
    [
        ("https://blog.example/", "https://blog.example"),
        (" blog.example/sub ", "https://blog.example/sub"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://localhost:2368/", "http://localhost:2368"),
        ("http://[::1]:80/", "http://[::1]:80"),
        ("http://192.168.1.5", "http://192.168.1.5"),
        ("HTTPS://Blog.Example:8443/Sub/Blog", "https://blog.example:8443/Sub/Blog"),
        ("Blog.Example", "https://blog.example"),
    ],
)
def test_https_or_local_address_is_accepted(given_address, address):
    assert parse_server_url(given_address) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://blog.example",
        "http://8.8.8.8",
        "ftp://blog.example",
        "https://me:secret@blog.example",
        "https://blog.example/?a=b",
        "https://blog.example/#a",
        "https://blog.example/#",
        "https://blog.example?",
        "https://blog.example:x",
        "https://blog .example",
        "https://blog.example\r\nx",
        "https://",
        "https://[::1",
    ],
)
def test_other_address_is_refused(address):
    with pytest.raises(RefusedPostError):
        parse_server_url(address)


async def test_only_platform_404_means_missing():
    assert await make_site(404, json={"message": "No post."}).get_or_none("/1", dict) is None
    with pytest.raises(NotSentError):
        await make_site(404, text="<h1>nginx</h1>").get_or_none("/1", dict)
    with pytest.raises(NotSentError):
        await make_site(404, json={"message": "No route."}).get("/1", dict)


async def test_redirect_error_names_target():
    with pytest.raises(NotSentError, match="redirects to https"):
        await make_site(301, headers={"location": "https://www.example/"}).get("", dict)
    with pytest.raises(NotSentError, match="status 301"):
        await make_site(301, headers={"location": "javascript:x"}).get("", dict)


async def test_unreadable_response_is_unknown_only_when_writing():
    with pytest.raises(NotSentError):
        await make_site(200, text="<html>").get("", dict)
    with pytest.raises(NotSentError):
        await make_site(200, text="<html>").create_prerequisite("", dict)
    with pytest.raises(UnknownOutcomeError):
        await make_site(200, text="<html>").create("POST", "", dict)


@pytest.mark.parametrize(("status", "kind"), [(500, NotSentError), (413, RefusedPostError), (401, LoginError)])
async def test_prepare_error_may_be_retried(status, kind):
    with pytest.raises(kind):
        await make_site(status, text="").create_prerequisite("", dict)


async def test_firewall_403_is_not_login_error():
    with pytest.raises(RefusedPostError):
        await make_site(403, text="<html>blocked").create("POST", "", dict)
    with pytest.raises(LoginError):
        await make_site(403, json={"message": "You may not."}).create("POST", "", dict)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"message": "a"}, "a"),
        ({"error": "a", "error_description": "b"}, "b"),
        ({"error": "a", "status": 422}, "a"),
        ({"errors": [{"message": "a", "context": "b"}]}, "a b"),
        ({"message": 1}, ""),
        ([], ""),
    ],
)
def test_explanation_reads_platform_error_formats(body, message):
    assert error_text(Response(status=400, headers={}, body=msgspec.json.encode(body))) == message


def test_only_web_address_becomes_link():
    assert link_urls("https://blog.example/1") == ("https://blog.example/1",)
    assert link_urls("javascript:alert(1)") == link_urls("") == link_urls("https://a@b.example") == ()


async def test_busy_server_names_time_for_prerequisite():
    site = make_site(503, headers={"retry-after": "120"}, json={"message": "Busy."})
    with pytest.raises(NotSentError) as caught:
        await site.create_prerequisite("", dict)
    assert caught.value.retry_after == NOW + timedelta(minutes=2)
