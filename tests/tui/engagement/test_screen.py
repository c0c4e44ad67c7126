"""Tests for the Engagement screen with a real desk: metrics, posts, recording and fetching."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from console_driver import ConsoleDriver, FakeDesk, make_console, wait_until_idle
from copydesk.errors import StoreBusyError
from copydesk.model.delivery import PostMetrics
from copydesk.posting.fake import FakeServer
from copydesk.tui import labels
from copydesk.tui.themes import LIGHT
from posted_desk import POSTS, insert_post, make_posted_console, open_posted_desk
from posting_fixtures import connect_account, create_approved_draft
from snapshots import Compare, press_keys

HOSTILE = "[/nope] \x1b]0;owned\x07 [@click=app.quit]x[/] \u202eevil \U0001f469\u200d\U0001f4bb 漢字 "


@asynccontextmanager
async def open_engagement(
    home: Path, size: tuple[int, int] = (120, 44), **options: Any
) -> AsyncIterator[ConsoleDriver]:
    """Open the Engagement screen and yield it loaded."""
    app = make_posted_console(home, **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        await ui.press("5")
        yield ui


async def test_tiles_and_coverage(tmp_path: Path) -> None:
    async with open_engagement(tmp_path, (80, 70)) as ui:
        tiles = next(number for number, line in enumerate(ui.lines) if "per post" in line)
        assert ui.lines[tiles].split() == ["posts", "interactions", "per", "post", "rate"]
        assert ui.lines[tiles + 1].split() == ["11", "563", "56.3", "3.33%"]
        assert "Too few posts to compare with the 30 days before" in ui.text
        assert "▲" not in ui.text
        assert "10 of 11 posts measured · not all metrics, see By platform" in ui.text
        assert "Bluesky, Mastodon: no impressions or clicks · Threads: no clicks" in ui.text
        assert "LinkedIn: no metrics yet" in ui.text
        assert "No time stands out yet: 9 of 40 posts needed for a test." in ui.text
        assert "9 posts vs. similar ones, Europe/Prague" in " ".join(ui.text.split())


async def test_changes_say_that_new_posts_still_gain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.model.engagement.MIN_COMPARED_POSTS", 1)
    async with open_engagement(tmp_path, (80, 70)) as ui:
        text = " ".join(ui.text.split())
        assert "▲ ▼ against the 30 days before" in text
        assert "1 post. Posts of the last 48 hours still gain interactions." in text


def test_change_of_thousands_of_percent_has_a_separator() -> None:
    assert labels.change(19.13) == "▲ 1,913%"


@pytest.mark.parametrize("width", [80, 100, 120, 132, 160, 200])
async def test_totals_and_coverage_wrap_between_items_at_most(tmp_path: Path, width: int) -> None:
    async with open_engagement(tmp_path, (width, 70)) as ui:
        page = [line[: ui.app.screen.metrics_pane.region.width].rstrip(" ▐") for line in ui.lines]
        (coverage,) = [number for number, line in enumerate(page) if "10 of 11 posts measured" in line]
        assert page[coverage + 1].strip() == ""
        assert not any(line.strip().startswith("·") for line in page)
        # The line itself names the platforms, or the section that does.
        assert "see By platform" in page[coverage] or "Threads: no clicks" in page[coverage]
        # What has no room beside the coverage is said below the platforms.
        assert "Threads: no clicks" in " ".join(page)
        (title,) = [line for line in page if "Hours of the week" in line]
        assert title.endswith("Europe/Prague")


async def test_key_changes_metric(tmp_path: Path) -> None:
    """Platforms without impressions have a value by default; the order of the posts follows."""
    async with open_engagement(tmp_path, (120, 70)) as ui:
        assert "Interactions per post  by day" in ui.text
        assert "Posts · 11 · by interactions" in ui.text
        (bluesky,) = [line for line in ui.lines if "2 posts" in line and "Bluesky" in line]
        assert "28.0" in bluesky
        await ui.press("V")
        assert "Engagement rate  by day" in ui.text
        assert "Posts · 11 · by rate" in ui.text
        assert "2 posts, none with a rate" in ui.text
        await ui.press("V", "right_square_bracket")
        assert "Interactions per post  by week" in ui.text


async def test_rate_is_shown_if_every_post_has_one(tmp_path: Path) -> None:
    def fill(conn: Any, user: str) -> None:
        insert_post(conn, user, POSTS[0])

    async with open_engagement(tmp_path, fill=fill) as ui:
        assert "Engagement rate  by day" in ui.text
        assert "No posts in the 30 days before to compare with" in ui.text


async def test_plus_and_minus_change_period(tmp_path: Path) -> None:
    async with open_engagement(tmp_path) as ui:
        titles = []
        for key in ("left_square_bracket", "left_square_bracket", *["right_square_bracket"] * 5):
            await ui.press(key)
            title = next(line for line in ui.lines if "Metrics · " in line)
            titles.append((title.split("Metrics · ")[1].split(" ─")[0], title.split("Posts · ")[1].split()[0]))
        assert titles == [
            ("last 7 days", "6"),
            ("last 7 days", "6"),
            ("last 30 days", "11"),
            ("last 90 days", "13"),
            ("last 365 days", "14"),
            ("all time", "14"),
            ("all time", "14"),
        ]


async def test_post_lists_unreported_metrics_and_address(tmp_path: Path) -> None:
    async with open_engagement(tmp_path) as ui:
        await ui.press("tab", *"jjjj")
        assert "41 interactions  no impressions, so no rate" in ui.text
        assert "not reported by Bluesky" in ui.text
        assert "https://bluesky.example/2" in ui.text
        assert "posted   Mon 9 Feb 08:30" in ui.text
        await ui.press("G")
        assert "No metrics yet" in ui.text


async def test_recording_metrics_keeps_cursor_on_post(tmp_path: Path) -> None:
    async with open_engagement(tmp_path) as ui:
        await ui.press("tab", "G", "m", *"31", "down", "down", "down", *"9x00", "enter")
        assert "Recorded 31 likes, 900 impressions" in ui.toasts
        assert "31 / 900 impressions" in ui.text
        assert "not reported by LinkedIn" in ui.text
        assert "LinkedIn" in next(line for line in ui.lines if "▌" in line)
    async with open_posted_desk(tmp_path) as desk:
        (post,) = [post for post in await desk.engagement.top_posts() if post.platform == "linkedin"]
        assert (post.likes, post.impressions, post.replies) == (31, 900, None)


async def test_unchanged_form_closes(tmp_path: Path) -> None:
    async with open_engagement(tmp_path) as ui:
        await ui.press("m", "enter")
        assert len(ui.app.screen_stack) == 1
        assert ui.toasts == ["Nothing changed"]


async def test_cancelled_form_changes_nothing(tmp_path: Path) -> None:
    async with open_engagement(tmp_path) as ui:
        await ui.press("m")
        assert "Metrics of x:me: “A missing index made the docs search sl…”" in ui.text
        await ui.press("7", "escape", "y")
        assert ui.toasts == []
        assert "Metrics of" not in ui.text


async def test_refresh_fetches_metrics_from_platforms(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posted_desk(tmp_path, None, server=server) as desk:
        await connect_account(desk)
        result = await desk.posting.post(await create_approved_draft(desk))
    server.metrics[result.draft.post_id or ""] = PostMetrics(likes=12, impressions=400)
    async with open_engagement(tmp_path, server=server) as ui:
        assert "No metrics yet" in ui.text
        await ui.press("F")
        assert "Updated metrics of 1 post" in ui.toasts
        assert "12 / 400 impressions" in ui.text


async def test_refresh_reports_when_no_platform_answers(tmp_path: Path) -> None:
    async with open_engagement(tmp_path) as ui:
        await ui.press("F")
        assert ui.toasts[-1] == "No platform answered. 6 opens Setup, which shows account problems."


async def test_metrics_recorded_elsewhere_appear(tmp_path: Path) -> None:
    async with open_engagement(tmp_path) as ui:
        await ui.press("tab", "j", "j")
        before = next(line for line in ui.lines if "▌" in line)
        async with open_posted_desk(tmp_path) as other:
            await other._context.write(
                lambda conn, user: insert_post(conn, user, ("x", 1, 1, "SHORT", 100, 50, 0, 0, 0), "New words.")
            )
        while "New words." not in ui.text:
            await ui.wait()
        after = next(line for line in ui.lines if "▌" in line)
        assert after.split("▌")[1] == before.split("▌")[1]


async def test_q_on_narrow_terminal_returns_to_metrics(tmp_path: Path) -> None:
    async with open_engagement(tmp_path, (80, 24)) as ui:
        await ui.press("tab", "q")
        assert "Metrics · " in ui.text
        assert ui.app.is_running
        await ui.press("q")
        assert ui.app._exit


async def test_empty_period_suggests_longer_one(tmp_path: Path) -> None:
    old = ("x", 60, 0, "SHORT", 100, 5, 0, 0, 0)
    async with open_engagement(tmp_path, fill=lambda conn, user: insert_post(conn, user, old)) as ui:
        assert "No posts in the last 30 days" in ui.text
        assert "] shows a longer period." in ui.text
        await ui.press("m", "F", "o")
        assert ui.toasts == ["No posts in the last 30 days"]
        await ui.press("right_square_bracket")
        assert "100 impressions · 5 likes" in ui.text


async def test_posts_without_date_are_counted(tmp_path: Path) -> None:
    def fill(conn: Any, user: str) -> None:
        insert_post(conn, user, POSTS[0])
        conn.exec_driver_sql("update delivery set sent_at = null")
        conn.exec_driver_sql("update draft set posted_at = null")

    async with open_engagement(tmp_path, fill=fill) as ui:
        await ui.press(*["right_square_bracket"] * 3)
        assert "1 post without a posting time" in ui.text
        assert "posted   unknown" in ui.text


async def test_hostile_text_is_harmless(tmp_path: Path) -> None:
    post = ("x" + HOSTILE[:30], 1, 0, "SHORT", 10**12, 1, 0, 0, 0)
    async with open_engagement(
        tmp_path, (80, 24), fill=lambda conn, user: insert_post(conn, user, post, HOSTILE * 400)
    ) as ui:
        await ui.press("tab", "tab", "m", "escape", "shift+tab")
        assert "\x1b" not in ui.text
        assert "\u202e" not in ui.text
        assert "1,000,000,000,000" in ui.text


@pytest.mark.parametrize("size", [(40, 10), (40, 24), (80, 24), (100, 12), (200, 60)])
async def test_metrics_and_posts_fit_size(tmp_path: Path, size: tuple[int, int]) -> None:
    async with open_engagement(tmp_path, size) as ui:
        assert "interactions" in ui.text
        await ui.press("tab")
        assert "192 " in ui.text
        assert all(len(line) <= size[0] for line in ui.lines)


@pytest.mark.parametrize("theme", ["", LIGHT.name], ids=["dark", "light"])
def test_snapshot_full(snap_compare: Compare, tmp_path: Path, theme: str) -> None:
    assert snap_compare(make_posted_console(tmp_path), terminal_size=(120, 48), run_before=press_keys("5", theme=theme))


@pytest.mark.parametrize("keys", [(), ("G",), ("tab",), ("m",)], ids=["metrics", "hours", "posts", "form"])
def test_snapshot_narrow(snap_compare: Compare, tmp_path: Path, keys: tuple[str, ...]) -> None:
    assert snap_compare(make_posted_console(tmp_path), terminal_size=(80, 24), run_before=press_keys("5", *keys))


LONGER = press_keys("5", "right_square_bracket", "tab")


def test_snapshot_wide(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(make_posted_console(tmp_path), terminal_size=(200, 60), run_before=LONGER)


def test_snapshot_empty(snap_compare: Compare, tmp_path: Path) -> None:
    app = make_posted_console(tmp_path, fill=None)
    assert snap_compare(app, terminal_size=(80, 24), run_before=press_keys("5", *["right_square_bracket"] * 3))


def test_snapshot_error(snap_compare: Compare) -> None:
    desk = FakeDesk(0)
    desk.open_error = StoreBusyError(hint="Is Copydesk open elsewhere?")
    assert snap_compare(make_console(desk), terminal_size=(80, 24), run_before=press_keys("5"))
