"""Tests for assigning approved drafts to free slots."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from copydesk.model.schedule import Slot
from copydesk.scheduling.slots import ApprovedDraft, SchedulePlan, plan_drafts
from copydesk.scheduling.time_text import parse_slot
from cost_growth import assert_linear

PRAGUE = ZoneInfo("Europe/Prague")
NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
MONDAYS = [parse_slot("mon 9")]
FIRST_MONDAY = datetime(2026, 11, 23, 8, 0, tzinfo=UTC)
WEEK = timedelta(days=7)


def draft(name, confidence=0.5, age=0, score=None):
    return ApprovedDraft(id=name, confidence=confidence, score=score, created_at=NOW - timedelta(hours=age))


def order(drafts):
    return [assignment.draft_id for assignment in plan_drafts(drafts, MONDAYS, PRAGUE, (), NOW).scheduled]


def test_most_confident_then_oldest_draft_first():
    drafts = [
        draft("a-young", 0.5, 1),
        draft("sure", 0.9),
        draft("b-old", 0.5, 9),
        draft("same-2", 0.1),
        draft("same-1", 0.1),
    ]
    assert order(drafts) == ["sure", "b-old", "a-young", "same-1", "same-2"]


def test_score_orders_while_any_confidence_is_unknown():
    drafts = [draft("sure", 0.9, score=0.2), draft("new", None, score=0.8), draft("own", None), draft("old", None, 3)]
    assert order(drafts) == ["new", "sure", "old", "own"]


def test_input_order_does_not_matter():
    drafts = [draft(f"{count}", count % 3, count % 5) for count in range(30)]
    shuffled = random.Random(1).sample(drafts, len(drafts))
    assert order(shuffled) == order(drafts)


def test_drafts_get_next_free_slots():
    result = plan_drafts([draft("a", 0.9), draft("b", 0.8)], MONDAYS, PRAGUE, [FIRST_MONDAY + WEEK], NOW)
    assert [(assignment.draft_id, assignment.at) for assignment in result.scheduled] == [
        ("a", FIRST_MONDAY),
        ("b", FIRST_MONDAY + 2 * WEEK),
    ]
    assert result.scheduled[0].wall_time.wall == "2026-11-23T09:00"
    assert (result.skipped, result.reason) == (0, "")


def test_duplicate_draft_gets_one_slot():
    result = plan_drafts([draft("a"), draft("a")], MONDAYS, PRAGUE, (), NOW)
    assert (len(result.scheduled), result.skipped) == (1, 0)


def test_drafts_beyond_last_slot_are_skipped():
    result = plan_drafts([draft(f"{count:02}") for count in range(60)], MONDAYS, PRAGUE, (), NOW)
    assert len(result.scheduled) == 53
    assert result.skipped == 7
    assert result.reason == "no free slot for 7 drafts: all slots in the next 366 days are taken"


def test_reason_uses_singular_for_one_draft():
    result = plan_drafts([draft(f"{count:02}") for count in range(54)], MONDAYS, PRAGUE, (), NOW)
    assert "1 draft:" in result.reason


def test_no_slots_skips_all_drafts():
    result = plan_drafts([draft("a")], [], PRAGUE, (), NOW)
    assert result == SchedulePlan(scheduled=(), skipped=1, reason="no weekly slots yet")


@pytest.mark.parametrize("slots", [[], MONDAYS])
def test_no_drafts_gives_empty_plan(slots):
    assert plan_drafts([], slots, PRAGUE, (), NOW) == SchedulePlan(scheduled=(), skipped=0, reason="")


def many_drafts(count):
    return [draft(f"{number:05}", number % 97 / 97, number % 7) for number in range(count)]


def test_ten_thousand_drafts_take_linear_time():
    slots = {Slot(day_of_week=count % 7, hour=count % 24, minute=count % 60) for count in range(0, 5000, 13)}
    result = plan_drafts(many_drafts(10_000), slots, PRAGUE, (), NOW)
    assert len({assignment.at for assignment in result.scheduled}) == 10_000
    assert_linear(many_drafts, lambda drafts: plan_drafts(drafts, slots, PRAGUE, (), NOW), 10_000)
