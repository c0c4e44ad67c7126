"""One action on many drafts: each wholly done or not, in the order asked, and told why not."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from copydesk.errors import InvalidError, StoreFullError
from copydesk.model.change import ChangeDraft
from copydesk.model.draft import Action
from copydesk.model.schedule import Slot
from copydesk.model.wire import to_wire
from copydesk.store import changes, schedule
from desk_fixtures import NOW, Web, change, open_at, rows

NOBODY = "019c4a5e-0000-7000-8000-000000000000"
MONDAY = Slot(day_of_week=1, hour=9, minute=0)


@pytest.fixture
async def desk(tmp_path):
    async with open_at(tmp_path, Web()) as desk:
        yield desk


async def made(desk, count: int) -> list[str]:
    return [(await desk.drafts.create({"text": f"Text {number}."})).drafts[0].id for number in range(count)]


def statuses(home) -> list[object]:
    return [status for (status,) in rows(home, "SELECT status FROM draft ORDER BY id")]


async def test_each_draft_has_an_outcome_in_the_order_asked(desk, tmp_path):
    one, two, three = await made(desk, 3)
    await desk.drafts.reject(two)
    await desk.drafts.archive(three)
    done = await desk.drafts.bulk({"action": "reject", "ids": [three, NOBODY, one, two, one], "feedback": "No."})

    assert to_wire(done) == {
        "action": "reject",
        "total": 4,
        "succeeded": 1,
        "failed": 3,
        "results": {
            "succeeded": [one],
            "failed": [
                {"id": three, "error": "This draft is archived; reject is not possible. Undo the archiving first."},
                {"id": NOBODY, "error": f"There is no draft '{NOBODY}'. `copydesk draft list` shows them all."},
                {
                    "id": two,
                    "error": "This draft is rejected; reject is not possible. "
                    "Possible now: approve, regenerate, archive.",
                },
            ],
        },
    }
    assert rows(tmp_path, "SELECT rejection_feedback FROM draft ORDER BY id") == [("No.",), (None,), (None,)]


async def test_what_is_done_at_once_has_one_bulk_id_and_an_event_each(desk, tmp_path):
    ids = await made(desk, 60)
    done = await desk.drafts.bulk({"action": "approve", "ids": ids[::-1]})

    assert done.results.succeeded == tuple(ids[::-1])
    assert statuses(tmp_path) == ["approved"] * 60
    told = rows(tmp_path, "SELECT draft_id, version FROM draft_event WHERE action = 'approve' ORDER BY rid")
    assert told == [(draft_id, 2) for draft_id in ids[::-1]]
    assert len(rows(tmp_path, "SELECT DISTINCT bulk_id FROM draft_event WHERE action = 'approve'")) == 1


async def test_each_next_slot_goes_to_the_next_draft(desk):
    await desk.ground.write(schedule.set_slots, [MONDAY])
    ids = await made(desk, 55)
    await desk.drafts.bulk({"action": "approve", "ids": ids})
    done = await desk.drafts.bulk({"action": "schedule", "ids": [ids[1], NOBODY, *ids[2:], ids[0]]})
    times = [(await desk.drafts.get(draft_id)).scheduled_at for draft_id in done.results.succeeded]

    monday = datetime(2026, 2, 16, 9, 0, tzinfo=UTC)
    assert times == [monday + timedelta(weeks=week) for week in range(52)]
    assert done.results.succeeded == tuple(ids[1:53])
    assert [failure.id for failure in done.results.failed] == [NOBODY, ids[53], ids[54], ids[0]]
    assert done.results.failed[1].error.startswith("Every slot of the next 366 days is taken.")


async def test_a_given_time_is_given_to_each(desk):
    ids = await made(desk, 2)
    await desk.drafts.bulk({"action": "approve", "ids": ids})
    at = NOW + timedelta(days=1)
    await desk.drafts.bulk({"action": "schedule", "ids": ids, "scheduledAt": at})
    later = {"action": "reschedule", "ids": ids, "scheduledAt": at + timedelta(hours=1)}

    assert (await desk.drafts.bulk(later)).succeeded == 2
    assert [(await desk.drafts.get(each)).scheduled_at for each in ids] == [at + timedelta(hours=1)] * 2
    assert (await desk.drafts.bulk({"action": "cancel_schedule", "ids": ids})).succeeded == 2


BAD = {
    "ids": [{"action": "approve"}, {"action": "approve", "ids": []}, {"action": "approve", "ids": ["x"] * 101}],
    "ids[1]": [{"action": "approve", "ids": ["x", ""]}, {"action": "approve", "ids": ["x", 5]}],
    "action": [{"ids": ["x"]}, *({"action": name, "ids": ["x"]} for name in ("post", "regenerate", "unapprove"))],
    "scheduledAt": [
        {"action": "reschedule", "ids": ["x"]},
        {"action": "schedule", "ids": ["x"], "scheduledAt": NOW},
        {"action": "schedule", "ids": ["x"], "scheduledAt": "9999-01-01T00:00:00Z"},
    ],
    "feedback": [{"action": "approve", "ids": ["x"], "feedback": "Good."}],
}


@pytest.mark.parametrize(("field", "asked"), [(field, asked) for field, every in BAD.items() for asked in every])
async def test_what_breaks_a_rule_is_refused_by_its_field(desk, field, asked):
    with pytest.raises(InvalidError) as refused:
        await desk.drafts.bulk(asked)

    assert field in [error.field for error in refused.value.errors]


async def test_a_full_disk_in_the_middle_fails_the_rest_and_keeps_what_was_done(desk, tmp_path, monkeypatch):
    ids = await made(desk, 60)
    put, count = changes.put, 0

    def failing(*args):
        nonlocal count
        count += 1
        if count == 55:
            raise StoreFullError
        return put(*args)

    monkeypatch.setattr(changes, "put", failing)
    done = await desk.drafts.bulk({"action": "approve", "ids": ids})

    assert done.results.succeeded == tuple(ids[:50])
    assert {failure.error for failure in done.results.failed} == {str(StoreFullError())}
    assert statuses(tmp_path) == ["approved"] * 50 + ["awaiting_review"] * 10
    assert rows(tmp_path, "SELECT count(*) FROM draft_event") == [(60 + 50,)]


async def test_two_desks_that_race_for_the_same_drafts_share_them(tmp_path):
    async with open_at(tmp_path, Web()) as one, open_at(tmp_path, Web()) as two:
        ids = await made(one, 80)
        asked = {"action": "approve", "ids": ids}
        ended = await asyncio.gather(one.drafts.bulk(asked), two.drafts.bulk({**asked, "ids": ids[::-1]}))

    assert sum(done.succeeded for done in ended) == 80
    assert statuses(tmp_path) == ["approved"] * 80
    assert rows(tmp_path, "SELECT count(*) FROM draft_event WHERE action = 'approve'") == [(80,)]


async def test_an_action_that_no_bulk_takes_is_done_to_many_all_the_same(desk):
    one, two, three = await made(desk, 3)
    done = await desk.drafts.act(Action.REGENERATE, [two, NOBODY, one, two], ChangeDraft(feedback="Shorter."))

    assert (done.action, done.total, done.results.succeeded) == ("regenerate", 3, (two, one))
    assert [failure.id for failure in done.results.failed] == [NOBODY]
    assert [(await desk.drafts.get(each)).feedback for each in (one, two, three)] == ["Shorter.", "Shorter.", None]
    with pytest.raises(InvalidError, match="scheduledAt: is missing"):
        await desk.drafts.act(Action.RESCHEDULE, [one])


async def test_all_that_filters_show_is_found_for_an_action(desk, tmp_path):
    ids = await made(desk, 5)
    await desk.drafts.approve(ids[3])
    await desk.drafts.archive(ids[4])

    assert await desk.drafts.matching() == tuple(ids[::-1])
    assert await desk.drafts.matching(status="approved") == (ids[3],)
    assert await desk.drafts.matching(status="awaiting_review", archived="exclude") == tuple(ids[2::-1])
    change(tmp_path, "DELETE FROM draft")
    assert await desk.drafts.matching() == ()
