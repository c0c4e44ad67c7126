"""Begins the deliveries of a draft: one to each account that it goes to, in the transaction that lets it go."""

import hashlib
import unicodedata
from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace
from sqlalchemy import Connection

from copydesk.model.account import ConnectedAccount
from copydesk.model.delivery import State
from copydesk.posting.delivery import sent_again
from copydesk.posting.keys import first_seed
from copydesk.store import changes, deliveries, delivery_changes
from copydesk.store.deliveries import KeptDelivery
from copydesk.store.delivery_changes import Anew, Happened, Planned
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

    Where the draft is live already, or may be, nothing is begun. A delivery that ended without that is begun once
    more, from its first missing post and under other keys: by now the text may be another one.
    """
    seen = changes.one_seen(conn, user_id, draft_id, whole=True)
    digest = digest_of(seen.value("text"))
    every = deliveries.of_draft(conn, user_id, draft_id)
    before = [(each, standing(every, each)) for each in to]
    taken = {(kept.platform, kept.account) for kept in every}
    new: list[Planned] = []
    for each in (account for account, kept in before if kept is None):
        platform, name = each.details.platform, each.details.name
        if (platform, name) in taken:  # people's names need not be theirs alone
            name = f"{name} ({each.id})"
        taken.add((platform, name))
        new.append(
            Planned(
                id=new_id(now),
                account_id=each.id,
                platform=platform,
                account=name,
                digest=digest,
                seed=first_seed(draft_id, f"{platform}:{each.details.id}@{each.details.server}", due),
                trouble=each.trouble or "",
            )
        )
    delivery_changes.plan(conn, user_id, draft_id, seen.format, new, due, now)
    once_more = [(each, kept) for each, kept in before if kept and not may_be_live(kept)]
    for each, kept in once_more:
        progress = replace(sent_again(kept.progress, kept.intent), error=each.trouble or "")
        anew = Anew(account_id=each.id, seed=new_id(now), digest=digest, due_at=due, anyway=False)
        begun = Happened(progress=progress, what="planned", says=progress.error, anew=anew)
        delivery_changes.keep(conn, user_id, kept, begun, now)
    return (*(each.id for each in new), *(kept.id for _, kept in once_more))


def standing(every: Sequence[KeptDelivery], account: ConnectedAccount) -> KeptDelivery | None:
    """The delivery of these that is to the account; one that was removed and has its name is the same one."""
    label = (account.details.platform, account.details.name)
    own = [kept for kept in every if kept.account_id == account.id]
    orphans = [kept for kept in every if kept.account_id is None and (kept.platform, kept.account) == label]
    return next(iter(own + orphans), None)


def may_be_live(kept: KeptDelivery) -> bool:
    """Whether the draft is there, or was given up while nobody knew: sent by itself it could be there twice."""
    return kept.progress.state is State.SENT or kept.progress.doubt


def digest_of(text: str) -> str:
    """The same for texts that readers take for the same."""
    plain = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:32]
