"""Notifications of the console: toasts, the log, and the number of problems not looked at yet."""

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from textual.app import App
from textual.notifications import Notification, Notify, SeverityLevel
from textual.reactive import var
from textual.widget import AwaitMount

from copydesk.errors import ConflictError, CopydeskError, InvalidError, NotFoundError
from copydesk.tui.naming import in_keys

LOGGED = 200
"""Entries kept in the log."""


SMALL, BRIEFLY = (100, 30), 4.0
"""Columns and rows below which a toast covers what the user reads, and seconds after which it then disappears."""


class Told(NamedTuple):
    """A message shown as a toast, or written only to the log."""

    at: datetime
    severity: SeverityLevel
    text: str


class SayingApp(App[int], inherit_bindings=False):
    """An app that logs its notifications."""

    problems = var(0)
    """Errors since the log was last opened."""

    def __init__(self, clock: Callable[[], datetime] | None = None, advice: Callable[[str], str] = str) -> None:
        super().__init__()
        self.advice = advice
        """Rewrites commands mentioned in a text so that they address this desk when pasted into a shell."""
        self.clock = clock or _utc_now
        self.log_of_toasts: deque[Told] = deque(maxlen=LOGGED)
        self._last_toast: Notification | None = None
        self._pending_toasts: set[tuple[str, SeverityLevel]] = set()

    def read_log(self) -> tuple[Told, ...]:
        """Return all log entries, mark them as seen and dismiss the toasts that would cover the log."""
        self.problems = 0
        self.clear_notifications()
        return tuple(self.log_of_toasts)

    def note(self, problem: str) -> None:
        """Log a problem without a toast: the screen shows it already, or it can wait."""
        self._append_to_log("error", self.advice(problem))

    def complain(self, error: CopydeskError) -> None:
        """Notify about an error in one line, with its hint."""
        self.notify(str(error), severity="warning" if is_refusal(error) else "error")

    def make_way(self) -> None:
        """Dismiss all toasts, because another screen is shown. Their text is in the log."""
        if self._notifications:
            self.clear_notifications()

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a toast and log it. The text may be untrusted: it is cleaned and never parsed as markup.

        A text that is still on screen is neither shown nor counted again.
        """
        from copydesk.text import clean  # noqa: PLC0415 - not needed for the first paint

        message = self.advice(in_keys(message))
        text = clean(message)
        if timeout is None and severity == "information":
            timeout = self._info_timeout
        if not self._is_displayed(text, severity):
            self._append_to_log(severity, message)
            super().notify(text, title=clean(title), severity=severity, timeout=timeout, markup=False)
            # The toast exists only once its message was processed: remember it until then.
            self._pending_toasts.add((text, severity))
            self.call_later(self._on_toast_displayed, (text, severity))

    def switch_mode(self, mode: str) -> AwaitMount:
        """Switch to another screen, without toasts of the previous one."""
        self.make_way()
        return super().switch_mode(mode)

    def push_screen(self, *args: Any, **kwargs: Any) -> Any:
        """Push a screen, without toasts over it."""
        self.make_way()
        return super().push_screen(*args, **kwargs)

    def _on_toast_displayed(self, toast: tuple[str, SeverityLevel]) -> None:
        self._pending_toasts.discard(toast)

    def _is_displayed(self, text: str, severity: SeverityLevel) -> bool:
        displayed = {(toast.message, toast.severity) for toast in self._notifications}
        return (text, severity) in self._pending_toasts | displayed

    def say(self, message: str) -> None:
        """Show a toast that replaces the previous one of this kind: of many in a row only the last matters."""
        from copydesk.text import clean  # noqa: PLC0415 - as above

        if self._last_toast is not None:
            self._unnotify(self._last_toast, refresh=False)
        self._last_toast = Notification(clean(message), timeout=self._info_timeout, markup=False)
        self.post_message(Notify(self._last_toast))

    @property
    def _info_timeout(self) -> float:
        """Seconds that an informational toast stays."""
        small = self.size.width < SMALL[0] or self.size.height < SMALL[1]
        return BRIEFLY if small else self.NOTIFICATION_TIMEOUT

    def _append_to_log(self, severity: SeverityLevel, text: str) -> None:
        """Append to the log; a repetition of the last entry is not logged again."""
        # Only while unread: after the log was opened, the same error is news again.
        if self.problems and self.log_of_toasts[-1][1:] == (severity, text):
            return
        self.log_of_toasts.append(Told(self.clock(), severity, text))
        self.problems += severity == "error"


def is_refusal(error: Exception) -> bool:
    """Return True if the error is a regular answer to a user's request, and not a problem to look into."""
    return isinstance(error, ConflictError | InvalidError | NotFoundError)


def _utc_now() -> datetime:
    return datetime.now(UTC)
