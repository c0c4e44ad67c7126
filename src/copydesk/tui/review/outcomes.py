"""Describe the results of actions on drafts in one sentence for a toast. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from copydesk.desk.drafts.history_text import RESULT_PHRASES
from copydesk.model.draft import Action, Status
from copydesk.model.history import EDIT, EventKind, UndoResult
from copydesk.model.transitions import ACTIONS
from copydesk.text import clean
from copydesk.text.formatting import plural
from copydesk.tui.keys import key_label
from copydesk.tui.runtime.desk_tasks import DRAFT_DELETED_MESSAGE, to_copydesk_error

MAX_LISTED = 3
"""Failures listed in a toast."""
MAX_NAME_LENGTH = 40
"""Characters of a draft's first line that identify it."""
UNDO_NAMES = {
    EDIT: "the edit",
    Action.APPROVE: "the approval",
    Action.REJECT: "the rejection",
    Action.REGENERATE: "the wish for a new version",
    Action.UNAPPROVE: "the way back to review",
    Action.ARCHIVE: "the archiving",
    Action.SCHEDULE: "the time",
    Action.RESCHEDULE: "the other time",
    Action.CANCEL_SCHEDULE: "the cancelled time",
}
"""The name of an action in the description of its undo."""


class Outcome(NamedTuple):
    """The result of an action on one or more drafts."""

    action: str
    succeeded: tuple[str, ...]
    failed: Mapping[str, str] = {}
    """Errors by draft id."""
    detail: str = ""
    """Appended to the action: `for Thu 12 Feb, 09:00`."""
    kind: EventKind = EventKind.CHANGE
    names: Mapping[str, str] = {}
    """Names of some of the drafts by id."""
    skipped: int = 0
    """Number of drafts left unchanged because they arrived after the list was loaded."""
    refused: bool = False
    """True if it failed only because the draft's status does not allow the action."""

    @property
    def status(self) -> Status | None:
        """The status that the action leads to; None if it does not change the status."""
        return ACTIONS[Action(self.action)].to_status if self.action != EDIT else None


def draft_name(text: str) -> str:
    """Return the name of a draft in a sentence: the start of its first line, in quotes."""
    # Cut first: the text may be long, and only its first line is needed.
    line = next((line for line in text[:1000].splitlines() if line.strip()), "")
    line = " ".join(clean(line).split())
    return (
        f"“{line[: MAX_NAME_LENGTH - 1]}…”"
        if len(line) > MAX_NAME_LENGTH
        else f"“{line}”"
        if line
        else "A draft without text"
    )


def undo_hint() -> str:
    """Return the hint appended to what can be undone."""
    return f"{key_label('review.undo')} undo"


def redo_hint() -> str:
    """Return the hint appended to an undo."""
    return f"{key_label('review.redo')} redo"


def describe_actions(counts: Counter[str]) -> str:
    """Describe single actions in a row: `Approved · u undo`, `12 approved, 3 rejected · u undo`."""
    if counts.total() == 1:
        (word,) = counts
        return f"{word[:1].upper()}{word[1:]} · {undo_hint()}"
    return f"{', '.join(f'{number} {participle}' for participle, number in counts.items())} · {undo_hint()}"


def describe_action(outcome: Outcome) -> str:
    """Return the past participle of the action and its details: `approved`, `scheduled for Thu 12 Feb, 09:00`."""
    return f"{RESULT_PHRASES[outcome.action]} {outcome.detail}".strip()


def describe_bulk(outcome: Outcome) -> str:
    """Describe a bulk action: `48 approved, 2 not: “A missing index…”: This draft is posted … · u undo`."""
    sentence = f"{len(outcome.succeeded)} {describe_action(outcome)}"
    if outcome.skipped:
        sentence += f", {outcome.skipped} that came since {'was' if outcome.skipped == 1 else 'were'} left"
    if outcome.failed:
        sentence += f", {len(outcome.failed)} not: {format_failures(outcome)}"
    # If every draft failed there is nothing to undo.
    return f"{sentence} · {undo_hint()}" if outcome.succeeded else sentence


def describe_interrupted_bulk(action: str, count: int, left: int) -> str:
    """Describe a bulk action that was interrupted because the console exited."""
    rest = "draft was left as it was" if left == 1 else "drafts were left as they were"
    return f"{count:,} {RESULT_PHRASES[action]}; {left:,} more {rest}. `copydesk draft undo` takes back what was done."


def describe_interrupted_undo(undone: UndoResult, *, undo: bool) -> str:
    """Describe an undo or redo that was interrupted because the console exited."""
    what = f"{'Took back' if undo else 'Did again'} {UNDO_NAMES.get(undone.action, clean(undone.action))}"
    rest = f"`copydesk draft {'undo' if undo else 'redo'}` goes on with the other {undone.left:,}."
    return f"{what} of {plural(len(undone.succeeded), 'draft')}, then you quit. {rest}"


def format_failures(outcome: Outcome) -> str:
    """Return the first failures by name, each with its reason."""
    listed = [_failure(outcome, draft_id, reason) for draft_id, reason in _first(outcome.failed)]
    remaining = len(outcome.failed) - len(listed)
    return " ".join(listed) + (f" And {remaining} more." if remaining > 0 else "")


def _failure(outcome: Outcome, draft_id: str, reason: str) -> str:
    """Return one failure; a draft without a name was deleted."""
    name = outcome.names.get(draft_id)
    return f"{name}: {reason}" if name and reason != DRAFT_DELETED_MESSAGE else DRAFT_DELETED_MESSAGE


def listed_failure_ids(failed: Mapping[str, str]) -> list[str]:
    """Return the ids of the drafts that `format_failures` lists."""
    return [draft_id for draft_id, _ in _first(failed)]


def describe_undo(outcome: Outcome) -> str:
    """Describe an undo or redo: `Took back the approval of “A missing index…” · Ctrl+r redo`."""
    undo = outcome.kind is EventKind.UNDO
    what = UNDO_NAMES.get(outcome.action, clean(outcome.action))
    names = list(outcome.names.values())
    of = names[0] if len(outcome.succeeded) == 1 and names else plural(len(outcome.succeeded), "draft")
    sentence = f"{'Took back' if undo else 'Did again'} {what} of {of}"
    if outcome.failed:
        sentence += f", not of {len(outcome.failed)}: {format_failures(outcome)}"
    return f"{sentence} · {redo_hint() if undo else undo_hint()}"


def _first(failed: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    return list(failed.items())[:MAX_LISTED]


def error_message(error: Exception) -> str:
    """Return the error message for the user."""
    return str(to_copydesk_error(error))
