"""`copydesk account`: connect, list, check, remove."""

import getpass
import os
import sys
import webbrowser
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from copydesk.cli import fail
from copydesk.cli.ask import ask, on_terminal
from copydesk.cli.context import Context, pass_context, print_json
from copydesk.cli.show import ago, table
from copydesk.errors import CopydeskError
from copydesk.model.account import ConnectedAccount, Wanted
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.accounts import WayIn

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON in the interface's shape.")
PLATFORMS = ("bluesky", "mastodon", "x", "linkedin", "threads", "wordpress", "ghost", "devto", "micropub", "webhook")
PREFIX = "COPYDESK_CONNECT_"
"""Before the name of what is asked for, in the environment."""
NONE = "No account is connected. Connect one: copydesk account connect bluesky"


@click.group()
def account() -> None:
    """The accounts that posts go to."""


@account.command()
@click.argument("platform", type=click.Choice(PLATFORMS), metavar="PLATFORM")
@click.option("--url", default="", metavar="URL", help="Its server: your own PDS, your instance, your blog.")
@click.option("--set", "answers", multiple=True, metavar="NAME=VALUE", help="Answer a question ahead; never a secret.")
@click.option("--by-hand", is_flag=True, help="Do not wait for the browser: paste what it shows.")
@click.option("--plain", is_flag=True, help="Keep the keys unencrypted, in a file of yours alone, if need be.")
@AS_JSON
@pass_context
def connect(
    context: Context, *, platform: str, url: str, answers: tuple[str, ...], by_hand: bool, plain: bool, as_json: bool
) -> None:
    """Connect an account, or one that is connected once more.

    PLATFORM is bluesky, mastodon, x, linkedin, threads, wordpress, ghost, devto, micropub or webhook.

    What is secret is asked for, read from standard input, a line for each, or taken from the environment:
    COPYDESK_CONNECT_PASSWORD and the like. It never stands in the command itself.
    """
    from copydesk.desk.signing_in import needs_browser  # noqa: PLC0415 - for this alone

    ahead = dict(_pair(answer) for answer in answers)

    async def work(desk: "Desk") -> ConnectedAccount:
        way = desk.accounts.way_in(platform)
        _refuse(way, ahead)
        if plain:
            desk.accounts.allow_plain_keys()
        given = _answers(way, ahead, through_browser=way.browser and (by_hand or sys.stdin.isatty()))
        if needs_browser(way, given):
            return await _through_browser(desk, way, given, url, by_hand=by_hand)
        return await desk.accounts.connect(platform, given, url)

    kept = context.run(work)
    if as_json:
        print_json(kept)
    else:
        click.echo(f"{kept.label} is connected.")


@account.command(name="list")
@AS_JSON
@pass_context
def list_(context: Context, *, as_json: bool) -> None:
    """List the accounts."""

    async def work(desk: "Desk") -> tuple[tuple[ConnectedAccount, ...], str]:
        keys = await desk.accounts.keys()
        return await desk.accounts.list(), keys.says if keys.begun else ""

    every, keys = context.run(work)
    if as_json:
        print_json(every)
        return
    rows = [(each.label, each.details.server, f"checked {ago(each.checked_at)}", each.trouble or "") for each in every]
    table(rows, empty=context.advice(NONE))
    if keys:
        click.echo(f"Their keys are in {keys}.", err=True)


@account.command()
@click.argument("names", nargs=-1, metavar="[ACCOUNT]...")
@pass_context
def check(context: Context, *, names: tuple[str, ...]) -> None:
    """Ask the servers whether the accounts work, all or those that are named. The exit code is 1 where one does not."""

    async def work(desk: "Desk") -> bool:
        every = {name: name for name in names} or {each.id: each.label for each in await desk.accounts.list()}
        if not every:
            click.echo(context.advice(NONE), err=True)
        return all([await _works(context, desk, *each) for each in every.items()])

    sys.exit(0 if context.run(work) else 1)


@account.command()
@click.argument("name", metavar="ACCOUNT")
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_context
def remove(context: Context, *, name: str, yes: bool) -> None:
    """Forget an account and its keys. What was posted stays."""
    if not yes:
        ask(f"Forget {clean(name)} and its keys?", nothing="Nothing was removed.")
    gone = context.run(lambda desk: desk.accounts.remove(name))
    click.echo(f"{gone.label} is forgotten. To be sure, take Copydesk's access back there, too.")


async def _works(context: Context, desk: "Desk", account_id: str, name: str) -> bool:
    try:
        kept = await desk.accounts.check(account_id)
    except CopydeskError as error:
        click.echo(f"{clean(name)}: {clean(context.advice(str(error)))}", err=True)
        return False
    click.echo(f"{kept.label} works.")
    return True


async def _through_browser(
    desk: "Desk", way: "WayIn", given: Mapping[str, str], url: str, *, by_hand: bool
) -> ConnectedAccount:
    """Send the user to the platform, and wait for the browser to come back; by hand, for what it shows."""
    from copydesk.desk import signing_in  # noqa: PLC0415 - for this alone

    async def show(page: str) -> None:
        if by_hand:
            click.echo(f"Open this page, say yes, and come back with what it shows:\n{page}", err=True)
            return
        click.echo(f"Say yes in your browser. If none opened, open this page in one:\n{page}", err=True)
        if on_terminal():
            webbrowser.open(page)

    async def pasted() -> str:
        return _line("Code or address", "in a terminal")

    if by_hand:
        return await signing_in.by_hand(desk.accounts, way, given, url, show, pasted)
    return await signing_in.through_browser(desk.accounts, way, given, url, show)


def _pair(answer: str) -> tuple[str, str]:
    name, equals, value = answer.partition("=")
    if not equals or not name:
        raise click.UsageError("--set takes NAME=VALUE.")
    return name, value


def _refuse(way: "WayIn", ahead: Mapping[str, str]) -> None:
    """What is asked for ahead has to be something that is asked for, and nothing that others must not see."""
    known = {each.name: each for each in way.wants}
    for name in ahead:
        if name not in known:
            asked = ", ".join(known) or "nothing"
            raise click.UsageError(f"{way.platform} does not ask for {name}; it asks for {asked}.")
        if known[name].secret:
            raise click.UsageError(f"{name} is a secret: every user of this machine could read it in the command.")


def _answers(way: "WayIn", ahead: Mapping[str, str], *, through_browser: bool) -> dict[str, str]:
    """What the platform asks for: ahead, from the environment, or from the user."""
    given = dict(ahead)
    for each in way.wants:
        if each.name in given:
            continue
        found = os.environ.get(PREFIX + each.name.upper())
        if found is None and each.optional and through_browser:
            continue
        if found is None:
            found = (
                _secret(each)
                if each.secret
                else _line(each.question, f"by --set {each.name}=…", optional=each.optional)
            )
        given[each.name] = found
    return given


def _secret(wanted: Wanted) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"{wanted.question}: ")
    return _read(wanted.question, f"in {PREFIX}{wanted.name.upper()}", optional=wanted.optional)


def _line(question: str, or_else: str, *, optional: bool = False) -> str:
    if sys.stdin.isatty():
        shown: str = click.prompt(question, default="" if optional else None, show_default=False, err=True)
        return shown
    return _read(question, or_else, optional=optional)


def _read(question: str, or_else: str, *, optional: bool) -> str:
    """A line of standard input, where nobody is there to be asked."""
    read = sys.stdin.readline().rstrip("\r\n")
    if not read and not optional:
        fail(f"There is no answer to: {question}. Give it on standard input, or {or_else}.", 2)
    return read
