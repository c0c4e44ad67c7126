"""Chooses what of a tab is shown: a format, a source, tags."""

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
    """Something that drafts can have."""

    kind: str
    value: str
    name: str


class Options(LineList[Option]):
    """One line for each, those that are chosen with a sign."""

    def __init__(self) -> None:
        super().__init__()
        self.chosen: frozenset[Option] = frozenset()

    def draw(self, row: Option, width: int) -> Content:
        """One in `width` cells."""
        sign = "[x] " if row in self.chosen else "[ ] "
        head = Content.assemble((sign, "accent" if row in self.chosen else "dim"), (f"{row.kind:<7} ", "dim"))
        return head + fit(cell(row.name), max(width - head.cell_length, 0))


class FilterScreen(Over[View | None], inherit_bindings=False):
    """Lies over the review; the view with other filters, or None where it was left."""

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
        """One list."""
        yield Options()

    def on_mount(self) -> None:
        """What is chosen by now, with the cursor on it."""
        options = self.query_one(Options)
        taken = {("format", self._view.format), ("source", self._view.source_id)}
        taken |= {("tag", tag) for tag in self._view.tags}
        options.chosen = frozenset(each for each in self._options if (each.kind, each.value) in taken)
        first = next((at for at, each in enumerate(self._options) if each in options.chosen), 0)
        options.show(self._options, first)
        takes, shows = f"{key('filter.take')} takes", f"{key('filter.show')} shows"
        none, leaves = f"{key('filter.clear')} none", f"{key('filter.leave')} leaves"
        options.set_title(f"Show only · {takes} · {shows} · {none} · {leaves}")

    def action_take(self) -> None:
        """Take it or leave it out; a draft has one format and one source, and any number of tags."""
        options = self.query_one(Options)
        option = options.current
        if option is None:
            return
        chosen = options.chosen - {option}
        if option not in options.chosen:
            one_only = option.kind != "tag"
            chosen = frozenset(each for each in chosen if not one_only or each.kind != option.kind) | {option}
        if sum(each.kind == "tag" for each in chosen) <= MOST_TAGS:
            options.chosen = chosen
            options.forget_lines()

    def on_line_list_opened(self) -> None:
        """Enter on a line shows what is chosen; with nothing chosen, what the cursor is on."""
        self.action_show()

    def action_show(self) -> None:
        """Show what is chosen; with nothing chosen before and now, what the cursor is on."""
        options = self.query_one(Options)
        if not options.chosen and not self._view.narrowed:
            self.action_take()
        by_kind = {each.kind: each.value for each in options.chosen}
        kind = by_kind.get("format")
        tags = tuple(sorted(each.value for each in options.chosen if each.kind == "tag"))
        changed = {"format": Format(kind) if kind else None, "source_id": by_kind.get("source"), "tags": tags}
        self.close(replace(self._view, **changed))

    def action_clear(self) -> None:
        """Choose nothing."""
        options = self.query_one(Options)
        options.chosen = frozenset()
        options.forget_lines()

    def action_leave(self) -> None:
        """Leave it as it was."""
        self.close(None)
