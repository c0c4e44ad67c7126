"""What a delivery has come to, in one sentence that is true. Pure."""

from collections.abc import Callable, Mapping
from datetime import datetime

from copydesk.model.delivery import Delivery, Evidence, Intent, State
from copydesk.model.posting import DeliveryReport, Sent
from copydesk.store.deliveries import KeptDelivery

_FOUND = {
    Evidence.ANSWERED: "Posted",
    Evidence.READ_BACK: "Posted: the connection broke, and it was found on the account",
    Evidence.DUPLICATE_ANSWER: "Posted: the connection broke, and the platform named it when it was asked again",
    Evidence.USER: "Posted, as you said",
}
_LEAST = (Evidence.USER, Evidence.DUPLICATE_ANSWER, Evidence.READ_BACK, Evidence.ANSWERED)


def report_of(kept: KeptDelivery) -> DeliveryReport:
    """A delivery as the user reads it."""
    progress, visible = kept.progress, kept.progress.seen(kept.intent)
    posts = tuple(
        Sent(id=post_id, url=url, evidence=made.evidence)
        for made in visible
        for post_id, url in _each(made.ids, made.urls)
    )
    return DeliveryReport(
        id=kept.id,
        draft_id=kept.draft_id,
        account=kept.label,
        state=progress.state,
        says=told(kept),
        due_at=kept.due_at,
        posts=posts,
        parts=parts_of(kept.intent),
        attempts=len(progress.made) + progress.retries + (1 if progress.first_sent_at else 0),
        retry_after=progress.not_before if progress.state in (State.PLANNED, State.UNKNOWN) else None,
        sent_at=kept.sent_at,
        gone_at=kept.gone_at,
    )


def parts_of(intent: Intent | None) -> int:
    """How many posts people will see; 0 before that is settled."""
    return sum(len(step.keys) for step in intent.steps if not step.hidden) if intent else 0


def told(kept: KeptDelivery) -> str:
    """What is known, and what can be done."""
    return _partly(kept) + _SAYS[kept.progress.state](kept)


def _planned(kept: KeptDelivery) -> str:
    progress = kept.progress
    if not progress.error:
        return "Waits to be sent."
    return progress.error + (f" Next try at {_at(progress.not_before)}." if progress.not_before else "")


def _unknown(kept: KeptDelivery) -> str:
    return f"Not known whether it was posted. {kept.progress.error or 'No answer came.'}{_looked(kept.progress)}"


def _needs_user(kept: KeptDelivery) -> str:
    return f"{_unknown(kept)} Look at your profile, then: {ways(kept)}"


def ways(kept: KeptDelivery) -> str:
    """What the user can say of a delivery, having looked."""
    return f"copydesk delivery posted {kept.id}, or copydesk delivery again {kept.id}"


def _abandoned(kept: KeptDelivery) -> str:
    look = f" Look at your profile, then: {ways(kept)}" if kept.progress.doubt else ""
    return f"Given up: {kept.progress.error or 'as you said.'}{look}"


def _sent(kept: KeptDelivery) -> str:
    evidence = {made.evidence for made in kept.progress.made}
    how = _FOUND[next(each for each in _LEAST if each in evidence)]
    url = next((url for made in kept.progress.seen(kept.intent) for url in made.urls), "")
    gone = f" It was not there any more on {_at(kept.gone_at)}." if kept.gone_at else ""
    return f"{how}{f': {url}' if url else '.'}{gone}"


def _partly(kept: KeptDelivery) -> str:
    """How much of a thread is there already."""
    there, of = sum(len(made.ids) for made in kept.progress.seen(kept.intent)), parts_of(kept.intent)
    if not there or kept.progress.state is State.SENT:
        return ""
    return f"{there} of {of} posts are there. " if of else "Some of it is there. "


def _looked(progress: Delivery) -> str:
    """Where we looked, and when we look again."""
    if progress.looks:
        return " We looked and could not tell."
    if progress.absent_at:
        return f" We looked on the account at {_at(progress.absent_at)}, and it was not there."
    when = f" We look at {_at(progress.not_before)}." if progress.not_before else " We look for it as soon as we can."
    return when if progress.state is State.UNKNOWN else ""


def _at(moment: datetime | None) -> str:
    return f"{moment.astimezone():%-d %b %H:%M:%S %Z}" if moment else ""


def _each(ids: tuple[str, ...], urls: tuple[str, ...]) -> list[tuple[str | None, str | None]]:
    most = max(len(ids), len(urls))
    return [(ids[n] if n < len(ids) else None, urls[n] if n < len(urls) else None) for n in range(most)]


_SAYS: Mapping[State, Callable[[KeptDelivery], str]] = {
    State.PLANNED: _planned,
    State.SENDING: lambda _: "Being sent now.",
    State.UNKNOWN: _unknown,
    State.NEEDS_USER: _needs_user,
    State.SENT: _sent,
    State.FAILED: lambda kept: f"Not posted: {kept.progress.error}",
    State.ABANDONED: _abandoned,
}
