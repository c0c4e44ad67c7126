"""Build entries from parsed feeds: plain text within limits, http(s) URLs only, a unique id each.

JSON of web APIs is decoded defensively too: typed and bounded, and one bad row never costs the others.
"""

import codecs
import contextlib
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from copydesk.errors import NotAFeedError
from copydesk.ingest.dates import EARLIEST_YEAR, parse_date
from copydesk.ingest.feed.raw_feed import RawEntry, first_image
from copydesk.ingest.html_to_text import clean_text, html_to_text, single_line
from copydesk.ingest.urls import absolute_url, alias_key
from copydesk.model.item import Entry, digest
from copydesk.text.html_tags import is_probably_html, unescape_html

T = TypeVar("T")

# Characters, except MAX_TAGS and MAX_COUNT. Entries are untrusted: the limits bound storage and the later regex work.
MAX_TITLE = 1_000
MAX_SUMMARY = 5_000
MAX_TEXT = 100_000
MAX_IDENT = 2_000
MAX_NAME = 200
MAX_ALT = 1_000
MAX_TAGS = 20
MAX_TAG = 50
MAX_COUNT = 1_000_000_000

_TITLE_FIELDS = ("title", "title 2", "title 3")
_SUMMARY_FIELDS = ("summary", "summary 2", "summary 3", "summary 4")
_DATE_FIELDS = ("published", "date", "updated", "created")
_LINK_FIELDS = ("original link", "link", "alternate", "alternate 2")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3}")
# RSS defines authors as mail addresses; most feeds append the person's name.
_NAME_AFTER_MAIL = re.compile(r"[^\s@()]+@[^\s@()]+\s+\(([^()]+)\)")
_MAIL_AFTER_NAME = re.compile(r"\s*<[^\s<>]*@[^\s<>]*>")


class FeedDefaults(NamedTuple):
    """Defaults that entries inherit from their feed."""

    base_url: str
    """Base URL for relative links."""
    language: str | None = None
    atom: bool = False
    """Atom declares which texts are HTML; RSS does not."""
    author: str | None = None
    """Of entries that name none, as in the feeds of many blogs by one person."""


def build_entries(raw_entries: Sequence[RawEntry], defaults: FeedDefaults) -> tuple[Entry, ...]:
    """Return the entries of one document; no two share an id."""
    return _with_unique_ids([_entry(raw_entry, defaults) for raw_entry in raw_entries])


def entry_title(raw: RawEntry, *, atom: bool) -> str:
    """Return the title on one line. RSS does not say whether it is HTML, so that is guessed."""
    field, value = _first_field(raw.texts, _TITLE_FIELDS)
    # A shortcut: neither tags nor entities, so guessing would not change anything.
    if "<" not in value and "&" not in value:
        return single_line(value, MAX_TITLE)
    is_html = raw.is_markup.get(field)
    if is_html is None:
        is_html = not (atom and field == "title") and is_probably_html(value)
    return single_line(value, MAX_TITLE, markup=is_html)


def entry_url(raw: RawEntry, base: str) -> str | None:
    """Return the entry's URL: the first valid link, then an id that is a URL, then the enclosure; None without one."""
    texts = raw.texts
    for field in _LINK_FIELDS:
        if field in texts:
            url = absolute_url(texts[field], base)
            if url:
                return url
    # A guid is often the permanent link, unless the feed says that it is opaque.
    guid = texts.get("ident", "")
    if guid[:4].lower() == "http" and "opaque" not in texts:
        return absolute_url(guid, base)
    return absolute_url(texts["enclosure"], base) if "enclosure" in texts else None


def normalize_language(text: str) -> str | None:
    """Return `text` as a lower-case language code such as `en-us`, None if it is not one."""
    # Some feeds write a locale, en_US.
    code = text.strip().lower().replace("_", "-")
    return code if _LANGUAGE.fullmatch(code) else None


def _entry(raw: RawEntry, defaults: FeedDefaults) -> Entry:
    texts = raw.texts
    base = (absolute_url(raw.base_url, defaults.base_url) if raw.base_url else None) or defaults.base_url
    url = entry_url(raw, base)
    title = entry_title(raw, atom=defaults.atom)
    published = _published(texts)
    guid = texts.get("ident") or texts.get("about") or ""
    # Without a guid the URL identifies the entry, and without both its content does.
    ident = _bounded_id(guid) or url or _hash(title, published, texts.get("summary") or texts.get("content", ""))
    summary, text = _summary_and_text(raw, defaults)
    image, image_alt = _image(raw, base)
    return Entry(
        ident=ident,
        alias=alias_key(ident),
        title=title,
        url=url,
        summary=summary,
        text=text,
        author=author_names(raw) or defaults.author,
        published=published,
        image=image,
        image_alt=image_alt,
        language=normalize_language(texts["language"]) if "language" in texts else defaults.language,
        publisher=single_line(texts["publisher"], MAX_NAME) or None if "publisher" in texts else None,
        discussion=absolute_url(texts["discussion"], base) if "discussion" in texts else None,
        comments=_count(texts["comments"]) if "comments" in texts else None,
        tags=_tags(raw.tags) if raw.tags else (),
    )


def _summary_and_text(raw: RawEntry, defaults: FeedDefaults) -> tuple[str, str]:
    """Return summary and text. Without content, an over-long summary becomes the text."""
    field, raw_summary = _first_field(raw.texts, _SUMMARY_FIELDS)
    content = raw.texts.get("content", "")
    text = _field_text(raw, "content", content, defaults) if content else ""
    if not raw_summary:
        return "", text
    # Many feeds repeat the content as the summary: convert it once.
    if raw_summary == content:
        return text[:MAX_SUMMARY].rstrip(), text
    summary = _field_text(raw, field, raw_summary, defaults)
    if len(summary) <= MAX_SUMMARY:
        return summary, text
    return summary[:MAX_SUMMARY].rstrip(), text or summary


def _field_text(raw: RawEntry, field: str, value: str, defaults: FeedDefaults) -> str:
    """Return the field as plain text. Atom declares HTML; RSS descriptions are HTML, extension fields may be."""
    is_html = raw.is_markup.get(field)
    if is_html is None:
        is_format_field = field in {"summary", "content"}
        is_html = not defaults.atom if is_format_field else is_probably_html(value)
    return html_to_text(value, MAX_TEXT) if is_html else clean_text(value, MAX_TEXT)


def _first_field(texts: dict[str, str], fields: tuple[str, ...]) -> tuple[str, str]:
    """Return the first of `fields` that is present, and its text."""
    for field in fields:
        if field in texts:
            return field, texts[field]
    return fields[0], ""


def _published(texts: dict[str, str]) -> datetime | None:
    for field in _DATE_FIELDS:
        if field in texts:
            published = parse_date(texts[field])
            if published:
                return published
    return None


def _image(raw: RawEntry, base: str) -> tuple[str | None, str | None]:
    """Return the entry's image URL, and its alternative text if it was found in the text."""
    url, alt = raw.image_url, ""
    for field in ("content", "summary"):
        if not url:
            url, alt = first_image(raw.texts.get(field, ""))
    image = absolute_url(url, base) if url else None
    return image, (single_line(alt, MAX_ALT) or None) if image else None


def author_names(raw: RawEntry) -> str | None:
    """Return the authors of an entry or a feed, separated by commas; None if it names none."""
    if not raw.authors and "author 2" not in raw.texts:
        return None
    names = [_name(name) for name in raw.authors[:MAX_TAGS] or [raw.texts["author 2"]]]
    return ", ".join(dict.fromkeys(filter(None, names)))[:MAX_NAME].rstrip(", ") or None


# Feeds repeat few authors and tags over many entries.
@lru_cache(1_000)
def _name(text: str) -> str:
    """Return the person in `mail@site (Person)` or `Person <mail@site>`."""
    line = single_line(unescape_html(text) if "&" in text else text, MAX_NAME)
    match = _NAME_AFTER_MAIL.fullmatch(line)
    return match[1].strip() if match else _MAIL_AFTER_NAME.sub("", line)


def _tags(raw_tags: list[str]) -> tuple[str, ...]:
    """Return the first tags without case-insensitive duplicates; over-long ones are dropped."""
    tags: dict[str, str] = {}
    # Twice the limit leaves room for duplicates and empty tags.
    for tag in map(_tag, raw_tags[: 2 * MAX_TAGS]):
        tags.setdefault(tag.lower(), tag)
    tags.pop("", None)
    return tuple(tags.values())[:MAX_TAGS]


@lru_cache(4_000)
def _tag(text: str) -> str:
    line = single_line(unescape_html(text) if "&" in text else text, MAX_TAG + 1)
    return line if len(line) <= MAX_TAG else ""


def _count(text: str) -> int | None:
    # The length is checked first: int() takes quadratic time.
    return min(int(text), MAX_COUNT) if text.isdecimal() and len(text) < 20 else None


def _bounded_id(guid: str) -> str:
    # Nearly all ids are printable; others are folded to one line, at twice the limit because folding shortens them.
    if not guid.isprintable():
        guid = single_line(guid, 2 * MAX_IDENT)
    return guid if len(guid) <= MAX_IDENT else _hash(guid)


def _hash(*parts: object) -> str:
    # repr() keeps the boundaries between the parts.
    return digest(repr(parts).encode("utf-8", "replace")).hex()


def _with_unique_ids(entries: list[Entry]) -> tuple[Entry, ...]:
    """Make ids unique by appending the URL, then a number. An alias that repeats is replaced by the id."""
    id_counts = Counter(entry.ident for entry in entries)
    if len(id_counts) < len(entries):
        entries = _number_duplicates([_with_link(entry) if id_counts[entry.ident] > 1 else entry for entry in entries])
    alias_counts = Counter(entry.alias for entry in entries)
    if len(alias_counts) < len(entries):
        entries = [replace(entry, alias=entry.ident) if alias_counts[entry.alias] > 1 else entry for entry in entries]
    return tuple(entries)


def _with_link(entry: Entry) -> Entry:
    if not entry.url or entry.url == entry.ident:
        return entry
    return _with_id(entry, f"{entry.ident} {entry.url}")


def _number_duplicates(entries: list[Entry]) -> list[Entry]:
    """Append ` 2`, ` 3`... to ids that repeat."""
    counts: Counter[str] = Counter()
    numbered = []
    for entry in entries:
        counts[entry.ident] += 1
        number = counts[entry.ident]
        numbered.append(entry if number == 1 else _with_id(entry, f"{entry.ident} {number}"))
    return numbered


def _with_id(entry: Entry, ident: str) -> Entry:
    # With the link appended it may exceed the bound that both met alone.
    ident = ident if len(ident) <= MAX_IDENT else _hash(ident)
    return replace(entry, ident=ident, alias=ident)


def decode_json(body: bytes, kind: type[T], service: str) -> T:
    """Decode `body` as `kind`. Numbers may be strings; unknown fields are ignored.

    `service` names the sender in the error. Raise NotAFeedError if it does not match.
    """
    try:
        # msgspec refuses a byte order mark.
        return msgspec.json.decode(body.removeprefix(codecs.BOM_UTF8), type=kind, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotAFeedError(f"{service} returned an unexpected response ({_json_problem(error)}).") from None


def decode_json_list(items: Sequence[msgspec.Raw], kind: type[T], service: str) -> list[T]:
    """Return the items that match `kind`, decoded. Raise NotAFeedError if there are items but none matches."""
    decoded: list[T] = []
    for raw in items:
        with contextlib.suppress(NotAFeedError):
            decoded.append(decode_json(bytes(raw), kind, service))
    if items and not decoded:
        raise NotAFeedError(f"{service} returned a list without valid entries.")
    return decoded


def clamp_count(value: int | None) -> int | None:
    """Return a count limited to ±`MAX_COUNT`, so that any database column holds it."""
    return None if value is None else max(-MAX_COUNT, min(value, MAX_COUNT))


def parse_timestamp(seconds: float | None) -> datetime | None:
    """Return the UTC time of a Unix timestamp, None if it is missing or implausible (see `parse_date`)."""
    try:
        parsed = datetime.fromtimestamp(seconds or 0, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return parsed if parsed.year >= EARLIEST_YEAR else None


def _json_problem(error: Exception) -> str:
    return "it nests too deep" if isinstance(error, RecursionError) else str(error)[:100]
