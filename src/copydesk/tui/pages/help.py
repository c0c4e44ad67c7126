"""The help page: keys, and the meaning of the letters in lists."""

from collections.abc import Iterable, Iterator

from textual.content import Content

from copydesk.tui.keys import KEYS, SCREEN_NAMES, Key, Where, shown
from copydesk.tui.layout import Block, Table, plain
from copydesk.tui.pages.row import confidence
from copydesk.tui.pages.source_row import HEALTH, OFF
from copydesk.tui.words import FLAG, FORMAT, STATUS, Sign

WIDTH = 14
"""Cells of the first column, the same in every table."""
_SAMPLE_CONFIDENCE = 0.7
"""Confidence of the sample bar."""


def help_page(places: Iterable[Where], keys: Iterable[Key] = KEYS) -> list[Block]:
    """Return the keys of `contexts`, in that order, then the letters used there."""
    places, keys = list(places), list(keys)
    blocks: list[Block] = []
    for where in places:
        active_keys = (_without_overridden(key, keys, places) for key in keys if key.where is where)
        rows = [(_key_cell(" ".join(shown(key))), Content(key.description)) for key in active_keys if key.keys]
        blocks += [plain(where.value, "strong"), Table(rows), plain()]
    if letters := list(_letter_rows(places)):
        blocks += [plain("Letters", "strong"), Table(letters)]
    return blocks


def _without_overridden(key: Key, keys: Iterable[Key], places: Iterable[Where]) -> Key:
    """Return a console-wide key without the bindings that the screen uses for something else; other keys unchanged."""
    if key.where is not Where.CONSOLE:
        return key
    screens = {where for where in places if where.name.lower() in SCREEN_NAMES}
    # A screen's own binding wins over the console's. Keys for examples do so on a new desk only, which is not the usual
    # case that the help describes.
    overridden = {
        name for other in keys if other.where in screens and not _is_rare(other) for name in other.keys.split(",")
    }
    return key._replace(keys=",".join(name for name in key.keys.split(",") if name not in overridden))


def _is_rare(key: Key) -> bool:
    """Return True for a key that acts on a new desk only."""
    return key.action.startswith("take_example")


def _key_cell(text: str) -> Content:
    return Content.styled(f"{text:<{WIDTH}}", "key")


def _signs(places: Iterable[Where]) -> Iterator[Sign]:
    """Yield the signs used in the rows of these places."""
    if Where.SOURCES in places:
        yield from (*HEALTH.values(), OFF)
    if Where.REVIEW in places or Where.SCHEDULE in places:
        yield from STATUS.values()
    if Where.REVIEW in places:
        yield from FLAG.values()
    if Where.REVIEW in places or Where.ENGAGEMENT in places:
        yield from FORMAT.values()


def _letter_rows(places: Iterable[Where]) -> Iterator[tuple[Content, ...]]:
    meanings: dict[tuple[str, str], list[str]] = {}
    for sign in _signs(places):
        # The same letter in the same colour may mean several things: list them on one line.
        meanings.setdefault((sign.letter, sign.role), []).append(sign.words)
    for (letter, role), descriptions in meanings.items():
        yield Content.styled(f"{letter:<{WIDTH}}", role), Content(", ".join(descriptions))
    if Where.REVIEW in places:
        gauge = confidence(_SAMPLE_CONFIDENCE, with_bar=True)
        yield gauge.pad_right(WIDTH - gauge.cell_length), Content("how likely you approve it, by its checks, of 100")
