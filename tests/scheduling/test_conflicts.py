"""Drafts within half an hour of each other."""

from datetime import UTC, datetime, timedelta

from copydesk.scheduling.conflicts import Standing, bounds, conflicts

AT = datetime(2026, 11, 30, 14, 30, tzinfo=UTC)


def standing(name, **shift):
    return Standing(draft_id=name, at=AT + timedelta(**shift))


def test_thirty_minutes_conflict_and_a_moment_more_does_not():
    drafts = [
        standing("after", minutes=30),
        standing("later", minutes=30, microseconds=1),
        standing("before", minutes=-30),
        standing("earlier", minutes=-30, microseconds=-1),
        standing("same"),
    ]
    assert [each.draft_id for each in conflicts(AT, drafts)] == ["before", "same", "after"]


def test_a_draft_is_no_conflict_with_itself():
    assert conflicts(AT, [standing("a"), standing("b")], without="a") == (standing("b"),)


def test_the_bounds_are_half_an_hour_either_side():
    assert bounds(AT) == (AT - timedelta(minutes=30), AT + timedelta(minutes=30))
