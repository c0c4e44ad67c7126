"""A draft is composed in the console: what it comes to while one types, what is made of it, what is kept."""

from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.editor import TypedTexts
from copydesk.model.draft import Format, Status
from copydesk.tui import compose_entry
from copydesk.tui.compose_entry import LINES, Composed, GivenPicture
from copydesk.tui.composing import FOLDER
from copydesk.tui.screens.review import ReviewScreen
from held_answers import so
from setup_screen import furnished, gone, on_setup, setup_desk, until, write
from some_pictures import photo
from tui_fixtures import Seen

TEXT = "A ferry is a road that moves."


async def open_form(seen: Seen) -> None:
    await seen.press("c")
    await until(seen, "A new draft")


async def drafts(home: Path) -> list[tuple[str, str, Status]]:
    async with setup_desk(home) as desk:
        return [(each.text, each.format.value, each.status) for each in (await desk.drafts.list()).items]


async def test_it_is_there_on_every_screen(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        for key in "12356":
            await seen.press(key)
            await open_form(seen)
            await seen.press("escape")
            await gone(seen, "A new draft")
        await seen.press("4", "ctrl+n")  # there c concludes an experiment
        await until(seen, "A new draft")


async def test_the_counts_follow_what_is_typed(tmp_path: Path) -> None:
    async with on_setup(tmp_path, key="1") as seen:
        await open_form(seen)
        await write(seen, TEXT)
        await until(seen, f"x  not connected  {len(TEXT)}/280")
        assert f"bluesky  not connected  {len(TEXT)}/300" in seen.text
        await write(seen, "y" * 280)
        await until(seen, f"{len(TEXT) + 280}/280, {len(TEXT)} too long")
        assert "2 of 2 would refuse it" in seen.text


@pytest.mark.parametrize("size", [(40, 24), (80, 24)])
async def test_a_small_screen_has_room_for_every_hint(tmp_path: Path, size: tuple[int, int]) -> None:
    async with on_setup(tmp_path, key="1", size=size) as seen:
        await open_form(seen)
        said = " ".join(seen.text.split())
        assert "‹my own text›" in said
        assert f"platforms {LINES['platforms']} pictures, a line each: file or address | what it shows" in said
        assert said.endswith("Ctrl+s makes the draft · Tab next · Ctrl+n empties it · Esc leaves")
        await seen.press("shift+tab", "right")
        said = " ".join(seen.text.split())
        assert f"url {LINES['url']} prompt {LINES['prompt']} formats ‹SHORT›" in said


async def test_ctrl_s_makes_the_draft_of_the_text(tmp_path: Path) -> None:
    async with on_setup(tmp_path, key="1") as seen:
        await open_form(seen)
        await write(seen, f"{TEXT}\nIt has no lanes.")
        await seen.press("ctrl+s")
        await until(seen, "The draft is made; the cursor is on it.")
        await gone(seen, "A new draft")
        assert isinstance(seen.app.screen, ReviewScreen)
        await until(seen, TEXT)
    assert await drafts(tmp_path) == [(f"{TEXT}\nIt has no lanes.", "SHORT", Status.AWAITING_REVIEW)]
    assert TypedTexts(tmp_path / FOLDER).every() == []


async def test_format_tags_platforms_and_pictures_go_with_it(tmp_path: Path) -> None:
    picture = tmp_path / "boat.jpg"
    picture.write_bytes(photo())
    async with on_setup(tmp_path) as seen:
        await open_form(seen)
        await write(seen, TEXT)
        await seen.press("tab", "right", "tab")
        await write(seen, "sea, land")
        await seen.press("tab")
        await write(seen, "bluesky")
        await seen.press("tab")
        await write(seen, f"{picture} | A boat.")
        await until(seen, "picture 1  64x48, 1.1 kB  “A boat.”")
        await seen.press("ctrl+s")
        await until(seen, "The draft is made")
    async with setup_desk(tmp_path) as desk:
        (made,) = (await desk.drafts.list()).items
        assert (made.format, made.tags, made.target_platforms) == (Format.THREAD, ("land", "sea"), ("bluesky",))
        assert [image.alt for image in made.images] == ["A boat."]


@pytest.mark.parametrize(("turned", "tab"), [((), "to_review"), (("right",), "approved"), (("left",), "scheduled")])
async def test_the_cursor_is_on_what_was_made_wherever_the_queue_was(
    tmp_path: Path, turned: tuple[str, ...], tab: str
) -> None:
    async def before(desk: Desk) -> None:
        await desk.schedule.set_slots([desk.schedule.read_slot("wed 09:00")])
        for number in range(3):
            await desk.drafts.create({"text": f"There is number {number}."})

    async with on_setup(tmp_path, before, key="1") as seen:
        await seen.press("j", "j", "space")
        await open_form(seen)
        await write(seen, TEXT)
        await seen.press(*["tab"] * 5, *turned, "ctrl+s")
        await until(seen, "the cursor is on it")
        screen = seen.app.screen
        assert isinstance(screen, ReviewScreen)
        assert screen.queue.current is not None
        assert (screen.queue.current.text, screen.tab) == (TEXT, tab)
        screen.show_tab("to_review")
        await seen.wait()
        assert screen.queue.marked == 1


async def test_on_another_screen_it_is_said_where_it_is(tmp_path: Path) -> None:
    async with on_setup(tmp_path, key="5") as seen:
        await open_form(seen)
        await write(seen, TEXT)
        await seen.press("ctrl+s")
        await until(seen, "The draft is made; it waits in Review, key 1.")
        await seen.press("1")
        await until(seen, TEXT)


async def test_it_can_be_approved_and_given_the_next_free_slot(tmp_path: Path) -> None:
    async def slots(desk: Desk) -> None:
        await desk.schedule.set_slots([desk.schedule.read_slot("wed 09:00")])

    async with on_setup(tmp_path, slots) as seen:
        await open_form(seen)
        await write(seen, TEXT)
        await seen.press(*["tab"] * 5, "right", "right")
        assert "‹approved, next free slot›" in seen.text
        await seen.press("ctrl+s")
        await until(seen, "The draft is made, and goes out")
    assert [status for *_, status in await drafts(tmp_path)] == [Status.SCHEDULED]


async def test_where_there_is_no_slot_it_is_made_all_the_same(tmp_path: Path) -> None:
    async with on_setup(tmp_path) as seen:
        await open_form(seen)
        await write(seen, TEXT)
        await seen.press(*["tab"] * 5, "left", "ctrl+s")
        await until(seen, "slot")
        await so(lambda: seen.toasts, seen.wait)
        assert any("slot" in said for said in seen.toasts)
    assert [status for *_, status in await drafts(tmp_path)] == [Status.APPROVED]


async def test_a_draft_is_written_from_a_prompt(tmp_path: Path) -> None:
    async with on_setup(tmp_path) as seen:
        await open_form(seen)
        await seen.press("shift+tab", "right", "tab", "tab")
        await write(seen, "The harbour opens a ferry to the island. It carries 40 passengers each day.")
        await seen.press("ctrl+s")
        await until(seen, "1 draft written; it waits in Review, key 1.")
    ((text, _, status),) = await drafts(tmp_path)
    assert "ferry" in text
    assert status in {Status.PENDING_REVIEW, Status.AWAITING_REVIEW}


async def test_what_the_desk_refuses_is_said_and_stays(tmp_path: Path) -> None:
    async with on_setup(tmp_path) as seen:
        await open_form(seen)
        await seen.press("ctrl+s")
        await until(seen, "text")
        assert "A new draft" in seen.text
        await write(seen, TEXT)
        await seen.press("tab", "tab", "tab", "tab")
        await write(seen, str(tmp_path / "gone.png"))
        await seen.press("ctrl+s")
        await until(seen, "gone.png")
        assert TEXT in seen.text
    assert await drafts(tmp_path) == []


async def test_leaving_asks_only_where_something_was_typed(tmp_path: Path) -> None:
    async with on_setup(tmp_path) as seen:
        await open_form(seen)
        await write(seen, TEXT)
        await seen.press("escape")
        assert "Leave, and lose what you typed?" in seen.text
        await seen.press("enter")
        assert TEXT in seen.text
        await seen.press("escape", "y")
        await gone(seen, TEXT)
    assert TypedTexts(tmp_path / FOLDER).every() == []


async def test_what_was_typed_when_the_console_died_is_offered_again(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        await open_form(seen)
        await write(seen, TEXT)
        await so(lambda: any(TEXT in typed.text for typed in TypedTexts(tmp_path / FOLDER).every()), seen.wait)
    async with on_setup(tmp_path) as seen:
        await open_form(seen)
        await until(seen, "and no draft was made of it.")
        assert TEXT in seen.text
        await seen.press("ctrl+s")
        await until(seen, "The draft is made")
        await gone(seen, "A new draft")
        await open_form(seen)
        assert TEXT not in seen.text
    assert TypedTexts(tmp_path / FOLDER).every() == []


async def test_it_can_be_emptied(tmp_path: Path) -> None:
    async with on_setup(tmp_path) as seen:
        await open_form(seen)
        await write(seen, TEXT)
        await seen.press("ctrl+n", "y")
        assert TEXT not in seen.text
        await seen.press("escape")
        await gone(seen, "A new draft")


async def test_what_is_pasted_is_no_command_to_the_terminal(tmp_path: Path) -> None:
    async with on_setup(tmp_path) as seen:
        await open_form(seen)
        seen.app.screen.query_one("#text").insert("\x1b]0;owned\x07[/x] \u202eevil")  # type: ignore[attr-defined]
        await seen.wait()
        assert "\x1b" not in seen.text
        assert "[/x]" in seen.text


@pytest.mark.parametrize("text", ["", "{", '{"way": "none", "format": "x", "then": 3}', "[" * 5000, "\x1b[2Jx", "{}"])
def test_a_file_that_is_none_of_ours_is_read_as_a_text(text: str) -> None:
    found = compose_entry.read(text)
    assert "\x1b" not in found.text
    assert found.way == "text"


def test_what_is_kept_is_read_back() -> None:
    composed = Composed(text="One\ntwo", tags="a, b", way="written", formats="SHORT,THREAD", then="schedule")
    assert compose_entry.read(compose_entry.kept(composed)) == composed


def test_pictures_are_a_line_each() -> None:
    lines = "a.png | A boat.\n\n https://one.example/b.png|\nc.png"
    found = compose_entry.pictures_of(Composed(pictures=lines))
    assert found == [
        GivenPicture("a.png", "A boat."),
        GivenPicture("https://one.example/b.png", ""),
        GivenPicture("c.png", ""),
    ]
