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
from copydesk.tui.keys import replace_commands_with_keys

MAX_LOG_ENTRIES = 200
"""Entries kept in the log."""


SMALL_SCREEN, SHORT_TIMEOUT = (100, 30), 4.0
"""Columns and rows below which a toast covers what the user reads, and seconds after which it then disappears."""

TOAST_ID_PREFIX = "--textual-toast-"
"""What precedes a notification's identity in the id of its toast's container."""


class LogEntry(NamedTuple):
    """A message shown as a toast, or written only to the log."""

    at: datetime
    severity: SeverityLevel
    text: str


class NotifyingApp(App[int], inherit_bindings=False):
    """An app that logs its notifications."""

    problems = var(0)
    """Errors since the log was last opened."""

    def __init__(
        self, clock: Callable[[], datetime] | None = None, qualify_commands: Callable[[str], str] = str
    ) -> None:
        super().__init__()
        self.qualify_commands = qualify_commands
        """Rewrites commands mentioned in a text so that they address this desk when pasted into a shell."""
        self.clock = clock or _utc_now
        self.notification_log: deque[LogEntry] = deque(maxlen=MAX_LOG_ENTRIES)
        self._last_toast: Notification | None = None
        self._pending_toasts: set[tuple[str, SeverityLevel]] = set()

    def read_log(self) -> tuple[LogEntry, ...]:
        """Return all log entries, mark them as seen and dismiss the toasts that would cover the log."""
        self.problems = 0
        self.clear_notifications()
        return tuple(self.notification_log)

    def log_problem(self, message: str) -> None:
        """Log a problem without a toast: the screen shows it already, or it can wait."""
        self._append_to_log("error", self.name_keys(message))

    def log_details(self, message: str) -> None:
        """Write to the log what is too long for a toast."""
        self._append_to_log("information", self.name_keys(message))

    def name_keys(self, message: str) -> str:
        """Return `message` with keys in place of commands; commands without a key name the desk."""
        return self.qualify_commands(replace_commands_with_keys(message))

    def notify_error(self, error: CopydeskError) -> None:
        """Notify about an error in one line, with its hint."""
        self.notify(str(error), severity="warning" if is_refusal(error) else "error")

    def clear_notifications(self) -> None:
        """Dismiss all toasts at once."""
        super().clear_notifications()
        self.remove_stale_toasts()

    def remove_stale_toasts(self) -> None:
        """Remove what Textual leaves of toasts that were replaced, dismissed, or expired below a dialog.

        It removes the toast, but not the container around it, which is a line high.
        """
        # Without a screen the console exits.
        if not self.screen_stack:
            return
        displayed = {f"{TOAST_ID_PREFIX}{toast.identity}" for toast in self._notifications}
        for holder in self.screen.query("ToastHolder"):
            if holder.id not in displayed:
                holder.remove()

    def dismiss_toasts(self) -> None:
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
        qualified: bool = False,
    ) -> None:
        """Show a toast and log it. The text may be untrusted: it is cleaned and never parsed as markup.

        A text that is still on screen is neither shown nor counted again. With `qualified`, commands in the text are
        complete already.
        """
        from copydesk.text import clean  # noqa: PLC0415 - not needed for the first paint

        if not qualified:
            message = self.name_keys(message)
        text = clean(message)
        if timeout is None and severity == "information":
            # Errors and warnings stay as long as Textual's default, however small the screen is: they must be readable.
            timeout = self._info_timeout
        if not self._is_displayed(text, severity):
            self._append_to_log(severity, message)
            super().notify(text, title=clean(title), severity=severity, timeout=timeout, markup=False)
            # The toast exists only once its message was processed: remember it until then.
            self._pending_toasts.add((text, severity))
            self.call_later(self._on_toast_displayed, (text, severity))

    def switch_mode(self, mode: str) -> AwaitMount:
        """Switch to another screen, without toasts of the previous one."""
        self.dismiss_toasts()
        return super().switch_mode(mode)

    def push_screen(self, *args: Any, **kwargs: Any) -> Any:
        """Push a screen, without toasts over it."""
        self.dismiss_toasts()
        return super().push_screen(*args, **kwargs)

    def _on_toast_displayed(self, toast: tuple[str, SeverityLevel]) -> None:
        self._pending_toasts.discard(toast)

    def _is_displayed(self, text: str, severity: SeverityLevel) -> bool:
        displayed = {(toast.message, toast.severity) for toast in self._notifications}
        return (text, severity) in self._pending_toasts | displayed

    def notify_latest(self, message: str) -> None:
        """Show a toast that replaces the previous one of this kind: of many in a row only the last matters."""
        from copydesk.text import clean  # noqa: PLC0415 - as above

        if self._last_toast is not None:
            # Without a refresh: the new toast causes one right away.
            self._unnotify(self._last_toast, refresh=False)
            self.remove_stale_toasts()
        self._last_toast = Notification(clean(message), timeout=self._info_timeout, markup=False)
        self.post_message(Notify(self._last_toast))

    @property
    def _info_timeout(self) -> float:
        """Seconds that an informational toast stays."""
        small = self.size.width < SMALL_SCREEN[0] or self.size.height < SMALL_SCREEN[1]
        return SHORT_TIMEOUT if small else self.NOTIFICATION_TIMEOUT

    def _append_to_log(self, severity: SeverityLevel, text: str) -> None:
        """Append to the log; a repetition of the last entry is not logged again."""
        # Only while unread: after the log was opened, the same error is news again.
        if self.problems and self.notification_log[-1][1:] == (severity, text):
            return
        self.notification_log.append(LogEntry(self.clock(), severity, text))
        # Only errors ask for attention.
        self.problems += severity == "error"


def is_refusal(error: Exception) -> bool:
    """Return True if the error is a regular answer to a user's request, and not a problem to look into."""
    return isinstance(error, ConflictError | InvalidError | NotFoundError)


def _utc_now() -> datetime:
    return datetime.now(UTC)
