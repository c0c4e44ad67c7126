"""Tests for running the pipeline from the console."""

from pathlib import Path

from console_driver import FakeDesk, make_draft, make_item, make_run, open_console, partial_progress, successful_run
from copydesk.model.run import Progress, RunStatus, Stage
from copydesk.tui.messages import RunChanged
from copydesk.tui.runtime.pipeline_run import (
    PipelineRun,
    RunView,
    format_failures,
    format_progress,
    format_summary,
    progress_ratio,
)
from copydesk.tui.widgets.run_panel import RunPanel
from review_driver import ReviewDriver, open_review


async def test_p_starts_run_with_bar_per_stage() -> None:
    desk = FakeDesk(3)
    desk.pipeline.progress = partial_progress()
    async with open_console(desk) as ui:
        await ui.press("P")
        ingest, _, rank, draft_stage = ui.lines[-6:-2]
        assert ingest.split()[0] == "ingest"
        assert "10/10" in ingest
        assert "╌" not in ingest
        assert "14/41" in rank
        assert "Quarrystone 4.2 replays" in rank
        assert "━" not in draft_stage
        assert ui.lines[0].endswith("rank 14/41")


async def test_escape_hides_run_and_p_reopens_it() -> None:
    desk = FakeDesk(3)
    desk.pipeline.progress = partial_progress()
    async with open_console(desk) as ui:
        await ui.press("P", "escape")
        assert "ingest" not in ui.text
        assert ui.lines[0].endswith("rank 14/41")
        await ui.press("P")
        assert "ingest" in ui.text


async def test_keys_work_during_run() -> None:
    desk = FakeDesk(30)
    desk.pipeline.progress = partial_progress()
    async with open_console(desk) as ui:
        await ui.press("P", "j", "j")
        assert ui.app.screen.queue.cursor == 2


async def test_finished_run_shows_summary() -> None:
    desk = FakeDesk(3)
    desk.pipeline.progress = partial_progress()
    async with open_console(desk) as ui:
        await ui.press("P")
        desk.pipeline.resume.set()
        await ui.wait()
        assert "54 items · 41 stories · 41 ranked · 7 new drafts · 2.1 s" in ui.text
        assert "1.4 s, 1 source failed" in ui.text
        assert ui.toasts == []
        assert "rank" not in ui.lines[0]
        await ui.press("escape")
        assert "ingest" not in ui.text


async def test_hidden_run_reports_in_toast() -> None:
    desk = FakeDesk(3)
    async with open_console(desk) as ui:
        await ui.press("P", "escape")
        desk.pipeline.resume.set()
        await ui.wait()
        assert ui.toasts == [
            "7 new drafts from 54 items in 2.1 s",
            "1 of 10 sources failed. 3 Sources shows why.",
        ]


def start_on_schedule(ui: ReviewDriver) -> PipelineRun:
    """Let a run make progress while the schedule is shown."""
    run = ui.app._last_run = PipelineRun(lambda view: ui.app._post_to_screen(RunChanged(view)))
    run._set_view(RunView(run_id="1"))
    for progress in partial_progress():
        run._on_progress(progress)
    return run


async def test_run_that_ends_on_another_screen_reports_in_toast(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("2")
        run = start_on_schedule(review)
        await review.wait()
        assert "rank 14/41" in review.lines[0]
        run._set_view(RunView(run_id="1", finished_run=successful_run()))
        await review.wait()
        assert review.toasts[0].startswith("7 new drafts")


async def test_progress_of_run_that_ended_meanwhile_is_removed(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        await review.press("2")
        run = start_on_schedule(review)
        await review.press("1")
        run._set_view(RunView(run_id="1", finished_run=successful_run()))
        await review.press("2")
        assert "rank" not in review.lines[0]


async def test_new_drafts_wait_for_refresh() -> None:
    desk = FakeDesk(3)

    async def arrive() -> None:
        desk.drafts.all = (make_draft(20), make_draft(21), *desk.drafts.all)
        desk.drafts.items |= {f"item-{number}": make_item(number) for number in (20, 21)}

    desk.pipeline.before_end = arrive
    async with open_console(desk) as ui:
        await ui.press("P")
        desk.pipeline.resume.set()
        await ui.wait()
        assert "Queue · 3 · 2 new, press ." in ui.text
        await ui.press("full_stop")
        assert "Queue · 5" in ui.text
        assert "new, press" not in ui.text


async def test_empty_queue_shows_new_drafts() -> None:
    desk = FakeDesk(0)

    async def arrive() -> None:
        desk.drafts.all = (make_draft(0),)
        desk.drafts.items["item-0"] = make_item(0)

    desk.pipeline.before_end = arrive
    async with open_console(desk) as ui:
        await ui.press("P")
        desk.pipeline.resume.set()
        await ui.wait()
        assert "Queue · 1" in ui.text


async def test_x_cancels_run() -> None:
    desk = FakeDesk(3)
    desk.pipeline.progress = partial_progress()
    async with open_console(desk) as ui:
        await ui.press("P", "X")
        await ui.wait()
        assert desk.pipeline.cancelled == ["run"]
        assert "Run cancelled." in ui.text


async def test_x_without_run_does_nothing() -> None:
    desk = FakeDesk(3)
    async with open_console(desk) as ui:
        await ui.press("X")
        assert desk.pipeline.cancelled == []


async def test_second_p_starts_no_second_run() -> None:
    desk = FakeDesk(3)
    started = []
    queue = desk.pipeline.queue

    async def count_runs() -> object:
        started.append(True)
        return await queue()

    desk.pipeline.queue = count_runs
    async with open_console(desk) as ui:
        await ui.press("P", "P", "escape", "P")
        assert started == [True]


async def test_run_without_source_is_refused() -> None:
    async with open_console(FakeDesk(0, sources=0)) as ui:
        await ui.press("P")
        assert ui.toasts == ["No sources to fetch. Press 3 for Sources, then A to add one."]
        assert "Pipeline" not in ui.text


async def test_failed_run_shows_error() -> None:
    desk = FakeDesk(3)
    desk.pipeline.result = make_run(RunStatus.FAILED, error="No source could be read.")
    async with open_console(desk) as ui:
        await ui.press("P")
        desk.pipeline.resume.set()
        await ui.wait()
        assert "Run failed: No source could be read." in ui.text
        await ui.press("P")


async def test_quitting_cancels_run_before_closing_desk() -> None:
    desk = FakeDesk(3)
    async with open_console(desk) as ui:
        await ui.press("P", "q")
    assert desk.pipeline.task_cancelled
    assert desk.close_count == 1


async def test_help_dialog_does_not_block_run() -> None:
    desk = FakeDesk(0)
    desk.pipeline.progress = partial_progress()
    async with open_console(desk) as ui:
        await ui.press("P", "question_mark")
        desk.pipeline.resume.set()
        await ui.wait()
        await ui.press("q")
        assert "7 new drafts" in ui.text


def test_run_view_keeps_last_progress_per_stage() -> None:
    view = RunView(run_id="run")
    for step in partial_progress():
        view = view.with_progress(step)
    view = view.with_progress(Progress(run_id="run", stage=Stage.RANK, done=15, total=41))
    assert [format_progress(progress) for progress in view.stages] == ["10/10", "54/54", "15/41"]
    assert view.current is not None
    assert view.current.stage is Stage.RANK


def test_stage_share_and_counts() -> None:
    steps = [
        Progress(run_id="run", stage=Stage.RANK, done=completed, total=total)
        for completed, total in ((0, 0), (7, None), (1, 4))
    ]
    assert [progress_ratio(step) for step in steps] == [1.0, 0.0, 0.25]
    assert [format_progress(step) for step in steps] == ["0/0", "7", "1/4"]


def test_run_summary_texts() -> None:
    assert format_summary(successful_run()) == "7 new drafts from 54 items in 2.1 s"
    assert format_failures(successful_run()) == "1 of 10 sources failed. 3 Sources shows why."
    assert (
        format_summary(make_run(RunStatus.CANCELLED, error="The run was cancelled."))
        == "Run cancelled. Fetched items and finished drafts are kept."
    )
    assert format_failures(make_run(RunStatus.SUCCEEDED)) == ""


def test_run_without_drafts_says_why() -> None:
    reason = "147 items were too old when their source was first fetched"
    run = make_run(RunStatus.SUCCEEDED, items_considered=147, items_too_old=147)
    assert format_summary(run) == f"No new drafts: {reason}"
    panel = RunPanel()
    panel._view = RunView(finished_run=run)
    assert panel.lines(80)[-1].plain == f"No new drafts: {reason}"
    drafted = make_run(RunStatus.SUCCEEDED, items_considered=148, items_too_old=147, drafts_created=1)
    assert format_summary(drafted).startswith("1 new draft from 148 items")


async def test_too_small_terminal_during_run() -> None:
    """The focus is as before when the terminal grows again."""
    async with open_console(FakeDesk(5)) as ui:
        await ui.press("P")
        await ui.resize(20, 5)
        assert " ".join(ui.text.split()) == "Copydesk needs 40 columns and 10 lines."
        await ui.resize(80, 24)
        await ui.press("j")
        assert "Pipeline" in ui.text
        assert ui.app.screen.queue.cursor == 1
