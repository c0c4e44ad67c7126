"""State transitions of a delivery, one draft on its way to one account. Pure functions: nothing is sent or stored here.

    planned --> sending --> sent                 every step succeeded
       ^          | | +---> planned              one step of several succeeded, or certainly nothing was created: retry
       |          | +-----> failed, abandoned    rejected; too many attempts
       |          v
       +------- unknown --> sent                 found on the account
                  +-------> needs_user           checked, and the outcome cannot be told

The sender stores `send_started` before the first byte leaves and the result of another transition afterwards. A
delivery found in SENDING was therefore interrupted, and its request may or may not have arrived. Nothing is sent again
while an earlier request may have created something, unless the platform recognizes the second request by its keys.

After the database was replaced by an older copy, a delivery may have been sent without a trace here. `recheck_required`
makes it UNKNOWN, and every step is looked for until one is certainly absent.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec.structs import replace

from copydesk.model.delivery import (
    FINAL_STATES,
    Delivery,
    DeliveryState,
    Evidence,
    GiveUpReason,
    Intent,
    StepResult,
)
from copydesk.posting.platform import DeliveryGuarantees, LookupUnsupportedError, UnknownOutcomeError

MAX_ATTEMPTS = 5
"""Failed requests for one step before it is abandoned."""
MAX_RESENDS = 2
"""Resends of one step after a lost request, where the platform does not recognize repeated keys."""
MAX_FAILED_LOOKUPS = 12
"""Consecutive failed lookups before the user is asked; with `BACKOFF` that takes about four hours."""
MAX_SETBACK = timedelta(minutes=5)
"""The wall clock may be set back by this much between the creation of a draft and its first request."""
LOOKUP_INTERVAL = timedelta(seconds=30)
"""Minimum interval between the two lookups that must both find the post absent."""
BACKOFF = tuple(timedelta(seconds=seconds) for seconds in (30, 120, 480, 1800))
"""Delay after each attempt; the last value repeats."""


class NextAction(StrEnum):
    """The next action for a delivery."""

    SEND = "send"
    FIND = "look"
    WAIT = "wait"


def step_guarantees(guarantees: DeliveryGuarantees, delivery: Delivery, intent: Intent | None) -> DeliveryGuarantees:
    """Return the guarantees of a platform for the first missing step.

    A hidden step (an upload, for example) may be repeated: nobody sees a duplicate, so it counts as idempotent, unless
    the public step after it may be done already. So may a public step that publishes what the hidden one created.
    """
    index = len(delivery.results)
    if intent is None or index >= len(intent.steps):
        return guarantees
    if intent.steps[index].hidden:
        repeatable = not delivery.recheck
    else:
        repeatable = guarantees.publishes_by_id and index > 0 and intent.steps[index - 1].hidden
    return replace(guarantees, idempotent=True) if repeatable else guarantees


def next_action(delivery: Delivery, guarantees: DeliveryGuarantees, now: datetime) -> NextAction:
    """Return the next action for a delivery that no other worker holds."""
    if delivery.state in FINAL_STATES or delivery.state is DeliveryState.NEEDS_USER:
        return NextAction.WAIT
    if delivery.not_before is not None and now < delivery.not_before:
        return NextAction.WAIT
    if delivery.recheck:
        return NextAction.FIND
    if delivery.state is DeliveryState.PLANNED:
        return NextAction.SEND
    return NextAction.SEND if can_resend(delivery, guarantees, now) else NextAction.FIND


def send_started(delivery: Delivery, now: datetime, *, steps: int | None = None) -> Delivery:
    """Return `delivery` in SENDING; the first byte may leave once this state is stored.

    `steps` is the number of steps, given when it is first known.
    """
    return replace(
        delivery,
        state=DeliveryState.SENDING,
        steps=steps or delivery.steps,
        first_sent_at=delivery.first_sent_at or now,
        last_sent_at=now,
        retries=delivery.retries + (1 if delivery.attempts else 0),
        # Only after a lost request: a retry after a clear failure cannot create a second post.
        resends=delivery.resends + (1 if delivery.doubt and delivery.state is DeliveryState.PLANNED else 0),
        absent_at=None,
        not_before=None,
    )


def interrupted(delivery: Delivery, now: datetime | None = None) -> Delivery:
    """Return `delivery` in UNKNOWN: it was found in SENDING at `now` and its sender is gone."""
    message = "Copydesk was stopped before a response arrived."
    last_sent_at = now or delivery.last_sent_at
    return replace(
        delivery,
        state=DeliveryState.UNKNOWN,
        doubt=True,
        attempts=delivery.attempts + 1,
        last_sent_at=last_sent_at,
        error=message,
    )


def needs_recheck(delivery: Delivery, created_at: datetime, sent_until: datetime) -> bool:
    """Return True if a delivery may have been sent without a trace in the database.

    Requests up to `sent_until` are missing in the database; the draft was created at `created_at`.
    """
    is_checked = delivery.checked_at is not None and delivery.checked_at >= sent_until
    return not is_checked and created_at <= sent_until + MAX_SETBACK


def recheck_required(
    delivery: Delivery, message: str, sent_since: datetime, sent_until: datetime, *, steps: int
) -> Delivery:
    """Return `delivery` in UNKNOWN: it may have been sent between the two times. `steps` is the number of steps."""
    return replace(
        delivery,
        state=DeliveryState.UNKNOWN,
        steps=steps,
        first_sent_at=min(sent_since, delivery.first_sent_at or sent_since),
        last_sent_at=max(sent_until, delivery.last_sent_at or sent_until),
        doubt=True,
        absent_at=None,
        failed_lookups=0,
        not_before=None,
        error=message,
        recheck=True,
    )


def step_succeeded(delivery: Delivery, result: StepResult) -> Delivery:
    """Record the result of a step: SENT after the last one, PLANNED before that."""
    results = (*delivery.results, result)
    complete = len(results) >= delivery.steps
    if delivery.recheck and not complete:
        # The next step may be online as well.
        return replace(delivery, results=results, absent_at=None, failed_lookups=0, not_before=None)
    state = DeliveryState.SENT if complete else DeliveryState.PLANNED
    # A fresh value: attempts, lookups and doubt all concerned the step that just succeeded.
    return Delivery(
        state=state, steps=delivery.steps, results=results, retries=delivery.retries, checked_at=delivery.checked_at
    )


def rejected(delivery: Delivery, message: str) -> Delivery:
    """Return `delivery` in FAILED: the platform rejects the post as it is.

    If an earlier request is in doubt, the rejection says nothing about that request: the state is UNKNOWN and the
    account is checked first.
    """
    if delivery.doubt:
        return replace(delivery, state=DeliveryState.UNKNOWN, refusal=message, error=message)
    return replace(delivery, state=DeliveryState.FAILED, error=message)


def retry_later(
    delivery: Delivery, message: str, now: datetime, *, jitter: float, retry_after: datetime | None = None
) -> Delivery:
    """Record a request that created nothing and schedule the next attempt.

    `jitter` is 0 to 1. `retry_after` is the earliest time the platform named. The last attempt gives ABANDONED.
    """
    attempted = replace(
        delivery,
        attempts=delivery.attempts + 1,
        not_before=_next_attempt_at(delivery.attempts, now, jitter, retry_after),
        error=message,
    )
    if delivery.doubt:
        return replace(attempted, state=DeliveryState.UNKNOWN)
    if attempted.attempts >= MAX_ATTEMPTS:
        return replace(attempted, state=DeliveryState.ABANDONED, not_before=None, given_up=GiveUpReason.ATTEMPTS)
    return replace(attempted, state=DeliveryState.PLANNED)


def login_required(delivery: Delivery, message: str) -> Delivery:
    """Return `delivery` back in PLANNED: nothing was posted, and nothing can be until the user signs in.

    Not counted as an attempt. If an earlier request may have succeeded, the state is UNKNOWN instead.
    """
    if delivery.doubt:
        return replace(delivery, state=DeliveryState.UNKNOWN, not_before=None, error=message)
    # Lookups search from the first request that may have created something; this one did not.
    first_sent_at = delivery.first_sent_at if delivery.attempts else None
    return replace(delivery, state=DeliveryState.PLANNED, first_sent_at=first_sent_at, not_before=None, error=message)


def outcome_unknown(delivery: Delivery, message: str, now: datetime | None = None) -> Delivery:
    """Return `delivery` in UNKNOWN: the request may have created something.

    The response did not arrive, which was noticed at `now`, or it did not tell the outcome.
    """
    # Check or resend at once after the first lost request; back off after each further one.
    delay = BACKOFF[min(delivery.attempts, len(BACKOFF)) - 1] if delivery.attempts else None
    unknown = interrupted(delivery, now)
    not_before = unknown.last_sent_at + delay if delay and unknown.last_sent_at else None
    return replace(unknown, not_before=not_before, error=message)


def not_found(delivery: Delivery, guarantees: DeliveryGuarantees, now: datetime, *, jitter: float) -> Delivery:
    """Record that a lookup did not find the post.

    `DeliveryGuarantees` says when that proves that nothing was created; until then another lookup is scheduled.
    """
    checked = replace(delivery, failed_lookups=0)
    # Without idempotent keys, resending is only safe after two separate lookups, both later than any request in
    # transit. So is giving up, with any keys: a late arrival would publish what is reported as not posted.
    if not guarantees.idempotent or delivery.refusal or delivery.attempts >= MAX_ATTEMPTS:
        settled_at = (delivery.last_sent_at or now) + guarantees.settle_time
        if now < settled_at:
            return replace(checked, not_before=settled_at)
        if delivery.absent_at is None or now < delivery.absent_at + LOOKUP_INTERVAL:
            first_absent_at = delivery.absent_at or now
            return replace(checked, absent_at=first_absent_at, not_before=first_absent_at + LOOKUP_INTERVAL)
    if delivery.recheck:
        checked = replace(checked, recheck=False, checked_at=now)
        if not delivery.attempts:
            # Nothing of this step was ever sent.
            return Delivery(steps=delivery.steps, results=delivery.results, retries=delivery.retries, checked_at=now)
    return _certainly_not_created(checked, guarantees, now, jitter)


def _certainly_not_created(
    delivery: Delivery, guarantees: DeliveryGuarantees, now: datetime, jitter: float
) -> Delivery:
    """Return the next state after a lost request that, as far as can be told, created nothing."""
    if delivery.refusal:
        return replace(delivery, state=DeliveryState.FAILED, error=delivery.refusal, doubt=False, not_before=None)
    if delivery.attempts >= MAX_ATTEMPTS:
        return replace(
            delivery, state=DeliveryState.ABANDONED, doubt=False, not_before=None, given_up=GiveUpReason.ATTEMPTS
        )
    if not guarantees.idempotent and delivery.resends >= MAX_RESENDS:
        return replace(delivery, state=DeliveryState.NEEDS_USER, not_before=None)
    return replace(
        delivery, state=DeliveryState.PLANNED, not_before=_next_attempt_at(delivery.attempts - 1, now, jitter, None)
    )


def lookup_failed(
    delivery: Delivery,
    guarantees: DeliveryGuarantees,
    message: str,
    now: datetime,
    *,
    jitter: float,
    retry_after: datetime | None = None,
    is_final: bool = False,
) -> Delivery:
    """Record a lookup that failed or gave no clear result.

    NEEDS_USER after too many of them, or if another one would not tell more (`is_final_lookup`).
    """
    # Counts consecutive failures: `not_found` resets it.
    failed_lookups = delivery.failed_lookups + 1
    attempted = replace(delivery, state=DeliveryState.UNKNOWN, failed_lookups=failed_lookups, error=message)
    # Where nothing can be read back, further lookups would fail as well.
    if is_final or not guarantees.can_read_back or failed_lookups >= MAX_FAILED_LOOKUPS:
        return replace(attempted, state=DeliveryState.NEEDS_USER, not_before=None)
    return replace(attempted, not_before=_next_attempt_at(failed_lookups - 1, now, jitter, retry_after))


def is_final_lookup(delivery: Delivery, error: Exception, message: str) -> bool:
    """Return True if another lookup would not tell more than the one that failed with `error`, stored as `message`."""
    if isinstance(error, LookupUnsupportedError):
        # Only if the lookup before it ended alike: a server that is being restarted may answer so once.
        return delivery.failed_lookups > 0 and delivery.error == message
    # With no request in progress, the next lookup would find the same posts.
    return delivery.recheck and isinstance(error, UnknownOutcomeError)


def confirmed_by_user(delivery: Delivery, url: str = "") -> Delivery:
    """Return `delivery` in SENT: the user confirmed that everything is posted."""
    missing = delivery.steps - len(delivery.results)
    # Without ids: only the user knows which posts these are.
    confirmed = StepResult(ids=(), urls=(url,) if url else (), evidence=Evidence.USER)
    return Delivery(state=DeliveryState.SENT, steps=delivery.steps, results=(*delivery.results, *[confirmed] * missing))


def restart_delivery(delivery: Delivery, intent: Intent | None = None) -> Delivery:
    """Return a new delivery that continues with the first missing post; the user confirmed that the rest is absent.

    The caller must use new keys: under the old ones the platform may still hold the lost request. Hidden steps at the
    end are dropped and created again, because they contain the text as it was then.
    """
    results = delivery.results
    # Only the last steps can be hidden and unpublished: a hidden step before a visible one is published already.
    while intent and results and intent.steps[len(results) - 1].hidden:
        results = results[:-1]
    return Delivery(steps=delivery.steps, results=results, checked_at=delivery.checked_at)


def abandoned(delivery: Delivery, message: str = "", reason: GiveUpReason = GiveUpReason.USER) -> Delivery:
    """Return `delivery` in ABANDONED. Doubt about an earlier request is kept, and stated in the error."""
    prefix = "It is unknown whether it was posted."
    if delivery.doubt and not delivery.error.startswith(prefix):
        message = message or f"{prefix} {delivery.error}".strip()
    return replace(
        delivery, state=DeliveryState.ABANDONED, not_before=None, error=message or delivery.error, given_up=reason
    )


def can_resend(delivery: Delivery, guarantees: DeliveryGuarantees, now: datetime) -> bool:
    """Return True if repeating the same request is safe, which is the quickest way to learn the first one's result."""
    first_sent_at = delivery.first_sent_at
    in_window = first_sent_at is not None and first_sent_at <= now < first_sent_at + guarantees.idempotency_window
    return in_window and not delivery.refusal and delivery.attempts < MAX_ATTEMPTS


def settles_at(delivery: Delivery, guarantees: DeliveryGuarantees, now: datetime) -> datetime | None:
    """Return until when a lost request may still reach the platform; None if it cannot any more."""
    if not delivery.doubt or delivery.last_sent_at is None:
        return None
    settled = delivery.last_sent_at + guarantees.settle_time
    return settled if settled > now else None


def _next_attempt_at(attempts: int, now: datetime, jitter: float, retry_after: datetime | None) -> datetime:
    """Return the time of the next attempt: backoff for `attempts` with 25 % jitter, not before `retry_after`."""
    delay = BACKOFF[min(max(attempts, 0), len(BACKOFF) - 1)] * (0.75 + jitter / 2)
    return max(now + delay, retry_after or now)
