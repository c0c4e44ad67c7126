"""`copydesk help`: the help of a command, or a page on a topic."""

import click
from click.shell_completion import CompletionItem

from copydesk.cli.command import Group, command, suggest
from copydesk.cli.help_topics import TOPICS


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the topics and commands, or the commands of a group that is given already."""
    names = ctx.params[param.name or ""] or ()
    context = ctx.find_root()
    for name in names:
        context = _find_command(context, name)
    commands = context.command.shell_complete(context, incomplete)
    topics = [(name, summary) for name, (summary, _) in TOPICS.items() if not names]
    return [*commands, *(CompletionItem(name, help=text) for name, text in topics if name.startswith(incomplete))]


@command(examples=("copydesk help", "copydesk help draft approve", "copydesk help environment"))
@click.argument("names", nargs=-1, metavar="[TOPIC|COMMAND...]", shell_complete=_complete)
@click.pass_context
def help(ctx: click.Context, *, names: tuple[str, ...]) -> None:  # noqa: A001 - the name of the command
    """Show the help of a command, or a topic."""
    root = ctx.find_root()
    if names and names[0] in TOPICS:
        if len(names) > 1:
            ctx.fail(f"{names[0]!r} is a topic: pass it alone.")
        click.echo(TOPICS[names[0]][1].strip())
        return
    context = root
    for name in names:
        context = _find_command(context, name)
    click.echo(context.get_help())


def _find_command(parent: click.Context, name: str) -> click.Context:
    """Return the context of a command in the group of `parent`. Raise UsageError with suggestions if there is none."""
    group = parent.command
    if not isinstance(group, Group):
        raise click.UsageError(f"`{parent.command_path}` has no commands.", parent)
    names = group.list_commands(parent)
    if name not in names:
        topics = [] if parent.parent else list(TOPICS)
        kind = "command or topic" if topics else "command"
        raise click.UsageError(f"There is no {kind} {name!r}. {suggest(name, [*names, *topics])}".rstrip(), parent)
    found = group.get_command(parent, name)
    assert found is not None
    return click.Context(found, parent=parent, info_name=name)
