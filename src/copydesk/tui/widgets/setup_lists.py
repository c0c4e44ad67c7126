"""The lists of the setup: its sections, the accounts, and the platforms that there are."""

from textual.content import Content

from copydesk.model.account import ConnectedAccount
from copydesk.tui.cells import cell, fit
from copydesk.tui.pages.setup import Section, account_row
from copydesk.tui.widgets.aged import Aged
from copydesk.tui.widgets.line_list import LineList


class Sections(LineList[Section]):
    """What is set up."""

    def draw(self, row: Section, width: int) -> Content:
        """Its name."""
        return Content(fit(row.value, width))


class Accounts(Aged[ConnectedAccount]):
    """Where posts go."""

    def draw(self, row: ConnectedAccount, width: int) -> Content:
        """One account, and whether it works."""
        return account_row(row, self.clock(), width)


class Names(LineList[str]):
    """Names to choose from."""

    def draw(self, row: str, width: int) -> Content:
        """One of them."""
        return Content(fit(cell(row), width))
