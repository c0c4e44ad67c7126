"""History of drafts in words, for the command line and the console."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from copydesk.model.draft import STATUS_LABELS, Action, ListedDraft
from copydesk.model.transitions import COUNTERSIGN, CREATE, EDIT, USER, DraftEvent, EventKind
from copydesk.text import clean

ACTION_PHRASES = {
    CREATE: "created it",
    EDIT: "edited the text",
    "approve": "approved it",
    COUNTERSIGN: "countersigned it",
    "reject": "rejected it",
    "regenerate": "asked for a new version",
    "unapprove": "withdrew the approval",
    "archive": "archived it",
    "schedule": "scheduled it",
    "reschedule": "rescheduled it",
    "cancel_schedule": "unscheduled it",
    "post": "posted it now",
    "text_written": "generated the text",
    "writing_failed": "failed to generate it",
    "new_version_written": "generated a new version",
    "picked_up": "started posting it",
    "late": "missed its time",
    "source_changed": "held it: its source changed",
    "ended_live": "posted it",
    "ended_not_live": "failed to post it",
}
"""Event action -> phrase after "you" or "the system". Unknown actions are shown as they are."""
REVERSED_PHRASES = {
    EDIT: "editing the text",
    Action.APPROVE: "approving it",
    COUNTERSIGN: "countersigning it",
    Action.REJECT: "rejecting it",
    Action.REGENERATE: "asking for a new version",
    Action.UNAPPROVE: "withdrawing the approval",
    Action.ARCHIVE: "archiving it",
    Action.SCHEDULE: "scheduling it",
    Action.RESCHEDULE: "rescheduling it",
    Action.CANCEL_SCHEDULE: "unscheduling it",
}
"""Action -> phrase after "undid" or "redid"."""
RESULT_PHRASES: Mapping[str, str] = {
    Action.APPROVE: "approved",
    Action.REJECT: "rejected",
    Action.REGENERATE: "regenerating",
    Action.SCHEDULE: "scheduled",
    Action.ARCHIVE: "archived",
    Action.UNAPPROVE: "unapproved",
    Action.RESCHEDULE: "rescheduled",
    Action.CANCEL_SCHEDULE: "unscheduled",
    EDIT: "edited",
    COUNTERSIGN: "countersigned",
}
"""Action -> state of the draft afterwards."""
BLOCKING_PHRASES = {
    CREATE: "it was created",
    "text_written": "the text was generated",
    "writing_failed": "generating it failed",
    "new_version_written": "a new version was generated",
    "post": "it was sent",
    "picked_up": "posting started",
    "late": "it missed its time",
    "source_changed": "it was held because its source changed",
    "ended_live": "it was posted",
    "ended_not_live": "posting it failed",
}
"""Event -> reason why earlier changes cannot be undone."""


class DraftHistory(NamedTuple):
    """History of a draft and of the versions before it."""

    versions: tuple[ListedDraft, ...]
    """All versions, including later ones, oldest first."""
    events: tuple[DraftEvent, ...]
    """Events of this version and the earlier ones, oldest first."""
    lines: tuple[str, ...]
    """The events as text, one line each."""

    def children_of(self, draft_id: str) -> list[str]:
        """Return the ids of the versions generated directly from this one."""
        return [draft.id for draft in self.versions if draft.regenerated_from_id == draft_id]


def describe_event(event: DraftEvent, format_time: Callable[[datetime], str]) -> str:
    """Return an event as one line: time, actor, action, status change, scheduled time, feedback, `undone`."""
    actor = "you" if event.who == USER else f"the {event.who}"
    parts = [
        f"{format_time(event.at)}  {clean(actor)} {_action_phrase(event)}",
        _describe_status_change(event),
    ]
    if isinstance(scheduled_at := event.after.get("scheduled_at"), datetime):
        parts.append(f"for {format_time(scheduled_at)}")
    if event.feedback:
        parts.append(f"“{clean(event.feedback)}”")
    if event.undone:
        parts.append("(undone)")
    return " ".join(part for part in parts if part)


def describe_action(action: str) -> str:
    """Return a short phrase for an action, for use inside a sentence."""
    return BLOCKING_PHRASES.get(action) or (
        f"it was {RESULT_PHRASES[action]}" if action in RESULT_PHRASES else clean(action)
    )


def lineage(versions: Sequence[ListedDraft], draft_id: str) -> list[str]:
    """Return the ids of the draft's ancestors, oldest first, and its own."""
    parents = {draft.id: draft.regenerated_from_id for draft in versions}
    ancestors = [draft_id]
    while (parent := parents[ancestors[0]]) in parents:
        ancestors.insert(0, str(parent))
    return ancestors


def _action_phrase(event: DraftEvent) -> str:
    is_reversal = event.kind in (EventKind.UNDO, EventKind.REDO)
    phrases = REVERSED_PHRASES if is_reversal else ACTION_PHRASES
    phrase = phrases.get(event.action, clean(event.action))
    # A change by the system that sets the text has a phrase that says so.
    if "text" in event.after and event.action != EDIT and event.kind is not EventKind.PERMANENT:
        phrase = f"{phrases[EDIT]} and {phrase}"
    if is_reversal:
        return f"{'undid' if event.kind is EventKind.UNDO else 'redid'} {phrase}"
    return phrase


def _describe_status_change(event: DraftEvent) -> str:
    before, after = (values.get("status") for values in (event.before, event.after))
    if after is None:
        return ""
    label = STATUS_LABELS.get(after, after)
    return f"({label})" if before is None else f"({STATUS_LABELS.get(before, before)} → {label})"
