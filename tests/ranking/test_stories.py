"""Items gathered into stories, and which of them stands for the story."""

import random

import pytest

from copydesk.model.source import SourceType
from copydesk.ranking.stories import candidate, gather, lead_of, tellers
from ranking_items import item

LONG, SHORT = "word " * 300, "word " * 30


def test_an_article_leads_before_what_points_to_it() -> None:
    pointers = [
        item("On HN", id=f"p{n}", type=each, hours=9, text=LONG)
        for n, each in enumerate((SourceType.HACKERNEWS, SourceType.GOOGLE_NEWS, SourceType.REDDIT, SourceType.TWITTER))
    ]
    article = item("The article", id="a", hours=1)
    assert lead_of([*pointers, article]) is article


def test_an_item_with_an_address_leads_before_one_without() -> None:
    bare = item("No link", id="b", url=None, text=LONG)
    front = item("Front page", id="f", url="https://example.com/", text=LONG)
    linked = item("Linked", id="l")
    assert lead_of([bare, front, linked]) is linked


def test_the_item_that_says_most_leads() -> None:
    assert lead_of([item("Brief", id="a", summary=SHORT), item("Full", id="b", text=LONG)]).id == "b"


def test_of_two_that_say_about_the_same_the_earlier_leads() -> None:
    assert lead_of([item("Late", id="a", text=SHORT + "more"), item("Early", id="b", text=SHORT, hours=5)]).id == "b"


def test_of_two_that_came_together_the_lower_id_leads() -> None:
    assert lead_of([item("B", id="b"), item("A", id="a")]).id == "a"


def test_one_story_of_five_sources_names_all_five() -> None:
    told = [item(f"Told {n}", id=f"i{n}", source=f"s{n}", story="one", hours=n, summary="x" * n) for n in range(1, 6)]
    (story,) = gather(told)
    assert [teller.source_id for teller in tellers(story)] == ["s5", "s4", "s3", "s2", "s1"]
    assert tellers(story)[0].item_id == story.lead.id
    assert tellers(story)[0].name == "S5"


def test_a_source_that_told_twice_is_named_once() -> None:
    twice = [item("First", id="a", story="one", hours=5), item("Again", id="b", story="one", hours=1)]
    assert [teller.item_id for teller in tellers(candidate("one", twice))] == ["a"]


@pytest.mark.parametrize("seed", range(5))
def test_stories_do_not_depend_on_the_order_of_the_items(seed: int) -> None:
    items = [item(f"T{n}", id=f"i{n}", source=f"s{n % 3}", story=f"story{n % 4}", hours=n % 5) for n in range(12)]
    shuffled = random.Random(seed).sample(items, len(items))
    assert gather(shuffled) == gather(items)


def test_an_item_without_a_story_is_its_own() -> None:
    alone = item("Alone", id="i9")
    assert [story.story_id for story in gather([alone])] == ["i9"]
