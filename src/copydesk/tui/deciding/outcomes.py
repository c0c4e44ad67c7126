"""What came of what was done to drafts, in one sentence for a toast. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from copydesk.desk.story import DONE
from copydesk.model.draft import Action, Status
from copydesk.model.history import EDIT, EventKind, Undone
from copydesk.model.transitions import ACTIONS
from copydesk.text import clean
from copydesk.tui.asking import GONE, known
from copydesk.tui.naming import key
from copydesk.tui.words import plural

LISTED = 3
"""Failures that a toast has room for."""
LONGEST = 40
"""Characters of a draft's first line that name it."""
TAKEN = {
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
"""What an undo takes back."""


class Outcome(NamedTuple):
    """What became of the drafts that something was done to."""

    action: str
    succeeded: tuple[str, ...]
    failed: Mapping[str, str] = {}
    """Ids, and why not."""
    how: str = ""
    """Said after the action: `for Thu 12 Feb, 09:00`."""
    kind: EventKind = EventKind.CHANGE
    names: Mapping[str, str] = {}
    """What some of the drafts are called."""
    left: int = 0
    """How many came since the list was read, and were left as they are."""
    refused: bool = False
    """Whether it failed because their state does not allow it, and for nothing else."""

    @property
    def status(self) -> Status | None:
        """The state that the action leads to; None where it leaves it."""
        return ACTIONS[Action(self.action)].to if self.action != EDIT else None


def name_of(text: str) -> str:
    """What a draft is called in a sentence: its first words."""
    line = next((line for line in text[:1000].splitlines() if line.strip()), "")
    line = " ".join(clean(line).split())
    return f"“{line[: LONGEST - 1]}…”" if len(line) > LONGEST else f"“{line}”" if line else "A draft without text"


def undo_key() -> str:
    """Said after what can be taken back."""
    return f"{key('review.undo')} undo"


def redo_key() -> str:
    """Said after what was taken back."""
    return f"{key('review.redo')} redo"


def done(words: Counter[str]) -> str:
    """Of single decisions in a row: `Approved · u undo`, `12 approved, 3 rejected · u undo`."""
    if words.total() == 1:
        (word,) = words
        return f"{word[:1].upper()}{word[1:]} · {undo_key()}"
    return f"{', '.join(f'{number} {word}' for word, number in words.items())} · {undo_key()}"


def word_of(outcome: Outcome) -> str:
    """`approved`, `scheduled for Thu 12 Feb, 09:00`."""
    return f"{DONE[outcome.action]} {outcome.how}".strip()


def bulk(outcome: Outcome) -> str:
    """`48 approved, 2 not: “A missing index…”: This draft is posted … · u undo`."""
    sentence = f"{len(outcome.succeeded)} {word_of(outcome)}"
    if outcome.left:
        sentence += f", {outcome.left} that came since {'was' if outcome.left == 1 else 'were'} left"
    if outcome.failed:
        sentence += f", {len(outcome.failed)} not: {failures(outcome)}"
    return f"{sentence} · {undo_key()}" if outcome.succeeded else sentence


def stopped(action: str, done: int, left: int) -> str:
    """Of a bulk in the middle of which the console ended."""
    rest = "draft was left as it was" if left == 1 else "drafts were left as they were"
    return f"{done:,} {DONE[action]}; {left:,} more {rest}. `copydesk draft undo` takes back what was done."


def stopped_back(done: Undone, *, undo: bool) -> str:
    """Of an undo or a redo in the middle of which the console ended."""
    what = f"{'Took back' if undo else 'Did again'} {TAKEN.get(done.action, clean(done.action))}"
    rest = f"`copydesk draft {'undo' if undo else 'redo'}` goes on with the other {done.left:,}."
    return f"{what} of {plural(len(done.succeeded), 'draft')}, then you quit. {rest}"


def failures(outcome: Outcome) -> str:
    """The first of them by name, each with the reason."""
    said = [_failure(outcome, draft_id, why) for draft_id, why in _first(outcome.failed)]
    left = len(outcome.failed) - len(said)
    return " ".join(said) + (f" And {left} more." if left > 0 else "")


def _failure(outcome: Outcome, draft_id: str, why: str) -> str:
    """One that has no name is there no more."""
    name = outcome.names.get(draft_id)
    return f"{name}: {why}" if name and why != GONE else GONE


def named_failures(failed: Mapping[str, str]) -> list[str]:
    """The ids of those that `failures` names."""
    return [draft_id for draft_id, _ in _first(failed)]


def back(outcome: Outcome) -> str:
    """What an undo or a redo did: `Took back the approval of “A missing index…” · Ctrl+r redo`."""
    undo = outcome.kind is EventKind.UNDO
    what = TAKEN.get(outcome.action, clean(outcome.action))
    names = list(outcome.names.values())
    of = names[0] if len(outcome.succeeded) == 1 and names else plural(len(outcome.succeeded), "draft")
    sentence = f"{'Took back' if undo else 'Did again'} {what} of {of}"
    if outcome.failed:
        sentence += f", not of {len(outcome.failed)}: {failures(outcome)}"
    return f"{sentence} · {redo_key() if undo else undo_key()}"


def _first(failed: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    return list(failed.items())[:LISTED]


def words_of(error: Exception) -> str:
    """What went wrong, for the user."""
    return str(known(error))
