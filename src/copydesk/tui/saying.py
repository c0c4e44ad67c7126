"""What the console says: in toasts, in the log, and in how many problems nobody has looked at yet."""

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
"""So much of what was said is kept for the log."""


SMALL, BRIEFLY = (100, 30), 4.0
"""On screens below so many columns or rows, a toast lies over what is read: it goes after so many seconds."""


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
        self.notify(str(error), severity="warning" if is_refusal(error) else "error")

    def make_way(self) -> None:
        """Take the toasts away: something else is on the screen now. What they said is in the log."""
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
        """A toast. What it says may come from outside: it is cleaned, and never read as markup.

        While one stays that says the same, it is said once, and counted once.
        """
        from copydesk.text import clean  # noqa: PLC0415 - what the first paint does not need waits

        message = self.advice(in_keys(message))
        said = clean(message)
        if timeout is None and severity == "information":
            timeout = self._read_within
        if not self._is_said(said, severity):
            self._remember(severity, message)
            super().notify(said, title=clean(title), severity=severity, timeout=timeout, markup=False)
            # A toast is there only when its message has arrived.
            self._coming.add((said, severity))
            self.call_later(self._has_come, (said, severity))

    def switch_mode(self, mode: str) -> AwaitMount:
        """Another screen, with no toast of the last one over it."""
        self.make_way()
        return super().switch_mode(mode)

    def push_screen(self, *args: Any, **named: Any) -> Any:
        """As Textual's own, with no toast over what comes."""
        self.make_way()
        return super().push_screen(*args, **named)

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
        self._last_said = Notification(clean(message), timeout=self._read_within, markup=False)
        self.post_message(Notify(self._last_said))

    @property
    def _read_within(self) -> float:
        """Seconds that a toast stays that is no warning."""
        small = self.size.width < SMALL[0] or self.size.height < SMALL[1]
        return BRIEFLY if small else self.NOTIFICATION_TIMEOUT

    def _remember(self, severity: SeverityLevel, text: str) -> None:
        """Keep it for the log; what is said over and over is one piece of news."""
        if self.problems and self.log_of_toasts[-1][1:] == (severity, text):
            return
        self.log_of_toasts.append(Told(self.clock(), severity, text))
        self.problems += severity == "error"


def is_refusal(error: Exception) -> bool:
    """Whether it is the answer to what a user asked for, and nothing is wrong: that is no problem to be looked at."""
    return isinstance(error, ConflictError | InvalidError | NotFoundError)


def _utc_now() -> datetime:
    return datetime.now(UTC)
