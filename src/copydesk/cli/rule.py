"""`copydesk rule`: list, suggest, add, set, remove."""

from typing import TYPE_CHECKING

import click

from copydesk.cli.command import group
from copydesk.cli.context import Context, confirm, pass_context
from copydesk.cli.ids import DRAFT, complete_names, shorten_draft
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import first_line, format_time, print_table
from copydesk.errors import NotFoundError
from copydesk.model.rule import Rule, RuleKind, RuleSuggestion
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk

KIND = click.Choice([kind.value for kind in RuleKind])


async def _list_terms(desk: "Desk") -> list[str]:
    return [entry.term for entry in await desk.rules.list()]


TERM = click.argument("term", shell_complete=complete_names(_list_terms))


@group()
def rule() -> None:
    """Make rules from the reasons of rejections.

    A rule of the kind exclude filters items out, one of the kind avoid keeps a word out of drafts. Only `copydesk rule
    add` adds one.
    """


@rule.command(name="list", examples=("copydesk rule list",))
@json_options(Rule)
@pass_context
def list_(context: Context, *, as_json: bool) -> None:
    """List the rules with their origin, newest first."""
    rules = context.run(lambda desk: desk.rules.list())
    if as_json:
        print_json(rules)
        return
    rows = [
        (
            entry.kind,
            entry.term,
            format_time(entry.created_at),
            "" if entry.enabled else "off",
            first_line(entry.reason),
        )
        for entry in rules
    ]
    print_table(rows, empty=context.with_desk_options("No rules. See: copydesk rule suggest DRAFT"), cut=True)


@rule.command(examples=("copydesk rule suggest 1f9c2a",))
@click.argument("draft_id", type=DRAFT, metavar="DRAFT")
@json_options(RuleSuggestion)
@pass_context
def suggest(context: Context, *, draft_id: str, as_json: bool) -> None:
    """Suggest rules from the reason for which a draft was rejected. None is added."""

    async def work(desk: "Desk") -> tuple[tuple[RuleSuggestion, ...], str]:
        return await desk.rules.suggest(draft_id), await shorten_draft(desk, draft_id)

    suggestions, short_id = context.run(work)
    if as_json:
        print_json(suggestions)
        return
    rows = [
        (
            entry.kind,
            context.with_desk_options(f"copydesk rule add {entry.kind} {_quote(entry.term)} --draft {short_id}"),
        )
        for entry in suggestions
    ]
    print_table(rows, empty="The reason names no word of the item or the draft.")


def _quote(term: str) -> str:
    import shlex  # noqa: PLC0415 - only here

    return shlex.quote(clean(term))


@rule.command(examples=("copydesk rule add exclude giveaway --draft 1f9c2a",), creates_desk=True)
@click.argument("kind", type=KIND)
@click.argument("term")
@click.option("--draft", "draft_id", type=DRAFT, help="The rejected draft whose reason it comes from.")
@json_options(Rule)
@pass_context
def add(context: Context, *, kind: str, term: str, draft_id: str | None, as_json: bool) -> None:
    """Add a rule. It applies from the next run, draft and check on."""
    request = {"kind": kind, "term": term, "draftId": draft_id}
    added = context.run(lambda desk: desk.rules.add(request))
    _print(added, as_json=as_json)


@rule.command(
    name="set", examples=("copydesk rule set giveaway --off", 'copydesk rule set giveaway --term "phone giveaway"')
)
@TERM
@click.option("--term", "new_term", help="The new word or phrase.")
@click.option("--kind", type=KIND, help="The new kind: exclude items, or avoid the word in drafts.")
@click.option("--on/--off", "enabled", default=None, help="Switch the rule on or off.")
@json_options(Rule)
@pass_context
def set_(
    context: Context, *, term: str, new_term: str | None, kind: str | None, enabled: bool | None, as_json: bool
) -> None:
    """Change a rule, or switch it on or off."""
    request = {"term": new_term, "kind": kind, "enabled": enabled}
    if all(value is None for value in request.values()):
        raise click.UsageError("Nothing to change: pass --term, --kind, --on or --off.")

    async def work(desk: "Desk") -> Rule:
        return await desk.rules.change((await _find(desk, term)).id, request)

    _print(context.run(work), as_json=as_json)


@rule.command(examples=("copydesk rule remove giveaway",))
@TERM
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_options("ok")
@pass_context
def remove(context: Context, *, term: str, yes: bool, as_json: bool) -> None:
    """Delete a rule."""

    found = context.run(lambda desk: _find(desk, term))
    if not yes:
        confirm(f"Delete the rule for {clean(found.term)}?", declined="Nothing changed.")
    context.run(lambda desk: desk.rules.remove(found.id))
    if as_json:
        print_json({"ok": True})
    else:
        click.echo("Deleted.")


async def _find(desk: "Desk", term: str) -> Rule:
    """Return the rule with that term or id."""
    for found in await desk.rules.list():
        if term in {found.term, found.id}:
            return found
    raise NotFoundError(f"No rule for {term!r}.", hint="List all rules: `copydesk rule list`.")


def _print(changed: Rule, *, as_json: bool) -> None:
    if as_json:
        print_json(changed)
    else:
        click.echo(f"{changed.kind} {clean(changed.term)}: {'on' if changed.enabled else 'off'}")
