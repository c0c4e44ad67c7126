"""Tests for response headers: freshness, content type and waits."""

import tomllib
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.network import user_agent
from copydesk.network.response import (
    MAX_WAIT,
    build_response,
    error_for_status,
    fresh_for,
    header_map,
    host_cooldown,
    rate_limit_wait,
    retry_after,
)
from fetcher_fixtures import NOW

DATE = {"date": "Tue, 10 Feb 2026 12:00:00 GMT"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"cache-control": "max-age=600"}, 600),
        ({"cache-control": "Public, MAX-AGE = 600"}, 600),
        ({"cache-control": 'max-age="600"'}, 600),
        ({"cache-control": "s-maxage=600"}, None),
        ({"cache-control": "no-cache"}, None),
        ({"cache-control": "max-age=-1"}, None),
        ({"cache-control": "max-age=soon"}, None),
        ({"cache-control": "max-age=" + "9" * 30}, MAX_WAIT),
        ({"expires": "Tue, 10 Feb 2026 12:10:00 GMT"} | DATE, 600),
        ({"expires": "Tue, 10 Feb 2026 12:10:00 GMT"}, 600),
        ({"expires": "Sun, 01 Jan 2023 11:00:00 GMT", "date": "Sun, 01 Jan 2023 10:00:00 GMT"}, 3600),
        ({"expires": "Tuesday, 10-Feb-26 12:10:00 GMT"} | DATE, 600),
        ({"expires": "Tue Feb 10 12:10:00 2026"} | DATE, 600),
        ({"expires": "Tue, 10 Feb 2026 11:00:00 GMT"} | DATE, 0),
        ({"expires": "0"}, None),
        ({"expires": "-1"}, None),
        ({"expires": "Thu, 99 Foo 20260 99:99:99 GMT"}, None),
        ({"expires": "x" * 10_000}, None),
        ({"cache-control": "max-age=60", "expires": "Tue, 10 Feb 2026 12:10:00 GMT"} | DATE, 600),
        ({"cache-control": "max-age=900", "expires": "Tue, 10 Feb 2026 12:10:00 GMT"} | DATE, 900),
        ({"cache-control": "max-age=0", "expires": "Tue, 10 Feb 2026 11:00:00 GMT"} | DATE, 0),
    ],
)
def test_freshness_lifetime(headers: dict[str, str], seconds: float | None) -> None:
    assert fresh_for(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("content_type", "media", "charset"),
    [
        ("text/xml", "text/xml", None),
        ("Text/XML; Charset=ISO-8859-1", "text/xml", "iso-8859-1"),
        ('text/xml;charset="utf-8"', "text/xml", "utf-8"),
        ("text/xml; charset='utf-8'", "text/xml", "utf-8"),
        ("application/feed+json; version=1; charset=utf-8", "application/feed+json", "utf-8"),
        ("", None, None),
        ("rss", None, None),
        ("\x1b[31m/\x07; charset=\x1b[0m", None, None),
        ("text/xml; charset=", "text/xml", None),
    ],
)
def test_content_type_is_parsed(content_type: str, media: str | None, charset: str | None) -> None:
    got = build_response("http://h/", 200, {"content-type": content_type}, b"", NOW, None)
    assert (got.content_type, got.charset) == (media, charset)


def test_headers_are_case_insensitive_and_joined() -> None:
    assert header_map([(b"ETag", b"1"), (b"LINK", b"<a>"), (b"link", b"<b>")]) == {"etag": "1", "link": "<a>, <b>"}


def test_oversized_header_is_dropped() -> None:
    got = build_response("http://h/", 200, {"etag": '"' + "e" * 50_000, "link": "l" * 50_000}, b"", NOW, None)
    assert (got.etag, got.headers) == (None, {})


def test_number_between_separator_characters() -> None:
    """`str.strip` removes such characters as whitespace; number parsing rejects them."""
    assert (
        host_cooldown(
            200, {"x-ratelimit-remaining": "\x1f0", "x-ratelimit-reset": "5\x1f"}, NOW, forbidden_means_throttled=False
        )
        == 5
    )


EPOCH = NOW.timestamp()


def limit(prefix: str, remaining: int, reset: float) -> dict[str, str]:
    return {f"{prefix}-limit": "17", f"{prefix}-remaining": str(remaining), f"{prefix}-reset": str(int(reset))}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        (limit("x-ratelimit", 0, 300), 300),
        (limit("x-rate-limit", 0, EPOCH + 300), 300),
        (limit("x-rate-limit", 3, EPOCH + 300), None),
        # X's limits for the user and the app in 24 hours, which count besides those for 15 minutes.
        (limit("x-rate-limit", 3, EPOCH + 300) | limit("x-user-limit-24hour", 0, EPOCH + 7200), 7200),
        (limit("x-rate-limit", 3, EPOCH + 300) | limit("x-app-limit-24hour", 0, EPOCH + 3600), 3600),
        (limit("x-rate-limit", 0, EPOCH + 300) | limit("x-user-limit-24hour", 5, EPOCH + 7200), 300),
        (limit("x-rate-limit", 0, EPOCH + 300) | limit("x-user-limit-24hour", 0, EPOCH + 7200), 7200),
        (limit("x-app-limit-24hour", 0, EPOCH + 9000) | limit("x-user-limit-24hour", 0, EPOCH + 7200), 9000),
        (limit("x-rate-limit", 0, EPOCH - 10), 1),
        ({"x-user-limit-24hour-remaining": "0"}, None),
        ({}, None),
    ],
)
def test_longest_exhausted_rate_limit_counts(headers: dict[str, str], seconds: float | None) -> None:
    assert rate_limit_wait(headers, NOW) == seconds


header_values = st.text(st.characters(max_codepoint=255), max_size=40) | st.sampled_from(
    ["Sun, 01 Jan 2023 10:05:00 GMT", "0", "1e309", "²", "-0000", "Mon, 01 Jan 0001 00:00:00 -2359", "max-age=5"]
)
names = [
    "date",
    "expires",
    "cache-control",
    "retry-after",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-user-limit-24hour-remaining",
    "x-user-limit-24hour-reset",
    "content-type",
]


@given(headers=st.dictionaries(st.sampled_from(names), header_values), status=st.integers(100, 999))
def test_any_headers_wait_at_most_a_month(headers: dict[str, str], status: int) -> None:
    for waiting in (
        fresh_for(headers, NOW),
        retry_after(headers, NOW),
        host_cooldown(status, headers, NOW, forbidden_means_throttled=True),
    ):
        assert waiting is None or 0 <= waiting <= MAX_WAIT
    error = error_for_status(
        status, headers, "h", host_cooldown(status, headers, NOW, forbidden_means_throttled=False), NOW
    )
    assert str(error).isprintable()
    assert build_response("http://h/", 200, headers, b"", NOW, None).status == 200
    # A time that no server may push out of the calendar's range.
    assert NOW <= NOW + timedelta(seconds=error.retry_after or 0) < NOW + timedelta(days=36_500)


def test_user_agent_names_version_page_and_contact() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    start = f"Copydesk/{project['version']} (+{project['urls']['Homepage']}"
    assert user_agent() == f"{start})"
    assert user_agent("me@example.org") == f"{start}; me@example.org)"
    assert user_agent("é (x)\r\ny") == f"{start}; xy)"
