"""Dialogs that connect an account: choosing the platform, and signing in through the browser."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static
from textual.worker import Worker

from copydesk.errors import CopydeskError
from copydesk.text import clean
from copydesk.tui import labels
from copydesk.tui.browser import is_link, open_link
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.dialogs.fields import Field
from copydesk.tui.dialogs.pick import PickDialog
from copydesk.tui.keys import KeyContext, bindings
from copydesk.tui.terminal.cells import fit, safe_line
from copydesk.tui.themes import stylesheet_path

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.accounts.service import ConnectMethod

SERVER_FIELD = "url"
MAX_FIELD_LENGTH = 4000
"""Characters of a field. Access tokens may be this long."""


class NameDialog(PickDialog[str]):
    """Choose the name of a platform or account."""

    def draw(self, choice: str, width: int) -> Content:
        return Content(fit(safe_line(self.text_of(choice)), width))

    def text_of(self, choice: str) -> str:
        return labels.platform_name(choice)


def credential_fields(login: "ConnectMethod", account_server: str = "") -> list[Field]:
    """Return the form fields for the platform's credentials and server, which is that of the account that signs in."""
    default_server = login.default_server or "https://…"
    # Where there is a default server, the account may be served by another one than the user signs in to.
    value = "" if login.default_server else account_server
    required = not login.default_server
    server = Field(SERVER_FIELD, "server", default_server, max_length=MAX_FIELD_LENGTH, value=value, required=required)
    credentials = [
        Field(
            credential.name,
            credential.name.replace("_", " "),
            _placeholder(credential),
            short_placeholder=labels.OPTIONAL if credential.optional else "",
            max_length=MAX_FIELD_LENGTH,
            secret=credential.secret,
            required=not credential.optional,
        )
        for credential in login.credential_fields
    ]
    # Where there is no default server, the user cannot fill in anything before the address: ask for it first.
    return [*credentials, server] if login.default_server else [server, *credentials]


class _CredentialPrompt(Protocol):
    """The part of a credential field that its placeholder shows."""

    @property
    def question(self) -> str: ...

    @property
    def optional(self) -> bool: ...


def _placeholder(credential: _CredentialPrompt) -> str:
    return labels.credential_placeholder(credential.question, optional=credential.optional)


class SignInDialog(Dialog[str | None], inherit_bindings=False):
    """Wait for the browser's redirect; return the account's label, or None if the dialog is left."""

    CSS_PATH = stylesheet_path("fields.tcss")
    WHERE = (KeyContext.SIGN_IN,)
    BINDINGS = bindings(KeyContext.SIGN_IN)

    app = getters.app(DeskApp)

    class PageReady(Message, bubble=False):
        """The authorization page is known; `opened` is True if a browser could be opened on it."""

        def __init__(self, page: str, *, opened: bool) -> None:
            super().__init__()
            self.page = page
            self.opened = opened

    class Finished(Message, bubble=False):
        """Signing in has ended: connected as `label`, or failed with `error`."""

        def __init__(self, label: str = "", error: CopydeskError | None = None) -> None:
            super().__init__()
            self.label = label
            self.error = error

    def __init__(self, login: "ConnectMethod", credentials: Mapping[str, str], server: str) -> None:
        super().__init__()
        self._login = login
        self._credentials = credentials
        self._server = server
        self._pasted_url: asyncio.Future[str] | None = None
        self._sign_in_worker: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="sign-in"):
            yield Static(Content(labels.connect_title(self._login.platform)), classes="-title")
            yield Static(Content(labels.SIGN_IN_OPENING), id="page")
            yield Input(placeholder=labels.SIGN_IN_PASTE, id="pasted")
            yield Static(Content(""), id="wrong")

    @property
    def is_waiting(self) -> bool:
        """Return True while signing in: the desk may have to ask for the passphrase of the credentials meanwhile."""
        return self._sign_in_worker is not None and not self._sign_in_worker.is_finished

    def on_mount(self) -> None:
        self._start_sign_in()

    def _start_sign_in(self) -> None:
        desk = self.app.desk
        if desk is not None:
            self._pasted_url = asyncio.get_running_loop().create_future()
            self._sign_in_worker = self.run_worker(self._sign_in(desk), exit_on_error=False)

    async def _sign_in(self, desk: "Desk") -> None:
        from copydesk.desk.accounts import oauth_flow  # noqa: PLC0415 - imports the network code

        assert self._pasted_url is not None
        pasted_url = self._pasted_url

        async def wait_for_paste() -> str:
            return await pasted_url

        arguments = (desk.accounts, self._login, self._credentials, self._server, self._show)
        try:
            try:
                account = await oauth_flow.sign_in_with_browser(*arguments, wait_for_paste)
            except oauth_flow.LoopbackUnavailableError:
                # The local port for the redirect cannot be used: the user pastes the final address instead.
                account = await oauth_flow.sign_in_with_pasted_code(*arguments, wait_for_paste)
        except CopydeskError as error:
            self.post_message(self.Finished(error=error))
        else:
            self.post_message(self.Finished(account.label))

    async def _show(self, page: str) -> None:
        opened = is_link(page) and await open_link(self.app, page)
        self.post_message(self.PageReady(page, opened=opened))

    @on(PageReady)
    def _show_page(self, message: PageReady) -> None:
        instructions = labels.SIGN_IN_APPROVE if message.opened else labels.SIGN_IN_NO_BROWSER
        self.query_one("#page", Static).update(Content(f"{instructions}\n\n{clean(message.page)}"))

    @on(Input.Submitted)
    def _accept_paste(self, event: Input.Submitted) -> None:
        """Hand over the pasted address; after a failure Enter starts again."""
        if self._sign_in_worker is None or self._sign_in_worker.is_finished:
            self.query_one("#wrong", Static).update(Content(""))
            event.input.value = ""
            self._start_sign_in()
        # A second Enter must not set the result again: asyncio would raise InvalidStateError.
        elif self._pasted_url is not None and not self._pasted_url.done() and event.value.strip():
            self._pasted_url.set_result(event.value)

    @on(Finished)
    def _show_outcome(self, message: Finished) -> None:
        if message.error is None:
            self.close(message.label)
        else:
            self.query_one("#wrong", Static).update(Content(labels.sign_in_failed(clean(str(message.error)))))

    def action_leave(self) -> None:
        """Cancel signing in and close."""
        if self._sign_in_worker is not None:
            # Also closes the local port that waits for the redirect.
            self._sign_in_worker.cancel()
        self.close(None)
