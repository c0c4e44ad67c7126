"""Describe a delivery in one sentence that claims no more than is known."""

from collections.abc import Callable, Mapping
from datetime import datetime

from copydesk.model.delivery import DeliveredPost, Delivery, DeliveryReport, DeliveryState, Evidence, Intent
from copydesk.store.deliveries import DeliveryRow

_EVIDENCE_TEXT = {
    Evidence.ANSWERED: "Posted",
    Evidence.READ_BACK: "Posted (found on the account after the connection broke)",
    Evidence.DUPLICATE_ANSWER: "Posted (confirmed by the platform after the connection broke)",
    Evidence.USER: "Posted (confirmed by you)",
}
# Weakest first: a thread is described by the weakest evidence among its posts.
_EVIDENCE_BY_STRENGTH = (Evidence.USER, Evidence.DUPLICATE_ANSWER, Evidence.READ_BACK, Evidence.ANSWERED)


def to_report(row: DeliveryRow) -> DeliveryReport:
    """Return a delivery as a report for the user."""
    progress, visible_steps = row.progress, row.progress.public_results(row.intent)
    posts = tuple(
        DeliveredPost(id=post_id, url=url, evidence=step.evidence)
        for step in visible_steps
        for post_id, url in _pair_ids_urls(step.ids, step.urls)
    )
    return DeliveryReport(
        id=row.id,
        draft_id=row.draft_id,
        account=row.label,
        state=progress.state,
        says=describe(row),
        due_at=row.due_at,
        posts=posts,
        parts=count_parts(row.intent),
        attempts=len(progress.made) + progress.retries + (1 if progress.first_sent_at else 0),
        retry_after=progress.not_before if progress.state in (DeliveryState.PLANNED, DeliveryState.UNKNOWN) else None,
        sent_at=row.sent_at,
        gone_at=row.gone_at,
    )


def count_parts(intent: Intent | None) -> int:
    """Return the number of visible posts; 0 before the payload is rendered."""
    return sum(len(step.keys) for step in intent.steps if not step.hidden) if intent else 0


def describe(row: DeliveryRow) -> str:
    """Return one or two sentences on the state of a delivery and on what the user can do."""
    return _describe_partial(row) + _DESCRIBERS[row.progress.state](row)


def _describe_planned(row: DeliveryRow) -> str:
    progress = row.progress
    if not progress.error:
        return "Waiting to be sent."
    return progress.error + (f" Next attempt at {_format_local(progress.not_before)}." if progress.not_before else "")


def _describe_unknown(row: DeliveryRow) -> str:
    return f"Unknown whether it was posted. {row.progress.error or 'No response.'}{_describe_lookup(row.progress)}"


def _describe_needs_user(row: DeliveryRow) -> str:
    return f"{_describe_unknown(row)} Check your profile, then run: {resolution_hint(row)}"


def resolution_hint(row: DeliveryRow) -> str:
    """Return the commands with which the user resolves an uncertain delivery."""
    return f"copydesk delivery posted {row.id}, or copydesk delivery again {row.id}"


def _describe_abandoned(row: DeliveryRow) -> str:
    advice = f" Check your profile, then run: {resolution_hint(row)}" if row.progress.doubt else ""
    return f"Given up: {row.progress.error or 'by you.'}{advice}"


def _describe_sent(row: DeliveryRow) -> str:
    evidence = {step.evidence for step in row.progress.made}
    prefix = _EVIDENCE_TEXT[next(kind for kind in _EVIDENCE_BY_STRENGTH if kind in evidence)]
    url = next((url for step in row.progress.public_results(row.intent) for url in step.urls), "")
    deleted = f" No longer online as of {_format_local(row.gone_at)}." if row.gone_at else ""
    return f"{prefix}{f': {url}' if url else '.'}{deleted}"


def _describe_partial(row: DeliveryRow) -> str:
    """Return how many posts of a thread are live, as a sentence; empty if none or all are."""
    live, total = sum(len(step.ids) for step in row.progress.public_results(row.intent)), count_parts(row.intent)
    if not live or row.progress.state is DeliveryState.SENT:
        return ""
    return f"{live} of {total} posts are online. " if total else "Some posts are online. "


def _describe_lookup(progress: Delivery) -> str:
    """Return when the account was searched, or will be, as a sentence."""
    if progress.looks:
        return " Checking the account was inconclusive."
    if progress.absent_at:
        return f" Not found on the account at {_format_local(progress.absent_at)}."
    when = (
        f" The account is checked at {_format_local(progress.not_before)}."
        if progress.not_before
        else " The account is checked as soon as possible."
    )
    return when if progress.state is DeliveryState.UNKNOWN else ""


def _format_local(instant: datetime | None) -> str:
    return f"{instant.astimezone():%-d %b %H:%M:%S %Z}" if instant else ""


def _pair_ids_urls(ids: tuple[str, ...], urls: tuple[str, ...]) -> list[tuple[str | None, str | None]]:
    # Platforms may return ids without URLs or the reverse; keep both lists complete.
    count = max(len(ids), len(urls))
    return [(ids[n] if n < len(ids) else None, urls[n] if n < len(urls) else None) for n in range(count)]


_DESCRIBERS: Mapping[DeliveryState, Callable[[DeliveryRow], str]] = {
    DeliveryState.PLANNED: _describe_planned,
    DeliveryState.SENDING: lambda _: "Sending.",
    DeliveryState.UNKNOWN: _describe_unknown,
    DeliveryState.NEEDS_USER: _describe_needs_user,
    DeliveryState.SENT: _describe_sent,
    DeliveryState.FAILED: lambda row: f"Not posted: {row.progress.error}",
    DeliveryState.ABANDONED: _describe_abandoned,
}
