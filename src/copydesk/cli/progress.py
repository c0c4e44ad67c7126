"""Progress of a run: a bar per stage on a terminal, a line per stage in a pipe."""

import os
from types import TracebackType
from typing import Self, TextIO
from unicodedata import east_asian_width

from copydesk.model.run import Progress, Stage
from copydesk.text import clean

BAR_WIDTH = 30
"""Characters of a bar."""
NOTE_WIDTH = 32
"""Characters of the note after it."""


class ProgressBars:
    """Prints the progress of one run to `out`; nothing if `silent`."""

    def __init__(self, out: TextIO, *, silent: bool) -> None:
        self._out = out
        self._silent = silent
        self._bar = not silent and out.isatty()
        self._last: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._last is not None:
            self._finish(self._last)

    def show(self, progress: Progress) -> None:
        """Show the given progress; a new stage starts a new line."""
        if self._silent:
            return
        # Complete the bar of the previous stage before it is replaced.
        if self._last is not None and self._last.stage is not progress.stage:
            self._finish(self._last)
        self._last = progress
        if self._bar:
            self._out.write(f"\r\x1b[K{self._truncate(_bar(progress))}")
            self._out.flush()

    def _finish(self, progress: Progress) -> None:
        if self._bar:
            self._out.write(f"\r\x1b[K{self._truncate(_bar(progress))}\n")
        else:
            self._out.write(f"{_stage_label(progress.stage)} {_format_count(progress)}\n")
        self._out.flush()
        self._last = None

    def _truncate(self, line: str) -> str:
        """Cut `line` to the terminal's width: a wrapped line would not be overwritten by the next one."""
        remaining = os.get_terminal_size(self._out.fileno()).columns or 80
        for index, char in enumerate(line):
            # Source names may be Chinese or Japanese: such characters take two columns.
            remaining -= 2 if east_asian_width(char) in "WF" else 1
            if remaining < 1:
                return line[:index]
        return line


def _stage_label(stage: Stage) -> str:
    return f"{stage.value:<7}"


def _format_count(progress: Progress) -> str:
    return f"{progress.done}" if progress.total is None else f"{progress.done}/{progress.total}"


def _bar(progress: Progress) -> str:
    share = progress.done / progress.total if progress.total else float(progress.total == 0)
    full = round(BAR_WIDTH * min(share, 1))
    note = clean(progress.note)[:NOTE_WIDTH]
    return f"{_stage_label(progress.stage)} {'━' * full}{'╌' * (BAR_WIDTH - full)} {_format_count(progress)} {note}".rstrip()
