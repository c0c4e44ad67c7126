"""`copydesk draft`: undo, redo, history."""

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from copydesk.cli.context import Context, pass_context, print_json
from copydesk.cli.drafts import AS_JSON, say_changed, say_outcome
from copydesk.model.draft import Draft, ListedDraft, plain
from copydesk.model.history import CREATE, EDIT, USER, DraftEvent, EventKind, Undone
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
    "text_written": "wrote the text",
    "writing_failed": "could not write it",
    "new_version_written": "wrote a new version",
    "picked_up": "began to post it",
    "late": "found it too late to be sent",
    "ended_live": "posted it",
    "ended_not_live": "could not post it",
}
"""What happened, in words; another name stands for itself."""


@click.command()
@click.argument("id", required=False)
@AS_JSON
@pass_context
def undo(context: Context, *, id: str | None, as_json: bool) -> None:
    """Take back the last change of a draft, or your last change at all; a bulk as one."""
    _step(context, EventKind.UNDO, id, as_json=as_json)


@click.command()
@click.argument("id", required=False)
@AS_JSON
@pass_context
def redo(context: Context, *, id: str | None, as_json: bool) -> None:
    """Do again what was undone last, until another change."""
    _step(context, EventKind.REDO, id, as_json=as_json)


@click.command()
@click.argument("id")
@AS_JSON
@pass_context
def history(context: Context, *, id: str, as_json: bool) -> None:
    """Tell what happened to a draft, from its beginning: to the versions before it, and to itself."""

    async def work(desk: "Desk") -> tuple[Sequence[ListedDraft], Sequence[DraftEvent], Sequence[str], Sequence[str]]:
        versions = await desk.drafts.versions(id)
        story = [event for each in _up_to(versions, id) for event in await desk.drafts.history(each)]
        times = [each.after.get("scheduled_at") or each.at for each in story]
        shown = desk.schedule.shown
        return versions, story, await shown(*(each.at for each in story)), await shown(*times)

    versions, story, shown, scheduled = context.run(work)
    if as_json:
        print_json(story)
        return
    about = ""
    for event, at, time in zip(story, shown, scheduled, strict=True):
        if len(versions) > 1 and event.draft_id != about:
            about = event.draft_id
            click.echo(f"{about}:")
        click.echo(told(event, at, time))
    for each in versions:
        if each.regenerated_from_id == id:
            click.echo(f"Its newer version is {each.id}.", err=True)


def _up_to(versions: Sequence[ListedDraft], draft_id: str) -> list[str]:
    """The ids of the versions that led to a draft, the oldest first, and its own."""
    before = {each.id: each.regenerated_from_id for each in versions}
    line = [draft_id]
    while (earlier := before[line[0]]) in before:
        line.insert(0, str(earlier))
    return line


COMMANDS = (undo, redo, history)


def told(event: DraftEvent, at: str, scheduled: str) -> str:
    """One event on one line: when, who, what, from where to where, why, and whether it still counts."""
    who = "you" if event.who == USER else f"the {event.who}"
    said = [f"{at}  {clean(who)} {_what(event)}", _way(event)]
    if isinstance(event.after.get("scheduled_at"), datetime):
        said.append(f"for {scheduled}")
    if event.feedback:
        said.append(f"“{clean(event.feedback)}”")
    if event.undone:
        said.append("(undone)")
    return " ".join(part for part in said if part)


def _what(event: DraftEvent) -> str:
    words = WORDS.get(event.action, clean(event.action))
    if event.kind is EventKind.UNDO:
        return f"undid version {event.of_version}: {words}"
    if event.kind is EventKind.REDO:
        return f"did again: {words}"
    edited = "text" in event.after and event.action != EDIT and event.kind is EventKind.CHANGE
    return f"{WORDS[EDIT]} and {words}" if edited else words


def _way(event: DraftEvent) -> str:
    before, after = event.before.get("status"), event.after.get("status")
    if after is None:
        return ""
    return f"({after})" if before is None else f"({before} → {after})"


def _step(context: Context, kind: EventKind, draft_id: str | None, *, as_json: bool) -> None:
    async def work(desk: "Desk") -> tuple[Undone, Draft | None, str]:
        step = desk.drafts.undo if kind is EventKind.UNDO else desk.drafts.redo
        done = await step(draft_id)
        if done.bulk_id is not None:
            return done, None, ""
        changed = plain(await desk.drafts.get(done.succeeded[0]))
        times = await desk.schedule.shown(changed.scheduled_at) if changed.scheduled_at else ("",)
        return done, changed, times[0]

    done, changed, shown = context.run(work)
    said = f"{done.action} is {'undone' if kind is EventKind.UNDO else 'redone'}"
    if changed:
        say_changed(changed, f"is {_standing(changed, shown)} again: {said}", as_json=as_json)
        return
    if as_json:
        print_json(bulk_shape(done))
    else:
        drafts = "draft" if len(done.succeeded) == 1 else "drafts"
        say_outcome(f"{drafts}: {said}", done.succeeded, done.failed)
    sys.exit(1 if done.failed else 0)


def _standing(changed: Draft, shown: str) -> str:
    if changed.archived_at:
        return f"{changed.status} and archived"
    return f"{changed.status} for {shown}" if shown else changed.status


def bulk_shape(done: Undone) -> dict[str, object]:
    """The interface's bulk response, for what was taken back."""
    succeeded, failed = len(done.succeeded), len(done.failed)
    results = {"succeeded": done.succeeded, "failed": done.failed}
    return {
        "action": done.action,
        "total": succeeded + failed,
        "succeeded": succeeded,
        "failed": failed,
        "results": results,
    }
