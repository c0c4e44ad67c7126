"""The account actions of the setup screen: connect, check, remove."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from textual import getters

from copydesk.errors import CopydeskError, FieldError, InvalidError
from copydesk.model.account import ConnectedAccount
from copydesk.tui.modals.ask import YesScreen
from copydesk.tui.modals.fields import FieldsScreen
from copydesk.tui.naming import key
from copydesk.tui.screens.desk_screen import DeskScreen
from copydesk.tui.widgets.setup_lists import Accounts

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.accounts import WayIn

FIELDS_HINT = "What is secret is kept apart from the drafts, and never shown."


class SetupAccounts(DeskScreen, inherit_bindings=False):
    """A screen with a list of accounts."""

    accounts = getters.query_one("#accounts", Accounts)

    def action_connect(self) -> None:
        """Choose a platform, then open its form."""
        self.app.ask(self._choose_platform, opens=True)

    async def _choose_platform(self, desk: "Desk") -> None:
        from copydesk.tui.modals.connect import PlatformScreen  # noqa: PLC0415 - not needed for the first paint

        self.app.open_over(self, PlatformScreen(desk.ground.platforms.names), self._ask_rest)

    def _ask_rest(self, platform: str | None) -> None:
        if platform is not None:
            self.app.ask(partial(self._open_form, platform), opens=True)

    async def _open_form(self, platform: str, desk: "Desk") -> None:
        """Open the form with the platform's credential fields."""
        from copydesk.tui.modals.connect import SERVER, SignInScreen, fields_of  # noqa: PLC0415 - as above

        await desk.ground.platforms.ready(platform)
        login = desk.accounts.way_in(platform)
        # `submit` cannot open a dialog itself: the form is still open. It leaves the sign-in dialog here for `finish`.
        sign_in: list[SignInScreen] = []

        async def submit(desk: "Desk", values: Mapping[str, str]) -> str:
            from copydesk.desk.signing_in import needs_browser  # noqa: PLC0415 - as above

            server = _server_url(login, values.get(SERVER, ""))
            credentials = {name: value for name, value in values.items() if value and name != SERVER}
            if needs_browser(login, credentials):
                _require_credentials(login, credentials)
                sign_in[:] = [SignInScreen(login, credentials, server)]
                return ""
            return f"{(await desk.accounts.connect(platform, credentials, server)).label} is connected."

        def finish(message: str | None) -> None:
            if message is not None and sign_in:
                self.app.push_screen(
                    sign_in[0], lambda label: self._report_connected(label and f"{label} is connected.")
                )
            else:
                self._report_connected(message)

        title = f"Connect an account of {platform}"
        self.app.open_over(self, FieldsScreen(title, fields_of(login), submit, hint=FIELDS_HINT), finish)

    def _report_connected(self, message: str | None) -> None:
        if message:
            self.app.notify(message)
            self.read()

    def action_check(self) -> None:
        """Check with its server that the account works."""
        if account := self._current_account():
            self.app.notify(f"Asking {account.details.server} …")
            self.app.ask(partial(self._check_account, account))

    async def _check_account(self, account: ConnectedAccount, desk: "Desk") -> None:
        try:
            checked = await desk.accounts.check(account.id)
        except CopydeskError as error:
            self.app.notify(f"{account.label}: {error}", severity="error")
        else:
            self.app.notify(f"{checked.label} works.")
        # Load again after a failure, too: a rejected login is stored with the account and shown in its row.
        self.call_later(self.read)

    def action_remove(self) -> None:
        """Remove the account and its credentials, after a confirmation."""
        if account := self._current_account():
            question = f"Forget {account.label} and its keys? What was posted there stays."
            self.app.push_screen(YesScreen(question), partial(self._remove_if_confirmed, account))

    def _remove_if_confirmed(self, account: ConnectedAccount, yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if yes:
            self.app.carry_out(partial(self._delete_account, account), keys_wait=True)

    async def _delete_account(self, account: ConnectedAccount, desk: "Desk") -> None:
        removed = await desk.accounts.remove(account.id)
        self.app.notify(f"{removed.label} is forgotten. To be sure, take Copydesk's access back there, too.")
        self.read_for_keys()

    def _current_account(self) -> ConnectedAccount | None:
        if self.accounts.current is None:
            self.app.notify(f"No account is connected: {key('setup.connect')} connects one.", severity="warning")
        return self.accounts.current


def _server_url(login: "WayIn", server: str) -> str:
    """Return the server as a URL. Raise InvalidError if it is missing and the platform has no default."""
    if not server and not login.server:
        raise InvalidError(FieldError("server", f"is missing: say where your {login.platform} is: https://…"))
    # Users tend to type the bare host name.
    if server and "://" not in server:
        return f"https://{server}"
    return server


def _require_credentials(login: "WayIn", credentials: Mapping[str, str]) -> None:
    """Raise InvalidError if a required credential is missing."""
    missing = [field.name for field in login.wants if not field.optional and field.name not in credentials]
    if missing:
        raise InvalidError(*(FieldError(name, "is missing") for name in missing))
