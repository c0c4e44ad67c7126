"""The part of the setup that connects accounts, checks and removes them."""

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
        """Ask which platform it is of."""
        self.app.ask(self._ask_platform, opens=True)

    async def _ask_platform(self, desk: "Desk") -> None:
        from copydesk.tui.modals.connect import PlatformScreen  # noqa: PLC0415 - not for the first paint

        self.app.open_over(self, PlatformScreen(desk.ground.platforms.names), self._ask_rest)

    def _ask_rest(self, platform: str | None) -> None:
        if platform is not None:
            self.app.ask(partial(self._show_form, platform), opens=True)

    async def _show_form(self, platform: str, desk: "Desk") -> None:
        """A line for each thing that the platform asks for."""
        from copydesk.tui.modals.connect import SERVER, SignInScreen, fields_of  # noqa: PLC0415 - as above

        await desk.ground.platforms.ready(platform)
        way = desk.accounts.way_in(platform)
        sign_in: list[SignInScreen] = []

        async def submit(desk: "Desk", values: Mapping[str, str]) -> str:
            from copydesk.desk.signing_in import needs_browser  # noqa: PLC0415 - as above

            server = _address(way, values.get(SERVER, ""))
            given = {name: value for name, value in values.items() if value and name != SERVER}
            if needs_browser(way, given):
                _refuse_missing(way, given)
                sign_in[:] = [SignInScreen(way, given, server)]
                return ""
            return f"{(await desk.accounts.connect(platform, given, server)).label} is connected."

        def then(said: str | None) -> None:
            if said is not None and sign_in:
                self.app.push_screen(sign_in[0], lambda label: self._connected(label and f"{label} is connected."))
            else:
                self._connected(said)

        title = f"Connect an account of {platform}"
        self.app.open_over(self, FieldsScreen(title, fields_of(way), submit, hint=FIELDS_HINT), then)

    def _connected(self, said: str | None) -> None:
        if said:
            self.app.notify(said)
            self.read()

    def action_check(self) -> None:
        """Ask the account's server whether it works."""
        if account := self._current():
            self.app.notify(f"Asking {account.details.server} …")
            self.app.ask(partial(self._check, account))

    async def _check(self, account: ConnectedAccount, desk: "Desk") -> None:
        try:
            kept = await desk.accounts.check(account.id)
        except CopydeskError as error:
            self.app.notify(f"{account.label}: {error}", severity="error")
        else:
            self.app.notify(f"{kept.label} works.")
        self.call_later(self.read)

    def action_remove(self) -> None:
        """Forget the account and its keys, after a yes."""
        if account := self._current():
            question = f"Forget {account.label} and its keys? What was posted there stays."
            self.app.push_screen(YesScreen(question), partial(self._remove, account))

    def _remove(self, account: ConnectedAccount, yes: bool | None) -> None:  # noqa: FBT001 - Textual hands it over so
        if yes:
            self.app.carry_out(partial(self._forget, account), keys_wait=True)

    async def _forget(self, account: ConnectedAccount, desk: "Desk") -> None:
        gone = await desk.accounts.remove(account.id)
        self.app.notify(f"{gone.label} is forgotten. To be sure, take Copydesk's access back there, too.")
        self.read_for_keys()

    def _current(self) -> ConnectedAccount | None:
        if self.accounts.current is None:
            self.app.notify(f"No account is connected: {key('setup.connect')} connects one.", severity="warning")
        return self.accounts.current


def _address(way: "WayIn", server: str) -> str:
    if not server and not way.server:
        raise InvalidError(FieldError("server", f"is missing: say where your {way.platform} is: https://…"))
    if server and "://" not in server:
        return f"https://{server}"
    return server


def _refuse_missing(way: "WayIn", given: Mapping[str, str]) -> None:
    missing = [each.name for each in way.wants if not each.optional and each.name not in given]
    if missing:
        raise InvalidError(*(FieldError(name, "is missing") for name in missing))
