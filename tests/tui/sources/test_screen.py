"""Tests for the Sources screen with a real desk: the list, the details, and the keys."""

import asyncio
import os
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.widgets import Input, Static

from console_driver import type_text
from copydesk.errors import SourceNotFoundError
from copydesk.tui.keys import KeyContext, footer_entries
from copydesk.tui.sources import feed_transfer
from delayed_responses import wait_until
from desk_fixtures import (
    URL_ONE,
    URL_THREE,
    URL_TWO,
    FakeWeb,
    create_source,
    entry,
    feed,
    open_desk_at,
    query_db,
    story_title,
)
from setup_driver import wait_for_text
from sources_driver import add_three_sources, open_sources, sample_web, sources_screen

OPML = f"""<opml version="2.0"><body><outline text="First" xmlUrl="{URL_ONE}"/>
<outline text="Second" xmlUrl="{URL_TWO}"/><outline text="Third" xmlUrl="{URL_THREE}"/></body></opml>"""


async def test_source_row_has_health_letter(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources) as ui:
        assert "Sources · 3 · 1 failing · 1 disabled" in ui.text
        first, second, third = ui.lines[3:6]
        assert first.startswith("▌H feed")
        assert first.endswith("The Ferry Gazette")
        assert second.split()[0] == "E"
        assert second.endswith("2 Gone Quiet")
        assert third.startswith(" - feed")
        assert " off " in third


async def test_source_row_has_sparkline(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources) as ui:
        first = ui.lines[3].split()
        assert first[2] == "12"
        assert first[4] == "·······▃▃▃▆▃██"


async def test_source_at_cursor_is_displayed(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources) as ui:
        await wait_for_text(ui, story_title(1))
        assert "weight 1.5 · tags sea, land" in ui.text
        assert URL_ONE in ui.text
        await ui.press("j")
        assert URL_THREE in ui.text
        assert "Page not found on three.example (404)." in ui.text
        assert "2 in a row" in ui.text


async def test_runs_pane_shows_stage_counts(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources) as ui:
        await ui.press("tab")
        assert "─ Run ─" in ui.text
        assert "2 · 100% succeeded" in ui.text
        await ui.press("j")
        assert "12  items, 12 new" in ui.text
        await ui.press("tab")
        assert "─ Source ─" in ui.text


async def test_enter_focuses_details_and_escape_returns(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources, size=(80, 24)) as ui:
        await ui.press("enter")
        assert sources_screen(ui).focused is sources_screen(ui).detail_pane
        await ui.press("escape")
        assert sources_screen(ui).focused is sources_screen(ui).sources


async def test_narrow_terminal_shows_sources_or_runs(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources, size=(80, 24)) as ui:
        assert "─ Runs ·" not in ui.text
        await ui.press("tab")
        assert "─ Runs ·" in ui.text
        assert "Sources · 3" not in ui.text
        await ui.press("q")
        assert "Sources · 3" in ui.text


async def test_low_terminal_shows_one_pane(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources, size=(40, 12)) as ui:
        assert "The Ferry Gazette" in ui.text
        assert "last fetch" not in ui.text
        await ui.press("enter")
        assert "last fetch" in ui.text
        await ui.resize(40, 9)
        assert "Copydesk needs" in ui.text


async def test_entries_beyond_those_shown_are_not_counted(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put(URL_ONE, feed(*map(entry, range(1, 31))))
    async with open_sources(tmp_path, web=web) as ui:
        await ui.press("A")
        await type_text(ui, URL_ONE)
        await ui.press("enter")
        await wait_for_text(ui, "First 20 entries")


async def test_new_source_is_test_fetched_before_saving(tmp_path: Path) -> None:
    web = sample_web()
    async with open_sources(tmp_path, web=web) as ui:
        await ui.press("A")
        await type_text(ui, URL_ONE)
        assert web.requested_urls == []
        await ui.press("enter")
        await wait_for_text(ui, "12 entries found")
        assert story_title(1) in ui.text
        assert "Enter save ·" in ui.text
        assert ui.app.desk is not None
        assert await ui.app.desk.sources.list() == ()
        await ui.press("enter")
        await wait_for_text(ui, "Sources · 1")
        (source,) = await ui.app.desk.sources.list()
        assert (source.name, source.url) == ("The Ferry Gazette", URL_ONE)
        assert web.requested_urls == [URL_ONE]


async def test_unreadable_source_is_saved_only_explicitly(tmp_path: Path) -> None:
    async with open_sources(tmp_path) as ui:
        await ui.press("A")
        await type_text(ui, URL_THREE)
        await ui.press("enter")
        await wait_for_text(ui, "Test failed")
        assert "Ctrl+S save anyway" in ui.text
        await ui.press("ctrl+s")
        await wait_for_text(ui, "Sources · 1")


async def test_changed_address_requires_new_test(tmp_path: Path) -> None:
    web = sample_web()
    async with open_sources(tmp_path, web=web) as ui:
        await ui.press("A")
        await type_text(ui, URL_ONE)
        await ui.press("enter")
        await wait_for_text(ui, "12 entries")
        await ui.press("x", "backspace")
        assert "Enter save ·" in ui.text
        await ui.press("x")
        assert "Enter tests the feed" in ui.text
        assert "12 entries" not in ui.text


async def test_address_suggests_type_until_chosen(tmp_path: Path) -> None:
    async with open_sources(tmp_path) as ui:
        await ui.press("A")
        await type_text(ui, "news.ycombinator.com")
        assert "‹Hacker News›" in ui.text
        assert "Search" in ui.text
        await ui.press("tab", "right", "shift+tab")
        await type_text(ui, "/x")
        assert "‹Google News›" in ui.text


async def test_invalid_address_is_refused(tmp_path: Path) -> None:
    async with open_sources(tmp_path) as ui:
        await ui.press("A")
        await type_text(ui, "ftp://one.example")
        await ui.press("enter")
        await wait_for_text(ui, "URL is not a web address")


async def test_unexpected_error_keeps_form(tmp_path: Path) -> None:
    async with open_sources(tmp_path) as ui:

        async def fail(*_: object, **__: object) -> None:
            raise RuntimeError("boom")

        assert ui.app.desk is not None
        ui.app.desk.sources.test_candidate = fail  # type: ignore[assignment]
        await ui.press("A")
        await type_text(ui, URL_ONE)
        await ui.press("enter")
        await wait_for_text(ui, "Unexpected error. Details are in the log.")
        assert "boom" in ui.toasts[0]
        assert URL_ONE in ui.text
        assert "Enter tests the feed" in ui.text


async def test_typed_address_is_discarded_after_a_question(tmp_path: Path) -> None:
    async with open_sources(tmp_path) as ui:
        await ui.press("A")
        await type_text(ui, "one")
        await ui.press("escape")
        assert "Discard your changes?" in ui.text
        await ui.press("n")
        assert "New source" in ui.text
        await ui.press("escape", "y")
        assert "New source" not in ui.text
        await ui.press("A", "escape")
        assert "New source" not in ui.text


async def test_existing_source_is_not_duplicated(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources) as ui:
        await ui.press("A")
        await type_text(ui, URL_ONE)
        await ui.press("enter")
        await wait_for_text(ui, "already added as")
        assert "entries" not in ui.text
        await ui.press("ctrl+s")
        await wait_for_text(ui, "already added as")


async def test_settings_are_edited_without_fetch(tmp_path: Path) -> None:
    web = sample_web()
    async with open_sources(tmp_path, add_three_sources, web=web) as ui:
        request_count = len(web.requested_urls)
        await ui.press("e", "tab", "tab")
        await ui.press("backspace", "backspace", "backspace")
        await type_text(ui, "2")
        await ui.press("tab", "tab")
        await type_text(ui, "ferry, /pass(age|enger)/")
        await ui.press("enter")
        await wait_for_text(ui, "Saved The Ferry Gazette")
        assert len(web.requested_urls) == request_count
        assert ui.app.desk is not None
        config = (await ui.app.desk.sources.list())[0].config
        assert config is not None
        assert (config.weight, config.include, config.tags) == (2.0, ("ferry", "/pass(age|enger)/"), ("sea", "land"))


async def test_invalid_number_is_explained(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources) as ui:
        await ui.press("e", "tab", "tab")
        await type_text(ui, "x")
        await ui.press("enter")
        await wait_for_text(ui, "weight must be a number, such as 1.5, not '1.5x'")


async def test_changed_address_is_fetched_before_saving(tmp_path: Path) -> None:
    web = sample_web()
    web.put("https://moved.example/feed", feed(entry(30)))
    async with open_sources(tmp_path, add_three_sources, web=web) as ui:
        await ui.press("j", "e", "tab")
        await ui.press(*["backspace"] * len(URL_THREE))
        await type_text(ui, "https://moved.example/feed")
        await ui.press("enter")
        await wait_for_text(ui, "1 entry")
        await ui.press("enter")
        await wait_for_text(ui, "Saved Gone Quiet")
        assert ui.app.desk is not None
        assert (await ui.app.desk.sources.list())[1].url == "https://moved.example/feed"


@pytest.mark.parametrize("name", ["", "Mine – News"])
async def test_only_a_typed_name_is_the_users(tmp_path: Path, name: str) -> None:
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), title="The Quay – News"))
    async with open_sources(tmp_path, web=web) as ui:
        await ui.press("A")
        await type_text(ui, URL_ONE)
        await ui.press("enter")
        await wait_for_text(ui, "1 entry")
        await ui.press("tab", "tab")
        await type_text(ui, name)
        await ui.press("enter")
        await wait_for_text(ui, "Added")
        assert ui.app.desk is not None
        (source,) = await ui.app.desk.sources.list()
        assert (source.name, source.named_by_user) == (name or "The Quay – News", bool(name))


async def test_t_test_fetches_without_storing(tmp_path: Path) -> None:
    async with open_sources(tmp_path, _add_one_source) as ui:
        await ui.press("t")
        await wait_for_text(ui, "12 entries found")
        assert "nothing was saved" in ui.text
        await ui.press("q")
        assert "nothing was saved" not in ui.text
        assert ui.app.desk is not None
        assert (await ui.app.desk.sources.list())[0].item_count == 0


async def test_slash_finds_a_source(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources) as ui:
        await ui.press("slash")
        await type_text(ui, "quiet")
        await wait_for_text(ui, "Gone Quiet")
        await ui.press("enter")
        await ui.wait()
        assert sources_screen(ui).sources.current.source.name == "Gone Quiet"


async def _add_one_source(desk: object) -> None:
    await create_source(desk, URL_ONE, name="One")  # type: ignore[arg-type]


async def test_space_toggles_source(tmp_path: Path) -> None:
    async with open_sources(tmp_path, _add_one_source) as ui:
        await ui.press("space")
        await wait_for_text(ui, "Disabled One. Space enables it.")
        await wait_for_text(ui, "1 disabled")
        await ui.press("space")
        await wait_for_text(ui, "Enabled One.")


async def test_delete_confirms_and_defaults_to_no(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources) as ui:
        assert ui.app.desk is not None
        drafts = (await ui.app.desk.sources.list_overviews())[0].drafts
        assert drafts > 1
        await ui.press("D")
        assert f"with its 12 items and {drafts} drafts?" in ui.text
        await ui.press("enter")
        assert "Sources · 3" in ui.text
        await ui.press("D", "y")
        await wait_for_text(ui, "Sources · 2")


async def test_key_on_a_source_that_was_deleted_names_no_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_sources(tmp_path, add_three_sources) as ui:
        assert ui.app.desk is not None
        # Deleted elsewhere, and still displayed.
        monkeypatch.setattr(type(ui.app.desk.sources), "update", _fail_as_deleted)
        await ui.press("space")
        assert ui.toasts == ["This source was deleted."]


async def _fail_as_deleted(*_: object, **__: object) -> None:
    raise SourceNotFoundError("01a2")


async def test_opml_import_reports_per_feed(tmp_path: Path) -> None:
    path = tmp_path / "feeds.opml"
    path.write_text(OPML)
    async with open_sources(tmp_path / "desk", _add_one_source) as ui:
        await ui.press("ctrl+o")
        await type_text(ui, str(path))
        await ui.press("enter")
        await wait_for_text(ui, "3/3  1 added · 1 already added · 1 failed")
        assert "Page not found on" in ui.text
        reason = next(result.error for result in ui.app.screen._results if result.error)  # type: ignore[attr-defined]
        failed = [result.outcome for result in ui.app.screen._results].index("failed")  # type: ignore[attr-defined]
        await ui.press("g", *["j"] * failed)
        assert str(ui.app.screen.query_one("#reason", Static).content) == reason
        await ui.press("A")
        await wait_for_text(ui, "3/3  2 added · 1 already added")
        await ui.press("escape")
        await wait_for_text(ui, "Sources · 3")


@pytest.mark.parametrize(("body", "message"), [(None, "Cannot read"), ("no", "is not OPML")])
async def test_invalid_opml_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "feeds.opml"
    if body is not None:
        path.write_text(body)
    async with open_sources(tmp_path / "desk") as ui:
        await ui.press("ctrl+o")
        await type_text(ui, path.name)
        await ui.press("enter")
        await wait_for_text(ui, message)
        # The path stays in the prompt, to be corrected.
        assert ui.app.screen.query_one(Input).value == path.name
        assert ui.app.problems == 0


async def test_pipe_is_refused_without_blocking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "feeds.opml"
    os.mkfifo(path)
    try:
        async with open_sources(tmp_path / "desk") as ui:
            await ui.press("ctrl+o")
            await type_text(ui, path.name)
            await ui.press("enter")
            await wait_for_text(ui, "is not a regular file")
    finally:  # unblock a reader, should one wait for the pipe
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))


async def test_oversized_opml_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "feeds.opml"
    path.write_text(OPML)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(feed_transfer, "MAX_OPML_SIZE", len(OPML) - 1)
    async with open_sources(tmp_path / "desk") as ui:
        await ui.press("ctrl+o")
        await type_text(ui, path.name)
        await ui.press("enter")
        await wait_for_text(ui, "is too large")


async def test_export_confirms_overwriting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_sources(tmp_path / "desk", _add_one_source) as ui:
        await ui.press("L", "enter")
        await wait_for_text(ui, "Exported sources to sources.opml")
        assert URL_ONE in (tmp_path / "sources.opml").read_text()
        (tmp_path / "sources.opml").write_text("mine")
        await ui.press("L", "enter")
        await wait_for_text(ui, "already exists")
        await ui.press("n")
        assert (tmp_path / "sources.opml").read_text() == "mine"
        await ui.press("L", "enter")
        await wait_for_text(ui, "already exists")
        await ui.press("y")
        await wait_for_text(ui, "Exported sources to sources.opml")
        assert URL_ONE in (tmp_path / "sources.opml").read_text()


async def test_export_replaces_a_file_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "sources.opml"
    file.write_text("before")
    async with open_sources(tmp_path / "desk", _add_one_source) as ui:
        with file.open() as reader:
            await ui.press("L", "enter")
            await wait_for_text(ui, "already exists")
            await ui.press("y")
            await wait_for_text(ui, "Exported sources to sources.opml")
            assert reader.read() == "before"
    assert URL_ONE in file.read_text()


async def test_export_asks_again_for_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    async with open_sources(tmp_path / "desk", _add_one_source) as ui:
        await ui.press("L", "ctrl+u")
        await type_text(ui, f"{tmp_path}/missing/sources.opml")
        await ui.press("enter")
        await wait_for_text(ui, "Cannot write")
        (tmp_path / "missing").mkdir()
        await ui.press("enter")
        await wait_for_text(ui, "Exported sources to ")


@pytest.mark.parametrize("prompt", ["_prompt_import", "_prompt_export"])
async def test_refused_path_is_reported_on_another_screen(tmp_path: Path, prompt: str) -> None:
    async with open_sources(tmp_path / "desk", _add_one_source) as ui:
        transfer = ui.app.screen._transfer
        await ui.press("2")
        getattr(transfer, prompt)("sources.opml", "Cannot use this file.")
        await wait_for_text(ui, "Cannot use this file.")


async def test_first_source_leads_to_drafts(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put("https://lwn.net/headlines/rss", feed(entry(1), entry(2)))
    async with open_sources(tmp_path, web=web) as ui:
        assert "No sources yet" in ui.text
        assert "LWN.net" in ui.text
        await ui.press("7")
        await wait_for_text(ui, "Sources · 1")
        assert web.requested_urls == []
        assert "P run the pipeline" in ui.text
        assert "r/opensource" in ui.text
        await ui.press("P")
        await wait_for_text(ui, "2 new drafts")
        await ui.press("8")
        assert "Sources · 1" in ui.text
    async with open_desk_at(tmp_path, web) as desk:
        # As if the feed had that title.
        assert [(source.name, source.named_by_user) for source in await desk.sources.list()] == [("LWN.net", False)]


async def test_examples_are_added_once(tmp_path: Path) -> None:
    async with open_sources(tmp_path) as ui:
        await ui.press("8")
        await wait_for_text(ui, "Sources · 1")
        await ui.press("9")
        await wait_for_text(ui, "Sources · 2")
        await ui.press("9")
        await wait_for_text(ui, "Sources · 2")


async def test_examples_fit_a_small_terminal(tmp_path: Path) -> None:
    async with open_sources(tmp_path, size=(60, 20)) as ui:
        assert "r/opensource" in ui.text


async def test_first_steps_scroll_in_a_low_terminal(tmp_path: Path) -> None:
    async with open_sources(tmp_path, size=(60, 11)) as ui:
        assert "No sources yet" in ui.text
        assert "r/opensource" not in ui.text
        await ui.press("G")
        assert "r/opensource" in ui.text
        # The data that is loaded again does not move the text.
        await ui.press("full_stop")
        assert "r/opensource" in ui.text
        await ui.press("g")
        assert "No sources yet" in ui.text


async def test_run_continues_in_background_until_cancelled(tmp_path: Path) -> None:
    web = sample_web()
    held = web.hold(URL_ONE)
    async with open_sources(tmp_path, _add_one_source, web=web) as ui:
        ui.app.simulate_key("P")
        await held.requested.wait()
        view = ui.app.run_view
        assert view is not None
        ui.app.simulate_key("escape")
        ui.app.simulate_key("X")
        await wait_for_text(ui, "Run cancelled")


async def test_run_view_reopens_after_screen_switch(tmp_path: Path) -> None:
    web = sample_web()
    held = web.hold(URL_ONE)
    async with open_sources(tmp_path, _add_one_source, web=web) as ui:
        ui.app.simulate_key("P")
        await held.requested.wait()
        for key in ("1", "3"):
            ui.app.simulate_key(key)
        held.released.set()
        await wait_for_text(ui, "new drafts")
        assert "ingest  ━" in ui.text


async def test_closing_import_keeps_added_sources(tmp_path: Path) -> None:
    path = tmp_path / "feeds.opml"
    path.write_text(OPML)
    web = sample_web()
    held = web.hold(URL_TWO)
    async with open_sources(tmp_path / "desk", web=web) as ui:
        await ui.press("ctrl+o")
        await type_text(ui, str(path))
        ui.app.simulate_key("enter")
        await held.requested.wait()
        # Both are fetched at once.
        await wait_until(lambda: query_db(tmp_path / "desk", "SELECT id FROM source"), lambda: asyncio.sleep(0.005))
        ui.app.simulate_key("escape")
        await wait_for_text(ui, "Sources · 1")
        assert "First" in ui.text


async def test_source_keys_name_the_key_to_the_sources_in_runs(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources, size=(80, 24)) as ui:
        await ui.press("tab", "space", "D", "e", "t")
        assert len(ui.app.screen_stack) == 1
        assert ui.toasts == ["A run is selected. Esc goes back to the sources."]


async def test_source_added_elsewhere_keeps_cursor(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources) as ui:
        await ui.press("j")
        async with open_desk_at(tmp_path, sample_web()) as other:
            await create_source(other, "https://four.example/feed", name="Fourth")
        await wait_for_text(ui, "Sources · 4")
        current = sources_screen(ui).sources.current
        assert current is not None
        assert current.source.name == "Gone Quiet"


HOSTILE = "\x1b]0;gone\x07[red]x[/] [/foo] [@click=app.quit]y[/] \u202eevil\u202c \x00\x9b2J 漢字 " + "a\u0301" * 30


async def test_hostile_text_is_harmless(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1, title="[/foo] [@click=app.quit]y[/] \u202eevil"), title="[/b]\u202e"))

    async def furnish(desk: object) -> None:
        source = await create_source(desk, URL_ONE, name="[red]x[/] [/foo] 漢字")  # type: ignore[arg-type]
        await desk.pipeline.run()  # type: ignore[attr-defined]
        statement = "UPDATE source SET last_error = ?, name = ? WHERE id = ?"
        await desk._context.database.write(  # type: ignore[attr-defined]
            lambda conn: conn.exec_driver_sql(statement, (HOSTILE, HOSTILE, source.id)).rowcount
        )

    async with open_sources(tmp_path, furnish, web=web, size=(80, 24)) as ui:
        name = "[red]x[/] [/foo] [@click=app.quit]y[/]"
        steps = {"enter": name, "escape t": name, "q e": name, "escape D": name, "n tab": "Runs"}
        for keys, expected in steps.items():
            await ui.press(*keys.split())
            assert not set(ui.text) & set("\x1b\x9b\x00\x07\u202e\u202c")
            assert all(cell_len(line) <= 80 for line in ui.lines)
            assert expected in ui.text, keys


def test_footer_fits_80_columns() -> None:
    # The line of keys leaves these out first; the help has them.
    optional = {"move", "commands", "jump"}
    for where in (KeyContext.LIST, KeyContext.PAGE):
        labels = footer_entries([where, KeyContext.SOURCES, KeyContext.CONSOLE])
        assert cell_len("  ".join(f"{keys} {label}" for keys, label in labels if label not in optional)) <= 78


async def test_filters_of_a_source_are_previewed_and_not_saved(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources) as ui:
        await ui.press("e", "tab", "tab", "tab", "tab")
        await type_text(ui, "no such word")
        await ui.press("ctrl+r")
        await wait_for_text(ui, "No approvals in these days")
        assert ui.app.desk is not None
        config = (await ui.app.desk.sources.list())[0].config
        assert config is None or config.include == ()
