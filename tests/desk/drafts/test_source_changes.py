"""Tests for holding approved drafts whose source changed or vanished."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from copydesk.desk import Desk
from copydesk.desk.doctor import examine
from copydesk.desk.drafts.source_changes import describe_change
from copydesk.desk.pipeline.fetch_sources import store_fetch
from copydesk.ingest.fetch_context import FetchResult
from copydesk.model.item import Entry
from copydesk.store import sources
from cost_growth import assert_linear
from desk_fixtures import (
    NOW,
    URL_ONE,
    FakeWeb,
    Watch,
    create_source,
    entry,
    execute_sql,
    feed,
    list_drafts,
    open_desk_at,
    settings_at,
)
from schedule_fixtures import insert_draft, insert_drafts, make_slot

HOUR = timedelta(hours=1)
STORY = Entry(
    ident="1",
    alias="1",
    title="Harbour bridge opens",
    url="https://one.example/bridge",
    summary="The bridge opens in May. It took nine years.",
    points=4,
    comments=12,
)


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Harbour  Bridge opens "},
        {"title": "“Harbour bridge” opens"},
        {"url": "http://www.one.example/bridge/?utm_source=rss"},
        {"summary": "The bridge opens in May.\n\nIt took nine years…"},
        {"summary": "The bridge opens in May. It took nine years. 13 comments"},
        {"summary": "The bridge opens in May."},
        {"summary": "The bridge opens in May. It took ni…"},
        {"summary": ""},
        {"points": 99, "comments": 40, "image": "https://one.example/x.png", "tags": ("harbour",)},
    ],
)
def test_small_edit_is_no_change(changes: dict[str, object]) -> None:
    assert describe_change(STORY, replace(STORY, **changes)) == ""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"title": "Harbour bridge delayed"}, "the title is now “Harbour bridge delayed”"),
        ({"url": "https://one.example/other"}, "the link is now https://one.example/other"),
        ({"url": None}, "the link is gone"),
        ({"summary": "The bridge opens in June. It took nine years."}, "the text changed"),
        ({"summary": "The bridge opens in May. It took nine years. Correction: ten."}, "the text changed"),
        ({"title": "A", "summary": "B"}, "the title is now “A”, the text changed"),
    ],
)
def test_change_in_substance_is_described(changes: dict[str, object], reason: str) -> None:
    assert describe_change(STORY, replace(STORY, **changes)) == reason


@pytest.mark.parametrize(
    ("summary", "change"),
    [
        ("The bridge opens in May. Read also: 9 tips.", ""),
        ("Read also: 9 tips. THE bridge opens in May!", ""),
        ("The bridge opens in June. It took nine years.", "the text changed"),
        ("Read also: 9 tips.", "the text changed"),
    ],
)
def test_text_counts_where_the_draft_quotes_it(summary: str, change: str) -> None:
    quoted = ["The bridge opens in May."]
    assert describe_change(STORY, replace(STORY, summary=summary), quoted) == change
    moved = replace(STORY, summary=summary, text="More. The bridge opens in May.")
    assert describe_change(STORY, moved, quoted) == ""


def test_number_that_grows_changes_a_quote() -> None:
    old, new = replace(STORY, summary="It costs 5."), replace(STORY, summary="It costs 50.")
    assert describe_change(old, new, ["It costs 5"]) == "the text changed"


@pytest.mark.parametrize("separator", [",", ".", ",,"])
def test_list_of_numbers_takes_linear_time(separator: str) -> None:
    assert_linear(
        lambda size: replace(STORY, text=f"1{separator}" * (size // 2)), lambda old: describe_change(old, STORY), 20_000
    )


async def scheduled_draft(desk: Desk, web: FakeWeb, at: datetime | None) -> str:
    """Run the pipeline on a feed with one entry, approve its draft and schedule it; return its id."""
    web.put(URL_ONE, feed(entry(1)))
    await create_source(desk)
    await desk.pipeline.run()
    (draft,) = await list_drafts(desk)
    await desk.drafts.approve(draft.id)
    if at is not None:
        await desk.drafts.schedule(draft.id, at)
    return draft.id


async def publish(desk: Desk, web: FakeWeb, watch: Watch, body: bytes) -> None:
    """Change the feed, and run the pipeline again."""
    watch.now += timedelta(minutes=20)
    web.put(URL_ONE, body)
    await desk.pipeline.run()


CHANGED = feed(entry(1, title="Ferry sinks"))
REASON = "Held: its source changed since you approved it: the title is now “Ferry sinks”."


async def test_changed_source_holds_scheduled_draft(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        draft_id = await scheduled_draft(desk, web, NOW + HOUR)
        await publish(desk, web, watch, CHANGED)
        draft = await desk.drafts.get(draft_id)
        assert (draft.status, draft.last_error, draft.scheduled_at) == ("awaiting_review", REASON, NOW + HOUR)
        watch.now = NOW + HOUR
        assert not (await desk.job_leases.due_work()).due
        # The week shows it where it would have been posted.
        (week_draft,) = (await desk.schedule.week()).drafts
        assert (week_draft.id, week_draft.status, week_draft.held) == (draft_id, "awaiting_review", REASON)


async def test_changed_source_holds_approved_draft(tmp_path: Path) -> None:
    """Otherwise the automatic schedule would post what was approved before the change."""
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        draft_id = await scheduled_draft(desk, web, None)
        await publish(desk, web, watch, CHANGED)
        draft = await desk.drafts.get(draft_id)
        assert (draft.status, draft.last_error) == ("awaiting_review", REASON)


async def test_approving_again_restores_the_time(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        draft_id = await scheduled_draft(desk, web, NOW + HOUR)
        await publish(desk, web, watch, CHANGED)
        approved = await desk.drafts.approve(draft_id)
        assert (approved.status, approved.last_error, approved.scheduled_at) == ("scheduled", None, NOW + HOUR)
        # The same feed again is no further change.
        await publish(desk, web, watch, CHANGED)
        assert (await desk.drafts.get(draft_id)).status == "scheduled"
        undone = await desk.drafts.undo(draft_id)
        assert undone.succeeded == (draft_id,)
        assert (await desk.drafts.get(draft_id)).last_error == REASON


async def test_approving_after_its_time_leaves_it_approved(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        draft_id = await scheduled_draft(desk, web, NOW + HOUR)
        await publish(desk, web, watch, CHANGED)
        watch.now += HOUR
        approved = await desk.drafts.approve(draft_id)
        assert (approved.status, approved.last_error, approved.scheduled_at) == ("approved", None, None)


async def test_edit_releases_held_draft(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        draft_id = await scheduled_draft(desk, web, NOW + HOUR)
        await publish(desk, web, watch, CHANGED)
        edited = await desk.drafts.edit(draft_id, "The ferry sank.")
        assert (edited.status, edited.last_error, edited.scheduled_at) == ("scheduled", None, NOW + HOUR)


async def test_rejecting_held_draft_clears_its_time(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        draft_id = await scheduled_draft(desk, web, NOW + HOUR)
        await publish(desk, web, watch, CHANGED)
        rejected = await desk.drafts.reject(draft_id)
        assert (rejected.status, rejected.last_error, rejected.scheduled_at) == ("rejected", None, None)


async def test_change_before_approval_does_not_hold(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        draft_id = await scheduled_draft(desk, web, None)
        await desk.drafts.unapprove(draft_id)
        await publish(desk, web, watch, CHANGED)
        await desk.drafts.approve(draft_id)
        await publish(desk, web, watch, CHANGED)
        assert (await desk.drafts.get(draft_id)).status == "approved"


async def test_change_beside_the_quotes_does_not_hold(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        draft_id = await scheduled_draft(desk, web, NOW + HOUR)
        await publish(desk, web, watch, feed(entry(1).replace("The new line", "Advert of the day. The new line")))
        assert (await desk.drafts.get(draft_id)).status == "scheduled"
        await publish(desk, web, watch, feed(entry(1).replace("passengers", "tons")))
        assert (await desk.drafts.get(draft_id)).status == "awaiting_review"


async def test_text_that_changes_at_every_fetch_holds_once(tmp_path: Path) -> None:
    """For lack of quotes: the user wrote the text."""
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        draft_id = await scheduled_draft(desk, web, NOW + 10 * HOUR)
        await desk.drafts.edit(draft_id, "My own words.")
        held = []
        for number in range(3):
            await publish(desk, web, watch, feed(entry(1, text=f"Advert {number} of the day.")))
            held.append((await desk.drafts.get(draft_id)).last_error)
            await desk.drafts.approve(draft_id) if held[-1] else None
        assert held == ["Held: its source changed since you approved it: the text changed.", None, None]
        await publish(desk, web, watch, CHANGED)
        assert (await desk.drafts.get(draft_id)).last_error is not None


async def test_source_that_is_gone_holds_its_drafts(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        draft_id = await scheduled_draft(desk, web, NOW + HOUR)
        web.fail(URL_ONE, 410)
        watch.now += timedelta(minutes=20)
        await desk.pipeline.run()
        draft = await desk.drafts.get(draft_id)
        assert (draft.status, draft.last_error) == ("awaiting_review", "Held: its source is gone (410).")


async def test_setting_turns_holding_off(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch, schedule__hold_changed="false") as desk:
        draft_id = await scheduled_draft(desk, web, NOW + HOUR)
        await publish(desk, web, watch, CHANGED)
        assert (await desk.drafts.get(draft_id)).status == "scheduled"


async def test_time_of_held_draft_is_taken(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        await desk.schedule.set_slots([make_slot(day, 9) for day in range(7)])
        draft_id = await scheduled_draft(desk, web, None)
        held = await desk.drafts.schedule(draft_id)
        assert held.scheduled_at is not None
        await publish(desk, web, watch, CHANGED)
        other = await desk.drafts.schedule(await insert_draft(desk))
        assert other.scheduled_at == held.scheduled_at + timedelta(days=1)
        assert (await desk.schedule.conflicts(held.scheduled_at)).count == 1


async def test_doctor_counts_held_drafts_behind_many_newer(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path) as desk:
        await insert_drafts(desk, 2, status="awaiting_review", last_error="Held: its source deleted it.")
        await insert_drafts(desk, 101, status="awaiting_review")
    findings = await examine(settings_at(tmp_path), lambda: open_desk_at(tmp_path))
    assert [finding.found for finding in findings if finding.what == "drafts"] == [
        "2 drafts held, the newest: its source deleted it."
    ]


async def test_doctor_names_held_drafts(tmp_path: Path) -> None:
    web, watch = FakeWeb(), Watch()
    async with open_desk_at(tmp_path, web, watch) as desk:
        await scheduled_draft(desk, web, NOW + HOUR)
        await publish(desk, web, watch, CHANGED)
    findings = await examine(settings_at(tmp_path), lambda: open_desk_at(tmp_path, web, watch))
    assert [(finding.verdict, finding.found) for finding in findings if finding.what == "drafts"] == [
        ("warning", f"1 draft held: {REASON.removeprefix('Held: ')}")
    ]


async def test_post_deleted_at_its_source_holds_its_draft(tmp_path: Path) -> None:
    url = "https://www.reddit.com/r/python/"
    async with open_desk_at(tmp_path) as desk:
        source = await create_source(desk, url, type="reddit")
        draft_id = await insert_draft(desk, status="scheduled", scheduled_at=NOW + HOUR)
        execute_sql(tmp_path, "UPDATE item SET source_id = ?, ident = 't3_gone', alias = 't3_gone'", source.id)
        stored = (await desk._context.read(sources.list_to_fetch, None))[0]
        result = FetchResult(removed=("t3_gone", "t3_unknown"))
        await desk._context.write(store_fetch, desk._context, stored, result, NOW)
        draft = await desk.drafts.get(draft_id)
        assert (draft.status, draft.last_error) == ("awaiting_review", "Held: its source deleted it.")
