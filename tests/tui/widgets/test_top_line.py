"""Test for the top line: it names the desk."""

import pytest

from console_driver import NOW, ConsoleDriver, FakeDesk, wait_until_idle
from copydesk.tui.app import Console


@pytest.mark.parametrize(
    ("width", "start"),
    [
        (120, "Copydesk · sample  1 Review  2 Schedule"),
        (80, "sample  1 Review  2 Schedule"),
        (40, "sample  1 Review  2  3  4"),
    ],
)
async def test_desk_name_is_in_top_line(width: int, start: str) -> None:
    app = Console(FakeDesk(1).open, clock=lambda: NOW, name="sample")  # type: ignore[arg-type]
    async with app.run_test(size=(width, 24)) as pilot:
        await wait_until_idle(pilot)
        assert ConsoleDriver(app, pilot).lines[0].strip().startswith(start)
