"""The selection of drafts on the command line, shared by the draft commands.

Drafts are selected by id or with the filter options of the draft lists. An action is applied to each of them, its
outcome printed; texts that are generated on request are waited for.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

import click
import msgspec

from copydesk.cli.commands import FAILED
from copydesk.cli.context import EXIT_CODES, Context, confirm
from copydesk.cli.ids import DRAFT, SOURCE, shorten_draft, shorten_drafts
from copydesk.cli.json_output import json_options, print_json, require_fields
from copydesk.desk.catalog import SOURCE_TYPES
from copydesk.desk.drafts.history_text import RESULT_PHRASES
from copydesk.model.draft import MANUAL, STATUS_LABELS, Action, Draft, Format, ListedDraft, Status, without_item
from copydesk.model.filters import Archived, FilterParams
from copydesk.model.requests import BulkOutcome, ChangeDraft, CreatedDrafts, creation_response
from copydesk.model.transitions import BulkFailure
from copydesk.problems import problem_type
from copydesk.text import clean
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk


FILTER_NAMES = (
    "status",
    "format",
    "source_id",
    "source_type",
    "tags",
    "scheduled_after",
    "scheduled_before",
    "archived",
)
_TIMES = {"scheduled_after": "--scheduled-after", "scheduled_before": "--scheduled-before"}

ARCHIVED = click.option(
    "--archived",
    type=click.Choice([member.value for member in Archived]),
    help="Include, exclude or show only archived drafts; included by default.",
)
BULK = click.option("--bulk", is_flag=True, help="Print the outcome in the shape for several drafts, for one too.")
NO_WAIT = click.option(
    "--no-wait", is_flag=True, help="Do not wait: `copydesk daemon` or the open console generates the text."
)
# More would push the totals off the screen.
MAX_PRINTED_FAILURES = 20
WRITER_RULE = "writer"
"""The rule name under which a draft's checks hold the writer's own notes."""
FollowUp = Callable[["Desk", Sequence[str]], Awaitable[tuple[Draft, ...]]]
"""Continues after an action with the ids of its drafts; returns the drafts as they are then."""
PrintNotes = Callable[[Context, "Desk", Sequence[str]], Awaitable[None]]
"""Prints additional information about the drafts of an action."""


class StatusChoice(click.Choice[str]):
    """The statuses by value; the labels are accepted too."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value of a status given by value or label."""
        values = {label: status.value for status, label in STATUS_LABELS.items()}
        return super().convert(values.get(str(value).lower(), value), param, ctx)


STATUSES = tuple(member.value for member in Status)
FILTER_OPTIONS = (
    click.option(
        "--status",
        multiple=True,
        type=StatusChoice(STATUSES),
        metavar="STATUS",
        help=f'With this status: {", ".join(STATUSES)}; or its label such as "needs review". May be repeated.',
    ),
    click.option(
        "--format",
        type=click.Choice([member.value for member in Format], case_sensitive=False),
        help="Only this format.",
    ),
    click.option("--source", "source_id", type=SOURCE, metavar="ID", help="From this source."),
    click.option(
        "--source-type",
        # MANUAL selects drafts the user made without a source.
        type=click.Choice([*SOURCE_TYPES, MANUAL]),
        help="From sources of this type.",
    ),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="With this tag; repeat to require several."),
    click.option("--scheduled-after", metavar="TIME", help="Scheduled at or after: 2026-11-30, fri 9, ISO."),
    click.option("--scheduled-before", metavar="TIME", help="Scheduled before this time."),
)
SELECTION_OPTIONS = (
    click.argument("ids", nargs=-1, type=DRAFT, metavar="[ID]..."),
    click.option("--all-matching", is_flag=True, help="All drafts that match the filters below, after a confirmation."),
    *FILTER_OPTIONS,
    click.option(
        "--archived",
        type=click.Choice([member.value for member in Archived]),
        help="Include, exclude or use only archived drafts; excluded by default.",
    ),
    click.option("--yes", is_flag=True, help="Skip the confirmation."),
    BULK,
    json_options(Draft, BulkOutcome),
)


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Add all filter options to a command, which passes them to `filter_params`."""
    return reduce(lambda decorated, option: option(decorated), (ARCHIVED, *reversed(FILTER_OPTIONS)), command)


async def filter_params(desk: "Desk", options: dict[str, Any]) -> FilterParams:
    """Return the filters that were given, with times parsed in the user's time zone.

    Raise NotFoundError if the user has no such source: nothing found would look like an answer.
    """
    # click passes an empty tuple for a repeatable option that was not given.
    params: dict[str, Any] = {name: options[name] for name in FILTER_NAMES if options[name] not in (None, ())}
    for name, field in _TIMES.items():
        if name in params:
            params[name] = await desk.drafts.parse_time(params[name], field=field)
    if source_id := params.get("source_id"):
        await desk.sources.get(source_id)
    return cast("FilterParams", params)


async def wait_for_new(desk: "Desk", creation: CreatedDrafts) -> tuple[CreatedDrafts, tuple[Draft, ...]]:
    """Wait until new drafts are written; return the updated creation response and the drafts."""
    drafts = await _generate(desk, [draft.id for draft in creation.drafts])
    return creation_response(creation.mode, creation.item_id, drafts), tuple(drafts)


async def wait_for_versions(desk: "Desk", draft_ids: Sequence[str]) -> tuple[Draft, ...]:
    """Wait until new versions of drafts are written; return them, and the old draft where that failed."""
    newest = []
    for draft in await _generate(desk, draft_ids):
        versions = await desk.drafts.list_versions(draft.id)
        newest.append(next((version for version in versions if version.regenerated_from_id == draft.id), draft))
    return tuple(without_item(draft) for draft in newest)


async def _generate(desk: "Desk", draft_ids: Sequence[str]) -> list[ListedDraft]:
    click.echo(f"Generating {plural(len(draft_ids), 'draft')}…", err=True)
    try:
        await desk.generation.finish(draft_ids)
    except asyncio.CancelledError:  # Ctrl-C or SIGTERM
        context = click.get_current_context().find_object(Context)
        assert context is not None
        daemon = context.with_desk_options("`copydesk daemon`")
        click.echo(f"Texts that are not generated yet are left to {daemon} or the open console.", err=True)
        raise
    return [await desk.drafts.get(draft_id) for draft_id in draft_ids]


class DraftSelection(TypedDict):
    """The command line's selection of drafts."""

    ids: tuple[str, ...]
    all_matching: bool
    status: tuple[str, ...]
    format: str | None
    source_id: str | None
    source_type: str | None
    tags: tuple[str, ...]
    scheduled_after: str | None
    scheduled_before: str | None
    archived: str | None
    yes: bool
    bulk: bool
    as_json: bool


def with_draft_selection(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument and options that select drafts; the command receives them as DraftSelection."""
    return reduce(lambda decorated, option: option(decorated), reversed(SELECTION_OPTIONS), command)


def run_action(
    context: Context,
    request: ChangeDraft,
    *,
    question_suffix: str = "",
    follow_up: FollowUp | None = None,
    print_notes: PrintNotes | None = None,
    **selection: Unpack[DraftSelection],
) -> None:
    """Apply an action to the selected drafts, print the outcome, and exit: 0 if all succeeded, else 1.

    `question_suffix` follows the action and the number in the confirmation question. `follow_up` continues with the
    drafts that succeeded, `print_notes` prints more about them.
    """
    # A repeated id would fail the second time.
    ids = tuple(dict.fromkeys(selection["ids"]))
    is_bulk = selection["all_matching"] or selection["bulk"] or len(ids) > 1
    require_fields(BulkOutcome if is_bulk else Draft)
    if selection["all_matching"]:
        if ids:
            raise click.UsageError("Pass either IDs or --all-matching, not both.")
        ids = _confirm_matching(context, request, question_suffix, selection)
    elif any(selection[name] for name in FILTER_NAMES):  # type: ignore[literal-required]
        raise click.UsageError("Filters need --all-matching.")
    elif not ids:
        raise click.UsageError("Pass the IDs of drafts, or --all-matching.")
    if is_bulk:
        _run_bulk(context, request, ids, follow_up, print_notes, as_json=selection["as_json"])
    else:
        _run_single(context, request, ids[0], follow_up, print_notes, as_json=selection["as_json"])


def print_changed(changed: Draft, short_id: str, outcome: str, *, time_text: str = "", as_json: bool) -> None:
    """Print one draft after its change: as JSON, or its short id and the outcome."""
    if as_json:
        print_json(changed)
    else:
        click.echo(f"{short_id} {outcome}{f' for {time_text}' if time_text else ''}.")


def print_outcome(
    context: Context,
    outcome: str,
    succeeded: Sequence[str],
    failed: Sequence[BulkFailure],
    short_ids: Mapping[str, str],
    stopped_by: str | None = None,
) -> None:
    """Print the outcome for many drafts: the totals on stdout, failures on stderr, but one line for `stopped_by`."""

    def text_of(message: str) -> str:
        return clean(context.with_desk_options(message))

    click.echo(f"{len(succeeded)} {outcome}{f', {len(failed)} failed' if failed else ''}.")
    refused = [failure for failure in failed if failure.text != stopped_by]
    for failure in refused[:MAX_PRINTED_FAILURES]:
        click.echo(f"{clean(short_ids[failure.id])}: {text_of(failure.text)}", err=True)
    if len(refused) > MAX_PRINTED_FAILURES:
        click.echo(f"And {len(refused) - MAX_PRINTED_FAILURES} more.", err=True)
    if stopped_by is not None:
        click.echo(f"{plural(len(failed) - len(refused), 'draft')} not changed: {text_of(stopped_by)}", err=True)


def exit_code_of(succeeded: Sequence[str], failed: Sequence[BulkFailure]) -> int:
    """Return the exit code for many drafts: as for one draft if all failed and for one cause, otherwise FAILED or 0."""
    codes_by_type = {problem_type(error_type).uri: code for types, code in EXIT_CODES for error_type in types}
    codes = {codes_by_type.get(failure.type, FAILED) for failure in failed}
    if not codes:
        return 0
    return codes.pop() if len(codes) == 1 and not succeeded else FAILED


def print_unwritten(
    context: Context, drafts: Sequence[Draft], short_ids: Mapping[str, str], *, regenerated: bool = False
) -> int:
    """Print why texts could not be written, and how to keep those that were `regenerated`; return their number."""
    failed = [draft for draft in drafts if draft.status is Status.GENERATION_FAILED]
    for draft in failed:
        hint = f" To restore it as it was: copydesk draft undo {short_ids[draft.id]}" if regenerated else ""
        click.echo(f"{short_ids[draft.id]}: {clean(draft.last_error or '')}{context.with_desk_options(hint)}", err=True)
    return len(failed)


def print_writer_notes(drafts: Sequence[Draft]) -> None:
    """Print once what the writer could not do of the request."""
    messages = [finding.message for draft in drafts for finding in draft.checks.findings if finding.rule == WRITER_RULE]
    for message in dict.fromkeys(messages):
        click.echo(clean(message), err=True)


def _confirm_matching(
    context: Context, request: ChangeDraft, question_suffix: str, selection: DraftSelection
) -> tuple[str, ...]:
    """Return the ids of all matching drafts, after the user confirmed their number."""
    # Archived drafts are listed by default, but a bulk action leaves them alone unless told otherwise.
    options = {**selection, "archived": selection["archived"] or Archived.EXCLUDE}

    async def work(desk: "Desk") -> tuple[str, ...]:
        return await desk.drafts.matching_ids(**await filter_params(desk, options))

    ids = context.run(work)
    if ids and not selection["yes"]:
        assert request.action
        confirm(
            f"{request.action.replace('_', ' ')} {plural(len(ids), 'draft')}{question_suffix}?".capitalize(),
            declined="Nothing changed.",
        )
    return ids


def _run_single(
    context: Context,
    request: ChangeDraft,
    draft_id: str,
    follow_up: FollowUp | None,
    print_notes: PrintNotes | None,
    *,
    as_json: bool,
) -> None:
    assert request.action

    async def work(desk: "Desk") -> tuple[Draft, str, str]:
        changed = await desk.drafts.change(draft_id, request)
        assert isinstance(changed, Draft), "posting has its own command"
        if follow_up is not None:
            (changed,) = await follow_up(desk, [changed.id])
        if print_notes is not None:
            await print_notes(context, desk, [changed.id])
        short_id = await shorten_draft(desk, changed.id)
        if changed.status is not Status.SCHEDULED or changed.scheduled_at is None:
            return changed, short_id, ""
        (time_text,) = await desk.schedule.format_times(changed.scheduled_at)
        return changed, short_id, time_text

    changed, short_id, time_text = context.run(work)
    outcome = RESULT_PHRASES[request.action] if follow_up is None else f"now {STATUS_LABELS[changed.status]}"
    # The next status depends on whether there is feedback, so print it too.
    if request.action is Action.UNAPPROVE:
        outcome += f", now {STATUS_LABELS[changed.status]}"
    print_changed(changed, short_id, outcome, time_text=time_text, as_json=as_json)
    if follow_up is not None:
        print_writer_notes([changed])
        sys.exit(1 if print_unwritten(context, [changed], {changed.id: short_id}, regenerated=True) else 0)


def _run_bulk(
    context: Context,
    request: ChangeDraft,
    ids: tuple[str, ...],
    follow_up: FollowUp | None,
    print_notes: PrintNotes | None,
    *,
    as_json: bool,
) -> None:
    action = request.action
    assert action
    request_body = msgspec.structs.replace(request, action=None)

    async def work(desk: "Desk") -> tuple[BulkOutcome, tuple[Draft, ...], dict[str, str]]:
        outcome = await desk.drafts.bulk_all(action, ids, request_body)
        succeeded, failed = outcome.results.succeeded, outcome.results.failed
        if print_notes is not None:
            await print_notes(context, desk, succeeded)
        drafts = await follow_up(desk, succeeded) if follow_up is not None and succeeded else ()
        named = [*(failure.id for failure in failed), *(draft.id for draft in drafts)]
        return outcome, drafts, await shorten_drafts(desk, named)

    outcome, followed_up, short_ids = context.run(work)
    succeeded, failed = outcome.results.succeeded, outcome.results.failed
    if as_json:
        print_json(outcome)
    else:
        print_outcome(context, RESULT_PHRASES[action], succeeded, failed, short_ids, outcome.stopped_by)
    print_writer_notes(followed_up)
    unwritten = print_unwritten(context, followed_up, short_ids, regenerated=True)
    # A text that was not written has no code of its own.
    sys.exit(FAILED if unwritten else exit_code_of(succeeded, failed))
