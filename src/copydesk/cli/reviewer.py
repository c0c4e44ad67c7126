"""`copydesk reviewer`: list, role, remove."""

from collections.abc import Sequence

import click

from copydesk.cli.command import group
from copydesk.cli.context import Context, pass_context
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import print_table
from copydesk.model.role import Reviewer, Role


@group()
def reviewer() -> None:
    """Show and change the roles of the reviewers of your desk.

    A writer creates, edits and comments on drafts, a reviewer also approves and rejects, a publisher also schedules,
    posts and connects accounts. Each is known by `console.reviewer`, by default the login name, or by the name of the
    API token. While nobody has a role, everybody may do everything.
    """


@reviewer.command(name="list", examples=("copydesk reviewer list",))
@json_options(Reviewer)
@pass_context
def list_(context: Context, *, as_json: bool) -> None:
    """List the reviewers who have a role."""
    _print(context.run(lambda desk: desk.reviewers.list()), as_json=as_json)


@reviewer.command(examples=("copydesk reviewer role ben writer",), creates_desk=True)
@click.argument("name")
@click.argument("role", type=click.Choice([role.value for role in Role]), metavar="ROLE")
@json_options(Reviewer)
@pass_context
def role(context: Context, *, name: str, role: str, as_json: bool) -> None:
    """Give a reviewer a role: writer, reviewer or publisher.

    With the first role you become a publisher, and everybody else without one is a writer. A token without a role may
    do what its scope allows.
    """
    _print(context.run(lambda desk: desk.reviewers.set_role(name, Role(role))), as_json=as_json)


@reviewer.command(examples=("copydesk reviewer remove ben",))
@click.argument("name")
@json_options(Reviewer)
@pass_context
def remove(context: Context, *, name: str, as_json: bool) -> None:
    """Take a reviewer's role away. Without any role left, everybody may do everything."""
    _print(context.run(lambda desk: desk.reviewers.remove(name)), as_json=as_json)


def _print(reviewers: Sequence[Reviewer], *, as_json: bool) -> None:
    if as_json:
        print_json(reviewers)
        return
    print_table([(found.name, found.role) for found in reviewers], empty="No roles: everybody may do everything.")
