"""Tests for the preview page: the text as each target platform would publish it."""

import pytest
from textual.content import Content

from console_driver import NOW, make_draft
from copydesk.model.delivery import Preview, PreviewPart
from copydesk.model.draft import ListedDraft, Score, Status, StorySource, Thumbnail
from copydesk.tui.layout import lay_out_blocks
from copydesk.tui.review.pages import ImageView, draft_page, format_bytes, preview_page

LINK = "https://lighthouse.example/1"


def part(text: str = "Hello.", length: int = 6, limit: int | None = 300, *refusals: str) -> PreviewPart:
    return PreviewPart(text=text, length=length, limit=limit, stops=refusals)


def preview(*parts: PreviewPart, account: str = "bluesky:me", connected: bool = True, **fields: object) -> Preview:
    return Preview(account=account, platform=account.partition(":")[0], connected=connected, parts=parts, **fields)  # type: ignore[arg-type]


def render(previews: list[Preview], *images: ImageView, width: int = 60) -> str:
    return "\n".join(line.plain.rstrip() for line in lay_out_blocks(preview_page(previews, images), width))


def draw(draft: ListedDraft, *previews: Preview) -> str:
    return "\n".join(line.plain.rstrip() for line in lay_out_blocks(draft_page(draft, NOW, previews), 60))


def test_fitting_post_has_count() -> None:
    assert render([preview(part())]) == "Accounts  fits all\nbluesky:me  6/300"


def test_rejected_draft_has_its_reason() -> None:
    rejected = make_draft(1, status=Status.REJECTED, rejection_feedback="not my topic")
    assert "Rejected: not my topic" in draw(rejected)
    assert "not my topic" not in draw(make_draft(1, rejection_feedback="not my topic"))
    assert "Rejected:" not in draw(make_draft(1, status=Status.REJECTED))


def test_text_without_account_fits_nowhere() -> None:
    assert render([preview(part(), connected=False)]).startswith("Accounts  no account connected\n")


def test_overlong_post_has_excess_and_refusal() -> None:
    page = render([preview(part("x", 310), stops=("It is too long.",)), preview(part(), account="x", connected=False)])
    assert "Accounts  rejected by bluesky:me\n" in page
    assert "bluesky:me  310/300, 10 too long\n  problem: It is too long." in page
    assert "X  not connected  6/300" in page


def test_thread_posts_have_counts_and_refusals() -> None:
    page = render([preview(part("One."), part("Two.", 301, 300, "It is too long."))])
    assert "bluesky:me  2 posts" in page
    assert "  1                6/300  One." in page
    assert "  2  301/300, 1 too long  Two." in page
    assert "problem in post 2: It is too long." in page


def test_link_card_depends_on_platform() -> None:
    linked_part = part(f"Read {LINK}.")
    page = render([preview(linked_part), preview(linked_part, account="x:me", card=True)])
    assert f"  Plain link: {LINK}\n" in page
    assert f"  Link card: {LINK}" in page


def test_image_line_has_description_or_none() -> None:
    page = render([preview(part())], ImageView("A boat."), ImageView(" "))
    assert "Image 1  “A boat.”\nImage 2  no alt text" in page


def test_image_line_has_size_and_error() -> None:
    page = render(
        [], ImageView("A boat.", Thumbnail(b"x", 1200, 800, 84_400)), ImageView("", Thumbnail(message="It is damaged."))
    )
    assert "Image 1  1200x800, 84 kB  “A boat.”\nImage 2  no alt text\n  It is damaged." in page


def test_drawing_appears_if_wide_enough() -> None:
    image = ImageView("A boat.", Thumbnail(b"x", 20, 20, 900), (Content("▀▀▀▀"), Content("▀▀▀▀")))
    assert "20x20, 900 B  “A boat.”\n  ▀▀▀▀\n  ▀▀▀▀" in render([], image)
    assert "▀" not in render([], image, width=5)


@pytest.mark.parametrize(
    ("size", "formatted"), [(0, "0 B"), (999, "999 B"), (1_234, "1.2 kB"), (84_400, "84 kB"), (2_500_000, "2.5 MB")]
)
def test_file_size_has_two_digits(size: int, formatted: str) -> None:
    assert format_bytes(size) == formatted


def test_preview_without_accounts_has_hint() -> None:
    assert "No account posts this. Connect one in Setup (6)." in render([])


# Words of the preview itself are not broken, so that it is at least 11 cells wide.
@pytest.mark.parametrize(("width", "longest_line"), [(1, 11), (12, 12), (40, 40), (200, 200)])
def test_hostile_preview_fits_width_without_markup(width: int, longest_line: int) -> None:
    hostile = "[/x] \x1b[31m\u202e" + "漢" * 200
    previews = [preview(part(hostile), part(), account=hostile, stops=(hostile,))]
    page = preview_page(previews, [ImageView(hostile, Thumbnail(message=hostile))])
    lines = lay_out_blocks(page, width)
    assert not any("\x1b" in line.plain or "\u202e" in line.plain for line in lines)
    assert max(line.cell_length for line in lines) == longest_line


def test_draft_page_contains_preview() -> None:
    page = draw(make_draft(), preview(part()))
    assert page.index("◉ ") < page.index("#opensource") < page.index("Checks")
    assert "Accounts" not in page


def test_post_is_drawn_as_its_platform_shows_it() -> None:
    url = "https://www.lighthouse.example/0"
    sources = (StorySource(item_id="item-0", source_id="s", name="x", type="rss", title="", url=url),)
    draft = make_draft(0, text=f"Words\n\n{url}", score=Score(total=1.0, sources=sources))
    shown = preview(part(draft.text, 40), card=True)
    page = draw(draft, shown)
    assert "◉ me  Bluesky  40/300  260 left" in page
    assert f"▏ ┃ {draft.item.title}\n▏ ┃ lighthouse.example" in page
    assert page.count(url) == 1
    other = make_draft(0, text=draft.text, score=None)
    assert draft.item.title not in draw(other, shown)


def test_further_accounts_are_listed_below_the_post() -> None:
    refused = preview(part(), account="x:me", stops=("No.",))
    page = draw(make_draft(), preview(part()), refused)
    assert "Accounts  rejected by x:me" in page
    assert "x:me" in page
    assert "No." in page
