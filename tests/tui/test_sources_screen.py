"""The screen Sources before a real desk: what it shows, and what its keys do."""

import os
from pathlib import Path

import pytest
from rich.cells import cell_len

from copydesk.tui.keys import Where, footer
from copydesk.tui.screens import source_actions
from desk_fixtures import ONE, THREE, TWO, Web, add, entry, feed, open_at, title
from sources_on_screen import on_sources, small_web, sources_screen, three_sources, until, write

OPML = f"""<opml version="2.0"><body><outline text="First" xmlUrl="{ONE}"/>
<outline text="Second" xmlUrl="{TWO}"/><outline text="Third" xmlUrl="{THREE}"/></body></opml>"""


async def test_each_source_is_a_line_with_its_health_in_a_letter(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources) as seen:
        assert "Sources · 3 · 1 failing · 1 off" in seen.text
        first, second, third = seen.lines[3:6]
        assert first.startswith("▌H feed")
        assert first.endswith("The Ferry Gazette")
        assert second.split()[0] in {"D", "E"}
        assert second.endswith("2 Gone Quiet")
        assert third.startswith(" - feed")
        assert " off " in third


async def test_the_items_of_the_last_days_are_a_curve(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources) as seen:
        first = seen.lines[3].split()
        assert first[2] == "12"
        assert len(first[4]) == 14
        assert "▁" in first[4] or "█" in first[4]


async def test_the_source_under_the_cursor_is_shown_in_full(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources) as seen:
        await until(seen, title(1))
        assert "weight 1.5 · tags sea, land" in seen.text
        assert ONE in seen.text
        await seen.press("j")
        assert THREE in seen.text
        assert "There is nothing at this address of three.example (404)." in seen.text
        assert "2 in a row" in seen.text


async def test_the_runs_are_beside_them_with_what_was_left_after_each_stage(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources) as seen:
        await seen.press("tab")
        assert "─ Run ─" in seen.text
        assert "2 · 100% of those that ended succeeded" in seen.text
        await seen.press("j")
        assert "12  items, 12 of them new" in seen.text
        await seen.press("tab")
        assert "─ Source ─" in seen.text


async def test_enter_goes_into_what_is_below_and_escape_comes_back(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources, size=(80, 24)) as seen:
        await seen.press("enter")
        assert sources_screen(seen).focused is sources_screen(seen).detail
        await seen.press("escape")
        assert sources_screen(seen).focused is sources_screen(seen).sources


async def test_a_narrow_terminal_shows_the_sources_or_the_runs(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources, size=(80, 24)) as seen:
        assert "─ Runs ─" not in seen.text
        await seen.press("tab")
        assert "─ Runs ─" in seen.text
        assert "Sources · 3" not in seen.text
        await seen.press("q")
        assert "Sources · 3" in seen.text


async def test_a_low_terminal_shows_one_thing_at_a_time(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources, size=(40, 12)) as seen:
        assert "The Ferry Gazette" in seen.text
        assert "address" not in seen.text
        await seen.press("enter")
        assert "address" in seen.text
        await seen.resize(40, 9)
        assert "Copydesk needs" in seen.text


async def test_a_new_source_is_read_before_it_is_saved(tmp_path: Path) -> None:
    web = small_web()
    async with on_sources(tmp_path, web=web) as seen:
        await seen.press("n")
        await write(seen, ONE)
        assert web.urls == []
        await seen.press("enter")
        await until(seen, "It can be read: 12 entries")
        assert title(1) in seen.text
        assert "Enter saves it" in seen.text
        assert seen.app.desk is not None
        assert await seen.app.desk.sources.list() == ()
        await seen.press("enter")
        await until(seen, "Sources · 1")
        (source,) = await seen.app.desk.sources.list()
        assert (source.name, source.url) == ("The Ferry Gazette", ONE)
        assert web.urls == [ONE]


async def test_what_cannot_be_read_is_saved_only_on_purpose(tmp_path: Path) -> None:
    async with on_sources(tmp_path) as seen:
        await seen.press("n")
        await write(seen, THREE)
        await seen.press("enter")
        await until(seen, "It could not be read")
        assert "Ctrl+s saves it all the same" in seen.text
        await seen.press("ctrl+s")
        await until(seen, "Sources · 1")


async def test_another_address_is_another_test(tmp_path: Path) -> None:
    web = small_web()
    async with on_sources(tmp_path, web=web) as seen:
        await seen.press("n")
        await write(seen, ONE)
        await seen.press("enter")
        await until(seen, "12 entries")
        await seen.press("x", "backspace")
        assert "Enter saves it" in seen.text
        await seen.press("x")
        assert "Enter reads it once" in seen.text
        assert "12 entries" not in seen.text


async def test_the_address_says_the_type_until_it_is_chosen(tmp_path: Path) -> None:
    async with on_sources(tmp_path) as seen:
        await seen.press("n")
        await write(seen, "news.ycombinator.com")
        assert "‹Hacker News›" in seen.text
        assert "search" in seen.text
        await seen.press("tab", "right", "shift+tab")
        await write(seen, "/x")
        assert "‹Google News›" in seen.text


async def test_an_address_that_can_be_no_source_is_refused_in_words(tmp_path: Path) -> None:
    async with on_sources(tmp_path) as seen:
        await seen.press("n")
        await write(seen, "ftp://one.example")
        await seen.press("enter")
        await until(seen, "url: ")


async def test_what_nobody_expected_leaves_the_form_as_it_is(tmp_path: Path) -> None:
    async with on_sources(tmp_path) as seen:

        async def fail(*_: object, **__: object) -> None:
            raise RuntimeError("boom")

        assert seen.app.desk is not None
        seen.app.desk.sources.try_out = fail  # type: ignore[assignment]
        await seen.press("n")
        await write(seen, ONE)
        await seen.press("enter")
        await until(seen, "That went wrong.")
        assert "boom" in seen.toasts[0]
        assert ONE in seen.text
        assert "Enter reads it once" in seen.text


async def test_what_was_typed_is_thrown_away_the_second_time_only(tmp_path: Path) -> None:
    async with on_sources(tmp_path) as seen:
        await seen.press("n")
        await write(seen, "one")
        await seen.press("escape")
        assert "Esc again throws away" in seen.text
        await seen.press("escape")
        assert "New source" not in seen.text
        await seen.press("n", "escape")
        assert "New source" not in seen.text


async def test_a_source_that_is_there_is_not_made_twice(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources) as seen:
        await seen.press("n")
        await write(seen, ONE)
        await seen.press("enter")
        await until(seen, "12 entries")
        await seen.press("enter")
        await until(seen, "is the source")


async def test_weight_words_and_tags_are_edited_without_a_fetch(tmp_path: Path) -> None:
    web = small_web()
    async with on_sources(tmp_path, three_sources, web=web) as seen:
        asked = len(web.urls)
        await seen.press("e", "tab", "tab")
        await seen.press("backspace", "backspace", "backspace")
        await write(seen, "2")
        await seen.press("tab", "tab")
        await write(seen, "ferry, /pass(age|enger)/")
        await seen.press("enter")
        await until(seen, "Saved The Ferry Gazette")
        assert len(web.urls) == asked
        assert seen.app.desk is not None
        config = (await seen.app.desk.sources.list())[0].config
        assert config is not None
        assert (config.weight, config.include, config.tags) == (2.0, ("ferry", "/pass(age|enger)/"), ("sea", "land"))


async def test_a_number_that_is_none_is_said_so(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources) as seen:
        await seen.press("e", "tab", "tab")
        await write(seen, "x")
        await seen.press("enter")
        await until(seen, "weight: takes a number, such as 1.5")


async def test_another_address_of_a_source_is_read_first(tmp_path: Path) -> None:
    web = small_web()
    web.put("https://moved.example/feed", feed(entry(30)))
    async with on_sources(tmp_path, three_sources, web=web) as seen:
        await seen.press("j", "e", "tab")
        await seen.press(*["backspace"] * len(THREE))
        await write(seen, "https://moved.example/feed")
        await seen.press("enter")
        await until(seen, "1 entry")
        await seen.press("enter")
        await until(seen, "Saved Gone Quiet")
        assert seen.app.desk is not None
        assert (await seen.app.desk.sources.list())[1].url == "https://moved.example/feed"


async def test_t_shows_what_is_there_and_stores_nothing(tmp_path: Path) -> None:
    async with on_sources(tmp_path, _one) as seen:
        await seen.press("t")
        await until(seen, "It can be read: 12 entries")
        assert "Nothing was stored" in seen.text
        await seen.press("q")
        assert "Nothing was stored" not in seen.text
        assert seen.app.desk is not None
        assert (await seen.app.desk.sources.list())[0].item_count == 0


async def _one(desk: object) -> None:
    await add(desk, ONE, name="One")  # type: ignore[arg-type]


async def test_space_switches_off_and_on(tmp_path: Path) -> None:
    async with on_sources(tmp_path, _one) as seen:
        await seen.press("space")
        await until(seen, "One is no longer read. space undoes it.")
        await until(seen, "1 off")
        await seen.press("space")
        await until(seen, "One is read again.")


async def test_deleting_says_what_goes_and_enter_is_no(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources) as seen:
        assert seen.app.desk is not None
        drafts = (await seen.app.desk.sources.overview())[0].drafts
        assert drafts > 1
        await seen.press("D")
        assert f"with its 12 items and {drafts} drafts?" in seen.text
        await seen.press("enter")
        assert "Sources · 3" in seen.text
        await seen.press("D", "y")
        await until(seen, "Sources · 2")


async def test_a_list_of_feeds_is_a_line_per_feed(tmp_path: Path) -> None:
    path = tmp_path / "feeds.opml"
    path.write_text(OPML)
    async with on_sources(tmp_path / "desk", _one) as seen:
        await seen.press("i")
        await write(seen, str(path))
        await seen.press("enter")
        await until(seen, "3/3  1 added · 1 there already · 1 failed")
        assert "There is nothing at this address" in seen.text
        await seen.press("a")
        await until(seen, "3/3  2 added · 1 there already")
        await seen.press("escape")
        await until(seen, "Sources · 3")


@pytest.mark.parametrize(("body", "words"), [(None, "cannot be read"), ("no", "is not OPML")])
async def test_a_file_that_is_no_list_is_refused(tmp_path: Path, body: str | None, words: str) -> None:
    path = tmp_path / "feeds.opml"
    if body is not None:
        path.write_text(body)
    async with on_sources(tmp_path / "desk") as seen:
        await seen.press("i")
        await write(seen, str(path))
        await seen.press("enter")
        await until(seen, words)


async def test_a_pipe_that_nobody_writes_into_is_no_list_and_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "feeds.opml"
    os.mkfifo(path)
    try:
        async with on_sources(tmp_path / "desk") as seen:
            await seen.press("i")
            await write(seen, str(path))
            await seen.press("enter")
            await until(seen, "is no file")
    finally:  # whoever waits for it all the same is let go
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))


async def test_a_file_that_is_longer_than_any_list_is_not_read_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "feeds.opml"
    path.write_text(OPML)
    monkeypatch.setattr(source_actions, "LARGEST", len(OPML) - 1)
    async with on_sources(tmp_path / "desk") as seen:
        await seen.press("i")
        await write(seen, str(path))
        await seen.press("enter")
        await until(seen, "is too large")


async def test_the_sources_are_written_to_a_file_and_over_one_after_a_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with on_sources(tmp_path / "desk", _one) as seen:
        await seen.press("x", "enter")
        await until(seen, "Wrote sources.opml")
        assert ONE in (tmp_path / "sources.opml").read_text()
        (tmp_path / "sources.opml").write_text("mine")
        await seen.press("x", "enter")
        await until(seen, "is there already")
        await seen.press("n")
        assert (tmp_path / "sources.opml").read_text() == "mine"
        await seen.press("x", "enter")
        await until(seen, "is there already")
        await seen.press("y")
        await until(seen, "Wrote sources.opml")
        assert ONE in (tmp_path / "sources.opml").read_text()


async def test_from_nothing_to_the_first_drafts(tmp_path: Path) -> None:
    web = Web()
    web.put("https://lwn.net/headlines/rss", feed(entry(1), entry(2)))
    async with on_sources(tmp_path, web=web) as seen:
        assert "There is no source yet." in seen.text
        assert "LWN.net" in seen.text
        await seen.press("a")
        await until(seen, "Sources · 1")
        assert web.urls == []
        assert "P runs the pipeline" in seen.text
        assert "r/opensource" in seen.text
        await seen.press("P")
        await until(seen, "2 new drafts")
        await seen.press("b")
        assert "Sources · 1" in seen.text


async def test_the_other_examples_can_be_taken_too(tmp_path: Path) -> None:
    async with on_sources(tmp_path) as seen:
        await seen.press("b")
        await until(seen, "Sources · 1")
        await seen.press("c")
        await until(seen, "Sources · 2")
        await seen.press("c")
        await until(seen, "Sources · 2")


async def test_the_run_goes_on_when_it_is_left_and_ends_when_it_is_cancelled(tmp_path: Path) -> None:
    web = small_web()
    held = web.hold(ONE)
    async with on_sources(tmp_path, _one, web=web) as seen:
        seen.app.simulate_key("P")
        await held.came.wait()
        view = seen.app.run_view
        assert view is not None
        seen.app.simulate_key("escape")
        seen.app.simulate_key("X")
        await until(seen, "The run was cancelled")


async def test_the_run_is_shown_again_after_another_screen(tmp_path: Path) -> None:
    web = small_web()
    held = web.hold(ONE)
    async with on_sources(tmp_path, _one, web=web) as seen:
        seen.app.simulate_key("P")
        await held.came.wait()
        for key in ("1", "3"):
            seen.app.simulate_key(key)
        held.go.set()
        await until(seen, "new drafts")
        assert "ingest  ━" in seen.text


async def test_leaving_a_list_of_feeds_keeps_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "feeds.opml"
    path.write_text(OPML)
    web = small_web()
    held = web.hold(TWO)
    async with on_sources(tmp_path / "desk", web=web) as seen:
        await seen.press("i")
        await write(seen, str(path))
        seen.app.simulate_key("enter")
        await held.came.wait()
        seen.app.simulate_key("escape")
        await until(seen, "Sources · 1")
        assert "First" in seen.text


async def test_while_it_is_about_runs_no_source_is_changed(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources, size=(80, 24)) as seen:
        await seen.press("tab", "space", "D", "e", "t")
        assert len(seen.app.screen_stack) == 1
        assert seen.toasts == []


async def test_what_another_process_adds_appears_and_moves_no_cursor(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources) as seen:
        await seen.press("j")
        async with open_at(tmp_path, small_web()) as other:
            await add(other, "https://four.example/feed", name="Fourth")
        await until(seen, "Sources · 4")
        current = sources_screen(seen).sources.current
        assert current is not None
        assert current.source.name == "Gone Quiet"


HOSTILE = "\x1b]0;gone\x07[red]x[/] [/foo] [@click=app.quit]y[/] \u202eevil\u202c \x00\x9b2J 漢字 " + "a\u0301" * 30


async def test_hostile_names_titles_and_errors_are_harmless(tmp_path: Path) -> None:
    web = Web()
    web.put(ONE, feed(entry(1, named="[/foo] [@click=app.quit]y[/] \u202eevil"), title="[/b]\u202e"))

    async def furnish(desk: object) -> None:
        source = await add(desk, ONE, name="[red]x[/] [/foo] 漢字")  # type: ignore[arg-type]
        await desk.pipeline.run()  # type: ignore[attr-defined]
        statement = "UPDATE source SET last_error = ?, name = ? WHERE id = ?"
        await desk.ground.engines.write(  # type: ignore[attr-defined]
            lambda conn: conn.exec_driver_sql(statement, (HOSTILE, HOSTILE, source.id)).rowcount
        )

    async with on_sources(tmp_path, furnish, web=web, size=(80, 24)) as seen:
        for keys in (["enter"], ["escape", "t"], ["q", "e"], ["escape", "D"], ["n", "tab"]):
            await seen.press(*keys)
            assert not set(seen.text) & set("\x1b\x9b\x00\x07\u202e\u202c")
            assert all(cell_len(line) <= 80 for line in seen.lines)
        assert "[/foo]" in seen.text or "Runs" in seen.text


def test_the_footer_fits_into_80_columns() -> None:
    for where in (Where.LIST, Where.PAGE):
        words = footer([where, Where.SOURCES, Where.CONSOLE])
        assert cell_len("  ".join(f"{keys} {word}" for keys, word in words)) <= 78
