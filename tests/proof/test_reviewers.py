"""Tests that reviewers of one queue, two at consoles and one over HTTP, decide nothing twice and lose no text.

Each has connections of their own, as in processes of their own, and they act at the same time, at random.
"""

import asyncio
import random
from collections import Counter
from itertools import count

import pytest

from copydesk.errors import ConflictError
from desk_fixtures import Watch, open_desk_at, query_db
from draft_consistency import assert_consistent, insert_drafts, load_drafts, load_events
from http_service import run_service
from sampling import EXHAUSTIVE

DRAFTS = 1000 if EXHAUSTIVE else 30
STEPS = 5000 if EXHAUSTIVE else 150
"""Actions of each reviewer."""
DECISIONS = ("approve", "reject", "unapprove")


class RefusedError(Exception):
    """The request was refused because of the draft's state."""


class Desk:
    """A reviewer at a console."""

    def __init__(self, desk) -> None:
        self._drafts = desk.drafts

    async def change(self, draft_id, **fields):
        """Edit or decide; return the version that this made."""
        return (await self._drafts.change(draft_id, fields)).version

    async def start_edit(self, draft_id, take_over):
        return (await self._drafts.activity.start_edit(draft_id, take_over=take_over)).id

    async def type(self, draft_id, lease, text):
        await self._drafts.activity.renew_edit(draft_id, lease, text)

    async def comment(self, draft_id, text):
        await self._drafts.comments.add(draft_id, text)

    async def countersign(self, draft_id):
        await self._drafts.activity.countersign(draft_id)


class Client:
    """A reviewer whose program sends requests."""

    def __init__(self, client) -> None:
        self._client = client

    async def _send(self, method, path, body=None):
        response = await self._client.request(method, f"/drafts/{path}", json=body)
        if response.status_code == 409:
            raise RefusedError
        assert response.is_success, response.text
        return response.json()

    async def change(self, draft_id, **fields):
        return (await self._send("PATCH", draft_id, fields))["version"]

    async def start_edit(self, draft_id, take_over):
        return (await self._send("POST", f"{draft_id}/edit", {"takeOver": take_over}))["id"]

    async def type(self, draft_id, lease, text):
        await self._send("PUT", f"{draft_id}/edit", {"leaseId": lease, "text": text})

    async def comment(self, draft_id, text):
        await self._send("POST", f"{draft_id}/comments", {"text": text})

    async def countersign(self, draft_id):
        await self._send("POST", f"{draft_id}/approvals")


class Reviewer:
    """Acts at random, and remembers what was done and typed."""

    def __init__(self, name, actor, ids, seed) -> None:
        self.name = name
        self._actor = actor
        self._ids = ids
        self._rng = random.Random(seed)
        self._numbers = count()
        self._leases = {}
        self.typed = {}
        """The last text by draft and lease, unless it was saved."""
        self.changes = []
        """(draft, version, action or text)"""
        self.countersigned = []
        self.comments = []
        self.refusals = 0

    async def act(self):
        for _ in range(STEPS):
            draft_id = self._rng.choice(self._ids)
            try:
                await self._step(draft_id)
            except (ConflictError, RefusedError):
                self.refusals += 1

    async def _step(self, draft_id):
        choice = self._rng.random()
        if choice < 0.35:
            action = self._rng.choice(DECISIONS)
            self.changes.append((draft_id, await self._actor.change(draft_id, action=action), action))
        elif choice < 0.4:
            await self._actor.countersign(draft_id)
            self.countersigned.append(draft_id)
        elif choice < 0.45:
            text = self._new_text("says")
            await self._actor.comment(draft_id, text)
            self.comments.append((draft_id, self.name, text))
        elif draft_id not in self._leases or choice < 0.6:
            self._leases[draft_id] = await self._actor.start_edit(draft_id, self._rng.random() < 0.5)
        elif choice < 0.85:
            text = self._new_text("typed")
            # Before it is sent: it must not be lost even if it is refused.
            self.typed[draft_id, self._leases[draft_id]] = text
            await self._actor.type(draft_id, self._leases[draft_id], text)
        else:
            lease = self._leases[draft_id]
            text = self.typed.get((draft_id, lease)) or self._new_text("saved")
            self.changes.append((draft_id, await self._actor.change(draft_id, text=text), text))
            self.typed.pop((draft_id, lease), None)
            del self._leases[draft_id]

    def _new_text(self, what):
        return f"{self.name} {what} {next(self._numbers)}."


@pytest.mark.parametrize("seed", range(3) if EXHAUSTIVE else [0])
async def test_nothing_is_decided_twice_and_no_text_is_lost(tmp_path, seed):
    async with (
        open_desk_at(tmp_path, console__reviewer="anna") as anna,
        open_desk_at(tmp_path, console__reviewer="ben") as ben,
        run_service(tmp_path, clock=Watch()) as service,
    ):
        ids = await insert_drafts(anna, ["pending_review"] * DRAFTS)
        # The limit of requests per minute is not what this is about.
        minutes = count(step=60)
        service.service._monotonic = lambda: float(next(minutes))
        before = load_drafts(tmp_path)
        reviewers = [
            Reviewer("anna", Desk(anna), ids, seed),
            Reviewer("ben", Desk(ben), ids, seed + 100),
            Reviewer("test 0", Client(await service.client()), ids, seed + 200),
        ]
        await asyncio.gather(*(reviewer.act() for reviewer in reviewers))
    # Each change follows from the state before it, and is the only one of its version.
    assert_consistent(tmp_path, before)
    events = load_events(tmp_path)
    changes = [change for reviewer in reviewers for change in reviewer.changes]
    assert max(Counter((draft_id, version) for draft_id, version, _ in changes).values()) == 1
    for draft_id, version, what in changes:
        event = events[draft_id][version - 1]
        assert what in (event["action"], event["after"].get("text"))
    countersigned = Counter(draft_id for reviewer in reviewers for draft_id in reviewer.countersigned)
    assert countersigned == Counter(
        draft_id for draft_id, found in events.items() for event in found if event["action"] == "countersign"
    )
    assert len(changes) + countersigned.total() == sum(len(found) - 1 for found in events.values())
    assert min(reviewer.refusals for reviewer in reviewers) > 0
    assert_texts_kept(tmp_path, reviewers, events)
    stored = query_db(tmp_path, "SELECT draft_id, reviewer, text FROM draft_comment")
    assert sorted(stored) == sorted(comment for reviewer in reviewers for comment in reviewer.comments)
    assert_approvals_are_of_others(tmp_path)


def assert_texts_kept(home, reviewers, events):
    """Assert that each text that was typed is saved, kept after a takeover, or still being edited."""
    kept = {
        (draft_id, event["after"]["text"])
        for draft_id in events
        for event in events[draft_id]
        if "text" in event["after"]
    }
    for table in ("unsaved_edit", "draft_edit"):
        kept |= set(query_db(home, f"SELECT draft_id, text FROM {table}"))
    typed = {(draft_id, text) for reviewer in reviewers for (draft_id, _), text in reviewer.typed.items()}
    assert len(typed) > 10
    assert typed <= kept


def assert_approvals_are_of_others(home):
    """Assert that only approved drafts have approvals, at most one of each reviewer."""
    query = "SELECT DISTINCT status FROM draft JOIN draft_approval ON draft_id = draft.id"
    assert {status for (status,) in query_db(home, query)} <= {"approved"}
