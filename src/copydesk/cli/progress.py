"""Progress of commands that take a while: a bar per stage on a terminal, a line per stage in a pipe."""

from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from copydesk.text import clean

if TYPE_CHECKING:
    from rich.progress import Progress

BAR_WIDTH = 30
"""Columns of a bar."""
NOTE_WIDTH = 32
"""Characters of the note after it."""
_LABEL_WIDTH = 7


class StageProgress:
    """Displays the progress of successive stages on `out`; nothing if `silent`."""

    def __init__(self, out: TextIO, *, silent: bool) -> None:
        self._out = out
        self._silent = silent
        self._bars = _create_bars(out) if not silent and out.isatty() else None
        self._stage: str | None = None
        self._count = ""

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stage is not None:
            self._finish(self._stage)
        if self._bars is not None:
            self._bars.stop()

    def show(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """Show that `done` of `total` steps of `stage` are finished; another stage than before finishes that one."""
        if self._silent:
            return
        if self._stage != stage:
            if self._stage is not None:
                self._finish(self._stage)
            self._stage = stage
            if self._bars is not None:
                self._bars.add_task(f"{stage:<{_LABEL_WIDTH}}", total=None, count="", note="")
        self._count = f"{done}" if total is None else f"{done}/{total}"
        if self._bars is not None:
            # A stage without steps is complete; rich would show it as empty.
            share = {"completed": 1, "total": 1} if total == 0 else {"completed": done, "total": total}
            note = clean(note)[:NOTE_WIDTH]
            self._bars.update(self._bars.task_ids[-1], **share, count=self._count, note=note)

    def _finish(self, stage: str) -> None:
        self._stage = None
        if self._bars is None:
            self._out.write(f"{stage:<{_LABEL_WIDTH}} {self._count}\n")
            self._out.flush()
        else:
            self._bars.update(self._bars.task_ids[-1], note="")


def _create_bars(out: TextIO) -> "Progress":
    from rich.console import Console  # noqa: PLC0415 - only long commands on a terminal need it
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415 - the same

    # Notes are names from feeds: without markup, square brackets in them are only brackets.
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(BAR_WIDTH),
        TextColumn("{task.fields[count]}", markup=False),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(file=out),
        redirect_stdout=False,
        redirect_stderr=False,
    )
