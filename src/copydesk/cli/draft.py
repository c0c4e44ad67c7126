"""`copydesk draft`: new, edit, describe, list, search, show; the other subcommands come from `review`.

Images of a new draft are given as options: files, URLs, and one made by an image generator.
"""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import reduce
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO
from zoneinfo import ZoneInfo

import click

from copydesk.cli import review
from copydesk.cli.command import group
from copydesk.cli.context import Context, is_interactive, pass_context, rename_fields
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
from copydesk.cli.draft_view import draft_facts, print_checks, print_draft, print_request
from copydesk.cli.ids import DRAFT, parse_platforms, shorten_draft, shorten_drafts
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import first_line, format_confidence, format_time, print_table
from copydesk.cli.paging import Paging, load_pages, print_next_cursor, with_paging
from copydesk.editor import (
    create_temporary_file,
    get_editor_command,
    ignore_interrupts,
    read_edited_file,
    without_added_newline,
)
from copydesk.errors import CopydeskError, InvalidError
from copydesk.model.activity import EditLease
from copydesk.model.confidence import DecisionProgress
from copydesk.model.draft import (
    STATUS_LABELS,
    Checks,
    Draft,
    DraftImage,
    Format,
    ImageSource,
    ListedDraft,
    stored_image_digest,
    stored_image_url,
    without_item,
)
from copydesk.model.filters import MIN_PREFIX_LENGTH
from copydesk.model.ids import IdKind
from copydesk.model.item import Item
from copydesk.model.page import Page
from copydesk.model.requests import MAX_TEXT_LENGTH, CreatedDrafts, CreationMode, validate_create
from copydesk.model.writer import ModelRequest

if TYPE_CHECKING:
    from copydesk.desk import Desk


FILE = click.option("--file", type=click.File(encoding="utf-8"), help="Read the text from a file; - for stdin.")
RENEWAL_INTERVAL = 60.0
"""Seconds between two looks at what was saved in the editor."""
MAX_READ = 2 * MAX_TEXT_LENGTH
"""Characters read of a file: twice the limit, as spaces around a text do not count."""
PAGE_SIZE = 25
"""Drafts per page by default."""

PROVIDERS = {"a": ImageSource.AI_PROVIDER_A, "b": ImageSource.AI_PROVIDER_B}
IMAGE_OPTIONS = (
    click.option(
        "--image",
        "images",
        multiple=True,
        metavar="FILE|URL",
        help="Attach an image, from a file or URL, to the first draft; may be repeated.",
    ),
    click.option(
        "--ai-image",
        metavar="PROMPT",
        help="Generate an image from this prompt with an image generator of the settings; added last.",
    ),
    click.option(
        "--provider",
        type=click.Choice(tuple(PROVIDERS), case_sensitive=False),
        help="The generator for --ai-image: a for [images_a] in the settings (default), b for [images_b].",
    ),
    click.option(
        "--alt",
        "alts",
        multiple=True,
        metavar="TEXT",
        help="Alt text of an image; the first --alt belongs to the first image, and so on.",
    ),
)
_PLACEHOLDER_URL = stored_image_url("0" * 64)
"""Placeholder for the generated image while everything else is validated."""


class DraftPage(NamedTuple):
    """A page of drafts, and how it is printed."""

    page: Page[ListedDraft]
    zone: str
    """The time zone of its times."""
    short_ids: dict[str, str]


@group()
def draft() -> None:
    """Create, review and schedule drafts."""


def with_image_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add all image options to a command, which passes them to `parse_image_options`."""
    return reduce(lambda decorated, option: option(decorated), reversed(IMAGE_OPTIONS), command)


class ImageOptions(NamedTuple):
    """The parsed image options."""

    images: tuple[tuple[str, str | None], ...]
    """Files and URLs, each with its alt text."""
    prompt: str | None
    provider: ImageSource
    alt: str | None
    """Alt text of the generated image."""


def parse_image_options(
    images: tuple[str, ...], alts: tuple[str, ...], ai_image: str | None, provider: str | None
) -> ImageOptions:
    """Combine the options' values. Raise UsageError if they do not go together."""
    if provider and ai_image is None:
        raise click.UsageError("--provider needs --ai-image.")
    if len(alts) > len(images) + (ai_image is not None):
        raise click.UsageError("More --alt options than images.")
    return ImageOptions(
        images=tuple(zip_longest(images, alts[: len(images)])),
        prompt=ai_image,
        provider=PROVIDERS[(provider or "a").lower()],
        alt=alts[len(images)] if len(alts) > len(images) else None,
    )


async def create_with_images(desk: "Desk", request: dict[str, Any], options: ImageOptions) -> CreatedDrafts:
    """Create drafts with their images. Raises as `drafts.create`, and ImageError."""
    images = [await _to_request_image(desk, *image) for image in options.images]
    if options.prompt is None:
        return await desk.drafts.create({**request, "images": images})

    def with_generated(url: str) -> dict[str, Any]:
        return {**request, "images": [*images, {"url": url, "source": options.provider, "alt": options.alt}]}

    # Generating costs money: validate everything else first.
    validate_create(with_generated(_PLACEHOLDER_URL))
    url = await desk.drafts.images.generate(options.prompt, options.provider)
    try:
        return await desk.drafts.create(with_generated(url))
    except CopydeskError:
        click.echo(f"The generated image is saved. Use it with: --image {url}", err=True)
        raise


def print_missing_alt(context: Context, images: Iterable[DraftImage]) -> None:
    """Print which images lack an alt text."""
    missing = [f"{number}" for number, image in enumerate(images, 1) if not image.alt]
    if missing:
        which = f"Image {missing[0]} has" if len(missing) == 1 else f"Images {', '.join(missing)} have"
        hint = context.with_desk_options("Add one: copydesk draft describe ID TEXT")
        click.echo(f"{which} no alt text. {hint}", err=True)


async def _to_request_image(desk: "Desk", image: str, alt: str | None) -> dict[str, object]:
    """Return an image as the desk accepts it; a file is stored first."""
    is_url = "://" in image or stored_image_digest(image) is not None
    url = image if is_url else await desk.drafts.images.save(_expand_path(image))
    return {"url": url, "source": ImageSource.UPLOAD, "alt": alt}


def _image_field_names(options: ImageOptions) -> dict[str, str]:
    """Return the options by the fields of the images that they set; an image itself tells which one it is."""
    urls = {f"images[{index}].url": f"--image {image}" for index, (image, _) in enumerate(options.images)}
    return urls | {f"images[{index}].alt": "--alt" for index in range(len(options.images) + 1)}


def _expand_path(name: str) -> Path:
    # A shell leaves the ~ of --image=~/a.png to us.
    return Path(os.path.expanduser(name))  # noqa: PTH111 - Path's own raises where there is no such user


@draft.command(
    examples=(
        'copydesk draft new "Read this before you buy a router." --tag hardware',
        "copydesk draft new --url https://example.com/post --format THREAD --no-wait",
        'copydesk draft new --file post.md --image photo.jpg --alt "A ferry"',
    ),
    creates_desk=True,
)
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
@json_options(CreatedDrafts)
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
    """Create a draft from TEXT, or generate one per format.

    TEXT is taken as written; --url, --prompt or both generate the drafts.

    Waits until the texts are generated; exit code 1 if one fails.

    On a terminal, without a text, --url or --prompt, your editor opens.
    """
    if platforms:
        # Before the editor opens: its text would be lost.
        platforms = context.run(lambda desk: parse_platforms(desk, "--platform", platforms))
    request: dict[str, object] = {"url": url, "prompt": prompt, "tags": tags, "targetPlatforms": platforms}
    image_options = parse_image_options(images, alts, ai_image, provider)
    editor_file = None
    if url is None and prompt is None:
        if len(formats) > 1:
            raise click.UsageError("A text takes one --format; use several with --url or --prompt only.")
        own_text = _text_argument(text, file)
        if own_text is None:
            own_text, editor_file = _write_in_editor()
        request |= {"text": own_text, "format": formats[0] if formats else None}
    else:
        request |= {"text": text if file is None else _text_argument(text, file), "formats": formats or None}

    async def work(desk: "Desk") -> tuple[CreatedDrafts, tuple[Draft, ...], dict[str, str]]:
        try:
            creation = await create_with_images(desk, request, image_options)
        except InvalidError as error:
            raise rename_fields(error, _image_field_names(image_options)) from None
        # Direct mode has its text already; in generate mode wait, unless the daemon is to write it.
        drafts: tuple[Draft, ...] = ()
        if creation.mode is not CreationMode.DIRECT and not no_wait:
            creation, drafts = await wait_for_new(desk, creation)
        return creation, drafts, await shorten_drafts(desk, [created.id for created in creation.drafts])

    with _delete_once_stored(context, editor_file):
        creation, drafts, short_ids = context.run(work)
    _print_creation(creation, short_ids, as_json=as_json)
    print_missing_alt(context, creation.drafts[0].images)
    print_writer_notes(drafts)
    sys.exit(1 if print_unwritten(context, drafts, short_ids) else 0)


@draft.command(examples=("copydesk draft edit 1f9c2a", "copydesk draft edit 1f9c2a --file post.md"))
@click.argument("id", type=DRAFT)
@click.option("--text", metavar="TEXT", help="The new text.")
@FILE
@click.option("--take-over", is_flag=True, help="End the edit of another reviewer; the typed text is kept.")
@json_options(Draft)
@pass_context
def edit(context: Context, *, id: str, text: str | None, file: TextIO | None, take_over: bool, as_json: bool) -> None:
    """Edit a draft's text; its checks run again.

    On a terminal, without --text or --file, your editor opens. Refused while another reviewer edits the draft.
    """
    own_text = _text_argument(text, file)

    async def save(desk: "Desk") -> tuple[Draft, str]:
        if take_over:
            await desk.drafts.activity.start_edit(id, take_over=True)
        try:
            return await desk.drafts.edit(id, own_text or ""), await shorten_draft(desk, id)
        except CopydeskError:
            # Otherwise other reviewers would wait until the lease expires.
            if take_over:
                await desk.drafts.activity.end_edit(id)
            raise

    if own_text is not None:
        changed, short_id = context.run(save)
    else:
        _require_terminal("Pass the text with --text or --file; --file - reads standard input.")
        edited = _edit_in_editor(context, id, take_over=take_over)
        if edited is None:
            click.echo("Nothing changed.", err=True)
            if as_json:
                print_json(without_item(context.run(lambda desk: desk.drafts.get(id))))
            return
        changed, short_id = edited
    # Most statuses stay: “now approved” would read as if the edit had approved the draft.
    print_changed(changed, short_id, f"edited ({STATUS_LABELS[changed.status]})", as_json=as_json)


@draft.command(examples=("copydesk draft check 1f9c2a", "copydesk draft check 1f9c2a --file post.md"))
@click.argument("id", type=DRAFT)
@click.option("--text", metavar="TEXT", help="The text to check instead of the draft's.")
@FILE
@json_options(Checks)
@pass_context
def check(context: Context, *, id: str, text: str | None, file: TextIO | None, as_json: bool) -> None:
    """Check a text for a draft, and compare its claims with the source.

    Nothing is stored. Without a text the draft's own is checked again.
    """
    given = _text_argument(text, file)

    async def run(desk: "Desk") -> tuple[str, Checks]:
        checked = (await desk.drafts.get(id)).text if given is None else given
        return checked, await desk.drafts.check(checked, draft_id=id)

    checked, checks = context.run(run)
    if as_json:
        print_json(checks)
    else:
        print_checks(checked, checks)


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
    # Editors on Windows write the mark; it is part of the file, not of the text.
    return content.removeprefix("\ufeff")


def _write_in_editor() -> tuple[str, Path]:
    """Return the text that the user wrote, and the file that still has it."""
    _require_terminal("Pass a text, --file, --url or --prompt; --file - reads standard input.")
    path = create_temporary_file("")
    _open_editor(path)
    text = without_added_newline(read_edited_file(path), "")
    if not text.strip():
        path.unlink()
        raise click.UsageError("The text is empty; no draft was created.")
    return text, path


@contextmanager
def _delete_once_stored(context: Context, path: Path | None) -> Iterator[None]:
    """Delete the file with the user's text at the end; if the block fails for any reason, say where the text is."""
    if path is None:
        yield
        return
    context.failure_hint = f"Your text is saved in {path}."
    try:
        yield
    except Exception:
        # Not reported by the context, or only as a traceback.
        click.echo(context.failure_hint, err=True)
        raise
    finally:
        context.failure_hint = ""
    path.unlink()


def _open_editor(path: Path, on_pause: Callable[[], object] = lambda: None) -> None:
    """Open the file in the user's editor, and call `on_pause` now and then.

    The file stays if the editor fails, and is deleted if it cannot be started.
    """
    with ignore_interrupts():
        try:
            process = subprocess.Popen((*get_editor_command(), str(path)))  # noqa: S603 - the user's own editor
        except (OSError, CopydeskError) as error:
            path.unlink()
            # The name is missing if no process could be started at all.
            name = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
            reason = f"{name}{error.strerror}." if isinstance(error, OSError) else str(error)
            raise click.ClickException(f"Cannot start the editor. {reason}") from error
        with process:
            exit_code = _wait(process, on_pause)
    if exit_code:
        raise click.ClickException(f"The editor exited with code {exit_code}. Your text is saved in {path}.")


def _wait(process: "subprocess.Popen[bytes]", on_pause: Callable[[], object]) -> int:
    while True:
        try:
            return process.wait(RENEWAL_INTERVAL)
        except subprocess.TimeoutExpired:
            on_pause()


def _require_terminal(otherwise: str) -> None:
    if not is_interactive():
        raise click.UsageError(otherwise)


def _edit_in_editor(context: Context, draft_id: str, *, take_over: bool) -> tuple[Draft, str] | None:
    """Return the draft after the user edited its text, and its short id; None if the text is unchanged.

    The text stays in a file if it cannot be stored: the draft may have been changed in the meantime.
    """

    async def load(desk: "Desk") -> tuple[Draft, EditLease]:
        # Refused before the user starts writing.
        lease = await desk.drafts.activity.start_edit(draft_id, take_over=take_over)
        return await desk.drafts.get(draft_id), lease

    original, lease = context.run(load)
    path = create_temporary_file(original.text)
    saved_at = path.stat().st_mtime_ns

    def renew() -> None:
        # Only what was saved in the editor is seen; without that nobody may be writing.
        nonlocal saved_at
        with suppress(OSError):  # the editor may be replacing the file
            if path.stat().st_mtime_ns != saved_at:
                saved_at, typed = path.stat().st_mtime_ns, read_edited_file(path)
                # The editor has the terminal. Whoever took the edit over is named when the text is saved.
                _run_silently(context, lambda desk: desk.drafts.activity.renew_edit(draft_id, lease.id, typed))

    async def save(desk: "Desk") -> tuple[Draft, str]:
        edited = await desk.drafts.edit(draft_id, text, expected_version=original.version)
        return edited, await shorten_draft(desk, draft_id)

    is_saved = False
    try:
        _open_editor(path, renew)
        text = without_added_newline(read_edited_file(path), original.text)
        if text == original.text:
            path.unlink()
            return None
        with _delete_once_stored(context, path):
            saved = context.run(save)
        is_saved = True
        return saved
    finally:
        # Otherwise other reviewers would wait until the lease expires.
        if not is_saved:
            _run_silently(context, lambda desk: desk.drafts.activity.end_edit(draft_id))


def _run_silently(context: Context, work: Callable[["Desk"], Awaitable[object]]) -> None:
    """Run `work` on the desk; ignore its errors."""

    async def run() -> None:
        with suppress(CopydeskError):
            async with context.desk() as desk:
                await work(desk)

    context.run_without_desk(run)


def _print_creation(creation: CreatedDrafts, short_ids: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json(creation)
        return
    for draft in creation.drafts:
        click.echo(f"Created {short_ids[draft.id]} ({draft.format}, {STATUS_LABELS[draft.status]}).")


@draft.command(
    examples=(
        'copydesk draft describe 1f9c2a "A ferry at the pier"',
        "copydesk draft describe 1f9c2a --image 2 --remove",
    )
)
@click.argument("draft_id", type=DRAFT, metavar="ID")
@click.argument("alt", required=False, metavar="[TEXT]")
@click.option(
    "--image", "position", type=click.IntRange(min=1), default=1, show_default=True, help="The number of the image."
)
@click.option("--remove", is_flag=True, help="Remove the image instead.")
@json_options(Draft)
@pass_context
def describe(context: Context, *, draft_id: str, alt: str | None, position: int, remove: bool, as_json: bool) -> None:
    """Set the alt text of a draft's image, or remove the image."""
    if remove is bool(alt):
        raise click.UsageError("Pass the alt text, or --remove.")

    async def work(desk: "Desk") -> tuple[Draft, str]:
        changed = await desk.drafts.images.describe(draft_id, None if remove else alt, position=position)
        return changed, await shorten_draft(desk, draft_id)

    changed, short_id = context.run(work)
    if as_json:
        print_json(changed)
    else:
        click.echo(
            f"Removed image {position} of {short_id}."
            if remove
            else f"Set the alt text of image {position} of {short_id}."
        )


@draft.command(
    examples=(
        "copydesk draft attach 1f9c2a",
        'copydesk draft attach 1f9c2a --alt "A ferry at the pier"',
    )
)
@click.argument("draft_id", type=DRAFT, metavar="ID")
@click.option(
    "--image", "position", type=click.IntRange(min=1), default=1, show_default=True, help="The number of the image."
)
@click.option("--alt", help="The alt text, instead of the page's own.")
@json_options(Draft)
@pass_context
def attach(context: Context, *, draft_id: str, position: int, alt: str | None, as_json: bool) -> None:
    """Attach an image of the source that is proposed for a draft.

    `draft show` lists the proposed images; `draft describe --remove` puts one back.
    """

    async def work(desk: "Desk") -> tuple[Draft, str]:
        changed = await desk.drafts.images.attach(draft_id, {"image": position, "alt": alt})
        return changed, await shorten_draft(desk, draft_id)

    changed, short_id = context.run(work)
    if as_json:
        print_json(changed)
        return
    click.echo(f"Attached image {position} to {short_id}.")
    if agency := changed.images[-1].agency:
        click.echo(f"The image seems to be from {agency}: posting it may need a licence.", err=True)
    print_missing_alt(context, changed.images)


@draft.command(
    name="list",
    examples=(
        'copydesk draft list --status "needs review"',
        "copydesk draft list --source 77e0b4 --scheduled-after tomorrow",
    ),
)
@with_filters
@with_paging(PAGE_SIZE)
@json_options(ListedDraft, rows="drafts")
@pass_context
def list_(context: Context, /, *, paging: Paging, as_json: bool, **options: Any) -> None:
    """List drafts, newest first."""

    async def work(desk: "Desk") -> DraftPage:
        filters = await filter_params(desk, options)
        page = await load_pages(paging, lambda limit, cursor: desk.drafts.list(limit=limit, cursor=cursor, **filters))
        return await _prepare_page(desk, page)

    has_filters = any(options[name] for name in FILTER_NAMES)
    empty = (
        "No drafts match these filters."
        if has_filters
        else context.with_desk_options("No drafts yet. Create some: copydesk --run-pipeline")
    )
    _print_page(context.run(work), empty=empty, as_json=as_json)


@draft.command(
    examples=('copydesk draft search ferry "new timetable"', "copydesk draft search --format SHORT -- ferry -island")
)
@click.argument("query", nargs=-1, required=True, metavar="WORDS...")
@with_filters
@with_paging(PAGE_SIZE)
@json_options(ListedDraft, rows="drafts")
@pass_context
def search(context: Context, /, *, query: tuple[str, ...], paging: Paging, as_json: bool, **options: Any) -> None:
    """Find drafts with all WORDS, newest first.

    Searches the text, the title, the tags and the source's name.

    "two words" stand next to each other, harb* leaves the end open, and after -- a -word leaves out what has it.
    """
    words = " ".join(_quote_phrase(word) for word in query)

    async def work(desk: "Desk") -> DraftPage:
        filters = await filter_params(desk, options)
        page = await load_pages(
            paging, lambda limit, cursor: desk.drafts.search(words, limit=limit, cursor=cursor, **filters)
        )
        return await _prepare_page(desk, page)

    has_filters = any(options[name] for name in FILTER_NAMES)
    empty = "No drafts match these words and filters." if has_filters else "No drafts match."
    # In the console, which searches while the user types, the last word may be the beginning of one.
    if not has_filters and (word := next((word for word in reversed(query) if _can_be_a_prefix(word)), "")):
        command = context.with_desk_options(f"`copydesk draft search '{word}*'`")
        empty += f" To match the beginning of a word, append *: {command}"
    _print_page(context.run(work), empty=empty, as_json=as_json)


def _can_be_a_prefix(word: str) -> bool:
    return word.isalnum() and len(word) >= MIN_PREFIX_LENGTH


def _quote_phrase(word: str) -> str:
    """Quote several words given as one argument: the shell has removed the quotation marks around them."""
    return f'"{word}"' if " " in word.strip() and '"' not in word else word


async def _prepare_page(desk: "Desk", page: Page[ListedDraft]) -> DraftPage:
    short_ids = await desk.ids.shorten(IdKind.DRAFT, [entry.id for entry in page.items])
    return DraftPage(page, await desk.schedule.zone(), short_ids)


def _print_page(found: DraftPage, *, empty: str, as_json: bool) -> None:
    page, zone = found.page, ZoneInfo(found.zone)
    if as_json:
        print_json({"drafts": page.items, "nextCursor": page.next_cursor})
        return
    rows = [
        (
            found.short_ids[entry.id],
            _status_text(entry, zone),
            entry.format,
            format_confidence(entry.confidence, known=entry.confidence_known),
            # While it has no text, the title of its item: a page, or the prompt.
            first_line(entry.text) or first_line(entry.item.title),
        )
        for entry in page.items
    ]
    print_table(rows, empty=empty, cut=True)
    print_next_cursor(page)


def _status_text(found: ListedDraft, zone: ZoneInfo) -> str:
    """Return the status with the scheduled time, if there is one, and "archived"."""
    time = (format_time(found.scheduled_at, zone),) if found.scheduled_at else ()
    return ", ".join((STATUS_LABELS[found.status], *time, *(("archived",) if found.archived_at else ())))


@draft.command(examples=("copydesk draft show 1f9c2a",))
@click.argument("id", type=DRAFT)
@json_options(ListedDraft)
@pass_context
def show(context: Context, *, id: str, as_json: bool) -> None:
    """Show a draft with its checks, score and source item."""

    async def work(desk: "Desk") -> tuple[ListedDraft, str, Item, DecisionProgress, list[tuple[str, str]]]:
        found = await desk.drafts.get(id)
        item, progress = await desk.drafts.item(found.item_id), await desk.learning.progress()
        return found, await shorten_draft(desk, id), item, progress, await draft_facts(desk, found)

    found, short_id, item, progress, facts = context.run(work)
    if as_json:
        print_json(found)
        return
    print_draft(found, short_id, progress, facts)
    click.echo("\nSource item")
    rows = [("title", item.entry.title), ("from", item.source_name), ("published", format_time(item.published))]
    print_table([*rows, ("link", item.entry.url or "none")], empty="")


@draft.command(examples=("copydesk draft prompt 1f9c2a",))
@click.argument("id", type=DRAFT)
@json_options(ModelRequest)
@pass_context
def prompt(context: Context, *, id: str, as_json: bool) -> None:
    """Show what a language model was asked for a draft, and which one answered at what cost."""
    requests = context.run(lambda desk: desk.writers.requests(id))
    if as_json:
        print_json(requests)
        return
    if not requests:
        click.echo("No language model was used for this draft.", err=True)
    for request in requests:
        print_request(request)


for command in review.COMMANDS:
    draft.add_command(command)
