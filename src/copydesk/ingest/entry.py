"""What a parser found -> entries as they are kept: plain text, within caps, web addresses only, each with an id."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from copydesk.ingest.dates import parse_date
from copydesk.ingest.links import absolute, alias_of
from copydesk.ingest.picture import first_in
from copydesk.ingest.plaintext import looks_like_markup, plain_line, plain_lines, plain_text, unescape
from copydesk.ingest.raw import RawEntry
from copydesk.model.item import Entry
from copydesk.text.digest import digest

MAX_TITLE = 1_000
MAX_SUMMARY = 5_000
MAX_TEXT = 100_000
MAX_IDENT = 2_000
MAX_NAME = 200
MAX_ALT = 1_000
MAX_TAGS = 20
MAX_TAG = 50
MAX_COUNT = 1_000_000_000

_TITLES = ("title", "title 2", "title 3")
_SUMMARIES = ("summary", "summary 2", "summary 3", "summary 4")
_DATES = ("published", "date", "updated", "created")
_LINKS = ("original link", "link", "alternate", "alternate 2")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3}")
_NAME_AFTER_MAIL = re.compile(r"[^\s@()]+@[^\s@()]+\s+\(([^()]+)\)")
_MAIL_AFTER_NAME = re.compile(r"\s*<[^\s<>]*@[^\s<>]*>")


class Setting(NamedTuple):
    """What an entry takes from its feed."""

    base: str
    """Where the feed's relative addresses start from."""
    language: str | None = None
    atom: bool = False


def make_entries(raws: Sequence[RawEntry], setting: Setting) -> tuple[Entry, ...]:
    """The entries of one document, each with an id that no other one of them has."""
    return _distinct([_entry(raw, setting) for raw in raws])


def title_of(raw: RawEntry, *, atom: bool) -> str:
    """The title on one line; in RSS it is HTML if it looks like it, since nothing says which."""
    field, value = _first(raw.texts, _TITLES)
    if "<" not in value and "&" not in value:
        return plain_line(value, MAX_TITLE)
    markup = raw.is_markup.get(field)
    if markup is None:
        markup = not (atom and field == "title") and looks_like_markup(value)
    return plain_line(value, MAX_TITLE, markup=markup)


def link_of(raw: RawEntry, base: str) -> str | None:
    """Where the entry, or the feed, leads."""
    texts = raw.texts
    for field in _LINKS:
        if field in texts:
            link = absolute(texts[field], base)
            if link:
                return link
    ident = texts.get("ident", "")
    if ident[:4].lower() == "http" and "opaque" not in texts:
        return absolute(ident, base)
    return absolute(texts["enclosure"], base) if "enclosure" in texts else None


def language_of(text: str) -> str | None:
    """`text` if it is a language code, in small letters: `en-us`."""
    code = text.strip().lower().replace("_", "-")
    return code if _LANGUAGE.fullmatch(code) else None


def _entry(raw: RawEntry, setting: Setting) -> Entry:
    texts = raw.texts
    base = (absolute(raw.base, setting.base) if raw.base else None) or setting.base
    url = link_of(raw, base)
    title = title_of(raw, atom=setting.atom)
    published = _published(texts)
    guid = texts.get("ident") or texts.get("about") or ""
    ident = _ident(guid) or url or _hash(title, published, texts.get("summary") or texts.get("content", ""))
    summary, text = _bodies(raw, setting)
    image, image_alt = _image(raw, base)
    return Entry(
        ident=ident,
        alias=alias_of(ident),
        title=title,
        url=url,
        summary=summary,
        text=text,
        author=_names(raw) if raw.authors or "author 2" in texts else None,
        published=published,
        image=image,
        image_alt=image_alt,
        language=language_of(texts["language"]) if "language" in texts else setting.language,
        publisher=plain_line(texts["publisher"], MAX_NAME) or None if "publisher" in texts else None,
        discussion=absolute(texts["discussion"], base) if "discussion" in texts else None,
        comments=_count(texts["comments"]) if "comments" in texts else None,
        tags=_tags(raw.tags) if raw.tags else (),
    )


def _bodies(raw: RawEntry, setting: Setting) -> tuple[str, str]:
    """Summary and text. Where there is no content, a long summary is the text."""
    field, short = _first(raw.texts, _SUMMARIES)
    content = raw.texts.get("content", "")
    text = _body(raw, "content", content, setting) if content else ""
    if not short:
        return "", text
    if short == content:
        return text[:MAX_SUMMARY].rstrip(), text
    summary = _body(raw, field, short, setting)
    if len(summary) <= MAX_SUMMARY:
        return summary, text
    return summary[:MAX_SUMMARY].rstrip(), text or summary


def _body(raw: RawEntry, field: str, value: str, setting: Setting) -> str:
    markup = raw.is_markup.get(field)
    if markup is None:
        own = field in {"summary", "content"}
        markup = not setting.atom if own else looks_like_markup(value)
    return plain_text(value, MAX_TEXT) if markup else plain_lines(value, MAX_TEXT)


def _first(texts: dict[str, str], fields: tuple[str, ...]) -> tuple[str, str]:
    """The first of `fields` that is there, and its text."""
    for field in fields:
        if field in texts:
            return field, texts[field]
    return fields[0], ""


def _published(texts: dict[str, str]) -> datetime | None:
    for field in _DATES:
        if field in texts:
            moment = parse_date(texts[field])
            if moment:
                return moment
    return None


def _image(raw: RawEntry, base: str) -> tuple[str | None, str | None]:
    """The entry's picture, and what is said of it where it stands in the text."""
    address, alt = raw.picture, ""
    for field in ("content", "summary"):
        if not address:
            address, alt = first_in(raw.texts.get(field, ""))
    image = absolute(address, base) if address else None
    return image, (plain_line(alt, MAX_ALT) or None) if image else None


def _names(raw: RawEntry) -> str | None:
    names = [_name(name) for name in raw.authors[:MAX_TAGS] or [raw.texts["author 2"]]]
    return ", ".join(dict.fromkeys(filter(None, names)))[:MAX_NAME].rstrip(", ") or None


@lru_cache(1_000)
def _name(text: str) -> str:
    """The person in `mail@site (Person)` or `Person <mail@site>`."""
    line = plain_line(unescape(text) if "&" in text else text, MAX_NAME)
    found = _NAME_AFTER_MAIL.fullmatch(line)
    return found[1].strip() if found else _MAIL_AFTER_NAME.sub("", line)


def _tags(raws: list[str]) -> tuple[str, ...]:
    """The first tags, without those that are too long to be one."""
    tags: dict[str, str] = {}
    for tag in map(_tag, raws[: 2 * MAX_TAGS]):
        tags.setdefault(tag.lower(), tag)
    tags.pop("", None)
    return tuple(tags.values())[:MAX_TAGS]


@lru_cache(4_000)
def _tag(text: str) -> str:
    line = plain_line(unescape(text) if "&" in text else text, MAX_TAG + 1)
    return line if len(line) <= MAX_TAG else ""


def _count(text: str) -> int | None:
    return min(int(text), MAX_COUNT) if text.isdecimal() and len(text) < 20 else None


def _ident(guid: str) -> str:
    if not guid.isprintable():
        guid = plain_line(guid, 2 * MAX_IDENT)
    return guid if len(guid) <= MAX_IDENT else _hash(guid)


def _hash(*parts: object) -> str:
    return digest(repr(parts).encode("utf-8", "replace")).hex()


def _distinct(entries: list[Entry]) -> tuple[Entry, ...]:
    """`entries` with a link, and then a number, added to ids that repeat; an alias that repeats gives way to the id."""
    idents = Counter(entry.ident for entry in entries)
    if len(idents) < len(entries):
        entries = _numbered([_with_link(entry) if idents[entry.ident] > 1 else entry for entry in entries])
    aliases = Counter(entry.alias for entry in entries)
    if len(aliases) < len(entries):
        entries = [replace(entry, alias=entry.ident) if aliases[entry.alias] > 1 else entry for entry in entries]
    return tuple(entries)


def _with_link(entry: Entry) -> Entry:
    if not entry.url or entry.url == entry.ident:
        return entry
    return _renamed(entry, f"{entry.ident} {entry.url}")


def _numbered(entries: list[Entry]) -> list[Entry]:
    """The second of the same id gets ` 2`, and so on."""
    seen: Counter[str] = Counter()
    numbered = []
    for entry in entries:
        seen[entry.ident] += 1
        number = seen[entry.ident]
        numbered.append(entry if number == 1 else _renamed(entry, f"{entry.ident} {number}"))
    return numbered


def _renamed(entry: Entry, ident: str) -> Entry:
    ident = ident if len(ident) <= MAX_IDENT else _hash(ident)
    return replace(entry, ident=ident, alias=ident)
