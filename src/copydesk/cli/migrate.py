"""`copydesk migrate`: copy the desk from its file to a PostgreSQL server, or back."""

import sys

import click

from copydesk.cli.command import command
from copydesk.cli.context import Context, pass_context
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import StageProgress
from copydesk.model.backup import CopyProgress, MigratedDesk
from copydesk.settings import Settings
from copydesk.text import clean
from copydesk.text.formatting import plural


@command(
    examples=(
        "copydesk migrate --to postgresql://ada@db.example/copydesk",
        "copydesk migrate --to ~/.local/share/copydesk/copydesk.db",
    )
)
@click.option("--to", "target", metavar="URL|FILE", required=True, help="An empty PostgreSQL database, or a new file.")
@json_options(MigratedDesk)
@pass_context
def migrate(context: Context, *, target: str, as_json: bool) -> None:
    """Copy the desk from its file to a PostgreSQL database, or from there to a file.

    Quit the console and stop the daemon, the service and the workers first. Every row is compared; the old database is
    only read. If it is interrupted or killed, run it again: it continues. The password of the database is read from
    COPYDESK_DATABASE__PASSWORD or ~/.pgpass, like that of the setting.
    """
    from copydesk.desk.migration import migrate_desk  # noqa: PLC0415 - `copydesk migrate --help` needs none of it

    context.refuse_user_option("The desks of all users are copied.")
    settings = context.settings()
    with StageProgress(sys.stderr, silent=as_json) as bars:

        def show(progress: CopyProgress) -> None:
            bars.show(progress.stage, progress.done, progress.total, progress.table)

        migrated = context.run_without_desk(lambda: migrate_desk(settings, target, show))
    if as_json:
        print_json(migrated)
        return
    rows = f"{plural(migrated.rows, 'row')} of {plural(migrated.tables, 'table')}"
    click.echo(f"Copied {rows} to {clean(migrated.target)}, and found them equal.")
    click.echo(f"The old database is unchanged: {clean(migrated.source)}")
    click.echo(_next_step(settings, migrated.target))
    click.echo(
        f"Not copied: images, account credentials and sends.json, which stay in {settings.data_home} on each machine.",
        err=True,
    )


def _next_step(settings: Settings, target: str) -> str:
    """Return the setting to change."""
    if not settings.database.url:
        where = "database.url in settings.toml, or COPYDESK_DATABASE__URL"
        return f"To use the new one, set {where}, to the URL given as --to."
    if target == str(settings.database_file):
        return "To use the new one, remove database.url from settings.toml and COPYDESK_DATABASE__URL."
    file = settings.database_file
    # Moved over the old one, the new one would meet the write-ahead log that a killed process left of it.
    first = f"move {file} and {file.name}-wal away, then " if file.exists() else ""
    return (
        f"To use the new one, {first}move {clean(target)} to {file},"
        " and remove database.url from settings.toml and COPYDESK_DATABASE__URL."
    )
