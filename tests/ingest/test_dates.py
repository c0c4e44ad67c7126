"""Tests for parsing the dates in feeds."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.ingest.dates import parse_date


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tue, 17 Nov 2026 09:30:00 +0100", (2026, 11, 17, 8, 30)),
        ("Mon, 16 Feb 2026 17:11:00 GMT", (2026, 2, 16, 17, 11)),
        ("Mon, 16 Feb 2026 17:11:00 EST", (2026, 2, 16, 22, 11)),
        ("Mon, 16 Feb 2026 17:11:00 IST", (2026, 2, 16, 11, 41)),
        ("Mon, 16 Feb 2026 17:11:00 -0330", (2026, 2, 16, 20, 41)),
        ("Mon, 16 Feb 2026 17:11 GMT+02:00", (2026, 2, 16, 15, 11)),
        ("Fri,5 Feb 26 7:05:00 Z", (2026, 2, 5, 7, 5)),
        ("5 February 2026", (2026, 2, 5)),
        ("Thu, 1 Jan 98 00:00:00 GMT", (1998, 1, 1)),
        ("Tue, 17 Nov 2026 23:59:60 GMT", (2026, 11, 17, 23, 59, 59)),
        ("Sun Jan  4 16:29:06 2004", (2004, 1, 4, 16, 29, 6)),
        ("2026-02-05T18:31:01Z", (2026, 2, 5, 18, 31, 1)),
        ("2026-02-05T18:31:01.250+02:00", (2026, 2, 5, 16, 31, 1, 250_000)),
        ("2026-02-05T18:31+0200", (2026, 2, 5, 16, 31)),
        ("2026-02-05 18:31:01 -0500", (2026, 2, 5, 23, 31, 1)),
        ("2026-02-05", (2026, 2, 5)),
        ("2026-02", (2026, 2, 1)),
        (" 2026-02-05T18:31:01 ", (2026, 2, 5, 18, 31, 1)),
        ("Mon, 16 Feb 2026 05:11:00 PM", (2026, 2, 16, 17, 11)),
        ("Feb 16, 2026 5:11 p.m. EST", (2026, 2, 16, 22, 11)),
        ("2026-02-16 12:11 am", (2026, 2, 16, 0, 11)),
        ("16 Feb 2026 12:11:00PM", (2026, 2, 16, 12, 11)),
        ("16 Feb 2026 17:11 PM", (2026, 2, 16, 17, 11)),
        ("16 Feb 2026 17:11:00 PM", (2026, 2, 16, 17, 11)),
        ("2026-02-16T05:11 PM", (2026, 2, 16, 17, 11)),
        ("17 November 2026", (2026, 11, 17)),
        ("November 17, 2026", (2026, 11, 17)),
        ("Nov 17 2026", (2026, 11, 17)),
        ("May 17, 2026", (2026, 5, 17)),
        ("Sept. 3, 2026", (2026, 9, 3)),
        ("Dec. 3, 2026 14:30", (2026, 12, 3, 14, 30)),
        ("Tuesday, Sept. 1, 2026 5:11 PM EST", (2026, 9, 1, 22, 11)),
        ("11/17/2026", (2026, 11, 17)),
        ("17/11/2026", (2026, 11, 17)),
        ("Tue, 11/17/2026 2:30 PM", (2026, 11, 17, 14, 30)),
        ("31/1/2026, 14:30:05 +0100", (2026, 1, 31, 13, 30, 5)),
    ],
)
def test_common_date_formats_are_parsed(text: str, expected: tuple[int, ...]) -> None:
    assert parse_date(text) == datetime(*expected, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "31 Feb 2026 10:00:00 GMT",
        "2026-13-01",
        "November 31, 2026",
        "Foo 17, 2026",
        "Marketing 17, 2026",
        "Marathon 26 2026",
        "Decisions 12, 2026",
        "Octo 17, 2026",
        "marraskuu 5 2026",  # November in Finnish
        "11/12/2026",  # November or December
        "11/12/2026 2:30 PM",
        "13/13/2026",
        "11/31/2026",
        "11/17/26",
        "Mon, 01 Jan 0001 00:00:00 GMT",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59-14:00",
        "Mon, 16 Feb 2026 17:11:00 +9999",
        "1" * 5_000,
        "Tue, " * 1_000,
        "Nov 17" + " " * 5_000 + "2026",
    ],
)
def test_invalid_date_is_none(text: str) -> None:
    assert parse_date(text) is None


@given(st.text("0123456789 :+-TZ,/.MonFebGMT\u0661", max_size=40))
def test_no_input_raises(text: str) -> None:
    parsed = parse_date(text)
    assert parsed is None or parsed.utcoffset() is not None


@given(st.integers(631_152_000, 4_102_444_800))
def test_rfc_822_and_iso_dates_round_trip(seconds: int) -> None:
    instant = datetime.fromtimestamp(seconds, UTC)
    assert parse_date(instant.strftime("%a, %d %b %Y %H:%M:%S +0000")) == instant
    assert parse_date(instant.isoformat()) == instant
