"""The filter dialog of the review queue: format, source and tags."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.content import Content

from copydesk.model.draft import Format
from copydesk.model.filters import MAX_TAGS, DraftView
from copydesk.model.source import Source
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.keys import KeyContext, bindings, key_label
from copydesk.tui.styles import stylesheet_path
from copydesk.tui.terminal.cells import fit, safe_line
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.line_widget import ROLE_CLASSES


class FilterOption(NamedTuple):
    """A value that drafts can be filtered by; `kind` is "format", "source" or "tag"."""

    kind: str
    value: str
    name: str


class FilterOptionList(LineList[FilterOption]):
    """The options, one per line, with a check mark on the selected ones."""

    def __init__(self) -> None:
        super().__init__()
        self.selected: frozenset[FilterOption] = frozenset()

    def draw(self, row: FilterOption, width: int) -> Content:
        """Return the option's line, fitted to `width` cells."""
        checkbox = "[x] " if row in self.selected else "[ ] "
        head = Content.assemble((checkbox, "accent" if row in self.selected else "dim"), (f"{row.kind:<7} ", "dim"))
        return head + fit(safe_line(row.name), max(width - head.cell_length, 0))


class FilterDialog(Dialog[DraftView | None], inherit_bindings=False):
    """Choose the filters of a tab; return the view with the new filters, or None if the dialog is left."""

    CSS_PATH = stylesheet_path("filters.tcss")
    COMPONENT_CLASSES = set(ROLE_CLASSES)
    WHERE = (KeyContext.LIST, KeyContext.FILTER)
    BINDINGS = bindings(KeyContext.FILTER)

    def __init__(self, view: DraftView, sources: Sequence[Source], tags: Sequence[str]) -> None:
        super().__init__()
        self._view = view
        self._options = [
            *(FilterOption("format", kind.value, kind.value.lower()) for kind in Format),
            *(FilterOption("source", source.id, source.name) for source in sources),
            *(FilterOption("tag", name, name) for name in tags),
        ]

    def compose(self) -> ComposeResult:
        yield FilterOptionList()

    def on_mount(self) -> None:
        """Check the current filters and put the cursor on the first of them."""
        options = self.query_one(FilterOptionList)
        active = {("format", self._view.format), ("source", self._view.source_id)}
        active |= {("tag", tag) for tag in self._view.tags}
        options.selected = frozenset(option for option in self._options if (option.kind, option.value) in active)
        first = next((index for index, option in enumerate(self._options) if option in options.selected), 0)
        options.show(self._options, first)
        take_hint, show_hint = f"{key_label('filter.take')} takes", f"{key_label('filter.show')} shows"
        clear_hint, leave_hint = f"{key_label('filter.clear')} none", f"{key_label('filter.leave')} leaves"
        options.set_title(f"Show only · {take_hint} · {show_hint} · {clear_hint} · {leave_hint}")

    def action_take(self) -> None:
        """Toggle the option under the cursor.

        A new format or source replaces the old one; up to `MAX_TAGS` tags add up.
        """
        options = self.query_one(FilterOptionList)
        option = options.current
        if option is None:
            return
        selected = options.selected - {option}
        if option not in options.selected:
            is_exclusive = option.kind != "tag"
            selected = frozenset(other for other in selected if not is_exclusive or other.kind != option.kind) | {
                option
            }
        if sum(other.kind == "tag" for other in selected) <= MAX_TAGS:
            options.selected = selected
            options.redraw()

    def on_line_list_opened(self) -> None:
        """Enter applies the filters, as `action_show` does."""
        self.action_show()

    def action_show(self) -> None:
        """Close with the selected filters.

        If none is selected and none was active before, filter by the option under the cursor: Enter alone is enough.
        """
        options = self.query_one(FilterOptionList)
        if not options.selected and not self._view.is_filtered:
            self.action_take()
        by_kind = {option.kind: option.value for option in options.selected}
        kind = by_kind.get("format")
        tags = tuple(sorted(option.value for option in options.selected if option.kind == "tag"))
        changed = {"format": Format(kind) if kind else None, "source_id": by_kind.get("source"), "tags": tags}
        self.close(replace(self._view, **changed))

    def action_clear(self) -> None:
        """Uncheck all options."""
        options = self.query_one(FilterOptionList)
        options.selected = frozenset()
        options.redraw()

    def action_leave(self) -> None:
        """Close without changing the filters."""
        self.close(None)
