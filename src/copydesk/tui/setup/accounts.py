"""The account actions of the setup screen: connect, check, remove."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from textual import getters

from copydesk.errors import CopydeskError, FieldError, InvalidError
from copydesk.model.account import ConnectedAccount
from copydesk.tui import labels
from copydesk.tui.desk_screen import DeskScreen
from copydesk.tui.dialogs.fields import FieldsDialog
from copydesk.tui.dialogs.prompt import ConfirmDialog
from copydesk.tui.setup.lists import AccountList

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.desk.accounts.service import ConnectMethod


class AccountActions(DeskScreen, inherit_bindings=False):
    """A screen with a list of accounts."""

    accounts = getters.query_one("#accounts", AccountList)

    def action_connect(self) -> None:
        """Choose a platform, then open its form."""
        self.app.run_desk_task(self._choose_platform, opens_screen=True)

    async def _choose_platform(self, desk: "Desk") -> None:
        from copydesk.tui.setup.connect_dialogs import PlatformDialog  # noqa: PLC0415 - not needed for the first paint

        self.app.push_if_current(self, PlatformDialog(desk.accounts.platforms()), self._load_form)

    def _load_form(self, platform: str | None) -> None:
        if platform is not None:
            self.app.run_desk_task(partial(self._open_form, platform), opens_screen=True)

    async def _open_form(self, platform: str, desk: "Desk") -> None:
        """Open the form with the platform's credential fields."""
        from copydesk.tui.setup.connect_dialogs import SERVER_FIELD, SignInDialog, credential_fields  # noqa: PLC0415 - as above

        login = await desk.accounts.connect_method(platform)
        # `submit` cannot open a dialog itself: the form is still open. It leaves the sign-in dialog here for `finish`.
        sign_in: list[SignInDialog] = []

        async def submit(desk: "Desk", values: Mapping[str, str]) -> str:
            from copydesk.desk.accounts.oauth_flow import needs_browser  # noqa: PLC0415 - as above

            server = _server_url(login, values.get(SERVER_FIELD, ""))
            credentials = {name: value for name, value in values.items() if value and name != SERVER_FIELD}
            if needs_browser(login, credentials):
                _require_credentials(login, credentials)
                sign_in[:] = [SignInDialog(login, credentials, server)]
                return ""
            return labels.account_connected((await desk.accounts.connect(platform, credentials, server)).label)

        def finish(message: str | None) -> None:
            if message is not None and sign_in:
                self.app.push_screen(
                    sign_in[0], lambda label: self._report_connected(label and labels.account_connected(label))
                )
            else:
                self._report_connected(message)

        title = labels.connect_title(platform)
        self.app.push_if_current(
            self, FieldsDialog(title, credential_fields(login), submit, hint=labels.ACCOUNT_FIELDS_HINT), finish
        )

    def _report_connected(self, message: str | None) -> None:
        if message:
            self.app.notify(message)
            self.refresh_data()

    def action_check(self) -> None:
        """Check with its server that the account works."""
        if account := self._current_account():
            self.app.notify(labels.account_testing(account.details.server))
            self.app.run_desk_task(partial(self._check_account, account))

    async def _check_account(self, account: ConnectedAccount, desk: "Desk") -> None:
        try:
            checked = await desk.accounts.check(account.id)
        except CopydeskError as error:
            self.app.notify(labels.account_failed(account.label, str(error)), severity="error")
        else:
            self.app.notify(labels.account_works(checked.label))
        # Load again after a failure, too: a rejected login is stored with the account and shown in its row.
        self.call_later(self.refresh_data)

    def action_remove(self) -> None:
        """Remove the account and its credentials, after a confirmation."""
        if account := self._current_account():
            question = labels.disconnect_prompt(account.label)
            self.app.push_screen(ConfirmDialog(question), partial(self._remove_if_confirmed, account))

    def _remove_if_confirmed(self, account: ConnectedAccount, yes: bool | None) -> None:  # noqa: FBT001 - Textual passes it by position
        if yes:
            self.app.enqueue_write(partial(self._delete_account, account), hold_keys=True)

    async def _delete_account(self, account: ConnectedAccount, desk: "Desk") -> None:
        removed = await desk.accounts.remove(account.id)
        self.app.notify(labels.account_removed(removed.label))
        self.refresh_for_keys()

    def _current_account(self) -> ConnectedAccount | None:
        if self.accounts.current is None:
            self.app.notify(labels.account_missing(), severity="warning")
        return self.accounts.current


def _server_url(login: "ConnectMethod", server: str) -> str:
    """Return the server as a URL. Raise InvalidError if it is missing and the platform has no default."""
    if not server and not login.default_server:
        raise InvalidError(FieldError("server", labels.server_required(login.platform)))
    # Users tend to type the bare host name.
    if server and "://" not in server:
        return f"https://{server}"
    return server


def _require_credentials(login: "ConnectMethod", credentials: Mapping[str, str]) -> None:
    """Raise InvalidError if a required credential is missing."""
    missing = [field.name for field in login.credential_fields if not field.optional and field.name not in credentials]
    if missing:
        raise InvalidError(*(FieldError(name, labels.CREDENTIAL_REQUIRED) for name in missing))
