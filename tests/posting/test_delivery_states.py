"""Tests for delivery state transitions, and that nothing is posted twice whatever fails."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.model.delivery import FINAL_STATES, Delivery, DeliveryState
from copydesk.posting.delivery_states import (
    LOOKUP_INTERVAL,
    MAX_ATTEMPTS,
    MAX_FAILED_LOOKUPS,
    MAX_RESENDS,
    NextAction,
    abandoned,
    confirmed_by_user,
    interrupted,
    is_final_lookup,
    lookup_failed,
    needs_recheck,
    next_action,
    not_found,
    outcome_unknown,
    recheck_required,
    rejected,
    restart_delivery,
    retry_later,
    send_started,
    step_succeeded,
)
from copydesk.posting.platform import (
    DeliveryGuarantees,
    DeliveryStep,
    Evidence,
    Intent,
    LookupUnsupportedError,
    StepResult,
)

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
IDEMPOTENT, IDEMPOTENT_FOR_50_MINUTES, READABLE, UNREADABLE = (
    DeliveryGuarantees(idempotent=True),
    DeliveryGuarantees(idempotency_window=50 * MINUTE),
    DeliveryGuarantees(),
    DeliveryGuarantees(can_read_back=False),
)
ONE, TWO = StepResult(ids=("1",), urls=("https://social.example/1",)), StepResult(ids=("2",), urls=())


def sending(delivery: Delivery = Delivery(), at: datetime = NOW) -> Delivery:  # noqa: B008 - frozen
    return send_started(delivery, at)


def test_planned_delivery_is_sent_and_finished():
    assert next_action(Delivery(), READABLE, NOW) is NextAction.SEND
    sent = step_succeeded(sending(), ONE)
    assert (sent.state, sent.results, sent.partial) == (DeliveryState.SENT, (ONE,), False)
    assert next_action(sent, READABLE, NOW + HOUR) is NextAction.WAIT


def test_first_attempt_is_no_retry():
    first = sending()
    assert first.retries == 0
    assert sending(retry_later(first, "Busy.", NOW, jitter=0)).retries == 1


def test_thread_continues_at_first_missing_post():
    progressed = step_succeeded(sending(Delivery(steps=3)), ONE)
    assert (progressed.state, progressed.results, progressed.partial) == (DeliveryState.PLANNED, (ONE,), True)
    assert next_action(progressed, READABLE, NOW) is NextAction.SEND
    assert step_succeeded(sending(step_succeeded(sending(progressed), TWO)), ONE).state is DeliveryState.SENT


def test_attempts_are_reset_after_a_post():
    retried = retry_later(sending(Delivery(steps=2)), "Refused.", NOW, jitter=0)
    progressed = step_succeeded(sending(retried, NOW + HOUR), ONE)
    assert (progressed.attempts, progressed.first_sent_at, progressed.error) == (0, None, "")


def test_refused_delivery_is_not_resent():
    failed = rejected(sending(), "It is too long.")
    assert (failed.state, failed.error) == (DeliveryState.FAILED, "It is too long.")
    assert next_action(failed, IDEMPOTENT, NOW + HOUR) is NextAction.WAIT


def test_delivery_is_retried_after_certain_failure():
    retried = retry_later(sending(), "No connection.", NOW, jitter=0.5)
    assert (retried.state, retried.attempts, retried.not_before) == (DeliveryState.PLANNED, 1, NOW + 30 * SECOND)
    assert next_action(retried, READABLE, NOW + 29 * SECOND) is NextAction.WAIT
    assert next_action(retried, READABLE, NOW + 30 * SECOND) is NextAction.SEND


def test_retry_after_is_respected():
    retried = retry_later(sending(), "Too many posts.", NOW, jitter=0, retry_after=NOW + HOUR)
    assert retried.not_before == NOW + HOUR


def test_backoff_grows_with_jitter():
    waits = []
    for jitter in (0.0, 1.0):
        retried, now = Delivery(), NOW
        for _ in range(MAX_ATTEMPTS - 1):
            retried = retry_later(sending(retried, now), "No.", now, jitter=jitter)
            waits.append((retried.not_before - now).total_seconds())
            now = retried.not_before
    assert waits == [22.5, 90, 360, 1350, 37.5, 150, 600, 2250]


def test_delivery_is_abandoned_after_max_attempts():
    retried = Delivery()
    for number in range(MAX_ATTEMPTS):
        assert retried.state is DeliveryState.PLANNED, number
        retried = retry_later(sending(retried), "No connection.", NOW, jitter=0)
    assert (retried.state, retried.attempts, retried.not_before) == (DeliveryState.ABANDONED, MAX_ATTEMPTS, None)


@pytest.mark.parametrize("interrupt", [interrupted, lambda delivery: outcome_unknown(delivery, "No answer came.")])
def test_lost_response_starts_lookup_not_resend(interrupt):
    unknown = interrupt(sending())
    assert (unknown.state, unknown.doubt) == (DeliveryState.UNKNOWN, True)
    assert next_action(unknown, READABLE, NOW) is NextAction.FIND


def test_found_post_finishes_with_evidence():
    found = step_succeeded(
        outcome_unknown(sending(), "No answer came."), StepResult(ids=("1",), urls=(), evidence=Evidence.READ_BACK)
    )
    assert (found.state, found.error, found.results[0].evidence) == (DeliveryState.SENT, "", Evidence.READ_BACK)


def test_absent_is_final_with_idempotency_keys():
    absent_once = not_found(outcome_unknown(sending(), "No answer came."), IDEMPOTENT, NOW + SECOND, jitter=0)
    assert absent_once.state is DeliveryState.PLANNED
    assert next_action(absent_once, IDEMPOTENT, absent_once.not_before) is NextAction.SEND


def test_absent_needs_settle_time_and_two_lookups():
    unknown = outcome_unknown(sending(), "No answer came.")
    early = not_found(unknown, READABLE, NOW + 2 * SECOND, jitter=0)
    assert (early.state, early.not_before, early.absent_at) == (DeliveryState.UNKNOWN, NOW + READABLE.settle_time, None)
    absent_once = not_found(early, READABLE, NOW + READABLE.settle_time, jitter=0)
    assert (absent_once.state, absent_once.not_before) == (
        DeliveryState.UNKNOWN,
        NOW + READABLE.settle_time + LOOKUP_INTERVAL,
    )
    assert (
        not_found(absent_once, READABLE, NOW + READABLE.settle_time + SECOND, jitter=0).state is DeliveryState.UNKNOWN
    )
    assert (
        not_found(absent_once, READABLE, NOW + READABLE.settle_time + LOOKUP_INTERVAL, jitter=0).state
        is DeliveryState.PLANNED
    )


def search_until_settled(unknown: Delivery, trust: DeliveryGuarantees) -> Delivery:
    now = (unknown.last_sent_at or NOW) + trust.settle_time
    while unknown.state is DeliveryState.UNKNOWN:
        unknown = not_found(unknown, trust, now, jitter=0)
        now += LOOKUP_INTERVAL
    return unknown


def test_repeated_losses_need_user():
    delivery, now = Delivery(), NOW
    for _ in range(MAX_RESENDS + 1):
        assert delivery.state is DeliveryState.PLANNED
        delivery, now = (
            search_until_settled(outcome_unknown(sending(delivery, now), "No answer came."), READABLE),
            now + HOUR,
        )
    assert delivery.state is DeliveryState.NEEDS_USER
    assert next_action(delivery, READABLE, now + HOUR) is NextAction.WAIT


def test_unreadable_platform_needs_user_at_once():
    unknown = outcome_unknown(sending(), "No answer came.")
    assert next_action(unknown, UNREADABLE, NOW) is NextAction.FIND
    assert (
        lookup_failed(unknown, UNREADABLE, "LinkedIn shows nobody their posts.", NOW, jitter=0).state
        is DeliveryState.NEEDS_USER
    )


def test_idempotent_platform_resends_within_window():
    unknown = outcome_unknown(sending(), "No answer came.")
    assert next_action(unknown, IDEMPOTENT_FOR_50_MINUTES, NOW + 49 * MINUTE) is NextAction.SEND
    assert next_action(unknown, IDEMPOTENT_FOR_50_MINUTES, NOW + 50 * MINUTE) is NextAction.FIND
    assert (
        next_action(unknown, IDEMPOTENT_FOR_50_MINUTES, NOW - MINUTE) is NextAction.FIND
    )  # the clock went back, so the key's age is unknown


def test_idempotency_window_starts_at_first_request():
    resent = outcome_unknown(sending(outcome_unknown(sending(), "No answer."), NOW + 40 * MINUTE), "No answer.")
    assert next_action(resent, IDEMPOTENT_FOR_50_MINUTES, NOW + 51 * MINUTE) is NextAction.FIND


def test_last_lost_request_is_not_given_up_while_it_may_arrive():
    last = outcome_unknown(sending(Delivery(attempts=MAX_ATTEMPTS - 1, doubt=True)), "No answer came.", NOW)
    waiting = not_found(last, IDEMPOTENT, NOW, jitter=0)
    assert (waiting.state, waiting.not_before) == (DeliveryState.UNKNOWN, NOW + IDEMPOTENT.settle_time)
    assert search_until_settled(last, IDEMPOTENT).state is DeliveryState.ABANDONED


def test_failed_retry_does_not_settle_earlier_loss():
    unknown = outcome_unknown(sending(), "No answer came.")
    retried = retry_later(sending(unknown, NOW + MINUTE), "No connection.", NOW + MINUTE, jitter=0)
    assert (retried.state, retried.doubt) == (DeliveryState.UNKNOWN, True)


def test_refused_retry_does_not_settle_earlier_loss():
    unknown = outcome_unknown(sending(), "No answer came.")
    refused_retry = rejected(sending(unknown, NOW + MINUTE), "The token has run out.")
    assert refused_retry.state is DeliveryState.UNKNOWN
    assert next_action(refused_retry, IDEMPOTENT_FOR_50_MINUTES, NOW + MINUTE) is NextAction.FIND
    settled = search_until_settled(refused_retry, IDEMPOTENT_FOR_50_MINUTES)
    assert (settled.state, settled.error) == (DeliveryState.FAILED, "The token has run out.")


def test_failed_lookups_are_retried_then_need_user():
    unknown, now = outcome_unknown(sending(), "No answer came."), NOW
    for _ in range(MAX_FAILED_LOOKUPS - 1):
        unknown = lookup_failed(unknown, READABLE, "No connection.", now, jitter=0)
        assert unknown.state is DeliveryState.UNKNOWN
        assert unknown.not_before > now
        now = unknown.not_before
    assert lookup_failed(unknown, READABLE, "No connection.", now, jitter=0).state is DeliveryState.NEEDS_USER


def test_missing_list_is_final_when_the_lookup_before_found_none_either():
    unknown, no_list = outcome_unknown(sending(), "No answer came."), LookupUnsupportedError("No list.")
    assert not is_final_lookup(unknown, no_list, "No list.")
    # An earlier lookup does not count if it failed for another reason, or if another one succeeded since.
    unreachable = lookup_failed(unknown, READABLE, "No connection.", NOW, jitter=0)
    assert not is_final_lookup(unreachable, no_list, "No list.")
    without_list = lookup_failed(unreachable, READABLE, "No list.", NOW, jitter=0)
    assert is_final_lookup(without_list, no_list, "No list.")
    absent = not_found(without_list, READABLE, NOW + MINUTE, jitter=0)
    assert not is_final_lookup(absent, no_list, "No list.")


def test_user_may_confirm_or_deny_unknown_post():
    unknown = outcome_unknown(sending(step_succeeded(sending(Delivery(steps=2)), ONE)), "No answer came.")
    confirmed = confirmed_by_user(unknown, "https://social.example/2")
    assert (confirmed.state, confirmed.results[0], confirmed.results[1].evidence) == (
        DeliveryState.SENT,
        ONE,
        Evidence.USER,
    )
    resent = restart_delivery(unknown)
    assert (resent.state, resent.results, resent.doubt) == (DeliveryState.PLANNED, (ONE,), False)
    assert abandoned(unknown).state is DeliveryState.ABANDONED


def rechecked(delivery: Delivery = Delivery(), steps: int = 1) -> Delivery:  # noqa: B008 - frozen
    return recheck_required(delivery, "Restored.", NOW - HOUR, NOW, steps=steps)


def test_only_deliveries_of_the_lost_time_are_rechecked():
    assert needs_recheck(Delivery(), NOW, NOW)
    assert not needs_recheck(Delivery(), NOW + HOUR, NOW)
    assert needs_recheck(Delivery(checked_at=NOW - MINUTE), NOW - HOUR, NOW)
    assert not needs_recheck(Delivery(checked_at=NOW), NOW - HOUR, NOW)


def test_rechecked_delivery_is_not_sent_by_its_key():
    assert next_action(rechecked(), IDEMPOTENT_FOR_50_MINUTES, NOW) is NextAction.FIND


def test_recheck_looks_for_each_step_until_one_is_missing():
    second = step_succeeded(rechecked(steps=3), ONE)
    assert (second.results, next_action(second, READABLE, NOW)) == ((ONE,), NextAction.FIND)
    first_lookup = not_found(second, READABLE, NOW + HOUR, jitter=0.5)
    assert next_action(first_lookup, READABLE, NOW + HOUR) is NextAction.WAIT
    clear = not_found(first_lookup, READABLE, NOW + HOUR + LOOKUP_INTERVAL, jitter=0.5)
    assert clear == Delivery(steps=3, results=(ONE,), checked_at=NOW + HOUR + LOOKUP_INTERVAL)
    assert step_succeeded(sending(clear), TWO).checked_at == clear.checked_at


def test_recheck_waits_for_requests_that_may_still_arrive():
    assert not_found(rechecked(), READABLE, NOW, jitter=0.5).not_before == NOW + READABLE.settle_time


def test_recheck_keeps_what_is_known_of_earlier_requests():
    earlier = retry_later(sending(at=NOW - 2 * HOUR), "Busy.", NOW, jitter=0)
    delivery = rechecked(earlier)
    assert (delivery.first_sent_at, delivery.last_sent_at, delivery.attempts) == (NOW - 2 * HOUR, NOW, 1)
    clear = not_found(delivery, IDEMPOTENT, NOW + HOUR, jitter=0.5)
    assert (clear.state, clear.attempts, clear.recheck) == (DeliveryState.PLANNED, 1, False)


def test_inconclusive_recheck_needs_user_at_once():
    held = lookup_failed(rechecked(), READABLE, "Not told.", NOW, jitter=0.5, is_final=True)
    assert (held.state, held.error) == (DeliveryState.NEEDS_USER, "Not told.")


def test_restart_keeps_published_steps():
    create, publish = DeliveryStep(keys=("a",), body={}, hidden=True), DeliveryStep(keys=("b",), body={})
    intent = Intent(steps=(create, publish, create, publish), at=NOW)
    interrupted_thread = Delivery(steps=4, results=(ONE, TWO, ONE))
    assert restart_delivery(interrupted_thread, intent).results == (ONE, TWO)


class Server:
    """A server that creates a post per arriving request, possibly late, honouring keys for a time, forever or never."""

    def __init__(self, trust: DeliveryGuarantees) -> None:
        self.trust = trust
        self.created: list[tuple[datetime, datetime]] = []
        """(sent, arrived) times of the requests that created a post."""
        self.pending: list[tuple[datetime, datetime]] = []

    def take(self, sent: datetime, arrives: datetime) -> None:
        self.pending.append((sent, arrives))

    def exists_at(self, now: datetime) -> bool:
        """Process the requests that have arrived by `now`; return whether the post exists."""
        for request in sorted(self.pending, key=lambda request: request[1]):
            if request[1] <= now:
                self.pending.remove(request)
                if not (
                    self.created
                    and (self.trust.idempotent or request[1] < self.created[0][1] + self.trust.idempotency_window)
                ):
                    self.created.append(request)
        return bool(self.created)


request_outcomes = st.sampled_from(["answered", "lost", "lost", "late", "not sent", "refused", "cut", "killed"])
lookup_outcomes = st.sampled_from(["sees", "sees", "sees", "cannot"])


@given(
    trust=st.sampled_from([IDEMPOTENT, IDEMPOTENT_FOR_50_MINUTES, READABLE, UNREADABLE]),
    steps=st.lists(
        st.tuples(request_outcomes, lookup_outcomes, st.integers(0, 80), st.floats(0, 1)), min_size=40, max_size=40
    ),
)
def test_post_is_created_at_most_once_under_faults(trust, steps):
    server, delivery, now = Server(trust), Delivery(), NOW
    for event, lookup, delay, jitter in steps:
        move = next_action(delivery, trust, now)
        if move is NextAction.SEND:
            delivery = send_started(delivery, now)
            delivery = request_outcome(server, delivery, event, now, delay, jitter)
        elif move is NextAction.FIND and (lookup == "cannot" or not trust.can_read_back):
            delivery = lookup_failed(delivery, trust, "Nobody could look.", now, jitter=jitter)
        elif move is NextAction.FIND:
            exists = server.exists_at(now)
            delivery = step_succeeded(delivery, ONE) if exists else not_found(delivery, trust, now, jitter=jitter)
        now = max(now + SECOND, delivery.not_before or now)
    exists_later = server.exists_at(now + HOUR)
    assert len(server.created) <= 1
    assert exists_later or delivery.state is not DeliveryState.SENT
    if delivery.state in FINAL_STATES - {DeliveryState.SENT}:
        assert not exists_later


def request_outcome(server, delivery, event, now, delay, jitter):
    """Return the delivery after a request with this outcome."""
    if event == "not sent":
        return retry_later(delivery, "No connection.", now, jitter=jitter)
    if event == "refused":
        return rejected(delivery, "The token has run out.")
    if event == "cut":
        return outcome_unknown(delivery, "The connection broke.")
    server.take(now, now + delay * SECOND if event == "late" else now)
    server.exists_at(now)
    if event == "answered":
        return step_succeeded(delivery, ONE)
    return interrupted(delivery) if event == "killed" else outcome_unknown(delivery, "No answer came.")
