"""Hold keys typed ahead until the result of the previous key is available, then deliver them.

Without this a key goes to whatever has the focus when it arrives: one typed right after Enter would still go to the
dialog that is about to close, and be lost.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import Enum
from typing import Any, Protocol

from textual.events import Key, Paste
from textual.message import Message
from textual.message_pump import MessagePump
from textual.notifications import SeverityLevel
from textual.screen import Screen

from copydesk.text import clean
from copydesk.tui import labels
from copydesk.tui.keymap import textual_key_name
from copydesk.tui.keys import Key as KeyAction
from copydesk.tui.keys import KeyContext

MAX_HOLD = 2.0
"""Seconds after which an operation is slow: keys are no longer held for its result, or Escape cancels it."""
MAX_WRITE_HOLD = 0.5
"""The same for writes: a bulk write can take long, and must not block a user who moves on."""
TYPING_PAUSE = 0.5
"""Seconds without a key that end the text which is discarded: its last letters must not become commands."""
COMPOSE_KEY_ID = "console.compose"
"""The only global key that needs the desk: it is held until that is open."""
CANCEL_KEY_ID = "hold.leave"
"""The key that cancels what keys are held for, once that is slow."""
MAX_FINISH = 5.0
"""Seconds to wait for the next key to take effect after the page is closed; a busy machine may take long for many."""
_PUMP_TIMEOUT = 0.5
"""Seconds within which a widget must process its messages; one that is being removed may never do it."""
_QUIET_ROUNDS = 2
"""Consecutive rounds without a change: effects of a key's first round are processed in the second."""


KeyInput = Key | Paste
"""A paste counts as one key."""


def as_input(key: KeyInput) -> KeyInput:
    """Return a key that types a character which Python does not count as printable as a paste of that character.

    Textual's inputs ignore such a key: joiners (ZWJ, ZWNJ), no-break and ideographic spaces, emoji newer than Python.
    """
    character = key.character if isinstance(key, Key) else None
    is_ignored_text = character and not character.isprintable() and clean(character) == character
    return Paste(character) if character and is_ignored_text else key


class Hold(Enum):
    """The keys that wait for an operation, and their treatment if it fails."""

    RESULT = "result"
    """All but global keys, until the operation is slow; then they act on what is displayed."""
    DATA = "data"
    """All but global keys, until the data that they act on is loaded; discarded if it cannot be."""
    SCREEN = "screen"
    """All keys, until the screen that they are meant for has opened; discarded if it does not open."""
    FORM = "form"
    """All keys, until the form that was submitted has closed; discarded if it is refused, or slow: they may be text."""


class _Operation:
    """An unfinished operation for which keys may be held."""

    def __init__(self, hold: Hold, screens: tuple[Screen[Any], ...], cancel: Callable[[], object] | None) -> None:
        self.hold = hold
        self.screens = screens
        """The screen stack when it started."""
        self.cancel = cancel
        self.is_slow = False
        self.failed = False

    def has_failed(self, screens: list[Screen[Any]]) -> bool:
        """Return True if its keys have nothing to act on: nothing opened, closed or was loaded."""
        if self.hold is Hold.SCREEN:
            return screens[0] is not self.screens[0] or screens[-1] in self.screens
        if self.hold is Hold.FORM:
            return self.is_slow or self.screens[-1] in screens
        return self.hold is Hold.DATA and self.failed


class KeyBufferApp(Protocol):
    """The app whose keys are held."""

    keys: tuple[KeyAction, ...]
    has_first_page: bool

    @property
    def is_opening(self) -> bool: ...
    @property
    def screen(self) -> Screen[object]: ...
    @property
    def screen_stack(self) -> list[Screen[Any]]: ...
    def post_message(self, message: Message) -> bool: ...
    def call_later(self, callback: Callable[..., Any]) -> bool: ...
    def notify(self, message: str, *, severity: SeverityLevel = ...) -> None: ...


class TypeAhead:
    """Delivers the keys of a console one after the other."""

    def __init__(self, app: KeyBufferApp) -> None:
        self._app = app
        self._held: deque[KeyInput] = deque()
        self._released: list[KeyInput] = []
        """Keys posted again that have not arrived yet: the next one, and one that cancels what has become slow."""
        self._deliver_task: asyncio.Task[None] | None = None
        self._operations: set[_Operation] = set()
        """Unfinished operations for which keys may be held."""
        self._active_holds: set[_Operation] = set()
        """Those for which keys are still held."""
        self._ended: list[_Operation] = []
        """Those that ended since a key was delivered, and decide what becomes of the held ones."""
        self.holds_by_default = False
        self._changed = asyncio.Event()

    # Operations.

    @property
    def is_waiting(self) -> bool:
        """True if the next keys are meant for something that is still loading."""
        return bool(self._active_holds) or self._app.is_opening

    @contextmanager
    def hold_keys(
        self,
        hold: Hold = Hold.RESULT,
        timeout: float | None = None,
        *,
        cancel: Callable[[], object] | None = None,
    ) -> Iterator[None]:
        """Hold keys until the block has finished. After `timeout` seconds it is slow, and Escape calls `cancel`."""
        operation = _Operation(hold, tuple(self._app.screen_stack), cancel)
        self._operations.add(operation)
        self._active_holds.add(operation)
        seconds = MAX_HOLD if timeout is None else timeout
        timer = asyncio.get_running_loop().call_later(seconds, self._mark_slow, operation)
        try:
            yield
        except BaseException:
            operation.failed = True
            raise
        finally:
            timer.cancel()
            self._operations.discard(operation)
            if self._held and operation in self._active_holds:
                self._ended.append(operation)
            self._release_hold(operation)

    def _mark_slow(self, operation: _Operation) -> None:
        operation.is_slow = True
        if operation.hold is Hold.RESULT:
            self._release_hold(operation)
        elif cancel_key := next(filter(self._is_cancel, self._held), None):
            self._held.remove(cancel_key)
            if not self._cancel(self._slow_holds()):
                self._release(cancel_key)
        elif self._held:
            self._notify_kept()

    def _notify_kept(self) -> None:
        """Tell why a key has no effect yet."""
        if any(operation.hold is not Hold.FORM for operation in self._slow_holds()):
            self._app.notify(labels.keys_kept())

    def _release_hold(self, operation: _Operation) -> None:
        self._active_holds.discard(operation)
        self.wake()

    def start_hold(
        self,
        hold: Hold | None = Hold.RESULT,
        timeout: float | None = None,
        *,
        cancel: Callable[[], object] | None = None,
    ) -> ExitStack:
        """Start holding keys if requested, and return the exit stack that stops it."""
        exit_stack = ExitStack()
        if hold is not None or self.holds_by_default:
            exit_stack.enter_context(self.hold_keys(hold or Hold.RESULT, timeout, cancel=cancel))
        return exit_stack

    @contextmanager
    def hold_by_default(self) -> Iterator[None]:
        """Hold keys for every operation started in this block."""
        self.holds_by_default = True
        try:
            yield
        finally:
            self.holds_by_default = False

    @contextmanager
    def suspend_holds(self) -> Iterator[None]:
        """Release held keys while an operation shows a prompt itself: they are meant for the prompt."""
        suspended, self._active_holds = self._active_holds, set()
        self.wake()
        try:
            yield
        finally:
            # Operations that finished during the prompt stay out: nothing would release their keys again.
            self._active_holds |= suspended & self._operations

    def wake(self) -> None:
        """Wake up the waiting task: a condition may have changed."""
        self._changed.set()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            # No await between the check and this line, so no wake-up is lost.
            self._changed.clear()
            await self._changed.wait()

    # Keys.

    @property
    def is_busy(self) -> bool:
        """True while a key is held, or the effects of the last one are not known to be complete."""
        return self._deliver_task is not None

    def intercept(self, key: KeyInput) -> bool:
        """Return True if this key must wait; it is posted again later, and the keys after it wait behind it."""
        # By identity: two presses of the same key are equal.
        is_new = not any(key is released for released in self._released)
        if is_new and self._is_cancel(key) and (slow := self._slow_holds()):
            return self._cancel(slow)
        must_wait = is_new and not self._may_pass(key)
        if must_wait:
            self._held.append(key)
            self.wake()
            self._notify_kept()
        self._released = [released for released in self._released if released is not key]
        if self._deliver_task is None:
            self._deliver_task = asyncio.create_task(self._deliver())
        return must_wait

    def _release(self, key: KeyInput) -> None:
        """Post a held key again; `intercept` lets it pass."""
        self._released.append(key)
        self._app.post_message(key)

    def _slow_holds(self) -> list[_Operation]:
        # Without held keys there is nothing to cancel about data that is loading.
        return [
            operation
            for operation in self._active_holds
            if operation.is_slow and (self._held or operation.hold is not Hold.DATA)
        ]

    def _is_cancel(self, key: KeyInput) -> bool:
        return isinstance(key, Key) and any(
            action.id == CANCEL_KEY_ID and key.key in map(textual_key_name, action.keys.split(","))
            for action in self._app.keys
        )

    def _cancel(self, slow: list[_Operation]) -> bool:
        """Cancel what keys are held for, and discard them. Return False if Escape is for the open dialog."""
        cancelled = [operation for operation in slow if operation.hold is not Hold.FORM]
        for operation in cancelled:
            self._release_hold(operation)
            if operation.cancel is not None:
                operation.cancel()
        if cancelled:
            self._discard_held()
        return len(self._app.screen_stack) == 1

    def _discard_held(self) -> None:
        """Discard held keys, and tell the user the text: it was typed for something that did not open."""
        keys = [*self._held]
        self._held.clear()
        if keys:
            screen = self._app.screen
            # What was typed for a password field that never opened would otherwise be readable in the toast and the
            # log.
            may_be_secret = getattr(screen, "OPENS_CREDENTIAL_FORMS", False) or any(
                getattr(field, "password", False) for field in screen.query("Input")
            )
            text = "" if may_be_secret else _typed_text(keys)
            self._app.notify(labels.keys_discarded(text, len(keys)), severity="warning")

    async def finish(self) -> None:
        """Wait until the keys typed so far have taken effect, or none of them has for MAX_FINISH seconds."""
        received = asyncio.Event()
        # Keys that the app has not seen yet are in its queue before this callback.
        if self._app.call_later(received.set):
            with suppress(TimeoutError):
                await asyncio.wait_for(received.wait(), MAX_FINISH)
        while self._deliver_task is not None:
            held = len(self._held)
            await asyncio.wait({self._deliver_task}, timeout=MAX_FINISH)
            if len(self._held) == held:
                return

    def stop(self) -> None:
        """Discard held keys, because the console exits."""
        self._held.clear()
        if self._deliver_task is not None:
            self._deliver_task.cancel()

    def _may_pass(self, key: KeyInput) -> bool:
        # A key must not overtake those typed before it.
        if self._held or self._released:
            return False
        # Not even a global key passes: it is meant for the screen that opens, or the one below the form.
        if any(operation.hold in {Hold.SCREEN, Hold.FORM} for operation in self._active_holds):
            return False
        if self.is_waiting:
            return self._is_search_input(key) or self._is_global(key)
        return self._deliver_task is None

    def _is_search_input(self, key: KeyInput) -> bool:
        """Return True for text typed into a search field: loading results must not delay typing."""
        # Any letter stands for pasted text.
        name, letter = (key.key, key.character) if isinstance(key, Key) else ("a", "a")
        stack = self._app.screen_stack
        may_type = len(stack) == 1 or (stack and getattr(stack[-1], "TYPES_WHILE_LOADING", False))
        focused = stack[-1].focused if may_type else None
        return focused is not None and focused.check_consume_key(name, letter)

    def _is_ready(self) -> bool:
        return not self.is_waiting or bool(self._held and self._is_search_input(self._held[0]))

    def _is_global(self, key: KeyInput) -> bool:
        """Return True for a key that does the same in any state: switch screens, show help, quit."""
        if len(self._app.screen_stack) > 1 or isinstance(key, Paste):
            return False
        contexts = {*getattr(self._app.screen, "WHERE", ()), KeyContext.CONSOLE}
        actions = [
            action
            for action in self._app.keys
            if action.context in contexts and key.key in map(textual_key_name, action.keys.split(","))
        ]
        if self._app.is_opening and any(action.id == COMPOSE_KEY_ID for action in actions):
            return False
        # Moving through the rows of the first page needs no desk.
        moves = {KeyContext.LIST, KeyContext.PAGE} if self._app.has_first_page and self._app.is_opening else set()
        # A key that also acts on the list or page is not global: it depends on what is still loading.
        return bool(actions) and {action.context for action in actions} <= {KeyContext.CONSOLE, *moves}

    async def _deliver(self) -> None:
        try:
            while True:
                await self._wait_until_settled()
                await self._discard_if_failed()
                if not self._held:
                    return
                self._release(self._held.popleft())
                await _drain(self._app)
        finally:
            self._deliver_task = None

    async def _discard_if_failed(self) -> None:
        """Discard the keys that were held for operations which failed, and those that follow without a pause."""
        ended, self._ended = self._ended, []
        screens = self._app.screen_stack
        if screens and any(operation.has_failed(screens) for operation in ended):
            # More letters may arrive while the first ones are discarded; a half-typed word must not become commands.
            count = 0
            while count != len(self._held):
                count = len(self._held)
                await self._typing_pause()
            self._discard_held()

    async def _typing_pause(self) -> None:
        await asyncio.sleep(TYPING_PAUSE)

    async def _wait_until_settled(self) -> None:
        """Wait until the last key has taken effect and its result is available."""
        while True:
            # No time limit while the desk opens, or what the keys are meant for; for anything else, MAX_HOLD.
            await self._until(lambda: not self._keeps_keys or self._is_ready())
            with suppress(TimeoutError):
                async with asyncio.timeout(MAX_HOLD):
                    await self._wait_for_quiet()
            if not self._keeps_keys or self._is_ready():
                return

    @property
    def _keeps_keys(self) -> bool:
        return self._app.is_opening or any(operation.hold is not Hold.RESULT for operation in self._active_holds)

    async def _wait_for_quiet(self) -> None:
        # Textual has no event for "everything is handled". A focus that has stayed the same for two rounds is the
        # closest.
        quiet, previous = 0, self._focus_state()
        while quiet < _QUIET_ROUNDS:
            await self._until(self._is_ready)
            await self._process_messages()
            current = self._focus_state()
            quiet = quiet + 1 if current == previous and self._is_ready() else 0
            previous = current

    def _focus_state(self) -> tuple[object, object]:
        stack = self._app.screen_stack
        return (stack[-1], stack[-1].focused) if stack else (None, None)

    async def _process_messages(self) -> None:
        """Let every message pump from the focused widget up to the app process its queue."""
        screen, focused = self._focus_state()
        start = focused or screen
        if isinstance(start, MessagePump):
            # A key bubbles from the focused widget up to the app, so its effects are in these queues.
            for pump in getattr(start, "ancestors_with_self", ()):
                await _drain(pump)


def _typed_text(keys: list[KeyInput]) -> str:
    """Return the text of the keys, without those that type none."""
    texts = [
        key.text if isinstance(key, Paste) else (key.character or "") if key.is_printable else " "
        for key in keys
        if isinstance(key, Paste) or key.is_printable or key.key in {"enter", "tab"}
    ]
    return "".join(texts).strip()


async def _drain(pump: MessagePump | KeyBufferApp) -> None:
    """Wait until `pump` has processed its current messages."""
    processed = asyncio.Event()
    # A closing pump refuses the callback; there is nothing to wait for then.
    if pump.call_later(processed.set):
        with suppress(TimeoutError):
            async with asyncio.timeout(_PUMP_TIMEOUT):
                await processed.wait()
