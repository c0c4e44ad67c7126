"""kill -9 at any moment of sending: the server holds each post once, each thread whole and in order.

A clean run lists the boundaries; then somebody is killed at each, at each pair of them, and at random moments. Whoever
comes next goes on, with the clock moved whenever there is nothing to do before. What counts is what the server holds,
and that its ids are in the database.
"""

import random
from statistics import median

import pytest

from proof_desk import PROVE
from sending_places import Place
from sending_runs import Desks, Story

FAKES = ("fake with keys", "fake without keys")
PLACES = (*FAKES, "mastodon with keys", "mastodon without keys", "pds")
PARTS = (1, 3)
STEP = {
    "fake": (("begin", "send", "keep made"), 1),
    "mastodon": (("begin", "POST statuses", "keep made"), 1),
    "pds": (("begin", "POST refreshSession", "keep secrets", "POST applyWrites", "keep made"), 3),
}
"""What is done for each request that makes something, and how many posts of a thread that makes at most."""
LEAST_PAIRS = {1: 120, 3: 430}
"""By the posts of a draft; each server has as many pairs, or more."""
RANDOM = 100 if PROVE else 2
SAMPLE = 2
CASES = [(name, parts) for name in PLACES for parts in PARTS if PROVE or parts > 1 or name in FAKES]
"""A thread passes all boundaries that a single post does; without time for both it stands for both."""
THREADS = 120
"""Pairs of a thread that are killed on a real server, of several hundred: each takes a second."""


def boundaries(place: str, parts: int) -> list[str]:
    """What a clean run passes."""
    step, most = STEP[place.partition(" ")[0]]
    steps = -(-parts // most)
    once = ["look again", "pick up", "claim", *step * steps, "release"]
    return [f"{when} {name}" for name in once for when in ("before", "after")]


async def clean(desks: Desks, place: Place, parts: int) -> Story:
    """A run that nobody kills."""
    story = await desks.to_the_end(await desks.case(place, parts))
    assert (story.wrong, story.kills) == ((), 0)
    return story


@pytest.mark.parametrize(("name", "parts"), CASES)
async def test_killed_at_any_boundary_it_is_there_once(desks, places, name, parts):
    place = await places.at(name)
    passed = (await clean(desks, place, parts)).passed
    assert passed == boundaries(name, parts)
    wrong = {}
    for at, boundary in enumerate(passed, 1):
        story = await desks.to_the_end(await desks.case(place, parts), kills=[at])
        assert (story.kills, story.runs[0].passed[-1]) == (1, boundary)
        if story.wrong:
            wrong[boundary] = story.wrong
    assert wrong == {}


@pytest.mark.parametrize(("name", "parts"), CASES)
async def test_killed_at_any_two_boundaries_it_is_there_once(desks, places, name, parts):
    place = await places.at(name)
    rng = random.Random(f"{name} {parts}")
    firsts = range(1, len(boundaries(name, parts)) + 1)
    pairs: list[tuple[int, int]] = []
    for first in firsts if PROVE else rng.sample(firsts, 2):
        # Where nothing was left to do after it there is no second one.
        once = await desks.to_the_end(await desks.case(place, parts), kills=[first])
        pairs += [(first, second) for second in range(1, once.after_kill + 1)]
    if PROVE:
        assert len(pairs) >= LEAST_PAIRS[parts if name != "pds" else 1]
    most = SAMPLE if not PROVE else THREADS if parts > 1 and name not in FAKES else len(pairs)
    wrong, done = {}, 0
    for pair in rng.sample(pairs, min(most, len(pairs))):
        story = await desks.to_the_end(await desks.case(place, parts), kills=pair)
        assert story.kills == 2, (pair, story.runs)
        done += 1
        if story.wrong:
            wrong[pair] = story.wrong
    assert (wrong, done) == ({}, min(most, len(pairs)))


@pytest.mark.parametrize(("name", "parts"), CASES)
async def test_killed_at_random_moments_it_is_there_once(desks, places, name, parts):
    """Twice each, anywhere from the beginning to a little after the end."""
    place = await places.at(name)
    whole = median([(await clean(desks, place, parts)).runs[0].took for _ in range(3 if PROVE else 1)])
    rng = random.Random(f"{name} {parts}")
    wrong, killed = {}, 0
    for number in range(RANDOM):
        moments = [whole * (number + rng.random()) / RANDOM * 1.1, whole * rng.random() * 1.1]
        story = await desks.to_the_end(await desks.case(place, parts), kill_after=moments)
        killed += story.kills > 0
        if story.wrong:
            wrong[tuple(moments)] = story.wrong
    assert wrong == {}
    assert killed >= RANDOM / 2
