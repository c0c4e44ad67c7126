"""`copydesk draft`: new, edit, list, search, show; the other subcommands come from the modules imported here."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from zoneinfo import ZoneInfo

import click

from copydesk.cli import history, images, review
from copydesk.cli.context import AS_JSON, Context, is_interactive, pass_context, print_json
from copydesk.cli.draft_selection import (
    FILTER_NAMES,
    NO_WAIT,
    filter_params,
    print_changed,
    print_unwritten,
    print_writer_notes,
    wait_for_new,
    with_filters,
)
from copydesk.cli.draft_view import draft_facts, print_draft
from copydesk.cli.formatting import first_line, format_time, print_table
from copydesk.cli.images import create_with_images, parse_image_options, print_missing_alt, with_image_options
from copydesk.editor import create_temporary_file, get_editor_command, read_edited_file
from copydesk.errors import ConflictError, CopydeskError
from copydesk.model.draft import Draft, Format, ListedDraft
from copydesk.model.item import Item
from copydesk.model.page import Page
from copydesk.model.requests import MAX_TEXT_LENGTH, CreatedDrafts, CreationMode
from copydesk.model.transitions import status_after_edit

if TYPE_CHECKING:
    from copydesk.desk import Desk


FILE = click.option("--file", type=click.File(encoding="utf-8"), help="Read the text from a file; - for stdin.")
MAX_READ = 2 * MAX_TEXT_LENGTH
"""Characters read of a file: twice the limit, as spaces around a text do not count."""
PageInZone = tuple[Page[ListedDraft], str]
"""A page of drafts and the time zone its times are printed in."""
LIMIT = click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True, help="Drafts per page.")
CURSOR = click.option("--cursor", help="The nextCursor of the previous page.")


@click.group()
def draft() -> None:
    """Create, review and schedule drafts."""


@draft.command()
@click.argument("text", required=False)
@FILE
@click.option("--url", metavar="URL", help="Generate the text from this page.")
@click.option("--prompt", metavar="TEXT", help="Generate the text from this prompt; with --url, from that page.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice([member.value for member in Format], case_sensitive=False),
    help="SHORT by default; may be repeated with --url or --prompt.",
)
@with_image_options
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be repeated.")
@click.option(
    "--platform", "platforms", multiple=True, metavar="NAME", help="The platform to post to; may be repeated."
)
@NO_WAIT
@AS_JSON
@pass_context
def new(  # noqa: PLR0913 - one argument an option
    context: Context,
    *,
    text: str | None,
    file: TextIO | None,
    url: str | None,
    prompt: str | None,
    formats: tuple[str, ...],
    images: tuple[str, ...],
    ai_image: str | None,
    provider: str | None,
    alts: tuple[str, ...],
    tags: tuple[str, ...],
    platforms: tuple[str, ...],
    no_wait: bool,
    as_json: bool,
) -> None:
    """Create a draft from TEXT as written, or generate one per format from --url, --prompt or both.

    Waits until the texts are generated; exit code 1 if one fails.

    On a terminal and without a text, --url and --prompt, your editor opens.
    """
    request: dict[str, object] = {"url": url, "prompt": prompt, "tags": tags, "targetPlatforms": platforms}
    image_options = parse_image_options(images, alts, ai_image, provider)
    editor_text = None
    if url is None and prompt is None:
        if len(formats) > 1:
            raise click.UsageError("A text takes one --format; use several with --url or --prompt only.")
        own_text = _text_argument(text, file)
        editor_text = _write_in_editor() if own_text is None else None
        request |= {"text": editor_text if own_text is None else own_text, "format": formats[0] if formats else None}
    else:
        request |= {"text": text if file is None else _text_argument(text, file), "formats": formats or None}

    async def work(desk: "Desk") -> tuple[CreatedDrafts, tuple[Draft, ...]]:
        try:
            creation = await create_with_images(desk, request, image_options)
        except CopydeskError:
            if editor_text:
                click.echo(f"Your text is saved in {create_temporary_file(editor_text)}.", err=True)
            raise
        # Direct mode has its text already; in generate mode wait, unless the daemon is to write it.
        return (creation, ()) if creation.mode is CreationMode.DIRECT or no_wait else await wait_for_new(desk, creation)

    creation, drafts = context.run(work)
    _print_creation(creation, as_json=as_json)
    print_missing_alt(creation.drafts[0].images)
    print_writer_notes(drafts)
    sys.exit(1 if print_unwritten(drafts) else 0)


@draft.command()
@click.argument("id")
@click.option("--text", metavar="TEXT", help="The new text.")
@FILE
@AS_JSON
@pass_context
def edit(context: Context, *, id: str, text: str | None, file: TextIO | None, as_json: bool) -> None:
    """Edit a draft's text; its checks run again.

    On a terminal and without --text and --file, your editor opens.
    """
    own_text = _text_argument(text, file)
    if own_text is not None:
        changed = context.run(lambda desk: desk.drafts.edit(id, own_text))
    else:
        _require_terminal("Pass the text with --text or --file.")
        edited = _edit_in_editor(context, id)
        if edited is None:
            click.echo("Nothing changed.", err=True)
            return
        changed = edited
    print_changed(changed, f"edited, now {changed.status}", as_json=as_json)


def _text_argument(text: str | None, file: TextIO | None) -> str | None:
    if text is not None and file is not None:
        raise click.UsageError("Pass either a text or --file, not both.")
    if file is None:
        return text
    try:
        # Limit the read: a device such as /dev/zero never ends.
        content = file.read(MAX_READ + 1)
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file.name} is not UTF-8 text.") from error
    if len(content) > MAX_READ:
        raise click.UsageError(f"{file.name} is too long: the limit is {MAX_TEXT_LENGTH:,} characters.")
    return content


def _write_in_editor() -> str:
    _require_terminal("Pass a text, --file, --url or --prompt.")
    path = create_temporary_file("")
    _open_editor(path)
    text = read_edited_file(path)
    path.unlink()
    if not text.strip():
        raise click.UsageError("The text is empty; no draft was created.")
    return text


def _open_editor(path: Path) -> None:
    """Open the file in the user's editor. It is left in place if the editor fails."""
    try:
        exit_code = subprocess.run((*get_editor_command(), str(path)), check=False).returncode  # noqa: S603 - the user's own editor
    except (OSError, CopydeskError) as error:
        raise click.ClickException(f"Cannot start the editor: {error} Your text is saved in {path}.") from error
    if exit_code:
        raise click.ClickException(f"The editor exited with code {exit_code}. Your text is saved in {path}.")


def _require_terminal(otherwise: str) -> None:
    if not is_interactive():
        raise click.UsageError(otherwise)


def _edit_in_editor(context: Context, draft_id: str) -> Draft | None:
    """Return the draft after the user edited its text, or None if the text is unchanged.

    The text stays in a file if it cannot be stored: the draft may have been changed in the meantime.
    """

    async def load(desk: "Desk") -> Draft:
        draft = await desk.drafts.get(draft_id)
        status_after_edit(draft.status, archived=draft.archived_at is not None)  # refuse before the user starts writing
        return draft

    original = context.run(load)
    path = create_temporary_file(original.text)
    _open_editor(path)
    text = read_edited_file(path)
    if text.strip() == original.text:
        path.unlink()
        return None

    async def save(desk: "Desk") -> Draft:
        try:
            return await desk.drafts.edit(draft_id, text, expected_version=original.version)
        except CopydeskError as error:
            raise ConflictError(str(error), hint=f"Your text is saved in {path}.") from error

    changed = context.run(save)
    path.unlink()
    return changed


def _print_creation(creation: CreatedDrafts, *, as_json: bool) -> None:
    if as_json:
        print_json(creation)
        return
    for draft in creation.drafts:
        click.echo(f"Created {draft.id} ({draft.format}, {draft.status}).")


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


# The subcommands live in several modules; register them on the one group.
for command in (*review.COMMANDS, *images.COMMANDS, *history.COMMANDS):
    draft.add_command(command)
