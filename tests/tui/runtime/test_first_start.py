"""Test for the first start: the keys named on the screen lead from an empty desk to the first draft."""

import re
from pathlib import Path

from console_driver import ConsoleDriver, wait_until_idle
from copydesk.tui.app import Console
from copydesk.tui.review.screen import ReviewScreen
from copydesk.tui.sources.pages import EXAMPLES
from delayed_responses import wait_until
from desk_fixtures import NOW, FakeWeb, entry, feed, open_desk_at


async def test_screen_names_each_key_to_first_draft(tmp_path: Path) -> None:
    web = FakeWeb()
    web.put(EXAMPLES[0].url, feed(*(entry(number, hours=number) for number in range(1, 6)), title="LWN.net"))
    app = Console(lambda: open_desk_at(tmp_path, web), clock=lambda: NOW)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        assert "No sources yet" in ui.text
        for key, label in (
            ("3", "Go to Sources"),
            ("A", "there: add a source"),
            ("7", "there: add an example"),
            ("P", "Run"),
        ):
            assert re.search(rf"\b{key} +{label}", ui.text), ui.text
        await ui.press("3")
        assert re.search(r"\b7 +LWN\.net", ui.text), ui.text
        await ui.press("7", "1")
        await wait_until(lambda: "Nothing to review" in ui.text, lambda: pilot.pause(0.01))
        assert "P run the pipeline" in ui.text
        await ui.press("P", "escape")
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        assert screen.queue.current is not None
        assert re.search(r"Queue · [1-5]\b", ui.text), ui.text
