"""Tests for the user's own keys: read from the settings, validated at start, used wherever keys are displayed."""

import re
from pathlib import Path

import pytest

from console_driver import NOW, ConsoleDriver, FakeDesk, wait_until_idle
from copydesk.errors import SettingsError
from copydesk.settings import load
from copydesk.tui.app import Console
from copydesk.tui.keymap import apply_custom_keys, custom_keys
from copydesk.tui.keys import KEYS, KeyContext, format_keys, parse_key
from copydesk.tui.preferences import Preferences

FILE = Path("settings.toml")


def refusal_message(**keys: str) -> str:
    """Return the error message for these keys."""
    with pytest.raises(SettingsError) as caught:
        apply_custom_keys({action.replace("__", "."): key for action, key in keys.items()}, FILE)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def load_keys(home: Path, text: str) -> dict[str, str]:
    """Return the keys of a settings file with this text."""
    (home / "settings.toml").write_text(text)
    return load({}, home).keys


def keys_of(action: str, own_keys_by_action: dict[str, str]) -> str:
    """Return an action's keys under the user's settings."""
    return next(key.keys for key in apply_custom_keys(own_keys_by_action, FILE) if key.id == action)


# The settings file


@pytest.mark.parametrize("line", ['review.approve = "y,f2"', '"review.approve" = "y,f2"'])
def test_action_id_may_be_quoted(tmp_path: Path, line: str) -> None:
    assert load_keys(tmp_path, f"[keys]\n{line}\n[pipeline]\nmax_drafts = 3\n") == {"review.approve": "y,f2"}


def test_missing_section_keeps_default_keys(tmp_path: Path) -> None:
    assert load_keys(tmp_path, "") == {}
    assert apply_custom_keys({}, FILE) == KEYS


def test_non_text_key_is_refused_with_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"line 3: keys\.review\.approve is not text"):
        load_keys(tmp_path, "[keys]\n\nreview.approve = 1\n")


# Validation


def test_unknown_action_is_refused_with_suggestion() -> None:
    assert refusal_message(review__aprove="y") == (
        "settings.toml: [keys] there is no action 'review.aprove'. Did you mean review.approve?"
    )


@pytest.mark.parametrize("keys", ["", "ctrl+", "hyperspace+a", "ab", "a,,b", "f99"])
def test_unknown_key_is_refused(keys: str) -> None:
    assert "is no key" in refusal_message(review__approve=keys)


@pytest.mark.parametrize("keys", ["ctrl+y", "f2", "comma", "?", "space", "alt+x", "apostrophe", "é"])
def test_keyboard_keys_are_accepted(keys: str) -> None:
    assert keys_of("experiments.archive", {"experiments.archive": keys, "console.help": "f1"}) == keys


def test_conflict_on_one_screen_names_both_actions() -> None:
    message = refusal_message(review__approve="r")
    assert "review.approve (Approve)" in message
    assert "review.reject (Reject, with an optional reason)" in message


def test_key_aliases_conflict() -> None:
    assert "console.help" in refusal_message(review__approve="question_mark")


@pytest.mark.parametrize("written", ["@", "at", "Ctrl+R"])
def test_conflict_names_key_as_written(written: str) -> None:
    assert f" {written} is both review." in refusal_message(review__approve=f"f2, {written}")


@pytest.mark.parametrize(
    ("printed", "name"),
    [("Enter", "enter"), ("Ctrl+D", "ctrl+d"), ("PgDn", "pagedown"), ("Esc", "escape"), ("↓", "down"), ("G", "G")],
)
def test_printed_labels_are_accepted(printed: str, name: str) -> None:
    assert parse_key(printed) == name
    assert keys_of("jump.leave", {"jump.leave": printed}) == name


def test_label_of_each_key_means_that_key() -> None:
    names = {(name, label) for key in KEYS for name, label in zip(key.keys.split(","), format_keys(key), strict=True)}
    assert {(parse_key(label), label) for _, label in names} == names


def test_list_key_conflicts_with_its_screen() -> None:
    assert "list.down" in refusal_message(review__approve="j")


def test_console_key_conflicts_on_all_screens() -> None:
    assert "console.quit" in refusal_message(schedule__open="q")


def test_key_of_other_screen_is_free() -> None:
    assert keys_of("sources.new", {"sources.new": "a,A", "sources.example_a": "1,f3", "console.review": "f5"}) == "a,A"


def test_two_actions_may_swap_keys() -> None:
    swapped = {"review.approve": "r", "review.reject": "a"}
    assert keys_of("review.approve", swapped) == "r"


def test_duplicates_of_default_table_are_allowed() -> None:
    apply_custom_keys({"list.first": "g", "page.top": "g,f6"}, FILE)


def test_only_changed_keys_are_passed_to_console() -> None:
    assert custom_keys(
        apply_custom_keys({"review.approve": "y", "review.copy_text": "t", "review.undo": "u"}, FILE)
    ) == {
        "review.approve": "y",
        "review.copy_text": "t",
    }


# In the running console


async def test_bindings_footer_and_help_follow_own_keys() -> None:
    custom = {"review.approve": "f2", "console.help": "f1,f3"}
    desk = FakeDesk(3)
    preferences = Preferences(keys=apply_custom_keys(custom, FILE))
    app = Console(desk.open, clock=lambda: NOW, preferences=preferences)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 60)) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        assert "F2 approve" in ui.lines[-1]
        assert "F1 help" in ui.lines[-1]
        await ui.press("question_mark")
        assert "Keys · q close" not in ui.text
        await ui.press("f3")
        assert re.search(r"F2 {3,}Approve", ui.text)


async def test_replaced_keys_do_nothing_and_swapped_keys_work() -> None:
    actions: list[str] = []
    custom = {"review.undo": "ctrl+r", "review.redo": "u", "review.archive": "f8"}
    desk = FakeDesk(3)
    preferences = Preferences(keys=apply_custom_keys(custom, FILE))
    app = Console(desk.open, clock=lambda: NOW, preferences=preferences)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until_idle(pilot)
        for name in ("undo", "redo", "archive"):
            setattr(app.screen, f"action_{name}", lambda name=name: actions.append(name))
        await ConsoleDriver(app, pilot).press("u", "x", "ctrl+r", "f8")
    assert actions == ["redo", "undo", "archive"]


def test_default_keys_are_valid() -> None:
    for key in KEYS:
        if key.context is not KeyContext.SOURCES:
            apply_custom_keys({key.id: key.keys}, FILE)
    assert all(format_keys(key) for key in KEYS)
