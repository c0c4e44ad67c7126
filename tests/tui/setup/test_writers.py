"""Tests for the writers of the setup screen: added and tried in a form, tested, chosen, removed."""

from pathlib import Path

from console_driver import ConsoleDriver, type_text
from copydesk.desk import Desk
from copydesk.tui.setup.screen import SetupScreen
from fake_model_server import FakeChatCompletions, draft_answer, error_response
from setup_driver import open_setup, open_setup_desk, wait_for_text

POST = "The library of Elmbrook lends tools."
SECTIONS_ABOVE = 3


async def open_writers(ui: ConsoleDriver) -> None:
    """Move to the section of writers."""
    await ui.press(*["j"] * SECTIONS_ABOVE)
    await wait_for_text(ui, "Copies sentences from the source")


async def fill_form(ui: ConsoleDriver) -> None:
    """Open the form and fill it in."""
    await ui.press("A")
    await wait_for_text(ui, "Add a language model and test it")
    for value in ("gpt", "test-model", "openai", "https://models.example/v1"):
        await type_text(ui, value)
        await ui.press("tab")
    await type_text(ui, "sk-0123456789\n")


async def add_writer(desk: Desk) -> None:
    """Add a language model without testing it."""
    await desk.writers.add({"name": "gpt", "model": "test-model", "baseUrl": "https://models.example/v1"}, "sk-01234")


async def list_names(home: Path) -> list[tuple[str, int | None]]:
    """Return the writers' names and places in the order."""
    async with open_setup_desk(home) as desk:
        return [(info.name, info.position) for info in (await desk.writers.list()).writers]


async def test_language_model_is_added_and_tried(tmp_path: Path) -> None:
    server = FakeChatCompletions(draft_answer(POST))
    async with open_setup(tmp_path, transport=server) as ui:
        await open_writers(ui)
        await fill_form(ui)
        await wait_for_text(ui, "test-model-2026-01-15 wrote a post")
        assert "sk-0123456789" not in ui.text
        assert "not used" in ui.text
    assert server.requests[0].headers["authorization"] == "Bearer sk-0123456789"
    assert await list_names(tmp_path) == [("offline", 1), ("gpt", None)]


async def test_added_model_is_chosen_by_the_key_that_the_result_names(tmp_path: Path) -> None:
    async with open_setup(tmp_path, transport=FakeChatCompletions(draft_answer(POST))) as ui:
        await open_writers(ui)
        await fill_form(ui)
        await wait_for_text(ui, "Space lets it write drafts.")
        await ui.press("space")
        await wait_for_text(ui, "Drafts are written by gpt, else offline.")


async def test_cursor_stays_when_a_model_is_added_elsewhere(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await open_writers(ui)
        async with open_setup_desk(tmp_path) as desk:
            await add_writer(desk)
        await ui.press("full_stop")
        await wait_for_text(ui, "not used")
        screen = ui.app.screen
        assert isinstance(screen, SetupScreen)
        assert screen.writers.current is not None
        assert screen.writers.current.name == "offline"


async def test_enter_goes_on_to_the_model(tmp_path: Path) -> None:
    async with open_setup(tmp_path, transport=FakeChatCompletions(draft_answer(POST))) as ui:
        await open_writers(ui)
        await ui.press("A")
        await wait_for_text(ui, "Add a language model and test it")
        await type_text(ui, "gpt\ntest-model\n")
        await wait_for_text(ui, "test-model-2026-01-15 wrote a post")


async def test_placeholders_fit_80_columns(tmp_path: Path) -> None:
    async with open_setup(tmp_path, size=(80, 24)) as ui:
        await open_writers(ui)
        await ui.press("A")
        await wait_for_text(ui, "https://…/v1; empty: OpenAI or Anthropic")


async def test_failed_test_stays_in_the_form(tmp_path: Path) -> None:
    async with open_setup(tmp_path, transport=FakeChatCompletions(error_response(404, "No such model."))) as ui:
        await open_writers(ui)
        await fill_form(ui)
        await wait_for_text(ui, "Added gpt, but it wrote no post: models.example says: No such model.")


async def test_model_is_chosen_tested_and_removed(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_writer, transport=FakeChatCompletions(draft_answer(POST))) as ui:
        await open_writers(ui)
        await ui.press("tab", "j")
        await wait_for_text(ui, "https://models.example/v1")
        await ui.press("t")
        await wait_for_text(ui, "gpt: test-model-2026-01-15 wrote a post")
        await ui.press("space")
        await wait_for_text(ui, "Drafts are written by gpt, else offline.")
        assert await list_names(tmp_path) == [("gpt", 1), ("offline", 2)]
        await ui.press("D")
        await wait_for_text(ui, "Remove gpt and delete its key?")
        await ui.press("y")
        await wait_for_text(ui, "Removed gpt.")
    assert await list_names(tmp_path) == [("offline", 1)]


async def test_offline_writer_cannot_be_removed(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as ui:
        await open_writers(ui)
        await ui.press("D")
        await wait_for_text(ui, "A adds a language model")
