"""The keys, and what the letters mean."""

from collections.abc import Iterable, Iterator

from textual.content import Content

from copydesk.tui.keys import KEYS, SCREEN_NAMES, Key, Where, shown
from copydesk.tui.layout import Block, Table, plain
from copydesk.tui.pages.row import confidence
from copydesk.tui.pages.source_row import HEALTH, OFF
from copydesk.tui.words import FLAG, FORMAT, STATUS, Sign

WIDTH = 14
"""Cells of the first column, the same in every table."""
_SAMPLE = 0.7
"""A confidence, to show how one is drawn."""


def help_page(places: Iterable[Where], keys: Iterable[Key] = KEYS) -> list[Block]:
    """The keys of these places, one after the other, then the letters that are to be seen there."""
    places, keys = list(places), list(keys)
    blocks: list[Block] = []
    for where in places:
        here = (_left(key, keys, places) for key in keys if key.where is where)
        rows = [(_keys(" ".join(shown(key))), Content(key.description)) for key in here if key.keys]
        blocks += [plain(where.value, "strong"), Table(rows), plain()]
    if letters := list(_letters(places)):
        blocks += [plain("Letters", "strong"), Table(letters)]
    return blocks


def _left(key: Key, keys: Iterable[Key], places: Iterable[Where]) -> Key:
    """A key that works everywhere without those that do something else on the screen; others as they are."""
    if key.where is not Where.CONSOLE:
        return key
    screens = {where for where in places if where.name.lower() in SCREEN_NAMES}
    taken = {name for each in keys if each.where in screens and not _seldom(each) for name in each.keys.split(",")}
    return key._replace(keys=",".join(name for name in key.keys.split(",") if name not in taken))


def _seldom(key: Key) -> bool:
    """Whether it does something on a new desk only."""
    return key.action.startswith("take_example")


def _keys(text: str) -> Content:
    return Content.styled(f"{text:<{WIDTH}}", "key")


def _signs(places: Iterable[Where]) -> Iterator[Sign]:
    """The letters of the rows that these places have."""
    if Where.SOURCES in places:
        yield from (*HEALTH.values(), OFF)
    if Where.REVIEW in places or Where.SCHEDULE in places:
        yield from STATUS.values()
    if Where.REVIEW in places:
        yield from FLAG.values()
    if Where.REVIEW in places or Where.ENGAGEMENT in places:
        yield from FORMAT.values()


def _letters(places: Iterable[Where]) -> Iterator[tuple[Content, ...]]:
    meanings: dict[tuple[str, str], list[str]] = {}
    for sign in _signs(places):
        meanings.setdefault((sign.letter, sign.role), []).append(sign.words)
    for (letter, role), words in meanings.items():
        yield Content.styled(f"{letter:<{WIDTH}}", role), Content(", ".join(words))
    if Where.REVIEW in places:
        gauge = confidence(_SAMPLE, with_bar=True)
        yield gauge.pad_right(WIDTH - gauge.cell_length), Content("how likely you approve it, by its checks, of 100")
