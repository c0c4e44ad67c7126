"""`copydesk draft`: list, search, show; the other subcommands come from the modules imported here."""

from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from copydesk.cli import compose, history, images, review
from copydesk.cli.context import AS_JSON, Context, pass_context, print_json
from copydesk.cli.draft_selection import FILTER_NAMES, filter_params, with_filters
from copydesk.cli.draft_view import draft_facts, print_draft
from copydesk.cli.formatting import first_line, format_time, print_table
from copydesk.model.draft import ListedDraft
from copydesk.model.item import Item
from copydesk.model.page import Page

if TYPE_CHECKING:
    from copydesk.desk import Desk

PageInZone = tuple[Page[ListedDraft], str]
"""A page of drafts and the time zone its times are printed in."""
LIMIT = click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True, help="Drafts per page.")
CURSOR = click.option("--cursor", help="The nextCursor of the previous page.")


@click.group()
def draft() -> None:
    """Create, review and schedule drafts."""


# The subcommands live in several modules; register them on the one group.
for command in (*compose.COMMANDS, *review.COMMANDS, *images.COMMANDS, *history.COMMANDS):
    draft.add_command(command)


@draft.command(name="list")
@with_filters
@LIMIT
@CURSOR
@AS_JSON
@pass_context
def list_(context: Context, /, *, limit: int, cursor: str | None, as_json: bool, **options: Any) -> None:
    """List drafts, newest first."""

    async def work(desk: "Desk") -> PageInZone:
        page = await desk.drafts.list(limit=limit, cursor=cursor, **await filter_params(desk, options))
        return page, await desk.schedule.zone()

    has_filters = any(options[name] for name in FILTER_NAMES)
    empty = (
        "No drafts match these filters."
        if has_filters
        else context.with_desk_options("No drafts yet. Create some: copydesk --run-pipeline")
    )
    _print_page(*context.run(work), empty=empty, as_json=as_json)


@draft.command()
@click.argument("words", nargs=-1, required=True)
@with_filters
@LIMIT
@CURSOR
@AS_JSON
@pass_context
def search(
    context: Context, /, *, words: tuple[str, ...], limit: int, cursor: str | None, as_json: bool, **options: Any
) -> None:
    """Find drafts with all WORDS in their text, title, tags or source name, newest first.

    "two words" stand next to each other, harb* leaves the end open, and after -- a -word leaves out what has it.
    """
    query = " ".join(_quote_phrase(word) for word in words)

    async def work(desk: "Desk") -> PageInZone:
        page = await desk.drafts.search(query, limit=limit, cursor=cursor, **await filter_params(desk, options))
        return page, await desk.schedule.zone()

    has_filters = any(options[name] for name in FILTER_NAMES)
    empty = "No drafts match these words and filters." if has_filters else "No drafts match."
    _print_page(*context.run(work), empty=empty, as_json=as_json)


def _quote_phrase(word: str) -> str:
    """Quote several words given as one argument: the shell has removed the quotation marks around them."""
    return f'"{word}"' if " " in word.strip() and '"' not in word else word


def _print_page(page: Page[ListedDraft], zone: str, *, empty: str, as_json: bool) -> None:
    if as_json:
        print_json({"drafts": page.items, "nextCursor": page.next_cursor})
        return
    rows = [
        (entry.id, _status_text(entry, ZoneInfo(zone)), entry.format, f"{entry.confidence:.0%}", first_line(entry.text))
        for entry in page.items
    ]
    print_table(rows, empty=empty, cut=True)
    if page.next_cursor:
        click.echo(f"More: --cursor {page.next_cursor}", err=True)


def _status_text(found: ListedDraft, zone: ZoneInfo) -> str:
    """Return the status with the scheduled time, if there is one, and "archived"."""
    time = (format_time(found.scheduled_at, zone),) if found.scheduled_at else ()
    return ", ".join((found.status, *time, *(("archived",) if found.archived_at else ())))


@draft.command()
@click.argument("id")
@AS_JSON
@pass_context
def show(context: Context, *, id: str, as_json: bool) -> None:
    """Show a draft: text, times, feedback, checks, score and source item."""

    async def work(desk: "Desk") -> tuple[ListedDraft, Item, list[tuple[str, str]]]:
        found = await desk.drafts.get(id)
        return found, await desk.drafts.item(found.item_id), await draft_facts(desk, found)

    found, item, facts = context.run(work)
    if as_json:
        print_json(found)
        return
    print_draft(found, facts)
    click.echo("\nSource item")
    rows = [("title", item.entry.title), ("from", item.source_name), ("published", format_time(item.published))]
    print_table([*rows, ("link", item.entry.url or "none")], empty="")
