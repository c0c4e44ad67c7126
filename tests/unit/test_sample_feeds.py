"""The sample's feeds: well-formed, dated relative to now, and with the stories that show what the desk can do."""

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
from copydesk.model.source import SourceConfig, SourceType
from copydesk.model.voice import Voice
from copydesk.sample import INTERESTS, SOURCES, VOICE
from copydesk.sample.templates import fill, render
from sample_answers import NAMES, NOW, Told, entries, everything

FOLDER = Path(copydesk.sample.__file__).parent
FEEDS = sorted(path.name for path in (FOLDER / "feeds").iterdir())
XML = [name for name in FEEDS if name.endswith(".xml")]
SMALL_WORDS = {"a", "and", "at", "by", "for", "in", "is", "of", "on", "the", "to", "with"}
SAME_STORY = 0.55
"""Jaccard of two titles' words from which on they tell one story."""


def words(title: str) -> set[str]:
    without_press = re.sub(r" - [^-]{2,40}$", "", title)
    without_links = re.sub(r"https?://\S+", "", without_press)
    return set(re.findall(r"\w+", without_links.lower())) - SMALL_WORDS


def alike(one: Told, other: Told) -> float:
    first, second = words(one.title), words(other.title)
    if {word for word in first if word.isdigit()} != {word for word in second if word.isdigit()}:
        return 0
    return len(first & second) / len(first | second)


def titled(part: str) -> Told:
    found = [entry for entry in everything() if part in entry.title]
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
def test_a_placeholder_becomes_a_moment_before_now(template: str, filled: str) -> None:
    assert fill(template, NOW) == filled


def test_a_form_that_is_not_known_is_an_error() -> None:
    with pytest.raises(KeyError):
        fill("{{ago 3h roman}}", NOW)


@pytest.mark.parametrize("name", FEEDS)
def test_no_placeholder_is_left_over_and_the_same_now_gives_the_same_text(name: str) -> None:
    assert "{{" not in render(name, NOW)
    assert render(name, NOW) == render(name, NOW)


@pytest.mark.parametrize("name", [name for name in FEEDS if name != "papertrail.html"])
def test_a_day_later_everything_in_it_is_a_day_later(name: str) -> None:
    assert render(name, NOW) != render(name, NOW + timedelta(days=1))


@pytest.mark.parametrize("name", XML)
def test_feedparser_finds_nothing_wrong_with_it(name: str) -> None:
    parsed = feedparser.parse(io.BytesIO(render(name, NOW).encode()))
    assert not parsed.bozo
    source = next(source for source, file in NAMES.items() if file == name)
    assert len(parsed.entries) == len(entries(source))


def test_every_entry_has_a_title_and_a_place_of_its_own_in_its_file() -> None:
    told = everything()
    assert all(entry.title.strip() for entry in told)
    assert len({(entry.source, entry.title) for entry in told}) == len(told)


def test_there_is_enough_to_look_at_and_not_more() -> None:
    counts = Counter(entry.source for entry in everything())
    assert 35 <= counts.total() <= 50
    assert all(3 <= count <= 8 for count in counts.values())


def test_some_of_it_is_history() -> None:
    old = [entry for entry in everything() if entry.published and entry.published < NOW - timedelta(hours=48)]
    assert len(old) >= 8
    assert len({entry.source for entry in old}) >= 7


def test_nothing_but_the_pinned_entry_is_of_the_future() -> None:
    late = [entry.published for entry in everything() if entry.published and entry.published > NOW]
    assert [moment.year for moment in late] == [2099]


def test_five_sources_tell_one_story_three_by_address_and_two_by_words() -> None:
    blog = titled("Quarrystone 3.0 is out")
    others = [entry for entry in everything() if "Quarrystone 3.0" in entry.title and entry != blog]
    by_address = [entry for entry in others if entry.url.partition("?")[0] == blog.url]
    by_words = [entry for entry in others if alike(entry, blog) >= SAME_STORY]
    assert {entry.source for entry in by_address} == {"r/harbourdev", "Hacker News"}
    assert {entry.source for entry in by_words} == {"Google News: open source", "@quarrystonedb"}
    assert len({entry.title for entry in [blog, *others]}) == 5


def test_two_sources_tell_another_story() -> None:
    told = [entry for entry in everything() if "Tidegate" in entry.title]
    assert {entry.source for entry in told} == {"Paper Trail", "Google News: open source"}
    assert alike(*told) >= SAME_STORY


def test_no_other_two_sources_tell_the_same_story() -> None:
    pairs = [
        (one.title, other.title)
        for one, other in combinations(everything(), 2)
        if one.source != other.source and alike(one, other) >= SAME_STORY
    ]
    assert all(("Quarrystone" in one and "Quarrystone" in other) or "Tidegate" in one for one, other in pairs)


def test_a_title_is_hostile_in_three_ways() -> None:
    title = titled("Titles that bite").title
    assert title.startswith("[red]")
    assert "\x1b[31m" in title
    assert "👨\u200d👩\u200d👧\u200d👦" in title


def test_one_text_gives_orders_to_the_machine() -> None:
    orders = [entry for entry in everything() if "ignore all previous instructions" in entry.text.lower()]
    assert [entry.source for entry in orders] == ["r/harbourdev"]


def test_what_the_voice_avoids_is_said_by_nobody_but_the_advertiser() -> None:
    avoid = VOICE["avoid"]
    assert isinstance(avoid, list)
    said = {entry.ident for entry in everything() for phrase in avoid if str(phrase) in entry.text.lower()}
    assert said == {"t3_sample2"}


def test_two_entries_share_an_id() -> None:
    idents = Counter((entry.source, entry.ident) for entry in everything())
    assert [ident for ident, count in idents.items() if count > 1] == [("Paper Trail", "papertrail-links-of-the-week")]


def test_one_entry_has_no_date() -> None:
    assert [entry.title for entry in everything() if entry.published is None] == ["A checklist for corrections"]


def test_one_entry_is_german_and_says_so() -> None:
    items = json.loads(render("harbour-notes.json", NOW))["items"]
    assert [item["title"] for item in items if item.get("language") == "de"] == [titled("Tabellen").title]


def test_hacker_news_has_both_the_popular_and_the_unnoticed() -> None:
    points = [story["points"] for story in json.loads(render("hacker-news.json", NOW))]
    assert sum(count > 100 for count in points) >= 3
    assert sum(count < 5 for count in points) >= 2


def test_a_post_s_links_are_where_its_text_has_them() -> None:
    posts = json.loads(render("x.json", NOW))["posts"]
    links = [(post, link) for post in posts for link in post.get("entities", {}).get("urls", [])]
    assert links
    for post, link in links:
        assert post["text"][link["start"] : link["end"]] == link["url"]


def test_there_is_a_source_of_every_type_and_its_settings_are_those_of_the_interface() -> None:
    assert {source.type for source in SOURCES} == set(SourceType)
    assert {source.name for source in SOURCES} == {*NAMES, "Signal Mast"}
    for source in SOURCES:
        msgspec.convert(source.config, SourceConfig)


def test_the_voice_is_one_and_has_examples() -> None:
    voice = msgspec.convert(VOICE, Voice, strict=True)
    assert 3 <= len(voice.examples) <= 5
    assert all(len(example) <= 280 for example in voice.examples)
    assert len(voice.formats) == 3


def test_the_world_speaks_of_every_interest() -> None:
    told = " ".join(f"{entry.title} {entry.text}" for entry in everything()).lower().replace("-", " ")
    assert [interest for interest in INTERESTS if interest.removesuffix("s") not in told] == []


def test_the_whole_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.suffix != ".pyc" and path.is_file()) < 100_000
