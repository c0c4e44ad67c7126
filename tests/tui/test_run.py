"""The pipeline's run, seen from the console."""

from copydesk.model.run import Progress, RunStatus, Stage
from copydesk.tui.run_view import RunView, failures, figures, share, summary
from tui_fixtures import FakeDesk, draft, finished, item, on_screen, run, under_way


async def test_p_runs_the_pipeline_and_shows_a_bar_per_stage() -> None:
    desk = FakeDesk(3)
    desk.pipeline.steps = under_way()
    async with on_screen(desk) as seen:
        await seen.press("P")
        ingest, _, rank, draft_stage = seen.lines[-6:-2]
        assert ingest.split()[0] == "ingest"
        assert "10/10" in ingest
        assert "╌" not in ingest
        assert "14/41" in rank
        assert "Quarrystone 4.2 replays" in rank
        assert "━" not in draft_stage
        assert seen.lines[0].endswith("rank 14/41")


async def test_escape_leaves_it_running_and_p_shows_it_again() -> None:
    desk = FakeDesk(3)
    desk.pipeline.steps = under_way()
    async with on_screen(desk) as seen:
        await seen.press("P", "escape")
        assert "ingest" not in seen.text
        assert seen.lines[0].endswith("rank 14/41")
        await seen.press("P")
        assert "ingest" in seen.text


async def test_keys_are_answered_while_it_runs() -> None:
    desk = FakeDesk(30)
    desk.pipeline.steps = under_way()
    async with on_screen(desk) as seen:
        await seen.press("P", "j", "j")
        assert seen.app.screen.queue.cursor == 2


async def test_at_the_end_it_says_what_came_of_it() -> None:
    desk = FakeDesk(3)
    desk.pipeline.steps = under_way()
    async with on_screen(desk) as seen:
        await seen.press("P")
        desk.pipeline.go_on.set()
        await seen.wait()
        assert "54 items · 41 stories · 41 ranked · 7 new drafts · 2.1 s" in seen.text
        assert "1.4 s, 1 source failed" in seen.text
        assert seen.toasts == []
        assert "rank" not in seen.lines[0]
        await seen.press("escape")
        assert "ingest" not in seen.text


async def test_a_run_that_nobody_watches_says_so_in_a_toast() -> None:
    desk = FakeDesk(3)
    async with on_screen(desk) as seen:
        await seen.press("P", "escape")
        desk.pipeline.go_on.set()
        await seen.wait()
        assert seen.toasts == [
            "7 new drafts from 54 items in 2.1 s.",
            "1 of 10 sources could not be read: screen 3, Sources, says why.",
        ]


async def test_new_drafts_do_not_push_in() -> None:
    desk = FakeDesk(3)

    async def arrive() -> None:
        desk.drafts.all = (draft(20), draft(21), *desk.drafts.all)
        desk.drafts.items |= {f"item-{number}": item(number) for number in (20, 21)}

    desk.pipeline.then = arrive
    async with on_screen(desk) as seen:
        await seen.press("P")
        desk.pipeline.go_on.set()
        await seen.wait()
        assert "Queue · 3 · 2 new, press ." in seen.text
        await seen.press("full_stop")
        assert "Queue · 5" in seen.text
        assert "new, press" not in seen.text


async def test_an_empty_queue_shows_them_at_once() -> None:
    desk = FakeDesk(0)

    async def arrive() -> None:
        desk.drafts.all = (draft(0),)
        desk.drafts.items["item-0"] = item(0)

    desk.pipeline.then = arrive
    async with on_screen(desk) as seen:
        await seen.press("P")
        desk.pipeline.go_on.set()
        await seen.wait()
        assert "Queue · 1" in seen.text


async def test_x_cancels_it() -> None:
    desk = FakeDesk(3)
    desk.pipeline.steps = under_way()
    async with on_screen(desk) as seen:
        await seen.press("P", "X")
        await seen.wait()
        assert desk.pipeline.cancelled == ["run"]
        assert "The run was cancelled" in seen.text


async def test_x_without_a_run_does_nothing() -> None:
    desk = FakeDesk(3)
    async with on_screen(desk) as seen:
        await seen.press("X")
        assert desk.pipeline.cancelled == []


async def test_a_second_p_starts_no_second_run() -> None:
    desk = FakeDesk(3)
    started = []
    queue = desk.pipeline.queue

    async def counted() -> object:
        started.append(True)
        return await queue()

    desk.pipeline.queue = counted
    async with on_screen(desk) as seen:
        await seen.press("P", "P", "escape", "P")
        assert started == [True]


async def test_without_a_source_there_is_nothing_to_run() -> None:
    async with on_screen(FakeDesk(0, sources=0)) as seen:
        await seen.press("P")
        assert seen.toasts == ["There is no source to read. Add one: 3 shows the sources, n there adds one."]
        assert "Pipeline" not in seen.text


async def test_a_run_that_failed_says_why() -> None:
    desk = FakeDesk(3)
    desk.pipeline.result = run(RunStatus.FAILED, error="No source could be read.")
    async with on_screen(desk) as seen:
        await seen.press("P")
        desk.pipeline.go_on.set()
        await seen.wait()
        assert "The run failed: No source could be read." in seen.text
        await seen.press("P")


async def test_quitting_cancels_the_run_before_the_desk_is_closed() -> None:
    desk = FakeDesk(3)
    async with on_screen(desk) as seen:
        await seen.press("P", "q")
    assert desk.pipeline.let_go
    assert desk.closed == 1


async def test_the_help_on_top_misses_nothing() -> None:
    desk = FakeDesk(0)
    desk.pipeline.steps = under_way()
    async with on_screen(desk) as seen:
        await seen.press("P", "question_mark")
        desk.pipeline.go_on.set()
        await seen.wait()
        await seen.press("q")
        assert "7 new drafts" in seen.text


def test_the_view_keeps_the_last_word_of_every_stage() -> None:
    view = RunView(run_id="run")
    for step in under_way():
        view = view.after(step)
    view = view.after(Progress(run_id="run", stage=Stage.RANK, done=15, total=41))
    assert [figures(word) for word in view.stages] == ["10/10", "54/54", "15/41"]
    assert view.current is not None
    assert view.current.stage is Stage.RANK


def test_a_stage_without_anything_to_do_is_done_and_one_of_unknown_length_has_no_bar() -> None:
    steps = [
        Progress(run_id="run", stage=Stage.RANK, done=done, total=total) for done, total in ((0, 0), (7, None), (1, 4))
    ]
    assert [share(step) for step in steps] == [1.0, 0.0, 0.25]
    assert [figures(step) for step in steps] == ["0/0", "7", "1/4"]


def test_what_came_of_a_run_in_one_line() -> None:
    assert summary(finished()) == "7 new drafts from 54 items in 2.1 s."
    assert failures(finished()) == "1 of 10 sources could not be read: screen 3, Sources, says why."
    assert (
        summary(run(RunStatus.CANCELLED, error="The run was cancelled."))
        == "The run was cancelled; what it stored is kept."
    )
    assert failures(run(RunStatus.SUCCEEDED)) == ""


async def test_too_small_a_terminal_is_said_over_a_run_too_and_keys_go_on_where_they_went() -> None:
    async with on_screen(FakeDesk(5)) as seen:
        await seen.press("P")
        await seen.resize(20, 5)
        assert " ".join(seen.text.split()) == "Copydesk needs 40 columns and 10 lines."
        await seen.resize(80, 24)
        await seen.press("j")
        assert "Pipeline" in seen.text
        assert seen.app.screen.queue.cursor == 1
