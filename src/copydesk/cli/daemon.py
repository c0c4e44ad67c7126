"""`copydesk daemon`: run the scheduled jobs without the console."""

import sys
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from copydesk.cli.command import command
from copydesk.cli.context import Context, pass_context
from copydesk.cli.json_output import json_options, print_json
from copydesk.cli.output import format_ago, print_table
from copydesk.cli.stop_signal import StopSignal
from copydesk.model.job import JobState
from copydesk.text import clean

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.jobs import JobMessage


@command(examples=("copydesk daemon", "copydesk daemon --once"), creates_desk=lambda values: not values["status"])
@click.option("--once", is_flag=True, help="Run the jobs that are due and exit; for a timer.")
@click.option("--status", is_flag=True, help="Show the jobs and their last results.")
@json_options(JobState, help="With --status: print JSON.")
@pass_context
def daemon(context: Context, *, once: bool, status: bool, as_json: bool) -> None:
    """Fetch sources, post due drafts, generate texts, back up and delete old data, until SIGTERM or Ctrl-C.

    Prints one line per job that did something. It may run next to the console and other daemons: each job runs in one
    of them only. With --once the exit code is 1 if a job failed, or a delivery did or needs you.
    """
    if (status and once) or (as_json and not status):
        raise click.UsageError("--once and --status cannot be used together, and --json needs --status.")
    if status:
        _print_status(context, as_json=as_json)
    elif once:
        sys.exit(context.run(_run_once))
    else:
        sys.exit(context.run(_run_until_signal))


async def _run_once(desk: "Desk") -> int:
    from copydesk.jobs import Jobs  # noqa: PLC0415 - other commands do not need APScheduler

    messages: list[JobMessage] = []

    def on_message(message: "JobMessage") -> None:
        messages.append(message)
        print_message(message)

    fetches_sources = desk.settings.jobs.pipeline != "never"
    jobs = Jobs(desk, fetches_sources=fetches_sources, backup_delay=timedelta(0), listener=on_message)
    try:
        await jobs.tick()
        await jobs.drain()
    finally:
        await jobs.stop()
    return int(any(message.failed for message in messages))


async def _run_until_signal(desk: "Desk") -> int:
    """Run the jobs until a signal; a second signal cancels what is in progress."""
    from copydesk.jobs import run_jobs  # noqa: PLC0415

    stop = StopSignal()
    async with run_jobs(desk, daemon=True, listener=print_message):
        click.echo("Running. Due jobs are checked every 30 seconds. Ctrl-C stops.", err=True)
        await stop.requested.wait()
    return stop.exit_code


def print_message(message: "JobMessage", *, of: str = "") -> None:
    """Print what a job did, with the name of the user `of` whose it is."""
    failed = " failed" if message.failed else ""
    user = f" {clean(of)}" if of else ""
    line = f"{message.at.astimezone():%Y-%m-%d %H:%M:%S %Z}{user} {message.job}{failed}: {clean(message.text)}"
    # The jobs go on when nobody reads their messages any more.
    with suppress(OSError):
        click.echo(line, err=True)


def _print_status(context: Context, *, as_json: bool) -> None:
    states = context.run(lambda desk: desk.job_leases.states())
    if as_json:
        print_json(states)
        return
    rows = [
        (
            state.name,
            "running" if state.owner else "",
            f"started {format_ago(state.began_at)}",
            f"ended {format_ago(state.ended_at)}",
            f"failed: {state.error}" if state.error else "",
        )
        for state in states
    ]
    print_table(rows, empty=context.with_desk_options("No jobs have run yet. Start them: copydesk daemon"))
