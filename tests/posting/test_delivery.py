"""Tests for delivery state transitions, and that nothing is posted twice whatever fails."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.delivery import ENDED, Delivery, State
from copydesk.posting.delivery import (
    BETWEEN_LOOKS,
    MOST_ATTEMPTS,
    MOST_LOOKS,
    MOST_RESENDS,
    Move,
    absent,
    broken_off,
    given_up,
    lost,
    made_step,
    marked_as_posted,
    next_move,
    not_found_out,
    not_sent,
    refused,
    sent_again,
    sent_now,
)
from copydesk.posting.platform import Evidence, Made, Trust

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
KEYED, TIMED, SEEN, BLIND = Trust(keyed=True), Trust(repeat_within=50 * MINUTE), Trust(), Trust(can_look=False)
ONE, TWO = Made(ids=("1",), urls=("https://social.example/1",)), Made(ids=("2",), urls=())


def under_way(delivery: Delivery = Delivery(), at: datetime = NOW) -> Delivery:  # noqa: B008 - frozen
    return sent_now(delivery, at)


def test_planned_delivery_is_sent_and_finished():
    assert next_move(Delivery(), SEEN, NOW) is Move.SEND
    sent = made_step(under_way(), ONE)
    assert (sent.state, sent.made, sent.partial) == (State.SENT, (ONE,), False)
    assert next_move(sent, SEEN, NOW + HOUR) is Move.WAIT


def test_thread_continues_at_first_missing_post():
    progressed = made_step(under_way(Delivery(steps=3)), ONE)
    assert (progressed.state, progressed.made, progressed.partial) == (State.PLANNED, (ONE,), True)
    assert next_move(progressed, SEEN, NOW) is Move.SEND
    assert made_step(under_way(made_step(under_way(progressed), TWO)), ONE).state is State.SENT


def test_attempts_are_reset_after_a_post():
    retried = not_sent(under_way(Delivery(steps=2)), "Refused.", NOW, jitter=0)
    progressed = made_step(under_way(retried, NOW + HOUR), ONE)
    assert (progressed.attempts, progressed.first_sent_at, progressed.error) == (0, None, "")


def test_refused_delivery_is_not_resent():
    failed = refused(under_way(), "It is too long.")
    assert (failed.state, failed.error) == (State.FAILED, "It is too long.")
    assert next_move(failed, KEYED, NOW + HOUR) is Move.WAIT


def test_delivery_is_retried_after_certain_failure():
    retried = not_sent(under_way(), "No connection.", NOW, jitter=0.5)
    assert (retried.state, retried.attempts, retried.not_before) == (State.PLANNED, 1, NOW + 30 * SECOND)
    assert next_move(retried, SEEN, NOW + 29 * SECOND) is Move.WAIT
    assert next_move(retried, SEEN, NOW + 30 * SECOND) is Move.SEND


def test_retry_after_is_respected():
    retried = not_sent(under_way(), "Too many posts.", NOW, jitter=0, retry_after=NOW + HOUR)
    assert retried.not_before == NOW + HOUR


def test_backoff_grows_with_jitter():
    waits = []
    for jitter in (0.0, 1.0):
        retried, now = Delivery(), NOW
        for _ in range(MOST_ATTEMPTS - 1):
            retried = not_sent(under_way(retried, now), "No.", now, jitter=jitter)
            waits.append((retried.not_before - now).total_seconds())
            now = retried.not_before
    assert waits == [22.5, 90, 360, 1350, 37.5, 150, 600, 2250]


def test_delivery_is_abandoned_after_max_attempts():
    retried = Delivery()
    for number in range(MOST_ATTEMPTS):
        assert retried.state is State.PLANNED, number
        retried = not_sent(under_way(retried), "No connection.", NOW, jitter=0)
    assert (retried.state, retried.attempts, retried.not_before) == (State.ABANDONED, MOST_ATTEMPTS, None)


@pytest.mark.parametrize("ended", [broken_off, lambda delivery: lost(delivery, "No answer came.")])
def test_lost_response_starts_lookup_not_resend(ended):
    unknown = ended(under_way())
    assert (unknown.state, unknown.doubt) == (State.UNKNOWN, True)
    assert next_move(unknown, SEEN, NOW) is Move.LOOK


def test_found_post_finishes_with_evidence():
    found = made_step(lost(under_way(), "No answer came."), Made(ids=("1",), urls=(), evidence=Evidence.READ_BACK))
    assert (found.state, found.error, found.made[0].evidence) == (State.SENT, "", Evidence.READ_BACK)


def test_absent_is_final_with_idempotency_keys():
    absent_once = absent(lost(under_way(), "No answer came."), KEYED, NOW + SECOND, jitter=0)
    assert absent_once.state is State.PLANNED
    assert next_move(absent_once, KEYED, absent_once.not_before) is Move.SEND


def test_absent_needs_settle_time_and_two_lookups():
    unknown = lost(under_way(), "No answer came.")
    early = absent(unknown, SEEN, NOW + 2 * SECOND, jitter=0)
    assert (early.state, early.not_before, early.absent_at) == (State.UNKNOWN, NOW + SEEN.quiet, None)
    absent_once = absent(early, SEEN, NOW + SEEN.quiet, jitter=0)
    assert (absent_once.state, absent_once.not_before) == (State.UNKNOWN, NOW + SEEN.quiet + BETWEEN_LOOKS)
    assert absent(absent_once, SEEN, NOW + SEEN.quiet + SECOND, jitter=0).state is State.UNKNOWN
    assert absent(absent_once, SEEN, NOW + SEEN.quiet + BETWEEN_LOOKS, jitter=0).state is State.PLANNED


def looked_for_in_vain(unknown: Delivery, trust: Trust) -> Delivery:
    now = (unknown.last_sent_at or NOW) + trust.quiet
    while unknown.state is State.UNKNOWN:
        unknown = absent(unknown, trust, now, jitter=0)
        now += BETWEEN_LOOKS
    return unknown


def test_repeated_losses_need_user():
    delivery, now = Delivery(), NOW
    for _ in range(MOST_RESENDS + 1):
        assert delivery.state is State.PLANNED
        delivery, now = looked_for_in_vain(lost(under_way(delivery, now), "No answer came."), SEEN), now + HOUR
    assert delivery.state is State.NEEDS_USER
    assert next_move(delivery, SEEN, now + HOUR) is Move.WAIT


def test_unreadable_platform_needs_user_at_once():
    unknown = lost(under_way(), "No answer came.")
    assert next_move(unknown, BLIND, NOW) is Move.LOOK
    assert not_found_out(unknown, BLIND, "LinkedIn shows nobody their posts.", NOW, jitter=0).state is State.NEEDS_USER


def test_idempotent_platform_resends_within_window():
    unknown = lost(under_way(), "No answer came.")
    assert next_move(unknown, TIMED, NOW + 49 * MINUTE) is Move.SEND
    assert next_move(unknown, TIMED, NOW + 50 * MINUTE) is Move.LOOK
    assert next_move(unknown, TIMED, NOW - MINUTE) is Move.LOOK  # the clock went back, so the key's age is unknown


def test_idempotency_window_starts_at_first_request():
    resent = lost(under_way(lost(under_way(), "No answer."), NOW + 40 * MINUTE), "No answer.")
    assert next_move(resent, TIMED, NOW + 51 * MINUTE) is Move.LOOK


def test_failed_retry_does_not_settle_earlier_loss():
    unknown = lost(under_way(), "No answer came.")
    retried = not_sent(under_way(unknown, NOW + MINUTE), "No connection.", NOW + MINUTE, jitter=0)
    assert (retried.state, retried.doubt) == (State.UNKNOWN, True)


def test_refused_retry_does_not_settle_earlier_loss():
    unknown = lost(under_way(), "No answer came.")
    refused_retry = refused(under_way(unknown, NOW + MINUTE), "The token has run out.")
    assert refused_retry.state is State.UNKNOWN
    assert next_move(refused_retry, TIMED, NOW + MINUTE) is Move.LOOK
    settled = looked_for_in_vain(refused_retry, TIMED)
    assert (settled.state, settled.error) == (State.FAILED, "The token has run out.")


def test_failed_lookups_are_retried_then_need_user():
    unknown, now = lost(under_way(), "No answer came."), NOW
    for _ in range(MOST_LOOKS - 1):
        unknown = not_found_out(unknown, SEEN, "No connection.", now, jitter=0)
        assert unknown.state is State.UNKNOWN
        assert unknown.not_before > now
        now = unknown.not_before
    assert not_found_out(unknown, SEEN, "No connection.", now, jitter=0).state is State.NEEDS_USER


def test_user_may_confirm_or_deny_unknown_post():
    unknown = lost(under_way(made_step(under_way(Delivery(steps=2)), ONE)), "No answer came.")
    confirmed = marked_as_posted(unknown, "https://social.example/2")
    assert (confirmed.state, confirmed.made[0], confirmed.made[1].evidence) == (State.SENT, ONE, Evidence.USER)
    resent = sent_again(unknown)
    assert (resent.state, resent.made, resent.doubt) == (State.PLANNED, (ONE,), False)
    assert given_up(unknown).state is State.ABANDONED


class Server:
    """A server that creates a post per arriving request, possibly late, honouring keys for a time, forever or never."""

    def __init__(self, trust: Trust) -> None:
        self.trust = trust
        self.made: list[tuple[datetime, datetime]] = []
        """(sent, arrived) times of the requests that created a post."""
        self.coming: list[tuple[datetime, datetime]] = []

    def take(self, sent: datetime, arrives: datetime) -> None:
        self.coming.append((sent, arrives))

    def at(self, now: datetime) -> bool:
        """Process the requests that have arrived by `now`; return whether the post exists."""
        for request in sorted(self.coming, key=lambda request: request[1]):
            if request[1] <= now:
                self.coming.remove(request)
                if not (self.made and (self.trust.keyed or request[1] < self.made[0][1] + self.trust.repeat_within)):
                    self.made.append(request)
        return bool(self.made)


what_happens = st.sampled_from(["answered", "lost", "lost", "late", "not sent", "refused", "cut", "killed"])
looks = st.sampled_from(["sees", "sees", "sees", "cannot"])


@given(
    trust=st.sampled_from([KEYED, TIMED, SEEN, BLIND]),
    course=st.lists(st.tuples(what_happens, looks, st.integers(0, 80), st.floats(0, 1)), min_size=40, max_size=40),
)
def test_post_is_created_at_most_once_under_faults(trust, course):
    server, delivery, now = Server(trust), Delivery(), NOW
    for event, lookup, delay, jitter in course:
        move = next_move(delivery, trust, now)
        if move is Move.SEND:
            delivery = sent_now(delivery, now)
            delivery = outcome(server, delivery, event, now, delay, jitter)
        elif move is Move.LOOK and (lookup == "cannot" or not trust.can_look):
            delivery = not_found_out(delivery, trust, "Nobody could look.", now, jitter=jitter)
        elif move is Move.LOOK:
            exists = server.at(now)
            delivery = made_step(delivery, ONE) if exists else absent(delivery, trust, now, jitter=jitter)
        now = max(now + SECOND, delivery.not_before or now)
    exists_later = server.at(now + HOUR)
    assert len(server.made) <= 1
    assert exists_later or delivery.state is not State.SENT
    # A key that is valid forever needs no settle time: a late arrival can still complete a delivery recorded as not
    # made.
    if delivery.state in ENDED - {State.SENT} and trust is not KEYED:
        assert not exists_later


def outcome(server, delivery, happens, now, late, jitter):
    """Return the delivery after a request with this outcome."""
    if happens == "not sent":
        return not_sent(delivery, "No connection.", now, jitter=jitter)
    if happens == "refused":
        return refused(delivery, "The token has run out.")
    if happens == "cut":
        return lost(delivery, "The connection broke.")
    server.take(now, now + late * SECOND if happens == "late" else now)
    server.at(now)
    if happens == "answered":
        return made_step(delivery, ONE)
    return broken_off(delivery) if happens == "killed" else lost(delivery, "No answer came.")
