"""Tests for keys typed ahead: each waits for the result of the one before."""

import asyncio
from pathlib import Path

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key, Paste

from console_driver import ConsoleDriver, FakeDesk, make_console, open_console, wait_until_idle
from copydesk.model.draft import Status
from copydesk.tui.keymap import textual_key_name
from copydesk.tui.runtime import key_buffer
from copydesk.tui.runtime.coalescer import Coalescer
from copydesk.tui.runtime.key_buffer import Hold, TypeAhead
from copydesk.tui.schedule.actions import PickDraftDialog
from copydesk.tui.schedule.screen import ScheduleScreen
from review_driver import TEXTS, open_review
from schedule_driver import fill_schedule, open_schedule

JOINED_TEXTS = ("👩\u200d👩\u200d👧", "می\u200cخواهم", "10\u00a0km", "東京\u3000大阪", "🏳️\u200d🌈")
"""Texts with characters that Python does not count as printable."""


async def burst(ui: ConsoleDriver, *keys: str) -> None:
    """Press keys as fast as a terminal can send them."""
    for key in keys:
        ui.app.simulate_key(textual_key_name(key))
    await ui.wait()


async def type_bytes(ui: ConsoleDriver, text: str) -> None:
    """Feed the bytes that a terminal sends for a text to the console."""
    for event in XTermParser().feed(text):
        ui.app.post_message(event)
    await ui.wait()


async def test_key_after_answer_acts_on_next_draft(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first, second = review.screen.queue.window.rows[:2]
        await burst(review, "r", *"dull", "enter", "a")
        rejected = await review.desk.drafts.get(first.id)
        assert (rejected.status, rejected.rejection_feedback) == (Status.REJECTED, "dull")
        assert await review.get_status(second.id) is Status.APPROVED


async def test_burst_of_decisions_is_applied_in_order(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        ids = [row.id for row in review.screen.queue.window.rows]
        await burst(review, "a", "r", "enter", "x", "a", "u", "u", "a")
        assert [await review.get_status(draft_id) for draft_id in ids] == [
            Status.APPROVED,
            Status.REJECTED,
            Status.APPROVED,
            Status.AWAITING_REVIEW,
            Status.AWAITING_REVIEW,
        ]


async def test_keys_before_closed_page_are_applied(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        for key in (*"aaac", *"typed"):
            review.app.simulate_key(key)
        await review.app.close_page()
        await review.wait_for(lambda: review.app._exit)
    async with open_review(tmp_path) as review:
        assert len((await review.desk.drafts.list(status=Status.APPROVED)).items) == 3
        await review.press("c")
        assert "typed" in review.text


async def test_many_slow_keys_before_closed_page_are_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Together they take longer than the wait for one of them."""
    wait_until_settled = TypeAhead._wait_until_settled

    async def settle_slowly(type_ahead: TypeAhead) -> None:
        await asyncio.sleep(0.3)
        await wait_until_settled(type_ahead)

    monkeypatch.setattr(key_buffer, "MAX_FINISH", 2.0)
    monkeypatch.setattr(TypeAhead, "_wait_until_settled", settle_slowly)
    async with open_review(tmp_path) as review:
        for key in ("c", *"slow text"):
            review.app.simulate_key(key)
        await review.app.close_page()
        await review.wait_for(lambda: review.app._exit)
    monkeypatch.undo()
    async with open_review(tmp_path) as review:
        await review.press("c")
        assert "slow text" in review.text


async def test_keys_after_edit_go_to_text(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        first, second = review.screen.queue.window.rows
        await burst(review, "e", "x", "a", "ctrl+s", "j", "a")
        assert (await review.desk.drafts.get(first.id)).text == f"{first.text}xa"
        assert await review.get_status(second.id) is Status.APPROVED


async def test_paste_keeps_its_order_among_keys(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=TEXTS[:1]) as review:
        first = review.current
        for key in "eab":
            review.app.simulate_key(key)
        review.app.post_message(Paste("PASTE"))
        await burst(review, "c", "ctrl+s")
        assert (await review.desk.drafts.get(first.id)).text == f"{first.text}abPASTEc"


@pytest.mark.parametrize("text", JOINED_TEXTS)
async def test_all_typed_characters_are_kept(tmp_path: Path, text: str) -> None:
    async with open_review(tmp_path, texts=TEXTS[:1]) as review:
        first = review.current
        await review.press("e")
        await type_bytes(review, text)
        await review.press("ctrl+s")
        assert (await review.desk.drafts.get(first.id)).text == f"{first.text}{text}"


@pytest.mark.parametrize("text", JOINED_TEXTS)
async def test_all_characters_typed_into_one_line_are_kept(tmp_path: Path, text: str) -> None:
    async with open_review(tmp_path, texts=TEXTS[:1]) as review:
        await review.press("r")
        await type_bytes(review, text)
        await review.press("enter")
        assert (await review.desk.drafts.get(review.current.id)).rejection_feedback == text


async def test_key_after_search_acts_on_hit(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        hit = next(row for row in review.screen.queue.window.rows if "newsletters" in row.text)
        await burst(review, "/", *"newsletters", "enter", "a")
        assert await review.get_status(hit.id) is Status.APPROVED
        assert (await review.desk.drafts.counts()).by_status[Status.APPROVED] == 1


async def test_keys_before_desk_opens_are_handled() -> None:
    desk = FakeDesk(12)
    app = make_console(desk)
    async with app.run_test(size=(120, 32)) as pilot:
        await burst(ConsoleDriver(app, pilot), "*", "j")
        assert "12 marked" in ConsoleDriver(app, pilot).text


async def test_keys_after_screen_switch_go_to_new_screen(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:
        await burst(ui, "1", "2", "]", "l", "]", "h")
        screen = ui.app.screen
        assert isinstance(screen, ScheduleScreen)
        assert screen.week_pane.grid.cursor is not None


async def test_key_after_week_switch_acts_in_new_week(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:
        grid = ui.app.screen.week_pane.grid
        cursor_before = grid.cursor
        await burst(ui, "]", "l", "]", "h", "k")
        assert (grid.cursor.day - cursor_before.day).days == 14
        assert grid.cursor.hour.hour == cursor_before.hour.hour - 1


async def test_draft_can_be_picked_before_it_is_displayed(tmp_path: Path) -> None:
    await fill_schedule(tmp_path, approved=1)
    async with open_schedule(tmp_path) as ui:
        await burst(ui, "]", "s")
        assert (type(ui.app.screen), ui.toasts) == (PickDraftDialog, [])


async def test_keys_after_closing_help_are_handled() -> None:
    app = make_console(FakeDesk(3))
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        await burst(ConsoleDriver(app, pilot), "?", "q", "j", "J")
        assert app.screen.queue.cursor == 2


async def test_hung_task_does_not_block_keys_forever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("copydesk.tui.runtime.key_buffer.MAX_HOLD", 0.02)
    app = make_console(FakeDesk(3))
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        with app.type_ahead.hold_keys():
            await burst(ConsoleDriver(app, pilot), "J", "J")
            assert app.screen.queue.cursor == 2


async def test_slow_task_delays_only_one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.runtime.key_buffer.MAX_HOLD", 0.05)
    app = make_console(FakeDesk(9))
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        with app.type_ahead.hold_keys():
            await burst(ConsoleDriver(app, pilot), "J")
            monkeypatch.setattr("copydesk.tui.runtime.key_buffer.MAX_HOLD", 600)
            await asyncio.wait_for(burst(ConsoleDriver(app, pilot), "J", "J", "J"), 60)
            assert app.screen.queue.cursor == 4


async def test_cursor_moves_during_slow_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.runtime.desk_tasks.MAX_WRITE_HOLD", 0.05)
    app, finish = make_console(FakeDesk(9)), asyncio.Event()

    async def work(_: object) -> None:
        await finish.wait()

    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        app.enqueue_write(work, hold_keys=Hold.RESULT)
        for key in "JJJ":
            app.simulate_key(key)
        try:
            async with asyncio.timeout(60):
                while app.screen.queue.cursor != 3:  # noqa: ASYNC110 - no event tells of the cursor
                    await asyncio.sleep(0.005)
        finally:
            finish.set()


async def test_task_finished_during_dialog_releases_keys() -> None:
    app = make_console(FakeDesk(3))
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        task, dialog = app.type_ahead.hold_keys(), app.type_ahead.suspend_holds()
        task.__enter__()
        dialog.__enter__()
        assert not app.type_ahead.is_waiting
        task.__exit__(None, None, None)
        with app.type_ahead.hold_keys():
            assert app.type_ahead.is_waiting is True
            dialog.__exit__(None, None, None)
            assert app.type_ahead.is_waiting is True
        assert not app.type_ahead.is_waiting


async def test_quit_does_not_wait() -> None:
    app = make_console(FakeDesk(3))
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        with app.type_ahead.hold_keys():
            app.simulate_key("q")
            await wait_until_idle(pilot)
            assert app._exit


async def test_submit_and_wait_waits_for_later_request() -> None:
    results: list[int] = []
    release = asyncio.Event()

    async def work(request: int) -> None:
        await release.wait()
        results.append(request)

    latest = Coalescer(work)
    first, second = asyncio.create_task(latest.submit(1)), asyncio.create_task(latest.submit_and_wait(2))
    await asyncio.sleep(0)
    release.set()
    await second
    assert results == [1, 2]
    await first


async def test_key_typed_while_the_console_exits_is_dropped() -> None:
    async with open_console(FakeDesk(1)) as ui:
        stack = ui.app._screen_stack
        screens = [*stack]
        stack.clear()
        try:
            await ui.app.on_event(Key("j", "j"))
        finally:
            stack.extend(screens)
