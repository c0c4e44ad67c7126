"""`copydesk prove`: show that killed senders neither double nor lose posts."""

import random
import sys

import click

from copydesk.cli.command import command
from copydesk.cli.context import Context, pass_context
from copydesk.cli.json_output import json_options, print_json
from copydesk.text.formatting import plural

MAX_SEED = 1_000_000


@command(examples=("copydesk prove --seconds 10",))
@click.option("--seconds", type=click.FloatRange(min=0), default=30, show_default=True, help="Stop after this long.")
@click.option("--kills", type=click.IntRange(min=1), metavar="N", help="Stop after N kills.")
@click.option("--seed", type=int, metavar="N", help="Use the same random numbers again.")
@json_options("posts", "seconds", "seed", "sender", "naive")
@pass_context
def prove(context: Context, *, seconds: float, kills: int | None, seed: int | None, as_json: bool) -> None:
    """Kill the sender at random moments, and count the posts that a fake platform received.

    Desk and platform are temporary and on this machine; your desk, accounts and keyring are not touched. A naive sender
    is killed too, for comparison. Exit code 1 if a post was doubled or lost.
    """
    from copydesk.sample.prove import prove as run_proof  # noqa: PLC0415 - `copydesk prove --help` needs none of it

    actual_seed = random.randrange(MAX_SEED) if seed is None else seed  # noqa: S311 - nothing secret
    result = context.run_without_desk(
        lambda: run_proof(seconds=seconds, kills=kills, seed=actual_seed, on_kill=_print_progress)
    )
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", nl=False, err=True)
    if as_json:
        print_json(result)
    else:
        ours, naive = result.sender, result.naive
        click.echo(f"{_format_counts(ours.kills, result.posts)}, {ours.doubled} doubled, {ours.lost} lost")
        if ours.unknown:
            click.echo(f"{plural(ours.unknown, 'delivery')} would wait for your decision")
        naive_counts = f"{plural(naive.kills, 'kill')}, {naive.doubled} doubled, {naive.lost} lost"
        click.echo(f"For comparison, a naive sender that records a post after the response: {naive_counts}")
        click.echo(f"{result.seconds:g} seconds. With the same random numbers: --seed {actual_seed}", err=True)
    sys.exit(0 if result.ok else 1)


def _print_progress(kills: int, posts: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{_format_counts(kills, posts)}…", nl=False, err=True)


def _format_counts(kills: int, posts: int) -> str:
    return f"{plural(kills, 'kill')}, {plural(posts, 'post')}"
