"""Tests for grouping items into stories and choosing the lead item."""

import random

import pytest

from copydesk.model.source import SourceType
from copydesk.ranking.stories import candidate, gather, lead_of, tellers
from ranking_items import item

LONG, SHORT = "word " * 300, "word " * 30


def test_article_leads_before_links_to_it() -> None:
    pointers = [
        item("On HN", id=f"p{n}", type=source_type, hours=9, text=LONG)
        for n, source_type in enumerate(
            (SourceType.HACKERNEWS, SourceType.GOOGLE_NEWS, SourceType.REDDIT, SourceType.TWITTER)
        )
    ]
    article = item("The article", id="a", hours=1)
    assert lead_of([*pointers, article]) is article


def test_item_with_url_leads() -> None:
    bare = item("No link", id="b", url=None, text=LONG)
    front = item("Front page", id="f", url="https://example.com/", text=LONG)
    linked = item("Linked", id="l")
    assert lead_of([bare, front, linked]) is linked


def test_longest_item_leads() -> None:
    assert lead_of([item("Brief", id="a", summary=SHORT), item("Full", id="b", text=LONG)]).id == "b"


def test_earlier_item_leads_on_similar_length() -> None:
    assert lead_of([item("Late", id="a", text=SHORT + "more"), item("Early", id="b", text=SHORT, hours=5)]).id == "b"


def test_lower_id_leads_on_same_time() -> None:
    assert lead_of([item("B", id="b"), item("A", id="a")]).id == "a"


def test_story_lists_all_sources() -> None:
    items = [item(f"Told {n}", id=f"i{n}", source=f"s{n}", story="one", hours=n, summary="x" * n) for n in range(1, 6)]
    (story,) = gather(items)
    assert [source.source_id for source in tellers(story)] == ["s5", "s4", "s3", "s2", "s1"]
    assert tellers(story)[0].item_id == story.lead.id
    assert tellers(story)[0].name == "S5"


def test_repeated_source_is_listed_once() -> None:
    twice = [item("First", id="a", story="one", hours=5), item("Again", id="b", story="one", hours=1)]
    assert [source.item_id for source in tellers(candidate("one", twice))] == ["a"]


@pytest.mark.parametrize("seed", range(5))
def test_grouping_is_independent_of_item_order(seed: int) -> None:
    items = [item(f"T{n}", id=f"i{n}", source=f"s{n % 3}", story=f"story{n % 4}", hours=n % 5) for n in range(12)]
    shuffled = random.Random(seed).sample(items, len(items))
    assert gather(shuffled) == gather(items)


def test_item_without_story_is_its_own() -> None:
    alone = item("Alone", id="i9")
    assert [story.story_id for story in gather([alone])] == ["i9"]
