"""Keys of the user's own: read from the settings, checked at the start, followed wherever keys are shown."""

import re
from pathlib import Path

import pytest

from copydesk.errors import SettingsError
from copydesk.settings import load
from copydesk.tui.app import Console
from copydesk.tui.keymap import own_keys, with_own_keys
from copydesk.tui.keys import KEYS, Where, shown
from tui_fixtures import NOW, FakeDesk, Seen, settled

FILE = Path("settings.toml")


def refused(**own: str) -> str:
    """Why these keys are refused."""
    with pytest.raises(SettingsError) as caught:
        with_own_keys({name.replace("__", "."): keys for name, keys in own.items()}, FILE)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def read(home: Path, text: str) -> dict[str, str]:
    """The keys that a settings file has."""
    (home / "settings.toml").write_text(text)
    return load({}, home).keys


def keys_of(action: str, own: dict[str, str]) -> str:
    """An action's keys, when the user has these."""
    return next(key.keys for key in with_own_keys(own, FILE) if key.id == action)


# The settings file.


@pytest.mark.parametrize("line", ['review.approve = "y,f2"', '"review.approve" = "y,f2"'])
def test_an_actions_id_may_stand_in_quotes_or_not(tmp_path: Path, line: str) -> None:
    assert read(tmp_path, f"[keys]\n{line}\n[pipeline]\nmax_drafts = 3\n") == {"review.approve": "y,f2"}


def test_without_the_section_the_keys_are_those_of_the_table(tmp_path: Path) -> None:
    assert read(tmp_path, "") == {}
    assert with_own_keys({}, FILE) == KEYS


def test_what_is_no_text_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"line 3: keys\.review\.approve is no text"):
        read(tmp_path, "[keys]\n\nreview.approve = 1\n")


# The check.


def test_an_action_that_does_not_exist_is_refused_with_what_was_meant() -> None:
    assert refused(review__aprove="y") == (
        "settings.toml: [keys] there is no action 'review.aprove'. Did you mean review.approve?"
    )


@pytest.mark.parametrize("keys", ["", "ctrl+", "hyperspace+a", "ab", "a,,b", "f99"])
def test_what_no_keyboard_has_is_refused(keys: str) -> None:
    assert "is no key" in refused(review__approve=keys)


@pytest.mark.parametrize("keys", ["ctrl+y", "f2", "comma", "?", "space", "alt+x", "semicolon", "é"])
def test_what_a_keyboard_has_is_taken(keys: str) -> None:
    assert keys_of("experiments.archive", {"experiments.archive": keys, "console.help": "f1"}) == keys


def test_two_actions_on_one_key_of_one_screen_are_refused_both_named() -> None:
    said = refused(review__approve="r")
    assert "review.approve (approve)" in said
    assert "review.reject (reject;" in said


def test_the_same_key_by_another_name_is_the_same_key() -> None:
    assert "console.help" in refused(review__approve="question_mark")


def test_a_key_of_the_list_that_lies_on_the_screen_is_taken_already() -> None:
    assert "list.down" in refused(review__approve="j")


def test_a_key_of_the_console_is_taken_on_every_screen() -> None:
    assert "console.quit" in refused(schedule__open="q")


def test_a_key_of_another_screen_is_free() -> None:
    assert keys_of("sources.new", {"sources.new": "a,A", "sources.example_a": "1,f3", "console.review": "f5"}) == "a,A"


def test_two_actions_may_change_places() -> None:
    own = {"review.approve": "r", "review.reject": "a"}
    assert keys_of("review.approve", own) == "r"


def test_what_the_table_has_twice_stays_allowed() -> None:
    with_own_keys({"experiments.conclude": "c", "console.compose": "c,f6"}, FILE)


def test_only_what_differs_is_told_to_the_console() -> None:
    assert own_keys(with_own_keys({"review.approve": "y", "review.copy_text": "t", "review.undo": "u"}, FILE)) == {
        "review.approve": "y",
        "review.copy_text": "t",
    }


# In the running console.


async def test_the_keys_the_footer_and_the_help_follow() -> None:
    own = {"review.approve": "f2", "console.help": "f1,f3"}
    desk = FakeDesk(3)
    app = Console(desk.open, clock=lambda: NOW, keys=with_own_keys(own, FILE))  # type: ignore[arg-type]
    async with app.run_test(size=(120, 60)) as pilot:
        await settled(pilot)
        seen = Seen(app, pilot)
        assert "f2 approve" in seen.lines[-1]
        assert "f1 help" in seen.lines[-1]
        await seen.press("question_mark")
        assert "Keys · q closes" not in seen.text
        await seen.press("f3")
        assert re.search(r"f2 {3,}approve", seen.text)


async def test_an_old_key_does_nothing_any_more_and_two_may_have_changed_places() -> None:
    done: list[str] = []
    own = {"review.undo": "ctrl+r", "review.redo": "u", "review.archive": "f8"}
    desk = FakeDesk(3)
    app = Console(desk.open, clock=lambda: NOW, keys=with_own_keys(own, FILE))  # type: ignore[arg-type]
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        for name in ("undo", "redo", "archive"):
            setattr(app.screen, f"action_{name}", lambda name=name: done.append(name))
        await Seen(app, pilot).press("u", "x", "ctrl+r", "f8")
    assert done == ["redo", "undo", "archive"]


def test_every_key_of_the_table_is_one_that_may_be_given() -> None:
    for key in KEYS:
        if key.where is not Where.SOURCES:
            with_own_keys({key.id: key.keys}, FILE)
    assert all(shown(key) for key in KEYS)
