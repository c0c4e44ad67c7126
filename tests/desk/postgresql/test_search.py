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
