"""Tests for Bluesky records: content hashes, replies, images and facets."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fake_pds
from copydesk.model.draft import Format
from copydesk.model.serialization import to_json_value
from copydesk.posting.bluesky import records
from copydesk.posting.bluesky.platform import normalize_handle, text_problem
from copydesk.posting.bluesky.records import render_text
from copydesk.posting.platform import Post, PostImage
from copydesk.text.length import bluesky_length, graphemes

AT = datetime(2026, 2, 10, 9, 0, 0, 123456, tzinfo=UTC)
SEED = "019c465e-6f00-7000-8000-000000000000"
PICTURE = PostImage(content=b"\x89PNG...", media_type="image/png", width=30, height=20, alt="A red square")


def facet_targets(text: str) -> list[tuple[str, str]]:
    """Return (covered text, target) per facet; facet offsets are in bytes."""
    rendered, facets = render_text(text)
    raw = rendered.encode()
    return [
        (raw[facet.index.byte_start : facet.index.byte_end].decode(), facet.features[0].uri or facet.features[0].tag)
        for facet in facets or []
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Nothing here.", []),
        ("See https://example.com/a.", [("example.com/a", "https://example.com/a")]),
        ("See example.com/a, now", [("example.com/a", "https://example.com/a")]),
        ("HTTPS://Example.com", [("Example.com", "HTTPS://Example.com")]),
        ("👩‍👩‍👧‍👦 über https://example.com", [("example.com", "https://example.com")]),
        ("🎉 #python and #12", [("#python", "python")]),
        (
            "https://example.com/#part #tag",
            [("example.com#part", "https://example.com/#part"), ("#tag", "tag")],
        ),
        ("＃日本語 です", [("＃日本語", "日本語")]),
        ("hello @me.bsky.social", []),
        ("#" + "x" * 65, []),
    ],
)
def test_links_and_hashtags_become_facets(text, found):
    assert facet_targets(text) == found


# As the app finds them: TAG_REGEX in @atproto/api.
@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#हिन्दी में", ["हिन्दी"]),
        ("#ภาษาไทย และ", ["ภาษาไทย"]),
        ("#العَرَبِيَّة", ["العَرَبِيَّة"]),
        ("#cafe\u0301", ["cafe\u0301"]),
        ("#party🎉 #🎉", ["party🎉", "🎉"]),
        ("#\ufe0f\u20e3", []),
        ("#می\u200cخواهم #a\u200db #a\u00adb", ["می", "a", "a"]),
        ("#end. (#bracket) #both?! #हिन्दी।", ["end", "bracket", "both", "हिन्दी"]),
        ("#co-op #C++ #it’s", ["co-op", "C++", "it’s"]),
        ("#2026 #2026q1 #1. #... #", ["2026q1"]),
        ("a#b &#8211; /#c ##d", []),
    ],
)
def test_hashtags_are_found_as_in_the_app(text, tags):
    assert facet_targets(text) == [(f"#{tag}", tag) for tag in tags]


def test_hashtag_has_at_most_640_bytes():
    """Four letters of old Korean are one character of 12 bytes."""
    syllables = "\u1100\u1100\u1161\u11a8" * 53
    longest, too_long = f"{syllables}xxxx", f"{syllables}xxxxx"

    assert (len(longest.encode()), len(too_long.encode())) == (640, 641)
    assert facet_targets(f"#{longest} #{too_long}") == [(f"#{longest}", longest)]


@given(
    st.lists(
        st.sampled_from(["word", "🇩🇪", "é", "https://a.example/x?y=1#z", "b.com", "#tag", "@me.b.c", "中文", "\n"])
    )
)
def test_facets_cover_their_text_without_overlap(pieces):
    text, facets = render_text(" ".join(pieces))
    raw, last = text.encode(), 0
    for facet in facets or []:
        assert last <= facet.index.byte_start < facet.index.byte_end <= len(raw)
        covered, feature = raw[facet.index.byte_start : facet.index.byte_end].decode(), facet.features[0]
        assert covered in (feature.uri, feature.uri.removeprefix("https://"), f"#{feature.tag}")
        last = facet.index.byte_end


def test_long_link_is_shown_short_and_leads_to_its_address():
    link = "https://www.example.com/a/path/that/is/long?and=on"
    text = f"{'é' * 260} {link}, and #tag"
    assert facet_targets(text) == [("www.example.com/a/path/that/...", link), ("#tag", "tag")]
    rendered, _ = render_text(text)
    assert rendered == f"{'é' * 260} www.example.com/a/path/that/..., and #tag"


@given(
    st.lists(
        st.sampled_from(
            [
                *("https://", "HTTP://", "www.", "a.io", "x.com/a", "/", "?", "#", "u:p@", "1234567890123456", "#t"),
                *("é", "\u0301", "👩\u200d", "👧", "\n", " ", ".", ",", "(", ")", "]", "…", "_", "„"),
            ]
        )
    )
)
@example(["https://", "?"])
def test_text_is_posted_as_it_is_counted(pieces):
    text = "".join(pieces)
    assert len(graphemes(render_text(text)[0])) == bluesky_length(text)


def make_post(*parts: str, alts: tuple[str, ...] = ()) -> Post:
    return Post(format=Format.THREAD, parts=parts, at=AT, alts=alts)


def test_rendered_thread_has_uris_but_no_hashes():
    writes = records.writes_for(make_post("One.", "Two.", "Three."), "did:plc:me", SEED)
    first, second, third = (f"at://did:plc:me/app.bsky.feed.post/{write.rkey}" for write in writes.writes)
    assert to_json_value(writes)["writes"][2]["value"]["reply"] == {"root": {"uri": first}, "parent": {"uri": second}}
    assert third.startswith(second[:-3])
    assert to_json_value(writes)["writes"][0]["value"] == {
        "$type": "app.bsky.feed.post",
        "text": "One.",
        "createdAt": "2026-02-10T09:00:00.123Z",
    }


def test_reply_names_root_and_parent_by_hash():
    whole, cids = records.with_images_and_cids(
        records.writes_for(make_post("One.", "Two.", "Three."), "did:plc:me", SEED), ()
    )
    sent = to_json_value(whole)["writes"]
    assert [fake_pds.compute_cid(write["value"]) for write in sent] == cids
    assert sent[2]["value"]["reply"]["root"]["cid"] == cids[0]
    assert sent[2]["value"]["reply"]["parent"]["cid"] == cids[1]


def test_json_round_trip_keeps_hashes():
    writes = records.writes_for(make_post("One. #tag", "Two.", alts=("",)), "did:plc:me", SEED)
    loaded = msgspec.convert(msgspec.json.decode(msgspec.json.encode(to_json_value(writes))), records.Writes)
    image = records.image_of(PICTURE, "")
    assert records.with_images_and_cids(loaded, [image]) == records.with_images_and_cids(writes, [image])


def test_image_is_referenced_by_hash_with_alt_text():
    whole, cids = records.with_images_and_cids(
        records.writes_for(make_post("One.", "Two.", alts=("Red",)), "did:plc:me", SEED),
        [records.image_of(PICTURE, "Red")],
    )
    value = to_json_value(whole)["writes"][0]["value"]
    image = value["embed"]["images"][0]
    assert (image["alt"], image["aspectRatio"]) == ("Red", {"width": 30, "height": 20})
    assert (image["image"]["mimeType"], image["image"]["size"]) == ("image/png", 7)
    assert image["image"]["ref"]["$link"].startswith("bafkrei")
    assert fake_pds.compute_cid(value) == cids[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x" * 300, ""),
        ("x" * 270 + " https://example.com/" + "y" * 90, ""),
        ("x" * 301, "301 characters; the Bluesky limit is 300."),
        ("👩‍👩‍👧‍👦" * 120, ""),
        ("👩‍👩‍👧‍👦" * 121, "3025 bytes; the Bluesky limit is 3000. Composed emoji count many bytes."),
        (" \n", "The text is empty."),
    ],
)
def test_grapheme_and_byte_limits_are_checked(text, message):
    assert text_problem(text, may_be_empty=False) == message


def test_pasted_handle_is_normalized():
    assert normalize_handle("\u202a@me.bsky.social\u202c\n") == "me.bsky.social"
