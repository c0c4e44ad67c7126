"""`copydesk user`: add, list, remove."""

import asyncio
import shlex
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from copydesk.cli.command import group
from copydesk.cli.context import Context, confirm, pass_context
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import format_ago, print_table
from copydesk.errors import CopydeskError
from copydesk.model.user import User
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desks


def complete_users(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the users whose names begin like this. Nothing is printed into the user's prompt."""
    options = ctx.find_root().params
    context = Context.from_options(home=options.get("home"), sample=bool(options.get("sample")), user=None)

    async def load() -> tuple[User, ...]:
        async with context.desks() as desks:
            return await desks.users.list()

    try:
        # Completing must not create a desk.
        users = asyncio.run(load()) if context.settings().has_database else ()
    except (CopydeskError, OSError):
        users = ()
    return [CompletionItem(entry.name) for entry in users if entry.name.startswith(incomplete)]


@group()
def user() -> None:
    """List, add and remove users of the desk.

    Each has sources, drafts, accounts and tokens of their own. `copydesk --user NAME` works as one of them.
    """


@user.command(examples=("copydesk user add anna",), creates_desk=True)
@click.argument("name")
@json_options(User)
@pass_context
def add(context: Context, *, name: str, as_json: bool) -> None:
    """Add a user with an empty desk."""
    added = context.run_on_desks(lambda desks: desks.users.add(name))
    if as_json:
        print_json(added)
        return
    click.echo(f"Added {clean(added.name)}.")
    hint = f"Open their desk: copydesk --user {clean(shlex.quote(added.name))}"
    click.echo(context.with_desk_options(hint), err=True)


@user.command(name="list", examples=("copydesk user list",))
@json_options(User)
@pass_context
def list_(context: Context, *, as_json: bool) -> None:
    """List the users, the owner first."""
    users = context.run_on_desks(lambda desks: desks.users.list())
    if as_json:
        print_json(users)
        return
    rows = [(entry.name, entry.time_zone, f"added {format_ago(entry.created_at)}") for entry in users]
    print_table(rows, empty="")


@user.command(examples=("copydesk user remove anna",))
@click.argument("name", shell_complete=complete_users)
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_options(User)
@pass_context
def remove(context: Context, *, name: str, yes: bool, as_json: bool) -> None:
    """Delete a user with everything that belongs to them. Posts stay online, and backups keep a copy."""
    if not yes:
        # A mistyped name is refused before anybody is asked.
        found = context.run_on_desks(lambda desks: desks.users.get(name))
        question = f"Delete {clean(found.name)} with all their drafts, sources, accounts and tokens?"
        confirm(f"{question} This cannot be undone.", declined="Nothing changed.")

    async def work(desks: "Desks") -> User:
        return await desks.users.remove(name)

    removed = context.run_on_desks(work)
    from copydesk.tui.custom_tabs import tabs_file  # noqa: PLC0415 - only here

    # What they stored of the console outside the database.
    tabs_file(context.settings(), removed.name).unlink(missing_ok=True)
    if as_json:
        print_json(removed)
    else:
        click.echo(f"Removed {clean(removed.name)}.")
