"""How a text would stand where it is meant to go, before it is a draft."""

from pathlib import Path

import pytest

from copydesk.model.draft import Format
from copydesk.model.posting import Preview
from desk_fixtures import rows
from posting_fixtures import ME, YOU, connect, fake, open_posting

LINK = "https://lighthouse.example/a/very/long/address/that/goes/on/and/on"


def counts(previews: tuple[Preview, ...]) -> dict[str, list[tuple[int, int | None]]]:
    """Account -> (length, limit) of each of its posts."""
    return {each.account: [(part.length, part.limit) for part in each.parts] for each in previews}


async def test_without_an_account_the_usual_platforms_stand_in_for_them(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake()) as desk:
        found = await desk.posting.preview(f"Read {LINK}", Format.SHORT)
    assert counts(found) == {"x": [(28, 280)], "bluesky": [(5 + len(LINK), 300)]}
    assert not any(each.connected for each in found)
    assert all(each.fits for each in found)
    assert [each.card for each in found] == [True, False]


async def test_each_account_counts_and_refuses_by_itself(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake()) as desk:
        await connect(desk), await connect(desk, "you"), await connect(desk, platform="bluesky", name="b")
        found = await desk.posting.preview("x" * 400, Format.SHORT)
    refused = {each.account: each.stops for each in found}
    assert refused[ME] == refused[YOU] == ()
    assert len(refused["bluesky:b"]) == 1
    assert counts(found)["bluesky:b"] == [(400, 300)]


async def test_of_a_thread_the_post_is_named_that_is_too_long(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake()) as desk:
        found = await desk.posting.preview(f"One.\n\n---\n\n{'x' * 301}", Format.THREAD, ["bluesky"])
    (only,) = found
    assert [bool(part.stops) for part in only.parts] == [False, True]
    assert not only.fits


async def test_what_is_named_and_is_no_platform_is_said(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake()) as desk:
        await connect(desk)
        found = await desk.posting.preview("One.", Format.SHORT, ["fake", "\x1b[31mnone"])
    assert [(each.account, each.fits) for each in found] == [(ME, True), ("\x1b[31mnone", False)]


@pytest.mark.parametrize("format", Format)
async def test_nothing_typed_is_refused_nowhere_and_nothing_is_kept(tmp_path: Path, format: Format) -> None:
    async with open_posting(tmp_path, fake()) as desk:
        found = await desk.posting.preview(" \n ", format)
    assert all(each.parts == () and each.fits for each in found)
    assert rows(tmp_path, "SELECT count(*) FROM draft") == [(0,)]


async def test_the_users_own_rules_hold(tmp_path: Path) -> None:
    async with open_posting(tmp_path, fake(), COPYDESK_POSTING__REQUIRE_ALT="true") as desk:
        await connect(desk)
        (only,) = await desk.posting.preview("One.", Format.SHORT, alts=["a boat", ""])
    assert only.stops[0].startswith("Picture 2 has no description")
