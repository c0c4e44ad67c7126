"""What lies over a screen, asks something, and goes away again."""

from typing import TypeVar

from textual.screen import ModalScreen

Result = TypeVar("Result")


class Over(ModalScreen[Result], inherit_bindings=False):
    """Closes itself and nothing else: Textual's `dismiss` takes away whatever is on top, be it another screen."""

    _result: tuple[Result | None] | None = None
    """What it closes with as soon as nothing lies over it."""

    @property
    def idle(self) -> bool:
        """Whether nothing is typed or answered here for now, so that a question that nobody asked for may come."""
        return False

    def close(self, result: Result | None = None) -> None:
        """Close it with this. What lies over it is answered first; one that is closed already stays as it was."""
        if self.is_active:
            self._result = None
            self.dismiss(result)
        elif self in self.app.screen_stack and self._result is None:
            self._result = (result,)

    def on_screen_resume(self) -> None:
        """Nothing lies over it any more."""
        if self._result is not None:
            self.close(*self._result)
