"""Tests for attaching the image that a draft's source proposes, on the review screen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from console_driver import FakeDesk, make_draft, open_console, wait_until_idle
from copydesk.model.delivery import Preview, PreviewPart
from copydesk.model.draft import (
    Checks,
    Claim,
    ClaimSource,
    ClaimVerdict,
    DraftImage,
    Field,
    Finding,
    ImageSource,
    Severity,
)
from copydesk.tui.app import Console
from copydesk.tui.layout import lay_out_blocks
from copydesk.tui.review.pages import draft_page
from desk_fixtures import NOW, URL_ONE, FakeWeb, Watch, create_source, entry, feed, open_desk_at
from review_driver import ReviewDriver

PICTURE = "https://one.example/GettyImages-1234567890.jpg"


@asynccontextmanager
async def open_draft(home: Path, image: str = PICTURE) -> AsyncIterator[ReviewDriver]:
    """Open the review of a draft whose source has an image."""
    web = FakeWeb()
    body = feed(entry(1)).decode()
    web.put(URL_ONE, body.replace("</item>", f'<enclosure url="{image}" type="image/jpeg"/></item>') if image else body)
    async with open_desk_at(home, web, Watch()) as desk:
        await create_source(desk)
        await desk.pipeline.run()
    app = Console(lambda: open_desk_at(home, web, Watch()), clock=lambda: NOW)
    async with app.run_test(size=(200, 40), notifications=True) as pilot:
        await wait_until_idle(pilot)
        yield ReviewDriver(app, pilot)


async def test_key_attaches_the_image_and_removes_it_again(tmp_path: Path) -> None:
    async with open_draft(tmp_path) as review:
        assert "Proposed image, not attached:" in review.text
        assert "https://one.example/Getty" in review.text
        assert "It seems to be from Getty Images" in review.text
        draft_id = review.current.id

        await review.press("i")
        assert [image.url for image in (await review.desk.drafts.get(draft_id)).images] == [PICTURE]
        assert any(toast.startswith("Attached the image") and "Getty Images" in toast for toast in review.toasts)
        await review.wait_for(lambda: "Proposed image" not in review.text)

        await review.press("i")
        assert (await review.desk.drafts.get(draft_id)).images == ()
        await review.wait_for(lambda: "Proposed image" in review.text)


async def test_key_without_an_image_says_so(tmp_path: Path) -> None:
    async with open_draft(tmp_path, image="") as review:
        await review.press("i")
        assert "The draft's source has no image to attach." in review.toasts


class OneAccount:
    """A desk with one connected account."""

    async def preview(self, text: str, *_: object, **__: object) -> tuple[Preview, ...]:
        part = PreviewPart(text=text, length=len(text), limit=300, stops=())
        return (Preview(account="bluesky:me", platform="bluesky", connected=True, parts=(part,), card=True),)


async def test_short_draft_is_decided_without_scrolling() -> None:
    """On 80x24 the checks and claims are on the screen with the text, whatever image is proposed."""
    text = (
        "Quarrystone 4.2 replays its log in parallel: a restart after a crash takes 40 seconds, not 11 minutes. "
        "That was measured on 200 machines.\n\nhttps://one.example/quarrystone-4-2"
    )
    source = ClaimSource(field=Field.TEXT, start=0, end=9, text="A restart took 40 seconds on each of 200 machines.")
    image = DraftImage(
        id="image",
        url=f"https://images.one.example/{'2026/11/getty-' * 11}quarrystone.jpg",
        alt=None,
        position=0,
        source=ImageSource.OG,
        agency="Getty Images",
    )
    checks = Checks(
        ran=12,
        findings=(Finding(rule="numbers", severity=Severity.WARNING, message="“11 minutes” is not in the source."),),
        claims=(
            Claim(start=0, end=102, verdict=ClaimVerdict.CANNOT_TELL),
            Claim(start=103, end=137, verdict=ClaimVerdict.SUPPORTED, source=source),
        ),
    )
    desk = FakeDesk(drafts=[make_draft(0, text=text, checks=checks, proposed_images=(image,))])
    desk.posting = OneAccount()  # type: ignore[assignment]
    async with open_console(desk, size=(80, 24)) as ui:
        await ui.press("enter")
        assert "Quarrystone 4.2 replays its log in parallel" in ui.text
        assert "“11 minutes” is not in the source." in ui.text
        assert "? cannot tell" in ui.text
        assert "Text: A restart took 40 seconds" in ui.text

    # Its address takes one line, further down.
    lines = [line.plain for line in lay_out_blocks(draft_page(desk.drafts.all[0], NOW), 78)]
    (at,) = [at for at, line in enumerate(lines) if line.startswith("Proposed image, not attached: https://images.")]
    assert lines[at].endswith("…")
    assert lines[at + 1].startswith("  no alt text")
