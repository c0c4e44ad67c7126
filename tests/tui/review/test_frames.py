"""Tests for what one frame shows after a key: the row and its draft together, and before the result of a write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import RenderableType
from textual import screen
from textual._compositor import Compositor

from console_driver import ConsoleDriver, FakeDesk, open_console, render_update
from copydesk.model.draft import Status
from copydesk.tui.runtime import desk_tasks
from desk_fixtures import open_desk_at
from review_driver import open_review


def record_drawn(ui: ConsoleDriver) -> list[set[str]]:
    """Return a list that collects the ids of the widgets drawn in each frame from now on."""
    frames: list[set[str]] = []
    drawn: set[str] = set()

    def record_draws(widget: Any) -> None:
        render_lines = widget.render_lines
        widget.render_lines = lambda crop: drawn.add(widget.id) or render_lines(crop)

    def end_frame() -> None:
        frames.append(drawn.copy())
        drawn.clear()

    for widget in (ui.app.screen.queue, ui.app.screen.preview_pane.page, ui.app.screen.item_pane.page):
        record_draws(widget)
    ui.app.post_display_hook = end_frame  # type: ignore[method-assign]
    return frames


@pytest.fixture(autouse=True)
def many_frames(few_frames: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paint whatever changed as soon as possible."""
    monkeypatch.setattr(screen, "UPDATE_PERIOD", 0.0001)
    monkeypatch.setattr(Compositor, "render_update", render_update)


async def test_row_and_draft_change_in_one_frame() -> None:
    async with open_console(FakeDesk(9)) as ui:
        frames = record_drawn(ui)
        await ui.press("j")
        assert next(filter(None, frames)) == {"queue", "draft", "item"}


async def test_result_follows_frame_with_next_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_tasks, "MAX_PAINT_WAIT", 60)
    async with open_review(tmp_path) as review:
        first, events = review.current, list[str]()

        def record(target: object, name: str, event: Callable[..., str]) -> None:
            original = getattr(target, name)

            def recorded(*args: Any, **kwargs: Any) -> Any:
                events.append(event(*args))
                return original(*args, **kwargs)

            monkeypatch.setattr(target, name, recorded)

        def frame(_: object, renderable: RenderableType | None) -> str:
            moved = review.screen.preview_pane._draft is not None and review.screen.preview_pane._draft.id != first.id
            return "next draft" if renderable is not None and moved else "frame"

        record(review.app, "_display", frame)
        record(review.desk.drafts, "change", lambda *_: "write")
        record(review.app, "notify_latest", str)
        await review.press("a")
        assert [event for event in dict.fromkeys(events) if event != "frame"] == [
            "next draft",
            "write",
            "Approved · u undo",
        ]


async def test_decision_is_written_without_frame(tmp_path: Path) -> None:
    async with open_review(tmp_path) as review:
        first = review.current
        # As on a screen that is closed before it is painted.
        review.app.call_after_refresh = lambda *_: True  # type: ignore[method-assign]
        review.app.simulate_key("a")
        review.app.simulate_key("q")
        await review.wait_for(lambda: review.app._exit)
    async with open_desk_at(tmp_path) as desk:
        assert (await desk.drafts.get(first.id)).status is Status.APPROVED
