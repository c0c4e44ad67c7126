"""Reasons why a key does nothing to a draft, from the table of transitions. Known before anything is prompted for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from copydesk.errors import ConflictError
from copydesk.model.draft import TO_REVIEW, Action, Status
from copydesk.model.transitions import ACTIONS, EDIT_STATUSES, next_status, status_after_edit
from copydesk.tui import labels


class _Rule(NamedTuple):
    action: Action | None
    """The action that the error names; None for an edit."""
    statuses: frozenset[Status]
    """The states in which the key does something."""
    otherwise: str = ""
    """Why it does nothing in the others; empty if the table of transitions says so."""


def _rule(action: Action, *more: Status) -> _Rule:
    return _Rule(action, frozenset((*ACTIONS[action].from_statuses, *more)))


_EDIT = _Rule(None, frozenset(EDIT_STATUSES))
RULES: Mapping[str, _Rule] = {
    "review.approve": _rule(Action.APPROVE),
    "review.reject": _rule(Action.REJECT),
    "review.regenerate": _rule(Action.REGENERATE),
    "review.archive": _rule(Action.ARCHIVE),
    "review.unapprove": _rule(Action.UNAPPROVE),
    "review.cancel_schedule": _rule(Action.CANCEL_SCHEDULE),
    # A draft under review is approved first.
    "review.schedule": _rule(Action.SCHEDULE, *TO_REVIEW),
    "review.schedule_at": _rule(Action.SCHEDULE, *TO_REVIEW, *ACTIONS[Action.RESCHEDULE].from_statuses),
    "review.post": _rule(Action.POST, *TO_REVIEW),
    # Of a draft that is being posted, one of several deliveries may have an unknown outcome.
    "review.mark_posted": _rule(Action.POST, Status.POSTING)._replace(otherwise=labels.NO_DELIVERY_IN_DOUBT),
    "review.edit": _EDIT,
    "review.edit_outside": _EDIT,
}
"""The keys that change a draft."""
EDIT_KEYS = frozenset(key_id for key_id, rule in RULES.items() if rule is _EDIT)
NEED_DRAFT = frozenset(
    {
        *RULES,
        "list.open",
        *(
            f"review.{name}"
            for name in ("restore", "split_story", "attach_image", "make_rule", "copy_text", "copy_link")
        ),
        *(
            f"review.{name}"
            for name in ("difference", "history", "comments", "prompt", "mark", "mark_range", "mark_all")
        ),
        "review.open_link",
    }
)
"""The keys that do nothing in an empty list."""


def refusal(key_id: str, status: Status, *, archived: bool) -> str:
    """Return why the key does nothing to a draft in this state, and which keys do; empty if it does something."""
    if key_id == "review.restore":
        return "" if archived else labels.NOT_ARCHIVED
    rule = RULES.get(key_id)
    if rule is None or (not archived and status in rule.statuses):
        return ""
    if rule.otherwise and not archived:
        return rule.otherwise
    try:
        if rule.action is None:
            status_after_edit(status, archived=archived)
        else:
            next_status(rule.action, status, archived=archived)
    except ConflictError as error:
        return str(error)
    return ""


class Split(NamedTuple):
    """The drafts of a bulk action."""

    possible: tuple[str, ...]
    refused: Mapping[str, str]
    """Draft id -> why its state does not allow the action, in a word or two."""


def split(actions: Iterable[Action], ids: Sequence[str], states: Mapping[str, tuple[Status, bool]]) -> Split:
    """Split drafts by whether their states allow one of the actions.

    A draft without a state was deleted; the desk reports it.
    """
    first, *others = actions
    allowed = frozenset(status for action in (first, *others) for status in ACTIONS[action].from_statuses)
    refused = {
        draft_id: labels.skip_reason(first, *states[draft_id])
        for draft_id in ids
        if draft_id in states and (states[draft_id][1] or states[draft_id][0] not in allowed)
    }
    return Split(tuple(draft_id for draft_id in ids if draft_id not in refused), refused)
