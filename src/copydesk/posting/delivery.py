"""A delivery: one draft on its way to one account, and what may be done with it next. Nothing is done here.

    planned ──▶ sending ──▶ sent                 every step is made
       ▲          │ │ └───▶ planned              one step of several is made, or certainly nothing was: later again
       │          │ └─────▶ failed, abandoned    refused; tried too often
       │          ▼
       └─────── unknown ──▶ sent                 found on the account
                  └───────▶ needs_user           we looked, and cannot tell

Whoever sends keeps `sent_now` before the first byte leaves, and one of the others after it. A delivery that is found
as sending was broken off: whether its request arrived is not known. Nothing is sent again while an earlier request
may have made something, unless the platform knows the second one by its keys.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec.structs import replace

from copydesk.model.delivery import ENDED, Delivery, Evidence, Intent, Made, State
from copydesk.posting.platform import Trust

MOST_ATTEMPTS = 5
"""Requests for one step that came to nothing, before it is given up."""
MOST_RESENDS = 2
"""Requests for one step after one that was lost, where the platform does not know the second one by its keys."""
MOST_LOOKS = 12
"""Times in a row that nobody could look, before the user is asked: by then about six hours have passed."""
BETWEEN_LOOKS = timedelta(seconds=30)
"""It must be absent twice, so far apart."""
BACKOFF = tuple(timedelta(seconds=seconds) for seconds in (30, 120, 480, 1800))
"""How long to wait after each attempt; from the last one on, as long as that."""


class Move(StrEnum):
    """What to do with a delivery now."""

    SEND = "send"
    LOOK = "look"
    WAIT = "wait"


def next_move(delivery: Delivery, trust: Trust, now: datetime) -> Move:
    """What to do with a delivery that nobody else is at."""
    if delivery.state in ENDED or delivery.state is State.NEEDS_USER:
        return Move.WAIT
    if delivery.not_before is not None and now < delivery.not_before:
        return Move.WAIT
    if delivery.state is State.PLANNED:
        return Move.SEND
    return Move.SEND if _may_repeat(delivery, trust, now) else Move.LOOK


def sent_now(delivery: Delivery, now: datetime, *, steps: int | None = None) -> Delivery:
    """The first byte may leave once this is kept. `steps` is how many there are, once that is settled."""
    return replace(
        delivery,
        state=State.SENDING,
        steps=steps or delivery.steps,
        first_sent_at=delivery.first_sent_at or now,
        last_sent_at=now,
        retries=delivery.retries + (1 if delivery.attempts else 0),
        resends=delivery.resends + (1 if delivery.doubt and delivery.state is State.PLANNED else 0),
        absent_at=None,
        not_before=None,
    )


def broken_off(delivery: Delivery, now: datetime | None = None) -> Delivery:
    """A delivery that is found as sending at `now`, and whoever sent it is gone."""
    says = "Copydesk was ended before an answer came."
    last = now or delivery.last_sent_at
    return replace(
        delivery, state=State.UNKNOWN, doubt=True, attempts=delivery.attempts + 1, last_sent_at=last, error=says
    )


def made_step(delivery: Delivery, made: Made) -> Delivery:
    """The step is done: it was answered, or found."""
    every = (*delivery.made, made)
    done = len(every) >= delivery.steps
    state = State.SENT if done else State.PLANNED
    return Delivery(state=state, steps=delivery.steps, made=every, retries=delivery.retries)


def refused(delivery: Delivery, says: str) -> Delivery:
    """The platform does not take it as it is. After a lost request that says nothing of the lost one: look."""
    if delivery.doubt:
        return replace(delivery, state=State.UNKNOWN, refusal=says, error=says)
    return replace(delivery, state=State.FAILED, error=says)


def not_sent(
    delivery: Delivery, says: str, now: datetime, *, jitter: float, retry_after: datetime | None = None
) -> Delivery:
    """The request made nothing. `jitter` is 0 to 1; `retry_after` is when the platform wants to be asked again."""
    tried = replace(
        delivery,
        attempts=delivery.attempts + 1,
        not_before=_later(delivery.attempts, now, jitter, retry_after),
        error=says,
    )
    if delivery.doubt:
        return replace(tried, state=State.UNKNOWN)
    if tried.attempts >= MOST_ATTEMPTS:
        return replace(tried, state=State.ABANDONED, not_before=None)
    return replace(tried, state=State.PLANNED)


def held(delivery: Delivery, says: str) -> Delivery:
    """Certainly nothing was made, and nothing can be until the user has put it right; that is no attempt."""
    if delivery.doubt:
        return replace(delivery, state=State.UNKNOWN, not_before=None, error=says)
    first = delivery.first_sent_at if delivery.attempts else None
    return replace(delivery, state=State.PLANNED, first_sent_at=first, not_before=None, error=says)


def lost(delivery: Delivery, says: str, now: datetime | None = None) -> Delivery:
    """The request may have made something: the answer did not come, as was found at `now`, or tells nothing."""
    # The next request, or look, comes at once after the first one that was lost, and later after each further one.
    waits = BACKOFF[min(delivery.attempts, len(BACKOFF)) - 1] if delivery.attempts else None
    unknown = broken_off(delivery, now)
    later = unknown.last_sent_at + waits if waits and unknown.last_sent_at else None
    return replace(unknown, not_before=later, error=says)


def absent(delivery: Delivery, trust: Trust, now: datetime, *, jitter: float) -> Delivery:
    """It was looked for and is not there; see `Trust` for when that means that nothing was made."""
    looked = replace(delivery, looks=0)
    if not trust.keyed:
        settled = (delivery.last_sent_at or now) + trust.quiet
        if now < settled:
            return replace(looked, not_before=settled)
        if delivery.absent_at is None or now < delivery.absent_at + BETWEEN_LOOKS:
            first = delivery.absent_at or now
            return replace(looked, absent_at=first, not_before=first + BETWEEN_LOOKS)
    return _nothing_made(looked, trust, now, jitter)


def _nothing_made(delivery: Delivery, trust: Trust, now: datetime, jitter: float) -> Delivery:
    """After a lost request of which it is as sure as can be that it came to nothing."""
    # Where absent is believed at once, by its keys, the last request may be on its way still.
    doubt = still_coming(delivery, trust, now)
    if delivery.refusal:
        return replace(delivery, state=State.FAILED, error=delivery.refusal, doubt=doubt, not_before=None)
    if delivery.attempts >= MOST_ATTEMPTS:
        return replace(delivery, state=State.ABANDONED, doubt=doubt, not_before=None)
    if not trust.keyed and delivery.resends >= MOST_RESENDS:
        return replace(delivery, state=State.NEEDS_USER, not_before=None)
    return replace(delivery, state=State.PLANNED, not_before=_later(delivery.attempts - 1, now, jitter, None))


def not_found_out(
    delivery: Delivery, trust: Trust, says: str, now: datetime, *, jitter: float, retry_after: datetime | None = None
) -> Delivery:
    """Nobody could look, or it could not be told."""
    looks = delivery.looks + 1
    tried = replace(delivery, state=State.UNKNOWN, looks=looks, error=says)
    if not trust.can_look or looks >= MOST_LOOKS:
        return replace(tried, state=State.NEEDS_USER, not_before=None)
    return replace(tried, not_before=_later(looks - 1, now, jitter, retry_after))


def marked_as_posted(delivery: Delivery, url: str = "") -> Delivery:
    """The user looked, and all of it is there."""
    rest = delivery.steps - len(delivery.made)
    seen = Made(ids=(), urls=(url,) if url else (), evidence=Evidence.USER)
    return Delivery(state=State.SENT, steps=delivery.steps, made=(*delivery.made, *[seen] * rest))


def sent_again(delivery: Delivery, intent: Intent | None = None) -> Delivery:
    """It is to go out once more, and the rest is not there: from the first missing post on, with nothing in doubt.

    The caller takes new keys: under the old ones a platform may hold the request that was lost. What was made last
    and nobody sees is made anew: it holds the text as it was.
    """
    made = delivery.made
    while intent and made and intent.steps[len(made) - 1].hidden:
        made = made[:-1]
    return Delivery(steps=delivery.steps, made=made)


def given_up(delivery: Delivery, says: str = "") -> Delivery:
    """It is left as it is: the user says so, or it has become too late. What was in doubt stays in doubt."""
    if delivery.doubt:
        says = says or f"It is not known whether it was posted. {delivery.error}".strip()
    return replace(delivery, state=State.ABANDONED, not_before=None, error=says or delivery.error)


def still_coming(delivery: Delivery, trust: Trust, now: datetime) -> bool:
    """Whether a request that was lost may reach the platform yet."""
    return delivery.doubt and delivery.last_sent_at is not None and now < delivery.last_sent_at + trust.quiet


def _may_repeat(delivery: Delivery, trust: Trust, now: datetime) -> bool:
    """Whether the same request again is safe, and the shortest way to what became of the first one."""
    first = delivery.first_sent_at
    fresh = first is not None and first <= now < first + trust.repeat_within
    return fresh and not delivery.refusal and delivery.attempts < MOST_ATTEMPTS


def _later(attempts: int, now: datetime, jitter: float, retry_after: datetime | None) -> datetime:
    """After the wait for so many attempts before, a quarter more or less, and not before the platform wants it."""
    wait = BACKOFF[min(max(attempts, 0), len(BACKOFF) - 1)] * (0.75 + jitter / 2)
    return max(now + wait, retry_after or now)
