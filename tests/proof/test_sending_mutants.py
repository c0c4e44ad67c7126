"""Tests that the proofs detect faulty senders: each mutant posts twice or loses a post."""

import pytest

from fault_proxy import Cut
from sampling import EXHAUSTIVE
from sender_mutants import MUTANTS

PARTS = (1, 3) if EXHAUSTIVE else (1,)
FAKE, KEYLESS_FAKE = "fake with keys", "fake without keys"
MASTODON, KEYLESS, PDS = "mastodon with keys", "mastodon without keys", "pds"
POSTING_REQUEST = {"fake": "send", "mastodon": "POST statuses", "pds": "POST applyWrites"}
POST_STATUS = "POST /api/v1/statuses"
KILL_CASES = [
    *[("new keys", name, "after", "2 times") for name in (FAKE, KEYLESS_FAKE, MASTODON, PDS)],
    *[("no read-back", name, "after", "2 times") for name in (KEYLESS_FAKE, KEYLESS)],
    # The PDS's keys prevent a second post, but this mutant never finds the first.
    ("no read-back", PDS, "after", "told as"),
    *[("done before sent", name, "before", "lost") for name in (FAKE, KEYLESS_FAKE, MASTODON, KEYLESS, PDS)],
]
LATE_CASES = [("no quiet period", name, "2 times") for name in (KEYLESS_FAKE, KEYLESS)]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize(("mutant", "name", "side", "expected"), KILL_CASES)
async def test_mutant_is_detected_after_kill(desks, servers, mutant, name, side, expected, parts):
    server = await servers.get(name)
    boundary = f"{side} {POSTING_REQUEST[name.partition(' ')[0]]}"
    control = await desks.run_to_end(await desks.create_case(server, parts), kill_on=boundary)
    assert (control.problems, control.kill_count) == ((), 1)
    result = await desks.run_to_end(await desks.create_case(server, parts), kill_on=boundary, wrong=mutant)
    assert result.kill_count == 1
    assert any(error.startswith(expected) for error in result.problems), result.problems


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize(("mutant", "name", "expected"), LATE_CASES)
async def test_mutant_is_detected_with_late_request(desks, servers, mutant, name, expected, parts):
    real = not name.startswith("fake")
    results = []
    for variant in ("", mutant):
        if real:
            server, proxy = await servers.behind_proxy(name, POST_STATUS)
            proxy.faults.append(Cut.LATE)
        else:
            server = await servers.get(name)
        case = await desks.create_case(server, parts)
        results.append(await desks.run_to_end(case, wrong=variant, faults=() if real else ("late",)))
    control, result = results
    assert control.problems == ()
    assert any(error.startswith(expected) for error in result.problems), result.problems


def test_all_mutants_are_tested():
    assert {case[0] for case in (*KILL_CASES, *LATE_CASES)} == set(MUTANTS)
