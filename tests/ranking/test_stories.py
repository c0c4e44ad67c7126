"""Tests for assigning items to stories, and for the lead items of stories."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.ranking.stories import StoryIndex, build_candidate, choose_lead, group_into_stories, sources_of
from ranking_fixtures import make_item
from sampling import sample_size

LONG, SHORT = "word " * 300, "word " * 30


def test_article_leads_before_links_to_it() -> None:
    pointers = [
        make_item("On HN", id=f"p{n}", type=source_type, hours=9, text=LONG)
        for n, source_type in enumerate(("hackernews", "google_news", "reddit", "twitter"))
    ]
    article = make_item("The article", id="a", hours=1)
    aggregators = {info.name for info in SOURCE_TYPES.values() if info.is_aggregator}
    assert choose_lead([*pointers, article], aggregators) is article


def test_item_with_url_leads() -> None:
    bare = make_item("No link", id="b", url=None, text=LONG)
    front = make_item("Front page", id="f", url="https://example.com/", text=LONG)
    linked = make_item("Linked", id="l")
    assert choose_lead([bare, front, linked]) is linked


def test_longest_item_leads() -> None:
    assert choose_lead([make_item("Brief", id="a", summary=SHORT), make_item("Full", id="b", text=LONG)]).id == "b"


def test_earlier_item_leads_on_similar_length() -> None:
    assert (
        choose_lead(
            [make_item("Late", id="a", text=SHORT + "more"), make_item("Early", id="b", text=SHORT, hours=5)]
        ).id
        == "b"
    )


def test_lower_id_leads_on_same_time() -> None:
    assert choose_lead([make_item("B", id="b"), make_item("A", id="a")]).id == "a"


def test_story_lists_all_sources() -> None:
    items = [
        make_item(f"Told {n}", id=f"i{n}", source=f"s{n}", story="one", hours=n, summary="x" * n) for n in range(1, 6)
    ]
    (story,) = group_into_stories(items)
    assert [source.source_id for source in sources_of(story)] == ["s5", "s4", "s3", "s2", "s1"]
    assert sources_of(story)[0].item_id == story.lead.id
    assert sources_of(story)[0].name == "S5"


def test_repeated_source_is_listed_once() -> None:
    twice = [make_item("First", id="a", story="one", hours=5), make_item("Again", id="b", story="one", hours=1)]
    assert [source.item_id for source in sources_of(build_candidate("one", twice))] == ["a"]


@pytest.mark.parametrize("seed", range(5))
def test_grouping_is_independent_of_item_order(seed: int) -> None:
    items = [make_item(f"T{n}", id=f"i{n}", source=f"s{n % 3}", story=f"story{n % 4}", hours=n % 5) for n in range(12)]
    shuffled = random.Random(seed).sample(items, len(items))
    assert group_into_stories(shuffled) == group_into_stories(items)


def test_item_without_story_is_its_own() -> None:
    alone = make_item("Alone", id="i9")
    assert [story.story_id for story in group_into_stories([alone])] == ["i9"]


NOW = datetime(2026, 2, 17, 12, tzinfo=UTC)
TITLE = "Civil rights leader Jesse Jackson dies, aged 84"
SIMILAR_TITLE = "US civil rights leader Jesse Jackson dies aged 84"
PAGE_URL = "https://example.com/2026/jackson"


class IndexDriver:
    """A story index with short calls: item "a1" comes from source "a"."""

    def __init__(self) -> None:
        self.index = StoryIndex()

    def place(self, item: str, title: str, url: str = "", *, hours: float = 0) -> str | None:
        return self.index.assign(item, item[0], title, url, NOW + timedelta(hours=hours))


@pytest.fixture
def driver() -> IndexDriver:
    return IndexDriver()


def test_first_item_starts_a_story(driver: IndexDriver) -> None:
    assert driver.place("a1", TITLE) is None


def test_similar_title_joins_story(driver: IndexDriver) -> None:
    driver.place("a1", TITLE)
    assert driver.place("b1", SIMILAR_TITLE) == "a1"
    assert driver.place("c1", TITLE + " - BBC News") == "a1"


def test_same_url_joins_story(driver: IndexDriver) -> None:
    driver.place("a1", TITLE, PAGE_URL)
    assert driver.place("b1", "Read this", PAGE_URL) == "a1"


def test_front_page_and_empty_url_do_not_match(driver: IndexDriver) -> None:
    driver.place("a1", TITLE, "https://example.com/")
    driver.place("a2", "Something quite different")
    assert driver.place("b1", "Our new site is ready today", "https://example.com/") is None
    assert driver.place("b2", "Yet another unrelated matter") is None


def test_same_source_never_matches_by_title(driver: IndexDriver) -> None:
    driver.place("a1", TITLE)
    assert driver.place("a2", SIMILAR_TITLE) is None
    assert driver.place("a3", TITLE) is None


def test_source_does_not_match_itself_transitively(driver: IndexDriver) -> None:
    driver.place("a1", TITLE)
    assert driver.place("b1", SIMILAR_TITLE) == "a1"
    assert driver.place("c1", "US civil rights leader Jesse Jackson dies at 84") == "a1"
    assert driver.place("a2", "US civil rights leader Jesse Jackson dies at 84") is None


def test_same_source_matches_by_url(driver: IndexDriver) -> None:
    driver.place("a1", TITLE, PAGE_URL)
    assert driver.place("a2", "Jesse Jackson has died", PAGE_URL) == "a1"


def test_shared_link_of_one_source_is_no_story(driver: IndexDriver) -> None:
    page = "https://example.com/changelog"
    assert driver.place("a1", "Faster start of the console", page) is None
    assert driver.place("a2", "New export to spreadsheets", page) is None
    assert driver.place("b1", "Example ships something", page) is None


def test_versions_on_one_page_are_separate(driver: IndexDriver) -> None:
    page = "https://example.com/releases"
    assert driver.place("a1", "Example 1.2.0 released", page) is None
    assert driver.place("a2", "Example 1.3.0 released", page) is None


def test_url_outweighs_title(driver: IndexDriver) -> None:
    driver.place("a1", TITLE)
    driver.place("b1", "Obituary of a preacher", PAGE_URL)
    assert driver.place("c1", SIMILAR_TITLE, PAGE_URL) == "b1"


def test_most_similar_story_wins(driver: IndexDriver) -> None:
    for n in range(8):
        driver.index.add(
            f"s{n}", f"d{n}", f"US civil rights icon no{'abcdefgh'[n]} Jesse Jackson dies aged 84", "", NOW
        )
    driver.index.add("best", "d9", SIMILAR_TITLE, "", NOW)
    assert driver.place("c1", TITLE) == "best"


def test_earliest_story_wins_ties(driver: IndexDriver) -> None:
    for n in range(8):
        driver.index.add(f"s{n}", f"d{n}", SIMILAR_TITLE, "", NOW - timedelta(hours=n % 5))
    assert driver.place("c1", TITLE) == "s4"


@pytest.mark.parametrize(("hours", "matches"), [(14 * 24, True), (14 * 24 + 1, False)])
def test_story_expires_with_window(driver: IndexDriver, hours: float, matches: bool) -> None:
    driver.place("a1", TITLE, PAGE_URL)
    assert (driver.place("b1", TITLE, PAGE_URL, hours=hours) == "a1") is matches
    assert driver.place("c1", TITLE, hours=hours) is not None


def test_items_can_arrive_out_of_order(driver: IndexDriver) -> None:
    driver.place("a1", TITLE, hours=30)
    assert driver.place("b1", SIMILAR_TITLE, hours=0) == "a1"


def test_stored_items_retain_their_story(driver: IndexDriver) -> None:
    driver.index.add("s7", "a", TITLE, PAGE_URL, NOW)
    assert driver.place("b1", SIMILAR_TITLE) == "s7"
    assert driver.place("c1", "", PAGE_URL) == "s7"


def test_memory_is_bounded_by_window(driver: IndexDriver) -> None:
    for day in range(40):
        for n in range(6):
            word = f"{day}x{n}"
            driver.place(
                f"a{word}", f"Story number {word} is told once {word}b", f"https://e.com/{word}", hours=24 * day
            )
    index = driver.index
    assert len(index) <= 6 * 16
    mappings = [index._items_by_word, index._items_by_page, index._source_counts]
    assert len(index._items_by_page) == len(index._source_counts) == len(index)
    driver.place("z1", "Long after all of it", hours=24 * 365)
    assert len(index) == 1
    assert [len(mapping) for mapping in mappings] == [1, 0, 1]


def test_source_can_repeat_after_expiry(driver: IndexDriver) -> None:
    driver.place("a1", TITLE)
    for week in range(1, 4):
        assert driver.place(f"{'bcd'[week - 1]}1", TITLE, hours=24 * 7 * week) == "a1"
    assert driver.place("a2", TITLE, hours=24 * 22) == "a1"


def test_expired_items_are_not_stored(driver: IndexDriver) -> None:
    driver.place("a1", TITLE)
    driver.place("b1", "Something of the year before last", "https://e.com/old", hours=-24 * 400)
    assert len(driver.index) == 1


@pytest.mark.parametrize("title_template", ["{}q {}r {}s", "Jackson remembered"], ids=["a changelog", "one story"])
def test_comparisons_for_shared_link_are_bounded(
    driver: IndexDriver, monkeypatch: pytest.MonkeyPatch, title_template: str
) -> None:
    """A feed with 9,000 entries that all linked to one page blocked everything for half a minute."""
    compared = 0
    is_near = StoryIndex._is_within_window

    def counting(*args: Any) -> bool:
        nonlocal compared
        compared += 1
        return is_near(*args)

    monkeypatch.setattr(StoryIndex, "_is_within_window", counting)
    for n in range(10_000):
        driver.place(f"a{n}", title_template.format(n, n, n), PAGE_URL)
    assert compared <= 3 * 10_000
    assert len(driver.index._items_by_page[PAGE_URL]) <= 2


def test_shared_page_matches_after_one_story_expires(driver: IndexDriver) -> None:
    driver.place("a1", TITLE, PAGE_URL)
    driver.place("a2", "New export to spreadsheets", PAGE_URL, hours=24 * 10)
    assert driver.place("b1", "Seen elsewhere", PAGE_URL, hours=24 * 11) is None
    assert driver.place("d1", "Quite another matter", PAGE_URL, hours=24 * 25 - 1) == "b1"


def test_unusual_titles_do_not_match(driver: IndexDriver) -> None:
    odd = ("", " ", "\x1b[31m[red]", "🙂" * 1000, "a" * 100_000, "- " * 50_000, "\ud800", "日" * 5000)
    for n, title in enumerate(odd):
        assert driver.place(f"a{n}", title) is None


SOURCES = st.sampled_from("abcd")
VOCABULARY = "iran talks geneva nuclear deal round japan quake 84 85 monday friday"
TITLES = st.lists(st.sampled_from(VOCABULARY.split(" ")), max_size=7)
PAGES = st.sampled_from(["", "", "", "https://e.com/1", "https://e.com/2", "https://e.com/"])
ITEM_STREAMS = st.lists(st.tuples(SOURCES, TITLES.map(" ".join), PAGES, st.integers(0, 24 * 40)), max_size=25)


@given(ITEM_STREAMS)
@settings(max_examples=sample_size(80))
def test_source_repeats_in_story_only_by_url(stream: list[tuple[str, str, str, int]]) -> None:
    index = StoryIndex()
    placed: dict[str, list[tuple[str, str, int]]] = {}
    for n, (source, title, page, hours) in enumerate(stream):
        story = index.assign(f"{n}", source, title, page, NOW + timedelta(hours=hours)) or f"{n}"
        in_window = [
            prior for prior in placed.get(story, []) if prior[2] >= max(h for *_, h in stream[: n + 1]) - 24 * 14
        ]
        if source in [prior[0] for prior in in_window]:
            assert page in [prior[1] for prior in placed[story]]
        placed.setdefault(story, []).append((source, page, hours))


@given(ITEM_STREAMS)
@settings(max_examples=sample_size(50))
def test_placement_is_deterministic(stream: list[tuple[str, str, str, int]]) -> None:
    def run() -> list[str | None]:
        index = StoryIndex()
        return [
            index.assign(f"{n}", source, title, page, NOW + timedelta(hours=hours))
            for n, (source, title, page, hours) in enumerate(stream)
        ]

    assert run() == run()


def test_common_word_finds_only_recent_titles(driver: IndexDriver) -> None:
    for n in range(600):
        driver.place(f"a{n}", f"Markets {n}x {n}y")
    assert len(driver.index._items_by_word["market"]) == 512
    assert driver.place("b1", "Markets 599x 599y") == "a599"
