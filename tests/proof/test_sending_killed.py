"""Tests that each post is published exactly once when the sender is killed (SIGKILL) at any point.

A clean run lists the boundaries; then the sender is killed at each boundary, at each pair of them, and at random times.
The next sender continues, with the clock advanced whenever nothing is due. Assertions are on what the server holds, and
that its ids are in the database.
"""

import random
from statistics import median

import pytest

from sampling import EXHAUSTIVE
from send_cases import CaseRunner, SendResult
from send_targets import SendTarget
from store_fixtures import postgresql_server

FAKE_SERVERS = ("fake with keys", "fake without keys")
SERVERS = (*FAKE_SERVERS, "mastodon with keys", "mastodon without keys", "pds")
PARTS = (1, 3)
STEP_BOUNDARIES = {
    "fake": (("record start", "confirm start", "send", "record delivery made"), 1),
    "mastodon": (("record start", "confirm start", "POST statuses", "record delivery made"), 1),
    "pds": (
        (
            "record start",
            "confirm start",
            *("POST refreshSession", "save secrets", "POST applyWrites"),
            "record delivery made",
        ),
        3,
    ),
}
"""Per server: the boundaries of one posting request, and the most posts of a thread that it creates."""
MIN_PAIRS = {1: 120, 3: 430}
"""Per number of posts; each server has at least as many pairs."""
RANDOM_KILLS = 100 if EXHAUSTIVE else 2
SAMPLE_PAIRS = 2
CASES = (
    [(name, parts) for name in SERVERS for parts in PARTS]
    if EXHAUSTIVE
    else [("fake with keys", 1), *((name, 3) for name in SERVERS[1:])]
)
"""A thread passes all boundaries of a single post; without time for both it stands for both."""
SAMPLE_BOUNDARIES = 8
MAX_THREAD_PAIRS = 120
"""Pairs tested for a thread on a real server or PostgreSQL, of several hundred: each takes a second."""


def expected_boundaries(server_name: str, parts: int) -> list[str]:
    """Return the boundaries that a clean run passes."""
    step, max_posts = STEP_BOUNDARIES[server_name.partition(" ")[0]]
    steps = -(-parts // max_posts)
    names = ["evaluate and save", "dispatch", "start marks", "acquire lease", *step * steps, "release lease"]
    return [f"{when} {name}" for name in names for when in ("before", "after")]


async def run_clean(desks: CaseRunner, server: SendTarget, parts: int) -> SendResult:
    """Run a case without killing; return its result."""
    result = await desks.run_to_end(await desks.create_case(server, parts))
    assert (result.problems, result.kill_count) == ((), 0)
    return result


@pytest.mark.parametrize(("name", "parts"), CASES)
async def test_kill_at_any_boundary_posts_once(desks, servers, name, parts):
    server = await servers.get(name)
    passed = (await run_clean(desks, server, parts)).crash_points
    assert passed == expected_boundaries(name, parts)
    errors = {}
    positions = list(enumerate(passed, 1))
    for position, boundary in positions if EXHAUSTIVE else random.Random(name).sample(positions, SAMPLE_BOUNDARIES):
        result = await desks.run_to_end(await desks.create_case(server, parts), kills=[position])
        assert (result.kill_count, result.runs[0].crash_points[-1]) == (1, boundary)
        if result.problems:
            errors[boundary] = result.problems
    assert errors == {}


@pytest.mark.parametrize(("name", "parts"), CASES)
async def test_kill_at_any_two_boundaries_posts_once(desks, servers, name, parts):
    server = await servers.get(name)
    rng = random.Random(f"{name} {parts}")
    firsts = range(1, len(expected_boundaries(name, parts)) + 1)
    pairs: list[tuple[int, int]] = []
    for first in firsts if EXHAUSTIVE else rng.sample(firsts, 2):
        # If nothing is left to do after the first kill, there is no second one.
        first_run = await desks.run_to_end(await desks.create_case(server, parts), kills=[first])
        pairs += [(first, second) for second in range(1, first_run.count_after_kill + 1)]
    if EXHAUSTIVE:
        assert len(pairs) >= MIN_PAIRS[parts if name != "pds" else 1]
    is_slow = parts > 1 and (name not in FAKE_SERVERS or postgresql_server() is not None)
    limit = SAMPLE_PAIRS if not EXHAUSTIVE else MAX_THREAD_PAIRS if is_slow else len(pairs)
    errors, count = {}, 0
    for pair in rng.sample(pairs, min(limit, len(pairs))):
        result = await desks.run_to_end(await desks.create_case(server, parts), kills=pair)
        assert result.kill_count == 2, (pair, result.runs)
        count += 1
        if result.problems:
            errors[pair] = result.problems
    assert (errors, count) == ({}, min(limit, len(pairs)))


@pytest.mark.parametrize(("name", "parts"), CASES)
async def test_kill_at_random_times_posts_once(desks, servers, name, parts):
    """Two kills each, anywhere from the start to a little after the end."""
    server = await servers.get(name)
    duration = median([(await run_clean(desks, server, parts)).runs[0].seconds for _ in range(3 if EXHAUSTIVE else 1)])
    rng = random.Random(f"{name} {parts}")
    errors, killed = {}, 0
    for number in range(RANDOM_KILLS):
        kill_times = [duration * (number + rng.random()) / RANDOM_KILLS * 1.1, duration * rng.random() * 1.1]
        result = await desks.run_to_end(await desks.create_case(server, parts), kill_after=kill_times)
        killed += result.kill_count > 0
        if not result.kill_count:  # the machine is faster now, and the sender ended before the first kill
            duration = result.runs[0].seconds
        if result.problems:
            errors[tuple(kill_times)] = result.problems
    assert errors == {}
    assert killed >= RANDOM_KILLS / 2
