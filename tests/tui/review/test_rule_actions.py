"""Tests for explaining why an item is not here, and for making rules of reasons, on the review screen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from console_driver import type_text, wait_until_idle
from copydesk.tui.app import Console
from desk_fixtures import NOW, URL_ONE, FakeWeb, Watch, create_source, entry, feed, open_desk_at
from review_driver import ReviewDriver
from setup_driver import wait_for_text


@asynccontextmanager
async def open_review(home: Path) -> AsyncIterator[ReviewDriver]:
    """Open the review of one draft."""
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(home, web, Watch()) as desk:
        await create_source(desk)
        await desk.pipeline.run()
    app = Console(lambda: open_desk_at(home, web, Watch()), clock=lambda: NOW)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        yield ReviewDriver(app, pilot)


async def test_why_explains_an_address(tmp_path: Path) -> None:
    async with open_review(tmp_path) as ui:
        await ui.press("w")
        await type_text(ui, "https://elsewhere.example/1\n")
        await wait_for_text(ui, "No item has this address, and no source is on its site.")
        await ui.press("escape")
        await ui.press("w")
        await type_text(ui, "https://stories.example/1\n")
        await wait_for_text(ui, "It has a draft:")


async def make_rule_of(ui: ReviewDriver, reason: str) -> None:
    """Reject the draft with the reason, and open the form of a rule in the tab of rejected drafts."""
    await ui.press("r")
    await type_text(ui, f"{reason}\n")
    await ui.press("]", "]", "]")
    await ui.press("W")


async def test_rule_is_made_of_the_reason_of_a_rejection(tmp_path: Path) -> None:
    async with open_review(tmp_path) as ui:
        await ui.press("W")
        await wait_for_text(ui, "Only the reason that you give when you reject with r becomes a rule.")
        await make_rule_of(ui, "no more ferry news")
        await wait_for_text(ui, "Reason: no more ferry news.")
        await type_text(ui, "ferry")
        await ui.press("enter")
        await wait_for_text(ui, "Rule made for “")
        async with open_desk_at(tmp_path, FakeWeb(), Watch()) as desk:
            (rule,) = await desk.rules.list()
        assert rule.reason == "no more ferry news"


async def test_reason_that_is_a_sentence_gets_no_second_full_stop(tmp_path: Path) -> None:
    async with open_review(tmp_path) as ui:
        await make_rule_of(ui, "Speculation.")
        await wait_for_text(ui, "Reason: Speculation. exclude filters")


async def test_proposed_rule_is_not_made_without_consent(tmp_path: Path) -> None:
    async with open_review(tmp_path) as ui:
        await make_rule_of(ui, "no more ferry news")
        await wait_for_text(ui, "Reason: no more ferry news.")
        await ui.press("escape")
        async with open_desk_at(tmp_path, FakeWeb(), Watch()) as desk:
            assert await desk.rules.list() == ()
