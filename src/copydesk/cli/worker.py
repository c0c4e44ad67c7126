"""`copydesk worker`: run the scheduled jobs of all users, next to any number of other workers."""

import sys
from typing import TYPE_CHECKING

import click

from copydesk.cli.command import command
from copydesk.cli.context import Context, pass_context
from copydesk.cli.daemon import print_message
from copydesk.cli.stop_signal import StopSignal
from copydesk.version import install_hint

if TYPE_CHECKING:
    from copydesk.desk import Desks
    from copydesk.jobs import JobMessage
    from copydesk.model.user import User


@command(examples=("copydesk worker", "copydesk worker --concurrency 16"), creates_desk=True)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 100),
    default=8,
    show_default=True,
    help="Sources to fetch, accounts to send to and other jobs to run at once, of each this many.",
)
@pass_context
def worker(context: Context, *, concurrency: int) -> None:
    """Run the jobs of all users together with other workers, until SIGTERM or Ctrl-C.

    Needs a PostgreSQL database (database.url), which the workers share, and copydesk[cluster]. Each job runs in one of
    them; the jobs of a worker that dies are taken over by the others. Prints one line per job that did something.
    """
    context.refuse_user("A worker runs the jobs of all users.")
    sys.exit(context.run_on_desks(lambda desks: _run_until_signal(desks, context, concurrency)))


async def _run_until_signal(desks: "Desks", context: Context, concurrency: int) -> int:
    """Run jobs until a signal; a second signal cancels what is in progress."""
    options = context.settings().database
    try:
        from copydesk.worker import Worker  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if error.name not in {"procrastinate", "psycopg", "psycopg_pool"}:
            raise
        message = f"Workers need an extra that is not installed. {install_hint('cluster')}"
        raise click.UsageError(message) from None
    stop = StopSignal()
    worker = Worker(
        desks,
        _print_message,
        concurrency=concurrency,
        url=options.url,
        password=options.password,
        queue_listener=print_message,
    )
    await worker.run(stop.requested, lambda: click.echo("Running. Ctrl-C stops.", err=True))
    return stop.exit_code


def _print_message(user: "User", message: "JobMessage") -> None:
    print_message(message, of=user.name)
