"""Tests for encoding a page of drafts from its rows: the JSON is that of the drafts themselves."""

import sqlite3
from contextlib import closing

import msgspec
import pytest

from copydesk.desk import Desk, open_desk
from copydesk.errors import StoreCorruptError
from copydesk.model.serialization import encode_json
from copydesk.settings import Settings, load
from listed_drafts import add_drafts

RELATED = """
INSERT INTO draft_item (draft_id, item_id, user_id, position)
    SELECT draft.id, item.id, draft.user_id, item.rowid FROM draft, item WHERE draft.format = 'BLOG';
INSERT INTO draft_variant (draft_id, experiment_id, variant_id, user_id)
    SELECT id, 'experiment', 'long', user_id FROM draft WHERE format = 'SHORT';
UPDATE draft_image SET proposed = 1, agency = 'Press Agency' WHERE position = 1;
UPDATE draft SET agent = '{"name":"scout","sources":[{"url":"https://x.example/","start":1}]}',
    sentences = '[{"text":"Words","field":"title","start":0,"end":5}]' WHERE format = 'THREAD';
UPDATE draft SET source_type = NULL, posted_at = 1767225600000000, post_id = '1', last_error = 'Odd "error"',
    confidence_known = 1, regenerated_from_id = id WHERE confidence > 0.5;
"""
"""What a list shows from other tables, and columns that drafts to review leave empty."""


@pytest.fixture
def settings(tmp_path) -> Settings:
    return load({}, tmp_path)


def run_script(settings: Settings, script: str) -> None:
    with closing(sqlite3.connect(settings.database_file)) as connection:
        connection.executescript(script)


async def list_both(desk: Desk, **params: object) -> tuple[bytes, bytes]:
    """Return the JSON of a page's drafts, encoded from them and from their rows."""
    page = await desk.drafts.list(limit=100, **params)
    drafts, cursor = await desk.drafts.list_json(limit=100, **params)
    assert cursor == page.next_cursor
    return encode_json(page.items), drafts


async def test_page_is_encoded_like_its_drafts(settings):
    async with open_desk(settings) as desk:
        await add_drafts(desk, 60)
        run_script(settings, RELATED)
        of_drafts, of_rows = await list_both(desk)

    assert of_rows == of_drafts
    drafts = msgspec.json.decode(of_rows)
    empty = {name for name in drafts[0] if not any(draft[name] not in (None, [], "", {}) for draft in drafts)}
    assert (len(drafts), empty) == (60, {"rejectionFeedback"})


async def test_pages_have_the_same_cursors(settings):
    async with open_desk(settings) as desk:
        await add_drafts(desk, 5)
        page = await desk.drafts.list(limit=2)
        _, cursor = await desk.drafts.list_json(limit=2)
        assert cursor == page.next_cursor is not None
        drafts, _ = await desk.drafts.list_json(limit=2, cursor=cursor)
        assert drafts == encode_json((await desk.drafts.list(limit=2, cursor=cursor)).items)


async def test_page_without_drafts_is_an_empty_list(settings):
    async with open_desk(settings) as desk:
        assert await desk.drafts.list_json() == (b"[]", None)


async def test_fields_that_older_versions_did_not_store_have_their_defaults(settings):
    async with open_desk(settings) as desk:
        await add_drafts(desk, 1)
        run_script(settings, """UPDATE draft SET checks = '{"ran":3}', score = '{"total":0.5}'""")
        of_drafts, of_rows = await list_both(desk)
    assert of_rows == of_drafts
    assert msgspec.json.decode(of_rows)[0]["checks"] == {"ran": 3, "findings": [], "claims": []}


@pytest.mark.parametrize(
    "damage",
    [
        "checks = '{'",
        "checks = '[]'",
        "sentences = '[{]'",
        "score = '{}'",
        "target_platforms = ''",
        "agent = 'scout'",
        "status = 'odd'",
        "created_at = 'today'",
    ],
)
async def test_unreadable_draft_is_reported(settings, damage):
    async with open_desk(settings) as desk:
        await add_drafts(desk, 1)
        run_script(settings, f"PRAGMA ignore_check_constraints = ON; UPDATE draft SET {damage}")
        with pytest.raises(StoreCorruptError, match="unreadable draft"):
            await desk.drafts.list_json()
