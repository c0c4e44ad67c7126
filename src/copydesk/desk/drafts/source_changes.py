"""Hold approved drafts whose source changed in substance, or vanished, after the approval.

Compared is what the pipeline fetches in any case; nothing is requested for it. A held draft goes back to review with
its reason and keeps its time: approved again or edited before then, it goes out as scheduled.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from copydesk.model.draft import Field
from copydesk.model.item import Entry
from copydesk.model.transitions import SystemEvent
from copydesk.ranking.canonical_url import canonical_url
from copydesk.store import draft_updates, drafts, items
from copydesk.store.database import Transaction
from copydesk.store.drafts import ApprovedDraft

MAX_TITLE = 120
"""Characters of a title in a reason."""
_COUNTED = r"(?:comments?|points?|replies|votes?|views?|likes?|shares?)"
# A count has few digits: of a long list of numbers, each would be read to the end of the list.
_COUNTS = re.compile(rf"\b\d[\d,.]{{0,14}}+k?\s{{0,3}}{_COUNTED}\b|\b{_COUNTED}:?\s{{0,3}}\d[\d,.]*", re.IGNORECASE)
_WORDS = re.compile(r"\w+")


def describe_change(old: Entry, new: Entry, quoted: Sequence[str] | None = None) -> str:
    """Return the change of a source's entry in a few words; "" if it is none in substance.

    The text changed if one of the passages `quoted` is gone; if they are not known (None), if anything in it differs.

    Not in substance: space, case, punctuation, tracking parameters, counts of comments and the like, and a text that is
    shortened or left out, as feeds do with older entries.
    """
    changes = []
    if _words(old.title) != _words(new.title):
        changes.append(f"the title is now “{new.title[:MAX_TITLE]}”")
    if canonical_url(old.url or "") != canonical_url(new.url or ""):
        changes.append(f"the link is now {new.url}" if new.url else "the link is gone")
    texts = ((old.summary, new.summary), (old.text, new.text))
    rewritten = [before for before, after in texts if _is_rewritten(before, after)]
    if quoted is not None:
        everything = f"{new.summary} {new.text}"
        lost = [passage for passage in quoted if not _has(everything, passage)]
        rewritten = [before for before in rewritten if any(_has(before, passage) for passage in lost)]
    if rewritten:
        changes.append("the text changed")
    return ", ".join(changes)


def _is_rewritten(old: str, new: str) -> bool:
    # A source that only now brings a text may have changed nothing.
    return bool(_words(old)) and not _words(old).startswith(_words(new))


def _has(text: str, passage: str) -> bool:
    # With spaces around, so that 5 is not found in 50.
    return f" {_words(passage)} " in f" {_words(text)} "


def _words(text: str) -> str:
    return " ".join(_WORDS.findall(_COUNTS.sub(" ", text).casefold()))


def hold_changed(conn: Transaction, user_id: str, changed: Sequence[tuple[str, Entry]], now: datetime) -> None:
    """Hold the approved drafts of items whose entries change: (item id, new entry). Call it before they are updated."""
    # As with nearly every fetch. Building the query alone costs half as much as storing the entries.
    if not changed:
        return
    new_entries = dict(changed)
    old_entries = {item.id: item.entry for item in items.list_approved(conn, user_id, new_entries)}
    changes: dict[str, list[str]] = {}
    for draft in drafts.list_approved(conn, user_id, old_entries):
        old, new = old_entries[draft.item_id], new_entries[draft.item_id]
        if change := describe_change(old, new, _quoted_passages(draft)):
            origin = "" if draft.is_lead else f" “{old.title[:MAX_TITLE]}”"
            changes.setdefault(draft.id, []).append(f"its source{origin} changed since you approved it: {change}")
    for draft_id, reasons in changes.items():
        _hold(conn, user_id, draft_id, f"Held: {'; '.join(reasons)}.", now)


def _quoted_passages(draft: ApprovedDraft) -> Sequence[str] | None:
    if draft.sentences:
        item_id = None if draft.is_lead else draft.item_id
        return [
            trace.text
            for trace in draft.sentences
            if trace.field in {Field.SUMMARY, Field.TEXT} and trace.item_id == item_id
        ]
    # Some feeds change their texts at every fetch: where quotes are not known, the text counts only once.
    return () if draft.was_held else None


def hold_removed(conn: Transaction, user_id: str, source_id: str, idents: Sequence[str], now: datetime) -> None:
    """Hold the approved drafts of entries that the source deleted."""
    if not idents:
        return
    entries = [Entry(ident=ident, alias=ident, title="") for ident in idents]
    item_ids = [item.id for item in items.find_existing(conn, user_id, source_id, entries)]
    hold_drafts(conn, user_id, item_ids, "Held: its source deleted it.", now)


def hold_gone(conn: Transaction, user_id: str, source_id: str, now: datetime) -> None:
    """Hold the approved drafts of a source that answered 410 Gone."""
    item_ids = items.list_approved_ids(conn, user_id, source_id)
    hold_drafts(conn, user_id, item_ids, "Held: its source is gone (410).", now)


def hold_drafts(conn: Transaction, user_id: str, item_ids: Iterable[str], reason: str, now: datetime) -> None:
    """Move the approved drafts of the items back to review, with the reason."""
    for draft_id in dict.fromkeys(draft.id for draft in drafts.list_approved(conn, user_id, item_ids)):
        _hold(conn, user_id, draft_id, reason, now)


def _hold(conn: Transaction, user_id: str, draft_id: str, reason: str, now: datetime) -> None:
    snapshot = draft_updates.load_snapshot(conn, user_id, draft_id)
    draft_updates.apply_system_event(conn, user_id, snapshot, SystemEvent.SOURCE_CHANGED, {"last_error": reason}, now)
