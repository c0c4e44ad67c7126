"""Keys that are typed without waiting act one after the other, each on what the one before it has brought."""

import asyncio
from pathlib import Path

import pytest
from textual.events import Paste

from copydesk.model.draft import Status
from copydesk.tui.keymap import textual_name
from copydesk.tui.latest import Latest
from copydesk.tui.modals.schedule import PickScreen
from copydesk.tui.screens.schedule import ScheduleScreen
from deciding_fixtures import TEXTS, reviewing
from schedule_screen import on_schedule
from tui_fixtures import FakeDesk, Seen, console, settled


async def burst(seen: Seen, *keys: str) -> None:
    """Press keys as fast as a terminal can send them."""
    for key in keys:
        seen.app.simulate_key(textual_name(key))
    await seen.wait()


async def test_a_key_right_after_an_answer_is_for_the_next_draft(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        first, second = review.screen.rows.window.rows[:2]
        await burst(review, "r", *"dull", "enter", "a")
        rejected = await review.desk.drafts.get(first.id)
        assert (rejected.status, rejected.rejection_feedback) == (Status.REJECTED, "dull")
        assert await review.status(second.id) is Status.APPROVED


async def test_ten_drafts_are_gone_through_in_one_go(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        ids = [row.id for row in review.screen.rows.window.rows]
        await burst(review, "a", "r", "enter", "x", "a", "u", "u", "a")
        assert [await review.status(each) for each in ids] == [
            Status.APPROVED,
            Status.REJECTED,
            Status.APPROVED,
            Status.AWAITING_REVIEW,
            Status.AWAITING_REVIEW,
        ]


async def test_what_is_typed_right_after_edit_is_typed_into_the_text(tmp_path: Path) -> None:
    async with reviewing(tmp_path, texts=TEXTS[:2]) as review:
        first, second = review.screen.rows.window.rows
        await burst(review, "e", "x", "a", "ctrl+s", "j", "a")
        assert (await review.desk.drafts.get(first.id)).text == f"{first.text}xa"
        assert await review.status(second.id) is Status.APPROVED


async def test_what_is_pasted_comes_in_its_turn(tmp_path: Path) -> None:
    async with reviewing(tmp_path, texts=TEXTS[:1]) as review:
        first = review.current
        for key in "eab":
            review.app.simulate_key(key)
        review.app.post_message(Paste("PASTE"))
        await burst(review, "c", "ctrl+s")
        assert (await review.desk.drafts.get(first.id)).text == f"{first.text}abPASTEc"


async def test_what_is_looked_for_is_there_before_the_next_key_acts(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        wanted = next(row for row in review.screen.rows.window.rows if "newsletters" in row.text)
        await burst(review, "/", *"newsletters", "enter", "a")
        assert await review.status(wanted.id) is Status.APPROVED
        assert (await review.desk.drafts.counts()).by_status[Status.APPROVED] == 1


async def test_keys_typed_while_the_desk_is_being_opened_act_when_it_is() -> None:
    desk = FakeDesk(12)
    app = console(desk)
    async with app.run_test(size=(120, 32)) as pilot:
        await burst(Seen(app, pilot), "*", "j")
        assert "12 marked" in Seen(app, pilot).text


async def test_the_screen_that_a_number_leads_to_takes_the_keys_after_it(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await burst(seen, "1", "2", "]", "l", "]", "h")
        screen = seen.app.screen
        assert isinstance(screen, ScheduleScreen)
        assert screen.grid.cursor is not None


async def test_a_key_right_after_another_week_moves_in_that_week(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        grid = seen.app.screen.grid
        before = grid.cursor
        await burst(seen, "]", "l", "]", "h", "k")
        assert (grid.cursor.day - before.day).days == 14
        assert grid.cursor.hour.hour == before.hour.hour - 1


async def test_what_is_offered_can_be_taken_before_it_is_seen(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        await burst(seen, "]", "s")
        assert isinstance(seen.app.screen, PickScreen) or seen.toasts


async def test_the_help_is_closed_and_the_console_goes_on() -> None:
    app = console(FakeDesk(3))
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        await burst(Seen(app, pilot), "?", "q", "j", "J")
        assert app.screen.queue.cursor == 2


async def test_a_question_that_is_never_answered_does_not_hold_the_keys_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("copydesk.tui.type_ahead.PATIENCE", 0.02)
    app = console(FakeDesk(3))
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        with app.type_ahead.awaits():
            await burst(Seen(app, pilot), "J", "J")
            assert app.screen.queue.cursor == 2


async def test_what_takes_long_is_waited_for_once_and_not_by_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.type_ahead.PATIENCE", 0.05)
    app = console(FakeDesk(9))
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        with app.type_ahead.awaits():
            await burst(Seen(app, pilot), "J")
            monkeypatch.setattr("copydesk.tui.type_ahead.PATIENCE", 600)
            await asyncio.wait_for(burst(Seen(app, pilot), "J", "J", "J"), 60)
            assert app.screen.queue.cursor == 4


async def test_one_moves_on_while_much_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.asking.BRIEF", 0.05)
    app, ended = console(FakeDesk(9)), asyncio.Event()

    async def work(_: object) -> None:
        await ended.wait()

    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        app.carry_out(work, keys_wait=True)
        for key in "JJJ":
            app.simulate_key(key)
        try:
            async with asyncio.timeout(60):
                while app.screen.queue.cursor != 3:  # noqa: ASYNC110 - no event tells of the cursor
                    await asyncio.sleep(0.005)
        finally:
            ended.set()


async def test_what_ended_while_a_question_was_asked_is_waited_for_no_more() -> None:
    app = console(FakeDesk(3))
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        first, asking = app.type_ahead.awaits(), app.type_ahead.meanwhile()
        first.__enter__()
        asking.__enter__()
        assert not app.type_ahead.awaited
        first.__exit__(None, None, None)
        with app.type_ahead.awaits():
            assert app.type_ahead.awaited is True
            asking.__exit__(None, None, None)
            assert app.type_ahead.awaited is True
        assert not app.type_ahead.awaited


async def test_quitting_waits_for_nothing() -> None:
    app = console(FakeDesk(3))
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        with app.type_ahead.awaits():
            app.simulate_key("q")
            await settled(pilot)
            assert app._exit


async def test_whoever_settles_waits_for_the_wish_that_came_after_his_own() -> None:
    done: list[int] = []
    go = asyncio.Event()

    async def work(wish: int) -> None:
        await go.wait()
        done.append(wish)

    latest = Latest(work)
    first, second = asyncio.create_task(latest.wish(1)), asyncio.create_task(latest.settle(2))
    await asyncio.sleep(0)
    go.set()
    await second
    assert done == [1, 2]
    await first
