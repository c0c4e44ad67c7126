"""Parser for JSON Feed (https://jsonfeed.org/version/1.1)."""

import json
from collections.abc import Iterator

from copydesk.errors import NotAFeedError
from copydesk.ingest.feed.raw_feed import RawEntry, RawFeed, StrictParseError, offer_image

_FIELDS = {
    "id": "ident",
    "external_url": "original link",
    "url": "link",
    "title": "title",
    "summary": "summary",
    "date_published": "published",
    "date_modified": "updated",
    "language": "language",
}


def parse_json_feed(body: bytes, max_entries: int) -> RawFeed:
    """Parse a feed in UTF-8. Raise NotAFeedError for other JSON and for invalid JSON."""
    try:
        # Not msgspec, which is stricter than real feeds: many titles are cut in the middle of a surrogate pair.
        # strict=False allows raw control characters in strings.
        document = json.loads(body, strict=False)
    except UnicodeDecodeError:
        raise StrictParseError("encoding") from None
    except (ValueError, RecursionError) as error:
        reason = "it nests too deep" if isinstance(error, RecursionError) else str(error)[:100]
        raise NotAFeedError(f"The response starts like a JSON Feed but is invalid ({reason}).") from None
    items = document.get("items") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise NotAFeedError("The response is JSON but not a JSON Feed: it has no list of items.")
    entries = [_entry(item) for item in items[:max_entries] if isinstance(item, dict)]
    return RawFeed(metadata=_feed_metadata(document), entries=entries, is_atom=True, truncated=len(items) > max_entries)


def _feed_metadata(document: dict[str, object]) -> RawEntry:
    """Return the feed's own title, link and language."""
    texts = {
        "title": document.get("title"),
        "link": document.get("home_page_url"),
        "language": document.get("language"),
    }
    return RawEntry(texts={field: text for field, value in texts.items() if (text := _text(value))})


def _entry(item: dict[str, object]) -> RawEntry:
    entry = RawEntry()
    for name, field in _FIELDS.items():
        text = _text(item.get(name))
        if text:
            entry.texts[field] = text
    _add_content(entry, item)
    entry.tags = [_text(tag) for tag in _list(item.get("tags"))]
    authors = [*_list(item.get("authors")), item.get("author")]
    entry.authors = [_text(author.get("name")) for author in authors if isinstance(author, dict)]
    for attributes in _image_candidates(item):
        offer_image(entry, attributes)
    return entry


def _add_content(entry: RawEntry, item: dict[str, object]) -> None:
    for name in ("content_html", "content_text"):
        text = _text(item.get(name))
        if text:
            entry.texts["content"] = text
            entry.is_markup["content"] = name == "content_html"
            return


def _image_candidates(item: dict[str, object]) -> Iterator[dict[str, str]]:
    """Yield attributes of possible images, in the form of an RSS enclosure."""
    for name in ("image", "banner_image"):
        yield {"url": _text(item.get(name)), "type": "image"}
    for attachment in _list(item.get("attachments")):
        if isinstance(attachment, dict):
            yield {"url": _text(attachment.get("url")), "type": _text(attachment.get("mime_type"))}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    """Return a string stripped and a number as a string: some feeds have numeric ids."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
