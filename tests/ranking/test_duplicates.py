"""Tests for matching items to stories."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copydesk.ranking.duplicates import StoryIndex

NOW = datetime(2026, 2, 17, 12, tzinfo=UTC)
DIES = "Civil rights leader Jesse Jackson dies, aged 84"
DIES_TOO = "US civil rights leader Jesse Jackson dies aged 84"
A_PAGE = "https://example.com/2026/jackson"


class Desk:
    """A story index with short calls: item "a1" comes from source "a"."""

    def __init__(self) -> None:
        self.index = StoryIndex()

    def comes(self, item: str, title: str, url: str = "", *, hours: float = 0) -> str | None:
        return self.index.place(item, item[0], title, url, NOW + timedelta(hours=hours))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_first_item_starts_a_story(desk: Desk) -> None:
    assert desk.comes("a1", DIES) is None


def test_similar_title_joins_story(desk: Desk) -> None:
    desk.comes("a1", DIES)
    assert desk.comes("b1", DIES_TOO) == "a1"
    assert desk.comes("c1", DIES + " - BBC News") == "a1"


def test_same_url_joins_story(desk: Desk) -> None:
    desk.comes("a1", DIES, A_PAGE)
    assert desk.comes("b1", "Read this", A_PAGE) == "a1"


def test_front_page_and_empty_url_do_not_match(desk: Desk) -> None:
    desk.comes("a1", DIES, "https://example.com/")
    desk.comes("a2", "Something quite different")
    assert desk.comes("b1", "Our new site is ready today", "https://example.com/") is None
    assert desk.comes("b2", "Yet another unrelated matter") is None


def test_same_source_never_matches_by_title(desk: Desk) -> None:
    desk.comes("a1", DIES)
    assert desk.comes("a2", DIES_TOO) is None
    assert desk.comes("a3", DIES) is None


def test_source_does_not_match_itself_transitively(desk: Desk) -> None:
    desk.comes("a1", DIES)
    assert desk.comes("b1", DIES_TOO) == "a1"
    assert desk.comes("c1", "US civil rights leader Jesse Jackson dies at 84") == "a1"
    assert desk.comes("a2", "US civil rights leader Jesse Jackson dies at 84") is None


def test_same_source_matches_by_url(desk: Desk) -> None:
    desk.comes("a1", DIES, A_PAGE)
    assert desk.comes("a2", "Jesse Jackson has died", A_PAGE) == "a1"


def test_shared_link_of_one_source_is_no_story(desk: Desk) -> None:
    page = "https://example.com/changelog"
    assert desk.comes("a1", "Faster start of the console", page) is None
    assert desk.comes("a2", "New export to spreadsheets", page) is None
    assert desk.comes("b1", "Example ships something", page) is None


def test_versions_on_one_page_are_separate(desk: Desk) -> None:
    page = "https://example.com/releases"
    assert desk.comes("a1", "Example 1.2.0 released", page) is None
    assert desk.comes("a2", "Example 1.3.0 released", page) is None


def test_url_outweighs_title(desk: Desk) -> None:
    desk.comes("a1", DIES)
    desk.comes("b1", "Obituary of a preacher", A_PAGE)
    assert desk.comes("c1", DIES_TOO, A_PAGE) == "b1"


def test_most_similar_story_wins(desk: Desk) -> None:
    for n in range(8):
        desk.index.add(f"s{n}", f"d{n}", f"US civil rights icon no{'abcdefgh'[n]} Jesse Jackson dies aged 84", "", NOW)
    desk.index.add("best", "d9", DIES_TOO, "", NOW)
    assert desk.comes("c1", DIES) == "best"


def test_earliest_story_wins_ties(desk: Desk) -> None:
    for n in range(8):
        desk.index.add(f"s{n}", f"d{n}", DIES_TOO, "", NOW - timedelta(hours=n % 5))
    assert desk.comes("c1", DIES) == "s4"


@pytest.mark.parametrize(("hours", "known"), [(14 * 24, True), (14 * 24 + 1, False)])
def test_story_expires_with_window(desk: Desk, hours: float, known: bool) -> None:
    desk.comes("a1", DIES, A_PAGE)
    assert (desk.comes("b1", DIES, A_PAGE, hours=hours) == "a1") is known
    assert desk.comes("c1", DIES, hours=hours) is not None


def test_items_can_arrive_out_of_order(desk: Desk) -> None:
    desk.comes("a1", DIES, hours=30)
    assert desk.comes("b1", DIES_TOO, hours=0) == "a1"


def test_stored_items_retain_their_story(desk: Desk) -> None:
    desk.index.add("s7", "a", DIES, A_PAGE, NOW)
    assert desk.comes("b1", DIES_TOO) == "s7"
    assert desk.comes("c1", "", A_PAGE) == "s7"


def test_memory_is_bounded_by_window(desk: Desk) -> None:
    for day in range(40):
        for n in range(6):
            word = f"{day}x{n}"
            desk.comes(f"a{word}", f"Story number {word} is told once {word}b", f"https://e.com/{word}", hours=24 * day)
    index = desk.index
    assert len(index) <= 6 * 16
    mappings = [index._words, index._pages, index._tellers]
    assert len(index._pages) == len(index._tellers) == len(index)
    desk.comes("z1", "Long after all of it", hours=24 * 365)
    assert len(index) == 1
    assert [len(mapping) for mapping in mappings] == [1, 0, 1]


def test_source_can_repeat_after_expiry(desk: Desk) -> None:
    desk.comes("a1", DIES)
    for week in range(1, 4):
        assert desk.comes(f"{'bcd'[week - 1]}1", DIES, hours=24 * 7 * week) == "a1"
    assert desk.comes("a2", DIES, hours=24 * 22) == "a1"


def test_expired_items_are_not_stored(desk: Desk) -> None:
    desk.comes("a1", DIES)
    desk.comes("b1", "Something of the year before last", "https://e.com/old", hours=-24 * 400)
    assert len(desk.index) == 1


@pytest.mark.parametrize("told", ["{}q {}r {}s", "Jackson remembered"], ids=["a changelog", "one story"])
def test_comparisons_for_shared_link_are_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    """A feed with 9,000 entries that all linked to one page blocked everything for half a minute."""
    compared = 0
    is_near = StoryIndex._is_near

    def counting(*args: Any) -> bool:
        nonlocal compared
        compared += 1
        return is_near(*args)

    monkeypatch.setattr(StoryIndex, "_is_near", counting)
    for n in range(10_000):
        desk.comes(f"a{n}", told.format(n, n, n), A_PAGE)
    assert compared <= 3 * 10_000
    assert len(desk.index._pages[A_PAGE]) <= 2


def test_shared_page_matches_after_one_story_expires(desk: Desk) -> None:
    desk.comes("a1", DIES, A_PAGE)
    desk.comes("a2", "New export to spreadsheets", A_PAGE, hours=24 * 10)
    assert desk.comes("b1", "Seen elsewhere", A_PAGE, hours=24 * 11) is None
    assert desk.comes("d1", "Quite another matter", A_PAGE, hours=24 * 25 - 1) == "b1"


def test_unusual_titles_do_not_match(desk: Desk) -> None:
    odd = ("", " ", "\x1b[31m[red]", "🙂" * 1000, "a" * 100_000, "- " * 50_000, "\ud800", "日" * 5000)
    for n, title in enumerate(odd):
        assert desk.comes(f"a{n}", title) is None


SOURCES = st.sampled_from("abcd")
WORDS = "iran talks geneva nuclear deal round japan quake 84 85 monday friday"
TITLES = st.lists(st.sampled_from(WORDS.split(" ")), max_size=7)
PAGES = st.sampled_from(["", "", "", "https://e.com/1", "https://e.com/2", "https://e.com/"])
COMING = st.lists(st.tuples(SOURCES, TITLES.map(" ".join), PAGES, st.integers(0, 24 * 40)), max_size=25)


@given(COMING)
@settings(max_examples=80)
def test_source_repeats_in_story_only_by_url(coming: list[tuple[str, str, str, int]]) -> None:
    index = StoryIndex()
    placed: dict[str, list[tuple[str, str, int]]] = {}
    for n, (source, title, page, hours) in enumerate(coming):
        story = index.place(f"{n}", source, title, page, NOW + timedelta(hours=hours)) or f"{n}"
        in_window = [
            prior for prior in placed.get(story, []) if prior[2] >= max(h for *_, h in coming[: n + 1]) - 24 * 14
        ]
        if source in [prior[0] for prior in in_window]:
            assert page in [prior[1] for prior in placed[story]]
        placed.setdefault(story, []).append((source, page, hours))


@given(COMING)
@settings(max_examples=50)
def test_placement_is_deterministic(coming: list[tuple[str, str, str, int]]) -> None:
    def run() -> list[str | None]:
        index = StoryIndex()
        return [
            index.place(f"{n}", source, title, page, NOW + timedelta(hours=hours))
            for n, (source, title, page, hours) in enumerate(coming)
        ]

    assert run() == run()


def test_common_word_finds_only_recent_titles(desk: Desk) -> None:
    for n in range(600):
        desk.comes(f"a{n}", f"Markets {n}x {n}y")
    assert len(desk.index._words["markets"]) == 512
    assert desk.comes("b1", "Markets 599x 599y") == "a599"
