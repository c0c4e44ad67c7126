"""JSON Feed (https://jsonfeed.org/version/1.1) -> what it holds."""

import json
from collections.abc import Iterator

from copydesk.errors import NotAFeedError
from copydesk.ingest.picture import offer
from copydesk.ingest.raw import RawEntry, RawFeed, Refused

_TEXTS = {
    "id": "ident",
    "external_url": "original link",
    "url": "link",
    "title": "title",
    "summary": "summary",
    "date_published": "published",
    "date_modified": "updated",
    "language": "language",
}


def parse_json(body: bytes, max_entries: int) -> RawFeed:
    """What the feed `body` (UTF-8) holds. Raises NotAFeedError for any other JSON, and for what is none."""
    try:
        # Not msgspec, which is stricter than feeds are: half an emoji is cut off in many a title.
        document = json.loads(body, strict=False)
    except UnicodeDecodeError:
        raise Refused("encoding") from None
    except (ValueError, RecursionError) as error:
        reason = "it nests too deep" if isinstance(error, RecursionError) else str(error)[:100]
        raise NotAFeedError(f"The answer starts like a JSON Feed but cannot be read ({reason}).") from None
    items = document.get("items") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise NotAFeedError("The answer is JSON, but no JSON Feed: it has no list of items.")
    entries = [_entry(item) for item in items[:max_entries] if isinstance(item, dict)]
    return RawFeed(about=_about(document), entries=entries, atom=True, more=len(items) > max_entries)


def _about(document: dict[str, object]) -> RawEntry:
    texts = {
        "title": document.get("title"),
        "link": document.get("home_page_url"),
        "language": document.get("language"),
    }
    return RawEntry(texts={field: text for field, value in texts.items() if (text := _text(value))})


def _entry(item: dict[str, object]) -> RawEntry:
    entry = RawEntry()
    for name, field in _TEXTS.items():
        text = _text(item.get(name))
        if text:
            entry.texts[field] = text
    _add_content(entry, item)
    entry.tags = [_text(tag) for tag in _list(item.get("tags"))]
    people = [*_list(item.get("authors")), item.get("author")]
    entry.authors = [_text(person.get("name")) for person in people if isinstance(person, dict)]
    for attributes in _pictures(item):
        offer(entry, attributes)
    return entry


def _add_content(entry: RawEntry, item: dict[str, object]) -> None:
    for name in ("content_html", "content_text"):
        text = _text(item.get(name))
        if text:
            entry.texts["content"] = text
            entry.is_markup["content"] = name == "content_html"
            return


def _pictures(item: dict[str, object]) -> Iterator[dict[str, str]]:
    for name in ("image", "banner_image"):
        yield {"url": _text(item.get(name)), "type": "image"}
    for attachment in _list(item.get("attachments")):
        if isinstance(attachment, dict):
            yield {"url": _text(attachment.get("url")), "type": _text(attachment.get("mime_type"))}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    """A text; a number that stands where the text should is one too."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
