"""The review's tabs with how many drafts each of them shows."""

from collections.abc import Mapping

from textual import events
from textual.content import Content
from textual.message import Message

from copydesk.tui.widgets.drawn import Standing

TABS = {
    "to_review": ("To review", "Review"),
    "approved": ("Approved", "A"),
    "scheduled": ("Scheduled", "S"),
    "posted": ("Posted", "P"),
    "missed": ("Missed", "M"),
    "rejected": ("Rejected", "R"),
    "failed": ("Failed", "F"),
    "all": ("All", "All"),
}
"""The name of each, and what stands for it where there is no room: the letter of its drafts."""
_GAP = 2
NARROW = 60
"""Cells below which there is only the tab that is shown."""


class TabsLine(Standing):
    """As much of them as there is room for; on a narrow terminal only the one that is shown."""

    class Clicked(Message):
        """A tab was clicked."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, tab: str = "to_review") -> None:
        super().__init__()
        self._tab = tab
        self._counts: Mapping[str, int] = {}
        self._places: list[tuple[int, str]] = []
        """Where each tab ends, in cells, and its name."""

    def show(self, tab: str, counts: Mapping[str, int] | None = None) -> None:
        """Show which one it is, and how many drafts each has where that is known."""
        self._tab = tab
        self._counts = self._counts if counts is None else counts
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """The names; else those of the tabs that have drafts; else letters; else one."""
        if width < NARROW:
            return [self._placed([self._tab], [self._words(self._tab, named=True)])]
        some = [tab for tab in TABS if self._counts.get(tab) or tab in (self._tab, "to_review", "all")]
        for tabs, named in ((list(TABS), True), (some, True), (list(TABS), False), (some, False)):
            words = [self._words(tab, named=named) for tab in tabs]
            if sum(each.cell_length for each in words) + _GAP * (len(words) - 1) <= width:
                return [self._placed(tabs, words)]
        return [self._placed([self._tab], [self._words(self._tab, named=True)])]

    def _words(self, tab: str, *, named: bool) -> Content:
        here = tab == self._tab
        name = TABS[tab][0] if named or here else TABS[tab][1]
        count = self._counts.get(tab, 0)
        number = f" {short(count)}" if count else ""
        return Content.assemble((name, "strong" if here else "dim"), (number, "accent" if here else "dim"))

    def _placed(self, tabs: list[str], words: list[Content]) -> Content:
        self._places = []
        end = 0
        for tab, each in zip(tabs, words, strict=True):
            end += each.cell_length + _GAP
            self._places.append((end, tab))
        return Content(" " * _GAP).join(words)

    def on_click(self, event: events.Click) -> None:
        """The tab that was clicked."""
        at = event.get_content_offset(self)
        tab = next((tab for end, tab in self._places if at is not None and at.x < end), None)
        if tab is not None:
            self.post_message(self.Clicked(tab))


def short(count: int) -> str:
    """A number in at most four characters or a little more: `9999`, `12k`, `1.2M`."""
    if count < 10_000:
        return str(count)
    return f"{count // 1000}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"
