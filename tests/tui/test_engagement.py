"""The screen Engagement before a real desk: what it says, what can be done, what is hostile."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from copydesk.errors import StoreBusyError
from copydesk.model.delivery import Figures
from copydesk.posting.fake import FakeServer
from copydesk.tui.themes import LIGHT
from posted_desk import POSTS, posted_console, posted_desk, put_post
from posting_fixtures import approved, connect
from tui_fixtures import FakeDesk, Seen, console, settled

Compare = Callable[..., bool]
HOSTILE = "[/nope] \x1b]0;owned\x07 [@click=app.quit]x[/] \u202eevil \U0001f469\u200d\U0001f4bb 漢字 "


@asynccontextmanager
async def shown(home: Path, size: tuple[int, int] = (120, 44), **options: Any) -> AsyncIterator[Seen]:
    """The screen, read."""
    app = posted_console(home, **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        seen = Seen(app, pilot)
        await seen.press("5")
        yield seen


async def test_the_totals_say_of_how_many_posts_they_are(tmp_path: Path) -> None:
    async with shown(tmp_path, (80, 60)) as seen:
        assert "11  10 with figures" in seen.text
        assert "3.33%  of 7 posts with a rate, weighted by impressions" in seen.text
        assert "14,375  of 7 posts; of 4 not reported" in seen.text
        assert "Not reported by mastodon: impressions, clicks." in seen.text
        assert "on the clock of Europe/Prague" in seen.text
        assert "Tue 07:00 6.94% (1 post)" in seen.text


async def test_plus_and_minus_change_the_period(tmp_path: Path) -> None:
    async with shown(tmp_path) as seen:
        found = []
        for key in ("minus", "minus", *["plus"] * 5):
            await seen.press(key)
            title = next(line for line in seen.lines if "Figures · " in line)
            found.append((title.split("Figures · ")[1].split(" ─")[0], title.split("Posts · ")[1].split()[0]))
        seven, *_ = found
        assert seven == ("the last 7 days", "6")
        assert found[2:] == [
            ("the last 30 days", "11"),
            ("the last 90 days", "13"),
            ("the last 365 days", "14"),
            ("all time", "14"),
            ("all time", "14"),
        ]


async def test_a_post_says_what_its_platform_does_not_report_and_where_it_is(tmp_path: Path) -> None:
    async with shown(tmp_path) as seen:
        await seen.press("tab", *"jjjjjjj")
        assert "No rate: no impressions are known" in seen.text
        assert "not reported by bluesky" in seen.text
        assert "https://bluesky.example/2" in seen.text
        assert "Mon 09 Feb 2026 08:30" in seen.text
        await seen.press("G")
        assert "No figures are known of this post." in seen.text


async def test_figures_are_recorded_by_hand_and_the_cursor_stays_on_its_post(tmp_path: Path) -> None:
    async with shown(tmp_path) as seen:
        await seen.press("tab", "G", "m", *"31", "down", "down", "down", *"9x00", "enter")
        assert "Recorded 31 likes, 900 impressions." in seen.toasts
        assert "31 interactions by 900 impressions" in seen.text
        assert "not reported by linkedin" in seen.text
        assert "linkedin" in next(line for line in seen.lines if "▌" in line)
    async with posted_desk(tmp_path) as desk:
        (post,) = [post for post in await desk.engagement.posts() if post.platform == "linkedin"]
        assert (post.likes, post.impressions, post.replies) == (31, 900, None)


async def test_an_empty_form_is_not_taken_and_stays(tmp_path: Path) -> None:
    async with shown(tmp_path) as seen:
        await seen.press("m", "enter")
        assert "figures: are all empty" in seen.text
        await seen.press("7", "enter")
        assert "Recorded 7 likes." in seen.toasts


async def test_a_form_that_is_left_changes_nothing(tmp_path: Path) -> None:
    async with shown(tmp_path) as seen:
        await seen.press("m", "7", "escape")
        assert seen.toasts == []
        assert "Figures of" not in seen.text


async def test_figures_are_fetched_from_the_platforms_when_asked_for(tmp_path: Path) -> None:
    server = FakeServer()
    async with posted_desk(tmp_path, None, server=server) as desk:
        await connect(desk)
        result = await desk.posting.post(await approved(desk))
    server.figures[result.draft.post_id or ""] = Figures(likes=12, impressions=400)
    async with shown(tmp_path, server=server) as seen:
        assert "No figures are known of this post." in seen.text
        await seen.press("r")
        assert "Read what is reported of 1 post." in seen.toasts
        assert "12 interactions by 400 impressions" in seen.text


async def test_where_no_platform_answers_it_is_said(tmp_path: Path) -> None:
    async with shown(tmp_path) as seen:
        await seen.press("r")
        assert any(said.startswith("No platform answered.") for said in seen.toasts)


async def test_what_another_process_records_is_shown_and_the_cursor_stays(tmp_path: Path) -> None:
    async with shown(tmp_path) as seen:
        await seen.press("tab", "j", "j")
        before = next(line for line in seen.lines if "▌" in line)
        async with posted_desk(tmp_path) as other:
            await other.ground.write(
                lambda conn, user: put_post(conn, user, ("x", 1, 1, "SHORT", 100, 50, 0, 0, 0), "New words.")
            )
        while "New words." not in seen.text:
            await seen.wait()
        after = next(line for line in seen.lines if "▌" in line)
        assert after.split("▌")[1] == before.split("▌")[1]


async def test_q_on_a_narrow_terminal_leads_back_to_the_figures_first(tmp_path: Path) -> None:
    async with shown(tmp_path, (80, 24)) as seen:
        await seen.press("tab", "q")
        assert "Figures · " in seen.text
        assert seen.app.is_running
        await seen.press("q")
        assert seen.app._exit


async def test_a_period_without_posts_leads_to_a_longer_one(tmp_path: Path) -> None:
    old = ("x", 60, 0, "SHORT", 100, 5, 0, 0, 0)
    async with shown(tmp_path, fill=lambda conn, user: put_post(conn, user, old)) as seen:
        assert "Nothing went out in the last 30 days." in seen.text
        assert "+ shows a longer period." in seen.text
        await seen.press("m", "r", "o")
        assert len(seen.toasts) == 3
        await seen.press("plus")
        assert "100  of 1 post" in seen.text


async def test_a_post_of_which_nobody_knows_when_it_went_out_is_counted_and_said(tmp_path: Path) -> None:
    def fill(conn: Any, user: str) -> None:
        put_post(conn, user, POSTS[0])
        conn.exec_driver_sql("update delivery set sent_at = null")
        conn.exec_driver_sql("update draft set posted_at = null")

    async with shown(tmp_path, fill=fill) as seen:
        await seen.press(*["plus"] * 3)
        assert "Of 1 post it is not known when they went out." in seen.text
        assert "it is not known when" in seen.text


async def test_hostile_names_and_texts_are_shown_harmless(tmp_path: Path) -> None:
    post = ("x" + HOSTILE[:30], 1, 0, "SHORT", 10**12, 1, 0, 0, 0)
    async with shown(tmp_path, (80, 24), fill=lambda conn, user: put_post(conn, user, post, HOSTILE * 400)) as seen:
        await seen.press("tab", "tab", "m", "escape", "shift+tab")
        assert "\x1b" not in seen.text
        assert "\u202e" not in seen.text
        assert "1,000,000,000,000" in seen.text


@pytest.mark.parametrize("size", [(40, 10), (40, 24), (80, 24), (100, 12), (200, 60)])
async def test_every_size_shows_the_figures_and_the_posts(tmp_path: Path, size: tuple[int, int]) -> None:
    async with shown(tmp_path, size) as seen:
        assert "with figures" in seen.text
        await seen.press("tab")
        assert "6.94% " in seen.text
        assert all(len(line) <= size[0] for line in seen.lines)


def before(*keys: str, theme: str = "") -> Callable[[Any], Any]:
    async def do(pilot: Any) -> None:
        if theme:
            pilot.app.theme = theme
        await settled(pilot)
        for key in ("5", *keys):
            pilot.app.simulate_key(key)
            await settled(pilot)

    return do


@pytest.mark.parametrize("theme", ["", LIGHT.name], ids=["dark", "light"])
def test_snapshot_full(snap_compare: Compare, tmp_path: Path, theme: str) -> None:
    assert snap_compare(posted_console(tmp_path), terminal_size=(120, 48), run_before=before(theme=theme))


@pytest.mark.parametrize("keys", [(), ("G",), ("tab",), ("m",)], ids=["figures", "hours", "posts", "form"])
def test_snapshot_narrow(snap_compare: Compare, tmp_path: Path, keys: tuple[str, ...]) -> None:
    assert snap_compare(posted_console(tmp_path), terminal_size=(80, 24), run_before=before(*keys))


def test_snapshot_wide(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(posted_console(tmp_path), terminal_size=(200, 60), run_before=before("plus", "tab"))


def test_snapshot_empty(snap_compare: Compare, tmp_path: Path) -> None:
    app = posted_console(tmp_path, fill=None)
    assert snap_compare(app, terminal_size=(80, 24), run_before=before(*["plus"] * 3))


def test_snapshot_error(snap_compare: Compare) -> None:
    desk = FakeDesk(0)
    desk.trouble = StoreBusyError(hint="Is Copydesk open elsewhere?")
    assert snap_compare(console(desk), terminal_size=(80, 24), run_before=before())
