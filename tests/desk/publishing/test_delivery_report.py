"""Tests for the descriptions of deliveries: each situation has its sentence, and none promises what is not done."""

from datetime import UTC, timedelta
from itertools import product

import pytest
from msgspec.structs import replace

from copydesk.desk.publishing.delivery_report import SENTENCES, DeliveryContext, describe, get_situation
from copydesk.model.delivery import (
    Delivery,
    DeliverySituation,
    DeliveryState,
    Evidence,
    GiveUpReason,
    NextBy,
    StepResult,
)
from copydesk.model.draft import Format
from copydesk.posting.delivery_states import NextAction, next_action
from copydesk.posting.platform import DeliveryGuarantees
from copydesk.store.deliveries import DeliveryRow
from desk_fixtures import NOW

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
LATER, EXPIRES = NOW + MINUTE, NOW + 30 * MINUTE
RUNS = "`copydesk daemon`, or a console that may post, is running"
NO_LOOKUP = DeliveryGuarantees(can_read_back=False)
WITH_KEYS = DeliveryGuarantees(idempotency_window=HOUR, can_read_back=False)
CHECK_PROFILE = "Check your profile, then run: copydesk delivery posted 1, or copydesk delivery resend 1"
S = DeliveryState


def at(minutes: int) -> str:
    return f"{(NOW + minutes * MINUTE).astimezone():%-d %b %H:%M:%S %Z}"


def make_row(progress: Delivery, *, account_id: str | None = "a", gone: bool = False) -> DeliveryRow:
    return DeliveryRow(
        id="1",
        draft_id="d",
        account_id=account_id,
        identity=None,
        platform="fake",
        account="me",
        format=Format.SHORT,
        version=0,
        due_at=NOW,
        seed="",
        anyway=False,
        digest="",
        created_at=NOW,
        sent_at=None,
        gone_at=NOW if gone else None,
        progress=progress,
        intent=None,
    )


def make_context(**values: object) -> DeliveryContext:
    return DeliveryContext(**{"now": NOW, "zone": UTC, "platform": "Fake", "short_id": "1", **values})


def made(evidence: Evidence) -> Delivery:
    result = StepResult(ids=("9",), urls=("https://fake.example/9",), evidence=evidence)
    return Delivery(state=S.SENT, results=(result,))


LOST = Delivery(state=S.UNKNOWN, doubt=True, attempts=1, first_sent_at=NOW, last_sent_at=NOW, error="No response.")
ASKED = replace(LOST, state=S.NEEDS_USER)
ENDED = Delivery(state=S.ABANDONED, attempts=5, error="No connection.")
RETRIED = Delivery(attempts=1, first_sent_at=NOW, not_before=LATER, error="No connection.")

ROWS = [
    (
        "waiting",
        make_row(Delivery()),
        make_context(expires_at=EXPIRES),
        f"Waiting to be sent. It is sent as soon as {RUNS}; after {at(30)} it is given up.",
    ),
    (
        "retry",
        make_row(RETRIED),
        make_context(expires_at=EXPIRES),
        f"No connection. Next attempt at {at(1)} while {RUNS}; after {at(30)} it is given up.",
    ),
    # The time of the attempt passed while nothing ran.
    ("retry", make_row(RETRIED), make_context(now=LATER), f"No connection. Next attempt as soon as {RUNS}."),
    (
        "resend",
        make_row(replace(RETRIED, doubt=True)),
        make_context(),
        f"No connection. It was not found on the account. It is sent again at {at(1)} while {RUNS}.",
    ),
    (
        "too_late",
        make_row(Delivery(error="No login.")),
        make_context(now=NOW + HOUR, expires_at=EXPIRES),
        f"No login. It is too late to send it: it was due at {at(0)}. It is given up as soon as {RUNS}.",
    ),
    (
        "needs_login",
        make_row(Delivery(error="Revoked.")),
        make_context(login_error="Revoked. Sign in.", expires_at=EXPIRES),
        f"Revoked. Sign in. It is sent once you sign in; after {at(30)} it is given up.",
    ),
    (
        "paused",
        make_row(RETRIED),
        make_context(clock_in_doubt=True, expires_at=EXPIRES),
        (
            "No connection. Posting is paused: the clock jumped. "
            "Correct the clock, or accept it: copydesk schedule clock --accept"
        ),
    ),
    (
        "disconnected",
        make_row(RETRIED, account_id=None),
        make_context(),
        (
            "No connection. The account was disconnected. Connect it again and post the draft, or run: "
            "copydesk delivery discard 1"
        ),
    ),
    ("sending", make_row(Delivery(state=S.SENDING, last_sent_at=NOW)), make_context(), "Sending."),
    (
        "interrupted",
        make_row(Delivery(state=S.SENDING, last_sent_at=NOW)),
        make_context(now=NOW + HOUR),
        (
            "Unknown whether it was posted. Copydesk was stopped while sending. "
            f"Fake is checked as soon as {RUNS}; where that is not possible, you are asked."
        ),
    ),
    (
        "check",
        make_row(replace(LOST, not_before=LATER)),
        make_context(),
        f"Unknown whether it was posted. No response. The account is checked at {at(1)} while {RUNS}.",
    ),
    (
        "check",
        make_row(replace(LOST, absent_at=NOW)),
        make_context(),
        (
            f"Unknown whether it was posted. No response. Not found on the account at {at(0)}. "
            f"The account is checked as soon as {RUNS}."
        ),
    ),
    (
        "repeat",
        make_row(LOST),
        make_context(guarantees=WITH_KEYS),
        (
            "Unknown whether it was posted. No response. "
            f"The request is repeated as soon as {RUNS}; Fake recognizes it and does not post twice."
        ),
    ),
    (
        "unknown_needs_login",
        make_row(LOST),
        make_context(login_error="Revoked."),
        "Unknown whether it was posted. Revoked. The account is checked once you sign in.",
    ),
    (
        "unknown_paused",
        make_row(LOST),
        make_context(clock_in_doubt=True),
        (
            "Unknown whether it was posted. No response. Posting is paused: the clock jumped. "
            "Correct the clock, or accept it: copydesk schedule clock --accept"
        ),
    ),
    (
        "unknown_disconnected",
        make_row(LOST, account_id=None),
        make_context(),
        (
            "Unknown whether it was posted. No response. The account was disconnected. "
            "Check your profile, then run: copydesk delivery posted 1, or copydesk delivery discard 1"
        ),
    ),
    (
        "cannot_check",
        make_row(ASKED),
        make_context(guarantees=NO_LOOKUP),
        f"Unknown whether it was posted. No response. Copydesk cannot check Fake. {CHECK_PROFILE}",
    ),
    (
        "cannot_check",
        make_row(LOST),
        make_context(guarantees=NO_LOOKUP),
        (
            "Unknown whether it was posted. No response. Copydesk cannot check Fake. "
            "Check your profile, then run: copydesk delivery posted 1, or copydesk delivery discard 1"
        ),
    ),
    (
        "inconclusive",
        make_row(replace(ASKED, failed_lookups=12)),
        make_context(),
        (
            "Unknown whether it was posted. No response. "
            f"The account was checked 12 times without a clear result. {CHECK_PROFILE}"
        ),
    ),
    (
        "resent_in_vain",
        make_row(replace(ASKED, attempts=3, absent_at=NOW)),
        make_context(),
        (
            "Unknown whether it was posted. No response. 3 requests got no response. "
            f"Not found on the account at {at(0)}. {CHECK_PROFILE}"
        ),
    ),
    ("posted", make_row(made(Evidence.ANSWERED)), make_context(), "Posted: https://fake.example/9"),
    (
        "posted",
        make_row(made(Evidence.ANSWERED), gone=True),
        make_context(),
        f"Posted: https://fake.example/9 No longer online as of {at(0)}.",
    ),
    # After a cut connection, a kill, or a restored database: all that is known is that it is there.
    (
        "found",
        make_row(made(Evidence.READ_BACK)),
        make_context(),
        "Posted (found on the account): https://fake.example/9",
    ),
    (
        "confirmed_by_user",
        make_row(Delivery(state=S.SENT, results=(StepResult(ids=(), urls=(), evidence=Evidence.USER),))),
        make_context(),
        "Posted (confirmed by you).",
    ),
    (
        "rejected",
        make_row(Delivery(state=S.FAILED, error="Too long.")),
        make_context(),
        "Not posted: Too long. Correct the cause, then post the draft again.",
    ),
    (
        "rejected_in_doubt",
        make_row(Delivery(state=S.FAILED, error="Too long.", doubt=True)),
        make_context(),
        "Rejected, and not found on the account: Too long. An earlier request may have arrived late. " + CHECK_PROFILE,
    ),
    (
        "dropped",
        make_row(replace(ENDED, given_up=GiveUpReason.USER)),
        make_context(),
        "Given up by you. No connection.",
    ),
    (
        "dropped_in_doubt",
        make_row(replace(ENDED, given_up=GiveUpReason.USER, doubt=True, error="It is unknown.")),
        make_context(),
        f"Given up by you. It is unknown. {CHECK_PROFILE}",
    ),
    (
        "given_up",
        make_row(replace(ENDED, given_up=GiveUpReason.TOO_LATE, error="Missed.")),
        make_context(),
        "Given up: Missed. Post or schedule the draft again.",
    ),
    (
        "given_up_after_attempts",
        make_row(replace(ENDED, given_up=GiveUpReason.ATTEMPTS)),
        make_context(),
        "Given up after 5 attempts: No connection. Post or schedule the draft again.",
    ),
    (
        "given_up_in_doubt",
        make_row(replace(ENDED, given_up=GiveUpReason.ATTEMPTS, doubt=True)),
        make_context(),
        f"Given up after 5 attempts: No connection. It is unknown whether it was posted. {CHECK_PROFILE}",
    ),
]


@pytest.mark.parametrize(("situation", "row", "context", "text"), ROWS)
def test_sentence(situation: str, row: DeliveryRow, context: DeliveryContext, text: str) -> None:
    assert (get_situation(row, context), describe(row, context)) == (situation, text)


def test_every_situation_has_a_sentence_and_a_test() -> None:
    assert SENTENCES.keys() == set(DeliverySituation) == {situation for situation, *_ in ROWS}


def test_partly_posted_thread_says_so() -> None:
    row = make_row(replace(RETRIED, results=(StepResult(ids=("1",), urls=("u",)),)))
    assert describe(row, make_context()).startswith("Some posts are online. No connection.")


def test_no_sentence_promises_what_is_not_done() -> None:
    """Compare who acts next, by the sentence, with what the scheduler and the sender would do."""
    deliveries = (
        replace(base, not_before=not_before, doubt=doubt, recheck=recheck)
        for base, not_before, doubt, recheck in product(
            (Delivery(), RETRIED, LOST, ASKED, ENDED, replace(ENDED, state=S.FAILED)),
            (None, LATER, NOW + 2 * HOUR),
            (False, True),
            (False, True),
        )
    )
    contexts = [
        make_context(login_error=login_error, clock_in_doubt=paused, expires_at=expires_at, guarantees=guarantees)
        for login_error, paused, expires_at, guarantees in product(
            ("", "Revoked."),
            (False, True),
            (None, EXPIRES, NOW - MINUTE),
            (DeliveryGuarantees(), NO_LOOKUP, WITH_KEYS),
        )
    ]
    for progress, context, account_id in product(deliveries, contexts, ("a", None)):
        situation = get_situation(make_row(progress, account_id=account_id), context)
        next_at = max(NOW, progress.not_before or NOW)
        action = next_action(progress, context.guarantees, next_at)
        is_late = progress.state is S.PLANNED and context.expires_at is not None and next_at > context.expires_at
        is_blocked = account_id is None or context.clock_in_doubt or (bool(context.login_error) and not is_late)
        is_in_vain = progress.state is S.UNKNOWN and action is NextAction.FIND and not context.guarantees.can_read_back
        will_act = action is not NextAction.WAIT and not is_blocked and not is_in_vain
        assert (SENTENCES[situation].next_by is NextBy.COPYDESK) is will_act, (situation, progress, context)
        if will_act:
            assert (situation is DeliverySituation.TOO_LATE) is is_late
