"""Begins the deliveries of a draft: one to each account that it goes to, in the transaction that lets it go."""

import hashlib
import unicodedata
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from copydesk.model.account import ConnectedAccount
from copydesk.model.delivery import Delivery, State
from copydesk.store import changes, deliveries
from copydesk.store.deliveries import Happened, KeptDelivery, Planned
from copydesk.store.ids import new_id


def plan(
    conn: Connection,
    user_id: str,
    draft_id: str,
    to: Sequence[ConnectedAccount],
    due: datetime,
    now: datetime,
) -> tuple[str, ...]:
    """Begin deliveries to these accounts; the ids of the deliveries that are under way then.

    Where the draft is live already nothing is begun. A delivery that ended without that is begun once more, from its
    first missing post and under other keys: by now the text may be another one.
    """
    seen = changes.one_seen(conn, user_id, draft_id, whole=True)
    digest = digest_of(seen.value("text"))
    before = {kept.account_id: kept for kept in deliveries.of_draft(conn, user_id, draft_id)}
    new = [
        Planned(
            id=new_id(now),
            account_id=each.id,
            platform=each.details.platform,
            account=each.details.name,
            digest=digest,
        )
        for each in to
        if each.id not in before
    ]
    deliveries.plan(conn, user_id, draft_id, seen.format, new, due, now)
    once_more = [kept for each in to if (kept := before.get(each.id)) and kept.progress.state is not State.SENT]
    for kept in once_more:
        _begin_again(conn, user_id, kept, digest, due, now)
    return (*(each.id for each in new), *(kept.id for kept in once_more))


def digest_of(text: str) -> str:
    """The same for texts that readers take for the same."""
    plain = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _begin_again(conn: Connection, user_id: str, kept: KeptDelivery, digest: str, due: datetime, now: datetime) -> None:
    progress = Delivery(steps=kept.progress.steps, made=kept.progress.made)
    begun = Happened(progress=progress, what="planned", seed=new_id(now), anyway=False)
    deliveries.again(conn, user_id, kept, begun, due, now, digest)
