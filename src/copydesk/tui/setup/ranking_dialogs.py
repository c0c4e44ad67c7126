"""Forms of the setup for the ranking: rehearse a change of interests and filters, and change a rule."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from copydesk.errors import FieldError, InvalidError, NotFoundError
from copydesk.model.rehearsal import Rehearsal, RehearsalRequest
from copydesk.model.rule import Rule, RuleKind
from copydesk.settings import Settings
from copydesk.tui import labels
from copydesk.tui.dialogs.base import PageDialog
from copydesk.tui.dialogs.fields import Field, FieldsDialog
from copydesk.tui.ranking_pages import rehearsal_page
from copydesk.tui.sources.form_state import join_list, split_list

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_screen import DeskScreen

MAX_LIST_LENGTH = 5_000
ON, OFF, DELETE = "on", "off", "delete"


def open_rehearsal(base: "DeskScreen", desk: "Desk") -> None:
    """Open the form with the interests and filters as they are; then show what the changed ones would do."""
    settings = desk.settings
    results: list[tuple[Rehearsal, list[str]]] = []

    async def submit(desk: "Desk", values: Mapping[str, str]) -> str:
        request = parse_change(values, settings)
        results[:] = [(await desk.ranking.rehearse(request), settings_lines(request))]
        return labels.REHEARSAL_TITLE

    def show(message: str | None) -> None:
        if message and results:
            base.app.push_screen(PageDialog(labels.REHEARSAL_TITLE, rehearsal_page(*results[0])))

    dialog = FieldsDialog(labels.REHEARSAL_TITLE, _change_fields(settings), submit, hint=labels.REHEARSAL_HINT)
    base.app.push_if_current(base, dialog, show)


def _change_fields(settings: Settings) -> tuple[Field, ...]:
    ranking, pipeline = settings.ranking, settings.pipeline
    lists = (
        ("interests", labels.FIELD_INTERESTS, ranking.interests),
        ("include", labels.FIELD_INCLUDE, pipeline.include),
        ("exclude", labels.FIELD_EXCLUDE, pipeline.exclude),
    )
    return (
        *(Field(name, label, value=join_list(terms), max_length=MAX_LIST_LENGTH) for name, label, terms in lists),
        Field("minScore", labels.FIELD_MIN_SCORE, value=f"{pipeline.min_score:g}"),
        Field("maxDrafts", labels.FIELD_MAX_DRAFTS, value=f"{pipeline.max_drafts}", digits_only=True),
    )


def parse_change(values: Mapping[str, str], settings: Settings) -> RehearsalRequest:
    """Return the change that the form makes. Raise InvalidError for a value that is no number."""
    ranking, pipeline = settings.ranking, settings.pipeline
    return RehearsalRequest(
        interests=_changed(split_list(values["interests"]), ranking.interests),
        include=_changed(split_list(values["include"]), pipeline.include),
        exclude=_changed(split_list(values["exclude"]), pipeline.exclude),
        min_score=_number("minScore", values["minScore"]),
        max_drafts=int(values["maxDrafts"][:6]) if values["maxDrafts"] else None,
    )


def _changed(terms: list[str], current: tuple[str, ...]) -> tuple[str, ...] | None:
    return None if tuple(terms) == current else tuple(terms)


def _number(name: str, text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise InvalidError(FieldError(name, "takes a number")) from None


def settings_lines(request: RehearsalRequest) -> list[str]:
    """Return the lines of the settings file that make the change."""
    lines = [] if request.interests is None else ["[ranking]", f"interests = {_toml_list(request.interests)}"]
    filters = [
        f"{name} = {_toml_list(terms)}"
        for name, terms in (("include", request.include), ("exclude", request.exclude))
        if terms is not None
    ]
    return [*lines, "[pipeline]", *filters] if filters else lines


def _toml_list(terms: Iterable[str]) -> str:
    # A JSON string is a TOML string.
    return json.dumps(list(terms), ensure_ascii=False)


def open_rule_form(base: "DeskScreen", rules: Sequence[Rule], callback: Callable[[str | None], None]) -> None:
    """Open the form to change one of the rules, the newest one unless another is named."""
    newest = rules[0]

    async def submit(desk: "Desk", values: Mapping[str, str]) -> str:
        rule = next((rule for rule in rules if rule.term == values["rule"]), None)
        if rule is None:
            raise NotFoundError(f"No rule for {values['rule']!r}.")
        state = values["state"]
        if state not in {ON, OFF, DELETE}:
            raise InvalidError(FieldError("state", labels.RULE_STATE_HINT))
        if state == DELETE:
            await desk.rules.remove(rule.id)
            return labels.RULE_DELETED
        request = {"term": values["term"] or rule.term, "kind": values["kind"] or rule.kind, "enabled": state == ON}
        return labels.rule_changed((await desk.rules.change(rule.id, request)).term)

    fields = (
        Field("rule", labels.FIELD_RULE, value=newest.term, suggestions=[rule.term for rule in rules]),
        Field("term", labels.FIELD_TERM, placeholder=newest.term),
        Field("kind", labels.FIELD_KIND, placeholder=newest.kind, suggestions=list(RuleKind)),
        Field("state", labels.FIELD_STATE, value=ON if newest.enabled else OFF, suggestions=(ON, OFF, DELETE)),
    )
    hint = f"{labels.RULE_STATE_HINT} {labels.RULE_KIND_HINT}"
    base.app.push_if_current(base, FieldsDialog(labels.RULE_FORM, fields, submit, hint=hint), callback)
