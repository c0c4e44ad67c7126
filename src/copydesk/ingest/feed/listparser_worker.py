"""Subprocess that runs listparser: started with `python -m`, an OPML file in UTF-8 in, its feeds as JSON out.

It is isolated because a hostile list of a few megabytes, of nested folders or of categories, fills the memory or keeps
listparser busy for minutes.
"""

import codecs
import sys

import listparser
import msgspec

from copydesk.ingest.subprocess_parser import apply_resource_limits, signal_ready


def main() -> None:
    """Read a subscription list from standard input and write its feeds to standard output."""
    apply_resource_limits()
    signal_ready()
    sys.stdout.buffer.write(list_feeds(sys.stdin.buffer.read()))


def list_feeds(body: bytes) -> bytes:
    """Return titles and URLs of the feeds as a JSON list of pairs, in order; `null` if `body` is not OPML."""
    # Bytes, because listparser would fetch text that looks like a URL. The byte order mark tells lxml that they are
    # UTF-8. Both of listparser's parsers read XML as HTML: they expand no entities and open no files.
    found = listparser.parse(codecs.BOM_UTF8 + body)
    feeds = [(feed.title, feed.url) for feed in found.feeds] if found.version.startswith("opml") else None
    return msgspec.json.encode(feeds)


if __name__ == "__main__":
    main()
