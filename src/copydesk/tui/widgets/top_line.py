"""The line at the top of every screen: the current screen, progress, and the number of problems."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from textual import events, getters
from textual.content import Content

from copydesk.text.formatting import plural
from copydesk.tui import labels
from copydesk.tui.desk_app import DeskApp
from copydesk.tui.keys import SCREEN_NAMES
from copydesk.tui.widgets.lines import JumpTarget, StaticLines

if TYPE_CHECKING:
    from copydesk.tui.runtime.pipeline_run import RunView

_MIN_GAP = 2
"""Minimum cells between the left and the right part."""
_TAB_GAP = 2
"""Cells between two screens."""
_FULL_NAMES: Final[Mapping[str, str]] = {name: name.capitalize() for name in SCREEN_NAMES}
_Right = tuple[Content, Content, Content, Content, Content]
"""Progress, account, clock, deliveries that need the user, problems."""


# Not Textual's Header: it has a fixed layout of title and clock, without tabs, progress and problems.
class TopLine(StaticLines):
    """The desk's name and the numbered screens; at the right what is under way or needs attention."""

    app = getters.app(DeskApp)

    def __init__(self, desk_name: str, screen: str) -> None:
        super().__init__()
        self._screen = screen.lower()
        full_name = {self._screen: _FULL_NAMES[self._screen]} if self._screen in _FULL_NAMES else {}
        short = labels.SHORT_SCREEN_NAMES
        self._names: Final[tuple[Mapping[str, str], ...]] = (_FULL_NAMES, {**short, **full_name}, short, full_name)
        """The names of the screens: in full, only the current one in full, all short, or the others as numbers."""
        self._desk_name = desk_name
        self._work = Content("")
        self._click_areas: list[tuple[range, str]] = []
        """Cells of the line's right part, and the action of a click on them."""

    def on_mount(self) -> None:
        """Follow what is shared by all screens."""
        self.watch(self.app, "problems", self._on_change, init=False)
        self.watch(self.app, "posting_paused", self._on_change, init=False)
        self.watch(self.app, "needs_user", self._on_change, init=False)
        self.watch(self.app, "has_account", self._on_change, init=False)

    def _on_change(self) -> None:
        self.refresh()

    def show_run(self, view: "RunView | None") -> None:
        """Show the run's progress in a few words."""
        self.show_work(_progress_text(view) if view and view.is_active else "")

    def show_work(self, text: str) -> None:
        """Show the progress of another operation; an empty text clears it."""
        self._work = Content.styled(text, "accent")
        self.refresh()

    def lines(self, width: int) -> list[Content]:
        """Return the line. Names of the screens stay words, however short, where all of the right part fits, too."""
        # The right part has priority over long names: it is news. Only a few words of it are left out before names are.
        full, short, shortest, numbered = self._left_variants()
        rights_in_words, all_rights = self._right_variants(in_words=True), self._right_variants()
        attempts = (
            (full, rights_in_words),
            (short, rights_in_words),
            (shortest, rights_in_words),
            ([*full, *short, *shortest], all_rights),
            (numbered, self._partial_right_variants()),
        )
        for lefts, rights in attempts:
            for *news, need, problems in rights:
                right = Content("  ").join(part for part in (*news, need, problems) if part)
                for left in lefts:
                    gap = width - left.cell_length - right.cell_length
                    if gap >= (_MIN_GAP if right else 0):
                        problems_at = width - problems.cell_length
                        need_end = problems_at - (2 if problems else 0)
                        self._click_areas = [
                            (range(problems_at, width), "log"),
                            (range(need_end - need.cell_length, need_end), "show_screen('needs_you')"),
                        ]
                        return [left.pad_right(gap) + right]
        self._click_areas = []
        return [self._tabs(self._names[-1]).truncate(max(width, 1))]

    async def on_click(self, event: events.Click) -> None:
        """Switch to the clicked screen or the deliveries that need the user, or open the log."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        for cells, action in self._click_areas:
            if offset.x in cells:
                await self.app.run_action(action)
                return
        if screen := self._tab_at(offset.x):
            await self.app.run_action(f"show_screen('{screen}')")

    def jump_targets(self) -> list[JumpTarget]:
        """Return the places to jump to: the screens."""
        region = self.content_region
        return [
            JumpTarget(max(region.x + cells.start - _TAB_GAP, 0), region.y, partial(self._show_screen, screen))
            for screen, cells in self._tab_cells().items()
        ]

    def _show_screen(self, screen: str) -> None:
        self.app.call_later(self.app.run_action, f"show_screen('{screen}')")

    def _tab_at(self, x: int) -> str:
        """Return the screen whose number or name is in this cell."""
        return next((screen for screen, cells in self._tab_cells().items() if x in cells), "")

    def _tab_cells(self) -> dict[str, range]:
        """Return the cells of the number and name of each screen."""
        line = self.lines(self.drawable_size.width)[0].plain
        # The desk's name before them may contain digits and wide characters, too.
        offset = max(line.rfind(self._tabs(names).plain) for names in self._names)
        tabs, before = line[max(offset, 0) :], Content(line[: max(offset, 0)]).cell_length
        cells = {}
        for number, screen in enumerate(SCREEN_NAMES, 1):
            if (start := tabs.find(str(number))) >= 0:
                cells[screen] = range(before + start, before + start + len(tabs[start:].split("  ", 1)[0]))
        return cells

    def _right_variants(self, *, in_words: bool = False) -> list[_Right]:
        """Return variants of all that there is to tell, the longest first; `in_words` without bare numbers."""
        none = Content("")
        accounts = clocks = needs = counts = [none]
        # The key is first, as before the names of the screens and in the line of keys.
        if not self.app.has_account:
            accounts = [
                self._key("console.setup") + Content.styled(text, "warn") for text in labels.NO_ACCOUNT_VARIANTS
            ]
        if self.app.posting_paused:
            clocks = [Content.styled(text, "bad") for text in labels.CLOCK_DOUBT]
        if self.app.needs_user:
            need = Content.styled(labels.needs_you(self.app.needs_user), "warn")
            key = self._key("console.needs_you")
            needs = [key + need, key + Content.styled(labels.needs_you_short(self.app.needs_user), "warn")]
            # They include the missing account.
            accounts = [*accounts, none]
        if problems := self.app.problems:
            long = self._key("console.log") + Content.styled(plural(problems, "problem"), "bad")
            counts = [long, Content.styled(f"!{problems}", "bad")]
        if in_words:
            needs, counts = needs[:1], counts[:1]
        return [
            (self._work, account, clock, need, count)
            for account in accounts
            for clock in clocks
            for need in needs
            for count in counts
        ]

    def _key(self, action_id: str) -> Content:
        return Content.styled(self.app.key_label(action_id), "key") + Content(" ")

    def _partial_right_variants(self) -> list[_Right]:
        """Return all variants, then without progress and account, with a number alone, and only with problems."""
        none = Content("")
        variants = self._right_variants()
        work, _, clock, need, count = variants[-1]
        number = Content.styled(f"({self.app.needs_user})", "warn")
        short_need = self._key("console.needs_you") + number if need else none
        return [
            *variants,
            (work, none, clock, need, count),
            (none, none, clock, need, count),
            (none, none, clock, short_need, count),
            (none, none, none, none, count),
        ]

    def _left_variants(self) -> tuple[list[Content], ...]:
        """Return variants of the left part for each variant of the names, the longest first."""
        titles = [Content.styled(labels.APP_NAME, "accent")]
        if self._desk_name:
            # The desk's name is more informative than the program's.
            desk = Content.styled(self._desk_name, "warn")
            titles = [titles[0] + Content.styled(" · ", "dim") + desk, desk]
        prefixes = [title + Content("  ") for title in titles]
        return tuple([*(title + tabs for title in prefixes), tabs] for tabs in map(self._tabs, self._names))

    def _tabs(self, names: Mapping[str, str]) -> Content:
        tabs = []
        for number, screen in enumerate(SCREEN_NAMES, 1):
            label = f"{number} {names.get(screen, '')}".rstrip()
            tabs.append(Content.styled(label, "current" if screen == self._screen else "dim"))
        return Content("  ").join(tabs)


def _progress_text(view: "RunView") -> str:
    from copydesk.tui.runtime.pipeline_run import format_progress  # noqa: PLC0415 - not needed for the first paint

    if view.cancelling:
        return labels.RUN_PROGRESS_CANCELLING
    if view.current is None:
        return labels.RUN_PROGRESS_STARTING
    return f"{view.current.stage.value} {format_progress(view.current)}"
