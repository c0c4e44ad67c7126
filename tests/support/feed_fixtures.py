"""Small feeds in every format, and access to the captured ones."""

import asyncio
from pathlib import Path

import pytest

from copydesk.ingest.feed.parse import Feed, parse_feed

REAL_FEEDS = Path(__file__).resolve().parents[2] / ".." / "shared" / "feeds"
BASE_URL = "https://site.example/feed"

ATOM = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://lab.example/" xml:lang="en-GB"><title>Lab</title>
<id>urn:uuid:60a76c80</id><link rel="self" href="/atom.xml"/><link href="/"/>
<entry><title type="html">Agents &amp;amp; tools</title><id>urn:uuid:1225c695</id>
<link rel="alternate" href="posts/agents"/><link rel="replies" type="text/html" href="posts/agents#talk"/>
<published>2026-11-18T11:00:00Z</published><updated>2026-11-18T12:00:00Z</updated>
<author><name>Lin &amp; Kim</name><uri>https://lab.example/lin</uri></author>
<category term="ml" label="Machine learning"/><summary>What we saw</summary>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>We ran <b>3</b> experiments &amp; won.</p>
<p>a &lt; b<br/>next</p></div></content></entry></feed>"""

RDF = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="https://wire.example/"><title>Wire</title><link>https://wire.example/</link></channel>
<image><title>Logo</title></image>
<item rdf:about="https://wire.example/1"><title>First</title><link>https://wire.example/1?maca=x</link>
<description>One.</description><dc:date>2026-11-18T10:00:00+01:00</dc:date><dc:language>de</dc:language>
<dc:subject>World</dc:subject></item></rdf:RDF>"""

JSON_FEED = """{"version":"https://jsonfeed.org/version/1.1","title":"JSON blog","home_page_url":"https://j.example/",
"language":"en","items":[{"id":7,"url":"/1","title":"Fish & <chips>","content_html":"<p>Hello,<br>world.</p>",
"summary":"Hello","date_published":"2026-11-18T08:00:00-05:00","authors":[{"name":"Kim"}],"tags":["intro"],
"image":"/1.png"},{"id":"b","content_text":"a < b\\n\\nsecond"}]}"""


def rss(*items: str, head: str = "", declaration: str = '<?xml version="1.0" encoding="utf-8"?>') -> str:
    """Return an RSS feed with `items`, each the inside of an `<item>`."""
    inside = "".join(f"<item>{item}</item>" for item in items)
    return (
        f'{declaration}<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/"'
        ' xmlns:slash="http://purl.org/rss/1.0/modules/slash/" xmlns:atom="http://www.w3.org/2005/Atom">'
        f"<channel><title>Site</title><link>https://site.example/</link>{head}{inside}</channel></rss>"
    )


def parse_sample(feed: str | bytes, *, charset: str | None = None, max_entries: int = 10_000) -> Feed:
    """Return the feed parsed as in the product."""
    body = feed.encode() if isinstance(feed, str) else feed
    return asyncio.run(parse_feed(body, charset=charset, base_url=BASE_URL, max_entries=max_entries))


def load_real_feeds() -> dict[str, bytes]:
    """Return the captured feeds by name; skip the test if there are none."""
    feeds = {path.stem: path.read_bytes() for path in sorted(REAL_FEEDS.glob("*.xml"))}
    if not feeds:
        pytest.skip("the captured feeds are not beside the checkout")
    return feeds
