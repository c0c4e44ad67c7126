"""Items for the tests of filter and ranking: everything but what the test is about has a default."""

from datetime import UTC, datetime, timedelta
from zlib import crc32

from copydesk.model.item import Entry, Item, ItemState
from copydesk.model.source import SourceType
from copydesk.ranking.canonical import canonical_url

NOW = datetime(2026, 2, 17, 12, tzinfo=UTC)


def entry(title: str = "A title", **fields: object) -> Entry:
    """An entry with an address of its own, unless told otherwise."""
    url = f"https://example.com/{crc32(title.encode())}"
    given = {"ident": title, "alias": title, "url": url, **fields}
    return Entry(title=title, **given)  # type: ignore[arg-type]


def item(
    title: str = "A title",
    *,
    id: str = "i1",
    source: str = "s1",
    type: SourceType = SourceType.RSS,
    story: str = "",
    hours: float = 1,
    **fields: object,
) -> Item:
    """An item of `source` that is `hours` old."""
    made = entry(title, **fields)
    return Item(
        id=id,
        source_id=source,
        source_name=source.upper(),
        source_type=type,
        story_id=story or id,
        entry=made,
        canonical=canonical_url(made.url or ""),
        published=NOW - timedelta(hours=hours),
        seen=NOW,
        state=ItemState.NEW,
    )
