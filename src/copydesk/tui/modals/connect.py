"""Connecting an account: which platform, and the way through the browser."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static
from textual.worker import Worker

from copydesk.errors import CopydeskError
from copydesk.text import clean
from copydesk.tui.browser import is_link, open_link
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import Where, bindings
from copydesk.tui.modals.fields import Field
from copydesk.tui.modals.over import Over
from copydesk.tui.naming import key
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.said_keys import SaidKeys
from copydesk.tui.widgets.setup_lists import Names

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.accounts import WayIn

SERVER = "url"
LONGEST = 4000
"""Characters of an answer: tokens are long."""


class PlatformScreen(Over[str | None], inherit_bindings=False):
    """Lets a platform be chosen."""

    CSS_PATH = sheet("over.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.LIST, Where.PICK)
    BINDINGS: ClassVar = bindings(Where.PICK)

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._names = names

    def compose(self) -> ComposeResult:
        """One list."""
        yield Names(id="over")

    def on_mount(self) -> None:
        """Show them."""
        names = self.query_one(Names)
        names.set_title(f"Connect an account of … · {key('list.open')} takes it · {key('pick.leave')} leaves")
        names.show(self._names)

    def on_line_list_opened(self) -> None:
        """That one."""
        self.action_take()

    def action_take(self) -> None:
        """The one that the cursor is on."""
        self.close(self.query_one(Names).current)

    def action_leave(self) -> None:
        """None of them."""
        self.close(None)


def fields_of(way: "WayIn") -> list[Field]:
    """What a platform asks for, as lines to fill in."""
    shown = way.server or "https://…"
    server = Field(SERVER, "server", shown, longest=LONGEST)
    asked = [
        Field(each.name, each.name.replace("_", " "), _shown(each), longest=LONGEST, secret=each.secret)
        for each in way.wants
    ]
    # Where the user has to say where it is, that comes first.
    return [*asked, server] if way.server else [server, *asked]


class _Asked(Protocol):
    """What a platform asks for."""

    @property
    def question(self) -> str: ...

    @property
    def optional(self) -> bool: ...


def _shown(asked: _Asked) -> str:
    return f"{asked.question} (may stay empty)" if asked.optional else asked.question


class SignInScreen(Over[str | None], inherit_bindings=False):
    """Waits for the browser to come back; the account's name, or None."""

    CSS_PATH = sheet("fields.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.SIGN_IN,)
    BINDINGS = bindings(Where.SIGN_IN)

    app = getters.app(DeskApp)

    class Shown(Message, bubble=False):
        """There is a page to say yes on."""

        def __init__(self, page: str, *, opened: bool) -> None:
            super().__init__()
            self.page = page
            self.opened = opened

    class Ended(Message, bubble=False):
        """The account is connected, or it is not."""

        def __init__(self, label: str = "", error: CopydeskError | None = None) -> None:
            super().__init__()
            self.label = label
            self.error = error

    def __init__(self, way: "WayIn", given: Mapping[str, str], server: str) -> None:
        super().__init__()
        self._way = way
        self._given = given
        self._server = server
        self._pasted: asyncio.Future[str] | None = None
        self._going: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        """Where to go, and a line for what is pasted."""
        with Vertical(id="sign-in"):
            yield Static(Content(f"Connect an account of {clean(self._way.platform)}"), classes="-title")
            yield Static(Content("Asking the server for the page …"), id="page")
            yield Input(placeholder="or paste here the address that the browser ended at", id="pasted")
            yield Static(Content(""), id="wrong")
            yield SaidKeys("sign_in", {"leave": "leaves it"}, classes="-hint")

    @property
    def idle(self) -> bool:
        """What is waited for may itself need the keys to the accounts."""
        return self._going is not None and not self._going.is_finished

    def on_mount(self) -> None:
        """Begin."""
        self._begin()

    def _begin(self) -> None:
        desk = self.app.desk
        if desk is not None:
            self._pasted = asyncio.get_running_loop().create_future()
            self._going = self.run_worker(self._go(desk), exit_on_error=False)

    async def _go(self, desk: "Desk") -> None:
        from copydesk.desk import signing_in  # noqa: PLC0415 - with it comes the network

        assert self._pasted is not None
        pasted = self._pasted

        async def paste() -> str:
            return await pasted

        by = (desk.accounts, self._way, self._given, self._server, self._show)
        try:
            try:
                kept = await signing_in.through_browser(*by, paste)
            except signing_in.NobodyListensError:
                kept = await signing_in.by_hand(*by, paste)
        except CopydeskError as error:
            self.post_message(self.Ended(error=error))
        else:
            self.post_message(self.Ended(kept.label))

    async def _show(self, page: str) -> None:
        opened = is_link(page) and await open_link(self.app, page)
        self.post_message(self.Shown(page, opened=opened))

    @on(Shown)
    def _say_page(self, message: Shown) -> None:
        how = "Say yes in your browser. If none opened, open this page in one:"
        if not message.opened:
            how = "There is no browser here. Open this page in one, say yes, and paste where it ended:"
        self.query_one("#page", Static).update(Content(f"{how}\n\n{clean(message.page)}"))

    @on(Input.Submitted)
    def _take(self, event: Input.Submitted) -> None:
        """What was pasted; after a failure Enter begins anew."""
        if self._going is None or self._going.is_finished:
            self.query_one("#wrong", Static).update(Content(""))
            event.input.value = ""
            self._begin()
        elif self._pasted is not None and not self._pasted.done() and event.value.strip():
            self._pasted.set_result(event.value)

    @on(Ended)
    def _end(self, message: Ended) -> None:
        if message.error is None:
            self.close(message.label)
        else:
            self.query_one("#wrong", Static).update(Content(f"{clean(str(message.error))} Enter begins anew."))

    def action_leave(self) -> None:
        """Wait no longer."""
        if self._going is not None:
            self._going.cancel()
        self.close(None)
