"""What happens to deliveries. Each step is a compare-and-set on the version that was seen."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from msgspec.structs import asdict, replace
from sqlalchemy import Connection, Update, bindparam, insert, update

from copydesk.model.delivery import Delivery, Intent, State
from copydesk.model.draft import Format
from copydesk.model.engagement import DeliveryStatus
from copydesk.model.wire import Struct
from copydesk.store.deliveries import KeptDelivery
from copydesk.store.tables import delivery, delivery_event, engagement

OPEN = (State.PLANNED, State.SENDING, State.UNKNOWN)
"""Something is still done about these."""
_TELL = insert(delivery_event)


class Planned(Struct, frozen=True):
    """A delivery that is to begin."""

    id: str
    account_id: str
    platform: str
    account: str
    digest: str
    seed: str
    trouble: str = ""
    """Why nothing can go to the account for now."""


class Anew(Struct, frozen=True):
    """What a delivery that begins once more has from then on; what is sent is settled anew."""

    account_id: str | None
    seed: str
    digest: str
    due_at: datetime
    anyway: bool


class Happened(Struct, frozen=True):
    """What a delivery comes to, and what is told of it."""

    progress: Delivery
    what: str
    says: str = ""
    intent: Intent | None = None
    """Kept from the moment when it is settled."""
    anew: Anew | None = None
    """Where it begins once more."""
    figures_at: datetime | None = None
    """When the figures of what is sent now are read first."""


def plan(
    conn: Connection, user_id: str, draft_id: str, format: Format, each: Sequence[Planned], due: datetime, now: datetime
) -> None:
    """Begin deliveries of a draft."""
    for one_ in each:
        progress = Delivery(error=one_.trouble)
        conn.execute(
            insert(engagement).values(
                id=one_.id,
                user_id=user_id,
                draft_id=draft_id,
                platform=one_.platform,
                account=one_.account,
                format=format,
                created_at=now,
                **_in_words(progress, now),
            )
        )
        conn.execute(
            insert(delivery).values(
                id=one_.id,
                user_id=user_id,
                draft_id=draft_id,
                account_id=one_.account_id,
                state=State.PLANNED,
                due_at=due,
                seed=one_.seed,
                digest=one_.digest,
                progress=progress,
            )
        )
        _tell(conn, user_id, one_.id, "planned", one_.trouble, now)


def keep(conn: Connection, user_id: str, seen: KeptDelivery, happened: Happened, now: datetime) -> KeptDelivery | None:
    """Keep what a delivery came to; None, and nothing is kept, where somebody else changed it since it was seen."""
    progress = happened.progress
    values: dict[str, Any] = {
        "state": progress.state,
        "version": seen.version + 1,
        "not_before": progress.not_before,
        "progress": progress,
    }
    if happened.intent is not None:
        values["intent"] = happened.intent
    if happened.anew is not None:
        values |= {"intent": None, **asdict(happened.anew)}
    if progress.state is State.SENT:
        values |= {"sent_at": now, "figures_at": happened.figures_at}
    as_seen = {"b_user": user_id, "b_id": seen.id, "b_version": seen.version}
    if conn.execute(_changing(tuple(values)), as_seen | values).rowcount == 0:
        return None
    record = _record(seen, happened, now)
    conn.execute(_recording(tuple(record)), {"b_user": user_id, "b_id": seen.id, **record})
    _tell(conn, user_id, seen.id, happened.what, happened.says, now)
    known = {name: value for name, value in values.items() if name in KeptDelivery.__struct_fields__}
    return replace(seen, **known)


@cache
def _changing(names: tuple[str, ...]) -> Update:
    """Built once for each set of columns, for it is run for every step of every delivery."""
    mine = delivery.c.user_id == bindparam("b_user")
    as_seen = (mine, delivery.c.id == bindparam("b_id"), delivery.c.version == bindparam("b_version"))
    return update(delivery).where(*as_seen).values({name: bindparam(name) for name in names})


@cache
def _recording(names: tuple[str, ...]) -> Update:
    """As above, for the same in the interface's words."""
    mine = (engagement.c.user_id == bindparam("b_user"), engagement.c.id == bindparam("b_id"))
    return update(engagement).where(*mine).values({name: bindparam(name) for name in names})


def read_at(conn: Connection, user_id: str, delivery_id: str, at: datetime | None) -> None:
    """Note when the figures of a post are read next; None for never again."""
    mine = (delivery.c.user_id == user_id, delivery.c.id == delivery_id)
    conn.execute(update(delivery).where(*mine).values(figures_at=at))


def measure_now(conn: Connection, user_id: str, draft_ids: Sequence[str], now: datetime) -> int:
    """Note that the figures of these drafts' posts are to be read now, where they are there; of how many posts."""
    there = (delivery.c.sent_at.is_not(None), delivery.c.gone_at.is_(None))
    mine = (delivery.c.user_id == user_id, delivery.c.draft_id.in_(draft_ids))
    return conn.execute(update(delivery).where(*mine, *there).values(figures_at=now)).rowcount


def gone(conn: Connection, user_id: str, delivery_id: str, now: datetime) -> None:
    """Note that a post is not there any more; its figures stay as they were last."""
    mine = (delivery.c.user_id == user_id, delivery.c.id == delivery_id)
    conn.execute(update(delivery).where(*mine).values(gone_at=now, figures_at=None))
    _tell(conn, user_id, delivery_id, "gone", "", now)


def _record(seen: KeptDelivery, happened: Happened, now: datetime) -> dict[str, object]:
    """The delivery in the interface's words."""
    visible = happened.progress.seen(happened.intent or seen.intent)
    post_id = {"post_id": visible[0].ids[0]} if visible and visible[0].ids else {}
    return {**_in_words(happened.progress, now), **post_id}


def _in_words(progress: Delivery, now: datetime) -> dict[str, object]:
    status, says = _STATUS[progress.state], progress.error
    if progress.state is State.PLANNED and (progress.attempts or says):
        status = DeliveryStatus.FAILED  # and is tried again, or waits for the user
    if progress.state in (State.UNKNOWN, State.NEEDS_USER):
        says = f"It is not known whether it was posted. {says}".strip()
    failed = status in (DeliveryStatus.FAILED, DeliveryStatus.ABANDONED)
    return {
        "status": status,
        "retry_count": progress.retries,
        "retry_after": progress.not_before if progress.state in OPEN else None,
        "error_message": says or None,
        "failed_at": now if failed else None,
    }


_STATUS = {
    State.PLANNED: DeliveryStatus.PENDING,
    State.SENDING: DeliveryStatus.PENDING,
    State.UNKNOWN: DeliveryStatus.PENDING,
    State.NEEDS_USER: DeliveryStatus.PENDING,
    State.SENT: DeliveryStatus.POSTED,
    State.FAILED: DeliveryStatus.FAILED,
    State.ABANDONED: DeliveryStatus.ABANDONED,
}


def _tell(conn: Connection, user_id: str, delivery_id: str, what: str, says: str, now: datetime) -> None:
    values = {"user_id": user_id, "delivery_id": delivery_id, "at": now, "what": what, "says": says}
    conn.execute(_TELL, values)
