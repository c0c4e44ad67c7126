"""Tests for the mark of the field that has the focus, which shows in every theme and without colours."""

from pathlib import Path

import pytest
from textual.containers import Horizontal
from textual.widgets import Input, TextArea

from copydesk.tui.themes import LIGHT
from copydesk.tui.widgets.inputs import Choice
from review_driver import ReviewDriver, open_review

FORMS = {
    "compose": ("c",),
    "account": ("6", "A", "enter"),
    "voice": ("6", "j", "e"),
    "source": ("3", "A"),
    "experiment": ("4", "A", "enter"),
    "reason": ("r",),
}
MARK = "▌"


def marked_fields(review: ReviewDriver) -> list[str]:
    """Return the ids or classes of the fields with a mark before their first cell."""
    lines = review.lines
    return [
        field.id or type(field).__name__
        for field in review.app.screen.query("Input, TextArea, Choice")
        if field.display and lines[field.region.y][field.region.x : field.region.x + 1] == MARK
    ]


@pytest.mark.parametrize("theme", ["copydesk-dark", LIGHT.name, "nord"])
@pytest.mark.parametrize("form", FORMS)
async def test_only_the_focused_field_is_marked(tmp_path: Path, form: str, theme: str) -> None:
    async with open_review(tmp_path) as review:
        review.app.theme = theme
        await review.press(*FORMS[form])
        for _ in range(3):
            field = review.app.focused
            assert isinstance(field, Input | TextArea | Choice)
            assert marked_fields(review) == [field.id or type(field).__name__]
            bold = [label for label in review.app.screen.query("Horizontal > .-label") if label.styles.text_style.bold]
            assert all(label.parent is field.parent for label in bold)
            assert bold or not isinstance(field.parent, Horizontal)
            await review.press("tab")
