"""What was done to drafts, in words: as the command line prints it and the console shows it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from copydesk.model.draft import Action, ListedDraft
from copydesk.model.history import CREATE, EDIT, USER, DraftEvent, EventKind
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk

WORDS = {
    CREATE: "made it",
    EDIT: "edited the text",
    "approve": "approved it",
    "reject": "rejected it",
    "regenerate": "asked for a new version",
    "unapprove": "took the approval back",
    "archive": "archived it",
    "schedule": "scheduled it",
    "reschedule": "gave it another time",
    "cancel_schedule": "took its time away",
    "post": "had it sent at once",
    "text_written": "wrote the text",
    "writing_failed": "could not write it",
    "new_version_written": "wrote a new version",
    "picked_up": "began to post it",
    "late": "found it too late to be sent",
    "ended_live": "posted it",
    "ended_not_live": "could not post it",
}
"""What happened, in words; another name stands for itself."""
DONE: Mapping[str, str] = {
    Action.APPROVE: "approved",
    Action.REJECT: "rejected",
    Action.REGENERATE: "to be written anew",
    Action.SCHEDULE: "scheduled",
    Action.ARCHIVE: "archived",
    Action.UNAPPROVE: "no longer approved",
    Action.RESCHEDULE: "rescheduled",
    Action.CANCEL_SCHEDULE: "no longer scheduled",
    EDIT: "edited",
}
"""What drafts are after an action."""
SINCE = {
    CREATE: "it was made",
    "text_written": "the text was written",
    "writing_failed": "it could not be written",
    "new_version_written": "a new version was written",
    "post": "it was sent",
    "picked_up": "posting has begun",
    "late": "it was too late to be sent",
    "ended_live": "it was posted",
    "ended_not_live": "it could not be posted",
}
"""What happened that closes a draft's history, as a reason why something cannot be undone."""


class Story(NamedTuple):
    """What happened to a draft and to the versions before it."""

    versions: tuple[ListedDraft, ...]
    """Every version, those after it too, the oldest first."""
    events: tuple[DraftEvent, ...]
    """What happened to it and to those before it, from the beginning."""
    lines: tuple[str, ...]
    """Each event on one line."""

    def newer_than(self, draft_id: str) -> list[str]:
        """The ids of the versions that were made of this one."""
        return [each.id for each in self.versions if each.regenerated_from_id == draft_id]


async def story_of(desk: "Desk", draft_id: str, states: Mapping[str, str] | None = None) -> Story:
    """The story of a draft, its states called as in `states`; NotFoundError."""
    versions = await desk.drafts.versions(draft_id)
    events = [event for each in _up_to(versions, draft_id) for event in await desk.drafts.history(each)]
    times = [each.after.get("scheduled_at") or each.at for each in events]
    shown, scheduled = await desk.schedule.shown(*(each.at for each in events)), await desk.schedule.shown(*times)
    lines = [told(event, at, time, states or {}) for event, at, time in zip(events, shown, scheduled, strict=True)]
    return Story(versions=versions, events=tuple(events), lines=tuple(lines))


def told(event: DraftEvent, at: str, scheduled: str, states: Mapping[str, str]) -> str:
    """One event on one line: when, who, what, from where to where, why, and whether it still counts."""
    who = "you" if event.who == USER else f"the {event.who}"
    said = [f"{at}  {clean(who)} {_what(event)}", _way(event, states)]
    if isinstance(event.after.get("scheduled_at"), datetime):
        said.append(f"for {scheduled}")
    if event.feedback:
        said.append(f"“{clean(event.feedback)}”")
    if event.undone:
        said.append("(undone)")
    return " ".join(part for part in said if part)


def happened(action: str) -> str:
    """What was done to a draft, in a few words for the middle of a sentence; another name stands for itself."""
    return SINCE.get(action) or (f"it was {DONE[action]}" if action in DONE else clean(action))


def _up_to(versions: Sequence[ListedDraft], draft_id: str) -> list[str]:
    """The ids of the versions that led to a draft, the oldest first, and its own."""
    before = {each.id: each.regenerated_from_id for each in versions}
    line = [draft_id]
    while (earlier := before[line[0]]) in before:
        line.insert(0, str(earlier))
    return line


def _what(event: DraftEvent) -> str:
    words = WORDS.get(event.action, clean(event.action))
    if event.kind is EventKind.UNDO:
        return f"undid version {event.of_version}: {words}"
    if event.kind is EventKind.REDO:
        return f"did again: {words}"
    edited = "text" in event.after and event.action != EDIT and event.kind is EventKind.CHANGE
    return f"{WORDS[EDIT]} and {words}" if edited else words


def _way(event: DraftEvent, states: Mapping[str, str]) -> str:
    before, after = (each.get("status") for each in (event.before, event.after))
    if after is None:
        return ""
    to = states.get(after, after)
    return f"({to})" if before is None else f"({states.get(before, before)} → {to})"
