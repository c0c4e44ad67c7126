"""Tests for the images of pages: which show the story, and which are an agency's."""

import pytest

from copydesk.images.page_images import find_agency, shows_story


@pytest.mark.parametrize(
    "url",
    [
        "https://news.example/wp-content/uploads/2026/02/harbour.jpg",
        "https://ichef.bbci.co.uk/news/1024/branded_news/9c2a/live/1b.jpg",
        "https://cdn.example/photos/ferry-1200x630.jpg?w=1200&h=630",
        "https://cdn.example/google-pixel-10.jpg",
        "https://cdn.example/download/adventure.png",
        "https://cdn.example/banner.webp",
        "https://i.ytimg.com/vi/abc/maxresdefault.jpg",
    ],
)
def test_image_of_the_story_is_usable(url: str) -> None:
    assert shows_story(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://secure.gravatar.com/avatar/9c2a?s=256",
        "https://blog.example/author-photos/jane.jpg",
        "https://avatars2.githubusercontent.com/u/1",
        "https://news.example/assets/site-logo.png",
        "https://news.example/favicon-512.png",
        "https://ad.doubleclick.net/ddm/trackimp/1.gif",
        "https://cdn.example/ads/summer.jpg",
        "https://feeds.feedburner.com/~r/example/1",
        "https://pixel.wp.com/b.gif?v=1",
        "https://news.example/pixel.gif",
        "https://s.w.org/images/core/emoji/15/72x72/1f600.png",
        "https://img.shields.io/badge/build-passing.png",
        "https://news.example/chart.svg",
        "https://news.example/chart.SVG?v=2",
        "https://news.example/thumb-150x150.jpg",
        "https://news.example/ferry.jpg?w=96&q=80",
        "https://lh3.example/photo=s64",
        "data:image/png;base64,AAAA",
        "ftp://news.example/a.png",
        "https://[news.example/a.png",
        "",
    ],
)
def test_avatars_ads_trackers_icons_and_drawings_are_not_usable(url: str) -> None:
    assert not shows_story(url)


PLAIN = "https://news.example/ferry.jpg"


@pytest.mark.parametrize(
    ("url", "alt", "text", "agency"),
    [
        ("https://media.gettyimages.com/photos/ferry.jpg", None, "", "Getty Images"),
        ("https://news.example/GettyImages-1234567890.jpg", None, "", "Getty Images"),
        ("https://www.reuters.com/resizer/v2/ferry.jpg", None, "", "Reuters"),
        ("https://news.example/AP26048123456789.jpg", None, "", "AP"),
        ("https://news.example/afp_ferry.jpg", None, "", "AFP"),
        ("https://news.example/picture-alliance_dpa_1.jpg", None, "", "dpa"),
        (PLAIN, "The ferry (Photo: Ana Ruiz/Reuters)", "", "Reuters"),
        (PLAIN, "The ferry © dpa", "", "dpa"),
        (PLAIN, None, "The ferry is back.\n\n(Image credit: Getty Images)\n\nIt sailed at nine.", "Getty Images"),
        (PLAIN, None, "The ferry at the pier. Ana Ruiz/AFP\n\nIt sailed.", "AFP"),
        (PLAIN, None, "Foto: picture alliance / dpa", "dpa"),
        (PLAIN, "A ferry at the pier", "Ana Ruiz took the photo of the ferry.", None),
        (PLAIN, "The EPA building", "The EPA (Environmental Protection Agency) acts.", None),
        (PLAIN, None, "He told Reuters that the ferry sails on Monday. AP reported it first.", None),
        ("https://news.example/chapter-reuterswijk.jpg", None, "", None),
    ],
)
def test_agency_is_found_in_address_description_and_credits(
    url: str, alt: str | None, text: str, agency: str | None
) -> None:
    assert find_agency(url, alt, text) == agency
