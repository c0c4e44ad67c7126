"""Tests for listing drafts, paging and the review queue."""

from itertools import product

import pytest

from copydesk.errors import InvalidError, NotFoundError
from copydesk.model.draft import TO_REVIEW, Format, Status
from copydesk.model.filters import Archived
from copydesk.model.run import RunRequest
from copydesk.model.serialization import to_json_value
from desk_fixtures import (
    NOW,
    URL_ONE,
    URL_THREE,
    URL_TWO,
    FakeWeb,
    Watch,
    create_source,
    entry,
    execute_sql,
    feed,
    list_drafts,
    open_desk_at,
    story_title,
)

SUBSTACK = "https://two.substack.com"


@pytest.fixture
async def desk(tmp_path):
    """Twelve drafts of two sources of two types in two formats; every third one approved, one archived."""
    web = FakeWeb()
    web.put(URL_ONE, feed(*(entry(number, hours=number + 1) for number in range(6))))
    web.put(f"{SUBSTACK}/feed", feed(*(entry(number, hours=number + 1) for number in range(6, 12))))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk, tags=["b", "a"])
        await create_source(desk, SUBSTACK, type="substack")
        await desk.pipeline.run(RunRequest(max_drafts=100))
        drafts = await list_drafts(desk)
        assert len(drafts) == 12
        for draft in drafts[::2]:
            execute_sql(tmp_path, "UPDATE draft SET format = 'BLOG' WHERE id = ?", draft.id)
        for draft in drafts[::3]:
            execute_sql(tmp_path, "UPDATE draft SET status = 'approved' WHERE id = ?", draft.id)
        execute_sql(tmp_path, "UPDATE draft SET archived_at = 1 WHERE id = ?", drafts[0].id)
        yield desk


async def test_filters_can_be_combined(desk):
    drafts = await list_drafts(desk)
    sources = [source.id for source in await desk.sources.list()]
    choices = product(
        (None, Status.APPROVED, Status.REJECTED),
        (None, Format.BLOG),
        (None, sources[0], "nobody"),
        (None, "substack"),
        (None, *Archived),
    )
    source_of = {draft.id: sources[draft.item.source_type == "substack"] for draft in drafts}
    for status, draft_format, source_id, source_type, archived in choices:
        expected = [
            draft.id
            for draft in reversed(drafts)
            if status in (None, draft.status)
            and draft_format in (None, draft.format)
            and source_id in (None, source_of[draft.id])
            and source_type in (None, draft.item.source_type)
            and archived in (None, Archived.INCLUDE, Archived.EXCLUDE if draft.archived_at is None else Archived.ONLY)
        ]
        page = await desk.drafts.list(
            status=status,
            format=draft_format,
            source_id=source_id,
            source_type=source_type,
            archived=archived,
            limit=100,
        )
        assert [draft.id for draft in page.items] == expected
        assert page.next_cursor is None


@pytest.mark.parametrize("limit", [1, 2, 5, 12, 100])
async def test_pages_are_stable_while_drafts_are_added(desk, limit):
    expected = [draft.id for draft in reversed(await list_drafts(desk))]
    listed, cursor = [], None
    while True:
        page = await desk.drafts.list(limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        listed += [draft.id for draft in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        if len(listed) < 4:
            await _add_draft(desk, len(listed))

    assert listed == expected


async def _add_draft(desk, number: int) -> None:
    desk._context.transport.put(URL_ONE, feed(entry(100 + number)))
    await desk.pipeline.run()


@pytest.mark.parametrize("limit", [0, 101, -5])
async def test_limit_is_1_to_100(desk, limit):
    with pytest.raises(InvalidError, match="limit: takes 1 to 100"):
        await desk.drafts.list(limit=limit)


async def test_cursor_is_bound_to_its_filter(desk):
    page = await desk.drafts.list(limit=2, format=Format.BLOG)
    assert page.next_cursor
    second_page = await desk.drafts.list(limit=100, format=Format.BLOG, cursor=page.next_cursor)
    assert len(second_page.items) == 4
    for other in ({}, {"format": Format.SHORT}, {"format": Format.BLOG, "status": Status.APPROVED}):
        with pytest.raises(InvalidError, match="cursor: is invalid; leave it out"):
            await desk.drafts.list(cursor=page.next_cursor, **other)


@pytest.mark.parametrize("cursor", ["x", "é", "A" * 5000, "../../etc/passwd", "bnVsbA", "0"])
async def test_foreign_cursor_is_refused(desk, cursor):
    with pytest.raises(InvalidError, match="cursor"):
        await desk.drafts.list(cursor=cursor)


async def test_draft_and_item_as_json(desk):
    draft = (await list_drafts(desk))[0]
    document = to_json_value(await desk.drafts.get(draft.id))

    assert isinstance(document, dict)
    assert list(document)[:13] == [
        *("id", "text", "format", "status", "confidence", "feedback", "rejectionFeedback", "scheduledAt"),
        *("postedAt", "postId", "itemId", "regeneratedFromId", "createdAt"),
    ]
    assert document["item"] == {
        "id": draft.item_id,
        "title": draft.item.title,
        "sourceType": draft.item.source_type,
        "published": "2026-02-10T11:00:00.000Z",
    }
    assert document["createdAt"] == document["updatedAt"] == "2026-02-10T12:00:00.000Z"
    assert document["tags"] == (["a", "b"] if draft.item.source_type == "rss" else [])
    item = await desk.drafts.item(draft.item_id)
    assert (item.entry.title, item.id) == (draft.item.title, draft.item_id)


async def test_unknown_id_is_not_found(desk):
    with pytest.raises(NotFoundError, match="No draft 'nobody'"):
        await desk.drafts.get("nobody")
    with pytest.raises(NotFoundError, match="No item 'nobody'"):
        await desk.drafts.item("nobody")


async def test_queue_orders_pending_drafts_by_score(desk):
    queue = await desk.drafts.queue()
    waiting = {draft.id for draft in await list_drafts(desk) if draft.status is Status.PENDING_REVIEW}

    assert {draft.id for draft in queue} == waiting
    assert len(queue) == (await desk.drafts.counts()).total_in(TO_REVIEW) == 8
    totals = [draft.score.total for draft in queue if draft.score]
    assert totals == sorted(totals, reverse=True)
    assert [draft.id for draft in await desk.drafts.queue(3)] == [draft.id for draft in queue[:3]]


async def test_archived_draft_leaves_queue(desk, tmp_path):
    (first, *rest) = await desk.drafts.queue()
    execute_sql(tmp_path, "UPDATE draft SET archived_at = 1 WHERE id = ?", first.id)

    assert [draft.id for draft in await desk.drafts.queue()] == [draft.id for draft in rest]


async def test_decisions_affect_next_scores(tmp_path):
    """Earlier approvals and rejections change the score of the next stories, and the score part says so."""
    web, clock = FakeWeb(), Watch()
    web.put(URL_ONE, feed(entry(1)))
    web.put(URL_TWO, feed(entry(2)))
    async with open_desk_at(tmp_path, web, clock) as desk:
        liked, disliked = await create_source(desk), await create_source(desk, URL_TWO)
        await desk.pipeline.run()
        for source, status in ((liked, "approved"), (disliked, "rejected")):
            execute_sql(tmp_path, "UPDATE draft SET status = ? WHERE source_id = ?", status, source.id)
        web.put(URL_ONE, feed(entry(3)))
        web.put(URL_TWO, feed(entry(4)))
        clock.advance(60)
        await desk.pipeline.run()
        third, fourth = sorted((await list_drafts(desk))[2:], key=lambda draft: draft.item.title != story_title(3))

    parts = [{part.name: part for part in draft.score.parts} for draft in (third, fourth)]
    assert parts[0]["source"].why == "1 approved, 0 rejected from one.example"
    assert parts[1]["source"].why == "0 approved, 1 rejected from two.example"
    assert third.score.total > fourth.score.total
    assert third.created_at > NOW
    assert URL_THREE
