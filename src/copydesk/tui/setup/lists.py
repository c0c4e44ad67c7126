"""The lists of the setup screen: sections, accounts and platforms."""

from textual.content import Content

from copydesk.model.account import ConnectedAccount
from copydesk.tui.setup.pages import Section, account_row
from copydesk.tui.terminal.cells import fit, safe_line
from copydesk.tui.widgets.line_list import LineList, TimestampedList


class SectionList(LineList[Section]):
    """The sections of the setup."""

    def draw(self, row: Section, width: int) -> Content:
        return Content(fit(row.value, width))


class AccountList(TimestampedList[ConnectedAccount]):
    """The connected accounts."""

    def draw(self, row: ConnectedAccount, width: int) -> Content:
        """Render one account with its state."""
        return account_row(row, self.clock(), width)


class NameList(LineList[str]):
    """A list of names to choose from."""

    def draw(self, row: str, width: int) -> Content:
        return Content(fit(safe_line(row), width))
