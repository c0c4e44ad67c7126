"""Tests for the decision which undone changes leave the history of a draft."""

import random
from datetime import timedelta

import pytest
from sqlalchemy import Connection, insert, update

from copydesk.model.transitions import EventKind
from copydesk.store import tables
from copydesk.store.database import Database
from copydesk.store.raw_sql import dbapi_connection
from copydesk.store.retention import UndoneStep, delete_undone, find_undone
from store_fixtures import NOW, add_draft, add_item, add_user


class History:
    """A draft with one value, and its events as `apply_update` links them. One event a day."""

    def __init__(self) -> None:
        self.events: list[UndoneStep] = []
        self.undo_rids: dict[int, int | None] = {}
        self.redo_rids: dict[int, int | None] = {}
        self.values: dict[int, tuple[int, int]] = {}
        """Event -> the values before and after it."""
        self.value = 0
        self.undo: int | None = None
        self.redo: int | None = None

    def change(self) -> None:
        rid = self._add(EventKind.CHANGE, None, after=len(self.events) + 1)
        self.undo, self.redo = rid, None

    def post(self) -> None:
        self._add(EventKind.PERMANENT, None, after=self.value)
        self.undo = self.redo = None

    def fail(self) -> None:
        """Add a failed regeneration, which can be undone as the changes before it."""
        self.change()
        undo = self.undo
        self.post()
        self.undo = undo

    def undo_change(self) -> None:
        of_rid = self.undo
        assert of_rid is not None
        rid = self._add(EventKind.UNDO, of_rid, after=self.values[of_rid][0])
        self.undo, self.redo = self.undo_rids[of_rid], rid

    def redo_change(self) -> None:
        of_rid = self.redo
        assert of_rid is not None
        below = self.redo_rids[of_rid]
        rid = self._add(EventKind.REDO, of_rid, after=self.values[of_rid][0])
        self.undo, self.redo = rid, below

    def _add(self, kind: EventKind, of_rid: int | None, *, after: int) -> int:
        rid = len(self.values) + 1
        self.events.append(UndoneStep(rid, rid, kind.value, of_rid, is_needed=False))
        self.undo_rids[rid], self.redo_rids[rid] = self.undo, self.redo
        self.values[rid], self.value = (self.value, after), after
        return rid

    def prune(self, before: int) -> list[int]:
        removed = find_undone(self.events, before)
        self.events = [event for event in self.events if event.rid not in removed]
        if self.redo in removed:
            self.redo = None
        return removed

    def assert_consistent(self) -> None:
        """Assert that every event follows from the one before, and that what it refers to is there."""
        rids, value = {event.rid for event in self.events}, 0
        for event in self.events:
            before, after = self.values[event.rid]
            assert before == value
            value = after
            assert event.of_rid is None or event.of_rid in rids
        assert value == self.value
        assert {self.undo, self.redo} <= {None, *rids}
        assert self.redo == next(reversed(self._redo_stack()), None)

    def _redo_stack(self) -> list[int]:
        """Return what can be redone according to the events, oldest first."""
        stack: list[int] = []
        for event in self.events:
            if event.kind == EventKind.UNDO.value:
                stack.append(event.rid)
            elif event.kind == EventKind.REDO.value:
                assert stack.pop() == event.of_rid
            else:
                stack.clear()
        return stack


def test_undone_change_goes_with_its_undo() -> None:
    history = History()
    history.change()
    history.change()
    history.undo_change()
    history.change()

    assert history.prune(before=3) == []
    assert history.prune(before=4) == [2, 3]


def test_change_stays_with_what_failed_after_it() -> None:
    history = History()
    history.fail()
    history.undo_change()
    history.change()

    assert history.prune(before=9) == []
    history.assert_consistent()


def test_what_can_be_redone_stays_while_the_draft_is_changed() -> None:
    history = History()
    for _ in range(3):
        history.change()
    for _ in range(2):
        history.undo_change()
    history.redo_change()

    assert history.prune(before=6) == []
    history.redo_change()
    history.assert_consistent()


def test_old_redo_stack_is_dropped() -> None:
    history = History()
    history.change()
    history.undo_change()

    assert history.prune(before=9) == [1, 2]
    assert history.redo is None


def test_redo_of_old_failed_regeneration_stays() -> None:
    history = History()
    history.change()
    history.undo_change()
    history.fail()
    history.undo_change()

    assert history.prune(before=9) == [1, 2]
    history.assert_consistent()
    history.redo_change()
    history.assert_consistent()


def test_redo_stack_stays_whole() -> None:
    history = History()
    history.fail()
    history.change()
    for _ in range(2):
        history.undo_change()

    assert history.prune(before=9) == []
    for _ in range(2):
        history.redo_change()
    history.assert_consistent()


def test_redo_of_failed_regeneration_stays_after_it_was_redone() -> None:
    history = History()
    history.fail()
    history.undo_change()
    history.redo_change()
    history.undo_change()

    assert history.prune(before=9) == []
    history.assert_consistent()


def test_events_of_interrupted_bulk_stay() -> None:
    history = History()
    history.change()
    history.undo_change()
    history.events = [UndoneStep(1, 1, "change", None, is_needed=True), history.events[1]]

    assert history.prune(before=9) == []


def test_rest_of_any_history_is_consistent_and_can_be_undone() -> None:
    dice = random.Random(1)
    removed = 0
    for _ in range(300):
        history = History()
        for _ in range(dice.randrange(20)):
            actions = [history.change, history.change, history.fail]
            actions += [history.undo_change] * 4 * (history.undo is not None)
            actions += [history.redo_change] * 3 * (history.redo is not None)
            actions += [history.post] * (dice.random() < 0.05)
            dice.choice(actions)()
            if dice.random() < 0.1:
                removed += len(history.prune(dice.randrange(len(history.values) + 2)))
                history.assert_consistent()
        while history.redo is not None:
            history.redo_change()
        while history.undo is not None:
            history.undo_change()
        history.assert_consistent()
    assert removed > 100


@pytest.mark.sqlite("plans of SQLite")
async def test_pruning_of_history_names_the_user_in_each_query(store: Database) -> None:
    statements: list[str] = []

    def prune(conn: Connection) -> tuple[str, list[str]]:
        user = add_user(conn)
        draft = {"draft_id": add_draft(conn, user, add_item(conn, user, None)), "user_id": user}
        event = draft | {"at": NOW, "who": "Ada", "action": "edit"}
        change = event | {"rid": 1, "version": 2, "kind": EventKind.CHANGE, "of_rid": None}
        undo = event | {"rid": 2, "version": 3, "kind": EventKind.UNDO, "of_rid": 1}
        conn.execute(insert(tables.draft_event), [change, undo])
        conn.execute(update(tables.draft).values(redo_rid=2))
        driver = dbapi_connection(conn)
        driver.set_trace_callback(statements.append)
        assert delete_undone(conn, user, [1], NOW + timedelta(days=1)) == 2
        driver.set_trace_callback(None)
        # Triggers are traced as comments.
        statements[:] = [statement for statement in statements if not statement.startswith("--")]
        return user, [row[3] for query in statements for row in driver.execute(f"EXPLAIN QUERY PLAN {query}")]

    user, plan = await store.write(prune)
    assert len(statements) == 5
    assert all(f"user_id = '{user}'" in statement for statement in statements)
    # A history is found by its draft, not among all events of the user.
    assert not any(step.startswith("SCAN") or "user_id" in step or "B-TREE" in step for step in plan)
