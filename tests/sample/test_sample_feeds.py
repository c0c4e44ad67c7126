"""Tests for the sample feeds: well-formed, dated relative to now, with the stories the sample desk demonstrates."""

import io
import json
import re
from collections import Counter
from datetime import timedelta
from itertools import combinations
from pathlib import Path

import feedparser
import msgspec
import pytest

import copydesk.sample
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.source import SourceConfig
from copydesk.model.voice import Voice
from copydesk.sample import INTERESTS, SOURCES, VOICE
from copydesk.sample.server import fill, render
from sample_feed_entries import FILES_BY_SOURCE, NOW, FeedEntry, load_all_entries, load_entries

FOLDER = Path(copydesk.sample.__file__).parent
FEEDS = sorted(path.name for path in (FOLDER / "feeds").iterdir())
XML_FEEDS = [name for name in FEEDS if name.endswith(".xml")]
STOP_WORDS = {"a", "and", "at", "by", "for", "in", "is", "of", "on", "the", "to", "with"}
SAME_STORY_SIMILARITY = 0.55
"""The Jaccard similarity of two titles' words from which on they are one story."""


def title_words(title: str) -> set[str]:
    without_press = re.sub(r" - [^-]{2,40}$", "", title)
    without_links = re.sub(r"https?://\S+", "", without_press)
    return set(re.findall(r"\w+", without_links.lower())) - STOP_WORDS


def title_similarity(entry: FeedEntry, other: FeedEntry) -> float:
    first, second = title_words(entry.title), title_words(other.title)
    if {word for word in first if word.isdigit()} != {word for word in second if word.isdigit()}:
        return 0
    return len(first & second) / len(first | second)


def find_entry(part: str) -> FeedEntry:
    found = [entry for entry in load_all_entries() if part in entry.title]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{{ago 3h rfc822}}", "Fri, 20 Nov 2026 09:00:00 GMT"),
        ("{{ago 26h iso}}", "2026-11-19T10:00:00Z"),
        ("{{ago 1d2h30m ms}}", "2026-11-19T09:30:00.000Z"),
        ("{{ago 1m epoch}}", str(int(NOW.timestamp()) - 60)),
        ("{{ago 2h40m iso}}/{{ago 9d iso}}", "2026-11-20T09:20:00Z/2026-11-11T12:00:00Z"),
    ],
)
def test_placeholder_becomes_time_before_now(template: str, filled: str) -> None:
    assert fill(template, NOW) == filled


def test_unknown_time_format_is_an_error() -> None:
    with pytest.raises(KeyError):
        fill("{{ago 3h roman}}", NOW)


@pytest.mark.parametrize("name", FEEDS)
def test_rendering_is_complete_and_deterministic(name: str) -> None:
    assert "{{" not in render(name, NOW)
    assert render(name, NOW) == render(name, NOW)


@pytest.mark.parametrize("name", [name for name in FEEDS if name != "papertrail.html"])
def test_rendered_times_follow_now(name: str) -> None:
    assert render(name, NOW) != render(name, NOW + timedelta(days=1))


@pytest.mark.parametrize("name", XML_FEEDS)
def test_feedparser_accepts_feed(name: str) -> None:
    parsed = feedparser.parse(io.BytesIO(render(name, NOW).encode()))
    assert not parsed.bozo
    source = next(source for source, file in FILES_BY_SOURCE.items() if file == name)
    assert len(parsed.entries) == len(load_entries(source))


def test_titles_are_present_and_unique_per_source() -> None:
    all_entries = load_all_entries()
    assert all(entry.title.strip() for entry in all_entries)
    assert len({(entry.source, entry.title) for entry in all_entries}) == len(all_entries)


def test_entry_count_is_moderate() -> None:
    counts = Counter(entry.source for entry in load_all_entries())
    assert 35 <= counts.total() <= 50
    assert all(3 <= count <= 8 for count in counts.values())


def test_some_entries_are_old() -> None:
    old = [entry for entry in load_all_entries() if entry.published and entry.published < NOW - timedelta(hours=48)]
    assert len(old) >= 8
    assert len({entry.source for entry in old}) >= 7


def test_only_pinned_entry_is_in_future() -> None:
    late = [entry.published for entry in load_all_entries() if entry.published and entry.published > NOW]
    assert [published.year for published in late] == [2099]


def test_five_sources_share_one_story() -> None:
    blog = find_entry("Quarrystone 3.0 is out")
    other_entries = [entry for entry in load_all_entries() if "Quarrystone 3.0" in entry.title and entry != blog]
    by_address = [entry for entry in other_entries if entry.url.partition("?")[0] == blog.url]
    by_title = [entry for entry in other_entries if title_similarity(entry, blog) >= SAME_STORY_SIMILARITY]
    assert {entry.source for entry in by_address} == {"r/harbourdev", "Hacker News"}
    assert {entry.source for entry in by_title} == {"Google News: open source", "@quarrystonedb"}
    assert len({entry.title for entry in [blog, *other_entries]}) == 5


def test_two_sources_share_another_story() -> None:
    matching = [entry for entry in load_all_entries() if "Tidegate" in entry.title]
    assert {entry.source for entry in matching} == {"Paper Trail", "Google News: open source"}
    assert title_similarity(*matching) >= SAME_STORY_SIMILARITY


def test_other_sources_share_no_story() -> None:
    pairs = [
        (title.title, other_title.title)
        for title, other_title in combinations(load_all_entries(), 2)
        if title.source != other_title.source and title_similarity(title, other_title) >= SAME_STORY_SIMILARITY
    ]
    shared = [
        [name for name in ("Quarrystone", "Tidegate") if name in title and name in other] for title, other in pairs
    ]
    assert {len(names) for names in shared} == {1}


def test_title_contains_markup_escapes_and_emoji() -> None:
    title = find_entry("Titles that bite").title
    assert title.startswith("[red]")
    assert "\x1b[31m" in title
    assert "👨\u200d👩\u200d👧\u200d👦" in title


def test_one_entry_contains_prompt_injection() -> None:
    orders = [entry for entry in load_all_entries() if "ignore all previous instructions" in entry.text.lower()]
    assert [entry.source for entry in orders] == ["r/harbourdev"]


def test_avoided_phrases_occur_in_one_entry_only() -> None:
    avoid = VOICE["avoid"]
    assert isinstance(avoid, list)
    idents = {entry.ident for entry in load_all_entries() for phrase in avoid if str(phrase) in entry.text.lower()}
    assert idents == {"t3_sample2"}


def test_two_entries_share_an_id() -> None:
    idents = Counter((entry.source, entry.ident) for entry in load_all_entries())
    assert [ident for ident, count in idents.items() if count > 1] == [("Paper Trail", "papertrail-links-of-the-week")]


def test_one_entry_has_no_date() -> None:
    assert [entry.title for entry in load_all_entries() if entry.published is None] == ["A checklist for corrections"]


def test_one_entry_is_german() -> None:
    items = json.loads(render("harbour-notes.json", NOW))["items"]
    assert [item["title"] for item in items if item.get("language") == "de"] == [find_entry("Tabellen").title]


def test_hacker_news_has_popular_and_unpopular_stories() -> None:
    points = [story["points"] for story in json.loads(render("hacker-news.json", NOW))]
    assert sum(count > 100 for count in points) >= 3
    assert sum(count < 5 for count in points) >= 2


def test_post_links_match_text_positions() -> None:
    posts = json.loads(render("x.json", NOW))["posts"]
    links = [(post, link) for post in posts for link in post.get("entities", {}).get("urls", [])]
    assert links
    for post, link in links:
        assert post["text"][link["start"] : link["end"]] == link["url"]


def test_source_types_and_settings_are_valid() -> None:
    assert {source.type for source in SOURCES} == set(SOURCE_TYPES)
    assert {source.name for source in SOURCES} == {*FILES_BY_SOURCE, "Signal Mast"}
    for source in SOURCES:
        msgspec.convert(source.config, SourceConfig)


def test_voice_is_valid_and_has_examples() -> None:
    voice = msgspec.convert(VOICE, Voice, strict=True)
    assert 3 <= len(voice.examples) <= 5
    assert all(len(example) <= 280 for example in voice.examples)
    assert len(voice.formats) == 3


def test_entries_mention_all_interests() -> None:
    text = " ".join(f"{entry.title} {entry.text}" for entry in load_all_entries()).lower().replace("-", " ")
    assert [interest for interest in INTERESTS if interest.removesuffix("s") not in text] == []


def test_sample_data_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.suffix != ".pyc" and path.is_file()) < 120_000
