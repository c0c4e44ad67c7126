"""The line above every screen: where we are, what is under way, and what went wrong."""

from typing import TYPE_CHECKING

from textual import events, getters
from textual.content import Content

from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import SCREEN_NAMES
from copydesk.tui.widgets.drawn import Standing
from copydesk.tui.words import plural

if TYPE_CHECKING:
    from copydesk.tui.run_view import RunView

_APART = 2
"""Cells at least between what stands at the left and what stands at the right."""
_NAME = "Copydesk"


class TopLine(Standing):
    """The desk's name; the screens with their numbers, this one standing out; at the right the run and the problems."""

    app = getters.app(DeskApp)

    def __init__(self, desk_name: str, screen: str) -> None:
        super().__init__()
        self._screen = screen.lower()
        self._desk_name = desk_name
        self._work = Content("")
        self._told = 0
        """Cells of the problems, at the end of the line."""

    def on_mount(self) -> None:
        """Count the problems of all screens."""
        self.watch(self.app, "problems", self._count_anew, init=False)

    def _count_anew(self) -> None:
        self.refresh()

    def show_run(self, view: "RunView | None") -> None:
        """Say in a few words how the run gets on."""
        self.show_work(_words(view) if view and view.under_way else "")

    def show_work(self, words: str) -> None:
        """Say how far something else is that is under way; nothing where it is over."""
        self._work = Content.styled(words, "accent")
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """What is at the right comes first: it is news, and of the screens the numbers say enough."""
        for work, problems in self._rights():
            right = work + Content("  ") + problems if work and problems else work + problems
            for left in self._lefts():
                between = width - left.cell_length - right.cell_length
                if between >= (_APART if right else 0):
                    self._told = problems.cell_length
                    return [left.pad_right(between) + right]
        self._told = 0
        return [self._each(named=False).truncate(max(width, 1))]

    async def on_click(self, event: events.Click) -> None:
        """To the screen whose tab was clicked, or to the log."""
        at = event.get_content_offset(self)
        if at is None:
            return
        if at.x >= self.room.width - self._told:
            await self.app.run_action("log")
        elif screen := self._tab_at(at.x):
            await self.app.run_action(f"show_screen('{screen}')")

    def _tab_at(self, x: int) -> str:
        """The screen whose number or name is there; the tabs are the first in the line with a number."""
        line = self.lines(self.room.width)[0].plain
        for number, screen in enumerate(SCREEN_NAMES, 1):
            begin = line.index(str(number))
            if begin <= x < begin + len(line[begin:].split("  ", 1)[0]):
                return screen
        return ""

    def _rights(self) -> list[tuple[Content, Content]]:
        """The run and the problems, the longest words first."""
        none = Content("")
        problems = self.app.problems
        if not problems:
            return [(self._work, none), (none, none)]
        said = Content.assemble((plural(problems, "problem"), "bad"), " ", (self.app.key("console.log"), "key"))
        short = Content.styled(f"!{problems}", "bad")
        return [(self._work, said), (self._work, short), (none, said), (none, short)]

    def _lefts(self) -> list[Content]:
        """Where we are, the longest words first: of the other screens only the numbers, where names do not fit."""
        whole, short = self._each(named=True), self._each(named=False)
        names = [Content.styled(_NAME, "accent")]
        if self._desk_name:
            # Which desk it is tells more than what the program is called.
            desk = Content.styled(self._desk_name, "warn")
            names = [names[0] + Content.styled(" · ", "dim") + desk, desk]
        named = [name + Content("  ") for name in names]
        return [tabs for each in (whole, short) for tabs in (*(name + each for name in named), each)]

    def _each(self, *, named: bool) -> Content:
        tabs = []
        for number, screen in enumerate(SCREEN_NAMES, 1):
            here = screen == self._screen
            words = f"{number} {screen.capitalize()}" if named or here else f"{number}"
            tabs.append(Content.styled(words, "strong" if here else "dim"))
        return Content("  ").join(tabs)


def _words(view: "RunView") -> str:
    from copydesk.tui.run_view import figures  # noqa: PLC0415 - there is no run when the console starts

    if view.cancelling:
        return "cancelling the run …"
    if view.current is None:
        return "run begins …"
    return f"{view.current.stage.value} {figures(view.current)}"
