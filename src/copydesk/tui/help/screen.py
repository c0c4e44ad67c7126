"""The help dialog: the keys of a screen and the meaning of its letters; and the page of recent notifications."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from textual import getters, on
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input

from copydesk.text import clean_lines
from copydesk.text.formatting import format_relative
from copydesk.tui import labels
from copydesk.tui.dialogs.base import Dialog
from copydesk.tui.keys import KEYS, SCREEN_NAMES, Key, KeyContext, bindings, format_keys
from copydesk.tui.labels import ARCHIVED, FORMAT, HEALTH, RUN_STATUS, SEVERITY, SOURCE_DISABLED, STATUS, Badge
from copydesk.tui.layout import Block, Paragraph, Table, paragraph
from copydesk.tui.themes import stylesheet_path
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import set_title
from copydesk.tui.widgets.narrowed_list import NarrowedList
from copydesk.tui.widgets.page import Page

if TYPE_CHECKING:
    from copydesk.tui.runtime.notifications import LogEntry


FIRST_COLUMN_WIDTH = 14
"""Cells of the first column, the same in every table."""
_SAMPLE_CONFIDENCE = "70%"
"""The confidence in the legend."""


def _without_overridden(key: Key, keys: Iterable[Key], contexts: Iterable[KeyContext]) -> Key:
    """Return a console-wide key without the bindings that the screen uses for something else; other keys unchanged."""
    if key.context is not KeyContext.CONSOLE:
        return key
    screens = {context for context in contexts if context.name.lower() in SCREEN_NAMES}
    # A screen's own binding wins over the console's.
    overridden = {name for other in keys if other.context in screens for name in other.keys.split(",")}
    return key._replace(keys=",".join(name for name in key.keys.split(",") if name not in overridden))


def _key_cell(text: str) -> Content:
    return Content.styled(f"{text:<{FIRST_COLUMN_WIDTH}}", "key")


def _signs(contexts: Iterable[KeyContext]) -> Iterator[Badge]:
    """Yield the signs used in the rows of these contexts."""
    if KeyContext.SOURCES in contexts:
        yield from (*HEALTH.values(), SOURCE_DISABLED, *RUN_STATUS.values())
    if KeyContext.REVIEW in contexts or KeyContext.SCHEDULE in contexts:
        yield from STATUS.values()
    if KeyContext.REVIEW in contexts:
        yield from (ARCHIVED, *SEVERITY.values())
    if KeyContext.ENGAGEMENT in contexts:
        yield from FORMAT.values()


def _letter_rows(contexts: Iterable[KeyContext]) -> Iterator[tuple[Content, ...]]:
    meanings: dict[tuple[str, str], list[str]] = {}
    for sign in _signs(contexts):
        # The same letter in the same colour may mean several things: list them on one line.
        meanings.setdefault((sign.letter, sign.role), []).append(sign.text)
    for (letter, role), descriptions in meanings.items():
        yield Content.styled(f"{letter:<{FIRST_COLUMN_WIDTH}}", role), Content(", ".join(descriptions))
    if KeyContext.REVIEW in contexts:
        yield Content(f"{_SAMPLE_CONFIDENCE:<{FIRST_COLUMN_WIDTH}}"), Content(labels.CONFIDENCE_MEANING)


def log_page(entries: Iterable["LogEntry"], now: datetime) -> list[Block]:
    """Return the notifications with time and severity letter (E, W or i), newest first."""
    blocks: list[Block] = []
    for entry in reversed(list(entries)):
        timestamp = f" {labels.format_date_time(entry.at, now)} · {format_relative(entry.at, now)}"
        blocks.append(Paragraph(Content.assemble(labels.LOG_LETTERS[entry.severity], (timestamp, "dim"))))
        blocks += [Paragraph(Content(clean_lines(entry.text)), indent=2), paragraph()]
    return blocks or [paragraph(labels.NO_MESSAGES, "dim")]


def key_contexts(screen: Screen[object]) -> list[KeyContext]:
    """Return the contexts whose keys work on a screen: its own, those of its lists and pages, then the console's."""
    present_widgets = {KeyContext.LIST: bool(screen.query("LineList")), KeyContext.PAGE: bool(screen.query(Page))}
    own_contexts = [context for context in getattr(screen, "WHERE", ()) if context not in present_widgets]
    return [*own_contexts, *(context for context, present in present_widgets.items() if present), KeyContext.CONSOLE]


class HelpRow(NamedTuple):
    """A line of the help."""

    line: Content
    key: Key | None = None
    """The key that the line describes, if it is one; a description that is wrapped has several lines."""


class _Entry(NamedTuple):
    """A key or a letter, on as many lines as its description takes."""

    cells: tuple[Content, ...]
    key: Key | None = None

    def rows(self, width: int) -> list[HelpRow]:
        return [HelpRow(line, self.key) for line in Table([self.cells]).lines(width)]

    def contains(self, terms: Iterable[str]) -> bool:
        text = " ".join(cell.plain for cell in self.cells).lower()
        return all(term in text for term in terms)


def help_rows(contexts: Iterable[KeyContext], keys: Iterable[Key], terms: Iterable[str], width: int) -> list[HelpRow]:
    """Return the lines of the help on what contains all words, under their titles, in at most `width` cells."""
    contexts, keys, terms = list(contexts), list(keys), list(terms)
    rows: list[HelpRow] = []

    def add(title: str, entries: Iterable[_Entry]) -> None:
        found = [row for entry in entries if entry.contains(terms) for row in entry.rows(width)]
        if found:
            rows.extend([HelpRow(Content.styled(title, "strong")), *found, HelpRow(Content(""))])

    for context in contexts:
        active_keys = (_without_overridden(key, keys, contexts) for key in keys if key.context is context)
        add(
            context.value,
            (
                _Entry((_key_cell(" ".join(format_keys(key))), Content(key.description)), key)
                for key in active_keys
                if key.keys
            ),
        )
    add(labels.LETTERS, map(_Entry, _letter_rows(contexts)))
    return rows[:-1]


class HelpDialog(Dialog[Key | None], inherit_bindings=False):
    """The help over a screen: its keys, narrowed by a filter. Return the key to press, or None if it is closed."""

    CSS_PATH = stylesheet_path("help.tcss")
    WHERE = (KeyContext.LIST, KeyContext.HELP_SEARCH, KeyContext.HELP)
    BINDINGS = [*bindings(KeyContext.HELP_SEARCH), *bindings(KeyContext.HELP)]
    AUTO_FOCUS = "LineList"

    rows: getters.query_one[LineList[HelpRow]] = getters.query_one(LineList)
    narrowed = getters.query_one(NarrowedList)

    def __init__(self, contexts: Iterable[KeyContext] = KeyContext, keys: Iterable[Key] = KEYS) -> None:
        super().__init__()
        self._contexts, self._keys = list(contexts), list(keys)

    def compose(self) -> ComposeResult:
        yield NarrowedList(LineList(_draw_help_row), labels.NARROW_PLACEHOLDER, id="help")

    def on_mount(self) -> None:
        set_title(self.rows, labels.help_title())

    def on_resize(self) -> None:
        """Wrap the lines to the new width, which the list has after the layout; so the first lines are shown, too."""
        self.call_after_refresh(self._show_rows)

    @on(NarrowedList.Narrowed)
    def _show_rows(self) -> None:
        rows = help_rows(self._contexts, self._keys, self.narrowed.terms, self.rows.drawable_size.width - 1)
        # The first key, not its title; all of it is shown from the top.
        first = next((index for index, row in enumerate(rows) if row.key is not None), 0)
        self.rows.show(rows, first)
        self.rows.scroll_home(animate=False)
        if not rows:
            self.rows.show_note([paragraph(labels.NO_MATCH)])

    def action_filter(self) -> None:
        """Type words that the lines must contain."""
        self.narrowed.open_line()

    @on(Input.Submitted)
    @on(LineList.Opened)
    def _choose(self) -> None:
        """Close, and press the selected key; a line that is no key does nothing."""
        if self.rows.current is not None and self.rows.current.key is not None:
            self.close(self.rows.current.key)

    def action_close(self) -> None:
        """Clear the filter; without one, close."""
        if not self.narrowed.clear():
            self.close(None)


def _draw_help_row(row: HelpRow, width: int) -> Content:
    return row.line.truncate(width, ellipsis=True)
