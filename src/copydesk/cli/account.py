"""`copydesk account`: connect, list, approvals, check, remove."""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from copydesk.cli.command import group
from copydesk.cli.commands import exit_on_sigterm
from copydesk.cli.context import Context, confirm, find, is_interactive, pass_context
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import format_ago, print_table
from copydesk.cli.prompts import prompt_line, prompt_secret
from copydesk.desk.catalog import PLATFORMS
from copydesk.errors import CopydeskError
from copydesk.model.activity import MAX_APPROVALS
from copydesk.model.delivery import ConnectedAccount
from copydesk.model.serialization import Struct
from copydesk.text import clean
from copydesk.text.formatting import plural

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.accounts.service import ConnectMethod

ENVIRONMENT_PREFIX = "COPYDESK_CONNECT_"
"""Prefix of the environment variables that answer a platform's questions."""
NO_ACCOUNTS = "No accounts yet. Connect one: copydesk account connect bluesky"


class AccountCheck(Struct, frozen=True):
    """The result of testing the connection of one account."""

    account: str
    ok: bool
    error: str | None = None


@group()
def account() -> None:
    """Connect, check and remove accounts."""


@account.command(
    epilog=f"Platforms: {', '.join(PLATFORMS)}.",
    examples=("copydesk account connect bluesky", "copydesk account connect mastodon --url https://mastodon.example"),
    creates_desk=True,
)
@click.argument("platform", type=click.Choice(list(PLATFORMS)), metavar="PLATFORM")
@click.option("--url", default="", metavar="URL", help="The server: your PDS, instance or blog.")
@click.option(
    "--set",
    "answers",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a field without a prompt; not for secrets.",
)
@click.option("--by-hand", is_flag=True, help="Paste the code that the browser shows instead of waiting for it.")
@click.option("--plain", is_flag=True, help="Allow storing credentials unencrypted, in a file only you can read.")
@json_options(ConnectedAccount)
@pass_context
def connect(
    context: Context, *, platform: str, url: str, answers: tuple[str, ...], by_hand: bool, plain: bool, as_json: bool
) -> None:
    """Connect an account, or sign in to it again.

    Secrets are prompted for, read from standard input (one per line) or taken from the environment, such as
    COPYDESK_CONNECT_PASSWORD. They are never passed as arguments.
    """
    from copydesk.desk.accounts.oauth_flow import needs_browser  # noqa: PLC0415 - only this command needs it

    preset = dict(_parse_setting(answer) for answer in answers)

    async def work(desk: "Desk") -> ConnectedAccount:
        method = await desk.accounts.connect_method(platform)
        _validate_preset(method, preset)
        if plain:
            desk.accounts.allow_plaintext_vault()
        through_browser = method.uses_browser and (by_hand or sys.stdin.isatty())
        # The prompts block the event loop, which would handle the signal.
        with exit_on_sigterm():
            fields = _collect_fields(method, preset, through_browser=through_browser)
        if needs_browser(method, fields):
            return await _sign_in_with_browser(desk, method, fields, url, by_hand=by_hand)
        return await desk.accounts.connect(platform, fields, url)

    connected = context.run(work)
    if as_json:
        print_json(connected)
    else:
        click.echo(f"Connected {connected.label}.")


@account.command(name="list", examples=("copydesk account list",))
@json_options(ConnectedAccount)
@pass_context
def list_(context: Context, *, as_json: bool) -> None:
    """List the accounts."""

    async def work(desk: "Desk") -> tuple[tuple[ConnectedAccount, ...], str]:
        vault_text = await desk.accounts.vault_status()
        return await desk.accounts.list(), vault_text.description if vault_text.has_credentials else ""

    connected, vault_text = context.run(work)
    if as_json:
        print_json(connected)
        return
    rows = [
        (entry.label, entry.details.server, f"checked {format_ago(entry.checked_at)}", _remarks(entry))
        for entry in connected
    ]
    print_table(rows, empty=context.with_desk_options(NO_ACCOUNTS))
    if vault_text:
        click.echo(f"Credentials are stored in {vault_text}.", err=True)


def _remarks(account: ConnectedAccount) -> str:
    approvals = f"{account.approvals} approvals" if account.approvals > 1 else ""
    return " · ".join(filter(None, (approvals, account.login_error)))


@account.command(examples=("copydesk account approvals bluesky:anna.example 2",))
@click.argument("name", metavar="ACCOUNT")
@click.argument("count", type=click.IntRange(1, MAX_APPROVALS))
@json_options(ConnectedAccount)
@pass_context
def approvals(context: Context, *, name: str, count: int, as_json: bool) -> None:
    """Require that COUNT different reviewers, 1 or 2, approve what is posted to an account."""
    changed = context.run(lambda desk: desk.accounts.require_approvals(name, count))
    if as_json:
        print_json(changed)
    else:
        click.echo(f"{changed.label} takes drafts with {plural(changed.approvals, 'approval')}.")


@account.command(examples=("copydesk account check", "copydesk account check bluesky:anna.example"))
@click.argument("names", nargs=-1, metavar="[ACCOUNT]...")
@json_options(AccountCheck)
@pass_context
def check(context: Context, *, names: tuple[str, ...], as_json: bool) -> None:
    """Test the connection of the named accounts, or of all. Exit code 1 if one fails."""

    async def work(desk: "Desk") -> list[AccountCheck]:
        # A mistyped name is refused before any server is asked.
        named = {(await desk.accounts.get(name)).id: name for name in names}
        to_check = named or {entry.id: entry.label for entry in await desk.accounts.list()}
        if not to_check:
            click.echo(context.with_desk_options(NO_ACCOUNTS), err=True)
        return [await _check_account(context, desk, *entry, as_json=as_json) for entry in to_check.items()]

    checks = context.run(work)
    if as_json:
        print_json(checks)
    sys.exit(0 if all(check.ok for check in checks) else 1)


@account.command(examples=("copydesk account remove bluesky:anna.example",))
@click.argument("name", metavar="ACCOUNT")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_options(ConnectedAccount)
@pass_context
def remove(context: Context, *, name: str, yes: bool, as_json: bool) -> None:
    """Disconnect an account and delete its credentials. Posts stay online."""
    # A mistyped name is refused without a question.
    if not yes and (account := context.run(lambda desk: find(desk.accounts.get(name)))) is not None:
        confirm(f"Disconnect {clean(account.label)} and delete its credentials?", declined="Nothing changed.")
    removed = context.run(lambda desk: desk.accounts.remove(name))
    if as_json:
        print_json(removed)
        return
    click.echo(f"Disconnected {removed.label}. To be safe, revoke Copydesk's access on the platform too.")


async def _check_account(context: Context, desk: "Desk", account_id: str, name: str, *, as_json: bool) -> AccountCheck:
    try:
        checked = await desk.accounts.check(account_id)
    except CopydeskError as error:
        message = context.with_desk_options(str(error))
        if not as_json:
            click.echo(f"{clean(name)}: {clean(message)}", err=True)
        return AccountCheck(account=name, ok=False, error=message)
    if not as_json:
        click.echo(f"{checked.label} works.")
    return AccountCheck(account=checked.label, ok=True)


async def _sign_in_with_browser(
    desk: "Desk", method: "ConnectMethod", fields: Mapping[str, str], url: str, *, by_hand: bool
) -> ConnectedAccount:
    """Open the platform's page and wait for the redirect, or for the code the user pastes if `by_hand`."""
    from copydesk.desk.accounts import oauth_flow  # noqa: PLC0415 - only this command needs it
    from copydesk.tui import browser  # noqa: PLC0415 - as above

    async def show(page: str) -> None:
        if by_hand:
            click.echo(f"Open this page, allow access and paste the code it shows:\n{page}", err=True)
            return
        click.echo(f"Allow access in your browser. If none opened, open this page:\n{page}", err=True)
        if is_interactive():
            await browser.open_in_browser(page)

    async def pasted() -> str:
        return prompt_line("Code or address", "run the command in a terminal")

    if by_hand:
        return await oauth_flow.sign_in_with_pasted_code(desk.accounts, method, fields, url, show, pasted)
    return await oauth_flow.sign_in_with_browser(desk.accounts, method, fields, url, show)


def _parse_setting(answer: str) -> tuple[str, str]:
    name, equals, value = answer.partition("=")
    if not equals or not name:
        raise click.UsageError("--set takes NAME=VALUE.")
    return name, value


def _validate_preset(method: "ConnectMethod", preset: Mapping[str, str]) -> None:
    """Raise UsageError for a --set name the platform does not ask for, and for secrets."""
    fields = {field.name: field for field in method.credential_fields}
    for name in preset:
        if name not in fields:
            names = ", ".join(fields) or "none"
            raise click.UsageError(f"{method.platform} has no field {name}; its fields: {names}.")
        if fields[name].secret:
            raise click.UsageError(f"{name} is a secret: other users of this machine can see arguments.")


def _collect_fields(method: "ConnectMethod", preset: Mapping[str, str], *, through_browser: bool) -> dict[str, str]:
    """Return the platform's fields, from --set, the environment or a prompt."""
    fields = dict(preset)
    for field in method.credential_fields:
        if field.name in fields:
            continue
        answer = os.environ.get(ENVIRONMENT_PREFIX + field.name.upper())
        # Asking for what the browser makes unnecessary would be a detour.
        if answer is None and field.replaces_sign_in and through_browser:
            continue
        if answer is None:
            variable = ENVIRONMENT_PREFIX + field.name.upper()
            answer = (
                prompt_secret(field.question, variable, optional=field.optional)
                if field.secret
                else prompt_line(field.question, f"use --set {field.name}=…", optional=field.optional)
            )
        fields[field.name] = answer
    return fields
