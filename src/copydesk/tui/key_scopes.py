"""The keys that only some roles may use. The desk refuses as well; a key says so before a form is opened."""

from collections.abc import Mapping

from copydesk.model.role import ACTION_SCOPES, Role, role_problem
from copydesk.model.token import Scope
from copydesk.tui.keys import KEYS
from copydesk.tui.review.refusals import RULES

_REVIEW = (
    "review.restore",
    "review.merge_stories",
    "review.split_story",
    "review.attach_image",
    "review.make_rule",
    "comments.resolve",
    "comments.delete",
    "sources.new",
    "sources.edit",
    "sources.switch",
    "sources.delete",
    "sources.import",
    "experiments.new",
    "experiments.conclude",
    "experiments.archive",
    "engagement.record",
    # Of some sections; the others need more, and the desk says so.
    "setup.edit",
    "setup.connect",
    "setup.use",
    "setup.import",
    "setup.remove",
)
_PUBLISH = (
    "needs_you.posted",
    "needs_you.again",
    "needs_you.drop",
    "needs_you.sign_in",
    "schedule.shift_left",
    "schedule.shift_down",
    "schedule.shift_up",
    "schedule.shift_right",
    "schedule.new_slot",
    "schedule.delete_slot",
    "schedule.fill",
    "schedule.auto",
    "schedule.cancel",
    "schedule.zone",
    "schedule.accept_clock",
)
KEY_SCOPES: Mapping[str, Scope] = {
    **{key_id: ACTION_SCOPES[rule.action] for key_id, rule in RULES.items() if rule.action is not None},
    **dict.fromkeys(_REVIEW, Scope.REVIEW),
    **dict.fromkeys(_PUBLISH, Scope.PUBLISH),
}
"""The scope that a key needs, whatever it acts on."""
_DESCRIPTIONS = {key.id: key.description.partition(",")[0].partition(";")[0].partition(":")[0] for key in KEYS}


def key_problem(key_id: str, role: Role | None, needed: Scope | None = None) -> str:
    """Return why a key can do nothing for a caller with this role; empty if it can.

    `needed` is the scope that it needs for what it acts on, by default the one that it always needs.
    """
    needed = needed or KEY_SCOPES.get(key_id)
    return role_problem(role, needed, f"“{_DESCRIPTIONS[key_id]}”") if needed is not None else ""
