"""Tests for removing boilerplate from the entries of a feed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.ingest.boilerplate import strip_boilerplate
from copydesk.model.item import Entry
from cost_growth import assert_linear
from feed_fixtures import parse_sample, rss

TOPICS = ("Library lends drills", "Bridge opens for trams", "Bakery saves its oven", "Harbour gets a crane")
FOOTER = "The Quay is free because its readers pay for it."


def make_entries(footer: str, topics: tuple[str, ...] = TOPICS) -> list[Entry]:
    return [
        Entry(ident=str(n), alias=str(n), title=topic, summary=topic, text=f"{topic}.\n\n{footer}")
        for n, topic in enumerate(topics)
    ]


def texts(entries: tuple[Entry, ...]) -> list[str]:
    return [entry.text for entry in entries]


@pytest.mark.parametrize(
    "footer",
    [FOOTER, "74 posts - 43 participants", "About the author\nAna Ruiz edits the Quay.", "Also read: {title}"],
)
def test_repeated_lines_are_removed(footer: str) -> None:
    entries = [
        Entry(ident=topic, alias=topic, title=topic, text=f"{topic}.\n\n{footer.format(title=topic)}")
        for topic in TOPICS
    ]
    assert texts(strip_boilerplate(entries)) == [f"{topic}." for topic in TOPICS]


def test_repeated_last_sentence_is_removed_from_its_paragraph() -> None:
    entries = [
        Entry(ident=topic, alias=topic, title=topic, summary=f"A {topic[:7]} has news. {FOOTER}") for topic in TOPICS
    ]
    assert [entry.summary for entry in strip_boilerplate(entries)] == [f"A {topic[:7]} has news." for topic in TOPICS]


def test_line_of_two_entries_stays() -> None:
    entries = make_entries(FOOTER, TOPICS[:2])
    assert strip_boilerplate(entries) == tuple(entries)


def test_repeated_story_is_not_boilerplate() -> None:
    entries = [Entry(ident=str(n), alias=str(n), title="Same story", text=FOOTER) for n in range(5)]
    assert strip_boilerplate(entries) == tuple(entries)


@pytest.mark.parametrize(
    "footer",
    [
        "The post Library lends drills appeared first on The Quay.",
        "Der Beitrag Bücherei verleiht Bohrer erschien zuerst auf Die Küste.",
        "L’article La ville prête des outils est apparu en premier sur Le Quai.",
        "La entrada La ciudad presta taladros se publicó primero en El Muelle.",
        "Continue reading →",
        "Weiterlesen …",
        "Lire la suite",
        "続きを読む",
        "submitted by /u/ana [link] [comments]",
        "Article URL: https://quay.example/1\nComments URL: https://news.example/2\nPoints: 7\n# Comments: 3",
    ],
)
def test_known_boilerplate_is_removed_from_single_entry(footer: str) -> None:
    (entry,) = strip_boilerplate([Entry(ident="1", alias="1", title="X", text=f"The city lends drills.\n\n{footer}")])
    assert entry.text == "The city lends drills."


@pytest.mark.parametrize(
    "footer", ["Read more", "Read more at The Quay", "See more: photos of the cranes", "View on the web", "Leer más »"]
)
def test_link_to_more_is_removed(footer: str) -> None:
    (entry,) = strip_boilerplate([Entry(ident="1", alias="1", title="X", text=f"The city lends drills.\n{footer}")])
    assert entry.text == "The city lends drills."


@pytest.mark.parametrize(
    "sentence",
    [
        "See more than 40 species of birds from the new tower.",
        "Read more books, says the librarian of the year.",
        "View on the harbour blocked by a crane.",
        "Leer más es vivir más, dice la bibliotecaria.",
    ],
)
@pytest.mark.parametrize("before", ["", "The tower opened in May. "])
def test_sentence_that_begins_like_a_link_stays(before: str, sentence: str) -> None:
    entry = Entry(ident="1", alias="1", title="X", summary=before + sentence)
    assert strip_boilerplate([entry]) == (entry,)


@pytest.mark.parametrize("before", ["", "The counter on the bridge was read. "])
def test_sentences_that_differ_in_their_numbers_stay(before: str) -> None:
    entries = [
        Entry(ident=day, alias=day, title=f"{day} on the bridge", summary=f"{before}It carried {count} cars.")
        for day, count in (("Monday", 12_300), ("Tuesday", 11_200), ("Wednesday", 9_900), ("Thursday", 7))
    ]
    assert strip_boilerplate(entries) == tuple(entries)


def test_feed_is_parsed_without_its_footer() -> None:
    items = [
        f"<guid>{n}</guid><title>{topic}</title><description>&lt;p&gt;{topic} today.&lt;/p&gt;&lt;p&gt;The post "
        f"{topic} appeared first on &lt;a href='/'&gt;Quay&lt;/a&gt;.&lt;/p&gt;</description>"
        for n, topic in enumerate(TOPICS)
    ]
    assert [entry.summary for entry in parse_sample(rss(*items)).entries] == [f"{topic} today." for topic in TOPICS]


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=80)), max_size=6))
def test_only_whole_lines_and_endings_are_removed(pairs: list[tuple[str, str]]) -> None:
    entries = [Entry(ident=str(n), alias=str(n), title=title, text=text) for n, (title, text) in enumerate(pairs)]
    for before, after in zip(entries, strip_boilerplate(entries), strict=True):
        remaining = iter(before.text)
        assert all(character in remaining for character in after.text)


@pytest.mark.parametrize("unit", ["a\n", "a. ", "\n", "read more\n", "The post a "])
def test_hostile_text_takes_linear_time(unit: str) -> None:
    def entries(size: int) -> list[Entry]:
        return [Entry(ident=str(n), alias=str(n), title=str(n), text=unit * (size // len(unit))) for n in range(3)]

    assert_linear(entries, strip_boilerplate, 12_500)
