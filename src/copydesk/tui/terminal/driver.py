"""Textual's terminal driver, extended for terminals of any width table and encoding, and for termination signals.

Its output keeps columns aligned even if the terminal draws a character with another width than counted.
"""

import asyncio
import os
import re
import select
import signal
from contextlib import suppress
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, cast

from rich.cells import cell_len
from textual.drivers.linux_driver import LinuxDriver

from copydesk.tui.terminal.cells import patch_rich_width_table, replace_unencodable, terminal_encoding

if TYPE_CHECKING:
    from io import TextIOWrapper


class _ShutDownApp(Protocol):
    def shut_down(self, code: int) -> None: ...


_COMMON_TEXT = re.compile("[\x00-\u02ff\u2010-\u2027\u2500-\u25fc]*")
"""Latin text and box drawing, of which most screens consist: a cheap check before the expensive one."""
_OUTPUT_TOKEN = re.compile(
    r"\x1b\[(?P<row>\d+);(?P<column>\d+)H"
    r"|(?P<escape>\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?)"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f]+)"
    r"|(?P<text>[^\x00-\x1f]+)"
)


@cache
def _ambiguous_pattern() -> re.Pattern[str]:
    """Return the pattern of characters that some terminal draws with another width, alone or with their neighbours."""
    # All but: Latin, Greek and Cyrillic; quotes, dashes, currencies, arrows, signs, box drawing; full-width scripts of
    # China, Japan and Korea. Compiled on first use: that takes three milliseconds, too long before the first paint.
    return re.compile(
        "[^\x00-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1eff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u2319\u231c-"
        "\u23e8\u2500-\u25fc\u2713\u2717\u2800-\u28ff\u3000-\u3029\u3030-\u3098\u309b-\u30ff\u3400-\u4dbf\u4e00-\ua48c"
        "\uac00-\ud7a3\uff01-\uff60]"
    )


def _is_ambiguous(text: str) -> bool:
    return not _COMMON_TEXT.fullmatch(text) and _ambiguous_pattern().search(text) is not None


def correct_widths(data: str) -> str:
    """Return `data` with the cursor repositioned after every word of uncertain width.

    The word's cells are erased first: if it is drawn narrower, no old content remains in the gap.
    """
    if not _is_ambiguous(data):
        return data
    output = []
    column: int | None = None
    for token in _OUTPUT_TOKEN.finditer(data):
        text = token[0]
        if token["column"]:
            # Escape sequences count columns from 1.
            column = int(token["column"]) - 1
        # A control character such as a newline moves the cursor: its column is unknown until the next positioning.
        elif token["control"]:
            column = None
        elif token["text"] and column is not None:
            text, column = _corrected(text, column)
        output.append(text)
    return "".join(output)


def _corrected(text: str, column: int) -> tuple[str, int]:
    """Return the corrected text, and the column after it."""
    if not _is_ambiguous(text):
        return text, column + cell_len(text)
    parts = []
    for word in text.split(" "):
        width = cell_len(word)
        column += width
        # ECH erases `width` cells; CHA then moves the cursor to the expected column (counted from 1).
        parts.append(f"\x1b[{width}X{word}\x1b[{column + 1}G" if width and _is_ambiguous(word) else word)
        # The space that `split` removed.
        column += 1
    return " ".join(parts), column - 1


def remove_line_feeds(frame: str) -> str:
    """Return a frame without the line feeds between its rows; each row has its own position anyway.

    A frame that was laid out before the terminal became smaller would scroll it.
    """
    return frame.replace("\n", "")


TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Sent when the console is stopped from outside, or its terminal is closed."""
UTF_8 = "utf-8"
_STDOUT = 1


class TerminalDriver(LinuxDriver):
    """Writes output that fits the terminal; on a termination signal, exits the console in order, without data loss."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        patch_rich_width_table()
        self._encoding = terminal_encoding(os.environ)
        self._watches_hangup = False
        self._is_suspended = False
        # stdout instead of Textual's stderr, which may be redirected to a file.
        self._file = cast("TextIOWrapper", TerminalFile(_STDOUT, self._encoding))

    def write(self, data: str) -> None:
        """Queue `data` for the terminal, unless another program owns it; the resumed console draws everything again."""
        # Nothing empties the queue meanwhile: once it is full, the loop would wait for ever.
        if self._is_suspended:
            return
        output = correct_widths(remove_line_feeds(data))
        super().write(output if self._encoding == UTF_8 else replace_unencodable(output, self._encoding))

    def suspend_application_mode(self) -> None:
        """Leave the terminal to another program."""
        super().suspend_application_mode()
        self._is_suspended = True

    def resume_application_mode(self) -> None:
        """Take over the terminal again."""
        self._is_suspended = False
        super().resume_application_mode()

    def start_application_mode(self) -> None:
        """Take over the terminal and handle termination signals."""
        super().start_application_mode()  # type: ignore[no-untyped-call]  # untyped in Textual
        loop = asyncio.get_running_loop()
        # Textual restores the terminal on none of them, and text that was typed in the last second would not be saved.
        for signal_number in TERMINATION_SIGNALS:
            # On the loop: a plain handler would run in the middle of whatever code is active.
            loop.add_signal_handler(signal_number, cast("_ShutDownApp", self._app).shut_down, 128 + signal_number)
        # Application mode starts again after each suspend and each external editor; one thread is enough.
        if not self._watches_hangup:
            self._watches_hangup = True
            Thread(target=self._watch_hangup, args=(loop,), name="copydesk-hangup", daemon=True).start()

    def _watch_hangup(self, loop: asyncio.AbstractEventLoop) -> None:
        """Exit the console when its terminal is gone.

        SIGHUP only reaches processes that the terminal controls. Without it Textual would read the end of the input
        for ever, as fast as it can.
        """
        # No event is asked for: POLLHUP is reported in any case, and the thread wakes up for nothing else.
        hangup = select.poll()
        hangup.register(self.fileno, 0)
        hangup.poll()
        with suppress(RuntimeError):  # the loop is closed already
            loop.call_soon_threadsafe(cast("_ShutDownApp", self._app).shut_down, 128 + signal.SIGHUP)

    def _sigcont_application(self, *_: object) -> None:
        """Take over again only after a suspend: closing the terminal also sends SIGCONT to a running process."""
        if self._must_signal_resume:
            super()._sigcont_application()


class TerminalFile:
    """The terminal as a file that accepts any text, even after the terminal was closed."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        self._descriptor = descriptor
        self._encoding = encoding

    def write(self, text: str) -> int:
        """Write the text immediately; return the number of characters."""
        rest = text.encode(self._encoding, "replace")
        try:
            while rest:
                rest = rest[self._write_some(rest) :]
        except OSError:  # the terminal was closed; SIGHUP follows
            return 0
        return len(text)

    def _write_some(self, rest: bytes) -> int:
        """Write part of `rest` and return the number of bytes.

        If the terminal is non-blocking and full, wait until it accepts output again and return 0.
        """
        try:
            return os.write(self._descriptor, rest)
        except BlockingIOError:
            # Non-blocking mode belongs to the open terminal, so another program that shares it may have set it.
            select.select((), (self._descriptor,), ())
            return 0

    def flush(self) -> None:
        """Do nothing: output is not buffered."""

    def fileno(self) -> int:
        return self._descriptor
