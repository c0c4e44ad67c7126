"""Tests for tasks of the console whose desk was closed before they ran: each one still finishes."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from console_driver import FakeDesk, open_console, type_text
from copydesk.errors import StoreBusyError
from copydesk.tui.dialogs.prompt import ConfirmDialog
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.schedule.screen import ScheduleScreen
from copydesk.tui.sources.source_dialogs import SourceDialog
from delayed_responses import wait_until
from review_driver import open_review
from schedule_driver import open_schedule
from sources_driver import open_sources


async def test_tasks_finish_after_desk_closed() -> None:
    async with open_console(FakeDesk(3)) as ui:
        finished: list[str] = []

        async def fail(_: object) -> None:
            raise AssertionError

        ui.app.run_desk_task(fail, on_finished=lambda: finished.append("asked"))
        ui.app.enqueue_write(fail, on_finished=lambda: finished.append("carried out"))
        ui.app.desk, ui.app.open_error = None, StoreBusyError()
        await ui.wait()
        assert sorted(finished) == ["asked", "carried out"]
        assert ui.toasts == [str(StoreBusyError())]


async def test_task_cancelled_before_start_finishes() -> None:
    async with open_console(FakeDesk(3)) as ui:
        finished: list[str] = []

        async def fail(_: object) -> None:
            raise AssertionError

        task = ui.app.run_desk_task(fail, hold_keys=Hold.RESULT, on_finished=lambda: finished.append("asked"))
        task.cancel()
        await ui.wait()
        assert finished == ["asked"]
        assert not ui.app.type_ahead.is_waiting


async def test_task_survives_dialog_that_started_it() -> None:
    async with open_console(FakeDesk(3)) as ui:
        dialog, proceed, answers = ConfirmDialog("Sure?"), asyncio.Event(), list[bool | None]()
        await ui.app.push_screen(dialog)

        async def push_second(_: object) -> None:
            await proceed.wait()
            ui.app.push_screen(ConfirmDialog("Really?"), answers.append)

        dialog.call_next(ui.app.run_desk_task, push_second)
        await wait_until(lambda: ui.app.desk_tasks.pending, partial(asyncio.sleep, 0))
        dialog.dismiss(result=False)
        await wait_until(lambda: not dialog.is_attached, partial(asyncio.sleep, 0))
        proceed.set()
        await ui.wait()
        await ui.press("y")
        assert answers == [True]


async def test_week_reloads_after_late_write(tmp_path: Path) -> None:
    async with open_schedule(tmp_path) as ui:
        screen, proceed = ui.app.screen, asyncio.Event()
        assert isinstance(screen, ScheduleScreen)

        async def earlier_write(_: object) -> None:
            await proceed.wait()

        ui.app.enqueue_write(earlier_write)
        screen.action_accept_clock()
        desk, ui.app.desk, ui.app.open_error = ui.app.desk, None, StoreBusyError()
        proceed.set()
        await ui.wait()
        assert screen.week_pane._pending_writes == 0
        ui.app.desk = desk


@pytest.mark.usefixtures("quick_check")
async def test_approval_check_runs_after_failed_check(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        actions, captured = review.screen.review_actions.publishing, []
        review.app.run_desk_task, run_task = (
            lambda task, **kwargs: captured.append((task, kwargs)),
            review.app.run_desk_task,
        )
        actions.check_blockers(["one"])
        await review.wait_for(lambda: captured)
        review.app.run_desk_task = run_task
        desk, review.app.desk, review.app.open_error = review.app.desk, None, StoreBusyError()
        run_task(captured[0][0], **captured[0][1])
        await review.wait()
        review.app.desk = desk
        assert not actions._checking


async def test_source_form_usable_after_late_save(tmp_path: Path) -> None:
    async with open_sources(tmp_path) as ui:
        await ui.press("A")
        await type_text(ui, "https://a.example/feed")
        form = ui.app.screen
        assert isinstance(form, SourceDialog)
        form.action_save()
        desk, ui.app.desk, ui.app.open_error = ui.app.desk, None, StoreBusyError()
        await ui.wait()
        ui.app.desk = desk
        # Agree to discard the address.
        await ui.press("escape", "y")
        assert ui.app.screen is not form
