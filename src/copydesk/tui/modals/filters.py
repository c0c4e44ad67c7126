"""The filter dialog of the review queue: format, source and tags."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.content import Content

from copydesk.model.draft import Format
from copydesk.model.filters import MOST_TAGS
from copydesk.model.source import Source
from copydesk.model.window import View
from copydesk.tui.cells import cell, fit
from copydesk.tui.keys import Where, bindings
from copydesk.tui.modals.over import Over
from copydesk.tui.naming import key
from copydesk.tui.styles import sheet
from copydesk.tui.widgets.ink import INK
from copydesk.tui.widgets.line_list import LineList


class Option(NamedTuple):
    """A value that drafts can be filtered by; `kind` is "format", "source" or "tag"."""

    kind: str
    value: str
    name: str


class Options(LineList[Option]):
    """The options, one per line, with a check mark on the selected ones."""

    def __init__(self) -> None:
        super().__init__()
        self.chosen: frozenset[Option] = frozenset()

    def draw(self, row: Option, width: int) -> Content:
        """Return the option's line, fitted to `width` cells."""
        checkbox = "[x] " if row in self.chosen else "[ ] "
        head = Content.assemble((checkbox, "accent" if row in self.chosen else "dim"), (f"{row.kind:<7} ", "dim"))
        return head + fit(cell(row.name), max(width - head.cell_length, 0))


class FilterScreen(Over[View | None], inherit_bindings=False):
    """Choose the filters of a tab; return the view with the new filters, or None if the dialog is left."""

    CSS_PATH = sheet("filters.tcss")
    COMPONENT_CLASSES = set(INK)
    WHERE = (Where.LIST, Where.FILTER)
    BINDINGS = bindings(Where.FILTER)

    def __init__(self, view: View, sources: Sequence[Source], tags: Sequence[str]) -> None:
        super().__init__()
        self._view = view
        self._options = [
            *(Option("format", kind.value, kind.value.lower()) for kind in Format),
            *(Option("source", source.id, source.name) for source in sources),
            *(Option("tag", name, name) for name in tags),
        ]

    def compose(self) -> ComposeResult:
        yield Options()

    def on_mount(self) -> None:
        """Check the current filters and put the cursor on the first of them."""
        options = self.query_one(Options)
        active = {("format", self._view.format), ("source", self._view.source_id)}
        active |= {("tag", tag) for tag in self._view.tags}
        options.chosen = frozenset(option for option in self._options if (option.kind, option.value) in active)
        first = next((index for index, option in enumerate(self._options) if option in options.chosen), 0)
        options.show(self._options, first)
        take_hint, show_hint = f"{key('filter.take')} takes", f"{key('filter.show')} shows"
        clear_hint, leave_hint = f"{key('filter.clear')} none", f"{key('filter.leave')} leaves"
        options.set_title(f"Show only · {take_hint} · {show_hint} · {clear_hint} · {leave_hint}")

    def action_take(self) -> None:
        """Toggle the option under the cursor.

        A new format or source replaces the old one; up to `MAX_TAGS` tags add up.
        """
        options = self.query_one(Options)
        option = options.current
        if option is None:
            return
        selected = options.chosen - {option}
        if option not in options.chosen:
            is_exclusive = option.kind != "tag"
            selected = frozenset(other for other in selected if not is_exclusive or other.kind != option.kind) | {
                option
            }
        if sum(other.kind == "tag" for other in selected) <= MOST_TAGS:
            options.chosen = selected
            options.forget_lines()

    def on_line_list_opened(self) -> None:
        """Enter applies the filters, as `action_show` does."""
        self.action_show()

    def action_show(self) -> None:
        """Close with the selected filters.

        If none is selected and none was active before, filter by the option under the cursor: Enter alone is enough.
        """
        options = self.query_one(Options)
        if not options.chosen and not self._view.narrowed:
            self.action_take()
        by_kind = {option.kind: option.value for option in options.chosen}
        kind = by_kind.get("format")
        tags = tuple(sorted(option.value for option in options.chosen if option.kind == "tag"))
        changed = {"format": Format(kind) if kind else None, "source_id": by_kind.get("source"), "tags": tags}
        self.close(replace(self._view, **changed))

    def action_clear(self) -> None:
        """Uncheck all options."""
        options = self.query_one(Options)
        options.chosen = frozenset()
        options.forget_lines()

    def action_leave(self) -> None:
        """Close without changing the filters."""
        self.close(None)
