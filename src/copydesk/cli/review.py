"""The commands of `copydesk draft` that review, schedule and post drafts, and show what was done with them."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Unpack

import click

from copydesk.cli.command import command
from copydesk.cli.context import Context, confirm, is_interactive, pass_context
from copydesk.cli.draft_selection import (
    BULK,
    NO_WAIT,
    DraftSelection,
    exit_code_of,
    print_changed,
    print_outcome,
    run_action,
    wait_for_versions,
    with_draft_selection,
)
from copydesk.cli.ids import DRAFT, shorten_draft, shorten_drafts
from copydesk.cli.json_output import json_options, print_json, require_fields, wants_json
from copydesk.cli.output import format_ago, format_time, lacking_approval_note, missing_account_note, print_table
from copydesk.desk.drafts.history_text import RESULT_PHRASES
from copydesk.errors import ConflictError, CopydeskError, NotFoundError, StoreError
from copydesk.model.activity import Comment, DraftActivity, ReviewedDraft
from copydesk.model.decision_stats import DecisionStats
from copydesk.model.delivery import DeliveryReport, NextBy, PostResult
from copydesk.model.draft import STATUS_LABELS, Action, Draft, Status, without_item
from copydesk.model.requests import BulkOutcome, ChangeDraft
from copydesk.model.transitions import COMMAND_NAMES, DraftEvent, EventKind, InterruptedBulk, UndoResult
from copydesk.text import clean, reveal
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.drafts.history_text import DraftHistory
    from copydesk.desk.drafts.versions import Difference


MAX_CHECKED_DRAFTS = 20
"""Drafts of a bulk action that are checked for posting problems; each check takes time."""
FEEDBACK = click.option("--feedback", metavar="TEXT", help="The reason, or what should change.")
AT = "The time: fri 14:30, tomorrow 9, in 2 hours, ISO."

MARKS = {"same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}
"""The marks of `wdiff` and `git diff --word-diff`, readable without colours."""
COLOURS = {"removed": "red", "added": "green"}


@command(examples=("copydesk draft post 1f9c2a", "copydesk draft post 1f9c2a --to mastodon --to bluesky"))
@click.argument("draft_id", type=DRAFT, metavar="ID")
@click.option("--to", "platforms", multiple=True, metavar="NAME", help="A platform or an account; may be repeated.")
@json_options(PostResult)
@pass_context
def post(context: Context, *, draft_id: str, platforms: tuple[str, ...], as_json: bool) -> None:
    """Post a draft now.

    Posts to the draft's target platforms or, if it has none, to every account where it is not live yet.

    Waits up to 30 seconds; `copydesk daemon`, and an open console unless the setting jobs.posting is "daemon", continue
    unfinished deliveries. Exit code 1 if the draft is not live everywhere.
    """

    list_command = context.with_desk_options(f"`copydesk delivery list {clean(draft_id)}`")
    daemon_command = context.with_desk_options("`copydesk daemon`")
    console = " or the console is open" if context.settings().jobs.posting == "always" else ""
    continued = f"Deliveries continue while {daemon_command} runs{console}. To follow them: {list_command}."

    async def work(desk: "Desk") -> tuple[PostResult, tuple[DeliveryReport, ...]]:
        try:
            result = await desk.posting.post(draft_id, platforms)
        # Ctrl-C while waiting: requests may have been sent already.
        except asyncio.CancelledError:
            click.echo(f"Some requests may have been sent already. To see the outcome: {list_command}.", err=True)
            raise
        except StoreError:
            with suppress(CopydeskError):
                if (await desk.drafts.get(draft_id)).status is Status.POSTING:
                    click.echo(continued, err=True)
            raise
        try:
            return result, await desk.posting.list_deliveries(draft_id)
        except StoreError as error:
            # It says that nothing changed.
            message, hint = f"{error.cause}. What was sent is recorded.", f"See: copydesk delivery list {draft_id}"
            raise type(error)(message, hint=hint) from error

    result, reports = context.run(work)
    if as_json:
        print_json(result)
    else:
        accounts = {*result.posted, *result.failed, *result.under_way}
        for report in reports:
            if report.account in accounts:
                click.echo(
                    f"{report.account}: {clean(context.with_desk_options(report.says))}",
                    err=report.account in result.failed,
                )
    if any(report.account in result.under_way and report.next_by is NextBy.COPYDESK for report in reports):
        click.echo(continued, err=True)
    sys.exit(1 if result.failed or result.under_way else 0)


async def print_blockers(context: Context, desk: "Desk", draft_ids: Sequence[str]) -> None:
    """Print what would keep these drafts from being posted as they are, and what posting costs."""
    # Not for scripts: they read what was changed.
    if not wants_json() and (missing := await desk.posting.list_without_account(draft_ids)):
        click.echo(context.with_desk_options(missing_account_note(len(missing), len(draft_ids))), err=True)
    if not wants_json() and (lacking := await desk.posting.list_lacking_approvals(draft_ids)):
        example = await shorten_draft(desk, lacking[0]) if len(lacking) == 1 else "ID"
        click.echo(context.with_desk_options(lacking_approval_note(len(lacking), len(draft_ids), example)), err=True)
    checked = draft_ids[:MAX_CHECKED_DRAFTS]
    for draft_id, short_id in (await shorten_drafts(desk, checked)).items():
        for blocker in await desk.posting.blockers(draft_id):
            part_text = f", post {blocker.part + 1}" if blocker.part is not None else ""
            click.echo(
                f"{short_id} cannot be posted to {blocker.account}{part_text}: {clean(blocker.message)}", err=True
            )
        for price in await desk.posting.prices(draft_id):
            click.echo(f"Posting {short_id} to {price.account} costs {price.amount} {price.currency}.", err=True)


@command(
    examples=("copydesk draft approve 1f9c2a 77e0b4", "copydesk draft approve --all-matching --source-type hackernews")
)
@with_draft_selection
@pass_context
def approve(context: Context, **selection: Unpack[DraftSelection]) -> None:
    """Approve drafts."""
    run_action(context, ChangeDraft(action=Action.APPROVE), print_notes=print_blockers, **selection)


@command(examples=('copydesk draft reject 1f9c2a --feedback "Old news"',))
@FEEDBACK
@with_draft_selection
@pass_context
def reject(context: Context, *, feedback: str | None, **selection: Unpack[DraftSelection]) -> None:
    """Reject drafts."""
    run_action(context, ChangeDraft(action=Action.REJECT, feedback=feedback), **selection)


@command(examples=('copydesk draft regenerate 1f9c2a --feedback "Shorter, no hashtags"',))
@FEEDBACK
@NO_WAIT
@with_draft_selection
@pass_context
def regenerate(context: Context, *, feedback: str | None, no_wait: bool, **selection: Unpack[DraftSelection]) -> None:
    """Generate new versions of drafts and wait for them. For a single draft, the new version is printed."""
    request = ChangeDraft(action=Action.REGENERATE, feedback=feedback)
    run_action(context, request, follow_up=None if no_wait else wait_for_versions, **selection)


@command(examples=("copydesk draft unapprove 1f9c2a",))
@FEEDBACK
@with_draft_selection
@pass_context
def unapprove(context: Context, *, feedback: str | None, **selection: Unpack[DraftSelection]) -> None:
    """Withdraw approvals.

    With --feedback the drafts are marked as changes requested, without it as needing review.
    """
    run_action(context, ChangeDraft(action=Action.UNAPPROVE, feedback=feedback), **selection)


@command(examples=("copydesk draft archive 1f9c2a", "copydesk draft archive --all-matching --status rejected"))
@with_draft_selection
@pass_context
def archive(context: Context, **selection: Unpack[DraftSelection]) -> None:
    """Archive drafts: no list of the console but Archived shows them. `copydesk draft restore` brings them back."""
    run_action(context, ChangeDraft(action=Action.ARCHIVE), **selection)


@command(examples=("copydesk draft stats",))
@json_options(DecisionStats)
@pass_context
def stats(context: Context, *, as_json: bool) -> None:
    """Show how fast you decide, and how many decisions you undid within ten minutes.

    The times are those of the console, from showing a draft to the decision. They stay in your database, without the
    drafts that they belong to; the newest 1,000 are kept. `console.record_decision_times = false` in the settings file
    stops recording them.
    """
    found = context.run(lambda desk: desk.drafts.decision_stats())
    if as_json:
        print_json(found)
        return
    median = "unknown" if found.median_seconds is None else f"{found.median_seconds:.1f} s"
    print_table(
        [
            ("median time to decide", median, plural(found.timed, "decision")),
            ("undone within 10 minutes", f"{found.undone:,}", f"of {plural(found.decided, 'decision')}"),
        ],
        empty="",
    )


@command(examples=("copydesk draft restore 1f9c2a",))
@click.argument("ids", nargs=-1, required=True, type=DRAFT, metavar="ID...")
@json_options(BulkOutcome)
@pass_context
def restore(context: Context, *, ids: tuple[str, ...], as_json: bool) -> None:
    """Restore archived drafts.

    They get the status that they had. `copydesk draft list --archived only` lists the archived ones.
    """

    async def work(desk: "Desk") -> tuple[UndoResult, dict[str, str]]:
        result = await desk.drafts.restore(ids)
        return result, await shorten_drafts(desk, ids)

    result, short_ids = context.run(work)
    if as_json:
        print_json(bulk_response(result))
    elif len(ids) == 1 and result.succeeded:
        click.echo(f"{short_ids[ids[0]]} restored.")
    else:
        print_outcome(context, "restored", result.succeeded, result.failed, short_ids, result.stopped_by)
    sys.exit(exit_code_of(result.succeeded, result.failed))


@command(
    examples=("copydesk draft schedule 1f9c2a", 'copydesk draft schedule 1f9c2a 77e0b4 --at "fri 14:30" --next-slot')
)
@click.option("--at", "time", metavar="TIME", help=f"{AT} Default: the next free slot.")
@click.option("--next-slot", is_flag=True, help="With --at: use the first free slot from that time on.")
@with_draft_selection
@pass_context
def schedule(context: Context, *, time: str | None, next_slot: bool, **selection: Unpack[DraftSelection]) -> None:
    """Schedule approved drafts for a time or the next free slots."""
    at, question_suffix = (
        _parse_time(context, time, selection) if time is not None else (None, " to the next free slots")
    )
    request = ChangeDraft(action=Action.SCHEDULE, scheduled_at=at, smart_schedule=next_slot)
    run_action(context, request, question_suffix=question_suffix, print_notes=print_blockers, **selection)


@command(examples=('copydesk draft reschedule 1f9c2a --at "tomorrow 9"',))
@click.option("--at", "time", metavar="TIME", required=True, help=AT)
@with_draft_selection
@pass_context
def reschedule(context: Context, *, time: str, **selection: Unpack[DraftSelection]) -> None:
    """Reschedule scheduled or missed drafts."""
    at, question_suffix = _parse_time(context, time, selection)
    run_action(
        context, ChangeDraft(action=Action.RESCHEDULE, scheduled_at=at), question_suffix=question_suffix, **selection
    )


@command(examples=("copydesk draft unschedule 1f9c2a",))
@with_draft_selection
@pass_context
def unschedule(context: Context, **selection: Unpack[DraftSelection]) -> None:
    """Unschedule scheduled or missed drafts; they stay approved."""
    run_action(context, ChangeDraft(action=Action.CANCEL_SCHEDULE), **selection)


def _parse_time(context: Context, time: str, selection: DraftSelection) -> tuple[datetime, str]:
    """Parse a time and print it back; on a terminal the user is asked to confirm it.

    With --all-matching the time is part of the confirmation that is asked anyway.
    """
    parsed = context.run(lambda desk: desk.schedule.parse_time(time, field="--at"))
    # On stderr, because stdout may be JSON.
    click.echo(f"{parsed.shown}{': ' if parsed.note else ''}{parsed.note}", err=True)
    if is_interactive() and not selection["yes"] and not selection["all_matching"]:
        confirm("Use this time?", declined="Nothing changed.", default=True)
    return parsed.at, f" for {parsed.shown}"


@command(examples=("copydesk draft undo", "copydesk draft undo 1f9c2a"))
@click.argument("id", required=False, type=DRAFT)
@BULK
@json_options(Draft, BulkOutcome)
@pass_context
def undo(context: Context, *, id: str | None, bulk: bool, as_json: bool) -> None:
    """Undo a draft's last change, or that of the desk.

    Without ID the last change of any draft is undone, whoever made it; a bulk action counts as one.
    """
    _undo_or_redo(context, EventKind.UNDO, id, bulk=bulk, as_json=as_json)


@command(examples=("copydesk draft redo", "copydesk draft redo 1f9c2a"))
@click.argument("id", required=False, type=DRAFT)
@BULK
@json_options(Draft, BulkOutcome)
@pass_context
def redo(context: Context, *, id: str | None, bulk: bool, as_json: bool) -> None:
    """Redo the last undone change, unless something changed since."""
    _undo_or_redo(context, EventKind.REDO, id, bulk=bulk, as_json=as_json)


@command(examples=("copydesk draft resume", "copydesk draft resume --undo"))
@click.option("--undo", "to_undo", is_flag=True, help="Undo what it changed instead.")
@click.option("--keep", "to_keep", is_flag=True, help="Leave its drafts as they are, and do not mention it again.")
@json_options(BulkOutcome)
@pass_context
def resume(context: Context, *, to_undo: bool, to_keep: bool, as_json: bool) -> None:
    """Finish a bulk action whose process was killed.

    Drafts that were changed since it began are left alone. Afterwards it counts as one for undo.
    """
    if to_undo and to_keep:
        raise click.UsageError("--undo and --keep cannot be used together.")
    context.reports_interrupted = False

    async def finish(desk: "Desk") -> list[tuple[InterruptedBulk, BulkOutcome | None]]:
        bulks = await desk.drafts.interrupted_bulks()
        if not bulks:
            raise ConflictError("No bulk action was interrupted.")
        if to_keep:
            for bulk in bulks:
                await desk.drafts.keep_bulk(bulk.id)
            return [(bulk, None) for bulk in bulks]
        if to_undo:
            # The newest first: it may have changed the same drafts.
            return [(bulk, await desk.drafts.undo_bulk(bulk.id)) for bulk in reversed(bulks)]
        return [(bulk, await desk.drafts.resume_bulk(bulk.id)) for bulk in bulks]

    async def work(desk: "Desk") -> tuple[list[tuple[InterruptedBulk, BulkOutcome | None]], dict[str, str]]:
        results = await finish(desk)
        failed = [failure.id for _, outcome in results if outcome for failure in outcome.results.failed]
        return results, await shorten_drafts(desk, failed)

    results, short_ids = context.run(work)
    if as_json:
        print_json([outcome for _, outcome in results if outcome])
    else:
        for bulk, outcome in results:
            _print_resumed(context, bulk, outcome, short_ids, undone=to_undo)
    outcomes = [outcome.results for _, outcome in results if outcome]
    succeeded = [draft_id for outcome in outcomes for draft_id in outcome.succeeded]
    sys.exit(exit_code_of(succeeded, [failure for outcome in outcomes for failure in outcome.failed]))


def _print_resumed(
    context: Context,
    bulk: InterruptedBulk,
    outcome: BulkOutcome | None,
    short_ids: Mapping[str, str],
    *,
    undone: bool,
) -> None:
    if outcome is None:
        click.echo(f"Kept {plural(bulk.changed, 'changed draft')}.")
        return
    if bulk.kind is EventKind.CHANGE and not undone:
        text = RESULT_PHRASES[bulk.action]
    else:
        # Undoing an undo is a redo.
        verb = "redid" if (bulk.kind is EventKind.REDO) != undone and bulk.kind is not EventKind.CHANGE else "undid"
        text = f"drafts: {verb} {COMMAND_NAMES.get(bulk.action, bulk.action)}"
    print_outcome(context, text, outcome.results.succeeded, outcome.results.failed, short_ids, outcome.stopped_by)


@command(examples=("copydesk draft history 1f9c2a",))
@click.argument("id", type=DRAFT)
@json_options(DraftEvent)
@pass_context
def history(context: Context, *, id: str, as_json: bool) -> None:
    """Show the history of a draft, including its earlier versions."""

    async def load(desk: "Desk") -> tuple["DraftHistory", dict[str, str]]:
        story = await desk.drafts.describe_history(id)
        named = [*(event.draft_id for event in story.events), *story.children_of(id)]
        return story, await shorten_drafts(desk, named)

    story, short_ids = context.run(load)
    if as_json:
        print_json(story.events)
        return
    current_id = ""
    for event, line in zip(story.events, story.lines, strict=True):
        if len(story.versions) > 1 and event.draft_id != current_id:
            current_id = event.draft_id
            click.echo(f"{short_ids[current_id]}:")
        click.echo(line)
    for newer in story.children_of(id):
        click.echo(f"Newer version: {short_ids[newer]}.", err=True)


def _undo_or_redo(context: Context, kind: EventKind, draft_id: str | None, *, bulk: bool, as_json: bool) -> None:
    if bulk:
        require_fields(BulkOutcome)

    async def work(desk: "Desk") -> tuple[UndoResult, Draft | None, str, dict[str, str]]:
        step = desk.drafts.undo if kind is EventKind.UNDO else desk.drafts.redo
        result = await step(draft_id)
        short_ids = await shorten_drafts(desk, [*result.succeeded[:1], *(failure.id for failure in result.failed)])
        # A bulk action is reported as totals, a single draft with its new status.
        if bulk or result.bulk_id is not None:
            return result, None, "", short_ids
        changed = without_item(await desk.drafts.get(result.succeeded[0]))
        formatted = await desk.schedule.format_times(changed.scheduled_at) if changed.scheduled_at else ("",)
        return result, changed, formatted[0], short_ids

    result, changed, time_text, short_ids = context.run(work)
    message = f"{'undid' if kind is EventKind.UNDO else 'redid'} {COMMAND_NAMES.get(result.action, result.action)}"
    if changed:
        outcome = f"now {_status_text(changed, time_text)} ({message})"
        print_changed(changed, short_ids[changed.id], outcome, as_json=as_json)
        return
    if as_json:
        print_json(bulk_response(result))
    else:
        drafts = "draft" if len(result.succeeded) == 1 else "drafts"
        print_outcome(context, f"{drafts}: {message}", result.succeeded, result.failed, short_ids, result.stopped_by)
    sys.exit(exit_code_of(result.succeeded, result.failed))


def _status_text(changed: Draft, time_text: str) -> str:
    label = STATUS_LABELS[changed.status]
    if changed.archived_at:
        return f"{label} and archived"
    return f"{label} for {time_text}" if time_text else label


def bulk_response(result: UndoResult) -> dict[str, object]:
    """Return an undone or redone bulk action in the shape of the interface's bulk response."""
    succeeded, failed = len(result.succeeded), len(result.failed)
    response = {
        "action": result.action,
        "total": succeeded + failed,
        "succeeded": succeeded,
        "failed": failed,
        "results": {"succeeded": result.succeeded, "failed": result.failed},
    }
    return response if result.stopped_by is None else {**response, "stoppedBy": result.stopped_by}


@command(examples=("copydesk draft diff 1f9c2a", "copydesk draft diff 1f9c2a 77e0b4"))
@click.argument("id", type=DRAFT)
@click.argument("other", required=False, type=DRAFT)
@json_options("old", "new", "pieces", "better", "worse", help="Print JSON: the pieces of both texts and the checks.")
@pass_context
def diff(context: Context, *, id: str, other: str | None, as_json: bool) -> None:
    """Show the changes between two versions, word by word.

    Compares ID with OTHER or, without OTHER, the previous version with ID.

    Removed words are marked [-like this-], added ones {+like this+}, followed by the checks that changed.
    """

    async def load(desk: "Desk") -> tuple["Difference", dict[str, str]]:
        difference = await _load_difference(desk, id, other)
        return difference, await shorten_drafts(desk, [difference.old, difference.new])

    difference, short_ids = context.run(load)
    if as_json:
        print_json(difference)
    else:
        click.echo(f"{short_ids[difference.old]} → {short_ids[difference.new]}\n")
        _print_difference(difference)


async def _load_difference(desk: "Desk", draft_id: str, other: str | None) -> "Difference":
    if other is not None:
        return await desk.drafts.compare(draft_id, other)
    draft = await desk.drafts.get(draft_id)
    if draft.regenerated_from_id is None:
        versions = await desk.drafts.list_versions(draft_id)
        newest = f"copydesk draft diff {await shorten_draft(desk, versions[-1].id)}" if len(versions) > 1 else ""
        raise ConflictError(
            "This is the first version; there is no earlier one to compare with.",
            hint=f"Compare the newest one: {newest}" if newest else "Pass two draft ids.",
        )
    return await desk.drafts.compare(draft.regenerated_from_id, draft_id)


def _print_difference(difference: "Difference") -> None:
    _print_pieces(difference)
    for heading, findings in (("Better", difference.better), ("Worse", difference.worse)):
        if findings:
            click.echo(f"\n{heading}")
            print_table([("", finding.severity, finding.rule, finding.message) for finding in findings], empty="")


def _print_pieces(difference: "Difference") -> None:
    # https://no-color.org: any value that is not empty turns colours off.
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    click.echo("".join(_format_piece(piece.kind, piece.text, coloured=coloured) for piece in difference.pieces))


def _format_piece(kind: str, text: str, *, coloured: bool) -> str:
    opening, closing = MARKS[kind]
    formatted = f"{opening}{reveal(text)}{closing}"
    return click.style(formatted, fg=COLOURS[kind]) if coloured and kind in COLOURS else formatted


@command(examples=("copydesk draft countersign 1f9c2a",))
@click.argument("draft_id", type=DRAFT, metavar="ID")
@json_options(DraftActivity)
@pass_context
def countersign(context: Context, *, draft_id: str, as_json: bool) -> None:
    """Approve a draft that another reviewer has approved, for accounts that ask for two approvals."""
    found = context.run(lambda desk: desk.drafts.activity.countersign(draft_id))
    if as_json:
        print_json(found)
    else:
        click.echo(f"Approved by {clean(', '.join(approval.reviewer for approval in found.approvals))}")


@command(examples=("copydesk draft activity 1f9c2a",))
@click.argument("draft_id", type=DRAFT, metavar="ID")
@json_options(ReviewedDraft)
@pass_context
def activity(context: Context, *, draft_id: str, as_json: bool) -> None:
    """Show who has a draft open or edits it, the comments on it, and texts that were typed and not saved.

    A text is kept when another reviewer takes its edit over. Removed words are marked [-like this-], added ones {+like
    this+}, against the text of the draft.
    """

    async def load(desk: "Desk") -> tuple[ReviewedDraft, list["Difference"]]:
        reviewed = await desk.drafts.activity.overview(draft_id)
        unsaved = reviewed.activity.unsaved
        return reviewed, [await desk.drafts.activity.compare_unsaved(edit.id) for edit in unsaved]

    reviewed, differences = context.run(load)
    if as_json:
        print_json(reviewed)
        return
    found = reviewed.activity
    if not (found.editing or found.viewers or found.unsaved or found.approvals or reviewed.comments):
        click.echo("Nobody else is on this draft, and there are no comments.", err=True)
    if found.approvals:
        of_required = f" ({len(found.approvals)} of {reviewed.required} approvals)" if reviewed.required > 1 else ""
        click.echo(f"Approved by {clean(', '.join(approval.reviewer for approval in found.approvals))}{of_required}")
    if found.editing:
        click.echo(f"Edited by {clean(found.editing.reviewer)}, until {format_time(found.editing.until)}")
    if found.viewers:
        click.echo(f"Open at {clean(', '.join(viewer.reviewer for viewer in found.viewers))}")
    if reviewed.comments:
        print_table(map(_comment_row, count(1), reviewed.comments), empty="")
    for edit, difference in zip(found.unsaved, differences, strict=True):
        click.echo(f"\nTyped by {clean(edit.reviewer)}, not saved, taken over {format_ago(edit.at)}:")
        _print_pieces(difference)


def _comment_row(number: int, comment: Comment) -> tuple[str, ...]:
    where = f"“{comment.quote}”" if comment.quote else ""
    if comment.quote and comment.start is None:
        where += " (not in the text any more)"
    state = f"resolved by {comment.resolved_by}" if comment.resolved_at else format_ago(comment.at)
    return (str(number), comment.reviewer, state, where, comment.text)


@command(
    examples=('copydesk draft comment 1f9c2a "Shorter?"', 'copydesk draft comment 1f9c2a "Which one?" --on "the ferry"')
)
@click.argument("draft_id", type=DRAFT, metavar="ID")
@click.argument("text")
@click.option("--on", "quote", metavar="WORDS", default="", help="The words of the draft that it is about.")
@json_options(Comment)
@pass_context
def comment(context: Context, *, draft_id: str, text: str, quote: str, as_json: bool) -> None:
    """Comment on a draft, or on some words of it. The comment follows the words when the text is edited."""
    added = context.run(lambda desk: desk.drafts.comments.add(draft_id, text, quote))
    if as_json:
        print_json(added)
    else:
        click.echo(f"Added a comment as {clean(added.reviewer)}.")


@command(examples=("copydesk draft resolve 1f9c2a 2", "copydesk draft resolve 1f9c2a 2 --delete"))
@click.argument("draft_id", type=DRAFT, metavar="ID")
@click.argument("number", type=click.IntRange(min=1))
@click.option("--open", "reopen", is_flag=True, help="Open it again instead.")
@click.option("--delete", is_flag=True, help="Delete it instead.")
@json_options(Comment)
@pass_context
def resolve(context: Context, *, draft_id: str, number: int, reopen: bool, delete: bool, as_json: bool) -> None:
    """Mark the comment with this NUMBER, as `copydesk draft activity` shows it, as resolved."""
    if reopen and delete:
        raise click.UsageError("Pass either --open or --delete.")

    async def run(desk: "Desk") -> Comment:
        comments = await desk.drafts.comments.list(draft_id)
        if number > len(comments):
            raise NotFoundError(f"The draft has {plural(len(comments), 'comment')}.")
        # Numbers are those of the list, which nobody else changes often.
        chosen = comments[number - 1]
        if delete:
            await desk.drafts.comments.remove(chosen.id)
            return chosen
        return await desk.drafts.comments.resolve(chosen.id, resolved=not reopen)

    changed = context.run(run)
    if as_json:
        print_json(changed)
    else:
        done = "Deleted" if delete else "Opened" if reopen else "Resolved"
        click.echo(f"{done} the comment of {clean(changed.reviewer)}.")


COMMANDS = (
    *(approve, reject, regenerate, unapprove, archive, restore, stats, schedule, reschedule, unschedule, post),
    *(undo, redo, resume, history, diff, countersign, activity, comment, resolve),
)
