"""Tests for attaching the image that a draft's source proposes, on the review screen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from console_driver import wait_until_idle
from copydesk.tui.app import Console
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
        assert PICTURE in review.text
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
