"""What a draft comes to once nothing of it is on its way any more."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace
from sqlalchemy import Connection

from copydesk.desk.figures import READINGS
from copydesk.model.delivery import ENDED, State
from copydesk.model.draft import Status
from copydesk.model.history import SYSTEM, EventKind
from copydesk.model.transitions import Happening, after_happening
from copydesk.store import changes, deliveries, delivery_changes
from copydesk.store.changes import Step
from copydesk.store.deliveries import KeptDelivery
from copydesk.store.delivery_changes import Happened


def settle(conn: Connection, user_id: str, draft_id: str, now: datetime) -> None:
    """Let the draft be posted, or approved again, where every delivery has ended; else leave it."""
    if deliveries.unended(conn, user_id, draft_id):
        return
    seen = changes.one_seen(conn, user_id, draft_id)
    if seen.status is not Status.POSTING:
        return
    every = deliveries.of_draft(conn, user_id, draft_id)
    live = [kept for kept in every if is_live(kept)]
    happening = Happening.ENDED_LIVE if live else Happening.ENDED_NOT_LIVE
    after: dict[str, object] = {
        "status": after_happening(happening, seen.status),
        "last_error": _failures(every),
    }
    if live:
        first = min(live, key=lambda kept: kept.sent_at or now)
        after["posted_at"] = seen.value("posted_at") or first.sent_at or now
        after["post_id"] = seen.value("post_id") or _post_id(first)
    step = Step(kind=EventKind.FIXED, action=happening, after=changes.stored(after), at=now, who=SYSTEM)
    changes.put(conn, user_id, seen, step)


def keep(conn: Connection, user_id: str, kept: KeptDelivery, happened: Happened, now: datetime) -> KeptDelivery | None:
    """Keep what a delivery came to, and what its draft comes to by that; None where it was changed meanwhile."""
    if happened.progress.state is State.SENT:
        happened = replace(happened, figures_at=now + READINGS[0])
    after = delivery_changes.keep(conn, user_id, kept, happened, now)
    if after is not None and after.progress.state in ENDED:
        settle(conn, user_id, kept.draft_id, now)
    return after


def is_live(kept: KeptDelivery) -> bool:
    """Whether people can see something of it."""
    return kept.progress.state is State.SENT or bool(kept.progress.seen(kept.intent))


def _failures(every: Sequence[KeptDelivery]) -> str | None:
    said = [
        f"{kept.label}: {kept.progress.error}"
        for kept in every
        if kept.progress.state is not State.SENT and kept.progress.error
    ]
    return " ".join(said) or None


def _post_id(kept: KeptDelivery) -> str | None:
    visible = kept.progress.seen(kept.intent)
    return visible[0].ids[0] if visible and visible[0].ids else None
