"""Tests for composing a draft: the form, its autosave, and the draft that results."""

import errno
from pathlib import Path

import pytest

from console_driver import ConsoleDriver, type_text, wait_until_idle
from copydesk.desk import Desk, open_desk
from copydesk.editor import Autosave
from copydesk.model.draft import Format, Status
from copydesk.tui.app import Console
from copydesk.tui.compose import dialog
from copydesk.tui.compose.dialog import ComposeDialog, ComposeState, ImageInput, dump_state
from copydesk.tui.compose.unsaved import COMPOSE_FOLDER, NEW_DRAFT_NAME, composed_texts
from copydesk.tui.labels import COMPOSE_PLACEHOLDERS
from copydesk.tui.review.screen import ReviewScreen
from delayed_responses import wait_until
from desk_fixtures import settings_at
from image_samples import photo
from posting_fixtures import connect_account
from setup_driver import add_sample_setup, open_setup, open_setup_desk, wait_for_text, wait_until_absent

TEXT = "A ferry is a road that moves."


async def open_form(ui: ConsoleDriver) -> None:
    await ui.press("c")
    await wait_for_text(ui, "New draft")


async def list_drafts(home: Path) -> list[tuple[str, str, Status]]:
    async with open_setup_desk(home) as desk:
        return [(draft.text, draft.format.value, draft.status) for draft in (await desk.drafts.list()).items]


async def test_compose_opens_on_all_screens(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        for key in "12356":
            await ui.press(key)
            await open_form(ui)
            await ui.press("escape")
            await wait_until_absent(ui, "New draft")
        await ui.press("4", "ctrl+n")  # on Experiments, c concludes an experiment
        await wait_for_text(ui, "New draft")


async def test_connected_platforms_are_named(tmp_path: Path) -> None:
    async with open_setup(tmp_path, key="1") as ui:
        await open_form(ui)
        assert "all, or" not in ui.text
    async with open_setup_desk(tmp_path) as desk:
        for platform in ("mastodon", "ghost"):
            await connect_account(desk, platform=platform)
    async with open_setup(tmp_path, key="1") as ui:
        await open_form(ui)
        assert "all, or: ghost, mastodon" in ui.text


async def test_counts_follow_typing(tmp_path: Path) -> None:
    async with open_setup(tmp_path, key="1") as ui:
        await open_form(ui)
        await type_text(ui, TEXT)
        await wait_for_text(ui, f"X  not connected  {len(TEXT)}/280")
        assert f"Bluesky  not connected  {len(TEXT)}/300" in ui.text
        await type_text(ui, "y" * 280)
        await wait_for_text(ui, f"{len(TEXT) + 280}/280, {len(TEXT)} too long")
        assert "rejected by 2 of 2" in ui.text


@pytest.mark.parametrize("size", [(40, 24), (80, 24)])
async def test_form_hints_fit_small_terminal(tmp_path: Path, size: tuple[int, int]) -> None:
    async with open_setup(tmp_path, key="1", size=size) as ui:
        await open_form(ui)
        text = " ".join(ui.text.split())
        assert "‹Write›" in text
        assert f"Platforms {COMPOSE_PLACEHOLDERS['platforms']} Images, one per line: file or URL | alt text" in text
        assert text.endswith("Ctrl+S create · Tab next · Ctrl+N clear · Esc cancel")
        await ui.press("shift+tab", "right")
        text = " ".join(ui.text.split())
        assert f"URL {COMPOSE_PLACEHOLDERS['url']} Prompt {COMPOSE_PLACEHOLDERS['prompt']} Formats ‹short›" in text


async def test_ctrl_s_creates_draft_from_text(tmp_path: Path) -> None:
    async with open_setup(tmp_path, key="1") as ui:
        await open_form(ui)
        await type_text(ui, f"{TEXT}\nIt has no lanes.")
        await ui.press("ctrl+s")
        await wait_for_text(ui, "Draft created")
        await wait_until_absent(ui, "New draft")
        assert isinstance(ui.app.screen, ReviewScreen)
        await wait_for_text(ui, TEXT)
    assert await list_drafts(tmp_path) == [(f"{TEXT}\nIt has no lanes.", "SHORT", Status.AWAITING_REVIEW)]
    assert Autosave(tmp_path / COMPOSE_FOLDER).list_all() == []


async def test_draft_gets_format_tags_platforms_and_images(tmp_path: Path) -> None:
    image_file = tmp_path / "boat.jpg"
    image_file.write_bytes(photo())
    async with open_setup(tmp_path) as ui:
        await open_form(ui)
        await type_text(ui, TEXT)
        await ui.press("tab", "right", "tab")
        await type_text(ui, "sea, land")
        await ui.press("tab")
        await type_text(ui, "bluesky")
        await ui.press("tab")
        await type_text(ui, f"{image_file} | A boat.")
        await wait_for_text(ui, "Image 1  64x48, 1.1 kB  “A boat.”")
        await ui.press("ctrl+s")
        await wait_for_text(ui, "Draft created")
    async with open_setup_desk(tmp_path) as desk:
        (draft,) = (await desk.drafts.list()).items
        assert (draft.format, draft.tags, draft.target_platforms) == (Format.THREAD, ("land", "sea"), ("bluesky",))
        assert [image.alt for image in draft.images] == ["A boat."]


@pytest.mark.parametrize(
    ("option_keys", "tab"), [((), "to_review"), (("right",), "approved"), (("left",), "scheduled")]
)
async def test_cursor_moves_to_created_draft(tmp_path: Path, option_keys: tuple[str, ...], tab: str) -> None:
    async def add_drafts(desk: Desk) -> None:
        await desk.schedule.set_slots([desk.schedule.parse_slot("wed 09:00")])
        for number in range(3):
            await desk.drafts.create({"text": f"There is number {number}."})

    async with open_setup(tmp_path, add_drafts, key="1") as ui:
        await ui.press("j", "j", "space")
        await open_form(ui)
        await type_text(ui, TEXT)
        await ui.press(*["tab"] * 5, *option_keys, "ctrl+s")
        await wait_for_text(ui, "Draft created")
        screen = ui.app.screen
        assert isinstance(screen, ReviewScreen)
        assert screen.queue.current is not None
        assert (screen.queue.current.text, screen.queue_pane.tab) == (TEXT, tab)
        screen.queue_pane.show_tab("to_review")
        await ui.wait()
        assert screen.queue.marked_count == 1


async def test_other_screen_names_where_draft_is(tmp_path: Path) -> None:
    async with open_setup(tmp_path, key="5") as ui:
        await open_form(ui)
        await type_text(ui, TEXT)
        await ui.press("ctrl+s")
        await wait_for_text(ui, "Draft created · 1 Review")
        await ui.press("1")
        await wait_for_text(ui, TEXT)


async def test_draft_is_approved_and_scheduled(tmp_path: Path) -> None:
    async def add_slot(desk: Desk) -> None:
        await desk.schedule.set_slots([desk.schedule.parse_slot("wed 09:00")])

    async with open_setup(tmp_path, add_slot) as ui:
        await open_form(ui)
        await type_text(ui, TEXT)
        await ui.press(*["tab"] * 5, "right", "right")
        assert "‹Approve and schedule›" in ui.text
        await ui.press("ctrl+s")
        await wait_for_text(ui, "Draft created, approved and scheduled for")
    assert [status for *_, status in await list_drafts(tmp_path)] == [Status.SCHEDULED]


async def test_draft_is_created_without_free_slot(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await open_form(ui)
        await type_text(ui, TEXT)
        await ui.press(*["tab"] * 5, "left", "ctrl+s")
        await wait_for_text(ui, "slot")
        await wait_until(lambda: ui.toasts, ui.wait)
        assert any("slot" in message for message in ui.toasts)
    assert [status for *_, status in await list_drafts(tmp_path)] == [Status.APPROVED]


async def test_draft_is_generated_from_prompt(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await open_form(ui)
        await ui.press("shift+tab", "right", "tab", "tab")
        await type_text(ui, "The harbour opens a ferry to the island. It carries 40 passengers each day.")
        await ui.press("ctrl+s")
        await wait_for_text(ui, "1 draft generated · 1 Review")
    ((text, _, status),) = await list_drafts(tmp_path)
    assert "ferry" in text
    assert status is Status.PENDING_REVIEW


async def test_refused_draft_keeps_form_open(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await open_form(ui)
        await ui.press("ctrl+s")
        await wait_for_text(ui, "text")
        assert "New draft" in ui.text
        await type_text(ui, TEXT)
        await ui.press("tab", "tab", "tab", "tab")
        await type_text(ui, str(tmp_path / "gone.png"))
        await ui.press("ctrl+s")
        await wait_for_text(ui, "gone.png")
        assert TEXT in ui.text
    assert await list_drafts(tmp_path) == []


async def test_leaving_confirms_only_after_typing(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await open_form(ui)
        await type_text(ui, TEXT)
        await ui.press("escape")
        assert "Discard your changes?" in ui.text
        await ui.press("enter")
        assert TEXT in ui.text
        await ui.press("escape", "y")
        await wait_until_absent(ui, TEXT)
    assert Autosave(tmp_path / COMPOSE_FOLDER).list_all() == []


async def test_unsaved_text_is_restored_after_crash(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await open_form(ui)
        await type_text(ui, TEXT)
        await wait_until(
            lambda: any(TEXT in typed.text for typed in Autosave(tmp_path / COMPOSE_FOLDER).list_all()), ui.wait
        )
    async with open_setup(tmp_path) as ui:
        assert not any("Unsaved new draft." in toast for toast in ui.toasts)
        ui.app.offer_unsaved_draft()
        await wait_until(lambda: "Unsaved new draft. Press c to continue." in ui.toasts, ui.wait)
        await open_form(ui)
        await wait_for_text(ui, "Restored unsaved draft from ")
        assert TEXT in ui.text
        await ui.press("ctrl+s")
        await wait_for_text(ui, "Draft created")
        await wait_until_absent(ui, "New draft")
        await open_form(ui)
        assert TEXT not in ui.text
    assert Autosave(tmp_path / COMPOSE_FOLDER).list_all() == []


async def test_typing_goes_on_in_the_restored_prompt(tmp_path: Path) -> None:
    async with open_setup_desk(tmp_path) as desk:
        typed = ComposeState(way=dialog.GENERATED, url="https://ferry.example/")
        composed_texts(desk).save(NEW_DRAFT_NAME, 0, dump_state(typed))
    async with open_setup(tmp_path) as ui:
        await open_form(ui)
        await type_text(ui, "new")
        assert "https://ferry.example/new" in ui.text


async def test_refusal_names_fields_as_the_form_does(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await open_form(ui)
        await type_text(ui, TEXT)
        await ui.press("tab", "tab")
        await type_text(ui, f"ferry, {'x' * 51}")
        await ui.press("tab", "tab")
        await type_text(ui, "https://ferry.example/a b")
        await ui.press("ctrl+s")
        await wait_for_text(ui, "image 1 contains a space or a control character; tag 2 takes 1 to 50")


async def test_unknown_platform_is_refused_in_the_form(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await open_form(ui)
        await type_text(ui, TEXT)
        await ui.press("tab", "tab", "tab")
        await type_text(ui, "Mastodon:me@one.example, blusky")
        await ui.press("ctrl+s")
        await wait_for_text(ui, "platform 2 takes one of bluesky, mastodon, ")
        assert TEXT in ui.text
        await ui.press(*["backspace"] * len(", blusky"), "ctrl+s")
        await wait_for_text(ui, "Draft created")
    async with open_setup_desk(tmp_path) as desk:
        (draft,) = (await desk.drafts.list()).items
        assert draft.target_platforms == ("mastodon:me@one.example",)


@pytest.mark.parametrize(
    ("field", "label"),
    [
        ("url", "URL"),
        ("targetPlatforms", "platforms"),
        ("targetPlatforms[0]", "platform 1"),
        ("images[1].alt", "image 2: alt text"),
        ("unknown[0]", "unknown 1"),
    ],
)
def test_errors_name_fields_as_the_form_does(field: str, label: str) -> None:
    assert ComposeDialog().label_of(field) == label


@pytest.mark.parametrize(("user", "reviewer"), [("anna", ""), (None, "anna")])
async def test_unsaved_text_of_somebody_else_is_not_offered(tmp_path: Path, user: str | None, reviewer: str) -> None:
    async with open_setup_desk(tmp_path) as desk:
        composed_texts(desk).save(NEW_DRAFT_NAME, 0, dump_state(ComposeState(text=TEXT)))
    app = Console(lambda: open_desk(settings_at(tmp_path, console__reviewer=reviewer), user=user))
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        await open_form(ui)
        assert TEXT not in ui.text
        assert not any("Unsaved" in toast for toast in ui.toasts)


async def test_form_can_be_cleared(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await open_form(ui)
        await type_text(ui, TEXT)
        await ui.press("ctrl+n", "y")
        assert TEXT not in ui.text
        await ui.press("escape")
        await wait_until_absent(ui, "New draft")


@pytest.mark.parametrize("keys", [("ctrl+n", "y"), ("escape", "y")])
async def test_autosave_that_cannot_be_deleted_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    async with open_setup(tmp_path) as ui:
        await open_form(ui)
        await type_text(ui, TEXT)
        await wait_until(Autosave(tmp_path / COMPOSE_FOLDER).list_all, ui.wait)
        monkeypatch.setattr(Path, "unlink", fail)
        await ui.press(*keys)
        await wait_for_text(ui, "Autosave not deleted: Permission denied. Its text is offered again.")
        monkeypatch.undo()


async def test_text_can_be_typed_after_the_prompt_was_cleared(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await open_form(ui)
        await ui.press("shift+tab", "right", "tab")
        await type_text(ui, "https://ferry.example/")
        await ui.press("ctrl+n", "y")
        await type_text(ui, TEXT)
        await wait_for_text(ui, TEXT)


async def test_pasted_escape_sequences_are_removed(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await open_form(ui)
        ui.app.screen.query_one("#text").insert("\x1b]0;owned\x07[/x] \u202eevil")  # type: ignore[attr-defined]
        await ui.wait()
        assert "\x1b" not in ui.text
        assert "[/x]" in ui.text


@pytest.mark.parametrize("text", ["", "{", '{"way": "none", "format": "x", "then": 3}', "[" * 5000, "\x1b[2Jx", "{}"])
def test_unknown_autosave_file_is_read_as_text(text: str) -> None:
    composed = dialog.parse_state(text)
    assert "\x1b" not in composed.text
    assert composed.way == "text"


def test_autosave_round_trips() -> None:
    composed = ComposeState(text="One\ntwo", tags="a, b", way="written", formats="SHORT,THREAD", then="schedule")
    assert dialog.parse_state(dialog.dump_state(composed)) == composed


def test_image_lines_are_parsed() -> None:
    lines = "a.png | A boat.\n\n https://one.example/b.png|\nc.png"
    images = dialog.parse_images(ComposeState(pictures=lines))
    assert images == [
        ImageInput("a.png", "A boat."),
        ImageInput("https://one.example/b.png", ""),
        ImageInput("c.png", ""),
    ]


async def test_text_is_checked_as_it_is_typed(tmp_path: Path) -> None:
    async with open_setup(tmp_path, key="1") as ui:
        await open_form(ui)
        await type_text(ui, "Bread &amp; salt")
        await wait_for_text(ui, "HTML entity: &amp;")
