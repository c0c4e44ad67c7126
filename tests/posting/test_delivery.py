"""What may follow what on the way of a draft to an account, and that nothing is made twice, whatever happens."""

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


def test_a_planned_one_is_sent_and_its_answer_ends_it():
    assert next_move(Delivery(), SEEN, NOW) is Move.SEND
    done = made_step(under_way(), ONE)
    assert (done.state, done.made, done.partial) == (State.SENT, (ONE,), False)
    assert next_move(done, SEEN, NOW + HOUR) is Move.WAIT


def test_a_thread_goes_on_at_its_first_missing_post():
    begun = made_step(under_way(Delivery(steps=3)), ONE)
    assert (begun.state, begun.made, begun.partial) == (State.PLANNED, (ONE,), True)
    assert next_move(begun, SEEN, NOW) is Move.SEND
    assert made_step(under_way(made_step(under_way(begun), TWO)), ONE).state is State.SENT


def test_what_a_thread_went_through_with_one_post_is_not_held_against_the_next():
    tried = not_sent(under_way(Delivery(steps=2)), "Refused.", NOW, jitter=0)
    begun = made_step(under_way(tried, NOW + HOUR), ONE)
    assert (begun.attempts, begun.first_sent_at, begun.error) == (0, None, "")


def test_what_is_refused_is_not_sent_again():
    no = refused(under_way(), "It is too long.")
    assert (no.state, no.error) == (State.FAILED, "It is too long.")
    assert next_move(no, KEYED, NOW + HOUR) is Move.WAIT


def test_what_certainly_made_nothing_is_sent_again_later():
    tried = not_sent(under_way(), "No connection.", NOW, jitter=0.5)
    assert (tried.state, tried.attempts, tried.not_before) == (State.PLANNED, 1, NOW + 30 * SECOND)
    assert next_move(tried, SEEN, NOW + 29 * SECOND) is Move.WAIT
    assert next_move(tried, SEEN, NOW + 30 * SECOND) is Move.SEND


def test_the_platform_says_when_it_wants_to_be_asked_again():
    tried = not_sent(under_way(), "Too many posts.", NOW, jitter=0, retry_after=NOW + HOUR)
    assert tried.not_before == NOW + HOUR


def test_the_waits_grow_and_differ():
    waits = []
    for jitter in (0.0, 1.0):
        tried, now = Delivery(), NOW
        for _ in range(MOST_ATTEMPTS - 1):
            tried = not_sent(under_way(tried, now), "No.", now, jitter=jitter)
            waits.append((tried.not_before - now).total_seconds())
            now = tried.not_before
    assert waits == [22.5, 90, 360, 1350, 37.5, 150, 600, 2250]


def test_after_five_attempts_it_is_given_up():
    tried = Delivery()
    for number in range(MOST_ATTEMPTS):
        assert tried.state is State.PLANNED, number
        tried = not_sent(under_way(tried), "No connection.", NOW, jitter=0)
    assert (tried.state, tried.attempts, tried.not_before) == (State.ABANDONED, MOST_ATTEMPTS, None)


@pytest.mark.parametrize("ended", [broken_off, lambda delivery: lost(delivery, "No answer came.")])
def test_a_lost_answer_is_looked_for_and_not_asked_for_again(ended):
    unknown = ended(under_way())
    assert (unknown.state, unknown.doubt) == (State.UNKNOWN, True)
    assert next_move(unknown, SEEN, NOW) is Move.LOOK


def test_what_is_found_ends_it_and_says_how_it_is_known():
    found = made_step(lost(under_way(), "No answer came."), Made(ids=("1",), urls=(), evidence=Evidence.READ_BACK))
    assert (found.state, found.error, found.made[0].evidence) == (State.SENT, "", Evidence.READ_BACK)


def test_where_our_keys_count_for_ever_absent_is_absent_at_once():
    gone = absent(lost(under_way(), "No answer came."), KEYED, NOW + SECOND, jitter=0)
    assert gone.state is State.PLANNED
    assert next_move(gone, KEYED, gone.not_before) is Move.SEND


def test_elsewhere_absent_counts_after_a_quiet_time_and_twice():
    unknown = lost(under_way(), "No answer came.")
    early = absent(unknown, SEEN, NOW + 2 * SECOND, jitter=0)
    assert (early.state, early.not_before, early.absent_at) == (State.UNKNOWN, NOW + SEEN.quiet, None)
    once = absent(early, SEEN, NOW + SEEN.quiet, jitter=0)
    assert (once.state, once.not_before) == (State.UNKNOWN, NOW + SEEN.quiet + BETWEEN_LOOKS)
    assert absent(once, SEEN, NOW + SEEN.quiet + SECOND, jitter=0).state is State.UNKNOWN
    assert absent(once, SEEN, NOW + SEEN.quiet + BETWEEN_LOOKS, jitter=0).state is State.PLANNED


def looked_for_in_vain(unknown: Delivery, trust: Trust) -> Delivery:
    now = (unknown.last_sent_at or NOW) + trust.quiet
    while unknown.state is State.UNKNOWN:
        unknown = absent(unknown, trust, now, jitter=0)
        now += BETWEEN_LOOKS
    return unknown


def test_where_it_cannot_be_told_apart_from_a_late_arrival_for_ever_the_user_is_asked():
    delivery, now = Delivery(), NOW
    for _ in range(MOST_RESENDS + 1):
        assert delivery.state is State.PLANNED
        delivery, now = looked_for_in_vain(lost(under_way(delivery, now), "No answer came."), SEEN), now + HOUR
    assert delivery.state is State.NEEDS_USER
    assert next_move(delivery, SEEN, now + HOUR) is Move.WAIT


def test_where_nobody_can_look_the_user_is_asked_at_once():
    unknown = lost(under_way(), "No answer came.")
    assert next_move(unknown, BLIND, NOW) is Move.LOOK
    assert not_found_out(unknown, BLIND, "LinkedIn shows nobody their posts.", NOW, jitter=0).state is State.NEEDS_USER


def test_a_server_that_knows_the_key_is_simply_asked_again_as_long_as_it_knows_it():
    unknown = lost(under_way(), "No answer came.")
    assert next_move(unknown, TIMED, NOW + 49 * MINUTE) is Move.SEND
    assert next_move(unknown, TIMED, NOW + 50 * MINUTE) is Move.LOOK
    assert next_move(unknown, TIMED, NOW - MINUTE) is Move.LOOK  # the clock went back: for how long is not known


def test_the_time_of_a_key_counts_from_the_first_request():
    again = lost(under_way(lost(under_way(), "No answer."), NOW + 40 * MINUTE), "No answer.")
    assert next_move(again, TIMED, NOW + 51 * MINUTE) is Move.LOOK


def test_an_attempt_that_made_nothing_says_nothing_of_a_lost_one_before_it():
    unknown = lost(under_way(), "No answer came.")
    again = not_sent(under_way(unknown, NOW + MINUTE), "No connection.", NOW + MINUTE, jitter=0)
    assert (again.state, again.doubt) == (State.UNKNOWN, True)


def test_nor_does_a_refusal():
    unknown = lost(under_way(), "No answer came.")
    no = refused(under_way(unknown, NOW + MINUTE), "The token has run out.")
    assert no.state is State.UNKNOWN
    assert next_move(no, TIMED, NOW + MINUTE) is Move.LOOK
    ended = looked_for_in_vain(no, TIMED)
    assert (ended.state, ended.error) == (State.FAILED, "The token has run out.")


def test_when_nobody_could_look_it_is_tried_again_and_in_the_end_the_user_is_asked():
    unknown, now = lost(under_way(), "No answer came."), NOW
    for _ in range(MOST_LOOKS - 1):
        unknown = not_found_out(unknown, SEEN, "No connection.", now, jitter=0)
        assert unknown.state is State.UNKNOWN
        assert unknown.not_before > now
        now = unknown.not_before
    assert not_found_out(unknown, SEEN, "No connection.", now, jitter=0).state is State.NEEDS_USER


def test_the_user_who_looked_may_say_that_it_is_there_or_is_not():
    unknown = lost(under_way(made_step(under_way(Delivery(steps=2)), ONE)), "No answer came.")
    there = marked_as_posted(unknown, "https://social.example/2")
    assert (there.state, there.made[0], there.made[1].evidence) == (State.SENT, ONE, Evidence.USER)
    again = sent_again(unknown)
    assert (again.state, again.made, again.doubt) == (State.PLANNED, (ONE,), False)
    assert given_up(unknown).state is State.ABANDONED


class Server:
    """A server that makes what reaches it, sometimes later, and knows keys for some time, for ever or not at all."""

    def __init__(self, trust: Trust) -> None:
        self.trust = trust
        self.made: list[tuple[datetime, datetime]] = []
        """When the request was sent and when it arrived, of what is there."""
        self.coming: list[tuple[datetime, datetime]] = []

    def take(self, sent: datetime, arrives: datetime) -> None:
        self.coming.append((sent, arrives))

    def at(self, now: datetime) -> bool:
        """Whether it is there."""
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
def test_whatever_happens_it_is_made_once_and_told_as_it_is(trust, course):
    server, delivery, now = Server(trust), Delivery(), NOW
    for happens, look, late, jitter in course:
        move = next_move(delivery, trust, now)
        if move is Move.SEND:
            delivery = sent_now(delivery, now)
            delivery = outcome(server, delivery, happens, now, late, jitter)
        elif move is Move.LOOK and (look == "cannot" or not trust.can_look):
            delivery = not_found_out(delivery, trust, "Nobody could look.", now, jitter=jitter)
        elif move is Move.LOOK:
            seen = server.at(now)
            delivery = made_step(delivery, ONE) if seen else absent(delivery, trust, now, jitter=jitter)
        now = max(now + SECOND, delivery.not_before or now)
    there = server.at(now + HOUR)
    assert len(server.made) <= 1
    assert there or delivery.state is not State.SENT
    # A key that counts for ever needs no quiet time: a late arrival can still end what was given up as not made.
    if delivery.state in ENDED - {State.SENT} and trust is not KEYED:
        assert not there


def outcome(server, delivery, happens, now, late, jitter):
    """What becomes of a request."""
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
