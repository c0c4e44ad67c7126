"""Lists of drafts: filters, pages, the queue."""

from itertools import product

import pytest

from copydesk.errors import InvalidError, NotFoundError
from copydesk.model.draft import Format, Status
from copydesk.model.filters import Archived
from copydesk.model.run import RunRequest
from copydesk.model.source import SourceType
from copydesk.model.wire import to_wire
from desk_fixtures import NOW, ONE, THREE, TWO, Watch, Web, add, change, drafts_of, entry, feed, open_at, title

SUBSTACK = "https://two.substack.com"


@pytest.fixture
async def desk(tmp_path):
    """Twelve drafts: of two sources of two types, in two formats, a third of them approved."""
    web = Web()
    web.put(ONE, feed(*(entry(number, hours=number + 1) for number in range(3))))
    web.put(f"{SUBSTACK}/feed", feed(*(entry(number, hours=number + 1) for number in range(3, 6))))
    async with open_at(tmp_path, web) as desk:
        await add(desk, tags=["b", "a"])
        await add(desk, SUBSTACK, type="substack")
        await desk.pipeline.run(RunRequest(max_drafts=100, formats=("SHORT", "BLOG")))
        made = await drafts_of(desk)
        assert len(made) == 12
        for draft in made[::3]:
            change(tmp_path, "UPDATE draft SET status = 'approved' WHERE id = ?", draft.id)
        change(tmp_path, "UPDATE draft SET archived_at = 1 WHERE id = ?", made[0].id)
        yield desk


async def test_filters_alone_and_together_show_what_has_all_of_it(desk):
    everything = await drafts_of(desk)
    sources = [source.id for source in await desk.sources.list()]
    choices = product(
        (None, Status.APPROVED, Status.REJECTED),
        (None, Format.BLOG),
        (None, sources[0], "nobody"),
        (None, SourceType.SUBSTACK),
        (None, *Archived),
    )
    source_of = {draft.id: sources[draft.item.source_type is SourceType.SUBSTACK] for draft in everything}
    for status, kind, source_id, source_type, archived in choices:
        wanted = [
            draft.id
            for draft in reversed(everything)
            if status in (None, draft.status)
            and kind in (None, draft.format)
            and source_id in (None, source_of[draft.id])
            and source_type in (None, draft.item.source_type)
            and archived in (None, Archived.INCLUDE, Archived.EXCLUDE if draft.archived_at is None else Archived.ONLY)
        ]
        page = await desk.drafts.list(
            status=status, format=kind, source_id=source_id, source_type=source_type, archived=archived, limit=100
        )
        assert [draft.id for draft in page.items] == wanted
        assert page.next_cursor is None


@pytest.mark.parametrize("limit", [1, 2, 5, 12, 100])
async def test_the_pages_visit_every_draft_once_whatever_is_added_meanwhile(desk, limit):
    before = [draft.id for draft in reversed(await drafts_of(desk))]
    seen, cursor = [], None
    while True:
        page = await desk.drafts.list(limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        seen += [draft.id for draft in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        if len(seen) < 4:
            await _one_more(desk, len(seen))

    assert seen == before


async def _one_more(desk, number: int) -> None:
    desk.ground.transport.put(ONE, feed(entry(100 + number)))
    await desk.pipeline.run()


@pytest.mark.parametrize("limit", [0, 101, -5])
async def test_a_page_has_1_to_100(desk, limit):
    with pytest.raises(InvalidError, match="limit: takes 1 to 100"):
        await desk.drafts.list(limit=limit)


async def test_a_cursor_goes_with_the_filter_that_it_was_made_for(desk):
    page = await desk.drafts.list(limit=2, format=Format.BLOG)
    assert page.next_cursor
    rest = await desk.drafts.list(limit=100, format=Format.BLOG, cursor=page.next_cursor)
    assert len(rest.items) == 4
    for other in ({}, {"format": Format.SHORT}, {"format": Format.BLOG, "status": Status.APPROVED}):
        with pytest.raises(InvalidError, match="cursor: is not one that this list gave"):
            await desk.drafts.list(cursor=page.next_cursor, **other)


@pytest.mark.parametrize("cursor", ["x", "é", "A" * 5000, "../../etc/passwd", "bnVsbA", "0"])
async def test_a_cursor_that_this_desk_did_not_make_is_refused(desk, cursor):
    with pytest.raises(InvalidError, match="cursor"):
        await desk.drafts.list(cursor=cursor)


async def test_one_draft_is_shown_with_its_item_in_the_shape_of_the_interface(desk):
    made = (await drafts_of(desk))[0]
    shown = to_wire(await desk.drafts.get(made.id))

    assert isinstance(shown, dict)
    assert list(shown)[:13] == [
        *("id", "text", "format", "status", "confidence", "feedback", "rejectionFeedback", "scheduledAt"),
        *("postedAt", "postId", "itemId", "regeneratedFromId", "createdAt"),
    ]
    assert shown["item"] == {"id": made.item_id, "title": made.item.title, "sourceType": made.item.source_type.value}
    assert shown["createdAt"] == shown["updatedAt"] == "2026-02-10T12:00:00.000Z"
    assert shown["tags"] == (["a", "b"] if made.item.source_type is SourceType.RSS else [])
    item = await desk.drafts.item(made.item_id)
    assert (item.entry.title, item.id) == (made.item.title, made.item_id)


async def test_an_id_of_nobody_is_told_as_one(desk):
    with pytest.raises(NotFoundError, match="There is no draft 'nobody'"):
        await desk.drafts.get("nobody")
    with pytest.raises(NotFoundError, match="There is no item 'nobody'"):
        await desk.drafts.item("nobody")


async def test_the_queue_is_what_waits_for_review_the_best_first(desk):
    queue = await desk.drafts.queue()
    waiting = {draft.id for draft in await drafts_of(desk) if draft.status is Status.PENDING_REVIEW}

    assert {draft.id for draft in queue} == waiting
    assert len(queue) == await desk.drafts.count_to_review() == 8
    totals = [draft.score.total for draft in queue if draft.score]
    assert totals == sorted(totals, reverse=True)
    assert [draft.id for draft in await desk.drafts.queue(3)] == [draft.id for draft in queue[:3]]


async def test_an_archived_draft_does_not_wait_for_review(desk, tmp_path):
    (first, *rest) = await desk.drafts.queue()
    change(tmp_path, "UPDATE draft SET archived_at = 1 WHERE id = ?", first.id)

    assert [draft.id for draft in await desk.drafts.queue()] == [draft.id for draft in rest]


async def test_decisions_move_the_next_stories(tmp_path):
    """What a reviewer approved and rejected counts in the score of what comes next, and its part says so."""
    web, clock = Web(), Watch()
    web.put(ONE, feed(entry(1)))
    web.put(TWO, feed(entry(2)))
    async with open_at(tmp_path, web, clock) as desk:
        liked, disliked = await add(desk), await add(desk, TWO)
        await desk.pipeline.run()
        for source, status in ((liked, "approved"), (disliked, "rejected")):
            change(tmp_path, "UPDATE draft SET status = ? WHERE source_id = ?", status, source.id)
        web.put(ONE, feed(entry(3)))
        web.put(TWO, feed(entry(4)))
        clock.forward(60)
        await desk.pipeline.run()
        third, fourth = sorted((await drafts_of(desk))[2:], key=lambda draft: draft.item.title != title(3))

    parts = [{part.name: part for part in draft.score.parts} for draft in (third, fourth)]
    assert parts[0]["source"].why == "1 approved, 0 rejected from one.example"
    assert parts[1]["source"].why == "0 approved, 1 rejected from two.example"
    assert third.score.total > fourth.score.total
    assert third.created_at > NOW
    assert THREE
