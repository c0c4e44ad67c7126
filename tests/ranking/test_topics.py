"""Tests for the interests that items name."""

import pytest

from copydesk.ranking.topics import Topics
from ranking_fixtures import make_item

TOPICS = Topics(["rust", "Climate change", "-crypto", "Zürich"])


@pytest.mark.parametrize(
    ("title", "tags", "found"),
    [
        ("Rust 1.90 is out", (), ("rust",)),
        ("What climate-change does to Zurich", (), ("Climate change", "Zürich")),
        ("Trust in banks", (), ()),
        ("Crypto collapses", (), ()),
    ],
)
def test_topics_are_those_of_the_title(title: str, tags: tuple[str, ...], found: tuple[str, ...]) -> None:
    assert TOPICS.find(make_item(title, tags=tags)) == found


def test_tag_and_text_make_no_topic() -> None:
    item = make_item("A new compiler", tags=("Rust",), text="It is written in Rust.", summary="Rust again")
    assert TOPICS.find(item) == ()


def test_subject_is_shared_if_no_interest_is() -> None:
    titles = ("Council of Lyon opens a library of drills", "Library of drills lends saws in Lyon")
    assert TOPICS.find_shared([make_item(title, id=f"i{number}") for number, title in enumerate(titles)]) == "Lyon"


@pytest.mark.parametrize(
    ("titles", "shared"),
    [
        (("Rust in Zürich", "Zürich votes"), "Zürich"),
        (("Rust in Zürich", "Zürich likes Rust"), "rust"),
        (("Rust is out", "Zürich votes"), ""),
        (("Rust is out",), ""),
    ],
)
def test_shared_topic_is_the_first_that_all_items_name(titles: tuple[str, ...], shared: str) -> None:
    assert TOPICS.find_shared([make_item(title, id=f"i{number}") for number, title in enumerate(titles)]) == shared


def test_items_of_one_story_share_no_topic() -> None:
    assert TOPICS.find_shared([make_item("Rust", id=item_id, story="s") for item_id in ("i1", "i2")]) == ""
