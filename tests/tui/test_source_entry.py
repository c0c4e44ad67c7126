"""What is typed in a source's form, and what the desk is asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import InvalidError
from copydesk.model.source import SourceConfig, SourceType
from copydesk.tui.source_entry import Place, as_line, changes, entered_of, listed, place_of, type_of
from sources_on_screen import source


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
def test_pieces_stand_between_commas(line: str, pieces: list[str]) -> None:
    assert listed(line) == pieces


PIECE = st.text(alphabet='ab ,/"\\{', min_size=1, max_size=8).map(str.strip).filter(bool)


@given(st.lists(PIECE, max_size=5))
def test_what_is_written_is_read_again(pieces: list[str]) -> None:
    assert listed(as_line(pieces)) == pieces


@given(st.text(alphabet='a,/"\\ ', max_size=200))
def test_every_line_can_be_read(line: str) -> None:
    assert all(listed(line))


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://www.reddit.com/r/x", SourceType.REDDIT),
        ("reddit.com/r/x", SourceType.REDDIT),
        ("https://me.substack.com", SourceType.SUBSTACK),
        ("https://x.com/me", SourceType.TWITTER),
        ("https://notx.com/", SourceType.RSS),
        ("https://news.google.com/", SourceType.GOOGLE_NEWS),
        ("http://[", SourceType.RSS),
        ("", SourceType.RSS),
    ],
)
def test_an_address_suggests_the_type(url: str, kind: SourceType) -> None:
    assert type_of(url) is kind


def test_a_form_that_was_only_looked_at_changes_nothing() -> None:
    one = source(name="One\u202e\x1b[2J", config=SourceConfig(weight=0, include=("a,b", "/x,y/"), query="ignored"))
    assert changes(one, entered_of(one), "https://one.example/feed") == {}


def test_only_what_was_typed_is_changed_and_the_rest_of_the_settings_stays() -> None:
    one = source()
    entered = entered_of(one)._replace(weight="", interval="30", tags="sea, land")
    assert changes(one, entered, "") == {"config": {"maxItems": 7, "interval": 30, "tags": ["sea", "land"]}}


def test_a_new_address_is_the_one_that_was_found() -> None:
    one = source()
    entered = entered_of(one)._replace(place=Place(one.type, "https://two.example/"))
    assert changes(one, entered, "https://two.example/feed.xml") == {"url": "https://two.example/feed.xml"}


def test_a_search_belongs_to_types_that_search() -> None:
    config = SourceConfig(query="words")
    assert place_of(source(config=config)).query == ""
    assert place_of(source(config=config, type=SourceType.HACKERNEWS)).config == {"query": "words"}


@pytest.mark.parametrize(("field", "text"), [("weight", "much"), ("interval", "1.5")])
def test_a_number_that_is_none_is_refused_by_name(field: str, text: str) -> None:
    one = source()
    with pytest.raises(InvalidError, match=f"{field}: takes"):
        changes(one, entered_of(one)._replace(**{field: text}), "")
