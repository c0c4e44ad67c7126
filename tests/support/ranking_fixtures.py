"""Items for the filter and ranking tests, with defaults for everything."""

from datetime import UTC, datetime, timedelta
from zlib import crc32

from copydesk.model.item import Entry, Item, ItemState
from copydesk.ranking.canonical_url import canonical_url

NOW = datetime(2026, 2, 17, 12, tzinfo=UTC)


def make_entry(title: str = "A title", **fields: object) -> Entry:
    """Return an entry, with a URL derived from its title."""
    url = f"https://example.com/{crc32(title.encode())}"
    values = {"ident": title, "alias": title, "url": url, **fields}
    return Entry(title=title, **values)  # type: ignore[arg-type]


def make_item(
    title: str = "A title",
    *,
    id: str = "i1",
    source: str = "s1",
    type: str = "rss",
    story: str = "",
    hours: float = 1,
    **fields: object,
) -> Item:
    """Return an item of `source`, published `hours` ago."""
    item_entry = make_entry(title, **fields)
    return Item(
        id=id,
        source_id=source,
        source_name=source.upper(),
        source_type=type,
        story_id=story or id,
        entry=item_entry,
        canonical=canonical_url(item_entry.url or ""),
        published=NOW - timedelta(hours=hours),
        seen=NOW,
        state=ItemState.NEW,
    )
