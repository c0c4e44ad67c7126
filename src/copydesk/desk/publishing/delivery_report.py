"""Describe deliveries: what is known, who acts next and until when. No sentence claims or promises more than that.

`SENTENCES` holds one row for every situation, `get_situation` selects it. Both are pure: what a delivery's row does not
hold is passed as `DeliveryContext`.
"""

from collections.abc import Mapping
from datetime import datetime, tzinfo
from functools import partial
from typing import NamedTuple

from copydesk.desk.leases import ACCOUNT_LEASE_DURATION
from copydesk.model.delivery import (
    DeliveredPost,
    Delivery,
    DeliveryAnswer,
    DeliveryReport,
    DeliverySituation,
    DeliveryState,
    Evidence,
    GiveUpReason,
    Intent,
    NextBy,
)
from copydesk.model.job import ClockWarning
from copydesk.model.serialization import Struct
from copydesk.posting.delivery_states import can_resend, settles_at
from copydesk.posting.platform import DeliveryGuarantees
from copydesk.store.deliveries import DeliveryRow
from copydesk.text.formatting import plural

_UNKNOWN = "Unknown whether it was posted."
_PAUSED = "Posting is paused: the clock jumped."
_CHECK_PROFILE = "Check your profile, then run: {commands}"

_SITUATION_BY_EVIDENCE = {
    Evidence.ANSWERED: DeliverySituation.POSTED,
    Evidence.READ_BACK: DeliverySituation.FOUND,
    Evidence.USER: DeliverySituation.CONFIRMED_BY_USER,
}
# Weakest first: a thread is described by the weakest evidence among its posts.
_EVIDENCE_BY_STRENGTH = (Evidence.USER, Evidence.READ_BACK, Evidence.ANSWERED)


class DeliveryContext(Struct, frozen=True):
    """The facts that decide about a delivery besides its own state."""

    now: datetime
    zone: tzinfo
    """The user's time zone."""
    platform: str
    """The platform's label."""
    short_id: str = ""
    """The delivery's short id, if the user may have to resolve it."""
    guarantees: DeliveryGuarantees = DeliveryGuarantees()
    login_error: str = ""
    """Why the account cannot be used until the user signs in; empty if it can."""
    clock_in_doubt: bool = False
    """True while the jobs send nothing because the clock jumped."""
    expires_at: datetime | None = None
    """When the delivery is given up if it was not sent; None for never."""


class Sentence(NamedTuple):
    """The description of a situation; both texts are templates for `str.format`."""

    known: str
    next: str
    next_by: NextBy


SENTENCES: Mapping[DeliverySituation, Sentence] = {
    # Nothing was posted, or a part of a thread was, and the rest is still to be sent.
    DeliverySituation.WAITING: Sentence("Waiting to be sent.", "It is sent {when}{until}.", NextBy.COPYDESK),
    DeliverySituation.RETRY: Sentence("{error}", "Next attempt {when}{until}.", NextBy.COPYDESK),
    DeliverySituation.RESEND: Sentence(
        "{error} It was not found on the account.", "It is sent again {when}.", NextBy.COPYDESK
    ),
    DeliverySituation.TOO_LATE: Sentence(
        "{error} It is too late to send it: it was due at {due}.", "It is given up {when}.", NextBy.COPYDESK
    ),
    DeliverySituation.NEEDS_LOGIN: Sentence("{login}", "It is sent once you sign in{until}.", NextBy.USER),
    DeliverySituation.PAUSED: Sentence(f"{{error}} {_PAUSED}", ClockWarning.advice, NextBy.USER),
    DeliverySituation.DISCONNECTED: Sentence(
        "{error} The account was disconnected.", "Connect it again and post the draft, or run: {commands}", NextBy.USER
    ),
    DeliverySituation.SENDING: Sentence("Sending.", "", NextBy.COPYDESK),
    # A request may have arrived.
    DeliverySituation.INTERRUPTED: Sentence(
        f"{_UNKNOWN} Copydesk was stopped while sending.",
        "{platform} is checked {when}; where that is not possible, you are asked.",
        NextBy.COPYDESK,
    ),
    DeliverySituation.CHECK: Sentence(
        f"{_UNKNOWN} {{error}}{{absent}}", "The account is checked {when}.", NextBy.COPYDESK
    ),
    DeliverySituation.REPEAT: Sentence(
        f"{_UNKNOWN} {{error}}",
        "The request is repeated {when}; {platform} recognizes it and does not post twice.",
        NextBy.COPYDESK,
    ),
    DeliverySituation.UNKNOWN_NEEDS_LOGIN: Sentence(
        f"{_UNKNOWN} {{login}}", "The account is checked once you sign in.", NextBy.USER
    ),
    DeliverySituation.UNKNOWN_PAUSED: Sentence(f"{_UNKNOWN} {{error}} {_PAUSED}", ClockWarning.advice, NextBy.USER),
    DeliverySituation.UNKNOWN_DISCONNECTED: Sentence(
        f"{_UNKNOWN} {{error}} The account was disconnected.", _CHECK_PROFILE, NextBy.USER
    ),
    DeliverySituation.CANNOT_CHECK: Sentence(
        f"{_UNKNOWN} {{error}} Copydesk cannot check {{platform}}.", _CHECK_PROFILE, NextBy.USER
    ),
    DeliverySituation.INCONCLUSIVE: Sentence(
        f"{_UNKNOWN} {{error}} The account was checked {{checks}} without a clear result.", _CHECK_PROFILE, NextBy.USER
    ),
    DeliverySituation.RESENT_IN_VAIN: Sentence(
        f"{_UNKNOWN} {{error}} {{requests}} got no response.{{absent}}", _CHECK_PROFILE, NextBy.USER
    ),
    # Ended.
    DeliverySituation.POSTED: Sentence("Posted{url}{gone}", "", NextBy.NOBODY),
    DeliverySituation.FOUND: Sentence("Posted (found on the account){url}{gone}", "", NextBy.NOBODY),
    DeliverySituation.CONFIRMED_BY_USER: Sentence("Posted (confirmed by you){url}{gone}", "", NextBy.NOBODY),
    DeliverySituation.REJECTED: Sentence(
        "Not posted: {error}", "Correct the cause, then post the draft again.", NextBy.USER
    ),
    # REJECTED_IN_DOUBT and GIVEN_UP_IN_DOUBT are of earlier versions, which ended them while a request might arrive.
    DeliverySituation.REJECTED_IN_DOUBT: Sentence(
        "Rejected, and not found on the account: {error} An earlier request may have arrived late.",
        _CHECK_PROFILE,
        NextBy.USER,
    ),
    DeliverySituation.DROPPED: Sentence("Given up by you. {error}", "", NextBy.NOBODY),
    DeliverySituation.DROPPED_IN_DOUBT: Sentence("Given up by you. {error}", _CHECK_PROFILE, NextBy.NOBODY),
    DeliverySituation.GIVEN_UP: Sentence("Given up: {error}", "Post or schedule the draft again.", NextBy.USER),
    DeliverySituation.GIVEN_UP_AFTER_ATTEMPTS: Sentence(
        "Given up after {attempts}: {error}", "Post or schedule the draft again.", NextBy.USER
    ),
    DeliverySituation.GIVEN_UP_IN_DOUBT: Sentence(
        "Given up after {attempts}: {error} It is unknown whether it was posted.", _CHECK_PROFILE, NextBy.USER
    ),
}


def get_situation(row: DeliveryRow, context: DeliveryContext) -> DeliverySituation:
    """Return the situation of a delivery."""
    progress = row.progress
    match progress.state:
        case DeliveryState.PLANNED:
            return _planned_situation(row, context)
        case DeliveryState.SENDING:
            # The lease has run out, so the process that sent it is dead or frozen. Its row stays in SENDING until
            # another process takes over.
            is_stale = (
                progress.last_sent_at is not None and context.now > progress.last_sent_at + ACCOUNT_LEASE_DURATION
            )
            return DeliverySituation.INTERRUPTED if is_stale else DeliverySituation.SENDING
        case DeliveryState.UNKNOWN:
            return _unknown_situation(row, context)
        case DeliveryState.NEEDS_USER:
            return _unsolved_situation(progress, context)
        case _:
            return _ended_situation(progress)


def _planned_situation(row: DeliveryRow, context: DeliveryContext) -> DeliverySituation:
    progress = row.progress
    if row.account_id is None:
        return DeliverySituation.DISCONNECTED
    if context.clock_in_doubt:
        return DeliverySituation.PAUSED
    next_at = max(context.now, progress.not_before or context.now)
    if context.expires_at is not None and next_at > context.expires_at:
        return DeliverySituation.TOO_LATE
    if context.login_error:
        return DeliverySituation.NEEDS_LOGIN
    if progress.doubt:
        return DeliverySituation.RESEND
    return DeliverySituation.RETRY if progress.error else DeliverySituation.WAITING


def _unknown_situation(row: DeliveryRow, context: DeliveryContext) -> DeliverySituation:
    progress = row.progress
    if row.account_id is None:
        return DeliverySituation.UNKNOWN_DISCONNECTED
    if context.clock_in_doubt:
        return DeliverySituation.UNKNOWN_PAUSED
    if context.login_error:
        return DeliverySituation.UNKNOWN_NEEDS_LOGIN
    next_at = max(context.now, progress.not_before or context.now)
    if not progress.recheck and can_resend(progress, context.guarantees, next_at):
        return DeliverySituation.REPEAT
    return DeliverySituation.CHECK if context.guarantees.can_read_back else DeliverySituation.CANNOT_CHECK


def _unsolved_situation(progress: Delivery, context: DeliveryContext) -> DeliverySituation:
    if not context.guarantees.can_read_back:
        return DeliverySituation.CANNOT_CHECK
    return DeliverySituation.INCONCLUSIVE if progress.failed_lookups else DeliverySituation.RESENT_IN_VAIN


def _ended_situation(progress: Delivery) -> DeliverySituation:
    if progress.state is DeliveryState.SENT:
        evidence = {step.evidence for step in progress.results}
        return _SITUATION_BY_EVIDENCE[next(kind for kind in _EVIDENCE_BY_STRENGTH if kind in evidence)]
    if progress.state is DeliveryState.FAILED:
        return DeliverySituation.REJECTED_IN_DOUBT if progress.doubt else DeliverySituation.REJECTED
    if progress.given_up is GiveUpReason.USER:
        return DeliverySituation.DROPPED_IN_DOUBT if progress.doubt else DeliverySituation.DROPPED
    if progress.doubt:
        return DeliverySituation.GIVEN_UP_IN_DOUBT
    is_attempts = progress.given_up is GiveUpReason.ATTEMPTS
    return DeliverySituation.GIVEN_UP_AFTER_ATTEMPTS if is_attempts else DeliverySituation.GIVEN_UP


def to_report(row: DeliveryRow, context: DeliveryContext) -> DeliveryReport:
    """Return a delivery as a report for the user."""
    progress, visible_steps = row.progress, row.progress.public_results(row.intent)
    posts = tuple(
        DeliveredPost(id=post_id, url=url, evidence=step.evidence)
        for step in visible_steps
        for post_id, url in _pair_ids_urls(step.ids, step.urls)
    )
    situation = get_situation(row, context)
    return DeliveryReport(
        id=row.id,
        draft_id=row.draft_id,
        account=row.label,
        state=progress.state,
        says=describe(row, context),
        due_at=row.due_at,
        posts=posts,
        parts=count_parts(row.intent),
        # The platform answered each step that was made; `first_sent_at` is set while the next one has no answer.
        attempts=len(progress.results) + progress.retries + (1 if progress.first_sent_at else 0),
        retry_after=progress.not_before if progress.state in (DeliveryState.PLANNED, DeliveryState.UNKNOWN) else None,
        sent_at=row.sent_at,
        gone_at=row.gone_at,
        situation=situation,
        next_by=SENTENCES[situation].next_by,
        in_doubt=progress.doubt,
        settles_at=settles_at(progress, context.guarantees, context.now),
    )


def count_parts(intent: Intent | None) -> int:
    """Return the number of visible posts; 0 before the payload is rendered."""
    return sum(len(step.keys) for step in intent.steps if not step.hidden) if intent else 0


def describe(row: DeliveryRow, context: DeliveryContext) -> str:
    """Return what is known about a delivery, who acts next and until when, as sentences."""
    sentence, values = SENTENCES[get_situation(row, context)], _values(row, context)
    known, following = (text.format_map(values).strip() for text in (sentence.known, sentence.next))
    return f"{_describe_partial(row)}{known} {following}".strip()


def describe_known(row: DeliveryRow, context: DeliveryContext) -> str:
    """Return what is known about a delivery and what Copydesk does by itself, without what the user can do."""
    sentence = SENTENCES[get_situation(row, context)]
    if sentence.next_by is not NextBy.USER:
        return describe(row, context)
    return f"{_describe_partial(row)}{sentence.known.format_map(_values(row, context)).strip()}"


def get_answers(row: DeliveryRow, context: DeliveryContext, *, can_post: bool) -> tuple[DeliveryAnswer, ...]:
    """Return the answers that are possible; `can_post` is False if the draft's status does not allow to post it."""
    state, answers = row.progress.state, [DeliveryAnswer.DROP]
    if state is not DeliveryState.PLANNED and can_post:
        # While Copydesk still checks, sending again is not offered: it could post twice.
        if state is not DeliveryState.UNKNOWN and row.account_id is not None:
            answers.insert(0, DeliveryAnswer.AGAIN)
        answers.insert(0, DeliveryAnswer.POSTED)
    if context.login_error:
        answers.append(DeliveryAnswer.SIGN_IN)
    return tuple(answers)


def _values(row: DeliveryRow, context: DeliveryContext) -> Mapping[str, str]:
    """Return the values of the placeholders in SENTENCES."""
    progress, local = row.progress, partial(_format_local, zone=context.zone)
    runs = "`copydesk daemon`, or a console that may post, is running"
    is_later = progress.not_before is not None and progress.not_before > context.now
    url = next((url for step in progress.public_results(row.intent) for url in step.urls), "")
    return {
        "error": progress.error,
        "login": context.login_error,
        "platform": context.platform,
        "when": f"at {local(progress.not_before)} while {runs}" if is_later else f"as soon as {runs}",
        "until": f"; after {local(context.expires_at)} it is given up" if context.expires_at else "",
        "due": local(row.due_at),
        "absent": f" Not found on the account at {local(progress.absent_at)}." if progress.absent_at else "",
        "attempts": plural(progress.attempts, "attempt"),
        "requests": plural(progress.attempts, "request"),
        "checks": plural(progress.failed_lookups, "time"),
        "commands": resolution_hint(row, context.short_id),
        "url": f": {url}" if url else ".",
        "gone": f" No longer online as of {local(row.gone_at)}." if row.gone_at else "",
    }


def resolution_hint(row: DeliveryRow, short_id: str) -> str:
    """Return the commands with which the user resolves a delivery."""
    commands = ["posted", "discard"] if row.progress.state is DeliveryState.UNKNOWN else ["posted", "resend"]
    if row.account_id is None:
        commands = ["discard"] if row.progress.state is DeliveryState.PLANNED else ["posted", "discard"]
    return ", or ".join(f"copydesk delivery {command} {short_id}" for command in commands)


def _describe_partial(row: DeliveryRow) -> str:
    """Return how many posts of a thread are live, as a sentence; empty if none or all are."""
    live, total = sum(len(step.ids) for step in row.progress.public_results(row.intent)), count_parts(row.intent)
    if not live or row.progress.state is DeliveryState.SENT:
        return ""
    return f"{live} of {total} posts are online. " if total else "Some posts are online. "


def _format_local(instant: datetime | None, zone: tzinfo) -> str:
    return f"{instant.astimezone(zone):%-d %b %H:%M:%S %Z}" if instant else ""


def _pair_ids_urls(ids: tuple[str, ...], urls: tuple[str, ...]) -> list[tuple[str | None, str | None]]:
    # Platforms may return ids without URLs or the reverse; keep both lists complete.
    count = max(len(ids), len(urls))
    return [(ids[n] if n < len(ids) else None, urls[n] if n < len(urls) else None) for n in range(count)]
