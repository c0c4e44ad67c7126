"""Tests that the proofs detect faulty senders: each mutant posts twice or loses a post."""

import pytest

from cutting_proxy import Cut
from proof_desk import PROVE
from wrong_senders import MUTANTS

PARTS = (1, 3) if PROVE else (1,)
FAKE, KEYLESS_FAKE = "fake with keys", "fake without keys"
MASTODON, KEYLESS, PDS = "mastodon with keys", "mastodon without keys", "pds"
REQUEST = {"fake": "send", "mastodon": "POST statuses", "pds": "POST applyWrites"}
POSTING = "POST /api/v1/statuses"
KILLED = [
    *[("new keys", name, "after", "2 times") for name in (FAKE, KEYLESS_FAKE, MASTODON, PDS)],
    *[("no read-back", name, "after", "2 times") for name in (KEYLESS_FAKE, KEYLESS)],
    # The PDS's keys prevent a second post, but this mutant never finds the first.
    ("no read-back", PDS, "after", "told as"),
    *[("done before sent", name, "before", "lost") for name in (FAKE, KEYLESS_FAKE, MASTODON, KEYLESS, PDS)],
]
LATE = [("no quiet period", name, "2 times") for name in (KEYLESS_FAKE, KEYLESS)]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize(("wrong", "name", "when", "seen"), KILLED)
async def test_mutant_is_detected_after_kill(desks, places, wrong, name, when, seen, parts):
    server = await places.at(name)
    boundary = f"{when} {REQUEST[name.partition(' ')[0]]}"
    control = await desks.to_the_end(await desks.case(server, parts), kill_on=boundary)
    assert (control.wrong, control.kills) == ((), 1)
    result = await desks.to_the_end(await desks.case(server, parts), kill_on=boundary, wrong=wrong)
    assert result.kills == 1
    assert any(error.startswith(seen) for error in result.wrong), result.wrong


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize(("wrong", "name", "seen"), LATE)
async def test_mutant_is_detected_with_late_request(desks, places, wrong, name, seen, parts):
    real = not name.startswith("fake")
    results = []
    for variant in ("", wrong):
        if real:
            server, proxy = await places.behind(name, POSTING)
            proxy.faults.append(Cut.LATE)
        else:
            server = await places.at(name)
        case = await desks.case(server, parts)
        results.append(await desks.to_the_end(case, wrong=variant, faults=() if real else ("late",)))
    control, result = results
    assert control.wrong == ()
    assert any(error.startswith(seen) for error in result.wrong), result.wrong


def test_all_mutants_are_tested():
    assert {case[0] for case in (*KILLED, *LATE)} == set(MUTANTS)
