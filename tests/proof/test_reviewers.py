"""Tests that reviewers of one queue, three at consoles and one over HTTP, decide nothing twice and lose no text.

They act at the same time, at random: two in this process, with connections of their own, one through the HTTP service,
and one in another process.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from itertools import count

import pytest

import reviewers as reviewers_script
from desk_fixtures import Watch, open_desk_at, query_db, settings_at
from draft_consistency import assert_consistent, insert_drafts, load_drafts, load_events
from http_service import run_service
from reviewers import Client, Desk, Reviewer
from sampling import EXHAUSTIVE

DRAFTS = 10_000 if EXHAUSTIVE else 30
STEPS = 5000 if EXHAUSTIVE else 150
"""Actions of each reviewer."""


async def start_elsewhere(home, reviewer, seed):
    """Start a process in which the reviewer acts; return a function that waits for what was done."""
    url = settings_at(home).database.url or ""
    command = (sys.executable, reviewers_script.__file__, str(home), url, reviewer.name, str(seed), str(STEPS))
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    process.stdin.write(json.dumps(reviewer.ids).encode() + b"\n")
    # Its desk is open: it acts while the others do.
    assert await process.stdout.readline() == b"ready\n"

    async def finish():
        output, _ = await process.communicate()
        assert process.returncode == 0
        reviewer.add_record(json.loads(output))

    return finish


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
        cleo = Reviewer("cleo", None, ids, 0)
        finish = await start_elsewhere(tmp_path, cleo, seed + 300)
        await asyncio.gather(finish(), *(reviewer.act(STEPS) for reviewer in reviewers))
        reviewers.append(cleo)
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
