"""Forms of the setup for the ranking: preview and save a change of it, and change a rule."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from textual.app import ComposeResult

from copydesk.errors import FieldError, InvalidError, NotFoundError
from copydesk.model.ranking import ChangeRanking, RankingProfile
from copydesk.model.ranking_preview import RankingPreview, RankingPreviewRequest
from copydesk.model.rule import Rule, RuleKind
from copydesk.tui import labels
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.dialogs.fields import Field, FieldsDialog
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.ranking_pages import ranking_preview_page
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.sources.form_state import join_list, split_list
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_screen import DeskScreen

MAX_DRAFTS = 1_000
MAX_LIST_LENGTH = 5_000
ON, OFF, DELETE = "on", "off", "delete"


class RankingPreviewDialog(Dialog[bool], inherit_bindings=False):
    """The result of a preview; return True to save the change, None to go back to the form."""

    CSS_PATH = stylesheet_path("deciding.tcss")
    WHERE = (KeyContext.PAGE, KeyContext.RANKING_PREVIEW)
    BINDINGS = bindings(KeyContext.RANKING_PREVIEW)

    def __init__(self, found: RankingPreview) -> None:
        super().__init__()
        self._found = found

    def compose(self) -> ComposeResult:
        yield Page(ranking_preview_page(self._found), id="reading")

    def on_mount(self) -> None:
        set_title(self.query_one(Page), labels.ranking_preview_title())

    def action_save(self) -> None:
        """Close, and save the change."""
        self.close(result=True)

    def action_leave(self) -> None:
        """Go back to the form."""
        self.close()


def open_ranking_form(base: "DeskScreen", current: RankingProfile, values: Mapping[str, str] | None = None) -> None:
    """Open the form with the ranking as it is, or with values typed before; show what the change would do, then save.

    Nothing is saved unless the preview was shown. A form without a change closes without one.
    """
    previewed: list[tuple[Mapping[str, str], RankingPreview]] = []

    async def submit(desk: "Desk", values: Mapping[str, str]) -> str:
        request = parse_change(values, current)
        if request == ChangeRanking():
            return ""
        preview = await desk.ranking.preview(RankingPreviewRequest(**msgspec.structs.asdict(request)))
        previewed[:] = [(values, preview)]
        return labels.RANKING_PREVIEW_TITLE

    def show(message: str | None) -> None:
        if message and previewed:
            typed, preview = previewed[0]
            base.app.push_screen(RankingPreviewDialog(preview), partial(_save_or_go_back, base, current, typed))

    fields = change_fields(current, values or {})
    dialog = FieldsDialog(
        labels.RANKING_FORM_TITLE, fields, submit, hint=labels.RANKING_FORM_HINT, effect=labels.PREVIEW_RANKING
    )
    base.app.push_if_current(base, dialog, show)


def _save_or_go_back(
    base: "DeskScreen",
    current: RankingProfile,
    values: Mapping[str, str],
    save: bool | None,  # noqa: FBT001 - Textual passes it by position
) -> None:
    if not save:
        open_ranking_form(base, current, values)
        return

    async def write(desk: "Desk") -> None:
        await desk.ranking.change(parse_change(values, current))
        base.app.notify(labels.RANKING_SAVED)
        base.refresh_for_keys()

    base.app.enqueue_write(write, hold_keys=Hold.RESULT)


def change_fields(current: RankingProfile, typed: Mapping[str, str]) -> Iterator[Field]:
    """Yield the lines of the form, with the values typed before where there are some."""
    lists = (
        ("interests", labels.FIELD_INTERESTS, current.interests),
        ("include", labels.FIELD_INCLUDE, current.include),
        ("exclude", labels.FIELD_EXCLUDE, current.exclude),
    )
    for name, label, terms in lists:
        yield Field(name, label, value=typed.get(name, join_list(terms)), max_length=MAX_LIST_LENGTH)
    yield Field("minScore", labels.FIELD_MIN_SCORE, value=typed.get("minScore", f"{current.min_score:g}"))
    most = typed.get("maxDrafts", f"{current.max_drafts}")
    yield Field("maxDrafts", labels.FIELD_MAX_DRAFTS, value=most, digits_only=True, max_length=6)
    for name, weight in current.weights.items():
        yield Field(name, name, value=typed.get(name, f"{weight:g}"))


def parse_change(values: Mapping[str, str], current: RankingProfile) -> ChangeRanking:
    """Return the change that the form makes. Raise InvalidError for a value that is no number from 0 to 1."""
    weights = {name: _changed_share(name, values[name], weight) for name, weight in current.weights.items()}
    most = int(values["maxDrafts"]) if values["maxDrafts"] else current.max_drafts
    if most != current.max_drafts and not 1 <= most <= MAX_DRAFTS:
        raise InvalidError(FieldError("maxDrafts", labels.number_range(1, MAX_DRAFTS)))
    return ChangeRanking(
        interests=_changed(split_list(values["interests"]), current.interests),
        include=_changed(split_list(values["include"]), current.include),
        exclude=_changed(split_list(values["exclude"]), current.exclude),
        min_score=_changed_share("minScore", values["minScore"], current.min_score),
        max_drafts=None if most == current.max_drafts else most,
        weights={name: share for name, share in weights.items() if share is not None} or None,
    )


def _changed(terms: list[str], current: tuple[str, ...]) -> tuple[str, ...] | None:
    return None if tuple(terms) == current else tuple(terms)


def _changed_share(name: str, text: str, current: float) -> float | None:
    """Return the number if it was changed. An empty line leaves it as it is."""
    if not text or text == f"{current:g}":
        return None
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise InvalidError(FieldError(name, labels.number_range(0, 1)))
    return share


def open_rule_form(base: "DeskScreen", rules: Sequence[Rule], callback: Callable[[str | None], None]) -> None:
    """Open the form to change one of the rules, the newest one unless another is named.

    An empty line leaves its part of the rule as it is.
    """

    async def submit(desk: "Desk", values: Mapping[str, str]) -> str:
        rule = _find_rule(rules, values["rule"])
        state = values["state"] or (ON if rule.enabled else OFF)
        if state not in {ON, OFF, DELETE}:
            raise InvalidError(FieldError("state", labels.RULE_STATE_HINT))
        if state == DELETE:
            await desk.rules.remove(rule.id)
            return labels.RULE_DELETED
        request = {"term": values["term"] or rule.term, "kind": values["kind"] or rule.kind, "enabled": state == ON}
        return labels.rule_changed((await desk.rules.change(rule.id, request)).term)

    names = [rule_name(rule) for rule in rules]
    # Not the values of the newest rule: another may be named.
    unchanged = labels.RULE_UNCHANGED
    fields = (
        Field("rule", labels.FIELD_RULE, value=names[0], suggestions=names),
        Field("term", labels.FIELD_TERM, placeholder=unchanged),
        Field("kind", labels.FIELD_KIND, placeholder=unchanged, suggestions=list(RuleKind)),
        Field("state", labels.FIELD_STATE, placeholder=unchanged, suggestions=(ON, OFF, DELETE)),
    )
    hint = f"{labels.RULE_STATE_HINT} {labels.RULE_KIND_HINT}"
    base.app.push_if_current(base, FieldsDialog(labels.RULE_FORM, fields, submit, hint=hint), callback)


def rule_name(rule: Rule) -> str:
    """Return what the form calls a rule: an exclude rule and an avoid rule may have the same term."""
    return f"{rule.term} ({rule.kind})"


def _find_rule(rules: Sequence[Rule], name: str) -> Rule:
    """Return the rule with this name or term. Raise NotFoundError, or InvalidError if two rules have the term."""
    found = [rule for rule in rules if name in {rule.term, rule_name(rule)}]
    if not found:
        raise NotFoundError(f"No rule for {name!r}.")
    if len(found) > 1:
        raise InvalidError(FieldError("rule", labels.ambiguous_rule([rule_name(rule) for rule in found])))
    return found[0]
