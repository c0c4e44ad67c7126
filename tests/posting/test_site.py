"""Tests for self-hosted blog servers: accepted addresses and the meaning of responses."""

from datetime import UTC, datetime

import httpx
import msgspec
import pytest

from copydesk.posting.http import Answer, Caller
from copydesk.posting.platform import LoginError, NotSentError, RefusedPostError, UnknownOutcomeError
from copydesk.posting.site import Site, explanation, own_server, shown

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)


def site(status: int, **answer) -> Site:
    return Site(
        Caller(httpx.MockTransport(lambda _: httpx.Response(status, **answer))), "https://blog.example", {}, NOW
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
    ],
)
def test_https_or_local_address_is_accepted(given_address, address):
    assert own_server(given_address) == address


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
        "https://blog.example:x",
        "https://blog .example",
        "https://blog.example\r\nx",
        "https://",
        "https://[::1",
    ],
)
def test_other_address_is_refused(address):
    with pytest.raises(RefusedPostError):
        own_server(address)


async def test_only_platform_404_means_missing():
    assert await site(404, json={"message": "No post."}).seek("/1", dict) is None
    with pytest.raises(NotSentError):
        await site(404, text="<h1>nginx</h1>").seek("/1", dict)
    with pytest.raises(NotSentError):
        await site(404, json={"message": "No route."}).look("/1", dict)


async def test_redirect_error_names_target():
    with pytest.raises(NotSentError, match="sends requests on to https"):
        await site(301, headers={"location": "https://www.example/"}).look("", dict)
    with pytest.raises(NotSentError, match="status 301"):
        await site(301, headers={"location": "javascript:x"}).look("", dict)


async def test_unreadable_response_is_unknown_only_when_writing():
    with pytest.raises(NotSentError):
        await site(200, text="<html>").look("", dict)
    with pytest.raises(NotSentError):
        await site(200, text="<html>").prepare("", dict)
    with pytest.raises(UnknownOutcomeError):
        await site(200, text="<html>").make("POST", "", dict)


@pytest.mark.parametrize(("status", "kind"), [(500, NotSentError), (413, RefusedPostError), (401, LoginError)])
async def test_prepare_error_may_be_retried(status, kind):
    with pytest.raises(kind):
        await site(status, text="").prepare("", dict)


async def test_firewall_403_is_not_login_error():
    with pytest.raises(RefusedPostError):
        await site(403, text="<html>blocked").make("POST", "", dict)
    with pytest.raises(LoginError):
        await site(403, json={"message": "You may not."}).make("POST", "", dict)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"message": "a"}, "a"),
        ({"error": "a", "error_description": "b"}, "b"),
        ({"error": "a", "status": 422}, "a"),
        ({"errors": [{"message": "a", "context": "b"}]}, "a b"),
        ({"message": 1}, ""),
        ([], ""),
    ],
)
def test_explanation_reads_platform_error_formats(body, says):
    assert explanation(Answer(status=400, headers={}, body=msgspec.json.encode(body))) == says


def test_only_web_address_becomes_link():
    assert shown("https://blog.example/1") == ("https://blog.example/1",)
    assert shown("javascript:alert(1)") == shown("") == shown("https://a@b.example") == ()
