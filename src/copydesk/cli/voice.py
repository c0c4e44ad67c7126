"""`copydesk voice`: show, set, import, examples, report, reset."""

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

import click
import msgspec

from copydesk.cli.command import group
from copydesk.cli.context import Context, confirm, pass_context, read_limited, rename_fields
from copydesk.cli.ids import DRAFT
from copydesk.cli.json_output import json_options, print_json, require_fields
from copydesk.cli.output import first_line, format_time, print_table
from copydesk.errors import InvalidError
from copydesk.model.confidence import ConfidenceBin, ConfidenceReport
from copydesk.model.draft import Format
from copydesk.model.ids import IdKind
from copydesk.model.learning import LearningReport, LearningReset
from copydesk.model.serialization import to_json_value
from copydesk.model.voice import ExampleSuggestion, FormatVoice, ImportedPosts, VoiceComparison, VoiceProfile
from copydesk.text import clean, clean_lines
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk

T = TypeVar("T")

EMPTY: dict[str, object] = {"style": "", "avoid": [], "examples": [], "formats": {}, "hashtagList": []}
TEXT_SETTINGS = ("emoji", "link", "instructions")
"""Settings of a format that stay text even if they look like numbers."""


@group()
def voice() -> None:
    """Show or change your voice profile."""


@voice.command(examples=("copydesk voice show",))
@json_options(VoiceProfile)
@pass_context
def show(context: Context, *, as_json: bool) -> None:
    """Show the voice profile.

    Names the parts the offline writer does not support.
    """
    profile = context.run(lambda desk: desk.voice.get())
    if as_json:
        print_json(profile)
    else:
        _print_profile(profile)


@voice.command(
    name="set",
    examples=(
        'copydesk voice set --style "Dry and short." --format SHORT.hashtags=2',
        "copydesk voice set --example @post.md",
    ),
    creates_desk=True,
)
@click.option("--style", help="A description of your style.")
@click.option("--avoid", multiple=True, metavar="WORD", help="A word or phrase to avoid; may be repeated.")
@click.option("--hashtag", "hashtags", multiple=True, metavar="TAG", help="A hashtag of your own; may be repeated.")
@click.option(
    "--example",
    "examples",
    multiple=True,
    metavar="TEXT",
    help="A post you wrote, or @FILE to read it from a file; may be repeated.",
)
@click.option(
    "--format",
    "settings",
    multiple=True,
    metavar="FORMAT.SETTING=VALUE",
    help="One setting, such as SHORT.hashtags=2; an empty value removes it.",
)
@click.option("--clear", multiple=True, type=click.Choice(list(EMPTY)), help="Clear this field first; may be repeated.")
@click.option("--json-file", type=click.File("rb"), help="Read the fields from a JSON file; - for standard input.")
@click.option("--preview", is_flag=True, help="Show what the change does to three recent items; save nothing.")
@json_options(VoiceProfile, VoiceComparison)
@pass_context
def set_(
    context: Context,
    /,
    *,
    style: str | None,
    settings: tuple[str, ...],
    clear: tuple[str, ...],
    json_file: BinaryIO | None,
    preview: bool,
    as_json: bool,
    **lists: tuple[str, ...],
) -> None:
    """Change or create the voice profile.

    Options left out keep their values.

    --avoid, --hashtag and --example replace the whole list, --format changes one setting. A format is SHORT, THREAD or
    BLOG; its settings are maxLength, maxParts, targetWords, hashtags, emoji, link and instructions.
    """
    require_fields(VoiceComparison if preview else VoiceProfile)
    fields = {
        "style": style,
        "avoid": list(lists["avoid"]) or None,
        "examples": [_read_example(example) for example in lists["examples"]] or None,
        "hashtagList": list(lists["hashtags"]) or None,
    }
    values = {field: EMPTY[field] for field in clear}
    values |= {field: value for field, value in fields.items() if value is not None}
    if settings:
        values["formats"] = _parse_settings(settings)
    if bool(values) is bool(json_file):
        raise click.UsageError("Pass either the options to change or --json-file.")
    # Options change single settings; a JSON file, or --clear formats, replaces all of them.
    merge_formats = not json_file and "formats" not in clear
    request = _read_json(json_file) if json_file else values

    async def with_field_names(work: Awaitable[T]) -> T:
        """Return the result of `work`. The fields of a file keep their names, which are not those of the options."""
        try:
            return await work
        except InvalidError as error:
            names = {field: f"--json-file: {field}" for field, _ in error.errors} if json_file else {}
            raise rename_fields(error, names) from None

    if preview:
        kind = next(iter(_changed_formats(request)), Format.SHORT)
        compared = context.run(
            lambda desk: with_field_names(desk.voice.compare(request, kind, merge_formats=merge_formats))
        )
        _print_comparison(compared, as_json=as_json)
        return

    changed = context.run(lambda desk: with_field_names(desk.voice.update(request, merge_formats=merge_formats)))
    if as_json:
        print_json(changed)
    else:
        _print_profile(changed)


@voice.command(
    name="import",
    examples=(
        "copydesk voice import posts.txt",
        "copydesk voice import outbox.json",
        "copydesk voice import --account bluesky",
    ),
    creates_desk=True,
)
@click.argument("file", type=click.File("rb"), required=False)
@click.option("--account", metavar="ACCOUNT", help="Read the newest posts of this connected account.")
@click.option("--yes", is_flag=True, help="Skip the confirmation before the posts of an account are saved.")
@json_options(ImportedPosts)
@pass_context
def import_(context: Context, *, file: BinaryIO | None, account: str | None, yes: bool, as_json: bool) -> None:
    """Add posts that you wrote elsewhere to the examples.

    FILE has posts separated by lines of hyphens, or is a JSON list or an archive: outbox.json of Mastodon, tweets.js of
    X, or posts of Bluesky. With --account the newest public posts of an account on Bluesky or Mastodon are shown, then
    saved. Replies, reposts and very short posts are left out.
    """
    if (file is None) is (account is None):
        raise click.UsageError("Pass either FILE or --account.")
    content = _read_account(context, account, yes=yes) if account is not None else _read_posts(file)

    async def work(desk: "Desk") -> ImportedPosts:
        try:
            return await desk.voice.import_posts(content)
        except InvalidError as error:
            raise rename_fields(error, {"content": "FILE"}) from None

    imported = context.run(work)
    if as_json:
        print_json(imported)
        return
    click.echo(f"{plural(imported.added, 'example')} added of {plural(imported.found, 'post')}.")


def _read_posts(file: BinaryIO | None) -> str:
    assert file is not None
    try:
        return read_limited(file).decode()
    except UnicodeDecodeError:
        raise click.BadParameter("not UTF-8 text", param_hint="FILE") from None


def _read_account(context: Context, name: str, *, yes: bool) -> str:
    """Return the posts of an account as a JSON list, after the user has seen them and confirmed."""

    async def work(desk: "Desk") -> tuple[tuple[str, ...], tuple[str, ...]]:
        posts = await desk.accounts.list_posts(name)
        return posts, await desk.voice.find_new_examples(posts)

    posts, new = context.run(work)
    if not posts:
        raise click.BadParameter("has no post that can be an example", param_hint="--account")
    for post in new:
        # On stderr: the standard output is the result's.
        click.echo(f"{clean_lines(post)}\n---", err=True)
    if new and not yes:
        confirm(f"Add {plural(len(new), 'post')} to the examples?", declined="Nothing changed.")
    return msgspec.json.encode(posts).decode()


@voice.command(examples=("copydesk voice examples", "copydesk voice examples --add 1f9c2a"))
@click.option("--add", "draft_ids", type=DRAFT, multiple=True, help="Make the text of this draft an example.")
@json_options(ExampleSuggestion)
@pass_context
def examples(context: Context, *, draft_ids: tuple[str, ...], as_json: bool) -> None:
    """List texts that you edited and approved, as suggestions for examples."""

    async def work(desk: "Desk") -> tuple[tuple[ExampleSuggestion, ...], dict[str, str]]:
        if draft_ids:
            texts = [(await desk.drafts.get(draft_id)).text for draft_id in draft_ids]
            await desk.voice.add_examples(texts)
        suggestions = await desk.voice.suggest_examples()
        return suggestions, await desk.ids.shorten(IdKind.DRAFT, [found.draft_id for found in suggestions])

    suggestions, short_ids = context.run(work)
    if as_json:
        print_json(suggestions)
        return
    rows = [(short_ids[found.draft_id], found.format, first_line(found.text)) for found in suggestions]
    print_table(rows, empty="No edited texts that are not examples already.", cut=True)


@voice.command(examples=("copydesk voice report",))
@json_options(LearningReport)
@pass_context
def report(context: Context, *, as_json: bool) -> None:
    """Show what was learnt from your decisions.

    Confidence is the chance that you approve a draft without editing it. The table compares it with what you decided;
    each decision is predicted by a model that has not seen it.
    """
    found = context.run(lambda desk: desk.learning.report())
    if as_json:
        print_json(found)
        return
    since = f" since {format_time(found.since)}" if found.since else ""
    decided = f"{plural(found.approved, 'draft')} approved, {found.rejected:,} rejected{since}"
    print_table([("decisions", decided), *_confidence_rows(found.confidence)], empty="")
    if found.confidence.bins:
        click.echo()
        print_table(
            [("confidence", "drafts", "predicted", "approved unedited"), *map(_bin_row, found.confidence.bins)],
            empty="",
        )


def _confidence_rows(confidence: ConfidenceReport) -> Iterator[tuple[str, str]]:
    if not confidence.known:
        yield "confidence", f"not known yet: {confidence.decisions} of {confidence.needed} decisions"
        return
    yield "approved unedited", f"{confidence.base_rate:.0%}"
    if confidence.brier is None or confidence.brier_of_base_rate is None:
        yield "Brier score", "no decision predicted yet"
        return
    better = "better" if confidence.brier < confidence.brier_of_base_rate else "not better"
    comparison = f"{better} than {confidence.brier_of_base_rate:.3f} of the base rate"
    yield "Brier score", f"{confidence.brier:.3f} over {plural(confidence.predicted, 'decision')}: {comparison}"


def _bin_row(found: ConfidenceBin) -> tuple[str, ...]:
    shares = ("–" if share is None else f"{share:.0%}" for share in (found.predicted, found.approved))
    return f"{found.low:.0%} to {found.high:.0%}", f"{found.drafts:,}", *shares


@voice.command(examples=("copydesk voice reset", "copydesk voice reset --undo"))
@click.option("--undo", is_flag=True, help="Undo the last reset.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_options(LearningReset)
@pass_context
def reset(context: Context, *, undo: bool, yes: bool, as_json: bool) -> None:
    """Forget what was learnt from your decisions.

    From now on only later decisions count. Drafts, posts and the voice profile stay.
    """
    if undo:
        changed = context.run(lambda desk: desk.learning.undo_reset())
    else:
        if not yes:
            confirm("Forget what was learnt from your decisions? Drafts and voice stay.", declined="Nothing changed.")
        changed = context.run(lambda desk: desk.learning.reset())
    if as_json:
        print_json(changed)
    elif changed.since:
        click.echo(f"Only decisions since {format_time(changed.since)} count.")
    else:
        click.echo("All decisions count.")


def _changed_formats(request: Mapping[str, object]) -> list[Format]:
    formats = request.get("formats")
    return [Format(name) for name in formats if name in set(Format)] if isinstance(formats, dict) else []


def _print_comparison(compared: Sequence[VoiceComparison], *, as_json: bool) -> None:
    if as_json:
        print_json(compared)
        return
    for found in compared:
        click.echo(f"\n{clean(found.title)} ({clean(found.writer)})")
        if found.before == found.after:
            click.echo("  unchanged")
            continue
        for label, text in (("now", found.before), ("then", found.after)):
            lines = clean_lines(text).splitlines() if text else ["(the writer declines it)"]
            click.echo("\n".join(f"  {label if not number else '':<5} {line}" for number, line in enumerate(lines)))


def _read_example(example: str) -> str:
    """Return the text itself, or that of the file an `@FILE` argument names."""
    if not example.startswith("@"):
        return example
    try:
        with Path(example[1:]).open("rb") as file:
            return read_limited(file).decode()
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or "not UTF-8 text"
        raise click.BadParameter(f"{example[1:]}: {problem}", param_hint="--example") from None


def _parse_settings(settings: tuple[str, ...]) -> dict[str, dict[str, object]]:
    """Parse `SHORT.hashtags=2` into {"SHORT": {"hashtags": 2}}."""
    settings_by_format: dict[str, dict[str, object]] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        format_name, dot, field = name.partition(".")
        if not equals or not dot:
            raise click.BadParameter(
                f"{setting!r} is not FORMAT.SETTING=VALUE",
                param_hint="--format",
            )
        settings_by_format.setdefault(format_name.strip().upper(), {})[field.strip()] = _parse_value(
            field.strip(), value.strip()
        )
    return settings_by_format


def _parse_value(field: str, text: str) -> object:
    if field in TEXT_SETTINGS or not text.removeprefix("-").isdecimal():
        return text or None
    # Cut before converting: int() of a very long digit string raises or is slow. 20 digits are out of range anyway.
    return int(text[:20])


def _read_json(file: BinaryIO) -> dict[str, object]:
    try:
        return msgspec.json.decode(read_limited(file), type=dict[str, object])
    except (msgspec.DecodeError, RecursionError) as error:
        raise click.BadParameter(f"not a JSON object: {error}", param_hint="--json-file") from None


def _print_profile(profile: VoiceProfile) -> None:
    from copydesk.desk.voice import empty_profile, unsupported_fields  # noqa: PLC0415 - brings in the store

    click.echo(clean_lines(profile.style) if profile.style else "No style set.")
    rows = [
        ("avoids", ", ".join(profile.avoid) or "nothing"),
        *([("hashtags", ", ".join(profile.hashtag_list))] if profile.hashtag_list else []),
        *(("example", first_line(example, 72)) for example in profile.examples),
        *((kind, _format_settings(profile.formats[kind])) for kind in Format if kind in profile.formats),
        *([("changed", format_time(profile.updated_at))] if profile != empty_profile(profile.id) else []),
    ]
    click.echo()
    print_table(rows, empty="")
    if unsupported := unsupported_fields(profile):
        click.echo(f"\nNot supported by the offline writer: {', '.join(unsupported)}.")


def _format_settings(settings: FormatVoice) -> str:
    fields = to_json_value(settings)
    assert isinstance(fields, dict)
    return ", ".join(f"{name} {value}" for name, value in fields.items()) or "default"
