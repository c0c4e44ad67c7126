"""`copydesk token`: create, list, revoke."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

from copydesk.cli.command import group
from copydesk.cli.context import Context, confirm, pass_context, rename_fields
from copydesk.cli.ids import complete_names
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import format_ago, format_time, print_table
from copydesk.cli.user import complete_users
from copydesk.errors import InvalidError
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope, Token
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk

Command = TypeVar("Command", bound=Callable[..., Any])
_DURATION = re.compile(r"([1-9]\d{0,4})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


class NewToken(Struct, frozen=True):
    """The output of `token create`."""

    token: str
    id: str
    name: str
    scope: Scope
    user: str
    expires_at: datetime | None


def _parse_duration(_ctx: click.Context, _param: click.Parameter, value: str | None) -> timedelta | None:
    """Return a number of hours, days or weeks, such as `90d`."""
    if value is None:
        return None
    match = _DURATION.fullmatch(value)
    if match is None:
        raise click.BadParameter(f"{value!r} is not a duration such as 12h, 90d or 2w.")
    return int(match[1]) * _UNITS[match[2]]


def _set_user(ctx: click.Context, _: click.Parameter, name: str | None) -> None:
    if name is None:
        return
    if ctx.resilient_parsing:
        # While the shell completes, there is no `Context`.
        ctx.find_root().params["user"] = name
    else:
        ctx.ensure_object(Context).user = name


def user_option(command: Command) -> Command:
    """Add `--user`, which says the same as before the command."""
    return click.option(
        "--user",
        metavar="NAME",
        expose_value=False,
        callback=_set_user,
        shell_complete=complete_users,
        help="The user it belongs to; by default the owner.",
    )(command)


@group()
def token() -> None:
    """Create, list and revoke API tokens.

    A token lets a program use your desk over HTTP. Each scope includes those before it: read, draft, review, publish.
    """


@token.command(examples=("copydesk token create --name agent --scope draft --expires 90d",), creates_desk=True)
@click.option("--name", required=True, help="What it is for; shown in lists.")
@click.option(
    "--scope",
    required=True,
    type=click.Choice([scope.value for scope in Scope]),
    help="What it allows; each scope includes those before it.",
)
@click.option(
    "--expires",
    callback=_parse_duration,
    metavar="DURATION",
    help="Let it expire after this long, such as 12h, 90d or 2w; by default never.",
)
@user_option
@json_options(NewToken)
@pass_context
def create(context: Context, *, name: str, scope: str, expires: timedelta | None, as_json: bool) -> None:
    """Create a token and print it. It is not shown again."""

    async def work(desk: "Desk") -> NewToken:
        expires_at = desk.clock() + expires if expires is not None else None
        try:
            created = await desk.tokens.create(name, Scope(scope), expires_at)
        except InvalidError as error:
            raise rename_fields(error, {"expiresAt": "--expires"}) from None
        return NewToken(
            token=created.secret,
            id=created.id,
            name=created.name,
            scope=created.scope,
            user=desk.user.name,
            expires_at=created.expires_at,
        )

    created = context.run(work)
    if as_json:
        print_json(created)
        return
    expiry = f"expires {format_time(created.expires_at)}" if created.expires_at else "never expires"
    details = f"{clean(created.name)} for {clean(created.user)}, scope {created.scope}, {expiry}"
    # On stderr, so that a variable or a pipe receives the token only.
    click.echo(f"Created token {details}. Copy it now, it is not shown again:", err=True)
    click.echo(created.token)


@token.command(name="list", examples=("copydesk token list",))
@user_option
@json_options(Token)
@pass_context
def list_(context: Context, *, as_json: bool) -> None:
    """List the tokens, with those that are expired or revoked."""

    async def work(desk: "Desk") -> tuple[tuple[Token, ...], datetime]:
        return await desk.tokens.list(), desk.clock()

    tokens, now = context.run(work)
    if as_json:
        print_json(tokens)
        return
    rows = [
        (
            entry.name,
            entry.scope,
            f"{entry.prefix}…",
            f"created {format_ago(entry.created_at)}",
            _describe_validity(entry, now),
        )
        for entry in tokens
    ]
    empty = "No tokens yet. Create one: copydesk token create --name agent --scope draft"
    print_table(rows, empty=context.with_desk_options(empty))


def _describe_validity(entry: Token, now: datetime) -> str:
    if entry.revoked_at is not None:
        return f"revoked {format_ago(entry.revoked_at)}"
    if entry.expires_at is None:
        return "never expires"
    return f"{'expires' if entry.is_valid(now) else 'expired'} {format_time(entry.expires_at)}"


async def _list_valid(desk: "Desk") -> list[str]:
    return [entry.name for entry in await desk.tokens.list() if entry.revoked_at is None]


@token.command(examples=("copydesk token revoke agent",))
@click.argument("name", metavar="ID_OR_NAME", shell_complete=complete_names(_list_valid))
@user_option
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_options(Token)
@pass_context
def revoke(context: Context, *, name: str, yes: bool, as_json: bool) -> None:
    """Revoke a token. It stops working at once."""
    if not yes:
        found = context.run(lambda desk: desk.tokens.get(name))
        confirm(f"Revoke {clean(found.name)}? This cannot be undone.", declined="Nothing changed.")
    revoked = context.run(lambda desk: desk.tokens.revoke(name))
    if as_json:
        print_json(revoked)
    else:
        click.echo(f"Revoked {clean(revoked.name)}.")
