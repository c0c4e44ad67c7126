"""What was asked of a desk that is closed by then ends all the same: nothing waits for it for ever."""

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


async def test_what_is_asked_ends_though_the_desk_is_closed() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        ended: list[str] = []

        async def never(_: object) -> None:
            raise AssertionError

        seen.app.ask(never, ended=lambda: ended.append("asked"))
        seen.app.carry_out(never, ended=lambda: ended.append("carried out"))
        seen.app.desk, seen.app.trouble = None, StoreBusyError()
        await seen.wait()
        assert sorted(ended) == ["asked", "carried out"]
        assert seen.toasts == [str(StoreBusyError())]


async def test_what_is_cancelled_before_it_begins_has_ended() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        ended: list[str] = []

        async def never(_: object) -> None:
            raise AssertionError

        asked = seen.app.ask(never, keys_wait=True, ended=lambda: ended.append("asked"))
        asked.cancel()
        await seen.wait()
        assert ended == ["asked"]
        assert not seen.app.type_ahead.awaited


async def test_what_a_question_asks_comes_to_the_console_though_the_question_is_gone() -> None:
    async with on_screen(FakeDesk(3)) as seen:
        asking, going_on, answers = YesScreen("Sure?"), asyncio.Event(), list[bool | None]()
        await seen.app.push_screen(asking)

        async def ask_again(_: object) -> None:
            await going_on.wait()
            seen.app.push_screen(YesScreen("Really?"), answers.append)

        asking.call_next(seen.app.ask, ask_again)
        await so(lambda: seen.app.asking, partial(asyncio.sleep, 0))
        asking.dismiss(result=False)
        await so(lambda: not asking.is_attached, partial(asyncio.sleep, 0))
        going_on.set()
        await seen.wait()
        await seen.press("y")
        assert answers == [True]


async def test_the_week_is_read_again_after_a_write_that_came_too_late(tmp_path: Path) -> None:
    async with on_schedule(tmp_path) as seen:
        screen, going_on = seen.app.screen, asyncio.Event()
        assert isinstance(screen, ScheduleScreen)

        async def before_it(_: object) -> None:
            await going_on.wait()

        seen.app.carry_out(before_it)
        screen.action_accept_clock()
        desk, seen.app.desk, seen.app.trouble = seen.app.desk, None, StoreBusyError()
        going_on.set()
        await seen.wait()
        assert screen.writing == 0
        seen.app.desk = desk


async def test_approvals_are_looked_at_after_one_that_could_not_be(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as review:
        sends, asked = review.screen.deciding, []
        review.app.ask, ask = lambda work, **named: asked.append((work, named)), review.app.ask
        sends.look_for_stops(["one"])
        await review.until(lambda: asked)
        review.app.ask = ask
        desk, review.app.desk, review.app.trouble = review.app.desk, None, StoreBusyError()
        ask(asked[0][0], **asked[0][1])
        await review.wait()
        review.app.desk = desk
        assert not sends._checking


async def test_a_source_that_came_too_late_to_be_saved_can_be_saved_again_or_left(tmp_path: Path) -> None:
    async with on_sources(tmp_path) as seen:
        await seen.press("n")
        await write(seen, "https://a.example/feed")
        form = seen.app.screen
        assert isinstance(form, SourceForm)
        form.action_save()
        desk, seen.app.desk, seen.app.trouble = seen.app.desk, None, StoreBusyError()
        await seen.wait()
        seen.app.desk = desk
        await seen.press("escape", "escape")
        assert seen.app.screen is not form
