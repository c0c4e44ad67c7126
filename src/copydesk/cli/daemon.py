"""`copydesk daemon`: what is done without being asked, without a screen."""

import asyncio
import signal
import sys
from typing import TYPE_CHECKING

import click

from copydesk.cli import INTERRUPTED
from copydesk.cli.context import Context, pass_context, print_json
from copydesk.cli.show import ago, table
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.jobs import Said


@click.command()
@click.option("--once", is_flag=True, help="Do what is due now, and end; for a timer.")
@click.option("--status", is_flag=True, help="Only say which jobs there were, and how they went.")
@click.option("--json", "as_json", is_flag=True, help="With --status: print JSON.")
@pass_context
def daemon(context: Context, *, once: bool, status: bool, as_json: bool) -> None:
    """Read sources, post what is due, mark what is missed and write what waits, until SIGTERM or Ctrl-C.

    What was done is said, a line for each thing.

    It may run beside the console and beside another daemon: each thing is done once. With --once the exit code is 1
    where something failed.
    """
    if (status and once) or (as_json and not status):
        raise click.UsageError("--once and --status do not go together, and --json goes with --status.")
    if status:
        _print_status(context, as_json=as_json)
    elif once:
        sys.exit(context.run(_once))
    else:
        sys.exit(context.run(_until_told))


async def _once(desk: "Desk") -> int:
    from copydesk.jobs import Jobs  # noqa: PLC0415 - APScheduler is not for the other commands

    said: list[Said] = []

    def hear(each: "Said") -> None:
        said.append(each)
        _print(each)

    jobs = Jobs(desk, reads_sources=desk.settings.jobs.pipeline != "never", listener=hear)
    try:
        await jobs.look()
        await jobs.finish()
    finally:
        await jobs.end()
    return int(any(each.failed for each in said))


async def _until_told(desk: "Desk") -> int:
    """Run the jobs until a signal says to end; a second one does not wait for what is under way."""
    from copydesk.jobs import running  # noqa: PLC0415 - as above

    loop, told = asyncio.get_running_loop(), asyncio.Event()
    work, codes = asyncio.current_task(), {signal.SIGTERM: 0, signal.SIGINT: INTERRUPTED}
    assert work is not None
    came: list[signal.Signals] = []

    def hear(number: signal.Signals) -> None:
        came.append(number)
        told.set()
        if len(came) > 1:
            work.cancel()

    for number in codes:
        loop.add_signal_handler(number, hear, number)
    async with running(desk, daemon=True, listener=_print):
        click.echo("Looking for what is due, every half minute. Ctrl-C ends it.", err=True)
        await told.wait()
        click.echo("Ending, after what is under way.", err=True)
    return codes[came[0]]


def _print(said: "Said") -> None:
    failed = " failed" if said.failed else ""
    click.echo(f"{said.at.astimezone():%Y-%m-%d %H:%M:%S %Z} {said.job}{failed}: {clean(said.text)}", err=True)


def _print_status(context: Context, *, as_json: bool) -> None:
    states = context.run(lambda desk: desk.work.states())
    if as_json:
        print_json(states)
        return
    rows = [
        (
            each.name,
            "under way" if each.owner else "",
            f"began {ago(each.began_at)}",
            f"ended {ago(each.ended_at)}",
            f"failed: {each.error}" if each.error else "",
        )
        for each in states
    ]
    table(rows, empty=context.advice("Nothing was done without being asked yet. Start it: copydesk daemon"))
