"""Tests for previewing a text on its target accounts."""

from pathlib import Path

import pytest

from copydesk.model.delivery import Preview
from copydesk.model.draft import Format
from desk_fixtures import query_db
from posting_fixtures import ME, YOU, connect_account, fake_platforms, open_posting_desk

LINK = "https://lighthouse.example/a/very/long/address/that/goes/on/and/on"
SHOWN = "lighthouse.example/a/very/long/..."


def part_lengths(previews: tuple[Preview, ...]) -> dict[str, list[tuple[int, int | None]]]:
    """Return account -> (length, limit) of each part."""
    return {preview.account: [(part.length, part.limit) for part in preview.parts] for preview in previews}


async def test_default_platforms_without_accounts(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        previews = await desk.posting.preview(f"Read {LINK}", Format.SHORT)
    assert part_lengths(previews) == {"x": [(28, 280)], "bluesky": [(5 + len(SHOWN), 300)]}
    assert not any(preview.connected for preview in previews)
    assert all(preview.fits for preview in previews)
    assert [preview.card for preview in previews] == [True, False]


async def test_limits_apply_per_account(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        (
            await connect_account(desk),
            await connect_account(desk, "you"),
            await connect_account(desk, platform="bluesky", name="b"),
        )
        previews = await desk.posting.preview("x" * 400, Format.SHORT)
    blockers = {preview.account: preview.stops for preview in previews}
    assert blockers[ME] == blockers[YOU] == ()
    assert len(blockers["bluesky:b"]) == 1
    assert part_lengths(previews)["bluesky:b"] == [(400, 300)]


async def test_accounts_that_do_not_take_the_format_are_left_out(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, {}) as desk:
        await connect_account(desk, platform="micropub", name="blog")
        (alone,) = await desk.posting.preview("One.", Format.SHORT)
        assert alone.stops == ("Blogs accept only drafts of the format BLOG.",)
        await connect_account(desk, platform="mastodon")
        accounts = [[preview.account for preview in await desk.posting.preview("One.", kind)] for kind in Format]
        (named,) = await desk.posting.preview("One.", Format.SHORT, ["micropub"])
    assert accounts == [["mastodon:me"], ["mastodon:me"], ["micropub:blog"]]
    assert not named.fits


async def test_too_long_part_of_thread_is_marked(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        previews = await desk.posting.preview(f"One.\n\n---\n\n{'x' * 301}", Format.THREAD, ["bluesky"])
    (preview,) = previews
    assert [bool(part.stops) for part in preview.parts] == [False, True]
    assert not preview.fits


async def test_unknown_platform_is_reported(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        await connect_account(desk)
        previews = await desk.posting.preview("One.", Format.SHORT, ["fake", "\x1b[31mnone"])
    assert [(preview.account, preview.fits) for preview in previews] == [(ME, True), ("\x1b[31mnone", False)]


@pytest.mark.parametrize("format", Format)
async def test_empty_text_has_no_problems(tmp_path: Path, format: Format) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        previews = await desk.posting.preview(" \n ", format)
    assert all(preview.parts == () and preview.fits for preview in previews)
    assert query_db(tmp_path, "SELECT count(*) FROM draft") == [(0,)]


async def test_posting_settings_apply(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms(), COPYDESK_POSTING__REQUIRE_ALT="true") as desk:
        await connect_account(desk)
        (preview,) = await desk.posting.preview("One.", Format.SHORT, alts=["a boat", ""])
    assert preview.stops[0].startswith("Image 2 has no alt text")


async def test_previews_of_accounts_with_one_label_are_named_apart(tmp_path: Path) -> None:
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        for server in ("one", "two"):
            await connect_account(desk, server=f"https://{server}.test")
        previews = await desk.posting.preview("Some words.", Format.SHORT)
        assert [preview.account for preview in previews] == ["fake:me (one.test)", "fake:me (two.test)"]
