"""Tests for the source form: parsing its fields, and the changes sent to the desk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.desk.catalog import get_source_type, guess_source_type
from copydesk.errors import ConflictError, FieldError, InvalidError
from copydesk.model.source import SourceConfig
from copydesk.tui import labels
from copydesk.tui.sources.form_state import (
    SourceLocation,
    build_update,
    field_label,
    fields_of,
    join_list,
    location_of,
    split_list,
)
from copydesk.tui.widgets.inputs import describe_refusal
from sources_driver import make_source


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        ("a, b", ["a", "b"]),
        (" ,, a ,", ["a"]),
        ("/a{1,2}/, b", ["/a{1,2}/", "b"]),
        ('"one, two", three', ["one, two", "three"]),
        ('he said "x", y', ['he said "x"', "y"]),
        ('"open, b', ['"open', "b"]),
        ("/path/to, b", ["/path/to", "b"]),
        ("", []),
    ],
)
def test_list_splits_at_commas(line: str, pieces: list[str]) -> None:
    assert split_list(line) == pieces


PIECE = st.text(alphabet='ab ,/"\\{', min_size=1, max_size=8).map(str.strip).filter(bool)


@given(st.lists(PIECE, max_size=5))
def test_list_round_trips(pieces: list[str]) -> None:
    assert split_list(join_list(pieces)) == pieces


@given(st.text(alphabet='a,/"\\ ', max_size=200))
def test_any_line_is_parsed(line: str) -> None:
    assert all(split_list(line))


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://www.reddit.com/r/x", "reddit"),
        ("reddit.com/r/x", "reddit"),
        ("https://me.substack.com", "substack"),
        ("https://x.com/me", "twitter"),
        ("https://notx.com/", "rss"),
        ("https://news.google.com/", "google_news"),
        ("http://[", "rss"),
        ("", "rss"),
    ],
)
def test_address_suggests_source_type(url: str, kind: str) -> None:
    assert guess_source_type(url).name == kind


def test_untouched_form_has_no_changes() -> None:
    unchanged = make_source(
        name="One\u202e\x1b[2J", config=SourceConfig(weight=0, include=("a,b", "/x,y/"), query="ignored")
    )
    assert build_update(unchanged, fields_of(unchanged), "https://one.example/feed") == {}


def test_only_edited_fields_are_changed() -> None:
    original = make_source()
    entered = fields_of(original)._replace(weight="", interval="30", tags="sea, land")
    assert build_update(original, entered, "") == {"config": {"maxItems": 7, "interval": 30, "tags": ["sea", "land"]}}


def test_resolved_address_is_saved() -> None:
    original = make_source()
    entered = fields_of(original)._replace(location=SourceLocation(original.type, "https://two.example/"))
    assert build_update(original, entered, "https://two.example/feed.xml") == {"url": "https://two.example/feed.xml"}


def test_query_applies_to_searchable_types() -> None:
    config = SourceConfig(query="words")
    assert location_of(make_source(config=config)).settings == ()
    assert location_of(make_source(config=config, type="hackernews")).config == {"query": "words"}


@pytest.mark.parametrize(("field", "text"), [("weight", "much"), ("interval", "1.5")])
def test_invalid_number_names_its_field(field: str, text: str) -> None:
    original = make_source()
    with pytest.raises(InvalidError, match=f"{field}: must be"):
        build_update(original, fields_of(original)._replace(**{field: text}), "")


def test_refusal_names_fields_as_the_form_does() -> None:
    missing = FieldError("config.query", "is missing; enter search words")
    assert describe_refusal(InvalidError(missing), field_label) == "search is missing; enter search words"
    broken = FieldError("url", "is not Google News")
    assert (
        describe_refusal(InvalidError(broken, hint="Try another."), field_label)
        == "URL is not Google News. Try another."
    )
    assert describe_refusal(ConflictError("Already added."), field_label) == "Already added."


@pytest.mark.parametrize(
    ("type", "prompt"),
    [("rss", "Enter a URL"), ("google_news", "Enter a URL, for example https://news.google.com")],
)
def test_missing_url_is_prompted_with_example(type: str, prompt: str) -> None:
    assert labels.source_url_missing(get_source_type(type).hosts) == prompt
