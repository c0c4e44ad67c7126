"""Tests for text typed while the database is slow or locked: it is kept for what opens, or said."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console_driver import ConsoleDriver
from copydesk.errors import StoreBusyError
from copydesk.model.draft import Status
from copydesk.model.schedule import Slot
from copydesk.tui.compose import actions as compose_actions
from copydesk.tui.compose.dialog import ComposeDialog
from copydesk.tui.dialogs.base import PageDialog
from copydesk.tui.dialogs.fields import FieldsDialog
from copydesk.tui.review.dialogs import EditDialog, FilterDialog
from copydesk.tui.runtime import desk_tasks, key_buffer
from copydesk.tui.schedule.actions import PickDraftDialog, PlanDialog
from copydesk.tui.setup.connect_dialogs import NameDialog
from copydesk.tui.setup.voice_dialog import VoiceDialog
from copydesk.tui.sources.source_dialogs import SourceDialog
from copydesk.tui.widgets.inputs import SafeTextArea
from delayed_responses import DelayedResponse, press_without_waiting, wait_until
from review_driver import TEXTS, open_review
from schedule_driver import fill_schedule, open_schedule
from setup_driver import add_sample_setup, open_setup
from sources_driver import add_three_sources


@pytest.fixture(autouse=True)
def no_typing_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Typing ends at once."""
    monkeypatch.setattr(key_buffer, "TYPING_PAUSE", 0)


def make_slow(ui: ConsoleDriver) -> None:
    """Let the time pass after which an operation is slow."""
    for operation in [*ui.app.type_ahead._active_holds]:
        ui.app.type_ahead._mark_slow(operation)


async def type_while_slow(ui: ConsoleDriver, held: DelayedResponse, text: str, *, opening_key: str = "") -> None:
    """Press the opening key and type `text` while its data is read slowly."""
    if opening_key:
        ui.app.simulate_key(opening_key)
    await held.wait_until_called()
    half = len(text) // 2
    for character in text[:half]:
        ui.app.simulate_key(character)
    await wait_until(lambda: len(ui.app.type_ahead._held) >= half, lambda: ui.pilot.pause(0))
    make_slow(ui)
    for character in text[half:]:
        ui.app.simulate_key(character)
    await wait_until(lambda: len(ui.app.type_ahead._held) == len(text), lambda: ui.pilot.pause(0))


def raise_busy(target: Any, name: str) -> DelayedResponse:
    """Make the method fail, once the returned response is released, as if the database stayed locked."""

    async def fail(*_: object, **__: object) -> None:
        raise StoreBusyError

    setattr(target, name, fail)
    return DelayedResponse(target, name)


def area_text(ui: ConsoleDriver) -> str:
    return ui.app.screen.query(SafeTextArea).first().text


# What opens


async def test_text_reaches_editor_behind_locked_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_tasks, "MAX_WRITE_HOLD", 0)
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        other = sqlite3.connect(tmp_path / "copydesk.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        first, second = review.screen.queue.window.rows
        await press_and_hold(review, "a", "e", *" quick")
        other.execute("ROLLBACK")
        other.close()
        await review.wait()
        assert isinstance(review.app.screen, EditDialog)
        assert area_text(review) == f"{second.text} quick"
        assert await review.get_status(first.id) is Status.APPROVED


async def press_and_hold(ui: ConsoleDriver, opening_key: str, *keys: str) -> None:
    """Press keys of which the second opens something that must wait; all later ones are held."""
    for key in (opening_key, *keys):
        ui.app.simulate_key(key)
    await wait_until(lambda: len(ui.app.type_ahead._held) == len(keys) - 1, lambda: ui.pilot.pause(0))


REVIEW_DIALOGS = [
    ("e", lambda desk: (desk.drafts, "text_limits"), EditDialog),
    ("f", lambda desk: (desk.sources, "list"), FilterDialog),
    ("H", lambda desk: (desk.drafts, "describe_history"), PageDialog),
    ("c", lambda _: (compose_actions.AutosavedText, "load"), ComposeDialog),
]


@pytest.mark.parametrize(("key", "slow", "dialog"), REVIEW_DIALOGS)
async def test_review_key_keeps_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, slow: Callable[[Any], Any], dialog: type[object]
) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        held = delay(monkeypatch, slow(review.desk))
        await type_while_slow(review, held, "3", opening_key=key)
        assert any("Still loading" in toast for toast in review.toasts)
        held.released.set()
        await review.wait()
        assert isinstance(review.app.screen, dialog)
        if issubclass(dialog, EditDialog | ComposeDialog):
            assert area_text(review).endswith("3")


class _Gate:
    """Delays a method of a class, for `DelayedResponse`."""

    async def wait(self) -> None:
        """Return at once."""


def delay(monkeypatch: pytest.MonkeyPatch, method: tuple[Any, str]) -> DelayedResponse:
    """Delay a method of an object, or of a class until the end of the test."""
    target, name = method
    if not isinstance(target, type):
        return DelayedResponse(target, name)
    original, gate = getattr(target, name), _Gate()
    held = DelayedResponse(gate, "wait")

    async def wait(self: object) -> object:
        await gate.wait()
        return await original(self)

    monkeypatch.setattr(target, name, wait)
    return held


@pytest.mark.parametrize(
    ("key", "slow", "dialog"),
    [
        ("s", lambda desk: (desk.drafts, "list"), PickDraftDialog),
        ("Q", lambda desk: (desk.schedule, "auto_schedule"), PlanDialog),
    ],
)
async def test_schedule_key_keeps_text(
    tmp_path: Path, key: str, slow: Callable[[Any], Any], dialog: type[object]
) -> None:
    await fill_schedule(tmp_path, slots=[Slot(day_of_week=1, hour=9, minute=0)], approved=1)
    async with open_schedule(tmp_path) as ui:
        await ui.press("]")
        held = DelayedResponse(*slow(ui.app.desk))
        await type_while_slow(ui, held, "3j", opening_key=key)
        held.released.set()
        await ui.wait()
        assert isinstance(ui.app.screen, dialog)
        assert ui.app.current_mode == "schedule"


async def test_voice_key_keeps_text(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press("j")
        assert ui.app.desk is not None
        held = DelayedResponse(ui.app.desk.voice, "get")
        await type_while_slow(ui, held, "3q", opening_key="e")
        held.released.set()
        await ui.wait()
        assert isinstance(ui.app.screen, VoiceDialog)
        assert area_text(ui).startswith("3q")


async def test_platform_list_and_form_keep_keys(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        assert ui.app.desk is not None
        held = DelayedResponse(ui.app.desk._context.platforms, "load")
        await ui.press("A")
        assert isinstance(ui.app.screen, NameDialog)
        ui.app.simulate_key("enter")
        await type_while_slow(ui, held, "q3")
        held.released.set()
        await ui.wait()
        form = ui.app.screen
        assert isinstance(form, FieldsDialog)
        assert next(form.inputs).value.endswith("q3")


async def test_screen_keeps_keys_until_loaded(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_three_sources, key="1") as ui:
        assert ui.app.desk is not None
        held = DelayedResponse(ui.app.desk.sources, "list_overviews")
        await type_while_slow(ui, held, "jex", opening_key="3")
        held.released.set()
        await ui.wait()
        assert isinstance(ui.app.screen, SourceDialog)


# What does not open


@pytest.mark.parametrize(("key", "slow", "_"), REVIEW_DIALOGS[:3])
async def test_text_of_failed_key_is_said(tmp_path: Path, key: str, slow: Callable[[Any], Any], _: object) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        held = raise_busy(*slow(review.desk))
        await type_while_slow(review, held, "aqua", opening_key=key)
        held.released.set()
        await review.wait()
        assert review.app.screen is review.screen
        assert not review.app._exit
        assert str(StoreBusyError()) in review.toasts
        assert "Discarded, typed while loading: “aqua”" in review.toasts
        assert (await review.desk.drafts.counts()).by_status[Status.APPROVED] == 0


async def test_letters_after_failure_are_no_commands(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        remaining = ["q", "a"]

        async def type_on() -> None:
            if remaining:
                await _type_one(review, remaining.pop(0))

        held = raise_busy(review.desk.sources, "list")
        await type_while_slow(review, held, "aq", opening_key="f")
        review.app.type_ahead._typing_pause = type_on  # type: ignore[method-assign]
        held.released.set()
        await review.wait()
        assert "Discarded, typed while loading: “aqqa”" in review.toasts


async def _type_one(ui: ConsoleDriver, key: str) -> None:
    count = len(ui.app.type_ahead._held)
    ui.app.simulate_key(key)
    await wait_until(lambda: len(ui.app.type_ahead._held) > count, lambda: ui.pilot.pause(0))


async def test_keys_of_unloaded_screen_are_said(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_three_sources, key="1") as ui:
        assert ui.app.desk is not None
        held = raise_busy(ui.app.desk.sources, "list_overviews")
        await type_while_slow(ui, held, "jDy", opening_key="3")
        held.released.set()
        await ui.wait()
        assert "Discarded, typed while loading: “jDy”" in ui.toasts


async def test_escape_cancels_slow_key(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        held = DelayedResponse(review.desk.sources, "list")
        await type_while_slow(review, held, "ab", opening_key="f")
        await press_without_waiting(review, "escape")
        assert "Discarded, typed while loading: “ab”" in review.toasts
        held.released.set()
        await review.wait()
        assert review.app.screen is review.screen


async def test_escape_leaves_loading_editor(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        held = DelayedResponse(review.desk.drafts, "text_limits")
        await type_while_slow(review, held, "ab", opening_key="e")
        review.app.simulate_key("escape")
        await review.wait_for(lambda: review.app.screen is review.screen)
        held.released.set()
        await review.wait()
        assert review.app.screen is review.screen
        assert "Discarded, typed while loading: “ab”" in review.toasts


async def test_failed_editor_closes_on_closed_desk(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        review.app.desk, review.app.open_error = None, StoreBusyError()
        review.app.simulate_key("e")
        await review.wait()
        assert review.app.screen is review.screen
        review.app.desk = review.desk


# Forms


async def test_keys_typed_during_slow_save_are_said(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        first, second = review.screen.queue.window.rows
        await review.press("e", "x")
        held = DelayedResponse(review.desk.drafts, "edit")
        await type_while_slow(review, held, "ja", opening_key="ctrl+s")
        held.released.set()
        await review.wait()
        assert (await review.desk.drafts.get(first.id)).text == f"{first.text}x"
        assert await review.get_status(second.id) is not Status.APPROVED
        assert "Discarded, typed while loading: “ja”" in review.toasts


async def test_early_escape_leaves_slow_key(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        held = DelayedResponse(review.desk.drafts, "text_limits")
        review.app.simulate_key("e")
        await held.wait_until_called()
        review.app.simulate_key("escape")
        await wait_until(lambda: review.app.type_ahead._held, lambda: review.pilot.pause(0))
        make_slow(review)
        await review.wait_for(lambda: review.app.screen is review.screen)
        held.released.set()
        await review.wait()
        assert review.app.screen is review.screen


async def test_keys_after_refused_save_are_said(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        first, _ = review.screen.queue.window.rows
        await review.press("e", "x")
        held = raise_busy(review.desk.drafts, "edit")
        await type_while_slow(review, held, "ja", opening_key="ctrl+s")
        held.released.set()
        await review.wait()
        assert area_text(review) == f"{first.text}x"
        assert "Discarded, typed while loading: “ja”" in review.toasts


async def test_discarded_password_is_not_shown(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        assert ui.app.desk is not None
        await ui.press("A", "enter")
        assert isinstance(ui.app.screen, FieldsDialog)
        held = raise_busy(ui.app.desk.accounts, "connect")
        await type_while_slow(ui, held, "word", opening_key="ctrl+s")
        held.released.set()
        await ui.wait()
        assert "Discarded, typed while loading: 4 keys" in ui.toasts


async def test_password_for_a_form_that_did_not_open_is_not_shown(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        assert ui.app.desk is not None
        await ui.press("A")
        held = raise_busy(ui.app.desk.accounts, "connect_method")
        await type_while_slow(ui, held, "word", opening_key="enter")
        held.released.set()
        await ui.wait()
        assert "Discarded, typed while loading: 4 keys" in ui.toasts


async def test_early_yes_to_posting_is_said(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=TEXTS[:1]) as review:
        held = DelayedResponse(review.desk.posting, "targets")
        review.app.simulate_key("p")
        await held.wait_until_called()
        await press_without_waiting(review, "y")
        assert "Press y once they are shown" in review.text
        held.released.set()
        await review.wait()


async def test_text_typed_before_external_editor_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "true")
    async with open_review(tmp_path, texts=TEXTS[:1]) as review:
        held = DelayedResponse(review.desk.drafts, "get")
        review.app.simulate_key("E")
        await held.wait_until_called()
        await press_without_waiting(review, *"hi")
        held.released.set()
        await review.wait()
        assert "Discarded, typed while loading: “hi”" in review.toasts
