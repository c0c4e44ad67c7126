"""Tests of searches that look through the newest drafts first."""

from itertools import chain
from pathlib import Path

import pytest

from copydesk.model.filters import DraftView, Tab
from copydesk.store import search
from copydesk.store.ids import new_id
from desk_fixtures import NOW, open_desk_at
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


async def test_range_of_drafts_that_were_not_stored_in_the_order_of_their_ids(tmp_path: Path) -> None:
    ids = sorted((new_id(NOW) for _ in range(3)), reverse=True)
    view = DraftView(tab=Tab.ALL, query="harbour")
    async with open_desk_at(tmp_path) as desk:
        for draft_id in ids:
            await insert_drafts(desk, id=draft_id, text="The harbour")
        first, *_, last = (await desk.drafts.views.window(view)).positions
        assert await desk.drafts.views.between(view, first, last) == tuple(ids)
