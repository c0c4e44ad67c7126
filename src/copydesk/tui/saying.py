"""What the console says: in toasts, in the log, and in how many problems nobody has looked at yet."""

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from textual.app import App
from textual.notifications import Notification, Notify, SeverityLevel
from textual.reactive import var

from copydesk.errors import CopydeskError

LOGGED = 200
"""So much of what was said is kept for the log."""


class Told(NamedTuple):
    """What was said in a toast, or would have been in the way as one."""

    at: datetime
    severity: SeverityLevel
    text: str


class SayingApp(App[int], inherit_bindings=False):
    """An app that remembers what it said."""

    problems = var(0)
    """What went wrong since the log was last looked at."""

    def __init__(self, clock: Callable[[], datetime] | None = None, advice: Callable[[str], str] = str) -> None:
        super().__init__()
        self.advice = advice
        """Names the commands in a text as they are called for this desk, so that what is pasted is done to it."""
        self.clock = clock or _utc_now
        self.log_of_toasts: deque[Told] = deque(maxlen=LOGGED)
        self._last_said: Notification | None = None
        self._coming: set[tuple[str, SeverityLevel]] = set()

    def read_log(self) -> tuple[Told, ...]:
        """All that was said; from now on nothing of it is news, and no toast lies over it."""
        self.problems = 0
        self.clear_notifications()
        return tuple(self.log_of_toasts)

    def note(self, problem: str) -> None:
        """Put into the log what the screen says already, or what can wait until somebody looks."""
        self._remember("error", self.advice(problem))

    def complain(self, error: CopydeskError) -> None:
        """Say in one line what went wrong and what to do."""
        self.notify(str(error), severity="error")

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """A toast. What it says may come from outside: it is cleaned, and never read as markup.

        While one stays that says the same, it is said once, and counted once.
        """
        from copydesk.text import clean  # noqa: PLC0415 - what the first paint does not need waits

        message = self.advice(message)
        said = clean(message)
        if not self._is_said(said, severity):
            self._remember(severity, message)
            super().notify(said, title=clean(title), severity=severity, timeout=timeout, markup=False)
            # A toast is there only when its message has arrived.
            self._coming.add((said, severity))
            self.call_later(self._has_come, (said, severity))

    def _has_come(self, toast: tuple[str, SeverityLevel]) -> None:
        self._coming.discard(toast)

    def _is_said(self, said: str, severity: SeverityLevel) -> bool:
        shown = {(each.message, each.severity) for each in self._notifications}
        return (said, severity) in self._coming | shown

    def say(self, message: str) -> None:
        """A toast in the place of the last one that was said so: of many in a row only the last counts."""
        from copydesk.text import clean  # noqa: PLC0415 - as above

        if self._last_said is not None:
            self._unnotify(self._last_said, refresh=False)
        self._last_said = Notification(clean(message), timeout=self.NOTIFICATION_TIMEOUT, markup=False)
        self.post_message(Notify(self._last_said))

    def _remember(self, severity: SeverityLevel, text: str) -> None:
        """Keep it for the log; what is said over and over is one piece of news."""
        if self.problems and self.log_of_toasts[-1][1:] == (severity, text):
            return
        self.log_of_toasts.append(Told(self.clock(), severity, text))
        self.problems += severity == "error"


def _utc_now() -> datetime:
    return datetime.now(UTC)
