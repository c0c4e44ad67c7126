"""`copydesk try`: read sources into a temporary desk, show three drafts, and ask whether to keep the sources."""

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from copydesk.cli.command import command
from copydesk.cli.context import Context, is_interactive, pass_context
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import StageProgress, print_text
from copydesk.desk.catalog import guess_source_type
from copydesk.errors import CopydeskError, InvalidError, StoreError
from copydesk.model.draft import ListedDraft
from copydesk.model.run import RunRequest, describe_declined
from copydesk.model.serialization import Struct
from copydesk.model.source import Source
from copydesk.settings import Settings
from copydesk.text import clean, reveal
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk

DRAFTS = 3
MAX_AGE_HOURS = 30 * 24
"""Age of the oldest item that is drafted: sources that publish once a week have something to show, too."""


class FailedSource(Struct, frozen=True):
    """An address that could not be read."""

    url: str
    error: str


class Trial(Struct, frozen=True):
    """What was read, and the drafts that were made of it."""

    sources: tuple[Source, ...] = ()
    failed: tuple[FailedSource, ...] = ()
    drafts: tuple[ListedDraft, ...] = ()
    declined: tuple[str, ...] = ()
    """Why fewer drafts were made."""


@command(
    name="try",
    examples=("copydesk try https://example.com", "copydesk try example.com example.org --keep"),
    creates_desk=True,
)
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--keep/--no-keep", default=None, help="Add the sources to your desk, or not, without asking.")
@json_options("sources", "failed", "drafts", "kept")
@pass_context
def try_(context: Context, *, urls: tuple[str, ...], keep: bool | None, as_json: bool) -> None:
    """Read sources and show three drafts, without touching your desk.

    The address of a site finds its feed. Everything is read into a temporary folder, which is deleted; at the end you
    can keep the sources. Items up to 30 days old are drafted, by the offline writer.

    Exit code 1 if no source could be read.
    """

    async def read() -> Trial:
        settings = context.settings()
        with TemporaryDirectory(prefix="copydesk-try-") as folder:
            return await _read(_trial_settings(settings, Path(folder)), urls, sample=context.sample, silent=as_json)

    trial = context.run_without_desk(read)
    if not as_json:
        _print_trial(trial)
    is_kept = bool(trial.sources) and _wants_to_keep(len(trial.sources), keep=keep, as_json=as_json)
    added = _keep(context, trial.sources) if is_kept else ()
    if as_json:
        print_json({"sources": trial.sources, "failed": trial.failed, "drafts": trial.drafts, "kept": added})
    elif trial.sources and not added:
        click.echo("Nothing was kept.", err=True)
    sys.exit(0 if trial.sources else 1)


def _trial_settings(settings: Settings, folder: Path) -> Settings:
    """Return the user's settings, such as the interests, for a desk in `folder`."""
    pipeline = replace(settings.pipeline, first_fetch_hours=MAX_AGE_HOURS, max_age_hours=MAX_AGE_HOURS)
    # In a file there, also if the user's own desk is on a server.
    database = replace(settings.database, url="")
    return replace(settings, pipeline=pipeline, database=database, data_home=folder)


async def _read(settings: Settings, urls: Sequence[str], *, sample: bool, silent: bool) -> Trial:
    from copydesk.desk import open_desk, utc_now  # noqa: PLC0415 - `copydesk try --help` needs none of it

    transport = None
    if sample:
        from copydesk.sample.server import SampleTransport  # noqa: PLC0415 - as above

        transport = SampleTransport(utc_now())
    async with open_desk(settings, transport=transport) as desk:
        sources: list[Source] = []
        failed: list[FailedSource] = []
        for url in dict.fromkeys(urls):
            try:
                sources.append(await desk.sources.create({"type": guess_source_type(url).name, "url": url}))
            except StoreError:
                raise
            except CopydeskError as error:
                failed.append(FailedSource(url=url, error=_describe(error)))
        if not sources:
            return Trial(failed=tuple(failed))
        with StageProgress(sys.stderr, silent=silent) as display:
            run = await desk.pipeline.run(
                RunRequest(max_drafts=DRAFTS),
                lambda step: display.show(step.stage.value, step.done, step.total, step.note),
            )
        drafts = await desk.drafts.queue()
        return Trial(tuple(sources), tuple(failed), tuple(drafts[:DRAFTS]), tuple(describe_declined(run.stats)))


def _describe(error: CopydeskError) -> str:
    messages = [message for _, message in error.errors] if isinstance(error, InvalidError) else [error.message]
    return " ".join([*messages, error.hint]).rstrip()


def _print_trial(trial: Trial) -> None:
    for draft in trial.drafts:
        source = next((source.name for source in draft.score.sources), "") if draft.score else ""
        click.echo("─" * 72)
        print_text(f"{clean(source)} · {clean(draft.item.title)}\n")
        print_text(f"{reveal(draft.text)}\n")
    for failure in trial.failed:
        print_text(f"{clean(failure.url)}: {clean(failure.error)}", err=True)
    if not trial.sources:
        return
    names = ", ".join(clean(source.name) for source in trial.sources)
    print_text(f"{plural(len(trial.drafts), 'draft')} from {names}.", err=True)
    if len(trial.drafts) < DRAFTS:
        for declined in trial.declined:
            print_text(f"{declined}.", err=True)
        click.echo(f"Only items of the last {MAX_AGE_HOURS // 24} days are drafted.", err=True)


def _wants_to_keep(count: int, *, keep: bool | None, as_json: bool) -> bool:
    if keep is not None or as_json or not is_interactive():
        return bool(keep)
    return click.confirm(f"Keep {'this source' if count == 1 else 'these sources'}?", default=False, err=True)


def _keep(context: Context, sources: Sequence[Source]) -> tuple[Source, ...]:
    """Add the sources to the user's desk; return those that it has now, also if it had them before."""

    async def add(desk: "Desk") -> tuple[tuple[Source, ...], tuple[str, ...]]:
        added, refused = [], []
        for source in sources:
            try:
                # They were read a moment ago.
                new = {"type": source.type, "url": source.url}
                added.append(await desk.sources.create(new, test=False, title=source.name))
            except InvalidError as error:
                refused.append(f"{source.name}: {_describe(error)}")
        return tuple(added), tuple(refused)

    added, refused = context.run(add)
    for reason in refused:
        click.echo(clean(reason), err=True)
    if added:
        click.echo(
            context.with_desk_options(f"Kept {plural(len(added), 'source')}. Next: copydesk --run-pipeline"), err=True
        )
    return added
