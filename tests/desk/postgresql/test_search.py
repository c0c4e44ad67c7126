"""Tests of searches that look through the newest drafts first."""

from itertools import chain
from pathlib import Path

import pytest

from copydesk.store import search
from desk_fixtures import open_desk_at
from schedule_fixtures import insert_drafts

WORDS = ("harbour", "quagga", "harbour", "harbour", "lantern", "harbour", "harbour")
"""A word of each draft, oldest first."""


@pytest.mark.parametrize("newest", [0, 1, 2, 3, 6, 7, 5000])
@pytest.mark.parametrize("query", ["harbour", "quagga", "quag*", "lantern", "-harbour sea", "nowhere"])
async def test_all_pages_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newest: int, query: str) -> None:
    monkeypatch.setattr(search, "NEWEST", newest)
    async with open_desk_at(tmp_path) as desk:
        ids = [(await insert_drafts(desk, text=f"The sea and the {word}"))[0] for word in WORDS]
        pages, cursor = [], None
        while not pages or cursor:
            page = await desk.drafts.search(query, limit=2, cursor=cursor)
            pages.append([draft.id for draft in page.items])
            cursor = page.next_cursor
    matching = {"quag*": {"quagga"}, "-harbour sea": {"quagga", "lantern"}}.get(query, {query})
    assert [*chain(*pages)] == [draft_id for draft_id, word in zip(ids, WORDS, strict=True) if word in matching][::-1]
    assert all(len(page) == 2 for page in pages[:-1])


@pytest.mark.parametrize(
    ("query", "found"), [("٣٤", 0), ("٣٤*", 0), ("٣٤ harbour", 0), ("harbour -٣٤", 1), ('"٣٤ harbour"', 1)]
)
async def test_word_that_is_none_to_the_database(tmp_path: Path, query: str, found: int) -> None:
    async with open_desk_at(tmp_path) as desk:
        await insert_drafts(desk, text="The harbour")
        assert len((await desk.drafts.search(query)).items) == found


async def test_tag_without_a_word_of_the_database(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await desk.drafts.create({"text": "The harbour", "tags": ["٣٤"]})
        assert len((await desk.drafts.search("harbour", tags=["٣٤"])).items) == 1
