"""Base class of the dialogs that open over a screen, ask for something and close again."""

from typing import TypeVar

from textual.screen import ModalScreen

Result = TypeVar("Result")


class Dialog(ModalScreen[Result], inherit_bindings=False):
    """A modal screen that closes itself only.

    Textual's `dismiss` pops whatever is on top of the stack, which may be another dialog that opened in between.
    """

    _result: tuple[Result | None] | None = None
    """The result of a `close` that waits until no other screen covers this one. A tuple, because the result may be
    None."""

    @property
    def is_waiting(self) -> bool:
        """Return True while the dialog takes no input, so that an unrequested prompt may open over it."""
        return False

    def close(self, result: Result | None = None) -> None:
        """Close with `result`, once the dialogs above this one are answered. Do nothing if it is closed already."""
        # Only the top screen can be dismissed; a covered one keeps its result until it is on top again.
        if self.is_active:
            self._result = None
            self.dismiss(result)
        elif self in self.app.screen_stack and self._result is None:
            self._result = (result,)

    def on_screen_resume(self) -> None:
        """Close now if `close` was called while another screen covered this one."""
        if self._result is not None:
            self.close(*self._result)
