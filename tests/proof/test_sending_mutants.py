"""That the proof of sending sees what is done wrongly: each wrong variant makes a post twice, or loses one.

The right one goes through the same and does not.
"""

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
    # Its keys keep a PDS from making it twice; but that it is there is never found out.
    ("no read-back", PDS, "after", "told as"),
    *[("done before sent", name, "before", "lost") for name in (FAKE, KEYLESS_FAKE, MASTODON, KEYLESS, PDS)],
]
LATE = [("no quiet period", name, "2 times") for name in (KEYLESS_FAKE, KEYLESS)]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize(("wrong", "name", "when", "seen"), KILLED)
async def test_what_is_done_wrongly_is_seen_after_a_kill(desks, places, wrong, name, when, seen, parts):
    place = await places.at(name)
    boundary = f"{when} {REQUEST[name.partition(' ')[0]]}"
    right = await desks.to_the_end(await desks.case(place, parts), kill_on=boundary)
    assert (right.wrong, right.kills) == ((), 1)
    story = await desks.to_the_end(await desks.case(place, parts), kill_on=boundary, wrong=wrong)
    assert story.kills == 1
    assert any(each.startswith(seen) for each in story.wrong), story.wrong


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize(("wrong", "name", "seen"), LATE)
async def test_what_is_done_wrongly_is_seen_when_a_request_arrives_late(desks, places, wrong, name, seen, parts):
    real = not name.startswith("fake")
    found = []
    for how in ("", wrong):
        if real:
            place, proxy = await places.behind(name, POSTING)
            proxy.faults.append(Cut.LATE)
        else:
            place = await places.at(name)
        case = await desks.case(place, parts)
        found.append(await desks.to_the_end(case, wrong=how, faults=() if real else ("late",)))
    right, story = found
    assert right.wrong == ()
    assert any(each.startswith(seen) for each in story.wrong), story.wrong


def test_every_wrong_variant_is_tried():
    assert {case[0] for case in (*KILLED, *LATE)} == set(MUTANTS)
