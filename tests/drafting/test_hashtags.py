"""Tests for the hashtags of drafts: which there are, and how they are spelled."""

import pytest

from copydesk.drafting.extract.hashtags import choose_hashtags, spell_hashtag
from copydesk.drafting.extract.material import read_material
from copydesk.model.voice import Voice
from drafting_fixtures import make_brief


def hashtags(*tags: str, own: tuple[str, ...] = (), avoid: tuple[str, ...] = (), **item: object) -> list[str]:
    voice = Voice(hashtag_list=own, avoid=avoid)
    return list(choose_hashtags(read_material(make_brief(voice=voice, tags=tags, **item))))


@pytest.mark.parametrize(
    ("tag", "spelled"),
    [
        ("C++", "CPlusPlus"),
        ("c#", "CSharp"),
        (".NET", "DotNet"),
        ("Node.js", "NodeJS"),
        ("nodejs", "NodeJS"),
        ("javascript", "JavaScript"),
        ("open source", "OpenSource"),
        ("open-source", "OpenSource"),
        ("Circular Economy", "CircularEconomy"),
        ("circular_economy", "CircularEconomy"),
        ("machine learning", "MachineLearning"),
        ("AI safety", "AISafety"),
        ("IOS", "iOS"),
        ("BREAKING", "Breaking"),
        ("NASA", "NASA"),
        ("COVID-19", "COVID19"),
        ("Côte d’Ivoire", "CôtedIvoire"),
        ("日本語", "日本語"),
        ("r/harbourdev", ""),
        ("cs:LG", ""),
        ("2026", ""),
        ("a tag of far too many words", ""),
        ("", ""),
    ],
)
def test_tag_is_spelled_as_one_word(tag: str, spelled: str) -> None:
    assert spell_hashtag(tag) == spelled


@pytest.mark.parametrize(
    "tag",
    [
        "comment", "Comments", "PAID", "paid post", "Sponsored", "sponsored content", "Members only", "general",
        "Allgemein", "Général", "Sin categoría", "Senza categoria", "Non classé", "Uncategorized", "Geen categorie",
        "Без рубрики", "未分類", "Top Stories", "News", "Latest news", "Blog posts", "River News", "rivernews.example",
        "Jane Doe", "x",
    ],
)  # fmt: skip
def test_tag_that_says_nothing_of_the_item_is_no_hashtag(tag: str) -> None:
    assert hashtags(tag) == []


def test_words_of_the_title_are_no_hashtags() -> None:
    assert hashtags(title="Lyon lends drills", summary="In the old town of Lyon, people lend drills.") == []


def test_own_hashtags_come_first_where_the_item_is_about_them() -> None:
    own = ("#CPlusPlus", "OpenSource", "Lyon", "#ferries")
    item = {"title": "A C++ library of Lyon", "summary": "It is open-source and free for all of them."}
    assert hashtags("Tools", "lyon", own=own, **item) == ["#CPlusPlus", "#Lyon", "#OpenSource", "#Tools"]


@pytest.mark.parametrize("title", ["Trust in banks", "Rusty gates", "The C compiler"])
def test_own_hashtag_needs_the_whole_word(title: str) -> None:
    assert hashtags(own=("Rust", "CPlusPlus"), title=title, summary="Nobody was hurt.", text="") == []


def test_mentioned_tags_come_first() -> None:
    assert hashtags("Gardening", "Circular Economy", "drills") == ["#Drills", "#Gardening", "#CircularEconomy"]


def test_avoided_words_are_no_hashtags() -> None:
    assert hashtags("Circular Economy", "Lyon", own=("drills",), avoid=("economy", "drills")) == ["#Lyon"]


def test_hashtag_is_used_once() -> None:
    assert hashtags("open source", "OpenSource", "opensource", own=("opensource",), title="Open source in Lyon") == [
        "#opensource"
    ]
