"""`copydesk writer`: list, add, test, use, remove."""

import os
from typing import TYPE_CHECKING

import click

from copydesk.cli.command import group
from copydesk.cli.commands import exit_on_sigterm
from copydesk.cli.context import Context, confirm, find, pass_context, to_field
from copydesk.cli.ids import complete_names
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import format_ago, print_table
from copydesk.cli.prompts import prompt_secret
from copydesk.model.writer import (
    DEFAULT_MAX_TOKENS,
    OFFLINE,
    StructuredOutput,
    WireProtocol,
    WriterInfo,
    Writers,
    WriterTest,
)
from copydesk.text import clean, clean_lines
from copydesk.text.formatting import format_cost, format_count, plural

if TYPE_CHECKING:
    from copydesk.desk import Desk


async def _list_writers(desk: "Desk") -> list[str]:
    return [info.name for info in (await desk.writers.list()).writers]


async def _list_models(desk: "Desk") -> list[str]:
    return [info.name for info in (await desk.writers.list()).writers if info.endpoint]


_complete_models = complete_names(_list_models)
KEY_VARIABLE = "COPYDESK_WRITER_KEY"
"""Environment variable that answers the question for the key."""


@group()
def writer() -> None:
    """Choose who writes drafts: the offline writer, or language models."""


@writer.command(name="list", examples=("copydesk writer list",))
@json_options(Writers)
@pass_context
def list_(context: Context, *, as_json: bool) -> None:
    """List the writers in the order in which they are tried, with their costs this month."""
    found = context.run(lambda desk: desk.writers.list())
    if as_json:
        print_json(found)
        return
    _print_writers(found)


@writer.command(
    examples=(
        "copydesk writer add gpt --model gpt-5.2",
        "copydesk writer add claude --protocol anthropic --model claude-sonnet-5",
        "copydesk writer add local --url http://localhost:8080/v1 --model phi4 --no-key",
    ),
    creates_desk=True,
)
@click.argument("name")
@click.option("--model", required=True, help="The model's name on the server.")
@click.option(
    "--url", "base_url", default="", metavar="URL", help="The base URL; by default that of OpenAI or Anthropic."
)
@click.option(
    "--protocol",
    type=click.Choice([protocol.value for protocol in WireProtocol]),
    default=WireProtocol.OPENAI.value,
    show_default=True,
    help="openai: chat completions, which most servers offer. anthropic: messages.",
)
@click.option(
    "--structured",
    type=click.Choice([choice.value for choice in StructuredOutput]),
    default=StructuredOutput.AUTO.value,
    show_default=True,
    help="Use the server's structured output.",
)
@click.option(
    "--max-tokens", type=int, default=DEFAULT_MAX_TOKENS, show_default=True, help="Maximum tokens of one answer."
)
@click.option(
    "--no-key", is_flag=True, help="The server needs no key; do not ask for one, nor use COPYDESK_WRITER_KEY."
)
@click.option("--plain", is_flag=True, help="Allow storing the key unencrypted, in a file only you can read.")
@json_options(WriterInfo)
@pass_context
def add(context: Context, /, *, name: str, no_key: bool, plain: bool, as_json: bool, **options: object) -> None:
    """Add a language model, or replace the one of this name.

    The key is prompted for, read from standard input or taken from COPYDESK_WRITER_KEY. It is never an argument.
    """
    request = {"name": name} | {to_field(option): value for option, value in options.items()}

    async def work(desk: "Desk") -> WriterInfo:
        if plain:
            desk.accounts.allow_plaintext_vault()
        key = "" if no_key else os.environ.get(KEY_VARIABLE)
        if key is None:
            # The prompt blocks the event loop, which would handle the signal.
            with exit_on_sigterm():
                key = prompt_secret("API key, empty if the server needs none", KEY_VARIABLE, optional=True)
        return await desk.writers.add(request, key)

    added = context.run(work)
    if as_json:
        print_json(added)
        return
    click.echo(f"Added {added.name}.")
    if added.position is None:
        hint = f"Try it: copydesk writer test {added.name}. Let it write: copydesk writer use {added.name} offline"
        click.echo(context.with_desk_options(hint), err=True)


@writer.command(examples=("copydesk writer test gpt",))
@click.argument("name", shell_complete=_complete_models)
@json_options(WriterTest)
@pass_context
def test(context: Context, *, name: str, as_json: bool) -> None:
    """Test a language model: let it write a post about an invented text. This costs as much as a draft."""
    result = context.run(lambda desk: desk.writers.test(name))
    if as_json:
        print_json(result)
        return
    click.echo(f"{clean(result.answered_by)} answered in {result.seconds:.1f} s.")
    rows = [
        ("structured output", "yes" if result.is_structured else "no"),
        ("tokens", f"{format_count(result.usage.input_tokens)} in, {format_count(result.usage.output_tokens)} out"),
        ("cost", format_cost(result.cost)),
    ]
    print_table(rows, empty="")
    click.echo(f"\n{clean_lines(result.text)}")


@writer.command(examples=("copydesk writer use gpt offline", "copydesk writer use offline"))
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_names(_list_writers))
@json_options(Writers)
@pass_context
def use(context: Context, *, names: tuple[str, ...], as_json: bool) -> None:
    """Choose the writers to try for each draft, in this order, until one has written it.

    `offline` can only be the last: it needs no model and is always there. Without it, a draft fails if no model writes
    it.
    """

    async def work(desk: "Desk") -> Writers:
        for name in names:
            # For the desk an unknown name is an invalid field; for a command it is a mistyped one.
            if name != OFFLINE:
                await desk.writers.get(name)
        return await desk.writers.use(names)

    found = context.run(work)
    if as_json:
        print_json(found)
        return
    _print_writers(found)


@writer.command(examples=("copydesk writer remove gpt",))
@click.argument("name", shell_complete=_complete_models)
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_options(WriterInfo)
@pass_context
def remove(context: Context, *, name: str, yes: bool, as_json: bool) -> None:
    """Remove a language model and delete its key. Its drafts stay."""
    # A mistyped name is refused without a question.
    if not yes and (found := context.run(lambda desk: find(desk.writers.get(name)))) is not None:
        confirm(f"Remove {found.name} and delete its key?", declined="Nothing changed.")
    removed = context.run(lambda desk: desk.writers.remove(name))
    if as_json:
        print_json(removed)
        return
    click.echo(f"Removed {removed.name}.")


def _print_writers(found: Writers) -> None:
    rows = [
        (
            f"{info.position}." if info.position else "",
            info.name,
            clean(info.endpoint.model) if info.endpoint else "no model",
            clean(info.endpoint.base_url) if info.endpoint else "",
            f"tested {format_ago(info.tested_at)}" if info.tested_at else "",
            clean(info.error or ""),
        )
        for info in found.writers
    ]
    print_table(rows, empty="")
    spending = found.spending
    if not spending.requests and not found.monthly_budget:
        return
    budget = f" of {format_cost(found.monthly_budget)}" if found.monthly_budget else ""
    unpriced = f", {spending.unpriced} of them of unknown cost" if spending.unpriced else ""
    requests = plural(spending.requests, "request")
    click.echo(f"{spending.month}: {format_cost(spending.cost)}{budget} for {requests}{unpriced}.", err=True)
