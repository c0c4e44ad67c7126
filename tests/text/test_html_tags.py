"""Tests for reading the tags of untrusted HTML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.text.html_tags import (
    MAX_ATTRIBUTES,
    MAX_CONTENT_LENGTH,
    MAX_VALUE_LENGTH,
    Tag,
    is_probably_html,
    iter_tags,
    strip_tags,
    unescape_html,
)
from cost_growth import assert_linear


def read(markup: str, *names: str) -> list[tuple[str, dict[str, str]]]:
    return [(tag.name, tag.read_attributes()) for tag in iter_tags(markup, *names)]


@pytest.mark.parametrize(
    ("markup", "attributes"),
    [
        ("<a href='/x' class=b>", {"href": "/x", "class": "b"}),
        ('<A HREF="/x">', {"href": "/x"}),
        ('<a\nhref = "/x"\n>', {"href": "/x"}),
        ('<a href="/x?a=1&amp;b=2">', {"href": "/x?a=1&b=2"}),
        ('<a title="a > b < c" href=/x>', {"title": "a > b < c", "href": "/x"}),
        ('<a href="/1" href="/2">', {"href": "/1"}),
        ("<a href>", {"href": ""}),
        ("<a/>", {}),
        ('<a href="/x"', {"href": "/x"}),
        ('<a href="/x', {"href": "/x"}),
        ('<a href="/x>y</a><a href="/z">', {"href": "/x"}),
        ('<a href=/x">y</a><a href=/z">', {"href": "/x"}),
        ('<a class="b"href="/x"">', {"class": "b", "href": "/x"}),
        ("<a b <a c>", {"b": ""}),
        ("<a " + "x" * 80 + "=1>", {"x" * MAX_ATTRIBUTES: "1"}),
        ("<a href=" + "x" * (MAX_VALUE_LENGTH + 5) + ">", {"href": "x" * MAX_VALUE_LENGTH}),
    ],
)
def test_attributes_are_read(markup: str, attributes: dict[str, str]) -> None:
    assert read(markup, "a")[0] == ("a", attributes)


def test_number_of_attributes_is_limited() -> None:
    markup = "<a " + " ".join(f"a{number}=1" for number in range(MAX_ATTRIBUTES + 20)) + ">"
    assert len(next(iter_tags(markup, "a")).read_attributes()) == MAX_ATTRIBUTES


def test_only_named_tags_are_read_in_order() -> None:
    markup = "<a 1><abbr><p><a-b><b></a></p ><img 2/><ſ><a:b>"
    assert [tag.name for tag in iter_tags(markup, "a", "img", "/p", "s")] == ["a", "/p", "img"]


@pytest.mark.parametrize("name", ["script", "style", "template"])
def test_content_of_scripts_and_comments_is_skipped(name: str) -> None:
    markup = f"<!-- <a 1> --><!--><a 2><{name.upper()} x='>'><a 3></{name}x><a 4></{name} ><a 5>"
    assert [tag.markup.strip() for tag in iter_tags(markup, "a")] == ["2", "5"]


@pytest.mark.parametrize("start", ["<!--", "<script>", "<style>", "<template>"])
def test_unclosed_element_swallows_the_rest(start: str) -> None:
    assert read(f"<a>{start}<a>", "a") == [("a", {})]


def test_content_of_title_and_script_is_returned() -> None:
    long = "x" * (MAX_CONTENT_LENGTH + 5)
    tags = list(iter_tags(f"<title>A &amp; <b>B</b></title><script a>{long}</script><title>C <b>", "title", "script"))
    assert tags == [
        Tag("title", "", "A &amp; <b>B</b>"),
        Tag("script", " a", "x" * (MAX_CONTENT_LENGTH + 1)),
        Tag("title", "", "C "),
    ]


@pytest.mark.parametrize(
    "piece",
    [
        "<a ",
        "<a href='",
        '<a "',
        "<a '<a \"",
        '<a ="',
        "<a =\"<a =' ",
        '="<a " ',
        "<!--",
        "<!-- -",
        "<script>",
        "<title>",
        "</title",
        "<a x=y ",
        "<",
        "&",
    ],
)
def test_hostile_markup_takes_linear_time(piece: str) -> None:
    def make(size: int) -> str:
        return piece * (size // len(piece))

    def run(markup: str) -> None:
        for tag in iter_tags(markup, "a", "title", "script"):
            tag.read_attributes()

    assert_linear(make, run, 100_000)
    assert_linear(make, strip_tags, 100_000)


PIECES = st.sampled_from(
    ["<", ">", "a", "/", "<a", "<!--", "-->", '"', "'", "=", " ", "href", "<script>", "</", "<title>", "&amp;", "é"]
)


@given(st.lists(PIECES, max_size=30).map("".join) | st.text())
def test_no_markup_raises(markup: str) -> None:
    for tag in iter_tags(markup, "a", "title", "script", "/a"):
        assert tag.name in ("a", "title", "script", "/a")
        assert all(name == name.lower() for name in tag.read_attributes())
    strip_tags(markup)
    unescape_html(markup)
    is_probably_html(markup)
