"""`copydesk backup` and `copydesk restore`."""

from pathlib import Path

import click

from copydesk.cli.command import command
from copydesk.cli.context import Context, confirm, pass_context
from copydesk.cli.json_output import json_options, print_json, require_fields
from copydesk.cli.output import format_ago, format_time, print_table
from copydesk.model.backup import Backup, BackupContent, RestoredDesk
from copydesk.text import clean
from copydesk.text.formatting import plural

HAS_ALL_USERS = "A backup has the desks of all users."
_COMMANDS = {
    **dict.fromkeys(("list", "ls"), "copydesk backup --list"),
    **dict.fromkeys(("create", "new"), "copydesk backup"),
    "restore": "copydesk restore FILE",
}
"""What looks like a command in the place of FILE -> the command that is meant."""


@command(examples=("copydesk backup", "copydesk backup ~/copydesk.db --force"))
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@click.option("--list", "as_list", is_flag=True, help="List the backups in the data folder instead.")
@json_options(Backup, BackupContent)
@pass_context
def backup(context: Context, *, file: Path | None, force: bool, as_list: bool, as_json: bool) -> None:
    """Back up the database to FILE, by default in the data folder. The console and the daemon may go on.

    Images, settings and account credentials are not in it.
    """
    # Not the variable: the console sets it for the user's own commands.
    context.refuse_user_option(HAS_ALL_USERS)
    if as_list:
        if file is not None or force:
            raise click.UsageError("--list cannot be used with FILE or --force.")
        require_fields(Backup)
        _print_list(context, as_json=as_json)
        return
    if file is not None and (meant := _COMMANDS.get(str(file))):
        command_line = context.with_desk_options(f"`{meant}`")
        raise click.UsageError(f"{file} would be the name of the backup. Use {command_line}, or a name with a suffix.")
    require_fields(BackupContent)
    target = file.absolute() if file is not None else None
    content = context.run(lambda desk: desk.backups.create(target, overwrite=force))
    if as_json:
        print_json(content)
        return
    click.echo(f"Backed up {_describe(content)} to {clean(content.path)}.")
    click.echo("Not included: images, settings, account credentials.", err=True)


@command(examples=("copydesk restore ~/copydesk.db",), creates_desk=True)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_options(RestoredDesk)
@pass_context
def restore(context: Context, *, file: Path, yes: bool, as_json: bool) -> None:
    """Replace the database with the backup in FILE. The replaced database is kept beside it.

    Quit the console and stop the daemon, the service and the workers first. The backup is checked before and after it
    is copied. On PostgreSQL a backup is made of the desk that is replaced.
    """
    from copydesk.desk.backups import check_backup, restore_desk  # noqa: PLC0415 - `copydesk backup --help` needs none of it

    context.refuse_user(HAS_ALL_USERS)
    settings = context.settings()
    if not yes and settings.has_database:
        # A file that cannot be restored is refused without a question.
        context.run_without_desk(lambda: check_backup(settings, file.absolute()))
        database = settings.database.url or settings.database_file
        confirm(
            f"Replace {database} with {clean(str(file))}? The current database is kept.",
            declined="Nothing changed.",
        )
    restored = context.run_without_desk(lambda: restore_desk(settings, file.absolute()))
    if as_json:
        print_json(restored)
        return
    click.echo(f"Restored {_describe(restored.content)} from {clean(restored.content.path)}.")
    if restored.replaced is not None:
        click.echo(f"The replaced database is kept as {clean(restored.replaced)}.")


def _describe(content: BackupContent) -> str:
    counts = (plural(content.drafts, "draft"), plural(content.sources, "source"), plural(content.posts, "post"))
    return f"{', '.join(counts)} ({_format_size(content.size)})"


def _format_size(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"


def _print_list(context: Context, *, as_json: bool) -> None:
    from copydesk.desk.backups import list_backups  # noqa: PLC0415 - as above

    backups = list_backups(context.settings())
    if as_json:
        print_json(backups)
        return
    rows = [
        (
            format_time(found.created_at),
            format_ago(found.created_at),
            _format_size(found.size),
            "automatic" if found.automatic else "",
            found.path,
        )
        for found in backups
    ]
    print_table(rows, empty=context.with_desk_options("No backups yet. Make one: copydesk backup"))
