"""Tests for reading posts that the user wrote elsewhere."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.drafting.own_posts import parse_posts
from copydesk.errors import InvalidError

ONE, TWO = "The first post, long enough to show a voice.", "The second post,\nof two lines of text."


def test_posts_in_a_text_file() -> None:
    assert parse_posts(f"{ONE}\n---\n{TWO}\n-----\nshort\n---\n{ONE}\n") == (ONE, TWO)


def test_posts_in_a_json_list() -> None:
    assert parse_posts(json.dumps([ONE, TWO])) == (ONE, TWO)


def test_archive_of_mastodon() -> None:
    entries = [
        {"type": "Create", "object": {"content": f"<p>{ONE}</p>", "inReplyTo": None}},
        {"type": "Create", "object": {"content": "<p>A reply to somebody else here.</p>", "inReplyTo": "https://x"}},
        {"type": "Announce", "object": "https://social.example/of/somebody/else"},
        {"type": "Create", "object": {"content": "<p>One &amp; all,<br>in two lines.</p>"}},
    ]
    assert parse_posts(json.dumps({"orderedItems": entries})) == (ONE, "One & all,\n\nin two lines.")


def test_archive_of_x() -> None:
    tweets = [
        {"tweet": {"full_text": f"{ONE} &amp; more"}},
        {"tweet": {"full_text": "RT @somebody: not written by the user at all"}},
        {"tweet": {"full_text": "An answer to a question of theirs.", "in_reply_to_status_id": "1"}},
    ]
    assert parse_posts(f"window.YTD.tweets.part0 = {json.dumps(tweets)}") == (f"{ONE} & more",)


def test_posts_of_bluesky() -> None:
    records = [{"value": {"text": ONE}}, {"value": {"text": TWO, "reply": {"parent": {}}}}]
    assert parse_posts(json.dumps({"records": records})) == (ONE,)


@pytest.mark.parametrize("content", ["", "short", "{", '{"a": 1}', "[1, 2]", "[" * 5_000, '["\ud800"]'])
def test_file_without_posts_is_refused(content: str) -> None:
    with pytest.raises(InvalidError, match="content"):
        parse_posts(content)


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["content", "object", "text", "tweet", "orderedItems", "x"]), inner)
        ),
    )
)
def test_any_json_is_read(value: object) -> None:
    with suppress(InvalidError):
        assert all(parse_posts(json.dumps([value])))
