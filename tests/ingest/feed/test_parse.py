"""Tests for parsing RSS, Atom, RDF and JSON feeds into entries."""

from datetime import UTC, datetime

import pytest

from copydesk.errors import NotAFeedError
from feed_fixtures import ATOM, JSON_FEED, RDF, parse_sample, rss

ITEM = (
    "<title>Why SQLite is enough</title><link>https://site.example/sqlite?utm_source=rss</link>"
    '<guid isPermaLink="false">tag:site.example,2026:42</guid><pubDate>Tue, 17 Nov 2026 09:30:00 +0100</pubDate>'
    "<dc:creator>Ada</dc:creator><category>databases</category><category>Databases</category><category>WAL</category>"
    "<description>&lt;p&gt;One writer.&lt;/p&gt;</description><comments>https://site.example/sqlite#comments</comments>"
    "<content:encoded><![CDATA[<p>One writer, many readers.</p><p>67,000 rows.</p>]]></content:encoded>"
    '<enclosure url="/cover.png" type="image/png" length="1"/><slash:comments>12</slash:comments>'
)


def test_rss_feed() -> None:
    feed = parse_sample(rss(ITEM, head="<language>en-US</language><ttl>60</ttl>"))
    assert (feed.title, feed.link, feed.language) == ("Site", "https://site.example/", "en-us")
    assert (feed.ttl_seconds, feed.parser, feed.truncated) == (3600, "expat", False)
    (entry,) = feed.entries
    assert entry.ident == entry.alias == "tag:site.example,2026:42"
    assert entry.title == "Why SQLite is enough"
    assert entry.url == "https://site.example/sqlite?utm_source=rss"
    assert entry.published == datetime(2026, 11, 17, 8, 30, tzinfo=UTC)
    assert entry.summary == "One writer."
    assert entry.text == "One writer, many readers.\n\n67,000 rows."
    assert (entry.author, entry.tags, entry.language) == ("Ada", ("databases", "WAL"), "en-us")
    assert entry.image == "https://site.example/cover.png"
    assert entry.discussion == "https://site.example/sqlite#comments"
    assert entry.comments == 12


def test_atom_feed() -> None:
    feed = parse_sample(ATOM)
    assert (feed.title, feed.link, feed.language, feed.parser) == ("Lab", "https://lab.example/", "en-gb", "expat")
    (entry,) = feed.entries
    assert entry.title == "Agents & tools"
    assert entry.url == "https://lab.example/posts/agents"
    assert entry.discussion == "https://lab.example/posts/agents#talk"
    assert entry.published == datetime(2026, 11, 18, 11, tzinfo=UTC)
    assert (entry.author, entry.tags) == ("Lin & Kim", ("Machine learning",))
    assert entry.summary == "What we saw"
    assert entry.text == "We ran 3 experiments & won.\n\na < b\nnext"


def test_rdf_feed() -> None:
    feed = parse_sample(RDF)
    assert (feed.title, feed.link) == ("Wire", "https://wire.example/")
    (entry,) = feed.entries
    assert entry.ident == "https://wire.example/1"
    assert entry.url == "https://wire.example/1?maca=x"
    assert entry.published == datetime(2026, 11, 18, 9, tzinfo=UTC)
    assert (entry.language, entry.tags, entry.summary) == ("de", ("World",), "One.")


def test_json_feed() -> None:
    feed = parse_sample(JSON_FEED)
    assert (feed.title, feed.link, feed.language, feed.parser) == ("JSON blog", "https://j.example/", "en", "json")
    first, second = feed.entries
    assert (first.ident, first.url, first.title) == ("7", "https://j.example/1", "Fish & <chips>")
    assert first.text == "Hello,\nworld."
    assert first.published == datetime(2026, 11, 18, 13, tzinfo=UTC)
    assert (first.author, first.tags, first.image) == ("Kim", ("intro",), "https://j.example/1.png")
    assert (second.title, second.url, second.text) == ("", None, "a < b\n\nsecond")


def test_json_with_raw_line_breaks() -> None:
    assert parse_sample('{"items":[{"id":"1","content_text":"one\n\ntwo"}]}').entries[0].text == "one\n\ntwo"


def test_feed_without_entries() -> None:
    assert parse_sample(rss()).entries == ()


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("Tom &amp; Jerry", "Tom & Jerry"),
        ("Tom &amp;amp; Jerry", "Tom & Jerry"),
        ("<![CDATA[Tom &amp; Jerry]]>", "Tom & Jerry"),
        ("It&amp;#8217;s &lt;b&gt;new&lt;/b&gt;", "It’s new"),
        ("Why 5 &lt; 6 matters", "Why 5 < 6 matters"),
        ("The &lt;dialog&gt; element", "The <dialog> element"),
        ("[red]stays[/red] [bold]", "[red]stays[/red] [bold]"),
        ("  two\n lines  ", "two lines"),
        ("caf&eacute;&nbsp;au lait", "café au lait"),
    ],
)
def test_title_is_decoded_without_losing_text(markup: str, expected: str) -> None:
    assert parse_sample(rss(f"<title>{markup}</title>")).entries[0].title == expected


def test_atom_text_title_is_taken_literally() -> None:
    feed = ATOM.replace('<title type="html">Agents &amp;amp; tools', "<title>&lt;b&gt; &amp;amp; co")
    assert parse_sample(feed).entries[0].title == "<b> &amp; co"


def test_permalink_guid_is_fallback_url() -> None:
    link, opaque, enclosed = parse_sample(
        rss(
            "<guid>https://site.example/a</guid>",
            '<guid isPermaLink="false">https://site.example/b</guid>',
            '<guid isPermaLink="false">c</guid><enclosure url="https://site.example/c.mp3" type="audio/mpeg"/>',
        )
    ).entries
    assert (link.url, opaque.url, enclosed.url) == ("https://site.example/a", None, "https://site.example/c.mp3")


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "javascript://a.example/%0aalert(1)",
        "data:text/html,x",
        "file://a.example/etc/passwd",
        "ftp://a.example/x",
        "mailto:a@b.example",
        "",
        "http://",
        "http://[::1",
    ],
)
def test_non_web_url_is_dropped(address: str) -> None:
    (entry,) = parse_sample(
        rss(f'<title>T</title><link>{address}</link><enclosure url="{address}" type="image/png"/>')
    ).entries
    assert (entry.url, entry.image) == (None, None)


def test_relative_urls_resolve_against_feed_link() -> None:
    entries = parse_sample(rss("<link>/a</link>", "<link>b?x=1</link>", "<link>//cdn.example/c</link>")).entries
    assert [entry.url for entry in entries] == [
        "https://site.example/a",
        "https://site.example/b?x=1",
        "https://cdn.example/c",
    ]


def test_widest_image_wins_over_tracking_pixel() -> None:
    wide = (
        '<media:thumbnail url="https://p.example/s.jpg" width="140"/>'
        '<media:content url="https://p.example/l.jpg" medium="image" width="700"/>'
        '<media:content url="https://p.example/v.mp4" type="video/mp4" width="1920"/>'
    )
    inside = (
        '&lt;img src="https://p.example/t.gif" width=1 height=1&gt;&lt;img alt="x" src="/in.png?a=1&amp;amp;b=2"&gt;'
    )
    first, second = parse_sample(rss(wide, f"<description>{inside}</description>")).entries
    assert first.image == "https://p.example/l.jpg"
    assert second.image == "https://site.example/in.png?a=1&b=2"


@pytest.mark.parametrize(
    ("inside", "alt"),
    [
        ("""<img src="/a.png" alt="Two cranes &amp; a
        quay">""", "Two cranes & a quay"),
        ("<img alt='A crane' src='/a.png'>", "A crane"),
        ('<img src="/a.png?alt=media">', None),
        ('<img src="/a.png" data-alt="of a script">', None),
        ('<img src="/a.png" alt="">', None),
        ('<img src="/a.png"><img src="/b.png" alt="The second">', None),
        ('<img src="javascript:a" alt="Of none">', None),
    ],
)  # fmt: skip
def test_image_alt_comes_from_its_own_tag(inside: str, alt: str | None) -> None:
    (entry,) = parse_sample(rss(f"<title>A</title><description><![CDATA[{inside}]]></description>")).entries
    assert entry.image_alt == alt


def test_enclosure_image_has_no_alt() -> None:
    inside = (
        '<enclosure url="/b.png" type="image/png"/><description><![CDATA[<img src="/a.png" alt="A">]]></description>'
    )
    (entry,) = parse_sample(rss(f"<title>A</title>{inside}")).entries
    assert (entry.image, entry.image_alt) == ("https://site.example/b.png", None)


def test_media_caption_is_not_the_summary() -> None:
    """The description of a `media:group` is."""
    caption = "<media:content url='/a.jpg'><media:description>A caption</media:description></media:content>"
    group = "<media:title>V</media:title><media:description>one\n\ntwo\nthree</media:description>"
    first, second = parse_sample(rss(caption, f"<media:group>{group}</media:group>")).entries
    assert (first.summary, first.image) == ("", "https://site.example/a.jpg")
    assert (second.title, second.summary) == ("V", "one\n\ntwo\nthree")


def test_long_description_is_also_text() -> None:
    (entry,) = parse_sample(rss(f"<description>{'word ' * 2_000}</description>")).entries
    assert len(entry.summary) <= 5_000
    assert len(entry.text) == 9_999


def test_source_element_is_publisher() -> None:
    (entry,) = parse_sample(
        rss('<title>A - The Register</title><source url="https://r.example">The Register</source>')
    ).entries
    assert entry.publisher == "The Register"


@pytest.mark.parametrize(
    ("markup", "name"),
    [
        ("<author>ada@site.example (Ada Lovelace)</author>", "Ada Lovelace"),
        ("<author>Ada Lovelace &lt;ada@site.example&gt;</author>", "Ada Lovelace"),
        ("<dc:creator>Ada</dc:creator><dc:creator>Lin</dc:creator><dc:creator>Ada</dc:creator>", "Ada, Lin"),
        ("<atom:author><atom:name>Kim</atom:name></atom:author>", "Kim"),
        ("<author/>", None),
    ],
)
def test_author_is_reduced_to_name(markup: str, name: str | None) -> None:
    assert parse_sample(rss(markup)).entries[0].author == name


@pytest.mark.parametrize(
    "feed",
    [
        rss("<title>A</title>", "<dc:creator>Ada</dc:creator>", head="<dc:creator>Kim</dc:creator>"),
        ATOM.replace("<entry>", "<author><name>Kim</name></author><entry><title>A</title></entry><entry>"),
        '{"authors": [{"name": "Kim"}], "items": [{"id": "1"}, {"id": "2", "author": {"name": "Ada"}}]}',
    ],
)
def test_entry_without_an_author_has_that_of_the_feed(feed: str) -> None:
    first, second = parse_sample(feed).entries
    assert first.author == "Kim"
    assert second.author in {"Ada", "Lin & Kim"}


def test_managing_editor_is_not_an_author() -> None:
    feed = rss("<title>A</title>", head="<managingEditor>kim@site.example (Kim)</managingEditor>")
    assert parse_sample(feed).entries[0].author is None
    # As the strict parser leaves it to feedparser.
    assert parse_sample(feed.replace("<title>A</title>", "<title>A & B</title>")).entries[0].author is None


def test_duplicate_ids_are_disambiguated() -> None:
    feed = rss(
        "<title>A</title><guid>same</guid><link>https://site.example/1</link>",
        "<title>B</title><guid>same</guid><link>https://site.example/2</link>",
        "<title>C</title><guid>same</guid><link>https://site.example/2</link>",
        "<title>D</title><guid>other</guid>",
    )
    idents = [entry.ident for entry in parse_sample(feed).entries]
    assert idents == [
        "same https://site.example/1",
        "same https://site.example/2",
        "same https://site.example/2 2",
        "other",
    ]
    assert [entry.ident for entry in parse_sample(feed).entries] == idents
    assert len({entry.alias for entry in parse_sample(feed).entries}) == 4


def test_entry_without_id_uses_url_or_content() -> None:
    linked, titled, other = parse_sample(
        rss("<link>https://site.example/1</link>", "<title>W</title>", "<title>X</title>")
    ).entries
    assert linked.ident == "https://site.example/1"
    assert len({titled.ident, other.ident}) == 2
    assert parse_sample(rss("<title>W</title>")).entries[0].ident == titled.ident


@pytest.mark.parametrize(
    ("guid", "alias"),
    [
        ("http://www.Site.example/a/", "site.example/a"),
        ("https://site.example/a?utm_source=x&amp;id=1", "site.example/a?id=1"),
        ("https://site.example/?p=7", "site.example?p=7"),
        ("https://site.example/a#xtor=RSS-1", "site.example/a"),
        ("https://site.example/a#RSS", "site.example/a"),
        ("https://site.example/a#utm_source=feed", "site.example/a"),
        ("https://site.example/notes#November_10", "site.example/notes#November_10"),
        ("CBMiFAKE0001", "CBMiFAKE0001"),
    ],
)
def test_alias_ignores_unstable_url_parts(guid: str, alias: str) -> None:
    assert parse_sample(rss(f"<guid>{guid}</guid>")).entries[0].alias == alias


@pytest.mark.parametrize("suffix", ["?ref={}", "?source={}", "?src={}", "?feed={}", "#2026020{}", "#id={}"])
def test_alias_includes_identifying_parts(suffix: str) -> None:
    """A status page that numbered its incidents like this lost all but the first: the rest were taken for that item."""
    guids = [f"https://site.example/incident{suffix.format(number)}" for number in (1, 2, 3)]
    assert len({parse_sample(rss(f"<guid>{guid}</guid>")).entries[0].alias for guid in guids}) == 3


def test_equal_aliases_are_replaced_by_ids() -> None:
    guids = ["https://a.example/x?fbclid=1", "https://a.example/x?fbclid=2"]
    entries = parse_sample(rss(*(f"<guid>{guid}</guid>" for guid in guids))).entries
    assert [entry.alias for entry in entries] == guids


def test_field_lengths_are_capped() -> None:
    feed = rss(
        f"<title>{'t' * 100_000}</title><guid>{'g' * 5_000}</guid><link>https://site.example/{'l' * 3_000}</link>"
        f"<dc:creator>{'a' * 500}</dc:creator><description>{'d ' * 9_000}</description>"
        f"<content:encoded>{'c ' * 90_000}</content:encoded><category>{'k' * 60}</category>"
        + "".join(f"<category>{number}</category>" for number in range(50))
    )
    (entry,) = parse_sample(feed).entries
    assert len(entry.title) == 1_000
    assert len(entry.ident) <= 2_000
    assert entry.url is None
    assert len(entry.author or "") == 200
    assert len(entry.summary) <= 5_000
    assert len(entry.text) <= 100_000
    assert len(entry.tags) == 20
    assert "k" * 60 not in entry.tags


def test_entries_beyond_limit_are_dropped() -> None:
    feed = parse_sample(rss(*(f"<guid>{number}</guid>" for number in range(5))), max_entries=3)
    assert ([entry.ident for entry in feed.entries], feed.truncated) == (["0", "1", "2"], True)
    assert not parse_sample(rss("<guid>1</guid>"), max_entries=1).truncated


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"/etc/hostname", "neither XML"),
        (b"\x89PNG\r\n\x1a\n", "neither XML"),
        (b"<!DOCTYPE html><html><head><title>Hi</title>", "web page"),
        (b"<html><body>", "web page"),
        (b'<?xml version="1.0"?>\n<!-- x --><html xmlns="http://www.w3.org/1999/xhtml"></html>', "web page"),
        (b'{"error": "no"}', "not a JSON Feed"),
        (b"[1, 2]", "neither XML"),
        (b'{"items": [', "is invalid"),
        (b'{"items":' + b"[" * 100_000, "is invalid"),
        (b'<?xml version="1.0"?><urlset><url/></urlset>', "not a feed"),
        (b"<rss><channel><it", "not a feed"),
    ],
)
def test_non_feed_is_refused_with_reason(body: bytes, message: str) -> None:
    with pytest.raises(NotAFeedError, match=message):
        parse_sample(body)


def test_web_page_hint_suggests_feed_url() -> None:
    with pytest.raises(NotAFeedError) as caught:
        parse_sample("<html>")
    assert "/feed" in caught.value.hint


def test_body_over_256_kib_is_parsed() -> None:
    item = f"<title>T</title><description>{'word ' * 200}</description>"
    feed = parse_sample(rss(*[item] * 400))
    assert len(feed.entries) == 400
    assert feed.parser == "expat"


def test_entries_of_a_link_collection_name_the_linked_site() -> None:
    sites = ("quay.example", "tram.example", "oven.example")
    items = [f"<guid>{n}</guid><title>T{n}</title><link>https://{site}/1</link>" for n, site in enumerate(sites)]
    with_text = (
        "<guid>9</guid><title>T9</title><link>https://crane.example/</link><description>Own words.</description>"
    )
    own = "<guid>8</guid><title>T8</title><link>https://site.example/8</link>"
    entries = parse_sample(rss(*items, with_text, own)).entries
    assert [entry.publisher for entry in entries] == [*sites, None, None]


def test_entries_of_an_ordinary_feed_name_no_publisher() -> None:
    items = [f"<guid>{n}</guid><title>T{n}</title><link>https://{n % 2}.example/{n}</link>" for n in range(6)]
    assert {entry.publisher for entry in parse_sample(rss(*items)).entries} == {None}
