"""Tests for tasks of the console whose desk was closed before they ran: each one still finishes."""

import asyncio
from functools import partial
from pathlib import Path

from copydesk.errors import StoreBusyError
from copydesk.tui.modals.ask import YesScreen
from copydesk.tui.modals.source_form import SourceForm
from copydesk.tui.screens.schedule import ScheduleScreen
from deciding_fixtures import reviewing
from held_answers import so
from schedule_screen import on_schedule
from sources_on_screen import on_sources, write
from tui_fixtures import FakeDesk, on_screen


async def test_tasks_finish_after_desk_closed() -> None:
    async with on_screen(FakeDesk(3)) as ui:
        finished: list[str] = []

        async def fail(_: object) -> None:
            raise AssertionError

        ui.app.ask(fail, ended=lambda: finished.append("asked"))
        ui.app.carry_out(fail, ended=lambda: finished.append("carried out"))
        ui.app.desk, ui.app.trouble = None, StoreBusyError()
        await ui.wait()
        assert sorted(finished) == ["asked", "carried out"]
        assert ui.toasts == [str(StoreBusyError())]


async def test_task_cancelled_before_start_finishes() -> None:
    async with on_screen(FakeDesk(3)) as ui:
        finished: list[str] = []

        async def fail(_: object) -> None:
            raise AssertionError

        task = ui.app.ask(fail, keys_wait=True, ended=lambda: finished.append("asked"))
        task.cancel()
        await ui.wait()
        assert finished == ["asked"]
        assert not ui.app.type_ahead.awaited


async def test_task_survives_dialog_that_started_it() -> None:
    async with on_screen(FakeDesk(3)) as ui:
        dialog, proceed, answers = YesScreen("Sure?"), asyncio.Event(), list[bool | None]()
        await ui.app.push_screen(dialog)

        async def push_second(_: object) -> None:
            await proceed.wait()
            ui.app.push_screen(YesScreen("Really?"), answers.append)

        dialog.call_next(ui.app.ask, push_second)
        await so(lambda: ui.app.asking, partial(asyncio.sleep, 0))
        dialog.dismiss(result=False)
        await so(lambda: not dialog.is_attached, partial(asyncio.sleep, 0))
        proceed.set()
        await ui.wait()
        await ui.press("y")
        assert answers == [True]


async def test_week_reloads_after_late_write(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as ui:
        screen, proceed = ui.app.screen, asyncio.Event()
        assert isinstance(screen, ScheduleScreen)

        async def earlier_write(_: object) -> None:
            await proceed.wait()

        ui.app.carry_out(earlier_write)
        screen.action_accept_clock()
        desk, ui.app.desk, ui.app.trouble = ui.app.desk, None, StoreBusyError()
        proceed.set()
        await ui.wait()
        assert screen.writing == 0
        ui.app.desk = desk


async def test_approval_check_runs_after_failed_check(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        actions, captured = review.screen.deciding, []
        review.app.ask, run_task = lambda task, **kwargs: captured.append((task, kwargs)), review.app.ask
        actions.look_for_stops(["one"])
        await review.until(lambda: captured)
        review.app.ask = run_task
        desk, review.app.desk, review.app.trouble = review.app.desk, None, StoreBusyError()
        run_task(captured[0][0], **captured[0][1])
        await review.wait()
        review.app.desk = desk
        assert not actions._checking


async def test_source_form_usable_after_late_save(tmp_path: Path) -> None:
    async with on_sources(tmp_path) as ui:
        await ui.press("n")
        await write(ui, "https://a.example/feed")
        form = ui.app.screen
        assert isinstance(form, SourceForm)
        form.action_save()
        desk, ui.app.desk, ui.app.trouble = ui.app.desk, None, StoreBusyError()
        await ui.wait()
        ui.app.desk = desk
        await ui.press("escape", "escape")
        assert ui.app.screen is not form
