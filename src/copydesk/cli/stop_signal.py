"""The stop of a process that runs jobs until SIGTERM or Ctrl-C."""

import asyncio
import signal

import click

from copydesk.cli.commands import INTERRUPTED

_EXIT_CODES = {signal.SIGTERM: 0, signal.SIGINT: INTERRUPTED}


class StopSignal:
    """Waits for SIGTERM or Ctrl-C, from its creation on; a second signal cancels the task that created it."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self._received: list[signal.Signals] = []
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        loop = asyncio.get_running_loop()
        for number in _EXIT_CODES:
            # Replaces the SIGTERM handler of `Context.run`, which would cancel at once.
            loop.add_signal_handler(number, self._receive, number)

    @property
    def exit_code(self) -> int:
        """The exit code after the first signal."""
        return _EXIT_CODES[self._received[0]]

    def _receive(self, number: signal.Signals) -> None:
        self._received.append(number)
        self.requested.set()
        if len(self._received) > 1:
            self._task.cancel()
        else:
            click.echo("Stopping after the jobs in progress. Ctrl-C again cancels them.", err=True)
