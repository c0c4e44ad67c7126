"""The captured feeds of 29 sites, and what becomes of feeds that are damaged on the way, beside feedparser."""

import calendar
import html
import io
import random
import re
from typing import Any

import feedparser
import pytest

from copydesk.errors import CopydeskError
from copydesk.ingest.feed import parse_strictly
from copydesk.ingest.raw import Refused
from copydesk.model.item import Entry
from copydesk.text import clean
from feeds_for_tests import ATOM, BASE, RDF, parse, real_feeds, rss

# Where we differ from feedparser over these feeds, on purpose:
# - a title of elpais-english has zero-width spaces in it, which we leave out;
# - an entry of kittenlabs is dated in the year 1, which is no date.
# The ids of 12 entries of boston-world differ too: their guid is empty, and we take the link.
AGREEMENT = 0.995
MUTANTS = 150
_TAGS = re.compile(r"</?(?:p|div|a|span|img|br|li)\b[^<>]*>")


def by_feedparser(body: bytes) -> list[Any]:
    return list(feedparser.parse(io.BytesIO(body)).entries)


def title_of(entry: Any) -> str:
    title = entry.get("title", "")
    if entry.get("title_detail", {}).get("type") != "text/plain":
        title = html.unescape(re.sub(r"<[^<>]*>", "", title))
    return " ".join(title.split())


def seconds_of(entry: Any) -> int | None:
    moment = entry.get("published_parsed") or entry.get("updated_parsed")
    return calendar.timegm(moment) if moment else None


def differences(entry: Entry, theirs: Any) -> list[str]:
    """The fields in which an entry of ours is not what feedparser found."""
    seconds = int(entry.published.timestamp()) if entry.published else None
    same = {
        "title": entry.title == title_of(theirs),
        "link": entry.url == theirs.get("link"),
        "date": seconds == seconds_of(theirs),
    }
    return [field for field, agrees in same.items() if not agrees]


def test_the_captured_feeds_all_take_the_fast_path_and_agree_with_feedparser() -> None:
    entries, different = 0, []
    for name, body in real_feeds().items():
        ours, theirs = parse(body), by_feedparser(body)
        assert ours.how == "expat", name
        assert len(ours.entries) == len(theirs), name
        assert len({entry.ident for entry in ours.entries}) == len(theirs), name
        entries += len(theirs)
        for entry, other in zip(ours.entries, theirs, strict=True):
            different += [(name, field, entry.ident) for field in differences(entry, other)]
    assert entries > 800
    for field in ("title", "link", "date"):
        assert sum(found == field for _, found, _ in different) <= (1 - AGREEMENT) * entries, different


def test_the_captured_feeds_become_clean_text() -> None:
    entries = [entry for body in real_feeds().values() for entry in parse(body).entries]
    assert all(entry.title == clean(entry.title) for entry in entries)
    assert all(entry.title or entry.text or entry.summary for entry in entries)
    assert all(entry.url and entry.url.startswith(("http://", "https://")) for entry in entries)
    # Programmers write about markup, so some is left that is meant to be read.
    with_tags = [entry.url for entry in entries if _TAGS.search(entry.summary + entry.text)]
    assert len(with_tags) < 0.01 * len(entries), with_tags


def damaged(body: bytes, rng: random.Random) -> bytes:
    """`body` as a bad disk, a bad proxy or a bad template leaves it."""
    place, length = rng.randrange(len(body)), rng.choice((1, 1, 2, 8, 40, 200))
    kind = rng.choice(("cut", "drop", "double", "byte", "insert"))
    if kind == "cut":
        return body[: max(place, 100)]
    if kind == "drop":
        return body[:place] + body[place + length :]
    if kind == "double":
        return body[:place] + body[place : place + length] * 2 + body[place + length :]
    if kind == "byte":
        return body[:place] + bytes((rng.randrange(256),)) + body[place + 1 :]
    what = rng.choice((b"&", b"<", b">", b"]]>", b"<b>", b"</item>", b"<item>", b"\x00", b"\xff", b"&nbsp;", b"<!--"))
    return body[:place] + what + body[place:]


def mutants(bodies: list[bytes], seed: int) -> list[bytes]:
    rng = random.Random(seed)
    small = [body for body in bodies if len(body) < 80_000]
    return [damaged(rng.choice(small), rng) for _ in range(MUTANTS)]


def check(mutant: bytes) -> bool:
    """Whether the strict parser took it; then it must have found no less than feedparser, with the same titles."""
    try:
        ours = parse_strictly(mutant, charset=None, base_url=BASE)
    except (Refused, CopydeskError):
        return False
    theirs = by_feedparser(mutant)
    assert len(ours.entries) >= len(theirs)
    if len(ours.entries) == len(theirs):
        titles = [clean(title_of(entry)) for entry in theirs]
        assert [entry.title for entry in ours.entries] == [" ".join(title.split()) for title in titles]
    return True


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_feed_is_refused_or_read_as_feedparser_reads_it(seed: int) -> None:
    item = (
        "<title>News &amp;amp; views</title><link>https://a.example/1</link><guid>1</guid><description>x</description>"
    )
    taken = sum(map(check, mutants([rss(item, item).encode(), ATOM.encode(), RDF.encode()], seed)))
    assert 0 < taken < MUTANTS


def test_a_damaged_captured_feed_is_refused_or_read_as_feedparser_reads_it() -> None:
    taken = sum(map(check, mutants(list(real_feeds().values()), seed=3)))
    assert 0 < taken < MUTANTS
