"""The plan that gives approved drafts the free slots."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from copydesk.model.schedule import Slot
from copydesk.scheduling.daytime import slot_read
from copydesk.scheduling.plan import Approved, Plan, plan
from growth import assert_in_proportion

PRAGUE = ZoneInfo("Europe/Prague")
NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
MONDAYS = [slot_read("mon 9")]
FIRST_MONDAY = datetime(2026, 11, 23, 8, 0, tzinfo=UTC)
WEEK = timedelta(days=7)


def draft(name, confidence=0.5, age=0):
    return Approved(id=name, confidence=confidence, created_at=NOW - timedelta(hours=age))


def order(drafts):
    return [each.draft_id for each in plan(drafts, MONDAYS, PRAGUE, (), NOW).scheduled]


def test_the_surest_draft_goes_first_and_of_equals_the_oldest():
    drafts = [
        draft("a-young", 0.5, 1),
        draft("sure", 0.9),
        draft("b-old", 0.5, 9),
        draft("same-2", 0.1),
        draft("same-1", 0.1),
    ]
    assert order(drafts) == ["sure", "b-old", "a-young", "same-1", "same-2"]


def test_the_order_in_which_drafts_are_given_is_no_matter():
    drafts = [draft(f"{count}", count % 3, count % 5) for count in range(30)]
    shuffled = random.Random(1).sample(drafts, len(drafts))
    assert order(shuffled) == order(drafts)


def test_each_draft_gets_the_next_slot_where_none_stands():
    made = plan([draft("a", 0.9), draft("b", 0.8)], MONDAYS, PRAGUE, [FIRST_MONDAY + WEEK], NOW)
    assert [(each.draft_id, each.at) for each in made.scheduled] == [
        ("a", FIRST_MONDAY),
        ("b", FIRST_MONDAY + 2 * WEEK),
    ]
    assert made.scheduled[0].meant.wall == "2026-11-23T09:00"
    assert (made.skipped, made.reason) == (0, "")


def test_a_draft_that_is_given_twice_gets_one_slot():
    made = plan([draft("a"), draft("a")], MONDAYS, PRAGUE, (), NOW)
    assert (len(made.scheduled), made.skipped) == (1, 0)


def test_drafts_beyond_the_last_slot_of_the_year_are_skipped_and_it_says_why():
    made = plan([draft(f"{count:02}") for count in range(60)], MONDAYS, PRAGUE, (), NOW)
    assert len(made.scheduled) == 53
    assert made.skipped == 7
    assert made.reason == "no slot was left for 7 drafts: every slot of the next 366 days is taken"


def test_one_skipped_draft_is_one_draft():
    made = plan([draft(f"{count:02}") for count in range(54)], MONDAYS, PRAGUE, (), NOW)
    assert "1 draft:" in made.reason


def test_without_slots_everything_is_skipped_and_it_says_so():
    made = plan([draft("a")], [], PRAGUE, (), NOW)
    assert made == Plan(scheduled=(), skipped=1, reason="there are no slots to schedule to")


@pytest.mark.parametrize("slots", [[], MONDAYS])
def test_without_drafts_there_is_nothing_to_do_and_nothing_to_say(slots):
    assert plan([], slots, PRAGUE, (), NOW) == Plan(scheduled=(), skipped=0, reason="")


def many(count):
    return [draft(f"{each:05}", each % 97 / 97, each % 7) for each in range(count)]


def test_ten_thousand_drafts_are_planned_in_proportion_to_their_number():
    slots = {Slot(day_of_week=count % 7, hour=count % 24, minute=count % 60) for count in range(0, 5000, 13)}
    made = plan(many(10_000), slots, PRAGUE, (), NOW)
    assert len({each.at for each in made.scheduled}) == 10_000
    assert_in_proportion(many, lambda drafts: plan(drafts, slots, PRAGUE, (), NOW), 10_000)
