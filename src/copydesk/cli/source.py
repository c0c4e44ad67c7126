"""`copydesk source`: add, list, show, test, edit, remove, import, export."""

import sys
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TextIO

import click

from copydesk.cli.command import group
from copydesk.cli.context import Context, confirm, parse_config, pass_context, read_limited, rename_fields
from copydesk.cli.ids import SOURCE, shorten_id
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import StageProgress, format_ago, format_time, print_table, write_export
from copydesk.desk.catalog import SOURCE_TYPES, guess_source_type
from copydesk.errors import InvalidError
from copydesk.model.ids import IdKind
from copydesk.model.serialization import to_json
from copydesk.model.source import Source
from copydesk.text import clean
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.sources.service import ImportResult

ADD_SOURCE_HINT = "Add one: copydesk source add https://example.com"
ENABLE_COMMAND = "copydesk source edit ID --enable"
NOT_FETCHED = "not fetched yet"
CONFIG = click.option("--config", metavar="JSON", help="Settings of the source, such as '{\"weight\": 2}'.")


class TypedAddress(NamedTuple):
    """The arguments of `source add`."""

    type: str
    url: str


def _parse_address(context: click.Context, parameter: click.Parameter, words: tuple[str, ...]) -> TypedAddress:
    """Return the type and the URL; without a type that of the URL's host."""
    match words:
        case (url,) if url not in SOURCE_TYPES:
            return TypedAddress(guess_source_type(url).name, url)
        case () | (_,):
            raise click.MissingParameter(ctx=context, param_hint="'URL'", param_type="argument")
        case (type_, url):
            try:
                return TypedAddress(click.Choice(list(SOURCE_TYPES)).convert(type_, parameter, context), url)
            except click.BadParameter as error:
                error.param_hint = "'TYPE'"
                raise
    raise click.UsageError(f"Got unexpected extra argument ({words[2]})", context)


def _complete_types(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in SOURCE_TYPES if name.startswith(incomplete)]


@group()
def source() -> None:
    """Manage sources."""


@source.command(
    epilog=f"Types: {', '.join(SOURCE_TYPES)}.",
    examples=(
        "copydesk source add https://example.com",
        "copydesk source add reddit r/selfhosted --config '{\"weight\": 2}'",
    ),
    creates_desk=True,
)
@click.argument("address", nargs=-1, metavar="[TYPE] URL", callback=_parse_address, shell_complete=_complete_types)
@click.option("--name", help="The name; by default the feed's own.")
@CONFIG
@json_options(Source)
@pass_context
def add(context: Context, *, address: TypedAddress, name: str | None, config: str | None, as_json: bool) -> None:
    """Add a source after a successful test fetch.

    Without TYPE, the site decides; for most sites it is rss. The address of a site is enough: Copydesk finds its feed.
    """
    settings = parse_config(config)

    async def work(desk: "Desk") -> tuple[Source, str]:
        created = await desk.sources.create({**address._asdict(), "name": name, "config": settings})
        return created, await shorten_id(desk, IdKind.SOURCE, created.id)

    created, short_id = context.run(work)
    if as_json:
        print_json(created)
    else:
        click.echo(f"Added {clean(created.name)} ({created.type}, {clean(created.url or '')}) as {short_id}.")


@source.command(name="list", examples=("copydesk source list",))
@json_options(Source)
@pass_context
def list_(context: Context, *, as_json: bool) -> None:
    """List the sources with their health, and why the last fetch failed."""

    async def work(desk: "Desk") -> tuple[tuple[Source, ...], dict[str, str]]:
        sources = await desk.sources.list()
        return sources, await desk.ids.shorten(IdKind.SOURCE, [entry.id for entry in sources])

    sources, short_ids = context.run(work)
    if as_json:
        print_json(sources)
        return
    rows = [
        (
            short_ids[entry.id],
            entry.health if entry.enabled else "off",
            entry.type,
            f"{plural(entry.item_count, 'item'):>11}",
            format_ago(entry.last_fetch) if entry.last_fetch else NOT_FETCHED,
            entry.name,
            entry.last_error or "",
        )
        for entry in sources
    ]
    print_table(rows, cut=True, empty=context.with_desk_options(f"No sources yet. {ADD_SOURCE_HINT}"))
    if not all(entry.enabled for entry in sources):
        click.echo(context.with_desk_options(f"Enable one that is off: {ENABLE_COMMAND}"), err=True)


@source.command(examples=("copydesk source show 1f9c2a",))
@click.argument("id", type=SOURCE)
@json_options(Source)
@pass_context
def show(context: Context, *, id: str, as_json: bool) -> None:
    """Show one source."""
    found = context.run(lambda desk: desk.sources.get(id))
    if as_json:
        print_json(found)
    else:
        _print_source(context, found)


@source.command(examples=("copydesk source test 1f9c2a",))
@click.argument("id", type=SOURCE)
@json_options("ok", "error", "items")
@pass_context
def test(context: Context, *, id: str, as_json: bool) -> None:
    """Fetch a source and show its entries without storing them."""
    result = context.run(lambda desk: desk.sources.test(id))
    if as_json:
        print_json(result)
    elif result.ok:
        print_table([(item.title, item.url or "") for item in result.items], empty="The source works but is empty.")
    else:
        click.echo(f"Error: {clean(result.error or '')}", err=True)
    sys.exit(0 if result.ok else 1)


@source.command(
    examples=('copydesk source edit 1f9c2a --name "The Ferry Gazette"', "copydesk source edit 1f9c2a --disable")
)
@click.argument("id", type=SOURCE)
@click.option("--name", help="The new name.")
@click.option("--url", metavar="URL", help="The new address; read from scratch after a test fetch.")
@click.option("--type", type=click.Choice(list(SOURCE_TYPES)), help="The new type.")
@click.option("--enable/--disable", "enabled", default=None, help="Include the source in runs, or pause it.")
@CONFIG
@click.option("--no-test", is_flag=True, help="Change the address without a test fetch.")
@json_options(Source)
@pass_context
def edit(  # noqa: PLR0913 - one argument an option
    context: Context,
    *,
    id: str,
    name: str | None,
    url: str | None,
    type: str | None,
    enabled: bool | None,
    config: str | None,
    no_test: bool,
    as_json: bool,
) -> None:
    """Edit a source.

    Options left out keep their values.
    """
    fields = {"name": name, "url": url, "type": type, "enabled": enabled, "config": parse_config(config)}
    changes = {field: value for field, value in fields.items() if value is not None}
    if not changes:
        raise click.UsageError("Nothing to change. Pass --name, --url, --type, --enable, --disable or --config.")
    changed = context.run(lambda desk: desk.sources.update(id, changes, test=not no_test))
    if as_json:
        print_json(changed)
    else:
        _print_source(context, changed)


@source.command(examples=("copydesk source remove 1f9c2a",))
@click.argument("id", type=SOURCE)
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_options("ok")
@pass_context
def remove(context: Context, *, id: str, yes: bool, as_json: bool) -> None:
    """Delete a source with its items and drafts."""
    from copydesk.desk.sources.overview import deletion_prompt  # noqa: PLC0415 - only this command needs it

    found = context.run(lambda desk: desk.sources.get(id))
    if not yes:
        rows = context.run(lambda desk: desk.sources.list_overviews())
        # The overview counts the items and drafts deleted along with the source; without a row ask plainly.
        (question,) = [deletion_prompt(row) for row in rows if row.source.id == found.id] or [
            f"Delete {clean(found.name)}?"
        ]
        confirm(question, declined="Nothing changed.")
    context.run(lambda desk: desk.sources.delete(id))
    if as_json:
        print_json({"ok": True})
    else:
        click.echo(f"Deleted {clean(found.name)}.")


@source.command(name="import", examples=("copydesk source import feeds.opml",), creates_desk=True)
@click.argument("file", type=click.File("rb"))
@json_options(Source)
@pass_context
def import_(context: Context, *, file: BinaryIO, as_json: bool) -> None:
    """Import the feeds of an OPML file.

    Existing sources are left unchanged.
    """
    body = read_limited(file)

    async def work(desk: "Desk") -> "ImportResult":
        with StageProgress(sys.stderr, silent=as_json or not sys.stderr.isatty()) as display:
            try:
                return await desk.sources.import_opml(body, lambda done, total: display.show("import", done, total))
            except InvalidError as error:
                raise rename_fields(error, {"file": file.name}) from error

    result = context.run(work)
    if as_json:
        print_json(result.added)
    else:
        click.echo(
            f"{len(result.added):,} added, {len(result.known):,} already present, {len(result.refused):,} failed."
        )
    for address, problem in result.refused:
        click.echo(f"Not added: {clean(address)}: {clean(problem)}", err=True)
    sys.exit(1 if result.refused else 0)


@source.command(examples=("copydesk source export feeds.opml",))
@click.argument("file", type=click.File("w", encoding="utf-8", lazy=True), default="-")
@pass_context
def export(context: Context, *, file: TextIO) -> None:
    """Export the sources as OPML."""
    document = context.run(lambda desk: desk.sources.export_opml())
    write_export(document, file, "the sources")


def _print_source(context: Context, found: Source) -> None:
    disabled = context.with_desk_options(f"no; enable it: {ENABLE_COMMAND}")
    rows = [
        ("id", found.id),
        ("name", found.name),
        ("type", found.type),
        ("url", found.url or ""),
        *([("config", to_json(found.config))] if found.config else []),
        ("enabled", "yes" if found.enabled else disabled),
        ("health", found.health),
        ("items", found.item_count),
        ("last fetch", format_time(found.last_fetch) if found.last_fetch else NOT_FETCHED),
        ("failures", found.fail_count),
        ("last error", found.last_error or "none"),
    ]
    print_table(rows, empty="")
