"""Tests that the pictures in screenshots/ are the same whenever they are made."""

import pytest

import screenshots


@pytest.mark.parametrize("name", ["experiments", "sources"])
async def test_screenshot_is_the_same_every_time(name: str) -> None:
    (picture,) = [picture for picture in screenshots.SCREENSHOTS if picture.name == name]
    assert await screenshots.render(picture) == await screenshots.render(picture)
