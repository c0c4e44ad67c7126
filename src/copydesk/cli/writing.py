"""`copydesk draft`: new, edit."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from copydesk.cli.ask import on_terminal
from copydesk.cli.context import Context, pass_context, print_json
from copydesk.cli.drafts import AS_JSON, say_changed, say_notes, say_unwritten
from copydesk.cli.generation import NO_WAIT, wait_for_new
from copydesk.cli.pictures import create, pictures_of, say_undescribed, with_pictures
from copydesk.editor import command, kept, read_back
from copydesk.errors import ConflictError, CopydeskError
from copydesk.model.change import LONGEST_TEXT, ChangeDraft, Created, Mode
from copydesk.model.draft import Draft, Format
from copydesk.model.transitions import after_edit

if TYPE_CHECKING:
    from copydesk.desk import Desk

FILE = click.option("--file", type=click.File(encoding="utf-8"), help="Take the text from a file; - is standard input.")
MOST_READ = 2 * LONGEST_TEXT
"""Characters of a file; the spaces around a text do not count."""


@click.command()
@click.argument("text", required=False)
@FILE
@click.option("--url", metavar="URL", help="Write from what this page says.")
@click.option("--prompt", metavar="TEXT", help="Write what this asks for; with --url, from that page.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice([each.value for each in Format], case_sensitive=False),
    help="By default SHORT; with --url or --prompt it may be repeated.",
)
@with_pictures
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be repeated.")
@click.option(
    "--platform", "platforms", multiple=True, metavar="NAME", help="Where it is meant to go; may be repeated."
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
    """Make a draft of TEXT as it stands, or have one written for each format from --url, --prompt or both.

    Waits until they are written; exit code 1 where one could not be.

    On a terminal, and with none of them, your editor opens.
    """
    asked: dict[str, object] = {"url": url, "prompt": prompt, "tags": tags, "targetPlatforms": platforms}
    pictures = pictures_of(images, alts, ai_image, provider)
    written = None
    if url is None and prompt is None:
        if len(formats) > 1:
            raise click.UsageError("A text has one --format; several are for --url and --prompt.")
        given = _given(text, file)
        written = _written() if given is None else None
        asked |= {"text": written if given is None else given, "format": formats[0] if formats else None}
    else:
        asked |= {"text": text if file is None else _given(text, file), "formats": formats or None}

    async def work(desk: "Desk") -> tuple[Created, tuple[Draft, ...]]:
        try:
            made = await create(desk, asked, pictures)
        except CopydeskError:
            if written:
                click.echo(f"Your text is kept in {kept(written)}.", err=True)
            raise
        return (made, ()) if made.mode is Mode.DIRECT or no_wait else await wait_for_new(desk, made)

    made, drafts = context.run(work)
    _say_made(made, as_json=as_json)
    say_undescribed(made.drafts[0].images)
    say_notes(drafts)
    sys.exit(1 if say_unwritten(drafts) else 0)


@click.command()
@click.argument("id")
@click.option("--text", metavar="TEXT", help="The new text.")
@FILE
@AS_JSON
@pass_context
def edit(context: Context, *, id: str, text: str | None, file: TextIO | None, as_json: bool) -> None:
    """Give a draft another text; its checks are run again.

    On a terminal, and without --text and --file, your editor opens.
    """
    given = _given(text, file)
    if given is not None:
        changed = context.run(lambda desk: desk.drafts.edit(id, given))
    else:
        _need_terminal("Give the text with --text or --file.")
        found = _in_editor(context, id)
        if found is None:
            click.echo("Nothing was changed.", err=True)
            return
        changed = found
    say_changed(changed, f"is edited and {changed.status}", as_json=as_json)


COMMANDS = (new, edit)


def _given(text: str | None, file: TextIO | None) -> str | None:
    if text is not None and file is not None:
        raise click.UsageError("Give the text itself or --file, not both.")
    if file is None:
        return text
    try:
        # No more than it takes to see that it is too long: a device has no end.
        read = file.read(MOST_READ + 1)
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file.name} is not text in UTF-8.") from error
    if len(read) > MOST_READ:
        raise click.UsageError(f"{file.name} is too long: a draft has at most {LONGEST_TEXT:,} characters.")
    return read


def _written() -> str:
    _need_terminal("Give a text, --file, --url or --prompt.")
    path = kept("")
    _open_editor(path)
    text = read_back(path)
    path.unlink()
    if not text.strip():
        raise click.UsageError("Nothing was written.")
    return text


def _open_editor(path: Path) -> None:
    """Let the user write in the file. It is kept where the editor fails."""
    try:
        ended = subprocess.run((*command(), str(path)), check=False).returncode  # noqa: S603 - the user's own editor
    except (OSError, CopydeskError) as error:
        raise click.ClickException(f"No editor could be started: {error} Your text is kept in {path}.") from error
    if ended:
        raise click.ClickException(f"Your editor ended with {ended}. Your text is kept in {path}.")


def _need_terminal(otherwise: str) -> None:
    if not on_terminal():
        raise click.UsageError(otherwise)


def _in_editor(context: Context, draft_id: str) -> Draft | None:
    """The draft with what the user made of its text; None where that is nothing new.

    The user's words are kept in a file where they cannot be stored: somebody may have changed the draft meanwhile.
    """

    async def find(desk: "Desk") -> Draft:
        found = await desk.drafts.get(draft_id)
        after_edit(found.status, archived=found.archived_at is not None)  # refused before anything is written
        return found

    before = context.run(find)
    path = kept(before.text)
    _open_editor(path)
    text = read_back(path)
    if text.strip() == before.text:
        path.unlink()
        return None

    async def work(desk: "Desk") -> Draft:
        try:
            return await desk.drafts.change(draft_id, ChangeDraft(text=text), expected_version=before.version)
        except CopydeskError as error:
            raise ConflictError(str(error), hint=f"Your text is kept in {path}.") from error

    changed = context.run(work)
    path.unlink()
    return changed


def _say_made(made: Created, *, as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    for draft in made.drafts:
        click.echo(f"{draft.id} is a {draft.format} and {draft.status}.")
