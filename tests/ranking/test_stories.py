"""Tests for grouping items into stories and choosing the lead item."""

import random

import pytest

from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.ranking.stories import build_candidate, choose_lead, group_into_stories, sources_of
from ranking_fixtures import make_item

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
