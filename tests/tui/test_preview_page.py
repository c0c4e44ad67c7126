"""Tests for the preview page: the text as each target platform would publish it."""

import pytest
from textual.content import Content

from copydesk.model.picture import Look
from copydesk.model.posting import Preview, PreviewPart
from copydesk.tui.layout import lay_out
from copydesk.tui.pages.draft import draft_page
from copydesk.tui.pages.pictures import Pictured, weight
from copydesk.tui.pages.preview import preview_page
from tui_fixtures import NOW, draft

LINK = "https://lighthouse.example/1"


def part(text: str = "Hello.", length: int = 6, limit: int | None = 300, *stops: str) -> PreviewPart:
    return PreviewPart(text=text, length=length, limit=limit, stops=stops)


def place(*parts: PreviewPart, account: str = "bluesky:me", connected: bool = True, **more: object) -> Preview:
    return Preview(account=account, platform=account.partition(":")[0], connected=connected, parts=parts, **more)  # type: ignore[arg-type]


def text(previews: list[Preview], *pictures: Pictured, width: int = 60) -> str:
    return "\n".join(line.plain.rstrip() for line in lay_out(preview_page(previews, pictures), width))


def test_fitting_post_has_count() -> None:
    assert text([place(part())]) == "Where it would go  fits everywhere\nbluesky:me  6/300"


def test_overlong_post_has_excess_and_refusal() -> None:
    page = text([place(part("x", 310), stops=("It is too long.",)), place(part(), account="x", connected=False)])
    assert "1 of 2 would refuse it" in page
    assert "bluesky:me  310/300, 10 too long\n  refused: It is too long." in page
    assert "x  not connected  6/300" in page


def test_thread_posts_have_counts_and_refusals() -> None:
    page = text([place(part("One."), part("Two.", 301, 300, "It is too long."))])
    assert "bluesky:me  2 posts" in page
    assert "  1                6/300  One." in page
    assert "  2  301/300, 1 too long  Two." in page
    assert "refused, post 2: It is too long." in page


def test_link_card_depends_on_platform() -> None:
    linked_part = part(f"Read {LINK}.")
    page = text([place(linked_part), place(linked_part, account="x:me", card=True)])
    assert f"  link, no card: {LINK}\n" in page
    assert f"  card of {LINK}" in page


def test_image_line_has_description_or_none() -> None:
    page = text([place(part())], Pictured("A boat."), Pictured(" "))
    assert "picture 1  “A boat.”\npicture 2  no description" in page


def test_image_line_has_size_and_error() -> None:
    page = text([], Pictured("A boat.", Look(b"x", 1200, 800, 84_400)), Pictured("", Look(says="It is damaged.")))
    assert "picture 1  1200x800, 84 kB  “A boat.”\npicture 2  no description\n  It is damaged." in page


def test_drawing_appears_if_wide_enough() -> None:
    image = Pictured("A boat.", Look(b"x", 20, 20, 900), (Content("▀▀▀▀"), Content("▀▀▀▀")))
    assert "20x20, 900 B  “A boat.”\n  ▀▀▀▀\n  ▀▀▀▀" in text([], image)
    assert "▀" not in text([], image, width=5)


@pytest.mark.parametrize(
    ("size", "says"), [(0, "0 B"), (999, "999 B"), (1_234, "1.2 kB"), (84_400, "84 kB"), (2_500_000, "2.5 MB")]
)
def test_file_size_has_two_digits(size: int, says: str) -> None:
    assert weight(size) == says


def test_preview_without_accounts_has_hint() -> None:
    assert "Connect one: Setup" in text([])


@pytest.mark.parametrize("width", [1, 12, 40, 200])
def test_hostile_preview_fits_width_without_markup(width: int) -> None:
    hostile = "[/x] \x1b[31m\u202e" + "漢" * 200
    previews = [place(part(hostile), part(), account=hostile, stops=(hostile,))]
    page = preview_page(previews, [Pictured(hostile, Look(says=hostile))])
    lines = lay_out(page, width)
    assert not any("\x1b" in line.plain or "\u202e" in line.plain for line in lines)
    assert width < 12 or all(line.cell_length <= max(width, 40) for line in lines)


def test_draft_page_contains_preview() -> None:
    page = "\n".join(line.plain for line in lay_out(draft_page(draft(), NOW, [place(part())]), 60))
    assert page.index("#opensource") < page.index("Where it would go") < page.index("Checks")
    assert "#opensource\n\nWhere it would go" in page
