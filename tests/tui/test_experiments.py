"""The screen Experiments before a real desk: the list, the variants side by side, what can be done."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from copydesk.errors import StoreBusyError
from copydesk.tui.layout import lay_out
from copydesk.tui.pages.experiment import Column, SideBySide
from copydesk.tui.themes import LIGHT
from tried_desk import LENGTHS, tried_console, tried_desk
from tui_fixtures import FakeDesk, Seen, console, settled

Compare = Callable[..., bool]
ESCAPE = "\x1b]0;owned\x07"
HOSTILE = "[/nope][@click=app.quit]x[/]\u202eevil 漢字"


@asynccontextmanager
async def shown(home: Path, size: tuple[int, int] = (120, 40), **options: Any) -> AsyncIterator[Seen]:
    """The screen, read."""
    app = tried_console(home, **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        seen = Seen(app, pilot)
        await seen.press("4")
        yield seen


def line(seen: Seen, begin: str) -> list[str]:
    """The words of the line that has these in it, from there on."""
    return next(each[each.index(begin) :] for each in seen.lines if begin in each).split()


async def test_those_that_go_on_stand_first_and_each_says_where_it_is(tmp_path: Path) -> None:
    async with shown(tmp_path, (80, 24)) as seen:
        assert [each[1:].split()[:3] for each in seen.lines[2:6]] == [
            ["A", "active", "hashtags"],
            ["W", "waits", "hook"],
            ["C", "concluded", "hook"],
            ["x", "archived", "link"],
        ]
        assert seen.lines[2].startswith("▌")


async def test_variants_stand_side_by_side_as_they_were_counted(tmp_path: Path) -> None:
    async with shown(tmp_path) as seen:
        assert line(seen, "value ") == ["value", "0", "2", "5"]
        assert line(seen, "drafts ") == ["drafts", "4", "of", "4", "4", "of", "4", "2", "of", "4"]
        assert line(seen, "approved ") == ["approved", "3", "(75%)", "2", "(50%)", "1", "(50%)"]
        assert line(seen, "impressions ") == ["impressions", "4,050", "2,310", "–"]
        assert line(seen, "rate ") == ["rate", "1.56%", "3.68%", "–"]
        assert "no verdict is made" in seen.text
        assert "├" not in seen.text


async def test_one_that_waits_says_for_which_and_that_it_is_written_alike(tmp_path: Path) -> None:
    async with shown(tmp_path) as seen:
        await seen.press("j")
        assert "It waits until How many hashtags is concluded" in seen.text
        assert "The offline writer cannot follow hook as set here" in seen.text
        assert "as always" in seen.text
        assert "None of its drafts is posted yet" in seen.text


async def test_a_winner_that_was_named_is_said(tmp_path: Path) -> None:
    async with shown(tmp_path) as seen:
        await seen.press("j", "j")
        assert "You concluded it with asks as the winner." in seen.text
        assert "asks ✓" in seen.text
        await seen.press("j")
        assert "You concluded it without a winner." in seen.text


async def test_a_new_one_is_begun_from_the_form_and_the_cursor_goes_to_it(tmp_path: Path) -> None:
    async with shown(tmp_path, full=False) as seen:
        assert "There is no experiment yet." in seen.text
        await seen.press("n", *"Links", "tab", *"hash", "right", "tab", *"none=0", "down", *"3", "enter")
        assert "Began Links." in seen.toasts
        assert line(seen, "value ") == ["value", "0", "3"]
        await seen.press("n", *"More", "tab", *"tone", "tab", *"dry", "tab", *"warm=like a friend", "enter")
        assert "More" in next(each for each in seen.lines if "▌" in each)
        assert "It waits until Links is concluded" in seen.text
        assert "like a friend" in seen.text
    async with tried_desk(tmp_path, full=False) as desk:
        second, first = await desk.experiments.list()
        assert [(each.label, each.config) for each in first.variants] == [
            ("none", {"hashtags": 0}),
            ("3", {"hashtags": 3}),
        ]
        assert (second.parameter, second.variants[0].label) == ("tone", "dry")


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (("X", "tab", "tab", "1", "tab", "2"), "Say what differs; for example"),
        (("X", "tab", *"hashtags", "tab", "1"), "takes 2 to 5 entries, not 1"),
        (("X", "tab", *"hashtags", "tab", "1", "tab", "9"), "takes a whole number of 0 to 5"),
        (("X", "tab", *"tone", "tab", *"a=b", "tab", *"a=c"), "'a' is there already"),
        (("tab", *"tone", "tab", "a", "tab", "b"), "name: "),
    ],
)
async def test_what_breaks_a_rule_is_said_in_the_form_and_nothing_typed_is_lost(
    tmp_path: Path, typed: tuple[str, ...], says: str
) -> None:
    async with shown(tmp_path, full=False) as seen:
        await seen.press("n", *typed, "enter")
        assert says in " ".join(seen.text.split())
        assert typed[-1] in line(seen, "another way")[-1] or typed[-1] in line(seen, "control")[-1]
        await seen.press("escape")
        assert "There is no experiment yet." in seen.text


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (("enter",), "You concluded it without a winner."),
        ((*"two", "enter"), "You concluded it with two as the winner."),
        (("b", "enter"), "You concluded it with two as the winner."),
        (("alt+3",), "You concluded it with five as the winner."),
    ],
)
async def test_one_is_concluded_with_or_without_a_winner(tmp_path: Path, answer: tuple[str, ...], says: str) -> None:
    async with shown(tmp_path) as seen:
        await seen.press("c", *answer)
        assert "Concluded How many hashtags." in seen.toasts
        assert says in seen.text
        assert "How many hashtags" in next(each for each in seen.lines if "▌" in each)


@pytest.mark.parametrize("width", [40, 80, 120])
async def test_what_stands_in_an_empty_form_is_said_to_be_an_example(tmp_path: Path, width: int) -> None:
    async with shown(tmp_path, size=(width, 24)) as seen:
        await seen.press("n")
        for words in ("Hashtags", "hashtags", "none = 0", "two = 2"):
            assert f"for example {words}" in seen.text
        empty = seen.app.screen.query(Input).last().get_component_styles("input--placeholder")
        assert empty.text_style.italic


async def test_a_winner_that_takes_no_part_is_refused_and_nothing_happens_where_it_is_left(tmp_path: Path) -> None:
    async with shown(tmp_path) as seen:
        await seen.press("c", "escape")
        assert seen.toasts == []
        await seen.press("c", *"seven", "enter")
        assert "winner: takes one of a, b, c" in seen.toasts[0]
        assert line(seen, "active ")[0] == "active"


async def test_only_a_concluded_one_is_archived_and_only_an_active_one_concluded(tmp_path: Path) -> None:
    async with shown(tmp_path) as seen:
        await seen.press("x")
        assert seen.toasts == ["It is active: only one that is concluded can be archived."]
        await seen.press("j", "j", "c")
        assert seen.toasts[1:] == ["It is concluded: only one that is active can be concluded."]
        await seen.press("x")
        assert "Archived Did asking help?." in seen.toasts
        assert "archived · tries out hook" in seen.text


async def test_five_long_variants_stand_below_each_other_where_there_is_no_room(tmp_path: Path) -> None:
    async with tried_desk(tmp_path, full=False) as desk:
        await desk.experiments.create(LENGTHS)
    async with shown(tmp_path, (40, 60), full=False) as seen:
        assert [each for each in seen.lines if each.strip() == "250 characters"]
        await seen.resize(160, 50)
        assert line(seen, "value ") == ["value", "100", "150", "200", "250", "300"]


def test_columns_have_as_much_room_as_there_is() -> None:
    columns = [Column(name, (("posts", "1"), ("rate", "2.00%"))) for name in ("one", "a name that is far too long")]
    head, posts, rate = (each.plain for each in lay_out([SideBySide(columns)], 60))

    assert len(head) == len(posts) == len(rate) <= 60
    assert head.split()[0] == "one"
    assert head.endswith("…")


async def test_hostile_names_are_shown_harmless(tmp_path: Path) -> None:
    variants = [
        {"id": letter, "label": f"{letter}{HOSTILE}", "config": {"tone": f"{ESCAPE}{HOSTILE * 9}{letter}"}}
        for letter in "ab"
    ]
    async with tried_desk(tmp_path, full=False) as desk:
        await desk.experiments.create({"name": HOSTILE, "parameter": "tone", "variants": variants})
    async with shown(tmp_path, (80, 24), full=False) as seen:
        await seen.press("c", "escape")
        assert "[/nope]" in seen.text
        assert "\x1b" not in seen.text
        assert "\u202e" not in seen.text


@pytest.mark.parametrize("size", [(40, 10), (40, 24), (80, 24), (100, 12), (200, 60)])
async def test_every_size_shows_the_list_and_the_variants(tmp_path: Path, size: tuple[int, int]) -> None:
    async with shown(tmp_path, size) as seen:
        assert "▌A" in seen.text
        await seen.press("tab", "G")
        assert "approved." in seen.text
        assert all(len(each) <= size[0] for each in seen.lines)


def before(*keys: str, theme: str = "") -> Callable[[Any], Any]:
    async def do(pilot: Any) -> None:
        if theme:
            pilot.app.theme = theme
        await settled(pilot)
        for key in ("4", *keys):
            pilot.app.simulate_key(key)
            await settled(pilot)

    return do


@pytest.mark.parametrize("theme", ["", LIGHT.name], ids=["dark", "light"])
def test_snapshot_full(snap_compare: Compare, tmp_path: Path, theme: str) -> None:
    assert snap_compare(tried_console(tmp_path), terminal_size=(120, 36), run_before=before(theme=theme))


@pytest.mark.parametrize("keys", [(), ("tab", "G"), ("n",), ("c",)], ids=["list", "rates", "form", "conclude"])
def test_snapshot_narrow(snap_compare: Compare, tmp_path: Path, keys: tuple[str, ...]) -> None:
    assert snap_compare(tried_console(tmp_path), terminal_size=(80, 24), run_before=before(*keys))


def test_snapshot_empty(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(tried_console(tmp_path, full=False), terminal_size=(80, 24), run_before=before())


def test_snapshot_error(snap_compare: Compare) -> None:
    desk = FakeDesk(0)
    desk.trouble = StoreBusyError(hint="Is Copydesk open elsewhere?")
    assert snap_compare(console(desk), terminal_size=(80, 24), run_before=before())
